// LoopStrand: a loop as the strand of what may also be stepped (base/strand.h). The loop must outlive it. Thread-safe.
#pragma once

#include "sublet/base/strand.h"
#include "sublet/net/loop.h"

namespace sublet::net {

class LoopStrand final : public Strand {
 public:
  explicit LoopStrand(Loop& loop) : loop_(loop) {}
  void post(std::function<void()> task) override { loop_.post(std::move(task)); }
  TimerId after(std::chrono::milliseconds delay, std::function<void()> task) override {
    return loop_.after(delay, std::move(task));
  }
  void cancel(TimerId id) override { loop_.cancel(id); }

 private:
  Loop& loop_;
};

}  // namespace sublet::net
