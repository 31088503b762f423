// wal_rescue: makes durable what can be read of a write-ahead file that a process left behind.
//
// After a kill, or a sync that failed, a WAL holds commits that everyone can read and that may not be on the disk: no
// later sync writes pages that Linux counts as clean. A checkpoint would carry them into the database all the same, and
// after a power cut the shorter WAL on the disk would be replayed over newer pages. So before SQLite sees it the WAL is
// written onto itself and synced; while that lasts a twin file holds the same bytes, for a sector that the power goes
// over may end up as neither old nor new. Everything goes through the VFS, so that tests can cut the power anywhere.
// The caller has locked the database against other processes; SQLite has not opened it yet. One thread.
#pragma once

#include <string>

#include "store/sqlite/wal.h"
#include "sublet/base/status.h"

namespace sublet::store {

/// Ends a rescue that was cut off: the twin's bytes become the WAL's. First of all, also before the WAL is read.
Outcome finish_rescue(const std::string& wal, const std::string& vfs);

/// `wal`: what was read of `path`. Errors name the file; nothing that was readable is lost then.
Outcome rescue_wal(const Wal& wal, const std::string& path, const std::string& vfs);

}  // namespace sublet::store
