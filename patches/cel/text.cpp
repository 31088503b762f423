#include "patches/cel/text.h"

#include <cmath>
#include <cstdio>

#include "sublet/schema/document.h"
#include "sublet/schema/yaml_scalar.h"

namespace sublet::patches::cel {

namespace {

// Length of the well-formed sequence at the start of `text`; 0: none.
std::size_t sequence_length(std::string_view text) {
  const auto lead = static_cast<unsigned char>(text[0]);
  if (lead < 0x80) return 1;
  const std::size_t length = lead >= 0xf0 ? 4 : (lead >= 0xe0 ? 3 : 2);
  if (lead < 0xc2 || lead > 0xf4 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i)
    if ((static_cast<unsigned char>(text[i]) & 0xc0) != 0x80) return 0;
  const auto second = static_cast<unsigned char>(text[1]);
  const bool overlong = (lead == 0xe0 && second < 0xa0) || (lead == 0xf0 && second < 0x90);
  const bool surrogate = lead == 0xed && second >= 0xa0;
  const bool beyond = lead == 0xf4 && second >= 0x90;
  return overlong || surrogate || beyond ? 0 : length;
}

}  // namespace

bool valid_utf8(std::string_view text) {
  while (!text.empty()) {
    const std::size_t length = sequence_length(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

std::vector<std::size_t> code_points(std::string_view text) {
  std::vector<std::size_t> offsets;
  std::size_t at = 0;
  while (at < text.size()) {
    offsets.push_back(at);
    const std::size_t length = sequence_length(text.substr(at));
    at += length == 0 ? 1 : length;
  }
  offsets.push_back(text.size());
  return offsets;
}

std::size_t character_count(std::string_view text) {
  std::size_t count = 0;
  for (const char c : text) count += (static_cast<unsigned char>(c) & 0xc0) != 0x80;
  return count;
}

void append_utf8(std::string& out, std::uint32_t code) {
  if (code < 0x80) {
    out += static_cast<char>(code);
  } else if (code < 0x800) {
    out += static_cast<char>(0xc0 | (code >> 6));
    out += static_cast<char>(0x80 | (code & 0x3f));
  } else if (code < 0x10000) {
    out += static_cast<char>(0xe0 | (code >> 12));
    out += static_cast<char>(0x80 | ((code >> 6) & 0x3f));
    out += static_cast<char>(0x80 | (code & 0x3f));
  } else {
    out += static_cast<char>(0xf0 | (code >> 18));
    out += static_cast<char>(0x80 | ((code >> 12) & 0x3f));
    out += static_cast<char>(0x80 | ((code >> 6) & 0x3f));
    out += static_cast<char>(0x80 | (code & 0x3f));
  }
}

std::string double_text(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "+Inf" : "-Inf";
  std::string text;
  schema::append_json_float(text, value);
  return text;
}

std::string go_double_text(double value) {
  return std::isfinite(value) ? schema::format_go_float(value, 64) : double_text(value);
}

std::string go_quote(std::string_view text) {
  std::string out = "\"";
  char buffer[12];
  while (!text.empty()) {
    const std::size_t length = sequence_length(text);
    const auto lead = static_cast<unsigned char>(text[0]);
    if (length == 0) {
      std::snprintf(buffer, sizeof buffer, "\\x%02x", lead);
      out += buffer;
    } else if (length > 1) {
      out += text.substr(0, length);
    } else if (lead == '"' || lead == '\\') {
      out += '\\';
      out += text[0];
    } else if (lead >= 0x20 && lead < 0x7f) {
      out += text[0];
    } else {
      constexpr std::string_view kNamed = "\a\b\t\n\v\f\r";
      const std::size_t named = kNamed.find(text[0]);
      std::snprintf(buffer, sizeof buffer, "\\x%02x", lead);
      out += named == std::string_view::npos ? std::string(buffer) : std::string("\\") + "abtnvfr"[named];
    }
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return out + '"';
}

}  // namespace sublet::patches::cel
