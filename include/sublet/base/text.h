// Text helpers that more than one source needs. ASCII only: Kubernetes names, headers and paths are.
//
// Threads: pure functions. Ownership: a std::string_view that is returned points into the argument.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace sublet {

inline constexpr std::string_view kBlanks = " \t";              // what HTTP calls white space
inline constexpr std::string_view kWhiteSpace = " \t\n\v\f\r";  // of ASCII, as Go and C have it

/// Returns `text` without the characters of `ends` at both ends.
constexpr std::string_view trimmed(std::string_view text, std::string_view ends = kWhiteSpace) {
  const auto first = text.find_first_not_of(ends);
  return first == std::string_view::npos ? std::string_view()
                                         : text.substr(first, text.find_last_not_of(ends) - first + 1);
}

constexpr char to_lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

std::string to_lower(std::string_view text);

bool equal_ignoring_case(std::string_view a, std::string_view b);

/// Returns the parts between the separators. An empty text has one empty part, as in Go's strings.Split.
std::vector<std::string_view> split(std::string_view text, char separator);

/// Returns the parts between spaces, without empty ones.
std::vector<std::string_view> split_words(std::string_view text);

/// Returns the texts of `parts` with `separator` between them. `parts` is any range of what converts to
/// std::string_view.
template <class Parts>
std::string join(const Parts& parts, std::string_view separator) {
  std::string out;
  bool first = true;
  for (const auto& part : parts) {
    if (!first) out.append(separator);
    first = false;
    out.append(std::string_view(part));
  }
  return out;
}

/// Returns `text` in single quotes. Nothing is escaped.
std::string single_quoted(std::string_view text);

/// Returns `text` in double quotes. Nothing is escaped; go_quoted.h has Go's %q.
std::string double_quoted(std::string_view text);

}  // namespace sublet
