#include "sublet/store/sqlite_log.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/durable_writes_testing.h"
#include "store/store_testing.h"

namespace sublet::store {
namespace {

using namespace testing_support;
using testing::HasSubstr;

class SqliteLogTest : public testing::Test {
 protected:
  std::string path() const { return folder_.file("state.db"); }
  std::unique_ptr<Store> open(StoreOptions options = {}) {
    auto log = open_sqlite_log(log_options());
    EXPECT_TRUE(log) << log.error().message;
    auto store = Store::open(std::move(*log), options);
    EXPECT_TRUE(store) << store.error().message;
    return std::move(*store);
  }
  Status refused() {
    auto log = open_sqlite_log(log_options());
    if (!log) return log.error();
    auto store = Store::open(std::move(*log));
    EXPECT_FALSE(store) << "opened";
    return store ? Status{} : store.error();
  }
  void sql(const std::string& text) {
    sqlite3* db = nullptr;
    ASSERT_EQ(sqlite3_open(path().c_str(), &db), SQLITE_OK);
    EXPECT_EQ(sqlite3_exec(db, text.c_str(), nullptr, nullptr, nullptr), SQLITE_OK) << sqlite3_errmsg(db);
    sqlite3_close(db);
  }
  std::string content() const {
    std::ifstream in(path(), std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  SqliteLogOptions log_options() const {
    SqliteLogOptions options{path()};
    if (beside_) options.check_beside_bytes = 0;
    return options;
  }
  /// Whether another process, be it of another program, may read the database: what the kernel says of the locks that
  /// SQLite's reading would take. (SQLite itself, in a forked child, would believe what it remembers of its parent.)
  bool readable_elsewhere() const {
    constexpr off_t kSharedFirst = 0x40000002, kSharedSize = 510;  // as in SQLite's source
    const pid_t child = ::fork();
    if (child == 0) {
      struct flock wanted {};
      wanted.l_type = F_RDLCK;
      wanted.l_start = kSharedFirst;
      wanted.l_len = kSharedSize;
      const int file = ::open(path().c_str(), O_RDONLY | O_CLOEXEC);
      ::_exit(file >= 0 && ::fcntl(file, F_GETLK, &wanted) == 0 ? (wanted.l_type == F_UNLCK ? 1 : 0) : 2);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) < 2);
    return WEXITSTATUS(status) == 1;
  }
  TempFolder folder_;
  bool beside_ = false;  // the file is checked beside the reading of its rows, as a large one is
};

TEST_F(SqliteLogTest, EverythingIsThereAfterARestart) {
  Revision deleted = 0;
  {
    auto store = open();
    Put put{R"({"metadata":{"resourceVersion":""}})", 32, {}};
    put.index.uid = "u-1";
    put.index.labels = {{"app", "x"}, {"tier", ""}};
    put.index.fields = {{"spec.nodeName", "n"}};
    put.index.owner_uids = {"o1", "o2"};
    ASSERT_TRUE(store->commit(Txn{{}, {{"pods/a/x", put, {}}}}));
    const Revision gone = *testing_support::put(*store, "pods/a/gone", "last words");
    ASSERT_TRUE(testing_support::put(*store, "pods/a/y", std::string("\0\xff binary", 9)));
    deleted = store->commit(remove("pods/a/gone", gone))->revisions[0];
  }
  auto store = open();
  EXPECT_EQ(store->snapshot().revision(), deleted);
  const ObjectPtr x = store->snapshot().get("pods/a/x");
  ASSERT_TRUE(x);
  EXPECT_EQ(x->json(), R"({"metadata":{"resourceVersion":"2"}})");
  EXPECT_EQ(x->index.uid, "u-1");
  EXPECT_EQ(x->index.labels.at(1).first, "tier");
  EXPECT_EQ(x->index.fields.at(0).second, "n");
  EXPECT_EQ(x->index.owner_uids.at(1), "o2");
  EXPECT_EQ(store->snapshot().get("pods/a/y")->bytes, std::string("\0\xff binary", 9));
  auto recorder = std::make_shared<Recorder>();
  ASSERT_TRUE(store->watch("", 1, recorder));
  const auto events = recorder->events();
  ASSERT_EQ(events.size(), 4u);
  EXPECT_EQ(events[3]->type, Event::Type::deleted);
  EXPECT_EQ(events[3]->object->bytes, "last words");
  EXPECT_EQ(events[3]->object->revision, deleted);
  EXPECT_EQ(*testing_support::put(*store, "next", ""), deleted + 1);
}

TEST_F(SqliteLogTest, ARevisionIsNotReusedWhenTheNewestRowsWereCompacted) {
  {
    auto store = open();
    const Revision created = *put(*store, "k", "1");
    ASSERT_TRUE(store->commit(remove("k", created)));
    ASSERT_TRUE(store->compact(3));
  }
  auto store = open();
  EXPECT_EQ(store->snapshot().revision(), 3);
  EXPECT_EQ(store->compacted(), 3);
  EXPECT_EQ(*put(*store, "k", "2"), 4);
}

TEST_F(SqliteLogTest, CompactionKeepsWhatIsCurrentAndTheFloor) {
  StoreOptions options;
  options.compact_step_rows = 3;
  {
    auto store = open(options);
    for (int i = 0; i < 50; ++i) ASSERT_TRUE(put(*store, "k" + std::to_string(i % 5), std::to_string(i)));
    ASSERT_TRUE(store->compact(40));
  }
  sql("SELECT 1");
  auto store = open(options);
  EXPECT_EQ(store->compacted(), 40);
  EXPECT_EQ(store->snapshot_at(39).error().reason, Reason::expired);
  EXPECT_EQ(store->snapshot_at(40)->get("k3")->bytes, "38");
  EXPECT_EQ(store->snapshot().get("k4")->bytes, "49");
  EXPECT_EQ(store->stats().history_events, 11u);
}

TEST_F(SqliteLogTest, FilesArePrivate) {
  ::umask(0);
  auto store = open();
  ASSERT_TRUE(put(*store, "k", "1"));
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder_.path())) {
    struct stat status {};
    ASSERT_EQ(::stat(entry.path().c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777, 0600u) << entry.path();
    ++files;
  }
  EXPECT_GE(files, 2);
}

TEST_F(SqliteLogTest, ASecondOpenIsRefused) {
  auto store = open();
  const Status status = refused();
  EXPECT_EQ(status.reason, Reason::conflict);
  EXPECT_THAT(status.message, HasSubstr("locked"));
  EXPECT_THAT(status.message, HasSubstr(path()));
}

TEST_F(SqliteLogTest, ASecondProcessIsRefused) {
  auto store = open();
  const pid_t child = ::fork();
  if (child == 0) {
    auto log = open_sqlite_log({path()});
    ::_exit(!log && log.error().reason == Reason::conflict ? 0 : 1);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(put(*store, "k", "1"));
}

// SQLite's own lock would refuse it too, but later: after what the last process left was looked at, and mended.
TEST_F(SqliteLogTest, WhoeverHoldsTheLockFileKeepsOthersOut) {
  const int held = ::open((path() + "-lock").c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600);
  for (const int how : {LOCK_EX, LOCK_SH}) {
    ASSERT_EQ(::flock(held, how | LOCK_NB), 0);
    EXPECT_EQ(refused().reason, Reason::conflict);
  }
  ::close(held);
  EXPECT_TRUE(open());
}

TEST_F(SqliteLogTest, ANewStoresNameIsDurableBeforeAnythingIsWrittenToIt) {
  sublet::testing_support::DurableWrites writes;  // but SQLite's own, which are fdatasync
  writes.fail_sync_of(folder_.path());
  const auto refused = open_sqlite_log(log_options());
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("cannot be made durable"));
  std::filesystem::remove(path());
  writes.fail_sync_of("");
  ASSERT_TRUE(open_sqlite_log(log_options()));
  EXPECT_THAT(writes.calls(), testing::ElementsAre("sync " + folder_.path(), "sync " + folder_.path()));
}

TEST_F(SqliteLogTest, ForeignFilesAreRefusedAndNotTouched) {
  const auto refused_untouched = [&](const char* why) {
    const std::string before = content();
    struct stat mode_before {};
    ASSERT_EQ(::stat(path().c_str(), &mode_before), 0);
    const Status status = refused();
    EXPECT_EQ(status.reason, Reason::bad_request) << status.message;
    EXPECT_THAT(status.message, HasSubstr(why));
    EXPECT_THAT(status.message, HasSubstr(path()));
    EXPECT_TRUE(content() == before);
    struct stat mode {};
    ASSERT_EQ(::stat(path().c_str(), &mode), 0);
    EXPECT_EQ(mode.st_mode, mode_before.st_mode);
  };
  std::ofstream(path()) << "dear diary, " << std::string(5000, '.');
  refused_untouched("not a sublet store");
  std::ofstream(path()) << "short";
  refused_untouched("not a sublet store");
  std::filesystem::remove(path());
  sql("CREATE TABLE t(x); PRAGMA application_id=7");
  refused_untouched("another program");
  std::filesystem::remove(path());
  open();
  sql("PRAGMA user_version=3");
  refused_untouched("newer version");
}

TEST_F(SqliteLogTest, DamageIsRefusedByName) {
  const auto damaged_by = [&](const std::string& statements, const char* why) {
    std::filesystem::remove(path());
    {
      auto store = open();
      const Revision a = *put(*store, "a", "first");
      ASSERT_TRUE(put(*store, "b", "second"));
      ASSERT_TRUE(store->commit(update("a", a, "third")));
      ASSERT_TRUE(store->commit(remove("a", 4)));
    }
    sql(statements);
    const std::string before = content();
    const Status status = refused();
    EXPECT_EQ(status.reason, Reason::internal_error) << statements;
    EXPECT_THAT(status.message, HasSubstr(why)) << statements;
    EXPECT_THAT(status.message, HasSubstr("is damaged")) << statements;
    EXPECT_THAT(status.message, HasSubstr(path())) << statements;
    EXPECT_TRUE(content() == before) << statements << " changed the file";
  };
  for (const bool beside : {false, true}) {
    beside_ = beside;
    damaged_by("UPDATE log SET value=zeroblob(60) WHERE rev=3", "checksum");
    damaged_by("UPDATE log SET key='c' WHERE rev=3", "checksum");
    damaged_by("UPDATE log SET rev=9 WHERE rev=5", "checksum");
    damaged_by("UPDATE log SET deleted=1 WHERE rev=3", "contradicts");
    damaged_by("UPDATE log SET value=x'0101' WHERE rev=3", "cut short");
    damaged_by("DELETE FROM log WHERE rev=2", "missing");
    damaged_by("DELETE FROM log WHERE rev=3", "missing");
    damaged_by("DELETE FROM log WHERE rev=4", "missing");
    damaged_by("UPDATE meta SET floor=3", "meta");
    damaged_by("DELETE FROM meta", "meta");
    damaged_by("DROP TABLE log", "no such table");
    damaged_by("PRAGMA journal_mode=DELETE", "write-ahead");
  }
}

// A page that is free and in use would be written over by the next commit.
TEST_F(SqliteLogTest, DamageThatNoRowShowsIsRefusedBeforeAnythingIsWritten) {
  {
    auto store = open();
    for (int i = 0; i < 40; ++i) ASSERT_TRUE(put(*store, "k", std::string(3000, 'x')));
    ASSERT_TRUE(store->compact(store->snapshot().revision()));  // frees pages
  }
  constexpr std::size_t kFirstFreePage = 32, kFreePages = 36;
  std::string damaged = content();
  ASSERT_NE(damaged[kFreePages + 3], '\0');
  damaged[kFirstFreePage + 3] = 2;  // which is the table's
  std::ofstream(path(), std::ios::binary) << damaged;
  for (const bool beside : {false, true}) {
    beside_ = beside;
    const Status status = refused();
    EXPECT_THAT(status.message, HasSubstr("is damaged")) << beside;
    EXPECT_THAT(status.message, HasSubstr(path())) << beside;
    EXPECT_TRUE(content() == damaged) << beside;
    // Nor is it by who does not ask for the rows.
    auto log = open_sqlite_log(log_options());
    std::string why;
    ASSERT_EQ(log.has_value(), beside);
    const std::vector<Row> rows = {{1000, "x", false, 1000, "v"}};
    for (int times = 0; log && times < 2; ++times) EXPECT_EQ((*log)->append(rows, why), Log::AppendError::io);
    log = fail(Reason::unknown, "");
    EXPECT_TRUE(content() == damaged) << beside;
  }
}

TEST_F(SqliteLogTest, ACheckBesideTheReadingLeavesTheLocksAndTheWalAlone) {
  beside_ = true;
  {
    auto store = open();
    EXPECT_TRUE(put(*store, "a", "1"));
    EXPECT_FALSE(readable_elsewhere());
    for (const char* suffix : {"", "-wal"})
      std::filesystem::copy_file(path() + suffix, folder_.file("killed.db") + suffix);
  }
  EXPECT_FALSE(std::filesystem::exists(path() + "-wal"));
  for (const char* suffix : {"", "-wal"}) std::filesystem::rename(folder_.file("killed.db") + suffix, path() + suffix);
  auto store = open();
  EXPECT_EQ(store->snapshot().get("a")->bytes, "1") << "which only the WAL has";
  EXPECT_FALSE(readable_elsewhere());
  EXPECT_TRUE(put(*store, "b", "2"));
  store.reset();
  EXPECT_TRUE(readable_elsewhere());
  EXPECT_EQ(open()->stats().objects, 2u);
}

TEST_F(SqliteLogTest, ARefusedFileKeepsItsWal) {
  {
    auto store = open();
    ASSERT_TRUE(put(*store, "a", std::string(5000, 'x') + "end"));  // on a page of its own
    ASSERT_TRUE(put(*store, "b", std::string(5000, 'y')));
  }
  {
    auto store = open();
    ASSERT_TRUE(put(*store, "c", "only the WAL has this"));
    for (const char* suffix : {"", "-wal"})
      std::filesystem::copy_file(path() + suffix, folder_.file("killed.db") + suffix);
  }
  for (const char* suffix : {"", "-wal"}) std::filesystem::rename(folder_.file("killed.db") + suffix, path() + suffix);
  std::string damaged = content();
  damaged[damaged.find("xend")] = 'y';
  std::ofstream(path(), std::ios::binary) << damaged;
  for (const bool beside : {false, true}) {
    beside_ = beside;
    EXPECT_THAT(refused().message, HasSubstr("checksum")) << beside;
    EXPECT_TRUE(content() == damaged) << beside;
    EXPECT_GT(std::filesystem::file_size(path() + "-wal"), 4096u) << beside;
  }
}

TEST_F(SqliteLogTest, WhatObjectsTakeIsKnownAfterARestart) {
  const auto used = [](Store& store) {
    std::size_t bytes = 0;
    store.snapshot().scan("", "", [&](const ObjectPtr& object) {
      bytes += object->key.size() + object->bytes.size();
      return true;
    });
    EXPECT_EQ(store.usage().bytes, bytes);
    return bytes;
  };
  auto store = open();
  for (int i = 0; i < 60; ++i) ASSERT_TRUE(put(*store, "k" + std::to_string(i % 7), std::string(i, 'x')));
  ASSERT_TRUE(store->compact(30));
  ASSERT_TRUE(store->commit(remove("k3", store->snapshot().get("k3")->revision)));
  const std::size_t before = used(*store);
  store.reset();
  store = open();
  EXPECT_EQ(used(*store), before);
  ASSERT_TRUE(store->compact(store->snapshot().revision()));
  store.reset();
  EXPECT_EQ(used(*open()), before);
}

TEST_F(SqliteLogTest, AMissingWalIsRefusedUnlessTheFileWasClosed) {
  {
    auto store = open();
    ASSERT_TRUE(put(*store, "k", "1"));
    std::filesystem::copy_file(path(), folder_.file("crashed.db"));
  }
  EXPECT_FALSE(std::filesystem::exists(path() + "-wal"));
  EXPECT_TRUE(open());
  std::filesystem::rename(folder_.file("crashed.db"), path());
  EXPECT_THAT(refused().message, HasSubstr("-wal file, which holds the newest writes, is missing"));
}

TEST_F(SqliteLogTest, AFolderThatIsNotThereIsNamed) {
  auto log = open_sqlite_log({folder_.file("no/such/state.db")});
  ASSERT_FALSE(log);
  EXPECT_THAT(log.error().message, HasSubstr("no/such/state.db"));
}

TEST_F(SqliteLogTest, ADraftOfADeadProcessIsNoObstacle) {
  std::ofstream(path() + ".creating") << "half";
  auto store = open();
  EXPECT_TRUE(put(*store, "k", "1"));
  EXPECT_FALSE(std::filesystem::exists(path() + ".creating"));
}

TEST_F(SqliteLogTest, ALongRunCheckpointsAndKeepsTheWalSmall) {
  auto store = open();
  for (int i = 0; i < 3000; ++i) put_async(*store, "k" + std::to_string(i), std::string(4000, 'x'));
  ASSERT_TRUE(put(*store, "last", ""));
  EXPECT_LT(std::filesystem::file_size(path() + "-wal"), 24u << 20);
  EXPECT_EQ(store->snapshot().count("k"), 3000u);
}

// A power cut while a new generation's header is written leaves garbage there, and behind it the generation before:
// here one whose first frame is a commit of its own, of a page that later ones wrote again. Crash model, round
// 1624273787.
TEST_F(SqliteLogTest, ABrokenHeaderOfTheWalIsACrashWhenTheDatabaseHasWhatStandsBehindIt) {
  SqliteLogOptions options{path()};
  options.checkpoint_pages_idle = 1;
  std::string error;
  {
    auto log = std::move(*open_sqlite_log(options));
    ASSERT_TRUE(log->replay([](Row&&) { return Outcome(); }));
    for (Revision revision = 2; revision <= 5; ++revision) {
      Row row;
      row.revision = row.create_revision = revision;
      row.key = "k";
      ASSERT_EQ(log->append({row}, error), Log::AppendError::none) << error;
      if (revision != 4) continue;  // of 5 the database has nothing yet
      log->idle();
      std::filesystem::copy_file(path(), folder_.file("all.db"));
      std::filesystem::copy_file(path() + "-wal", folder_.file("all.db-wal"));
    }
    std::filesystem::copy_file(path(), folder_.file("less.db"));
    std::filesystem::copy_file(path() + "-wal", folder_.file("less.db-wal"));
  }
  for (const char* name : {"all.db", "less.db"}) {
    std::fstream wal(folder_.file(name) + "-wal", std::ios::in | std::ios::out | std::ios::binary);
    wal << std::string(32, 'Z');
  }
  auto log = open_sqlite_log({folder_.file("all.db")});
  ASSERT_TRUE(log) << log.error().message;
  EXPECT_EQ((*log)->last(), 4);
  log = open_sqlite_log({folder_.file("less.db")});
  ASSERT_FALSE(log);
  EXPECT_THAT(log.error().message, HasSubstr("header of its -wal"));
}

}  // namespace
}  // namespace sublet::store
