// Damaged files: with any byte changed, or the file cut anywhere, opening fails by name or everything is right.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>

#include "tests/fault/trace.h"

namespace sublet::store::fault {
namespace {

/// What is wrong after opening the files: nothing may be, unless the store refused to open and said which file it is.
/// `beside`: the file is checked beside the reading of its rows, as a large one is.
std::string judge(const Image& image, const Model& model, Revision acknowledged, bool& refused, bool beside = false) {
  const testing_support::TempFolder folder;
  for (const auto& [name, content] : image) std::ofstream(folder.file(name), std::ios::binary) << content;
  const std::string path = folder.file("state.db");
  const auto named = [&](const Status& status) {
    refused = true;
    return status.message.find(path) != std::string::npos ? ""
                                                          : "the message does not name the file: " + status.message;
  };
  SqliteLogOptions options{path};
  if (beside) options.check_beside_bytes = 0;
  auto log = open_sqlite_log(options);
  if (!log) return named(log.error());
  auto store = Store::open(std::move(*log));
  if (!store) return named(store.error());
  refused = false;
  return model.difference(**store, acknowledged);
}

/// Commits in a WAL that are of its current generation; behind them stands what a checkpoint left of the last one.
int current_commits(const std::string& wal) {
  constexpr std::size_t kHeader = 32, kFrame = 24 + 4096, kSalts = 8;
  int commits = 0;
  for (std::size_t at = kHeader; at + kFrame <= wal.size(); at += kFrame) {
    if (wal.compare(at + 8, kSalts, wal, 16, kSalts) != 0) break;
    if (wal.compare(at + 4, 4, std::string(4, '\0')) != 0) ++commits;
  }
  return commits;
}

class Damage : public testing::Test {
 protected:
  Damage() : load_(11, 12) {
    bench_.run(load_, 25);
    EXPECT_TRUE(bench_.store->compact(20));
    bench_.run(load_, 6);
  }
  Image now() {
    std::mt19937 random(1);
    return bench_.vfs.image(bench_.vfs.operations(), Unsynced::kept, random);
  }
  /// Changes bytes of one file at `count` places, never two at once.
  void flip(const Image& image, const std::string& file, int count, Revision acknowledged) {
    std::mt19937 random(12);
    int refusals = 0;
    for (int i = 0; i < count; ++i) {
      Image changed = image;
      std::string& content = changed[file];
      // The first page and the frame headers are a small part of the file, and decide most.
      const std::size_t at = (i % 4 == 0 ? random() % 512 : random()) % content.size();
      content[at] = static_cast<char>(content[at] ^ (i % 3 == 0 ? 1 << (random() % 8) : 1 + random() % 255));
      bool refused = false;
      EXPECT_EQ(judge(changed, *bench_.model, acknowledged, refused, i % 2 == 0), "") << file << " at " << at;
      refusals += refused ? 1 : 0;
    }
    EXPECT_GT(refusals, count / 20);
  }
  void cut(const Image& image, const std::string& file, Revision acknowledged) {
    std::mt19937 random(13);
    for (int i = 0; i < 60; ++i) {
      Image changed = image;
      std::string& content = changed[file];
      content.resize(i % 2 == 0 ? random() % content.size() : random() % (content.size() / 4096) * 4096);
      bool refused = false;
      EXPECT_EQ(judge(changed, *bench_.model, acknowledged, refused), "") << file << " cut to " << content.size();
    }
  }

  void cut_to(Image image, std::size_t size, Revision acknowledged) {
    image["state.db-wal"].resize(size);
    bool refused = false;
    const std::string wrong = judge(image, *bench_.model, acknowledged, refused);
    EXPECT_EQ(wrong, "") << "cut to " << size;
    ++cuts_;
    refusals_ += refused ? 1 : 0;
    losses_ += wrong.empty() ? 0 : 1;
  }

  int cuts_ = 0, refusals_ = 0, losses_ = 0;
  Bench bench_;
  Load load_;
};

TEST_F(Damage, OfAClosedFileIsFoundOrHarmless) {
  bench_.store->close();
  const Image image = now();
  ASSERT_EQ(image.count("state.db-wal"), 0u);
  flip(image, "state.db", 600, bench_.acknowledged());
  cut(image, "state.db", bench_.acknowledged());
}

TEST_F(Damage, OfTheWriteAheadFileIsFoundOrCostsOnlyTheLastTransactions) {
  // How many commits share a sync, and so when the checkpoints fall, is up to the threads: on until the WAL has enough
  // behind its first frame for damage to show.
  Image image = now();
  while (current_commits(image.at("state.db-wal")) < 4) {
    bench_.run(load_, 1);
    image = now();
  }
  ASSERT_GT(image.at("state.db-wal").size(), 10u * 4096);
  // Damage to the last transaction alone looks like a crash while it was written.
  ASSERT_GT(bench_.acks.size(), 12u);
  const Revision sure = bench_.acks[bench_.acks.size() - 12].revision;
  flip(image, "state.db-wal", 700, sure);
}

TEST_F(Damage, OfAWriteAheadFileThatWasCutIsRefusedOrCostsNothing) {
  Image image = now();
  while (current_commits(image.at("state.db-wal")) < 4) {
    bench_.run(load_, 1);
    image = now();
  }
  for (std::size_t size : {0, 31, 32, 4096, 32 + 4120, 32 + 2 * 4120, 100'000})
    cut_to(image, size, bench_.acknowledged());
  EXPECT_EQ(refusals_, 7) << "each of these cuts takes acknowledged writes away";
  std::mt19937 random(14);
  for (int i = 0; i < 95; ++i) cut_to(image, random() % image.at("state.db-wal").size(), bench_.acknowledged());
  std::printf("cuts of the write-ahead file: %d; refused %d, acknowledged writes lost in silence %d\n", cuts_,
              refusals_, losses_);
}

/// Frames of the WAL's current generation, and how many of them are the last transaction's.
struct Extent {
  std::size_t frames = 0, last_transaction = 0;
};
Extent extent(const std::string& wal) {
  constexpr std::size_t kHeader = 32, kFrame = 24 + 4096, kSalts = 8;
  Extent out;
  std::size_t begun = 0;
  for (std::size_t at = kHeader; at + kFrame <= wal.size(); at += kFrame) {
    if (wal.compare(at + 8, kSalts, wal, 16, kSalts) != 0) break;
    ++out.frames;
    if (wal.compare(at + 4, 4, std::string(4, '\0')) == 0) continue;
    out.last_transaction = out.frames - begun;
    begun = out.frames;
  }
  return out;
}

TEST_F(Damage, GarbageThatSaysCommitInATransactionThatWasBeingWrittenIsNoCommit) {
  constexpr std::size_t kHeader = 32, kFrame = 24 + 4096;
  Image image = now();
  while (extent(image.at("state.db-wal")).last_transaction < 3) {
    bench_.run(load_, 1);
    image = now();
  }
  // The power went while the last transaction was written: a sector of its first frame is lost, and garbage stands
  // where the second says that it does not commit; the frame that commits is whole.
  std::string& wal = image["state.db-wal"];
  const Extent there = extent(wal);
  const std::size_t first = kHeader + (there.frames - there.last_transaction) * kFrame;
  wal.replace(first + 24, 512, std::string(512, '\x5a'));
  wal.replace(first + kFrame, 8, "\x11\x22\x33\x44\x55\x66\x77\x5a");
  bool refused = false;
  const Revision sure = bench_.acks[bench_.acks.size() - 12].revision;
  EXPECT_EQ(judge(image, *bench_.model, sure, refused), "");
  EXPECT_FALSE(refused) << "a power cut leaves this";
}

/// Whether a commit of the WAL's current generation has the database's first page.
bool has_first_page(const std::string& wal) {
  constexpr std::size_t kHeader = 32, kFrame = 24 + 4096;
  const Extent there = extent(wal);
  for (std::size_t frame = 0; frame < there.frames; ++frame)
    if (wal.compare(kHeader + frame * kFrame, 4, std::string("\0\0\0\1", 4)) == 0) return true;
  return false;
}

// A checkpoint was writing the first page when the power went; the write-ahead file has it whole.
TEST_F(Damage, GarbageInAFirstPageThatTheWriteAheadFileHasIsNoForeignFile) {
  Image image = now();
  while (!has_first_page(image.at("state.db-wal"))) {
    bench_.run(load_, 1);
    image = now();
  }
  image["state.db"].replace(0, 512, std::string(512, '\x5a'));
  bool refused = false;
  EXPECT_EQ(judge(image, *bench_.model, bench_.acknowledged(), refused), "");
  EXPECT_FALSE(refused) << "nobody is told to move away a good store";
}

TEST_F(Damage, OfTheFileUnderAWriteAheadFileIsFoundOrHarmless) { flip(now(), "state.db", 300, bench_.acknowledged()); }

}  // namespace
}  // namespace sublet::store::fault
