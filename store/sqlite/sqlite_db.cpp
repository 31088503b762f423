#include "store/sqlite/sqlite_db.h"

#include <cstring>

namespace sublet::store {

int Database::open(const std::string& path, const std::string& vfs) {
  // Not URI: a path is a path. NOMUTEX: one thread at a time is our own promise.
  constexpr int kFlags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_PRIVATECACHE |
                         SQLITE_OPEN_EXRESCODE | SQLITE_OPEN_NOFOLLOW;
  return sqlite3_open_v2(path.c_str(), &db_, kFlags, vfs.empty() ? nullptr : vfs.c_str());
}

int Database::query(const char* sql, std::string& text) {
  text.clear();
  Statement statement;
  if (const int code = statement.prepare(*this, sql); code != SQLITE_OK) return code;
  const int code = statement.step();
  if (code == SQLITE_ROW) text = statement.bytes(0);
  return code == SQLITE_ROW || code == SQLITE_DONE ? SQLITE_OK : code;
}

int Database::close() {
  const int code = sqlite3_close(db_);
  if (code == SQLITE_OK) db_ = nullptr;
  return code;
}

std::string Database::error() const {
  if (db_ == nullptr) return "out of memory";
  std::string text = sqlite3_errmsg(db_);
  text += ", code " + std::to_string(sqlite3_extended_errcode(db_));
  if (const int number = sqlite3_system_errno(db_); number != 0) text += std::string(", ") + std::strerror(number);
  return text;
}

}  // namespace sublet::store
