// Rest: what a process gives back to the machine when it has nothing to do. A virtual cluster rests most of its life,
// and what its start and the last burst of requests touched would stay mapped for ever: pages of the program that only
// a start reads, and free memory inside malloc's arenas.
//
// Purpose: one process's memory at rest. Lifecycle: made when the process is ready, looked at now and then by the
// thread that waits for the stop signal. Threads: one at a time; the others go on meanwhile. Ownership: nothing.
#pragma once

#include <chrono>
#include <functional>

namespace sublet::subletd {

class Rest {
 public:
  /// How much processor time the process has used, and what to do when it rests.
  using Used = std::function<std::chrono::nanoseconds()>;
  Rest(Used used, std::function<void()> give_back);

  /// Called every kRestPeriod. Gives back once when the process did almost nothing since the last look and has worked
  /// since it last gave back: an idle process does so once, not for ever.
  void look();

 private:
  Used used_;
  std::function<void()> give_back_;
  std::chrono::nanoseconds at_last_look_{};
  std::chrono::nanoseconds at_give_back_{};
};

/// Two of these make a rest. Long enough that a client's next command meets a process that is still warm.
inline constexpr std::chrono::seconds kRestPeriod{15};

/// Processor time of all threads of this process.
std::chrono::nanoseconds processor_time();

/// Free memory of malloc goes to the kernel, and pages of the program and its libraries that can be read again from
/// their files are unmapped; the next use takes it from the page cache (about 0.2 ms for the first request).
void give_memory_back();

}  // namespace sublet::subletd
