// wal_check: is a write-ahead file damaged, or does it merely end where a crash cut it off?
//
// SQLite reads a WAL up to the first frame whose checksum is wrong and silently ignores the rest, which is right after
// a crash and loses acknowledged commits after damage. A crash can only break the last transaction, because each is
// synced before the next begins; so two or more commits of the same generation behind a broken frame are damage. Damage
// to the last transaction alone cannot be told from a crash. The header is written when a new generation begins, after
// a checkpoint: a broken one is a crash when the database has all that the frames behind it say, else damage. Format:
// https://www.sqlite.org/fileformat2.html#walformat. Reads only; any thread.
#pragma once

#include <string>

namespace sublet::store {

/// What is wrong with the WAL at `path` of `database`; empty when it is sound or not there.
std::string wal_problem(const std::string& path, const std::string& database);

/// The database's first page as the last commit in the WAL has it; empty when it is not in there.
std::string first_page_in_wal(const std::string& path);

}  // namespace sublet::store
