// Log: an ordered, append-only log of rows. It makes the store's writes durable.
//
// The store knows only this interface: state, history, watches and snapshots are the same over every engine. Engines:
// SQLite (sqlite_log.h) and memory (memory_log.h); log_engines.h chooses one by name.
// Lifecycle: replay() once, then append(), compact() and idle() until the destructor closes the log.
// Threads: one at a time. The store calls from its commit thread once it runs.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "sublet/base/status.h"
#include "sublet/store/object.h"

namespace sublet::store {

struct Row {
  Revision revision = 0;
  std::string key;
  bool deleted = false;
  Revision create_revision = 0;
  std::string value;         // encoded Put (store/rows/row_codec.h): header with format version, encoding, checksum
  bool of_deletion = false;  // not stored: a put that is accepted where deletes are
};

class Log {
 public:
  virtual ~Log() = default;
  /// Calls `visit` for every stored row in revision order. An error names the damage and the next step.
  virtual Outcome replay(const std::function<Outcome(Row&&)>& visit) = 0;
  /// Returns the revision below which rows were compacted.
  virtual Revision compacted() const = 0;
  /// Returns the highest revision that any row ever had here, including rows that compaction has removed since. Rows
  /// that append() refused do not count: no client knows their revisions.
  virtual Revision last() const = 0;
  /// Makes all rows durable in one transaction, or none of them. An error other than `full` leaves the outcome unknown.
  enum class AppendError { none, full, io };
  virtual AppendError append(const std::vector<Row>& rows, std::string& error_text) = 0;
  /// Removes the given superseded rows and records the new floor. The store calls it in small steps.
  virtual AppendError compact(const std::vector<Revision>& superseded, Revision floor, std::string& error_text) = 0;
  /// Does work that can wait for an idle moment, such as a checkpoint.
  virtual void idle() {}
  /// Returns true while the disk is full and deletes use the reserved space: the store then shortens its history.
  virtual bool short_of_space() const { return false; }
};

}  // namespace sublet::store
