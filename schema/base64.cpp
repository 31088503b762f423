// Base64 as Go's encoding/base64 StdEncoding reads and writes it: padded, line breaks ignored.
#include <array>
#include <cstdint>

#include "sublet/schema/engine.h"

namespace sublet::schema {

namespace {

constexpr std::string_view kAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr std::uint8_t kBad = 0xff;

constexpr auto kValues = [] {
  std::array<std::uint8_t, 256> values{};
  values.fill(kBad);
  for (std::size_t i = 0; i < kAlphabet.size(); ++i)
    values[static_cast<unsigned char>(kAlphabet[i])] = static_cast<std::uint8_t>(i);
  return values;
}();

}  // namespace

std::string base64_encode(std::string_view bytes) {
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const std::size_t rest = std::min<std::size_t>(bytes.size() - i, 3);
    std::uint32_t group = 0;
    for (std::size_t k = 0; k < 3; ++k) group = group << 8 | (k < rest ? static_cast<unsigned char>(bytes[i + k]) : 0u);
    for (std::size_t k = 0; k < 4; ++k) out += k <= rest ? kAlphabet[group >> (18 - 6 * k) & 63] : '=';
  }
  return out;
}

std::optional<std::string> base64_decode(std::string_view text) {
  std::string out;
  out.reserve(text.size() / 4 * 3);
  std::uint32_t group = 0;
  int held = 0;  // characters in the group
  int padding = 0;
  for (const char c : text) {
    if (c == '\n' || c == '\r') continue;
    if (c == '=') {
      if (held < 2 || held + padding >= 4) return std::nullopt;
      ++padding;
      continue;
    }
    const std::uint8_t value = kValues[static_cast<unsigned char>(c)];
    if (value == kBad || padding > 0) return std::nullopt;
    group = group << 6 | value;
    if (++held < 4) continue;
    for (int shift = 16; shift >= 0; shift -= 8) out += static_cast<char>(group >> shift & 0xff);
    group = 0;
    held = 0;
  }
  if (held == 0) return padding == 0 ? std::optional(std::move(out)) : std::nullopt;
  if (held + padding != 4) return std::nullopt;
  out += static_cast<char>(group >> (held == 2 ? 4 : 10) & 0xff);
  if (held == 3) out += static_cast<char>(group >> 2 & 0xff);
  return out;
}

}  // namespace sublet::schema
