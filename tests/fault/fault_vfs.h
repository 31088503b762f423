// FaultVfs: an SQLite VFS over the real one that remembers what was written and synced, and can fail.
//
// Power cuts: every write, truncation and sync is recorded in order, so that for any moment the disk's possible content
// can be made: what was synced, plus all, none, or a random part of what was not (in 512-byte sectors, a write's prefix
// may survive alone). Failures: the n-th write can find the disk full, the n-th operation can fail, everything can
// freeze as after kill -9. Creation of a file counts as durable at once; deletion too. Threads: locked; the store's
// commit thread calls it while a test plans faults.
#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <vector>

namespace sublet::store::fault {

/// File name (without folder) -> content.
using Image = std::map<std::string, std::string>;

/// What happens to writes that were not synced when the power goes.
enum class Unsynced { dropped, random_subset, torn, kept };

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
  Image image(std::size_t operations, Unsynced unsynced, std::mt19937& random) const;

  /// Walks through all moments in order: much cheaper than one image() each.
  class Cursor {
   public:
    explicit Cursor(const FaultVfs& vfs) : vfs_(vfs) {}
    /// Moves on to the moment behind `operations` operations, never back.
    void advance(std::size_t operations);
    Image image(Unsynced unsynced, std::mt19937& random) const;

   private:
    struct File {
      std::string synced;
      std::vector<std::size_t> unsynced;  // numbers of operations
    };
    const FaultVfs& vfs_;
    std::size_t at_ = 0;
    std::map<std::string, File> files_;
  };

  // For the C callbacks only.
  struct Operation {
    enum class Kind : std::uint8_t { create, write, truncate, sync, remove } kind;
    std::string file;
    std::int64_t offset = 0;  // of a write; the size of a truncation
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
  mutable std::mutex mutex_;
  std::vector<Operation> operations_;
  std::size_t countdown_ = 0, failures_ = 0;
  int code_ = SQLITE_OK;
  bool frozen_ = false;
};

}  // namespace sublet::store::fault
