// Watchers: readers of every kind beside the clients, each on a connection and a thread of its own, resuming whenever
// their stream ends; what each stream brought is kept for WatchCheck.
//
// Lifecycle: run(); then, when the log is known, finish() tells each how far it must get, waits, and ends it. streams()
// is complete then. Threads: one per watcher.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "tests/history/http_peer.h"
#include "tests/history/server_process.h"
#include "tests/history/watch_check.h"

namespace sublet::history {

/// The selections that watchers use: everything first.
const std::vector<Selection>& selections();

/// Reads one watch from `from` until the event of `until` has come (or it ends); what it brought.
Stream read_watch(ServerProcess& server, const Selection& selection, Version from, Version until, std::string& problem);

class Watchers {
 public:
  Watchers(ServerProcess& server, int count, Version from, unsigned seed);
  ~Watchers();
  void run();
  /// Those that did not get to the end of the log in time.
  std::vector<Violation> finish(WatchCheck& check);
  std::vector<Stream> streams();
  std::vector<std::string> problems();

 private:
  class Watcher;
  std::vector<std::unique_ptr<Watcher>> watchers_;
  std::vector<std::thread> threads_;
};

}  // namespace sublet::history
