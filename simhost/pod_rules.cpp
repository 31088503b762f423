#include "simhost/pod_rules.h"

#include <algorithm>

#include "sublet/kube/node_match.h"

namespace sublet::simhost {
namespace {

constexpr std::string_view kEverywhere = "0.0.0.0";

std::optional<std::string> domain_of(const schema::Value& node, std::string_view key) {
  const schema::Value label = node["metadata"]["labels"][key];
  return label.is_string() ? std::optional(label.string()) : std::nullopt;
}

std::vector<HostPort> host_ports(const schema::Value& spec) {
  std::vector<HostPort> out;
  for (const schema::Value container : spec["containers"])
    for (const schema::Value port : container["ports"])
      if (port["hostPort"].integer() > 0)
        out.push_back({port["protocol"].string("TCP"), port["hostIP"].string(std::string(kEverywhere)),
                       port["hostPort"].integer()});
  return out;
}

kube::LabelSelector selector_of(const schema::Value& selector) {
  auto read = kube::LabelSelector::from_object(selector);
  return read ? std::move(*read) : kube::LabelSelector::nothing();
}

std::vector<PodTerm> required_terms(const schema::Value& pod, const char* kind) {
  std::vector<PodTerm> out;
  for (const schema::Value term : pod["spec"]["affinity"][kind]["requiredDuringSchedulingIgnoredDuringExecution"]) {
    PodTerm read{selector_of(term["labelSelector"]), {}, std::nullopt, term["topologyKey"].string()};
    for (const schema::Value name : term["namespaces"]) read.namespaces.insert(name.string());
    if (term["namespaceSelector"]) read.namespace_selector = selector_of(term["namespaceSelector"]);
    if (read.namespaces.empty() && !read.namespace_selector)
      read.namespaces.insert(pod["metadata"]["namespace"].string());
    out.push_back(std::move(read));
  }
  return out;
}

}  // namespace

bool HostPort::conflicts_with(const HostPort& other) const {
  return port == other.port && protocol == other.protocol &&
         (ip == other.ip || ip == kEverywhere || other.ip == kEverywhere);
}

bool PodTerm::matches(std::string_view namespace_name, const schema::Value& labels) const {
  const auto name_label = [&](std::string_view key) {
    return key == "kubernetes.io/metadata.name" ? std::optional(namespace_name) : std::nullopt;
  };
  const bool there =
      namespaces.contains(namespace_name) || (namespace_selector && namespace_selector->matches(name_label));
  return there && selector.matches(labels);
}

PlacedPod placed_pod(const schema::Value& pod) {
  const schema::Value metadata = pod["metadata"];
  return {metadata["namespace"].string(),
          schema::Document::copy_of(metadata["labels"]),
          host_ports(pod["spec"]),
          required_terms(pod, "podAntiAffinity"),
          static_cast<int>(pod["spec"]["priority"].integer()),
          metadata.has("deletionTimestamp")};
}

bool has_pod_rules(const schema::Value& pod) {
  const schema::Value spec = pod["spec"], affinity = spec["affinity"];
  return affinity.has("podAffinity") || affinity.has("podAntiAffinity") || !spec["topologySpreadConstraints"].empty() ||
         !host_ports(spec).empty();
}

PodRules::PodRules(const schema::Value& pod, std::span<const NodeView> nodes) : ports_(host_ports(pod["spec"])) {
  const schema::Value labels = pod["metadata"]["labels"];
  const std::string namespace_name = pod["metadata"]["namespace"].string();
  for (PodTerm& term : required_terms(pod, "podAffinity")) affinity_.push_back({std::move(term), {}, false});
  for (PodTerm& term : required_terms(pod, "podAntiAffinity")) anti_affinity_.push_back({std::move(term), {}, false});
  for (const NodeView& view : nodes) {
    const auto count_into = [&](Affinity& rule) {
      const auto domain = domain_of(view.node, rule.term.topology_key);
      if (!domain) return;
      for (const PlacedPod* other : view.pods)
        if (rule.term.matches(other->namespace_name, other->labels.root())) ++rule.found[*domain];
    };
    std::ranges::for_each(affinity_, count_into);
    std::ranges::for_each(anti_affinity_, count_into);
    for (const PlacedPod* other : view.pods)
      for (const PodTerm& term : other->anti_affinity)
        if (const auto domain = domain_of(view.node, term.topology_key); domain && term.matches(namespace_name, labels))
          kept_away_.insert({term.topology_key, *domain});
  }
  for (Affinity& rule : affinity_)
    rule.first_of_its_kind = rule.found.empty() && rule.term.matches(namespace_name, labels);
  read_spread(pod, nodes);
}

void PodRules::read_spread(const schema::Value& pod, std::span<const NodeView> nodes) {
  const schema::Value all = pod["spec"]["topologySpreadConstraints"];
  const auto has_all_keys = [&](const schema::Value& node) {
    for (const schema::Value constraint : all)
      if (!domain_of(node, constraint["topologyKey"].text())) return false;
    return true;
  };
  for (const schema::Value constraint : all) {
    if (constraint["whenUnsatisfiable"].text() != "DoNotSchedule") continue;
    Spread rule{constraint["topologyKey"].string(), constraint["maxSkew"].integer(), 0, false, {}};
    const kube::LabelSelector selector = selector_of(constraint["labelSelector"]);
    rule.counts_itself = selector.matches(pod["metadata"]["labels"]);
    for (const NodeView& view : nodes) {
      const bool counts =
          constraint["nodeAffinityPolicy"].text() == "Ignore" || kube::selects_node(pod["spec"], view.node);
      const bool taints = constraint["nodeTaintsPolicy"].text() == "Honor";
      if (!counts || !has_all_keys(view.node)) continue;
      if (taints && kube::untolerated_taint(pod["spec"], view.node, {kube::kNoSchedule, kube::kNoExecute})) continue;
      std::int64_t& found = rule.found[*domain_of(view.node, rule.key)];
      for (const PlacedPod* other : view.pods)
        found += !other->leaving && other->namespace_name == pod["metadata"]["namespace"].text() &&
                 selector.matches(other->labels.root());
    }
    const auto domains = static_cast<std::int64_t>(rule.found.size());
    if (domains > 0 && domains >= constraint["minDomains"].integer())
      rule.least = std::ranges::min_element(rule.found, {}, [](const auto& entry) { return entry.second; })->second;
    spread_.push_back(std::move(rule));
  }
}

std::string PodRules::refused_by(const NodeView& view) const {
  for (const PlacedPod* other : view.pods)
    for (const HostPort& theirs : other->ports)
      if (std::ranges::any_of(ports_, [&](const HostPort& ours) { return ours.conflicts_with(theirs); }))
        return "node(s) didn't have free ports for the requested pod ports";
  for (const Spread& rule : spread_) {
    const auto domain = domain_of(view.node, rule.key);
    if (!domain) return "node(s) didn't match pod topology spread constraints (missing required label)";
    const auto found = rule.found.find(*domain);
    const std::int64_t there = found == rule.found.end() ? 0 : found->second;
    if (there + rule.counts_itself - rule.least > rule.max_skew)
      return "node(s) didn't match pod topology spread constraints";
  }
  for (const auto& [key, value] : kept_away_)
    if (domain_of(view.node, key) == value) return "node(s) didn't satisfy existing pods anti-affinity rules";
  for (const Affinity& rule : affinity_) {
    const auto domain = domain_of(view.node, rule.term.topology_key);
    if (!domain || (!rule.found.contains(*domain) && !rule.first_of_its_kind))
      return "node(s) didn't match pod affinity rules";
  }
  for (const Affinity& rule : anti_affinity_)
    if (const auto domain = domain_of(view.node, rule.term.topology_key); domain && rule.found.contains(*domain))
      return "node(s) didn't match pod anti-affinity rules";
  return {};
}

}  // namespace sublet::simhost
