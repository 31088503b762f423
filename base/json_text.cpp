#include "sublet/base/json_text.h"

#include <array>

namespace sublet {
namespace {

// Bytes that Go's encoder does not write as they stand: controls, quote, backslash, <, >, & and the lead byte of
// U+2028/2029 (0xe2).
constexpr auto kPlain = [] {
  std::array<bool, 256> plain{};
  for (int c = 0; c < 256; ++c)
    plain[static_cast<std::size_t>(c)] =
        c >= 0x20 && c != '"' && c != '\\' && c != '<' && c != '>' && c != '&' && c != 0xe2;
  return plain;
}();

void append_escape(std::string& out, unsigned char c) {
  static constexpr char kHex[] = "0123456789abcdef";
  switch (c) {
    case '"':
      out += "\\\"";
      return;
    case '\\':
      out += "\\\\";
      return;
    case '\n':
      out += "\\n";
      return;
    case '\r':
      out += "\\r";
      return;
    case '\t':
      out += "\\t";
      return;
    case '\b':
      out += "\\b";
      return;
    case '\f':
      out += "\\f";
      return;
    default:
      out += "\\u00";
      out += kHex[c >> 4];
      out += kHex[c & 15];
  }
}

}  // namespace

void append_json_string(std::string& out, std::string_view text) {
  out += '"';
  std::size_t run = 0;  // start of the pending plain run
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    if (kPlain[c]) continue;
    if (c == 0xe2) {
      const bool separator = i + 2 < text.size() && static_cast<unsigned char>(text[i + 1]) == 0x80 &&
                             (static_cast<unsigned char>(text[i + 2]) & 0xfe) == 0xa8;
      if (!separator) continue;
      out.append(text, run, i - run);
      out += static_cast<unsigned char>(text[i + 2]) == 0xa8 ? "\\u2028" : "\\u2029";
      i += 2;
    } else {
      out.append(text, run, i - run);
      append_escape(out, c);
    }
    run = i + 1;
  }
  out.append(text, run, text.size() - run);
  out += '"';
}

}  // namespace sublet
