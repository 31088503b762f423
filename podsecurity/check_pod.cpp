#include "sublet/podsecurity/check_pod.h"

#include "podsecurity/findings.h"

namespace sublet::podsecurity {
namespace {

/// A control as it is from a version on, up to the next row of the same id.
struct Control {
  std::string_view id;
  Level level;
  std::int64_t since;  // v1.<since>
  Finding (*find)(const Pod& pod);
  std::string_view replaces = "";  // the baseline control that it stands for where it counts
};

// Baseline before restricted, each by id: the order of messages. Rows of one id stand together, by version.
constexpr Control kControls[] = {
    {"appArmorProfile", Level::baseline, 0, app_armor},
    {"capabilities_baseline", Level::baseline, 0, default_capabilities},
    {"hostNamespaces", Level::baseline, 0, host_namespaces},
    {"hostPathVolumes", Level::baseline, 0, host_path_volumes},
    {"hostPorts", Level::baseline, 0, host_ports},
    {"hostProbesAndHostLifecycle", Level::baseline, 34, probe_hosts},
    {"privileged", Level::baseline, 0, privileged},
    {"procMount", Level::baseline, 0, proc_mount},
    {"procMount", Level::baseline, 35, proc_mount_but_own_users},
    {"seLinuxOptions", Level::baseline, 0, se_linux_1_0},
    {"seLinuxOptions", Level::baseline, 31, se_linux_1_31},
    {"seccompProfile_baseline", Level::baseline, 0, seccomp_annotations},
    {"seccompProfile_baseline", Level::baseline, 19, seccomp_if_given},
    {"sysctls", Level::baseline, 0, sysctls_1_0},
    {"sysctls", Level::baseline, 27, sysctls_1_27},
    {"sysctls", Level::baseline, 29, sysctls_1_29},
    {"sysctls", Level::baseline, 32, sysctls_1_32},
    {"windowsHostProcess", Level::baseline, 0, host_process},
    {"allowPrivilegeEscalation", Level::restricted, 8, privilege_escalation},
    {"allowPrivilegeEscalation", Level::restricted, 25, privilege_escalation_but_windows},
    {"capabilities_restricted", Level::restricted, 22, dropped_capabilities, "capabilities_baseline"},
    {"capabilities_restricted", Level::restricted, 25, dropped_capabilities_but_windows, "capabilities_baseline"},
    {"procMount_restricted", Level::restricted, 35, proc_mount, "procMount"},
    {"restrictedVolumes", Level::restricted, 0, restricted_volumes, "hostPathVolumes"},
    {"runAsNonRoot", Level::restricted, 0, run_as_non_root},
    {"runAsNonRoot", Level::restricted, 35, run_as_non_root_but_own_users},
    {"runAsUser", Level::restricted, 23, run_as_user},
    {"runAsUser", Level::restricted, 35, run_as_user_but_own_users},
    {"seccompProfile_restricted", Level::restricted, 19, seccomp_required, "seccompProfile_baseline"},
    {"seccompProfile_restricted", Level::restricted, 25, seccomp_required_but_windows, "seccompProfile_baseline"},
};
constexpr std::size_t kControlCount = std::size(kControls);

bool counts(std::size_t at, const LevelVersion& wanted) {
  const Control& control = kControls[at];
  if (control.level > wanted.level || control.since > wanted.version.minor) return false;
  const bool last = at + 1 == kControlCount || kControls[at + 1].id != control.id;
  return last || kControls[at + 1].since > wanted.version.minor;
}

bool is_replaced(const Control& control, const LevelVersion& wanted) {
  return std::any_of(std::begin(kControls), std::end(kControls), [&](const Control& other) {
    return other.replaces == control.id && other.level <= wanted.level && other.since <= wanted.version.minor;
  });
}

}  // namespace

Violations check_pod(const LevelVersion& wanted, const schema::Value& metadata, const schema::Value& spec) {
  Violations violations;
  if (wanted.level == Level::privileged) return violations;
  const Pod pod{metadata, spec};
  for (std::size_t at = 0; at < kControlCount; ++at) {
    if (!counts(at, wanted) || is_replaced(kControls[at], wanted)) continue;
    if (auto found = kControls[at].find(pod)) violations.push_back(std::move(*found));
  }
  return violations;
}

std::string reasons_of(const Violations& violations) {
  std::vector<std::string_view> reasons;
  for (const auto& violation : violations) reasons.push_back(violation.reason);
  return joined(reasons, ", ");
}

std::string details_of(const Violations& violations) {
  std::vector<std::string> all;
  for (const auto& [reason, detail] : violations) all.push_back(detail.empty() ? reason : reason + " (" + detail + ")");
  return joined(all, ", ");
}

}  // namespace sublet::podsecurity
