// SHA-256: names, fingerprints, ETags and signatures by a shared secret. The one hash of what others see or what is
// kept; hash tables have std::hash.
// Pure; any thread.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace sublet::net {

std::array<unsigned char, 32> sha256(std::string_view bytes);
/// The first `chars` of its 64 hexadecimal digits, in lower case.
std::string sha256_hex(std::string_view bytes, std::size_t chars = 64);
std::array<unsigned char, 32> hmac_sha256(std::string_view key, std::string_view bytes);
/// Two lower-case digits a byte.
std::string hex(std::span<const unsigned char> bytes);

}  // namespace sublet::net
