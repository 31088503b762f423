// PodTopologyLabels: copies the zone and the region of the node to the labels of a pod that is created on a node or
// bound to one, so that the pod can read them through the downward API.
#include "apiserver/admission/plugins.h"

namespace sublet::apiserver {
namespace {

using schema::Value;

void copy_topology_labels(const WriteContext& context, std::string_view node_name, Value object) {
  if (node_name.empty()) return;
  const auto node = context.pending.get("nodes/" + std::string(node_name));
  if (!node) return;
  bool copied = false;
  for (const auto& [label, value] : node->index.labels) {
    if (label != "topology.kubernetes.io/zone" && label != "topology.kubernetes.io/region") continue;
    object.object("metadata").object("labels").put(label, value);
    copied = true;
  }
  if (copied) object["metadata"]["labels"].sort_keys();
}

}  // namespace

Outcome pod_topology_labels(const Attempt& attempt) {
  if (attempt.verb == WriteVerb::create) {
    copy_topology_labels(attempt.context, attempt.object["spec"]["nodeName"].text(), attempt.object);
    return {};
  }
  // The host sets the labels of its own pod, and the syncer brings them. Set here they would cost a write to the host
  // for every pod.
  if (!attempt.context.options.mirrored_from_host.empty()) return {};
  // The pod takes over the labels of its Binding.
  const Value target = attempt.object["target"];
  if (target["kind"].text().empty() || target["kind"].text() == "Node")
    copy_topology_labels(attempt.context, target["name"].text(), attempt.object);
  return {};
}

}  // namespace sublet::apiserver
