#include "syncer/from_host/pod_status.h"

#include "syncer/to_host/written.h"
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

// Once the kubelet has seen the host pod as it stands: the tenant's generation that was written there.
void put_observed_generation(Value status, const Value& host_pod, const Value& tenant_pod) {
  const Value seen = host_pod["status"]["observedGeneration"];
  const auto written = Written::on(host_pod).generation;
  if (seen && written > 0 && seen.integer() == host_pod["metadata"]["generation"].integer())
    status.put("observedGeneration", written);
  else if (const Value before = tenant_pod["status"]["observedGeneration"])
    status.put("observedGeneration", before);
}

}  // namespace

Document tenant_pod_status(const Value& host_pod, const Value& tenant_pod) {
  Document status = carry_back("PodStatus", host_pod["status"], tenant_pod);
  if (const Value qos = tenant_pod["status"]["qosClass"]) status.root().put("qosClass", qos);
  put_observed_generation(status.root(), host_pod, tenant_pod);
  // An eviction in the tenant: the host sees a mere deletion, but a Job's failure policy asks why its pod ended.
  const Value ours = condition_of(tenant_pod["status"], kDisruption);
  if (ours && !condition_of(status.root(), kDisruption)) status.root().array("conditions").push(ours);
  return status;
}

}  // namespace sublet::syncer
