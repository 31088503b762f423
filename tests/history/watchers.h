// Watchers: readers of every kind beside the clients, each on a connection and a thread of its own, resuming whenever
// their stream ends; what each stream brought is kept for WatchCheck. One more reads everything from the beginning: the
// log of changes, also of those that fall out of the server's history (a full disk cuts that short). Who is told so
// goes on with the oldest that is kept.
//
// Lifecycle: run(); read_log(); then finish() tells each how far it must get, waits, and ends it. streams() is complete
// then. Threads: one per watcher.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "tests/history/http_peer.h"
#include "tests/history/server_process.h"
#include "tests/history/watch_check.h"

namespace sublet::history {

/// The selections that watchers use: everything first.
const std::vector<Selection>& selections();

/// The oldest version that is kept, of what a watch was told whose place has fallen out of the history; 0 when it was
/// told something else.
Version kept_from(std::string_view problem);

/// Reads one watch from `from` until the event of `until` has come (or it ends); what it brought.
Stream read_watch(ServerProcess& server, const Selection& selection, Version from, Version until, std::string& problem);

class Watchers {
 public:
  Watchers(ServerProcess& server, int count, Version from, unsigned seed);
  ~Watchers();
  void run();
  /// All changes up to that one; `problem` when some were gone before they were read.
  EventLog read_log(Version until, std::string& problem);
  /// Those that did not get to the end of the log in time.
  std::vector<Violation> finish(WatchCheck& check);
  std::vector<Stream> streams();
  std::vector<std::string> problems();
  /// How often a watcher's place had fallen out of the history.
  long expired() const;

 private:
  class Watcher;
  bool wait_for(const std::vector<const Watcher*>& some) const;
  std::unique_ptr<Watcher> log_;
  std::vector<std::unique_ptr<Watcher>> watchers_;
  std::vector<std::thread> threads_;
};

}  // namespace sublet::history
