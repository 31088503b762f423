#include "sublet/base/go_quoted.h"

namespace sublet {

std::string go_quoted(std::string_view text) {
  constexpr std::string_view kHex = "0123456789abcdef";
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\')
      out.append(1, '\\').append(1, c);
    else if (byte >= 7 && byte <= 13)
      out.append(1, '\\').append(1, "abtnvfr"[byte - 7]);
    else if (byte < 0x20 || byte == 0x7f)
      out.append("\\x").append(1, kHex[byte >> 4]).append(1, kHex[byte & 0xf]);
    else
      out += c;
  }
  return out += '"';
}

}  // namespace sublet
