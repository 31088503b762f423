// wal_check: is a write-ahead file damaged, or does it merely end where a crash cut it off?
//
// SQLite reads a WAL up to the first frame whose checksum is wrong and silently ignores the rest, which is right after
// a crash and loses acknowledged commits after damage. A crash can only break the last transaction, because each is
// synced before the next begins; so two or more commits of the same generation behind a broken frame are damage. Damage
// to the last transaction alone cannot be told from a crash. Format: https://www.sqlite.org/fileformat2.html#walformat.
// Reads only; any thread.
#pragma once

#include <string>

namespace sublet::store {

/// What is wrong with the WAL at `path`; empty when it is sound or not there.
std::string wal_problem(const std::string& path);

}  // namespace sublet::store
