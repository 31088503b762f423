// FaultVfs: an SQLite VFS over the real one that remembers what was written and synced, and can fail.
//
// Power cuts: every write, truncation and sync is recorded in order, so that for any moment the disk's possible content
// can be made: what was synced, plus, of what was not, what `Unsynced` names. Bytes outside of a write are never
// touched (SQLite's "powersafe overwrite", which its unix VFS assumes). Failures: the n-th write can find the disk
// full, the n-th operation can fail, everything can freeze as after kill -9. A sync that fails is as on Linux: what it
// should have written stays readable, counts as clean, and never reaches the disk by a later sync (unless it is written
// again), or did so by chance. Folder entries: a file's creation is durable with its first sync (SQLite's VFS syncs the
// folder then), a deletion only when SQLite asked for a sync of the folder. Threads: locked; the store's commit thread
// calls it while a test plans faults.
#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "sublet/base/mutex.h"

namespace sublet::store::fault {

/// File name (without folder) -> content.
using Image = std::map<std::string, std::string>;

/// What happens to writes that were not synced when the power goes.
enum class Unsynced {
  dropped,        // none survives
  random_subset,  // each whole or not at all
  torn,           // of each a prefix of its 512-byte sectors
  sectors,        // of each any of its sectors
  garbage,        // as `sectors`, and some hold neither the old nor the new
  kept,           // all survive, as after kill -9
};
inline constexpr Unsynced kAllWays[] = {Unsynced::dropped, Unsynced::random_subset, Unsynced::torn,
                                        Unsynced::sectors, Unsynced::garbage,       Unsynced::kept};
/// And to folder entries that were not.
enum class Entries { kept, lost };

class FaultVfs {
 public:
  /// Registers itself with SQLite under a name of its own.
  FaultVfs();
  ~FaultVfs();
  FaultVfs(const FaultVfs&) = delete;
  FaultVfs& operator=(const FaultVfs&) = delete;

  const std::string& name() const { return name_; }

  /// Takes a file that exists already into the record, as durable.
  void adopt(const std::string& path);
  /// Operations (writes, truncations, syncs, deletions) so far.
  std::size_t operations() const;
  /// The n-th operation from now (1: the next) and `count - 1` more after it fail with `code`; SQLITE_FULL hits only
  /// writes, and leaves half of their data behind; SQLITE_IOERR_FSYNC hits only syncs.
  void fail(std::size_t nth, std::size_t count, int code);
  /// Nothing reaches the files any more and every call fails, as if the process had been killed.
  void freeze();
  void thaw();

  /// The disk after a power cut behind the first `operations` operations.
  Image image(std::size_t operations, Unsynced unsynced, std::mt19937& random, Entries entries = Entries::kept) const;

  /// Walks through all moments in order: much cheaper than one image() each.
  class Cursor {
   public:
    /// `lost_survive`: of what a failed sync left behind, whether some reached the disk all the same.
    explicit Cursor(const FaultVfs& vfs, bool lost_survive = false) : vfs_(vfs), lost_survive_(lost_survive) {}
    /// Moves on to the moment behind `operations` operations, never back.
    void advance(std::size_t operations);
    Image image(Unsynced unsynced, std::mt19937& random, Entries entries = Entries::kept) const;

   private:
    struct File {
      std::string synced;
      std::vector<std::size_t> unsynced;  // numbers of operations
      bool entry_synced = false;
    };
    void sync(File& file) SUBLET_REQUIRES(vfs_.mutex_);
    void lose(File& file) SUBLET_REQUIRES(vfs_.mutex_);
    std::string content(const File& file, Unsynced unsynced, std::mt19937& random) const SUBLET_REQUIRES(vfs_.mutex_);

    const FaultVfs& vfs_;
    bool lost_survive_;
    std::mt19937 fate_{7};
    std::size_t at_ = 0;
    std::map<std::string, File> files_;
    std::map<std::string, File> removed_;  // whose entries may come back
  };

  // For the C callbacks only.
  struct Operation {
    enum class Kind : std::uint8_t { create, write, truncate, sync, failed_sync, remove } kind;
    std::string file;
    std::int64_t offset = 0;  // of a write; the size of a truncation; 1: a removal with a sync of the folder
    std::string data;
  };
  sqlite3_vfs* below() const { return below_; }
  /// Records the operation; the code to fail with, or SQLITE_OK.
  int perform(Operation operation);
  bool frozen() const;

 private:
  sqlite3_vfs* below_;
  sqlite3_vfs vfs_{};
  std::string name_;
  mutable Mutex mutex_;
  std::vector<Operation> operations_ SUBLET_GUARDED_BY(mutex_);
  std::size_t countdown_ SUBLET_GUARDED_BY(mutex_) = 0, failures_ SUBLET_GUARDED_BY(mutex_) = 0;
  int code_ SUBLET_GUARDED_BY(mutex_) = SQLITE_OK;
  bool frozen_ SUBLET_GUARDED_BY(mutex_) = false;
};

}  // namespace sublet::store::fault
