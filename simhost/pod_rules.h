// PodRules: what the pods on nodes mean for a pod that is to be placed: host ports, affinity and anti-affinity between
// pods, topology spread. Filters of the scheduler as pure functions, with the messages of Kubernetes' scheduler.
//
// Only requirements count (requiredDuringScheduling..., DoNotSchedule); preferences have no weight. A namespaceSelector
// sees only the name of a namespace (kubernetes.io/metadata.name).
#pragma once

#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "sublet/kube/selectors.h"
#include "sublet/schema/document.h"

namespace sublet::simhost {

struct HostPort {
  std::string protocol, ip;  // ip: "0.0.0.0" for all
  std::int64_t port = 0;
  bool conflicts_with(const HostPort& other) const;
};

/// A required term of podAffinity or podAntiAffinity.
struct PodTerm {
  kube::LabelSelector selector;
  std::set<std::string, std::less<>> namespaces;
  std::optional<kube::LabelSelector> namespace_selector;
  std::string topology_key;
  bool matches(std::string_view namespace_name, const schema::Value& labels) const;
};

/// The properties of a pod on a node that matter to other pods.
struct PlacedPod {
  std::string namespace_name;
  schema::Document labels;
  std::vector<HostPort> ports;
  std::vector<PodTerm> anti_affinity;
  int priority = 0;
  bool leaving = false;
};
PlacedPod placed_pod(const schema::Value& pod);
/// False for a pod that other pods do not affect, except by their anti-affinity (PlacedPod::anti_affinity).
bool has_pod_rules(const schema::Value& pod);

struct NodeView {
  schema::Value node;
  std::vector<const PlacedPod*> pods;
};

/// The rules of one pod over a picture of all nodes, which must outlive this object.
class PodRules {
 public:
  PodRules(const schema::Value& pod, std::span<const NodeView> nodes);
  /// Returns the first reason against the node; empty when it passes.
  std::string refused_by(const NodeView& node) const;

 private:
  using Domains = std::map<std::string, std::int64_t, std::less<>>;  // value of the topology key -> matching pods
  struct Affinity {
    PodTerm term;
    Domains found;
    bool first_of_its_kind = false;  // no other pod matches anywhere, but the pod itself does
  };
  struct Spread {
    std::string key;
    std::int64_t max_skew = 1, least = 0;
    bool counts_itself = false;
    Domains found;
  };
  void read_spread(const schema::Value& pod, std::span<const NodeView> nodes);

  std::vector<HostPort> ports_;
  std::vector<Affinity> affinity_, anti_affinity_;
  std::set<std::pair<std::string, std::string>>
      kept_away_;  // (key, value) of domains whose pods have anti-affinity to it
  std::vector<Spread> spread_;
};

}  // namespace sublet::simhost
