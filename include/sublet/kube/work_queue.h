// WorkQueue: keys to reconcile, each at most once in line and never on two workers at a time.
//
// add() while a key is being worked on puts it in line again afterwards. Failures come back after a growing delay per
// key (10 ms doubling to 60 s, jittered); forget() resets it. Thread-safe. Level-triggered: a key says what to look at,
// never what happened.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "sublet/base/clock.h"

namespace sublet::kube {

class WorkQueue {
 public:
  explicit WorkQueue(Clock& clock = Clock::system());
  ~WorkQueue();

  void add(const std::string& key);
  void add_after(const std::string& key, std::chrono::milliseconds delay);
  /// Comes back after the key's own back-off.
  void retry(const std::string& key);
  void forget(const std::string& key);
  /// Blocks for the next key; nullopt after shut_down() (pending keys are dropped). Pair with done().
  std::optional<std::string> get();
  void done(const std::string& key);
  void shut_down();
  std::size_t depth() const;  // in line or delayed
  bool idle() const;          // nothing in line, none in work (delayed keys do not count)

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace sublet::kube
