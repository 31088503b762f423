// HostName: the name of a tenant object on the host. Pure; any thread.
#pragma once

#include <string>
#include <string_view>

namespace sublet::syncer {

/// Returns `<name>-x-<namespace>-x-<virtual cluster>` if that is unambiguous and has at most 63 characters, else
/// `<prefix>-<26 base32 of SHA-256 over length-prefixed parts>`. Injective by construction.
std::string host_name(std::string_view tenant_name, std::string_view tenant_namespace,
                      std::string_view virtual_cluster);

}  // namespace sublet::syncer
