#include "controllers/job/index_ranges.h"

#include <algorithm>
#include <charconv>
#include <optional>

namespace sublet::controllers {
namespace {

std::optional<std::int64_t> number(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0) return std::nullopt;
  return value;
}

}  // namespace

IndexRanges IndexRanges::parse(std::string_view text, std::int64_t completions) {
  IndexRanges ranges;
  while (!text.empty()) {
    const auto part = text.substr(0, text.find(','));
    text.remove_prefix(std::min(part.size() + 1, text.size()));
    const auto dash = part.find('-');
    const auto first = number(part.substr(0, dash));
    const auto last = dash == std::string_view::npos ? first : number(part.substr(dash + 1));
    if (!first || !last) continue;
    if (*first >= completions) break;
    ranges.add(*first, std::min(*last, completions - 1));
  }
  return ranges;
}

void IndexRanges::add(std::int64_t first, std::int64_t last) {
  if (last < first) return;
  auto begin = std::lower_bound(ranges_.begin(), ranges_.end(), first,
                                [](const Range& range, std::int64_t index) { return range.last + 1 < index; });
  auto end = begin;
  for (; end != ranges_.end() && end->first <= last + 1; ++end) {
    first = std::min(first, end->first);
    last = std::max(last, end->last);
  }
  ranges_.insert(ranges_.erase(begin, end), {first, last});
}

void IndexRanges::add(const IndexRanges& others) {
  for (const auto& range : others.ranges_) add(range.first, range.last);
}

bool IndexRanges::has(std::int64_t index) const {
  const auto found = std::lower_bound(ranges_.begin(), ranges_.end(), index,
                                      [](const Range& range, std::int64_t wanted) { return range.last < wanted; });
  return found != ranges_.end() && found->first <= index;
}

std::int64_t IndexRanges::count() const {
  std::int64_t total = 0;
  for (const auto& range : ranges_) total += range.last - range.first + 1;
  return total;
}

std::string IndexRanges::text() const {
  std::string text;
  for (const auto& range : ranges_) {
    if (!text.empty()) text += ',';
    text += std::to_string(range.first);
    if (range.last == range.first) continue;
    text += range.last == range.first + 1 ? ',' : '-';
    text += std::to_string(range.last);
  }
  return text;
}

std::int64_t IndexRanges::count_shared(const IndexRanges& others) const {
  std::int64_t total = 0;
  for (const auto& mine : ranges_)
    for (const auto& theirs : others.ranges_)
      total += std::max<std::int64_t>(0, std::min(mine.last, theirs.last) - std::max(mine.first, theirs.first) + 1);
  return total;
}

std::vector<std::int64_t> IndexRanges::first_missing(std::int64_t most, std::int64_t completions) const {
  std::vector<std::int64_t> missing;
  std::int64_t candidate = 0;
  const auto fill_up_to = [&](std::int64_t end) {
    for (; candidate < std::min(end, completions) && std::int64_t(missing.size()) < most; ++candidate)
      missing.push_back(candidate);
  };
  for (const auto& range : ranges_) {
    fill_up_to(range.first);
    candidate = std::max(candidate, range.last + 1);
  }
  fill_up_to(completions);
  return missing;
}

}  // namespace sublet::controllers
