#include "sublet/base/back_off.h"

#include <algorithm>

namespace sublet {

using std::chrono::milliseconds;

milliseconds doubled(milliseconds first, milliseconds longest, int failures) {
  constexpr int kMost = 30;  // 1 ms grows to twelve days
  return std::min(longest, first * (std::int64_t{1} << std::min(failures, kMost)));
}

milliseconds in_upper_half(milliseconds whole, Random& random) {
  const milliseconds half(whole.count() / 2);
  return half + up_to(half, random);
}

milliseconds up_to(milliseconds whole, Random& random) {
  return milliseconds(static_cast<std::int64_t>(random.next() % static_cast<std::uint64_t>(whole.count() + 1)));
}

}  // namespace sublet
