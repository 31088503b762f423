#include <unistd.h>

#include <cerrno>
#include <csignal>

#include "subletd/rest.h"
#include "subletd/role.h"

namespace sublet::subletd {
namespace {

sigset_t stop_signals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  sigaddset(&set, SIGINT);
  return set;
}

}  // namespace

void block_stop_signals() {
  const sigset_t set = stop_signals();
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
}

void wait_for_stop_signal() {
  const sigset_t set = stop_signals();
  Rest rest(processor_time, give_memory_back);
  const timespec period{kRestPeriod.count(), 0};
  while (sigtimedwait(&set, nullptr, &period) < 0)
    if (errno == EAGAIN) rest.look();  // EINTR: a debugger, or the machine slept
}

void request_stop() { kill(getpid(), SIGTERM); }

}  // namespace sublet::subletd
