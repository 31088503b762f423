// No acknowledged write is lost when the power goes: at every acknowledgement, and at 1,000 random moments, for every
// way in which a disk may treat what was not synced. The same test loses writes with synchronous=OFF, so it would
// notice.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>

#include "tests/fault/trace.h"

namespace sublet::store::fault {
namespace {

using testing_support::Answers;

constexpr int kMoments = 1000;

TEST(PowerCut, NoAcknowledgedWriteIsLostAtAnyAcknowledgement) {
  Bench bench;
  Load load(1);
  ASSERT_EQ(bench.run(load, 300), 0u);
  ASSERT_GT(bench.acks.size(), 600u);
  std::mt19937 random(2);
  FaultVfs::Cursor cursor(bench.vfs);
  Revision checked = 0;
  for (const Ack& ack : bench.acks) {
    cursor.advance(ack.operations);
    const Unsynced unsynced = ack.revision % 2 == 0 ? Unsynced::dropped : Unsynced::torn;
    ASSERT_EQ(check_image(cursor.image(unsynced, random), *bench.model, ack.revision), "") << "at " << ack.operations;
    checked = ack.revision;
  }
  EXPECT_EQ(checked, bench.store->snapshot().revision());
}

TEST(PowerCut, NoAcknowledgedWriteIsLostAtRandomMoments) {
  Bench bench;
  Load load(3);
  const std::size_t begin = bench.vfs.operations();
  ASSERT_EQ(bench.run(load, 300), 0u);
  std::mt19937 random(4);
  std::vector<std::size_t> moments;
  for (int i = 0; i < kMoments; ++i) moments.push_back(begin + random() % (bench.vfs.operations() - begin));
  std::sort(moments.begin(), moments.end());
  FaultVfs::Cursor cursor(bench.vfs);
  for (const std::size_t moment : moments) {
    cursor.advance(moment);
    static constexpr Unsynced kWays[] = {Unsynced::dropped, Unsynced::random_subset, Unsynced::torn, Unsynced::kept};
    const Unsynced way = kWays[random() % 4];
    ASSERT_EQ(check_image(cursor.image(way, random), *bench.model, bench.acknowledged_at(moment)), "")
        << "at " << moment << ", way " << static_cast<int>(way);
  }
}

TEST(PowerCut, TheTestWouldNoticeAMissingSync) {
  Bench bench("OFF");
  Load load(5);
  ASSERT_EQ(bench.run(load, 60), 0u);
  std::mt19937 random(6);
  FaultVfs::Cursor cursor(bench.vfs);
  int lost = 0;
  for (const Ack& ack : bench.acks) {
    cursor.advance(ack.operations);
    if (!check_image(cursor.image(Unsynced::dropped, random), *bench.model, ack.revision).empty()) ++lost;
  }
  EXPECT_GT(lost, 0);
}

TEST(PowerCut, WhatARestartedProcessHasShownIsDurable) {
  int unsynced = 0;
  for (unsigned seed = 0; seed < 60; ++seed) {
    Bench bench;
    Load load(seed);
    ASSERT_EQ(bench.run(load, 5), 0u);
    // As if killed between the write of a commit and its sync.
    bench.vfs.fail(1 + load.random()() % 4, 1'000'000, SQLITE_IOERR_FSYNC);
    Answers answers;
    while (bench.store->submit(load.next(bench.store->pending()), bench.acknowledge(answers)) &&
           answers.failures() == 0)
      answers.wait(answers.count());
    bench.store->close();
    bench.watching.reset();
    bench.vfs.fail(0, 0, SQLITE_OK);
    // The next process sees everything that was written, synced or not.
    ASSERT_TRUE(bench.open());
    const Revision shown = bench.store->snapshot().revision();
    if (shown > bench.acks.back().revision) ++unsynced;
    std::mt19937 random(seed);
    const Image image = bench.vfs.image(bench.vfs.operations(), Unsynced::dropped, random);
    ASSERT_EQ(check_image(image, *bench.model, shown), "") << seed;
  }
  EXPECT_GT(unsynced, 10) << "the case that this is about did not come up";
}

TEST(PowerCut, TheEndOfASessionIsDurableToo) {
  Bench bench;
  Load load(7);
  ASSERT_EQ(bench.run(load, 30), 0u);
  const std::size_t before = bench.vfs.operations();
  const Revision last = bench.store->snapshot().revision();
  bench.store->close();
  std::mt19937 random(8);
  FaultVfs::Cursor cursor(bench.vfs);
  for (std::size_t moment = before; moment <= bench.vfs.operations(); ++moment) {
    cursor.advance(moment);
    for (const Unsynced way : {Unsynced::dropped, Unsynced::torn, Unsynced::kept})
      ASSERT_EQ(check_image(cursor.image(way, random), *bench.model, last), "") << moment;
  }
}

}  // namespace
}  // namespace sublet::store::fault
