// The SQLite log, the default engine. The file format is described in store/sqlite/sqlite_log.cpp.
//
// One file is open in one process at a time. Damaged and foreign files are refused.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "sublet/base/status.h"
#include "sublet/store/log.h"

namespace sublet::store {

struct SqliteLogOptions {
  std::string path;                            // database file; its folder must exist
  std::string vfs = {};                        // SQLite VFS name; empty: the default (tests inject faults here)
  std::string synchronous = "FULL";            // only the power-cut test sets OFF, to show that it finds losses
  int checkpoint_pages_idle = 512;             // WAL pages (4 KiB) from which an idle log makes a checkpoint
  int checkpoint_pages_max = 1024;             // WAL pages from which it makes one under load too
  std::int64_t reserve_margin = 2 << 20;       // bytes reserved for a full disk, in addition to those pages
  std::int64_t check_beside_bytes = 64 << 20;  // from this size on the file is checked while its rows are read
};

/// Creates the file (mode 0600) or opens an existing one exclusively. Errors name the file, the cause and what to do:
/// not a sublet store (application_id), a newer format, damaged, locked by another process.
Result<std::unique_ptr<Log>> open_sqlite_log(const SqliteLogOptions& options);

}  // namespace sublet::store
