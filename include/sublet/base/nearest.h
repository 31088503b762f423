// The known name nearest to a mistyped one.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace sublet {

/// Edits (insert, delete, replace, swap neighbours) between two words, ASCII case ignored.
std::size_t edit_distance(std::string_view a, std::string_view b);
/// The candidate within a third of the word's length (at least 1 edit, at most 4); empty: none is near.
std::string_view nearest(std::string_view word, const std::vector<std::string_view>& candidates);
/// ` (did you mean "x"?)`, or nothing.
std::string suggestion(std::string_view word, const std::vector<std::string_view>& candidates);

}  // namespace sublet
