// File format. One SQLite database in WAL mode, application_id kApplicationId, user_version kFileFormat:
//   log(rev INTEGER PRIMARY KEY, key, create_rev, deleted, value)   one row per op; value: see row_codec.h
//   meta(id = 1, floor, last, clean, checksum)                      compaction floor, highest revision given before the
//                                                                   last compaction, and how the file was left: 1, it
//                                                                   was closed; 0 or less, it is in use, and its WAL
//                                                                   has at least -clean bytes
// A session first makes the WAL as long as it will get (sparse) and syncs that, then writes its length to meta: a WAL
// that is shorter later was cut, and is never taken for an older state. Rows are only ever added at the end, and
// deleted by compaction. A new file is prepared under another name and linked into place, so a file under the real name
// is always complete.
//
// SQLite's settings and why: one connection that locks the file (a second process is refused, and the WAL index needs
// no shared memory file); synchronous=FULL (a commit is on disk before it is answered); no automatic checkpoints (ours
// come when no writer waits); secure_delete off (Debian builds with it on, and it doubles the cost of compaction; the
// file is 0600, and the WAL would keep deleted bytes anyway); no mmap (a read error must be an error, not a signal).
#include "sublet/store/sqlite_log.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "store/rows/crc32c.h"
#include "store/rows/row_pipe.h"
#include "store/sqlite/file_check.h"
#include "store/sqlite/sqlite_db.h"
#include "store/sqlite/wal.h"
#include "store/sqlite/wal_rescue.h"
#include "sublet/base/descriptor.h"
#include "sublet/base/files.h"
#include "sublet/base/log.h"

namespace sublet::store {
namespace {

constexpr std::uint32_t kApplicationId = 0x73756274;  // "subt"
constexpr int kFileFormat = 2;                        // 1: the session did not say how long its WAL is
constexpr std::int64_t kWalHeader = 32, kWalFrame = 24 + 4096;
constexpr std::int64_t kPageSize = 4096;

constexpr const char* kConnectionPragmas =
    "PRAGMA locking_mode=EXCLUSIVE;"  // first: it must come before the WAL is touched
    "PRAGMA cache_size=-512;"
    "PRAGMA mmap_size=0;"
    "PRAGMA temp_store=MEMORY;"
    "PRAGMA trusted_schema=OFF;"
    "PRAGMA cell_size_check=ON;"
    "PRAGMA secure_delete=OFF;"
    "PRAGMA wal_autocheckpoint=0;"
    "PRAGMA journal_size_limit=16777216;";

constexpr const char* kSchema =
    "PRAGMA page_size=4096;"
    "PRAGMA application_id=1937072756;"  // kApplicationId
    "PRAGMA user_version=2;"             // kFileFormat
    "PRAGMA journal_mode=WAL;"
    "CREATE TABLE log(rev INTEGER PRIMARY KEY, key TEXT NOT NULL, create_rev INTEGER NOT NULL, deleted INTEGER NOT "
    "NULL,"
    " value BLOB NOT NULL) STRICT;"
    "CREATE TABLE meta(id INTEGER PRIMARY KEY CHECK(id=1), floor INTEGER NOT NULL, last INTEGER NOT NULL,"
    " clean INTEGER NOT NULL, checksum INTEGER NOT NULL) STRICT;";
static_assert(kApplicationId == 1937072756 && kFileFormat == 2, "kSchema spells them out");

std::uint32_t meta_checksum(Revision floor, Revision last, std::int64_t clean) {
  const std::string left = clean > 0 ? " clean" : clean < 0 ? " wal " + std::to_string(-clean) : "";
  return crc32c(0, "meta " + std::to_string(floor) + " " + std::to_string(last) + left);
}

std::string os_error() { return std::strerror(errno); }

tl::unexpected<Status> damaged(const std::string& path, const std::string& what) {
  return fail(Reason::internal_error,
              path + " is damaged: " + what +
                  ". Nothing was changed. Keep a copy of the file and its -wal, then restore a backup or delete "
                  "and create the virtual cluster again");
}

int base_code(int code) { return code & 0xff; }

/// What an error while opening means, in words that say what to do.
tl::unexpected<Status> open_error(const std::string& path, int code, const std::string& text) {
  switch (base_code(code)) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return fail(Reason::conflict, path +
                                        " is locked by another process: a server for this virtual cluster is running "
                                        "already; stop it first");
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
    case SQLITE_SCHEMA:
    case SQLITE_ERROR:
      return damaged(path, text);
    case SQLITE_FULL:
      return fail(Reason::too_many_requests,
                  path + " cannot be opened: the disk is full; free some space (" + text + ")");
    default:
      return fail(Reason::internal_error, path + " cannot be opened: " + text);
  }
}

class SqliteLog final : public Log {
 public:
  explicit SqliteLog(SqliteLogOptions options) : options_(std::move(options)) {}
  ~SqliteLog() override;

  /// The file exists.
  Outcome open();

  Outcome replay(const std::function<Outcome(Row&&)>& visit) override;
  Revision compacted() const override { return floor_; }
  Revision last() const override { return last_; }
  AppendError append(const std::vector<Row>& rows, std::string& error_text) override;
  AppendError compact(const std::vector<Revision>& superseded, Revision floor, std::string& error_text) override;
  void idle() override;
  bool short_of_space() const override { return reserve_used_ && !reserve_; }

 private:
  Outcome check_header(std::string_view newer);
  Outcome settle_wal();
  Outcome lock();
  Outcome begin_check();
  Outcome judge(const FileCheck::Verdict& verdict) const;
  Outcome read_meta(std::int64_t wal_size);
  Outcome begin_session();
  Outcome try_session();
  AppendError session(std::string& error_text);
  int lengthen_wal();
  sqlite3_file* wal_file() const;
  Outcome prepare();
  tl::unexpected<Status> failed_open(int code) { return open_error(options_.path, code, db_.error()); }

  int insert(const std::vector<Row>& rows);
  int transaction(const std::function<int()>& body);
  AppendError outcome(int code, std::string& error_text);
  int write_meta(Revision floor, std::int64_t clean);
  void keep_wal_on_close(bool keep) {
    sqlite3_db_config(db_.get(), SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, keep ? 1 : 0, nullptr);
  }
  void break_off(const std::string& why);
  void checkpoint();
  void keep_wal_small();
  std::string wal_path() const { return options_.path + "-wal"; }
  std::string reserve_path() const { return options_.path + "-reserve"; }
  /// Given up when the disk is full, so that deletes still pass: enough for a checkpoint of a WAL that only adds pages,
  /// after which commits go on in the WAL's own space.
  std::int64_t reserve_bytes() const { return options_.checkpoint_pages_max * kPageSize + options_.reserve_margin; }
  void make_reserve();
  bool give_up_reserve();
  AppendError insist(const std::function<int()>& attempt, std::string& error_text);
  bool room_for_writes();

  const SqliteLogOptions options_;
  Descriptor lock_;  // outlives the connection
  FileCheck check_;  // and so does this
  Database db_;
  Statement begin_, commit_, rollback_, insert_, delete_, meta_;
  /// The WAL is never shorter than this while the file is in use: as long as it gets between two checkpoints.
  std::int64_t wal_bytes_min() const { return kWalHeader + (options_.checkpoint_pages_max + 1) * kWalFrame; }

  Revision floor_ = kFirstRevision - 1;
  Revision last_ = kFirstRevision - 1;
  int wal_pages_ = 0;
  bool reserve_ = false;
  bool reserve_used_ = false;  // given up, and not made again yet
  bool in_session_ = false;    // opened for good: the file says that it is in use
  std::string broken_;         // an I/O error in a checkpoint: the next append reports it
};

// --- opening ---

/// Reads the header as SQLite's own file object, because closing another descriptor of the file would drop its locks.
/// `newer`: the first page as the WAL has it, if it has it.
Outcome SqliteLog::check_header(std::string_view newer) {
  sqlite3_file* file = nullptr;
  sqlite3_file_control(db_.get(), "main", SQLITE_FCNTL_FILE_POINTER, &file);
  unsigned char header[100] = {};
  int code = file->pMethods->xRead(file, header, sizeof(header), 0);
  // A checkpoint that the power cut may have left the first page half written; the WAL has it whole then.
  if (newer.size() >= sizeof(header)) {
    std::memcpy(header, newer.data(), sizeof(header));
    code = SQLITE_OK;
  }
  if (code == SQLITE_IOERR_SHORT_READ || (code == SQLITE_OK && std::memcmp(header, "SQLite format 3", 16) != 0))
    return fail(Reason::bad_request, options_.path +
                                         " is not a sublet store (no SQLite database at all): it was left "
                                         "untouched; move it away or choose another folder");
  if (code != SQLITE_OK)
    return fail(Reason::internal_error, options_.path + " cannot be read: SQLite code " + std::to_string(code));
  const auto word = [&](int at) {
    return std::uint32_t{header[at]} << 24 | std::uint32_t{header[at + 1]} << 16 | std::uint32_t{header[at + 2]} << 8 |
           header[at + 3];
  };
  if (word(68) != kApplicationId)
    return fail(Reason::bad_request, options_.path +
                                         " is not a sublet store (a database of another program): it was "
                                         "left untouched; move it away or choose another folder");
  if (word(60) > kFileFormat)
    return fail(Reason::bad_request, options_.path + " was written by a newer version of sublet (file format " +
                                         std::to_string(word(60)) + ", this version knows " +
                                         std::to_string(kFileFormat) + "): use that version");
  return {};
}

std::int64_t size_of(const std::string& path) {
  struct stat facts {};
  return ::stat(path.c_str(), &facts) == 0 ? std::int64_t{facts.st_size} : -1;
}

sqlite3_file* SqliteLog::wal_file() const {
  sqlite3_file* file = nullptr;
  sqlite3_file_control(db_.get(), "main", SQLITE_FCNTL_JOURNAL_POINTER, &file);
  return file;
}

/// Before SQLite's own lock, which comes with reading the WAL, and on a file of its own: closing any descriptor of the
/// database would drop SQLite's.
Outcome SqliteLog::lock() {
  const std::string path = options_.path + "-lock";
  lock_.reset(::open(path.c_str(), O_CREAT | O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!lock_) return fail(Reason::internal_error, path + " cannot be opened: " + os_error());
  if (::flock(lock_.get(), LOCK_EX | LOCK_NB) != 0) return open_error(options_.path, SQLITE_BUSY, "");
  return {};
}

/// Checks the WAL that the earlier process left, and makes its contents durable.
Outcome SqliteLog::settle_wal() {
  const auto wal = Wal::read(wal_path(), options_.vfs);
  if (!wal) return fail(wal.error());
  if (Outcome header = check_header(wal->first_page()); !header) return header;
  ::chmod(options_.path.c_str(), 0600);
  if (const std::string problem = wal->problem(options_.path); !problem.empty()) return damaged(options_.path, problem);
  Outcome rescued = rescue_wal(*wal, wal_path(), options_.vfs);
  if (!rescued && rescued.error().reason == Reason::too_many_requests && give_up_reserve())
    return rescue_wal(*wal, wal_path(), options_.vfs);
  return rescued;
}

Outcome SqliteLog::open() {
  if (Outcome locked = lock(); !locked) return locked;
  if (Outcome finished = finish_rescue(wal_path(), options_.vfs); !finished) return finished;
  if (const int code = db_.open(options_.path, options_.vfs); code != SQLITE_OK) return failed_open(code);
  sqlite3_db_config(db_.get(), SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  keep_wal_on_close(true);  // a refused file stays as it is
  if (Outcome settled = settle_wal(); !settled) return settled;
  const std::int64_t wal_size = size_of(wal_path());
  if (const int code = db_.exec(kConnectionPragmas); code != SQLITE_OK) return failed_open(code);
  std::string text;
  if (const int code = db_.query("SELECT count(*) FROM sqlite_schema", text); code != SQLITE_OK)
    return failed_open(code);
  if (const int code = db_.query("PRAGMA journal_mode", text); code != SQLITE_OK || text != "wal")
    return damaged(options_.path, "it is not in write-ahead mode");
  if (Outcome begun = begin_check(); !begun) return begun;
  return read_meta(wal_size);
}

/// A large file is checked while its rows are read: the session does not begin before the verdict.
Outcome SqliteLog::begin_check() {
  if (options_.vfs.empty() && size_of(options_.path) >= options_.check_beside_bytes && check_.start(options_.path))
    return {};
  return judge(FileCheck::of(db_));
}

Outcome SqliteLog::judge(const FileCheck::Verdict& verdict) const {
  if (verdict.code != SQLITE_OK) return open_error(options_.path, verdict.code, verdict.text);
  if (verdict.text != "ok") return damaged(options_.path, verdict.text);
  return {};
}

/// Everything was read and is sound: from here on the file is ours to write.
/// On a full disk it may come later: with the first write that finds space.
Outcome SqliteLog::begin_session() {
  Outcome begun = try_session();
  if (begun || begun.error().reason != Reason::too_many_requests) return begun;
  return give_up_reserve() ? try_session() : begun;
}

/// That of a process before, which was killed, too; false when there is none.
bool SqliteLog::give_up_reserve() {
  if (::unlink(reserve_path().c_str()) != 0) return false;
  reserve_ = false;
  return reserve_used_ = true;
}

Outcome SqliteLog::try_session() {
  if (check_.started())
    if (Outcome sound = judge(check_.finish()); !sound) return sound;
  if (const int code = db_.exec(("PRAGMA synchronous=" + options_.synchronous).c_str()); code != SQLITE_OK)
    return failed_open(code);
  if (Outcome prepared = prepare(); !prepared) return prepared;
  if (const int code = lengthen_wal(); code != SQLITE_OK) return failed_open(code);
  if (const int code = db_.exec(("PRAGMA user_version=" + std::to_string(kFileFormat)).c_str()); code != SQLITE_OK)
    return failed_open(code);
  if (const int code = write_meta(floor_, -wal_bytes_min()); code != SQLITE_DONE) return failed_open(code);
  // Into the database: a WAL that is cut must not take with it that it was longer.
  if (const int code = sqlite3_wal_checkpoint_v2(db_.get(), nullptr, SQLITE_CHECKPOINT_PASSIVE, nullptr, nullptr);
      code != SQLITE_OK)
    return failed_open(code);
  in_session_ = true;
  sqlite3_wal_hook(
      db_.get(),
      [](void* self, sqlite3*, const char*, int pages) {
        static_cast<SqliteLog*>(self)->wal_pages_ = pages;
        return SQLITE_OK;
      },
      this);
  if (!reserve_used_) make_reserve();
  return {};
}

/// For who writes: none when the session has begun, now or before.
Log::AppendError SqliteLog::session(std::string& error_text) {
  if (in_session_ && broken_.empty()) return AppendError::none;
  if (broken_.empty()) {
    const Outcome begun = begin_session();
    if (begun) return AppendError::none;
    error_text = begun.error().message;
    if (begun.error().reason == Reason::too_many_requests) return AppendError::full;
    break_off(error_text);
  }
  error_text = broken_;
  return AppendError::io;
}

int SqliteLog::lengthen_wal() {
  sqlite3_file* wal = wal_file();
  sqlite3_int64 size = 0;
  int code = wal->pMethods->xFileSize(wal, &size);
  if (code == SQLITE_OK && size < wal_bytes_min()) code = wal->pMethods->xTruncate(wal, wal_bytes_min());
  return code == SQLITE_OK ? wal->pMethods->xSync(wal, SQLITE_SYNC_NORMAL) : code;
}

SqliteLog::~SqliteLog() {
  // Only a file that says that it was closed may lose its WAL, which SQLite then merges and removes.
  if (in_session_ && broken_.empty() && write_meta(floor_, 1) == SQLITE_DONE) keep_wal_on_close(false);
  if (reserve_) ::unlink(reserve_path().c_str());
}

Outcome SqliteLog::prepare() {
  const std::pair<Statement*, const char*> statements[] = {
      {&begin_, "BEGIN IMMEDIATE"},
      {&commit_, "COMMIT"},
      {&rollback_, "ROLLBACK"},
      {&insert_, "INSERT INTO log(rev, key, create_rev, deleted, value) VALUES(?, ?, ?, ?, ?)"},
      {&delete_, "DELETE FROM log WHERE rev = ?"},
      {&meta_, "INSERT OR REPLACE INTO meta(id, floor, last, clean, checksum) VALUES(1, ?, ?, ?, ?)"},
  };
  for (const auto& [statement, sql] : statements)
    if (const int code = statement->prepare(db_, sql); code != SQLITE_OK) return failed_open(code);
  return {};
}

Outcome SqliteLog::read_meta(std::int64_t wal_size) {
  Statement read;
  if (const int code = read.prepare(db_, "SELECT floor, last, clean, checksum FROM meta"); code != SQLITE_OK)
    return failed_open(code);
  const int code = read.step();
  if (code == SQLITE_DONE) return damaged(options_.path, "its meta row is missing");
  if (code != SQLITE_ROW) return failed_open(code);
  floor_ = read.integer(0);
  last_ = read.integer(1);
  const std::int64_t clean = read.integer(2);
  if (read.integer(3) != meta_checksum(floor_, last_, clean))
    return damaged(options_.path, "its meta row fails its checksum");
  if (clean <= 0 && wal_size < 0)
    return damaged(options_.path,
                   "it was not closed, and its -wal file, which holds the newest writes, is missing; put that back");
  if (clean < 0 && wal_size < -clean)
    return damaged(options_.path, "it was not closed, and its -wal file, which holds the newest writes, was cut to " +
                                      std::to_string(wal_size) + " bytes of at least " + std::to_string(-clean));
  Statement newest;
  if (const int error = newest.prepare(db_, "SELECT max(rev) FROM log"); error != SQLITE_OK) return failed_open(error);
  if (const int error = newest.step(); error != SQLITE_ROW) return failed_open(error);
  last_ = std::max(last_, newest.integer(0));
  return {};
}

Outcome SqliteLog::replay(const std::function<Outcome(Row&&)>& visit) {
  Statement scan;
  int code = scan.prepare(db_, "SELECT rev, key, create_rev, deleted, value FROM log ORDER BY rev");
  if (code != SQLITE_OK) return failed_open(code);
  RowPipe pipe(visit);
  bool wanted = true;
  while (wanted && (code = scan.step()) == SQLITE_ROW) {
    Row& row = pipe.next();
    row.revision = scan.integer(0);
    row.key.assign(scan.bytes(1));
    row.create_revision = scan.integer(2);
    row.deleted = scan.integer(3) != 0;
    row.value.assign(scan.bytes(4));
    wanted = pipe.put();
  }
  if (wanted && code != SQLITE_DONE) return failed_open(code);
  if (Outcome visited = pipe.finish(); !visited) return damaged(options_.path, visited.error().message);
  sqlite3_db_release_memory(db_.get());
  if (in_session_) return {};
  Outcome begun = begin_session();
  if (begun || begun.error().reason != Reason::too_many_requests) return begun;
  log::warning("store.full_at_start", {{"why", begun.error().message}});  // what was read is served all the same
  return {};
}

// --- writing ---

int SqliteLog::transaction(const std::function<int()>& body) {
  int code = begin_.run();
  if (code != SQLITE_DONE) return code;
  code = body();
  if (code == SQLITE_DONE) code = commit_.run();
  return code;
}

int SqliteLog::insert(const std::vector<Row>& rows) {
  return transaction([&] {
    int code = SQLITE_DONE;
    for (const Row& row : rows) {
      insert_.bind(1, row.revision);
      insert_.bind_text(2, row.key);
      insert_.bind(3, row.create_revision);
      insert_.bind(4, row.deleted ? 1 : 0);
      insert_.bind_blob(5, row.value);
      if (code = insert_.run(); code != SQLITE_DONE) break;
    }
    return code;
  });
}

/// After a failure: rolls back and reports the error. Only a full disk leaves the outcome certain: SQLite
/// writes the frame that commits last, so when a write before or of it found no space nothing was committed.
Log::AppendError SqliteLog::outcome(int code, std::string& error_text) {
  if (code == SQLITE_DONE) return AppendError::none;
  error_text = options_.path + ": " + db_.error();
  const bool undone = !db_.in_transaction() || rollback_.run() == SQLITE_DONE;
  if (undone && base_code(code) == SQLITE_FULL) return AppendError::full;
  break_off(error_text);
  return AppendError::io;
}

/// After an I/O error the contents of the disk are unknown: only the next process, which reads them, may write.
void SqliteLog::break_off(const std::string& why) { broken_ = why; }

/// For what must pass on a full disk, deletes and compaction: first in the space that the WAL has already, then in that
/// of the reserve.
Log::AppendError SqliteLog::insist(const std::function<int()>& attempt, std::string& error_text) {
  AppendError result = outcome(attempt(), error_text);
  if (result != AppendError::full) return result;
  checkpoint();  // the WAL starts over
  if (broken_.empty()) result = outcome(attempt(), error_text);
  if (result != AppendError::full || !reserve_ || !give_up_reserve()) return result;
  checkpoint();
  return broken_.empty() ? outcome(attempt(), error_text) : AppendError::io;
}

/// Once the reserve was given up, writes wait until there is one again, or as much free space within the file:
/// otherwise they would eat what deletes need.
bool SqliteLog::room_for_writes() {
  if (!reserve_used_) return true;
  make_reserve();
  if (reserve_) {
    reserve_used_ = false;
    return true;
  }
  Statement free_pages;
  return free_pages.prepare(db_, "SELECT freelist_count FROM pragma_freelist_count") == SQLITE_OK &&
         free_pages.step() == SQLITE_ROW && free_pages.integer(0) * kPageSize >= reserve_bytes();
}

Log::AppendError SqliteLog::append(const std::vector<Row>& rows, std::string& error_text) {
  if (const AppendError begun = session(error_text); begun != AppendError::none) return begun;
  const bool only_deletes =
      std::all_of(rows.begin(), rows.end(), [](const Row& row) { return row.deleted || row.of_deletion; });
  if (!only_deletes && !room_for_writes()) {
    error_text = options_.path + ": the space that is left is kept for deletes";
    return AppendError::full;
  }
  const auto attempt = [&] { return insert(rows); };
  const AppendError result = only_deletes ? insist(attempt, error_text) : outcome(attempt(), error_text);
  if (result != AppendError::none) return result;
  last_ = rows.back().revision;
  keep_wal_small();
  return AppendError::none;
}

int SqliteLog::write_meta(Revision floor, std::int64_t clean) {
  meta_.bind(1, floor);
  meta_.bind(2, last_);
  meta_.bind(3, clean);
  meta_.bind(4, meta_checksum(floor, last_, clean));
  return meta_.run();
}

Log::AppendError SqliteLog::compact(const std::vector<Revision>& superseded, Revision floor, std::string& error_text) {
  if (const AppendError begun = session(error_text); begun != AppendError::none) return begun;
  const Revision raised = std::max(floor_, floor);
  const auto remove_rows = [&] {
    for (const Revision revision : superseded) {
      delete_.bind(1, revision);
      if (const int code = delete_.run(); code != SQLITE_DONE) return code;
    }
    return write_meta(raised, -wal_bytes_min());
  };
  const AppendError result = insist([&] { return transaction(remove_rows); }, error_text);
  if (result != AppendError::none) return result;
  floor_ = raised;
  keep_wal_small();
  return AppendError::none;
}

void SqliteLog::checkpoint() {
  const int code = sqlite3_wal_checkpoint_v2(db_.get(), nullptr, SQLITE_CHECKPOINT_PASSIVE, nullptr, nullptr);
  // Without space the WAL simply stays as it is. Any other failure means that the file cannot be trusted to be written.
  if (code == SQLITE_OK)
    wal_pages_ = 0;
  else if (base_code(code) != SQLITE_FULL)
    break_off(options_.path + ": checkpoint failed: " + db_.error());
}

void SqliteLog::keep_wal_small() {
  const int limit = reserve_used_ ? options_.checkpoint_pages_idle : options_.checkpoint_pages_max;
  if (wal_pages_ >= limit) checkpoint();
}

void SqliteLog::idle() {
  if (!in_session_) return;
  if (wal_pages_ >= options_.checkpoint_pages_idle && broken_.empty()) checkpoint();
  if (!reserve_) make_reserve();
}

void SqliteLog::make_reserve() {
  struct statvfs space {};
  if (::statvfs(options_.path.c_str(), &space) != 0) return;
  if (static_cast<std::uint64_t>(space.f_bavail) * space.f_frsize < 2 * static_cast<std::uint64_t>(reserve_bytes()))
    return;
  const int file = ::open(reserve_path().c_str(), O_CREAT | O_WRONLY | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (file < 0) return;
  reserve_ = ::posix_fallocate(file, 0, reserve_bytes()) == 0;
  ::close(file);
  if (!reserve_) ::unlink(reserve_path().c_str());
}

// --- creating ---

Outcome sync_folder_of(const std::string& path) {
  const auto slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  const int file = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const bool synced = file >= 0 && ::fsync(file) == 0;
  const std::string why = os_error();
  if (file >= 0) ::close(file);
  if (!synced) return fail(Reason::internal_error, folder + " cannot be made durable: " + why);
  return {};
}

Outcome fill_new_file(const std::string& path, const std::string& vfs) {
  Database db;
  int code = db.open(path, vfs);
  if (code == SQLITE_OK) code = db.exec("PRAGMA locking_mode=EXCLUSIVE; PRAGMA synchronous=FULL;");
  if (code == SQLITE_OK) code = db.exec(kSchema);
  const Revision start = kFirstRevision - 1;
  const std::string meta = "INSERT INTO meta VALUES(1, " + std::to_string(start) + ", " + std::to_string(start) +
                           ", 1, " + std::to_string(meta_checksum(start, start, 1)) + ")";
  if (code == SQLITE_OK) code = db.exec(meta.c_str());
  if (code == SQLITE_OK)
    code = sqlite3_wal_checkpoint_v2(db.get(), nullptr, SQLITE_CHECKPOINT_TRUNCATE, nullptr, nullptr);
  if (code != SQLITE_OK) return open_error(path, code, db.error());
  if (db.close() != SQLITE_OK) return fail(Reason::internal_error, path + " cannot be closed: " + db.error());
  return {};
}

/// Makes a complete, empty store under a name of its own and links it to `path`; fine when another process was faster.
Outcome create_file(const SqliteLogOptions& options) {
  const std::string draft = options.path + ".creating";
  ::unlink(draft.c_str());  // of a process that died while creating
  const int file = ::open(draft.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
  if (file < 0) return fail(Reason::internal_error, options.path + " cannot be created: " + os_error());
  ::close(file);
  Outcome filled = fill_new_file(draft, options.vfs);
  if (filled && ::link(draft.c_str(), options.path.c_str()) != 0 && errno != EEXIST)
    filled = fail(Reason::internal_error, options.path + " cannot be created: " + os_error());
  ::unlink(draft.c_str());
  if (!filled) return filled;
  return sync_folder_of(options.path);
}

}  // namespace

Result<std::unique_ptr<Log>> open_sqlite_log(const SqliteLogOptions& options) {
  if (::access(options.path.c_str(), F_OK) != 0) {
    if (errno != ENOENT) return fail(Reason::internal_error, options.path + " cannot be reached: " + os_error());
    if (Outcome created = create_file(options); !created) return tl::unexpected(created.error());
  }
  auto log = std::make_unique<SqliteLog>(options);
  if (Outcome opened = log->open(); !opened) return tl::unexpected(opened.error());
  return log;
}

}  // namespace sublet::store
