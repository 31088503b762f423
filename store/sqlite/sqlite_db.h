// sqlite_db: the little of SQLite's C interface that the log needs, with result codes instead of exceptions.
//
// Database owns one connection, Statement one prepared statement on it (destroy statements first). One thread at a
// time.
#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace sublet::store {

class Database {
 public:
  Database() = default;
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;
  ~Database() { close(); }

  /// Opens an existing file for reading and writing.
  int open(const std::string& path, const std::string& vfs);
  /// Runs statements without results.
  int exec(const char* sql) { return sqlite3_exec(db_, sql, nullptr, nullptr, nullptr); }
  /// First column of the first row, as text; `text` stays empty without a row.
  int query(const char* sql, std::string& text);
  int close();
  sqlite3* get() const { return db_; }
  bool in_transaction() const { return sqlite3_get_autocommit(db_) == 0; }
  /// SQLite's message, with the extended code and errno where there is one.
  std::string error() const;

 private:
  sqlite3* db_ = nullptr;
};

class Statement {
 public:
  Statement() = default;
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;
  ~Statement() { sqlite3_finalize(statement_); }

  int prepare(Database& db, std::string_view sql) {
    sqlite3_finalize(std::exchange(statement_, nullptr));
    return sqlite3_prepare_v3(db.get(), sql.data(), static_cast<int>(sql.size()), SQLITE_PREPARE_PERSISTENT,
                              &statement_, nullptr);
  }
  void bind(int at, std::int64_t value) { sqlite3_bind_int64(statement_, at, value); }
  // The bytes must live until the statement is reset.
  void bind_text(int at, std::string_view v) {
    sqlite3_bind_text64(statement_, at, v.data(), v.size(), nullptr, SQLITE_UTF8);
  }
  void bind_blob(int at, std::string_view v) { sqlite3_bind_blob64(statement_, at, v.data(), v.size(), nullptr); }
  int step() { return sqlite3_step(statement_); }
  void reset() { sqlite3_reset(statement_); }
  /// Steps once and resets: SQLITE_DONE, or the error.
  int run() {
    const int code = step();
    reset();
    return code;
  }
  std::int64_t integer(int column) { return sqlite3_column_int64(statement_, column); }
  /// Text or blob; valid until the next step.
  std::string_view bytes(int column) {
    const void* data = sqlite3_column_blob(statement_, column);
    return {static_cast<const char*>(data), static_cast<std::size_t>(sqlite3_column_bytes(statement_, column))};
  }

 private:
  sqlite3_stmt* statement_ = nullptr;
};

}  // namespace sublet::store
