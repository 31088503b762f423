// What a container may do beyond a process of its user: all, more by the way of setuid, capabilities.
#include <array>

#include "podsecurity/findings.h"

namespace sublet::podsecurity {

using schema::Value;

Finding privileged(const Pod& pod) {
  Names containers;
  pod.each_container([&](const Value& container) {
    if (container["securityContext"]["privileged"].boolean()) containers.push_back(container["name"].text());
  });
  if (containers.empty()) return {};
  return Violation{"privileged", named("container", containers) + " must not set securityContext.privileged=true"};
}

Finding privilege_escalation(const Pod& pod) {
  Names containers;
  pod.each_container([&](const Value& container) {
    if (container["securityContext"]["allowPrivilegeEscalation"].boolean(true))
      containers.push_back(container["name"].text());
  });
  if (containers.empty()) return {};
  return Violation{"allowPrivilegeEscalation != false",
                   named("container", containers) + " must set securityContext.allowPrivilegeEscalation=false"};
}

// A Windows pod cannot set it.
Finding privilege_escalation_but_windows(const Pod& pod) {
  return pod.is_windows() ? Finding() : privilege_escalation(pod);
}

namespace {

constexpr std::array<std::string_view, 13> kDefaultCapabilities = {
    "AUDIT_WRITE",      "CHOWN",   "DAC_OVERRIDE", "FOWNER",  "FSETID", "KILL",      "MKNOD",
    "NET_BIND_SERVICE", "SETFCAP", "SETGID",       "SETPCAP", "SETUID", "SYS_CHROOT"};

Value capabilities_of(const Value& container) { return container["securityContext"]["capabilities"]; }

bool lists(const Value& names, std::string_view name) {
  return std::any_of(names.begin(), names.end(), [&](const Value& one) { return one.text() == name; });
}

/// Who adds a capability that is not free, and which.
struct Added {
  Names containers = {};
  Texts capabilities = {};

  template <class IsFree>
  void look(const Value& container, IsFree is_free) {
    bool adds = false;
    for (const Value capability : capabilities_of(container)["add"]) {
      if (is_free(capability.text())) continue;
      capabilities.emplace(capability.text());
      adds = true;
    }
    if (adds) containers.push_back(container["name"].text());
  }
  std::string text() const {
    return named("container", containers) + " must not include " + quoted(capabilities) +
           " in securityContext.capabilities.add";
  }
};

}  // namespace

bool is_default_capability(std::string_view name) {
  return std::ranges::find(kDefaultCapabilities, name) != kDefaultCapabilities.end();
}

Finding default_capabilities(const Pod& pod) {
  Added added;
  pod.each_container([&](const Value& container) { added.look(container, is_default_capability); });
  if (added.containers.empty()) return {};
  return Violation{"non-default capabilities", added.text()};
}

Finding dropped_capabilities(const Pod& pod) {
  Names keeping;
  Added added;
  pod.each_container([&](const Value& container) {
    if (!lists(capabilities_of(container)["drop"], "ALL")) keeping.push_back(container["name"].text());
    added.look(container, [](std::string_view name) { return name == "NET_BIND_SERVICE"; });
  });
  std::vector<std::string> details;
  if (!keeping.empty())
    details.push_back(named("container", keeping) + " must set securityContext.capabilities.drop=[\"ALL\"]");
  if (!added.containers.empty()) details.push_back(added.text());
  if (details.empty()) return {};
  return Violation{"unrestricted capabilities", joined(details, "; ")};
}

// A Windows pod cannot set them.
Finding dropped_capabilities_but_windows(const Pod& pod) {
  return pod.is_windows() ? Finding() : dropped_capabilities(pod);
}

}  // namespace sublet::podsecurity
