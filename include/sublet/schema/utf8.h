// UTF-8: what of a text is characters, and the repair of one that is not all. Pure; any thread.
#pragma once

#include <string>
#include <string_view>

namespace sublet::schema {

bool is_utf8(std::string_view text);
/// Length of the UTF-8 character at the start of `text`, or 0 when there is none. `text` is not empty.
std::size_t utf8_length(std::string_view text);

/// A copy with every byte that belongs to no character replaced by what `replace` gives for it.
template <class Replace>
std::string repair_utf8(std::string_view text, Replace replace) {
  std::string out;
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    if (length > 0)
      out += text.substr(0, length);
    else
      out += replace(static_cast<unsigned char>(text[0]));
    text.remove_prefix(length > 0 ? length : 1);
  }
  return out;
}

}  // namespace sublet::schema
