// How long to wait before the next try of what has failed, in one way for all who try again. Threads: any.
#pragma once

#include <chrono>

#include "sublet/base/random.h"

namespace sublet {

/// `first` after no failure before this one, doubling with each up to `longest`. failures >= 0.
std::chrono::milliseconds doubled(std::chrono::milliseconds first, std::chrono::milliseconds longest, int failures);

/// Somewhere from the half of it to the whole, so that many that failed together spread out.
std::chrono::milliseconds in_upper_half(std::chrono::milliseconds whole, Random& random);

/// Somewhere from nothing to the whole, for many clients of one server.
std::chrono::milliseconds up_to(std::chrono::milliseconds whole, Random& random);

}  // namespace sublet
