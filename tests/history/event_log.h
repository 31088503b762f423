// EventLog: what happened to the objects of a run, in the order of versions, as one watch from the beginning tells it;
// and what must agree with it: the answers of the clients (check_answers) and their lists (check_lists).
//
// The log comes from the server under test, so it is believed only as far as the clients' own records bear it out: each
// write that was answered stands in it with its version and its numbers, each entry is the work of exactly one call,
// and no call that was refused has an entry. Threads: none.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tests/history/linearizability.h"
#include "tests/history/object_model.h"

namespace sublet::history {

enum class Change : std::uint8_t { added, modified, deleted };

/// One version of one object; of a deletion its last state, at the version of the deletion.
struct LoggedEvent {
  Version version = 0;
  Change change = Change::added;
  std::uint16_t key = 0;
  std::uint32_t a = 0, b = 0;
  bool operator==(const LoggedEvent&) const = default;
};

using EventLog = std::vector<LoggedEvent>;  // by version
using ObjectsByKey = std::map<std::uint16_t, LoggedEvent>;

/// Applies one event to what is there.
void take_in(ObjectsByKey& objects, const LoggedEvent& event);

/// One answered LIST: what it held, at which version.
struct Listed {
  Version version = 0;
  ObjectsByKey objects = {};  // with their own versions
};

/// A finding: the property that does not hold, and where.
struct Violation {
  std::string property, text;
};

std::vector<Violation> check_answers(const EventLog& log, const std::vector<Timed<ObjectCall>>& calls,
                                     const std::vector<ObjectCall>& refused);
/// Lists are snapshots: at its version, a list holds exactly what the log says.
std::vector<Violation> check_lists(const EventLog& log, std::vector<Listed> lists);

/// What became of the writes without an answer, as far as the log tells (a write carries numbers of its own): those
/// that happened get their version, those that did not are left out. Deletions stay unknown, unless every logged one
/// has its answer. As etcd's robustness suite does; without it a burst of 503s has more possible pasts than can be
/// tried.
std::vector<Timed<ObjectCall>> resolve(const EventLog& log, std::vector<Timed<ObjectCall>> calls);

std::string describe(const LoggedEvent& event);

}  // namespace sublet::history
