#include "apiserver/admission/plugins.h"
#include "sublet/kube/conditions.h"

namespace sublet::apiserver {
namespace {

constexpr std::string_view kNotReady = "node.kubernetes.io/not-ready";

}  // namespace

Outcome taint_nodes_by_condition(const Attempt& attempt) {
  // kube-apiserver taints every new node and its node controller lifts the taint when the node is ready. No such
  // controller runs here, so a node that arrives ready (synced from the host, or simulated) is left alone.
  if (kube::has_condition(attempt.object, "Ready")) return {};
  auto spec = attempt.spec();
  for (auto taint : spec["taints"])
    if (taint["key"].text() == kNotReady && taint["effect"].text() == "NoSchedule") return {};
  auto taint = spec.array("taints").push_object();
  taint.put("key", kNotReady);
  taint.put("effect", "NoSchedule");
  return {};
}

}  // namespace sublet::apiserver
