// A full disk and I/O errors at every n-th operation: acknowledged writes stay, refused writes never appear, an error
// of unknown outcome stops the store, and the file opens again afterwards.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/fault/trace.h"

namespace sublet::store::fault {
namespace {

constexpr std::size_t kLast = 60;  // n-th operation that fails; by then the load has committed, checkpointed, compacted

Row row(Revision revision) {
  Row out;
  out.revision = out.create_revision = revision;
  out.key = "k" + std::to_string(revision);
  return out;
}

/// The files as they are, as another process would find them; and after a power cut.
void expect_sound(const Bench& bench, const Model& model, Revision acknowledged, std::size_t n) {
  std::mt19937 random(static_cast<unsigned>(n));
  FaultVfs::Cursor cursor(bench.vfs);
  cursor.advance(bench.vfs.operations());
  for (const Unsynced way : {Unsynced::kept, Unsynced::dropped, Unsynced::torn})
    EXPECT_EQ(check_image(cursor.image(way, random), model, acknowledged), "")
        << "n " << n << ", way " << static_cast<int>(way);
}

TEST(DiskFull, AtEveryWriteLosesNothingInventsNothingAndRecovers) {
  std::size_t refused = 0;
  for (std::size_t n = 1; n <= kLast; ++n) {
    Bench bench;
    Load load(static_cast<unsigned>(n));
    bench.run(load, 3);
    bench.vfs.fail(n, 1 + load.random()() % 8, SQLITE_FULL);
    refused += bench.run(load, 42);
    expect_sound(bench, *bench.model, bench.acknowledged(), n);
    bench.vfs.fail(0, 0, SQLITE_OK);
    EXPECT_EQ(bench.run(load, 5), 0u) << "space is back, n " << n;
    EXPECT_FALSE(bench.store->stats().poisoned) << n;
    EXPECT_FALSE(bench.store->stats().read_only) << n;
    EXPECT_EQ(bench.model->difference(*bench.store, bench.acknowledged()), "") << n;
    expect_sound(bench, *bench.model, bench.acknowledged(), n);
  }
  EXPECT_GT(refused, kLast / 2);
}

TEST(DiskFull, DeletesPassOnAFullDisk) {
  Bench bench;
  Load load(1);
  bench.run(load, 40);
  // One write finds no space; then the delete does, as it would when its log has a reserve to give up.
  bench.vfs.fail(1, 1, SQLITE_FULL);
  auto failed = bench.store->commit(testing_support::create("new", "x"));
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().reason, Reason::too_many_requests);
  EXPECT_TRUE(bench.store->stats().read_only);
  std::vector<ObjectPtr> all;
  bench.store->snapshot().scan("", "", [&](const ObjectPtr& object) {
    all.push_back(object);
    return true;
  });
  ASSERT_GT(all.size(), 5u);
  for (const ObjectPtr& object : all) {
    bench.vfs.fail(1, 1, SQLITE_FULL);  // the log gives up its reserve, once, and tries again
    if (auto deleted = bench.store->commit(testing_support::remove(object->key, object->revision)); !deleted) {
      EXPECT_EQ(deleted.error().reason, Reason::too_many_requests);
      EXPECT_TRUE(bench.store->commit(testing_support::remove(object->key, object->revision)));
    }
  }
  EXPECT_EQ(bench.store->snapshot().count(""), 0u);
}

TEST(DiskFull, TheLogsLastRevisionIsTheNewestThatWasEverDurable) {
  const testing_support::TempFolder folder;
  FaultVfs vfs;
  std::string error;
  auto log = std::move(*open_sqlite_log({folder.file("state.db"), vfs.name()}));
  ASSERT_TRUE(log->replay([](Row&&) { return Outcome(); }));
  ASSERT_EQ(log->append({row(2), row(3)}, error), Log::AppendError::none);
  vfs.fail(1, 1000, SQLITE_FULL);
  ASSERT_EQ(log->append({row(4)}, error), Log::AppendError::full);
  EXPECT_EQ(log->last(), 3);
  vfs.fail(0, 0, SQLITE_OK);
  ASSERT_EQ(log->append({row(7)}, error), Log::AppendError::none);
  ASSERT_EQ(log->compact({7}, 7, error), Log::AppendError::none);
  EXPECT_EQ(log->last(), 7) << "also without its row";
  log.reset();
  EXPECT_EQ((*open_sqlite_log({folder.file("state.db"), vfs.name()}))->last(), 7);
}

// Until the file says that it is in use, a write-ahead file that is gone is none that ever was.
TEST(DiskFull, AfterAStartWithoutSpaceTheFirstWriteBeginsTheSession) {
  const testing_support::TempFolder folder;
  const std::string path = folder.file("state.db");
  create_store(path);
  FaultVfs vfs;
  vfs.fail(1, 1'000'000, SQLITE_FULL);
  std::string error;
  auto log = std::move(*open_sqlite_log({path, vfs.name()}));
  ASSERT_TRUE(log->replay([](Row&&) { return Outcome(); })) << "what there is is served";
  EXPECT_EQ(log->append({row(2)}, error), Log::AppendError::full);
  vfs.fail(0, 0, SQLITE_OK);
  ASSERT_EQ(log->append({row(2)}, error), Log::AppendError::none) << error;
  std::filesystem::copy_file(path, folder.file("cut.db"));
  const auto cut = open_sqlite_log({folder.file("cut.db")});
  ASSERT_FALSE(cut);
  EXPECT_THAT(cut.error().message, testing::HasSubstr("-wal file, which holds the newest writes, is missing"));
}

void fail_every_nth(int code) {
  std::size_t poisoned = 0;
  for (std::size_t n = 1; n <= kLast; ++n) {
    Bench bench;
    Load load(static_cast<unsigned>(n));
    bench.run(load, 3);
    bench.vfs.fail(n, 1, code);
    bench.run(load, 42);
    if (bench.store->stats().poisoned) {
      ++poisoned;
      EXPECT_EQ(bench.store->commit({}).error().reason, Reason::service_unavailable);
    }
    const Revision given = bench.store->pending().revision();
    bench.store->close();
    bench.watching.reset();
    ASSERT_TRUE(bench.open()) << n;  // the model learns here what the unknown outcome was
    EXPECT_LE(bench.store->snapshot().revision(), given) << n;
    EXPECT_EQ(bench.model->difference(*bench.store, bench.acknowledged()), "") << n;
    EXPECT_EQ(bench.run(load, 3), 0u);
    expect_sound(bench, *bench.model, bench.acknowledged(), n);
  }
  EXPECT_GT(poisoned, kLast / 2);
}

TEST(IoError, AtEveryOperationStopsTheStoreAndLosesNothing) { fail_every_nth(SQLITE_IOERR_WRITE); }
TEST(IoError, AtEverySyncStopsTheStoreAndLosesNothing) { fail_every_nth(SQLITE_IOERR_FSYNC); }

/// A log that met an I/O error: whatever it is asked, it says why it does nothing, and does nothing.
void expect_stopped(Log& log, const FaultVfs& vfs, const std::string& why) {
  const std::size_t before = vfs.operations();
  std::string error;
  EXPECT_EQ(log.append({row(8)}, error), Log::AppendError::io);
  EXPECT_THAT(error, testing::HasSubstr(why));
  EXPECT_EQ(log.compact({2}, 2, error), Log::AppendError::io);
  log.idle();
  EXPECT_EQ(vfs.operations(), before) << "it went on writing";
}

/// A log of its own that has two rows in its WAL, and is about to make a checkpoint.
struct BeforeACheckpoint {
  const testing_support::TempFolder folder;
  FaultVfs vfs;
  SqliteLogOptions options{folder.file("state.db"), vfs.name()};
  std::unique_ptr<Log> log;

  BeforeACheckpoint() {
    options.checkpoint_pages_idle = 1;
    log = std::move(*open_sqlite_log(options));
    std::string error;
    EXPECT_TRUE(log->replay([](Row&&) { return Outcome(); }));
    EXPECT_EQ(log->append({row(2), row(3)}, error), Log::AppendError::none) << error;
  }
  std::size_t checkpoint() {
    const std::size_t before = vfs.operations();
    log->idle();
    return vfs.operations() - before;
  }
};

TEST(IoError, AtAnyMomentOfACheckpointStopsTheLog) {
  const std::size_t operations = BeforeACheckpoint().checkpoint();
  ASSERT_GE(operations, 3u) << "a checkpoint syncs the WAL, writes the pages and syncs them";
  for (std::size_t nth = 1; nth <= operations; ++nth) {
    BeforeACheckpoint at;
    at.vfs.fail(nth, 1, SQLITE_IOERR);
    at.checkpoint();
    expect_stopped(*at.log, at.vfs, at.options.path + ": checkpoint failed");
    const std::size_t stopped = at.vfs.operations();
    at.log.reset();
    EXPECT_EQ(at.vfs.operations(), stopped) << "it said of a file that nobody knows that it was closed";
    auto again = open_sqlite_log(at.options);
    ASSERT_TRUE(again) << again.error().message;
    EXPECT_EQ((*again)->last(), 3) << nth;
  }
}

TEST(IoError, AtACommitStopsTheLogForGood) {
  for (const int code : {SQLITE_IOERR_WRITE, SQLITE_IOERR_FSYNC}) {
    const testing_support::TempFolder folder;
    FaultVfs vfs;
    std::string error;
    auto log = std::move(*open_sqlite_log({folder.file("state.db"), vfs.name()}));
    ASSERT_TRUE(log->replay([](Row&&) { return Outcome(); }));
    ASSERT_EQ(log->append({row(2)}, error), Log::AppendError::none);
    vfs.fail(1, 1, code);
    ASSERT_EQ(log->append({row(3)}, error), Log::AppendError::io);
    const std::string why = error;
    expect_stopped(*log, vfs, why);
    const std::size_t stopped = vfs.operations();
    log.reset();
    EXPECT_EQ(vfs.operations(), stopped) << "it said of a file that nobody knows that it was closed";
  }
}

TEST(IoError, WhileOpeningIsToldByNameAndHarmless) {
  for (const int code : {SQLITE_IOERR_WRITE, SQLITE_IOERR_FSYNC, SQLITE_FULL, SQLITE_IOERR_NOMEM}) {
    Bench bench;
    Load load(9);
    bench.run(load, 30);
    std::mt19937 random(1);
    const Image crashed = bench.vfs.image(bench.vfs.operations(), Unsynced::kept, random);
    bench.store->close();
    for (std::size_t n = 1; n <= 12; ++n) {
      const testing_support::TempFolder folder;
      for (const auto& [name, content] : crashed) std::ofstream(folder.file(name), std::ios::binary) << content;
      FaultVfs vfs;
      vfs.fail(n, 1, code);
      {
        auto log = open_sqlite_log({folder.file("state.db"), vfs.name()});
        if (log) {
          auto store = Store::open(std::move(*log));
          if (!store) {
            EXPECT_THAT(store.error().message, testing::HasSubstr(folder.path()));
          }
        } else {
          EXPECT_THAT(log.error().message, testing::HasSubstr(folder.path()));
        }
      }
      auto log = open_sqlite_log({folder.file("state.db")});
      ASSERT_TRUE(log) << n << ": " << log.error().message;
      auto store = Store::open(std::move(*log));
      ASSERT_TRUE(store) << n << ": " << store.error().message;
      EXPECT_EQ(bench.model->difference(**store, bench.acknowledged()), "") << n;
    }
  }
}

}  // namespace
}  // namespace sublet::store::fault
