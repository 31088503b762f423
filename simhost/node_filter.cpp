#include "simhost/node_filter.h"

#include "sublet/kube/node_match.h"

namespace sublet::simhost {
namespace {

constexpr kube::Taint kUnschedulable{"node.kubernetes.io/unschedulable", "", kube::kNoSchedule};

}  // namespace

std::string refused_by_taints(const schema::Value& pod_spec, const schema::Value& node) {
  const auto taint = kube::untolerated_taint(pod_spec, node, {kube::kNoSchedule, kube::kNoExecute});
  if (!taint) return {};
  return "node(s) had untolerated taint {" + std::string(taint->key) + ": " + std::string(taint->value) + "}";
}

std::string refused_by_affinity(const schema::Value& pod_spec, const schema::Value& node) {
  return kube::selects_node(pod_spec, node) ? "" : "node(s) didn't match Pod's node affinity/selector";
}

std::string refused_by_node(const schema::Value& pod_spec, const schema::Value& node) {
  if (node["spec"]["unschedulable"].boolean() && !kube::tolerated(pod_spec["tolerations"], kUnschedulable))
    return "node(s) were unschedulable";
  if (std::string reason = refused_by_taints(pod_spec, node); !reason.empty()) return reason;
  return refused_by_affinity(pod_spec, node);
}

}  // namespace sublet::simhost
