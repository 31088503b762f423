// MemoryBudget: limits the memory that all requests together use for something optional. Any thread.
#pragma once

#include <atomic>
#include <cstddef>

namespace sublet::apiserver {

class MemoryBudget {
 public:
  explicit MemoryBudget(std::size_t bytes) : left_(bytes) {}

  /// False: so much is not left. What is taken is given back by who took it.
  [[nodiscard]] bool take(std::size_t bytes) {
    for (std::size_t left = left_.load(std::memory_order_relaxed); left >= bytes;)
      if (left_.compare_exchange_weak(left, left - bytes, std::memory_order_relaxed)) return true;
    return false;
  }
  void give_back(std::size_t bytes) { left_.fetch_add(bytes, std::memory_order_relaxed); }

 private:
  std::atomic<std::size_t> left_;
};

}  // namespace sublet::apiserver
