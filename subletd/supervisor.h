// Supervisor: the processes of one virtual cluster as children, restarted with back-off when they end; SIGTERM ends
// all, the API server last. It gives up only when the API server does not come up at all.
//
// One thread, no timers while all is well: it sleeps in sigtimedwait. The children die with it (PDEATHSIG), so that a
// killed supervisor leaves nothing behind. It is here apart from `subletd run`, which finds out what is to run, because
// it stays: as a program of its own (supervisor_main.cpp), without the libraries of the other roles, it costs a fifth.
#pragma once

#include <string>
#include <vector>

#include "sublet/base/status.h"

namespace sublet::subletd {

struct Supervision {
  std::string folder;              // the virtual cluster's
  std::vector<std::string> roles;  // of subletd, in the order of their start; the first is the API server
  bool logs_to_stdout = false;     // else each role's into the folder
  int program = -1;                // subletd, open for fexecve(): the same one, also when a newer one has replaced it
};

/// Returns when SIGTERM or SIGINT has come and all have ended, or with the reason why there is no point in going on.
Outcome supervise(const Supervision& asked);

}  // namespace sublet::subletd
