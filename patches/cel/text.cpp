#include "patches/cel/text.h"

#include <charconv>
#include <cmath>

#include "sublet/schema/document.h"

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

std::string double_text(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "+Inf" : "-Inf";
  std::string text;
  schema::append_json_float(text, value);
  return text;
}

}  // namespace sublet::patches::cel
