#include "controllers/daemon_set/node_fit.h"

#include <algorithm>
#include <string_view>

#include "sublet/kube/node_match.h"

namespace sublet::controllers {
namespace {

using schema::Value;

using kube::kNoExecute;
using kube::kNoSchedule;

struct TolerationFacts {
  std::string_view key, effect;
  bool only_on_host_network = false;
};
constexpr TolerationFacts kTolerations[] = {{"node.kubernetes.io/not-ready", kNoExecute},
                                            {"node.kubernetes.io/unreachable", kNoExecute},
                                            {"node.kubernetes.io/disk-pressure", kNoSchedule},
                                            {"node.kubernetes.io/memory-pressure", kNoSchedule},
                                            {"node.kubernetes.io/pid-pressure", kNoSchedule},
                                            {"node.kubernetes.io/unschedulable", kNoSchedule},
                                            {"node.kubernetes.io/network-unavailable", kNoSchedule, true}};

}  // namespace

NodeFit node_fit(const Value& pod_spec, const Value& node) {
  const auto name = pod_spec["nodeName"].text();
  if (!name.empty() && name != node["metadata"]["name"].text()) return {};
  if (!kube::selects_node(pod_spec, node)) return {};
  if (!kube::untolerated_taint(pod_spec, node, {kNoSchedule, kNoExecute})) return {true, true};
  return {false, !kube::untolerated_taint(pod_spec, node, {kNoExecute})};
}

void add_daemon_tolerations(Value pod_spec) {
  auto tolerations = pod_spec.array("tolerations");
  for (const auto& facts : kTolerations) {
    if (facts.only_on_host_network && !pod_spec["hostNetwork"].boolean()) continue;
    const bool there = std::any_of(tolerations.begin(), tolerations.end(), [&](const Value& toleration) {
      return toleration["key"].text() == facts.key && toleration["effect"].text() == facts.effect &&
             toleration["operator"].text() == "Exists";
    });
    if (there) continue;
    auto toleration = tolerations.push_object();
    toleration.put("key", facts.key);
    toleration.put("operator", "Exists");
    toleration.put("effect", facts.effect);
  }
}

}  // namespace sublet::controllers
