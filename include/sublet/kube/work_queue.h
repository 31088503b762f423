// WorkQueue: keys to reconcile, each at most once in line and never on two workers at a time.
//
// add() while a key is being worked on puts it in line again afterwards. Failures come back after a growing delay per
// key (10 ms doubling to 60 s, jittered); forget() resets it. Thread-safe. Level-triggered: a key says what to look at,
// never what happened. Keys can be told apart by urgency: a lane is served when the ones before it are empty, and each
// has a turn now and then, so that none starves.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "sublet/base/clock.h"
#include "sublet/base/random.h"

namespace sublet::kube {

class WorkQueue {
 public:
  /// Which lane a key goes in, 0 (most urgent) to kLanes - 1; asked whenever it comes in line, with the queue locked:
  /// it must not call the queue.
  using LaneOf = std::function<int(std::string_view key)>;
  static constexpr int kLanes = 3;
  explicit WorkQueue(Clock& clock = Clock::system(), LaneOf lane_of = {}, Random& jitter = Random::system());
  ~WorkQueue();

  void add(const std::string& key);
  void add_after(const std::string& key, std::chrono::milliseconds delay);
  /// Comes back after the key's own back-off.
  void retry(const std::string& key);
  void forget(const std::string& key);
  /// Blocks for the next key; nullopt after shut_down() (pending keys are dropped). Pair with done().
  std::optional<std::string> get();
  /// The same without waiting: nullopt when nothing is in line. For workers that are called when there is work.
  std::optional<std::string> try_get();
  /// When the first delayed key comes in line; nullopt when none is delayed.
  std::optional<SteadyTime> next_due() const;
  void done(const std::string& key);
  void shut_down();
  std::size_t depth() const;  // in line or delayed
  /// Nothing in line, none in work, and no delayed key is due within `ahead`.
  bool idle(std::chrono::milliseconds ahead = std::chrono::milliseconds(0)) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace sublet::kube
