// Findings: what the controls of a pod are made of: the pod as they see it, the walk over its containers, and the words
// in which upstream says who did what. Internal to podsecurity/; pure.
#pragma once

#include <algorithm>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sublet/podsecurity/check_pod.h"

namespace sublet::podsecurity {

struct Pod {
  schema::Value metadata, spec;
  schema::Value security() const { return spec["securityContext"]; }
  bool is_windows() const { return spec["os"]["name"].text() == "windows"; }
  /// hostUsers: false: its root is nobody on the node.
  bool has_own_users() const { return !spec["hostUsers"].boolean(true); }

  /// All containers, in upstream's order.
  template <class Visit>
  void each_container(Visit visit) const {
    for (const auto* list : {"initContainers", "containers", "ephemeralContainers"})
      for (const schema::Value container : spec[list]) visit(container);
  }
};

/// Nothing: the control lets the pod pass.
using Finding = std::optional<Violation>;

inline bool given(const schema::Value& value) { return value && !value.is_null(); }

/// Values that were found, each once, sorted.
using Texts = std::set<std::string, std::less<>>;
/// Names in the order in which they were found.
using Names = std::vector<std::string_view>;

/// `"a", "b"`.
template <class Range>
std::string quoted(const Range& texts) {
  std::string all;
  for (const auto& text : texts) all.append(all.empty() ? "\"" : ", \"").append(text).append("\"");
  return all;
}
template <class Range>
std::string joined(const Range& texts, std::string_view separator) {
  std::string all;
  bool first = true;
  for (const auto& text : texts) {
    if (!first) all += separator;
    first = false;
    all += text;
  }
  return all;
}
/// `container` for one, `containers` for others.
inline std::string counted(std::string_view noun, std::size_t count) {
  return std::string(noun) + (count == 1 ? "" : "s");
}
/// `containers "a", "b"`.
inline std::string named(std::string_view noun, const Names& names) {
  return counted(noun, names.size()) + " " + quoted(names);
}

/// Who set something: the pod, its containers, or both.
struct Setters {
  bool pod = false;
  Names containers = {};
  bool any() const { return pod || !containers.empty(); }
  /// `pod and container "a"`.
  std::string text() const {
    std::vector<std::string> all;
    if (pod) all.emplace_back("pod");
    if (!containers.empty()) all.push_back(named("container", containers));
    return joined(all, " and ");
  }
};

// The controls: one Finding each for one kind of harm.
// Of the node: host.cpp.
Finding host_namespaces(const Pod& pod);
Finding host_ports(const Pod& pod);
Finding probe_hosts(const Pod& pod);
Finding host_process(const Pod& pod);
Finding host_path_volumes(const Pod& pod);
Finding restricted_volumes(const Pod& pod);
// Of what a container may do there: privileges.cpp.
Finding privileged(const Pod& pod);
Finding privilege_escalation(const Pod& pod);
Finding privilege_escalation_but_windows(const Pod& pod);
Finding default_capabilities(const Pod& pod);
Finding dropped_capabilities(const Pod& pod);
Finding dropped_capabilities_but_windows(const Pod& pod);
// Of who it is there: users.cpp.
Finding run_as_non_root(const Pod& pod);
Finding run_as_non_root_but_own_users(const Pod& pod);
Finding run_as_user(const Pod& pod);
Finding run_as_user_but_own_users(const Pod& pod);
// Of what confines it: profiles.cpp.
Finding app_armor(const Pod& pod);
Finding proc_mount(const Pod& pod);
Finding proc_mount_but_own_users(const Pod& pod);
Finding se_linux_1_0(const Pod& pod);
Finding se_linux_1_31(const Pod& pod);
Finding seccomp_annotations(const Pod& pod);
Finding seccomp_if_given(const Pod& pod);
Finding seccomp_required(const Pod& pod);
Finding seccomp_required_but_windows(const Pod& pod);
// Of the kernel: sysctls.cpp.
Finding sysctls_1_0(const Pod& pod);
Finding sysctls_1_27(const Pod& pod);
Finding sysctls_1_29(const Pod& pod);
Finding sysctls_1_32(const Pod& pod);

}  // namespace sublet::podsecurity
