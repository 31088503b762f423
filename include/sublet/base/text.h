// Text: what is done to a text in many places. Pure; views of what is given.
#pragma once

#include <string_view>

namespace sublet {

inline constexpr std::string_view kBlanks = " \t";              // what HTTP calls white space
inline constexpr std::string_view kWhiteSpace = " \t\n\v\f\r";  // of ASCII, as Go and C have it

/// Without what stands of these characters at both ends.
constexpr std::string_view trimmed(std::string_view text, std::string_view ends = kWhiteSpace) {
  const auto first = text.find_first_not_of(ends);
  return first == std::string_view::npos ? std::string_view()
                                         : text.substr(first, text.find_last_not_of(ends) - first + 1);
}

}  // namespace sublet
