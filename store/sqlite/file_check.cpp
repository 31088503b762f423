#include "store/sqlite/file_check.h"

namespace sublet::store {
namespace {

constexpr const char* kWithoutLocks = "unix-none";  // SQLite's own VFS, but for the locks

// Exclusive: only so a WAL is read without shared memory, which that VFS does not have.
constexpr const char* kPragmas =
    "PRAGMA locking_mode=EXCLUSIVE;"
    "PRAGMA query_only=ON;"
    "PRAGMA cache_size=-512;"
    "PRAGMA mmap_size=0;"
    "PRAGMA temp_store=MEMORY;"
    "PRAGMA trusted_schema=OFF;"
    "PRAGMA cell_size_check=ON;";

}  // namespace

FileCheck::Verdict FileCheck::of(Database& db) {
  Verdict verdict;
  verdict.code = db.query("PRAGMA quick_check(1)", verdict.text);
  if (verdict.code != SQLITE_OK) verdict.text = db.error();
  return verdict;
}

bool FileCheck::start(const std::string& path) {
  if (sqlite3_vfs_find(kWithoutLocks) == nullptr || db_.open(path, kWithoutLocks) != SQLITE_OK) return false;
  sqlite3_db_config(db_.get(), SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
  if (db_.exec(kPragmas) != SQLITE_OK) return false;
  thread_ = std::thread([this] { verdict_ = of(db_); });
  return started_ = true;
}

const FileCheck::Verdict& FileCheck::finish() {
  if (thread_.joinable()) {
    thread_.join();
    sqlite3_db_release_memory(db_.get());
  }
  return verdict_;
}

FileCheck::~FileCheck() {
  if (!thread_.joinable()) return;
  sqlite3_interrupt(db_.get());
  thread_.join();
}

}  // namespace sublet::store
