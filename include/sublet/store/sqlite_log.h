// The SQLite log: see store/sqlite_log.cpp for the file format. open_sqlite_log refuses damaged and foreign files.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "sublet/store/store.h"

namespace sublet::store {

struct SqliteLogOptions {
  std::string path;                            // database file; its folder must exist
  std::string vfs = {};                        // SQLite VFS name; empty: the default (tests inject faults here)
  std::string synchronous = "FULL";            // the power-cut test proves itself with OFF; nothing else may
  int checkpoint_pages_idle = 512;             // WAL pages (4 KiB) from which a checkpoint is done when nobody waits
  int checkpoint_pages_max = 1024;             // and from which it is done even under load
  std::int64_t reserve_margin = 2 << 20;       // of the reserve for a full disk, beyond those pages
  std::int64_t check_beside_bytes = 64 << 20;  // a file of this size is checked beside the reading of its rows
};

/// Creates the file (mode 0600) or opens an existing one exclusively. Errors name the file, the cause and what to do:
/// not a sublet store (application_id), a newer format, damaged, locked by another process.
Result<std::unique_ptr<Log>> open_sqlite_log(const SqliteLogOptions& options);

/// A log in memory, for tests of what stands above it.
std::unique_ptr<Log> make_memory_log();

}  // namespace sublet::store
