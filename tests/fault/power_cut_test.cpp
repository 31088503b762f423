// No acknowledged write is lost when the power goes: at every acknowledgement, and at 1,000 random moments, for every
// way in which a disk may treat what was not synced, and after a sync that failed. The same test loses writes with
// synchronous=OFF, so it would notice.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <set>
#include <thread>
#include <utility>

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
    const Unsynced way = kAllWays[random() % std::size(kAllWays)];
    const Entries entries = random() % 2 == 0 ? Entries::kept : Entries::lost;
    ASSERT_EQ(check_image(cursor.image(way, random, entries), *bench.model, bench.acknowledged_at(moment)), "")
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

std::size_t digest(const Image& image, Revision sure) {
  std::string digests = std::to_string(sure);
  for (const auto& [name, content] : image) digests += name + std::to_string(std::hash<std::string>()(content)) + ",";
  return std::hash<std::string>()(digests);
}

/// How one seed went, or all of them.
struct Restarts {
  int unsynced = 0, images = 0, distinct = 0, bad = 0;
  Restarts& operator+=(const Restarts& other) {
    unsynced += other.unsynced;
    images += other.images;
    distinct += other.distinct;
    bad += other.bad;
    return *this;
  }
  void print(const std::string& what) const {
    std::printf("%s: showed unsynced state %d; images %d, distinct %d, bad %d\n", what.c_str(), unsynced, images,
                distinct, bad);
    std::fflush(stdout);  // whoever ends a long run has what it found
  }
};

/// A session whose sync fails, and every moment of the next process's opening.
void restart_after_a_failed_sync(unsigned seed, int ways, Restarts& out) {
  Bench bench;
  Load load(seed);
  ASSERT_EQ(bench.run(load, 5), 0u);
  // As if killed between the write of a commit and its sync.
  bench.vfs.fail(1 + load.random()() % 4, 1'000'000, SQLITE_IOERR_FSYNC);
  Answers answers;
  while (bench.store->submit(load.next(bench.store->pending()), bench.acknowledge(answers)) && answers.failures() == 0)
    answers.wait(answers.count());
  bench.store->close();
  bench.watching.reset();
  bench.vfs.fail(0, 0, SQLITE_OK);
  // The next process sees everything that was written, synced or not, and what it shows must be there for good.
  // While it opens, the power may go: then what was acknowledged is there, whatever was seen of the rest.
  const std::size_t before = bench.vfs.operations();
  const Revision acknowledged = bench.acks.back().revision;
  ASSERT_TRUE(bench.open());
  const Revision shown = bench.store->snapshot().revision();
  if (shown > acknowledged) ++out.unsynced;
  std::mt19937 random(seed);
  std::set<std::size_t> seen;  // opening the same bytes again would tell nothing
  for (const bool lost_survive : {false, true}) {
    FaultVfs::Cursor cursor(bench.vfs, lost_survive);
    for (std::size_t moment = before; moment <= bench.vfs.operations(); ++moment) {
      cursor.advance(moment);
      const Revision sure = moment == bench.vfs.operations() ? shown : acknowledged;
      for (int i = 0; i < ways; ++i) {
        const Unsynced way = kAllWays[random() % std::size(kAllWays)];
        const Entries entries = random() % 2 == 0 ? Entries::kept : Entries::lost;
        ++out.images;
        const Image image = cursor.image(way, random, entries);
        if (!seen.insert(digest(image, sure)).second) continue;
        ++out.distinct;
        const std::string wrong = check_image(image, *bench.model, sure);
        if (!wrong.empty() && ++out.bad <= 5)
          ADD_FAILURE() << "seed " << seed << ", moment " << moment - before << " of "
                        << bench.vfs.operations() - before << ", way " << static_cast<int>(way) << ": " << wrong;
      }
    }
  }
}

/// [first, end) of the seeds: eight, or as SUBLET_SOAK says: "1" for sixty, or such as "20-40" for a piece of them.
std::pair<unsigned, unsigned> chosen_seeds(const char* soak) {
  if (soak == nullptr) return {0, 8};
  unsigned first = 0, end = 60;
  if (std::strchr(soak, '-') != nullptr && std::sscanf(soak, "%u-%u", &first, &end) != 2) end = first;
  return {first, end};
}

TEST(PowerCut, WhatARestartedProcessHasShownIsDurable) {
  const char* const soak = std::getenv("SUBLET_SOAK");
  const auto [first, end] = chosen_seeds(soak);
  ASSERT_LT(first, end) << "SUBLET_SOAK=" << soak << " names no seeds; such as 0-20 does";
  const int ways = soak ? 4 : 1;
  std::atomic<unsigned> next{first};
  Mutex mutex;
  Restarts all;
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < std::clamp(std::thread::hardware_concurrency(), 1u, 4u); ++i)
    threads.emplace_back([&, end = end] {
      for (unsigned seed = next++; seed < end; seed = next++) {
        Restarts one;
        restart_after_a_failed_sync(seed, ways, one);
        const MutexLock lock(mutex);
        all += one;
        if (soak) one.print("seed " + std::to_string(seed));
      }
    });
  for (std::thread& thread : threads) thread.join();
  all.print("seeds " + std::to_string(first) + " to " + std::to_string(end - 1));
  EXPECT_EQ(all.bad, 0) << "of " << all.images << " images";
  if (end - first < 8) return;  // too few for that
  EXPECT_GT(all.unsynced, static_cast<int>(end - first) / 6) << "the case that this is about did not come up";
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
    for (const Unsynced way : kAllWays)
      for (const Entries entries : {Entries::kept, Entries::lost})
        ASSERT_EQ(check_image(cursor.image(way, random, entries), *bench.model, last), "")
            << moment << ", way " << static_cast<int>(way);
  }
}

}  // namespace
}  // namespace sublet::store::fault
