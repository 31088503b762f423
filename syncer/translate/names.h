// Names on the host: host_name() (contract in translate.h), and the names of objects that only the syncer makes.
//
// Injective by construction. Joined form: no part contains "-x-", is "x", starts with "x-" or ends with "-x", so the
// two joints can be found again. Hashed form: 130 bits of SHA-256 over length-prefixed parts; its last 26 characters
// hold no '-', while a joined name would need one part of 26 characters without '-' that equals the digest of itself.
// Pure; any thread.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace sublet::syncer {

/// Host Secret that carries the service-account tokens of one tenant pod.
std::string host_token_secret_name(std::string_view tenant_pod, std::string_view tenant_namespace,
                                   std::string_view virtual_cluster);

std::array<unsigned char, 32> sha256(std::string_view bytes);
/// The first `chars` hex digits.
std::string sha256_hex(std::string_view bytes, std::size_t chars = 64);

}  // namespace sublet::syncer
