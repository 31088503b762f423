// crash_model: every moment of a store's life x everything that a disk may do with what was not synced, exhaustively.
//
// usage: crash_model [--seed N] [--minutes M] [--load N] [--one-in N] [--keep FOLDER]
// A round is a session under random load (of N rounds of transactions), with checkpoints, a compaction and an orderly
// end. Then, for every operation that the store asked of its disk, the power goes behind it, and what was not synced is
//   dropped, a random subset, torn, any subset of sectors, garbage, kept   x   folder entries kept, lost;
// for every sync of a second session, that sync fails, what it should have written is gone or half there, and the power
// goes at any moment of the end and of the next opening; and of images made so, some are opened on a disk whose power
// goes again at every operation of the opening. Each image is opened as a store and must be exactly the state after one
// batch, with all that was acknowledged (trace.h). Rounds go on, with a fresh seed each, until the minutes are over;
// one at least.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>

#include "tests/fault/trace.h"

namespace sublet::store::fault {
namespace {

constexpr const char* kWayNames[] = {"dropped", "random subset", "torn", "sectors", "garbage", "kept"};
constexpr int kToldMax = 10;
constexpr std::size_t kNestedMax = 3;  // images of a round that are opened on a failing disk

struct Settings {
  unsigned seed = std::random_device()();
  double minutes = 0;
  int load = 4;
  unsigned one_in = 1;
  std::string keep;  // folder for images that were bad
};

/// What happened to the image, in words, and what must be in it.
struct Case {
  const char* group;
  std::size_t moment;
  Unsynced way;
  Entries entries;
  const Model& model;
  Revision sure;
};

class Tally {
 public:
  Tally(std::string keep, unsigned one_in) : keep_(std::move(keep)), one_in_(one_in) {}
  /// By chance, so that no way is left out.
  bool wants(std::mt19937& random) { return random() % one_in_ == 0; }
  void check(const Image& image, const Case& one) {
    ++images_;
    ++by_way_[static_cast<int>(one.way)];
    if (one.entries == Entries::lost) ++entries_lost_;
    const std::string wrong = check_image(image, one.model, one.sure);
    if (wrong.empty()) return;
    if (++bad_ > kToldMax) return;
    std::printf("BAD %s: behind operation %zu, %s, folder entries %s: %s\n", one.group, one.moment,
                kWayNames[static_cast<int>(one.way)], one.entries == Entries::lost ? "lost" : "kept", wrong.c_str());
    keep(image);
  }
  long images() const { return images_; }
  long bad() const { return bad_; }
  void print() const {
    for (const Unsynced way : kAllWays)
      std::printf("  %-14s %ld\n", kWayNames[static_cast<int>(way)], by_way_[static_cast<int>(way)]);
    std::printf("  with folder entries lost: %ld\n", entries_lost_);
  }

 private:
  void keep(const Image& image) const {
    if (keep_.empty()) return;
    const std::string folder = keep_ + "/" + std::to_string(bad_);
    std::filesystem::create_directories(folder);
    for (const auto& [name, content] : image) std::ofstream(folder + "/" + name, std::ios::binary) << content;
    std::printf("    kept in %s\n", folder.c_str());
  }

  const std::string keep_;
  const unsigned one_in_;
  long images_ = 0, bad_ = 0, entries_lost_ = 0;
  long by_way_[std::size(kAllWays)] = {};
};

/// Every way at the cursor's moment.
void check_moment(const FaultVfs::Cursor& cursor, const char* group, std::size_t moment, const Model& model,
                  Revision sure, std::mt19937& random, Tally& tally) {
  for (const Unsynced way : kAllWays)
    for (const Entries entries : {Entries::kept, Entries::lost})
      if (tally.wants(random))
        tally.check(cursor.image(way, random, entries), {group, moment, way, entries, model, sure});
}

/// The power goes again while `image` is opened: behind every operation of the opening.
void check_opening(const Image& image, const Model& model, Revision sure, std::mt19937& random, Tally& tally) {
  const testing_support::TempFolder folder;
  FaultVfs vfs;
  for (const auto& [name, content] : image) {
    std::ofstream(folder.file(name), std::ios::binary) << content;
    vfs.adopt(folder.file(name));
  }
  const std::size_t begin = vfs.operations();
  Revision shown = sure;
  {
    auto log = open_sqlite_log(small_log(folder.file("state.db"), vfs.name()));
    if (!log) return;  // check() of the image itself has told
    auto store = Store::open(std::move(*log));
    if (store) shown = (*store)->snapshot().revision();
    vfs.freeze();
  }
  FaultVfs::Cursor cursor(vfs);
  for (std::size_t moment = begin; moment <= vfs.operations(); ++moment) {
    cursor.advance(moment);
    const Revision now_sure = moment == vfs.operations() ? shown : sure;
    check_moment(cursor, "power cut while opening", moment - begin, model, now_sure, random, tally);
  }
}

/// The syncs of the session, for the round's second half.
std::size_t check_session(const Settings& settings, unsigned seed, Tally& tally) {
  Bench bench;
  Load load(seed, 12);
  std::mt19937 random(seed + 1);
  const std::size_t begin = bench.vfs.operations();
  bench.run(load, settings.load);
  (void)bench.store->compact(bench.store->snapshot().revision() - 4);
  bench.run(load, 2);
  const Revision last = bench.store->snapshot().revision();
  const std::size_t end_begins = bench.vfs.operations();
  bench.store->close();
  bench.watching.reset();
  FaultVfs::Cursor cursor(bench.vfs);
  const std::size_t step = std::max<std::size_t>(1, (bench.vfs.operations() - begin) / kNestedMax);
  for (std::size_t moment = begin; moment <= bench.vfs.operations(); ++moment) {
    cursor.advance(moment);
    const Revision sure = moment >= end_begins ? last : bench.acknowledged_at(moment);
    check_moment(cursor, "power cut", moment - begin, *bench.model, sure, random, tally);
    if ((moment - begin) % step == step - 1)
      check_opening(cursor.image(kAllWays[random() % std::size(kAllWays)], random), *bench.model, sure, random, tally);
  }
  return bench.vfs.operations() - begin;
}

/// The n-th sync fails; false when there were not so many.
bool check_failed_sync(const Settings& settings, unsigned seed, std::size_t nth, Tally& tally) {
  Bench bench;
  Load load(seed, 12);
  std::mt19937 random(seed + static_cast<unsigned>(nth));
  bench.vfs.fail(nth, 1, SQLITE_IOERR_FSYNC);
  bench.run(load, settings.load + 2);
  const bool struck = bench.store->stats().poisoned;
  const std::size_t before = bench.vfs.operations();
  bench.store->close();
  bench.watching.reset();
  bench.vfs.fail(0, 0, SQLITE_OK);
  if (!struck) return false;
  const Revision acknowledged = bench.acknowledged();
  if (const Outcome opened = bench.open(); !opened) {
    tally.check({}, {"opening after a failed sync", nth, Unsynced::kept, Entries::kept, *bench.model, acknowledged});
    std::printf("  it said: %s\n", opened.error().message.c_str());
    return true;
  }
  const Revision shown = bench.store->snapshot().revision();
  for (const bool lost_survive : {false, true}) {
    FaultVfs::Cursor cursor(bench.vfs, lost_survive);
    for (std::size_t moment = before; moment <= bench.vfs.operations(); ++moment) {
      cursor.advance(moment);
      const Revision sure = moment == bench.vfs.operations() ? shown : acknowledged;
      check_moment(cursor, "failed sync", moment - before, *bench.model, sure, random, tally);
    }
  }
  return true;
}

int run(const Settings& settings) {
  using Steady = std::chrono::steady_clock;
  const auto begin = Steady::now();
  const auto minutes = [begin] { return std::chrono::duration<double>(Steady::now() - begin).count() / 60; };
  Tally tally(settings.keep, settings.one_in);
  std::mt19937 seeds(settings.seed);
  std::printf("seed %u\n", settings.seed);
  std::fflush(stdout);
  long rounds = 0, syncs = 0;
  std::size_t operations = 0;
  do {
    const unsigned seed = seeds();
    operations += check_session(settings, seed, tally);
    for (std::size_t nth = 1; check_failed_sync(settings, seed, nth, tally); ++nth) {
      ++syncs;
      if (rounds > 0 && minutes() >= settings.minutes) break;
    }
    ++rounds;
    std::printf("round %ld (%u): %ld images in %.1f minutes, %ld bad\n", rounds, seed, tally.images(), minutes(),
                tally.bad());
    std::fflush(stdout);
  } while (minutes() < settings.minutes && tally.bad() <= kToldMax);
  std::printf("%ld rounds, %zu operations of the disk, %ld syncs that failed, %ld images in %.1f minutes:\n", rounds,
              operations, syncs, tally.images(), minutes());
  tally.print();
  std::printf("%ld bad\n", tally.bad());
  return tally.bad() == 0 ? 0 : 1;
}

}  // namespace
}  // namespace sublet::store::fault

int main(int argc, char** argv) {
  sublet::store::fault::Settings settings;
  for (int i = 1; i < argc; i += 2) {
    const std::string flag = argv[i];
    const char* value = i + 1 < argc ? argv[i + 1] : nullptr;
    if (flag == "--seed" && value != nullptr)
      settings.seed = static_cast<unsigned>(std::strtoul(value, nullptr, 10));
    else if (flag == "--minutes" && value != nullptr)
      settings.minutes = std::strtod(value, nullptr);
    else if (flag == "--load" && value != nullptr)
      settings.load = std::atoi(value);
    else if (flag == "--keep" && value != nullptr)
      settings.keep = value;
    else if (flag == "--one-in" && value != nullptr)
      settings.one_in = static_cast<unsigned>(std::max(1, std::atoi(value)));
    else {
      std::fprintf(stderr, "usage: crash_model [--seed N] [--minutes M] [--load N] [--one-in N] [--keep FOLDER]\n");
      return 2;
    }
  }
  return sublet::store::fault::run(settings);
}
