#include "syncer/from_host/pod_status.h"

#include "syncer/translate/translation.h"

namespace sublet::syncer {

using schema::Document;
using schema::Value;

Document tenant_pod_status(const Value& host_pod, const Value& tenant_pod) {
  Document status = carry_back("PodStatus", host_pod["status"], tenant_pod);
  if (const Value qos = tenant_pod["status"]["qosClass"]) status.root().put("qosClass", qos);
  return status;
}

}  // namespace sublet::syncer
