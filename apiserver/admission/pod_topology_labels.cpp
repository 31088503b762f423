// PodTopologyLabels: a pod bears the zone and region of its node as labels, so that it can learn them from within.
#include "apiserver/admission/plugins.h"

namespace sublet::apiserver {

using schema::Value;

void copy_topology_labels(const WriteContext& context, Value pod) {
  const auto node_name = pod["spec"]["nodeName"].text();
  if (node_name.empty()) return;
  const auto node = context.pending.get("nodes/" + std::string(node_name));
  if (!node) return;
  bool copied = false;
  for (const auto& [label, value] : node->index.labels) {
    if (label != "topology.kubernetes.io/zone" && label != "topology.kubernetes.io/region") continue;
    pod.object("metadata").object("labels").put(label, value);
    copied = true;
  }
  if (copied) pod["metadata"]["labels"].sort_keys();
}

Outcome pod_topology_labels(const Attempt& attempt) {
  if (attempt.verb != WriteVerb::remove && attempt.is("", "pods"))
    copy_topology_labels(attempt.context, attempt.object);
  return {};
}

}  // namespace sublet::apiserver
