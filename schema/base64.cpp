// Base64 as Go's encoding/base64 StdEncoding reads and writes it: padded, line breaks ignored.
#include "schema/base64.h"

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
  std::string out((bytes.size() + 2) / 3 * 4, '=');
  char* to = out.data();
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const std::size_t rest = std::min<std::size_t>(bytes.size() - i, 3);
    std::uint32_t group = 0;
    for (std::size_t k = 0; k < 3; ++k) group = group << 8 | (k < rest ? static_cast<unsigned char>(bytes[i + k]) : 0u);
    for (std::size_t k = 0; k <= rest; ++k) to[k] = kAlphabet[group >> (18 - 6 * k) & 63];
    to += 4;
  }
  return out;
}

bool is_canonical_base64(std::string_view text) {
  if (text.empty() || text.size() % 4 != 0) return text.empty();
  const std::size_t padding = text.ends_with("==") ? 2 : text.ends_with('=') ? 1 : 0;
  text.remove_suffix(padding);
  std::uint8_t seen = 0;
  for (const char c : text) seen |= kValues[static_cast<unsigned char>(c)];
  const unsigned unused = (1u << 2 * padding) - 1;  // bits of the last character
  return seen < kAlphabet.size() && (kValues[static_cast<unsigned char>(text.back())] & unused) == 0;
}

bool decode_base64(std::string_view text, std::string& out, std::size_t& bad) {
  const auto skip_breaks = [&](std::size_t at) {
    while (at < text.size() && (text[at] == '\n' || text[at] == '\r')) ++at;
    return at;
  };
  out.clear();
  out.reserve(text.size() / 4 * 3);
  std::uint32_t group = 0;
  std::size_t held = 0;  // characters in the group
  std::size_t at = 0;
  while ((at = skip_breaks(at)) < text.size()) {
    const std::uint8_t value = kValues[static_cast<unsigned char>(text[at])];
    bad = at++;
    if (value != kBad) {
      group = group << 6 | value;
      if (++held < 4) continue;
      for (int shift = 16; shift >= 0; shift -= 8) out += static_cast<char>(group >> shift & 0xff);
      group = 0;
      held = 0;
      continue;
    }
    // Padding ends the text: one more = behind two characters, none behind three.
    if (text[bad] != '=' || held < 2) return false;
    if (held == 2) {
      at = skip_breaks(at);
      bad = at == text.size() ? at : at - 1;
      if (at == text.size() || text[at] != '=') return false;
      ++at;
    }
    bad = skip_breaks(at);
    if (bad < text.size()) return false;
    out += static_cast<char>(group >> (held == 2 ? 4 : 10) & 0xff);
    if (held == 3) out += static_cast<char>(group >> 2 & 0xff);
    return true;
  }
  bad = text.size() - held;
  return held == 0;
}

std::optional<std::string> base64_decode(std::string_view text) {
  std::string out;
  std::size_t bad = 0;
  if (!decode_base64(text, out, bad)) return std::nullopt;
  return out;
}

std::string base64url_encode(std::string_view bytes) {
  std::string text = base64_encode(bytes);
  while (text.ends_with('=')) text.pop_back();
  std::replace(text.begin(), text.end(), '+', '-');
  std::replace(text.begin(), text.end(), '/', '_');
  return text;
}

std::optional<std::string> base64url_decode(std::string_view text) {
  if (text.find_first_of("+/=\r\n") != std::string_view::npos) return std::nullopt;
  std::string standard(text);
  std::replace(standard.begin(), standard.end(), '-', '+');
  std::replace(standard.begin(), standard.end(), '_', '/');
  while (standard.size() % 4 != 0) standard += '=';
  return base64_decode(standard);
}

}  // namespace sublet::schema
