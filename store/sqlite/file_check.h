// FileCheck: whether an SQLite file is sound (PRAGMA quick_check), on a thread of its own beside who reads its rows.
//
// The check reads every page, and of a large file that takes as long as reading the rows. It has a connection of its
// own, which takes no locks: its caller holds the file's, and writes nothing until finish() has returned.
// Closing a descriptor would drop all locks of the process on that file (POSIX), so destroy it after the connection
// that has them. Lifecycle: start() once, then finish(), which says the same as often as it is asked; destroyed before
// that, it breaks off. One thread calls.
#pragma once

#include <string>
#include <thread>

#include "store/sqlite/sqlite_db.h"

namespace sublet::store {

class FileCheck {
 public:
  FileCheck() = default;
  ~FileCheck();
  FileCheck(const FileCheck&) = delete;
  FileCheck& operator=(const FileCheck&) = delete;

  /// False when that cannot be done here: check it on the connection that there is.
  bool start(const std::string& path);
  bool started() const { return started_; }
  struct Verdict {
    int code = SQLITE_OK;  // why it could not be read to its end, with `text`
    std::string text;      // "ok", or what is wrong with it
  };
  const Verdict& finish();

  /// The same on a connection that there is.
  static Verdict of(Database& db);

 private:
  Database db_;
  bool started_ = false;
  std::thread thread_;
  Verdict verdict_;  // the thread's, until it has ended
};

}  // namespace sublet::store
