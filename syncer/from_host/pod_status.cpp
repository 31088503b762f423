#include "syncer/from_host/pod_status.h"

#include "syncer/translate/translation.h"

namespace sublet::syncer {
namespace {

using schema::Document;
using schema::Value;

constexpr std::string_view kDisruption = "DisruptionTarget";

Value condition_of(const Value& status, std::string_view type) {
  for (const Value condition : status["conditions"])
    if (condition["type"].text() == type) return condition;
  return {};
}

}  // namespace

Document tenant_pod_status(const Value& host_pod, const Value& tenant_pod) {
  Document status = carry_back("PodStatus", host_pod["status"], tenant_pod);
  if (const Value qos = tenant_pod["status"]["qosClass"]) status.root().put("qosClass", qos);
  // An eviction in the tenant: the host sees a mere deletion, but a Job's failure policy asks why its pod ended.
  const Value ours = condition_of(tenant_pod["status"], kDisruption);
  if (ours && !condition_of(status.root(), kDisruption)) status.root().array("conditions").push(ours);
  return status;
}

}  // namespace sublet::syncer
