// Text list: a search in a short list of texts. Pure; threads: any.
#pragma once

#include <algorithm>
#include <ranges>
#include <string_view>

namespace sublet::apiserver {

/// Returns true if an entry of `list` (an array, a vector, a span) is `text`.
template <std::ranges::range List>
bool contains_text(const List& list, std::string_view text) {
  return std::ranges::find(list, text) != std::ranges::end(list);
}

}  // namespace sublet::apiserver
