// Daemon: background processes that the local driver starts and stops.
//
// A daemon holds an flock on its lock file while it or a child of it lives, so a pid alone never decides whether it
// runs. The pid in the file is trusted only while the lock is held, and a process gets a signal only if its arguments
// name that folder. Threads: one.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "sublet/base/status.h"

namespace sublet::cluster {

/// Starts `subletd ARGUMENTS...` detached (own session, stdio to the log). already_exists when one holds the lock.
Outcome start_daemon(const std::string& lock_path, const std::string& log_path,
                     const std::vector<std::string>& arguments);
bool daemon_runs(const std::string& lock_path);
/// 0 when none runs.
int daemon_pid(const std::string& lock_path);
/// SIGTERM, then SIGKILL to the whole session after `grace`; returns when the lock is free. Succeeds when none runs.
/// conflict: it runs elsewhere, as in another container with the same volume.
Outcome stop_daemon(const std::string& lock_path, std::chrono::seconds grace);
/// The last lines of a log, for error messages.
std::string log_tail(const std::string& log_path, int lines = 5);

/// Path of the subletd beside this executable, else the one on PATH.
std::string subletd_path();

}  // namespace sublet::cluster
