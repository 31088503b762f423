// Names on the host: host_name() (contract in translate.h), and the names of objects that only the syncer makes.
//
// Injective by construction. Joined form: no part contains "-x-", is "x", starts with "x-" or ends with "-x", so the
// two joints can be found again. Hashed form: 130 bits of SHA-256 over length-prefixed parts; its last 26 characters
// hold no '-', while a joined name would need one part of 26 characters without '-' that equals the digest of itself.
// Pure; any thread.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace sublet::syncer {

struct TenantNames {
  std::string name, namespace_name;
};
/// What a host name in the joined form stands for; nullopt for any other text.
std::optional<TenantNames> tenant_names(std::string_view host_name, std::string_view virtual_cluster);
/// Whether a host name could be one in the hashed form.
bool may_be_hashed_name(std::string_view host_name);

/// Which pods of a namespace keep their tokens in one host Secret: those made within the same second, in kTokenShards
/// parts. A burst so costs the host few Secrets, made and renewed together, a single pod has one of its own, and no
/// Secret grows once its second is over. At 3,000 pods/s with one token of 1.4 KB each a Secret has 130 KB of its 1
/// MiB.
std::string token_batch(std::string_view creation_timestamp, std::string_view pod_uid);
inline constexpr int kTokenShards = 32;
/// 26 characters of lower case and digits: 130 bits of SHA-256.
std::string key_digest(std::string_view text);
/// The same of any digest of 256 bits.
std::string name_digest(const std::array<unsigned char, 32>& digest);
/// Host Secret that carries the service-account tokens of such a batch.
std::string host_token_secret_name(std::string_view batch, std::string_view tenant_namespace,
                                   std::string_view virtual_cluster);
/// Host ConfigMap of what all containers of a virtual cluster are told of its API server (pod_environment.h).
std::string host_environment_name(std::string_view virtual_cluster);

}  // namespace sublet::syncer
