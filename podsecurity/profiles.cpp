// What confines a container: AppArmor, seccomp, SELinux, the masks over /proc.
#include "podsecurity/findings.h"
#include "sublet/base/go_quoted.h"

namespace sublet::podsecurity {
namespace {

using schema::Value;

constexpr std::string_view kAppArmorAnnotation = "container.apparmor.security.beta.kubernetes.io/";
constexpr std::string_view kSeccompPodAnnotation = "seccomp.security.alpha.kubernetes.io/pod";
constexpr std::string_view kSeccompAnnotation = "container.seccomp.security.alpha.kubernetes.io/";
constexpr std::string_view kLocalPrefix = "localhost/";

bool is_confining(std::string_view type) { return type == "RuntimeDefault" || type == "Localhost"; }

/// Who sets a profile of a type that does not confine, and which types.
struct BadProfiles {
  std::string_view field;
  Setters setters = {};
  Texts types = {};

  bool is_bad(const Value& security) {
    const Value profile = security[field];
    if (!given(profile) || is_confining(profile["type"].text())) return false;
    types.emplace(profile["type"].text());
    return true;
  }
  void look(const Pod& pod) {
    setters.pod = is_bad(pod.security());
    pod.each_container([&](const Value& container) {
      if (is_bad(container["securityContext"])) setters.containers.push_back(container["name"].text());
    });
  }
};

std::string annotation(const Value& value) { return std::string(value.key()) + "=" + go_quoted(value.text()); }

bool is_good_seccomp(std::string_view profile) {
  return profile == "runtime/default" || profile == "docker/default" || profile.starts_with(kLocalPrefix);
}

Finding seccomp_violation(const BadProfiles& bad) {
  return Violation{"seccompProfile",
                   bad.setters.text() + " must not set securityContext.seccompProfile.type to " + quoted(bad.types)};
}

constexpr std::string_view kEngineType = "container_engine_t";  // since 1.31

Finding se_linux(const Pod& pod, bool engine_is_allowed) {
  Texts types;
  bool user = false, role = false;
  const auto is_bad = [&](const Value& security) {
    const Value options = security["seLinuxOptions"];
    const auto type = options["type"].text();
    const bool allowed = is_confined_selinux_type(type) && (engine_is_allowed || type != kEngineType);
    if (!allowed) types.emplace(type);
    const bool sets_user = !options["user"].text().empty(), sets_role = !options["role"].text().empty();
    user |= sets_user;
    role |= sets_role;
    return !allowed || sets_user || sets_role;
  };
  Setters setters{is_bad(pod.security())};
  pod.each_container([&](const Value& container) {
    if (is_bad(container["securityContext"])) setters.containers.push_back(container["name"].text());
  });
  if (!setters.any()) return {};
  std::vector<std::string> what;
  if (!types.empty()) what.push_back(counted("type", types.size()) + " " + quoted(types));
  if (user) what.emplace_back("user may not be set");
  if (role) what.emplace_back("role may not be set");
  return Violation{"seLinuxOptions",
                   setters.text() + " set forbidden securityContext.seLinuxOptions: " + joined(what, "; ")};
}

}  // namespace

Finding app_armor(const Pod& pod) {
  BadProfiles bad{"appArmorProfile"};
  bad.look(pod);
  Texts annotations;
  for (const Value value : pod.metadata["annotations"]) {
    const auto profile = value.text();
    const bool good = profile.empty() || profile == "runtime/default" || profile.starts_with(kLocalPrefix);
    if (value.key().starts_with(kAppArmorAnnotation) && !good) annotations.insert(annotation(value));
  }
  std::vector<std::string> who, what(bad.types.begin(), bad.types.end());
  if (bad.setters.any()) who.push_back(bad.setters.text());
  if (!annotations.empty()) who.push_back(counted("annotation", annotations.size()));
  what.insert(what.end(), annotations.begin(), annotations.end());
  if (who.empty()) return {};
  return Violation{counted("forbidden AppArmor profile", what.size()),
                   joined(who, " and ") + " must not set AppArmor profile type to " + quoted(what)};
}

Finding proc_mount(const Pod& pod) {
  Names containers;
  Texts types;
  pod.each_container([&](const Value& container) {
    const Value type = container["securityContext"]["procMount"];
    if (!given(type) || type.text() == "Default") return;
    containers.push_back(container["name"].text());
    types.emplace(type.text());
  });
  if (containers.empty()) return {};
  return Violation{"procMount",
                   named("container", containers) + " must not set securityContext.procMount to " + quoted(types)};
}

Finding proc_mount_but_own_users(const Pod& pod) { return pod.has_own_users() ? Finding() : proc_mount(pod); }

bool is_confined_selinux_type(std::string_view type) {
  return type.empty() || type == "container_t" || type == "container_init_t" || type == "container_kvm_t" ||
         type == kEngineType;
}

Finding se_linux_1_0(const Pod& pod) { return se_linux(pod, false); }
Finding se_linux_1_31(const Pod& pod) { return se_linux(pod, true); }

Finding seccomp_annotations(const Pod& pod) {
  Texts forbidden;
  const auto look = [&](std::string_view key) {
    const Value profile = pod.metadata["annotations"][key];
    if (profile && !is_good_seccomp(profile.text())) forbidden.insert(annotation(profile));
  };
  if (pod.metadata["annotations"].empty()) return {};
  look(kSeccompPodAnnotation);
  pod.each_container(
      [&](const Value& container) { look(std::string(kSeccompAnnotation).append(container["name"].text())); });
  if (forbidden.empty()) return {};
  return Violation{"seccompProfile",
                   "forbidden " + counted("annotation", forbidden.size()) + " " + joined(forbidden, ", ")};
}

Finding seccomp_if_given(const Pod& pod) {
  BadProfiles bad{"seccompProfile"};
  bad.look(pod);
  return bad.setters.any() ? seccomp_violation(bad) : Finding();
}

Finding seccomp_required(const Pod& pod) {
  if (auto bad = seccomp_if_given(pod)) return bad;
  if (given(pod.security()["seccompProfile"])) return {};
  Names silent;
  pod.each_container([&](const Value& container) {
    if (!given(container["securityContext"]["seccompProfile"])) silent.push_back(container["name"].text());
  });
  if (silent.empty()) return {};
  return Violation{"seccompProfile",
                   "pod or " + named("container", silent) +
                       " must set securityContext.seccompProfile.type to \"RuntimeDefault\" or \"Localhost\""};
}

// A Windows pod cannot set it.
Finding seccomp_required_but_windows(const Pod& pod) { return pod.is_windows() ? Finding() : seccomp_required(pod); }

}  // namespace sublet::podsecurity
