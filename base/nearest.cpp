#include "sublet/base/nearest.h"

#include <algorithm>

namespace sublet {

namespace {

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c; }

}  // namespace

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before;  // row i-2
  std::vector<std::size_t> above(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) above[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::vector<std::size_t> row(b.size() + 1);
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const bool same = lower(a[i - 1]) == lower(b[j - 1]);
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, above[j - 1] + (same ? 0 : 1)});
      if (i > 1 && j > 1 && lower(a[i - 1]) == lower(b[j - 2]) && lower(a[i - 2]) == lower(b[j - 1]))
        row[j] = std::min(row[j], before[j - 2] + 1);
    }
    before = std::move(above);
    above = std::move(row);
  }
  return above[b.size()];
}

std::string_view nearest(std::string_view word, const std::vector<std::string_view>& candidates) {
  if (word.size() > 100) return {};
  std::size_t best = std::clamp<std::size_t>(word.size() / 3, 1, 4) + 1;
  std::string_view found;
  for (const std::string_view candidate : candidates) {
    const std::size_t distance = edit_distance(word, candidate);
    if (distance >= best) continue;
    best = distance;
    found = candidate;
  }
  return found;
}

std::string suggestion(std::string_view word, const std::vector<std::string_view>& candidates) {
  const std::string_view near = nearest(word, candidates);
  return near.empty() ? std::string() : " (did you mean \"" + std::string(near) + "\"?)";
}

}  // namespace sublet
