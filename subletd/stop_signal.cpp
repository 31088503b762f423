#include <unistd.h>

#include <csignal>

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
  int received = 0;
  sigwait(&set, &received);
}

void request_stop() { kill(getpid(), SIGTERM); }

}  // namespace sublet::subletd
