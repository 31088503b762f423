// PodRules: what pods that are on nodes already mean for one that wants to: host ports, affinity and anti-affinity
// between pods, topology spread. The scheduler's filters as pure functions, in the words of Kubernetes' own.
//
// Only what is required counts (requiredDuringScheduling..., DoNotSchedule); preferences are not weighed. A
// namespaceSelector sees of a namespace its name only (kubernetes.io/metadata.name).
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

/// What of a pod on a node matters to others.
struct PlacedPod {
  std::string namespace_name;
  schema::Document labels;
  std::vector<HostPort> ports;
  std::vector<PodTerm> anti_affinity;
  int priority = 0;
  bool leaving = false;
};
PlacedPod placed_pod(const schema::Value& pod);
/// False for a pod to which others mean nothing, unless they keep it away (PlacedPod::anti_affinity).
bool has_pod_rules(const schema::Value& pod);

struct NodeView {
  schema::Value node;
  std::vector<const PlacedPod*> pods;
};

/// The rules of one pod over one picture of all nodes, which must outlive it.
class PodRules {
 public:
  PodRules(const schema::Value& pod, std::span<const NodeView> nodes);
  /// The first reason, empty when the node passes.
  std::string refused_by(const NodeView& node) const;

 private:
  using Domains = std::map<std::string, std::int64_t, std::less<>>;  // value of the topology key -> matching pods
  struct Affinity {
    PodTerm term;
    Domains found;
    bool first_of_its_kind = false;  // nobody matches anywhere, but the pod itself does
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
  std::set<std::pair<std::string, std::string>> kept_away_;  // (key, value) of domains whose pods do not want it
  std::vector<Spread> spread_;
};

}  // namespace sublet::simhost
