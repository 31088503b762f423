// header_words: the words of a header's value: a list with commas (RFC 9110 5.6.1), without surrounding blanks and
// empty words. Pure; returns views of the argument.
#pragma once

#include <algorithm>
#include <string_view>

#include "sublet/base/text.h"

namespace sublet::net {

template <class Each>
void each_word(std::string_view list, Each&& each) {
  while (!list.empty()) {
    const auto word = list.substr(0, list.find(','));
    list.remove_prefix(std::min(list.size(), word.size() + 1));
    if (const auto text = trimmed(word, kBlanks); !text.empty()) each(text);
  }
}

}  // namespace sublet::net
