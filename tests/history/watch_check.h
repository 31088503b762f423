// WatchCheck: does a watch, as its reader saw it, keep what a watch promises? The properties are those of etcd's
// robustness suite, as a client of the Kubernetes API sees them:
//   ordered       versions only go up
//   unique        no event comes twice
//   reliable      none is missing between the first and the last, and a complete stream ends with the last
//   resumable     the first is the first behind the version that was asked for
//   bookmarkable  what a bookmark stands for has all been sent, and nothing of it comes later
//   filtered      what does not match the selector does not come; entering it is ADDED, leaving it DELETED
//   created       ADDED when it was not there before, else MODIFIED
//   last state    DELETED carries the last state that matched
//   content       an event has what was written at its version
//   initial       initial events are the state at the version of their end, which is told once
// (Atomic has no counterpart here: each version is one object's.) Threads: none.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tests/history/event_log.h"

namespace sublet::history {

/// What a watch asks for: a query for the URL, and the same as a function of an object.
struct Selection {
  std::string query = {};
  bool (*matches)(const LoggedEvent& object) = [](const LoggedEvent&) { return true; };
};

struct StreamItem {
  enum class Kind : std::uint8_t { event, bookmark, initial_end } kind = Kind::event;
  LoggedEvent event = {};  // of a bookmark only the version
};

struct Stream {
  std::string name = {};
  Selection selection = {};
  Version from = 0;
  bool initial = false;  // began with the state instead of at `from`
  std::vector<StreamItem> items = {};
  Version complete_to = 0;  // its reader waited for everything up to here
};

/// Checks streams of one run; what a selection must have been told is found out once. Threads: one at a time.
class WatchCheck {
 public:
  /// `log` must outlive it.
  explicit WatchCheck(const EventLog& log);
  std::vector<Violation> check(const Stream& stream);
  /// The version of the last event that a watch with this selection must bring; 0: none.
  Version last_of(const Selection& selection);

 private:
  const EventLog& told_to(const Selection& selection);
  ObjectsByKey state_at(Version version) const;

  const EventLog& log_;
  std::map<std::string, EventLog> told_;                          // by the selection's query
  std::vector<std::pair<std::size_t, ObjectsByKey>> milestones_;  // the state before that event of the log
};

}  // namespace sublet::history
