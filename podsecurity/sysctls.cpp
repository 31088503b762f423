// Which parameters of the kernel a pod may set: those that end at its own namespaces.
#include "podsecurity/findings.h"

namespace sublet::podsecurity {
namespace {

// In the order in which they came: a version allows a beginning of the list.
constexpr std::string_view kSafe[] = {
    "kernel.shm_rmid_forced",
    "net.ipv4.ip_local_port_range",
    "net.ipv4.tcp_syncookies",
    "net.ipv4.ping_group_range",
    "net.ipv4.ip_unprivileged_port_start",
    // 1.27
    "net.ipv4.ip_local_reserved_ports",
    // 1.29
    "net.ipv4.tcp_keepalive_time",
    "net.ipv4.tcp_fin_timeout",
    "net.ipv4.tcp_keepalive_intvl",
    "net.ipv4.tcp_keepalive_probes",
    // 1.32
    "net.ipv4.tcp_rmem",
    "net.ipv4.tcp_wmem",
};
constexpr std::span<const std::string_view> kSafe1_0(kSafe, 5), kSafe1_27(kSafe, 6), kSafe1_29(kSafe, 10),
    kSafe1_32(kSafe, 12);

Finding sysctls(const Pod& pod, std::span<const std::string_view> safe) {
  Names others;
  for (const schema::Value sysctl : pod.security()["sysctls"])
    if (const auto name = sysctl["name"].text(); std::ranges::find(safe, name) == safe.end()) others.push_back(name);
  if (others.empty()) return {};
  return Violation{"forbidden sysctls", joined(others, ", ")};
}

}  // namespace

Finding sysctls_1_0(const Pod& pod) { return sysctls(pod, kSafe1_0); }
Finding sysctls_1_27(const Pod& pod) { return sysctls(pod, kSafe1_27); }
Finding sysctls_1_29(const Pod& pod) { return sysctls(pod, kSafe1_29); }
Finding sysctls_1_32(const Pod& pod) { return sysctls(pod, kSafe1_32); }

}  // namespace sublet::podsecurity
