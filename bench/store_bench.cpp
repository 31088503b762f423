// store_bench: what the store costs, each figure beside a bare SQLite loop that inserts the same bytes in the same
// batches.
//
// usage: store_bench [--dir FOLDER] [--seconds S] [--rounds N]
// Writers are chains: the answer to one create submits the next, on the commit thread, so the figures are the store's
// own and hold no client. Medians over the rounds; store and bare loop alternate. synchronous=FULL everywhere.
#include <sqlite3.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "bench/own_usage.h"
#include "sublet/store/sqlite_log.h"
#include "sublet/store/store.h"

namespace sublet::store {
namespace {

using namespace bench;

using Steady = std::chrono::steady_clock;

struct Settings {
  std::string folder = std::filesystem::temp_directory_path().string();
  double seconds = 1.0;
  int rounds = 5;
};

/// A ConfigMap of 1 KiB, as the API server would hand it in.
Put config_map(const std::string& name) {
  std::string head = R"({"metadata":{"name":")" + name +
                     R"(","namespace":"default","uid":"0b4e0f4a-8f1d-4ae1-9e2e-4d7f0a3b8c11",)" +
                     R"("resourceVersion":")";
  Put put;
  put.hole = static_cast<std::uint32_t>(head.size());
  put.bytes =
      head + R"(","creationTimestamp":"2026-11-21T09:41:37Z"},"data":{"payload":")" + std::string(1024, 'x') + "\"}}";
  put.index.uid = "0b4e0f4a-8f1d-4ae1-9e2e-4d7f0a3b8c11";
  return put;
}
std::string name_of(std::uint64_t n) { return "cm-" + std::to_string(n * 2654435761u % 1000000007u); }

struct Figures {
  double rate = 0, p50_ms = 0, p99_ms = 0, cpu_us = 0;
};

/// `writers` chains of creates for `seconds`.
class Chains {
 public:
  Chains(Store& store, int writers, double seconds) : store_(store), writers_(writers), seconds_(seconds) {}

  Figures run() {
    const double cpu = cpu_seconds();
    begin_ = now_seconds();
    for (int i = 0; i < writers_; ++i) next();
    while (done_.load() < writers_) done_.wait(done_.load());
    const double elapsed = now_seconds() - begin_;
    const auto count = static_cast<double>(latencies_.size());
    const double used = cpu_seconds() - cpu;
    return {count / elapsed, percentile(latencies_, 0.5) * 1e3, percentile(latencies_, 0.99) * 1e3, used / count * 1e6};
  }

 private:
  void next() {
    const double start = now_seconds();
    if (start - begin_ > seconds_) {
      ++done_;
      done_.notify_one();
      return;
    }
    const std::string name = name_of(counter_++);
    const std::string key = "configmaps/default/" + name;
    // As a verb does it: look at the pending state, then submit what was prepared against it.
    const bool there = store_.pending().get(key) != nullptr;
    store_.submit(Txn{{{key, 0}}, {{key, config_map(name)}}}, [this, start, there](const Result<Committed>& result) {
      if (!result || there) std::abort();
      latencies_.push_back(now_seconds() - start);
      next();
    });
  }

  Store& store_;
  int writers_;
  double seconds_, begin_ = 0;
  std::atomic<std::uint64_t> counter_{0};
  std::vector<double> latencies_;  // commit thread only
  std::atomic<int> done_{0};
};

Figures bench_store(const std::string& path, int writers, double seconds) {
  std::filesystem::remove(path);
  auto store = std::move(*Store::open(std::move(*open_sqlite_log({path}))));
  return Chains(*store, writers, seconds).run();
}

/// Prepared inserts of the same size in transactions of `batch`, and nothing else.
Figures bench_bare(const std::string& path, int batch, double seconds) {
  for (const char* suffix : {"", "-wal", "-shm"}) std::filesystem::remove(path + suffix);
  sqlite3* db = nullptr;
  sqlite3_open(path.c_str(), &db);
  sqlite3_exec(
      db,
      "PRAGMA locking_mode=EXCLUSIVE; PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA cache_size=-512;"
      "CREATE TABLE log(rev INTEGER PRIMARY KEY, key TEXT, create_rev INTEGER, deleted INTEGER, value BLOB)",
      nullptr, nullptr, nullptr);
  sqlite3_stmt* insert = nullptr;
  sqlite3_prepare_v2(db, "INSERT INTO log VALUES(?,?,?,0,?)", -1, &insert, nullptr);
  const std::string value = config_map("cm-123456789").bytes + std::string(64, 'h');
  const double cpu = cpu_seconds(), begin = now_seconds();
  std::vector<double> latencies;
  std::int64_t revision = 1;
  while (now_seconds() - begin < seconds) {
    const double start = now_seconds();
    sqlite3_exec(db, "BEGIN IMMEDIATE", nullptr, nullptr, nullptr);
    for (int i = 0; i < batch; ++i) {
      const std::string key = "configmaps/default/" + name_of(static_cast<std::uint64_t>(++revision));
      sqlite3_bind_int64(insert, 1, revision);
      sqlite3_bind_text(insert, 2, key.data(), static_cast<int>(key.size()), SQLITE_STATIC);
      sqlite3_bind_int64(insert, 3, revision);
      sqlite3_bind_blob(insert, 4, value.data(), static_cast<int>(value.size()), SQLITE_STATIC);
      sqlite3_step(insert);
      sqlite3_reset(insert);
    }
    sqlite3_exec(db, "COMMIT", nullptr, nullptr, nullptr);
    latencies.push_back(now_seconds() - start);
  }
  const auto count = static_cast<double>(revision - 1);
  const double elapsed = now_seconds() - begin, used = cpu_seconds() - cpu;
  sqlite3_finalize(insert);
  sqlite3_close(db);
  return {count / elapsed, percentile(latencies, 0.5) * 1e3, percentile(latencies, 0.99) * 1e3, used / count * 1e6};
}

void print_creates(const Settings& settings) {
  std::printf("| create, synchronous=FULL | store | bare SQLite loop | ratio (CPU) |\n|---|---|---|---|\n");
  for (const int writers : {1, 16, 64}) {
    std::vector<double> rate[2], p50[2], p99[2], cpu[2];
    for (int round = 0; round < settings.rounds; ++round)
      for (int side = 0; side < 2; ++side) {
        const std::string path = settings.folder + "/store_bench.db";
        const Figures f =
            side == 0 ? bench_store(path, writers, settings.seconds) : bench_bare(path, writers, settings.seconds);
        rate[side].push_back(f.rate);
        p50[side].push_back(f.p50_ms);
        p99[side].push_back(f.p99_ms);
        cpu[side].push_back(f.cpu_us);
      }
    std::printf("| %d writers |", writers);
    for (int side = 0; side < 2; ++side)
      std::printf(" %.0f/s, p50 %.2f ms, p99 %.2f ms, %.1f us CPU |", percentile(rate[side], 0.5),
                  percentile(p50[side], 0.5), percentile(p99[side], 0.5), percentile(cpu[side], 0.5));
    std::printf(" %.2f |\n", percentile(cpu[0], 0.5) / percentile(cpu[1], 0.5));
    std::fflush(stdout);
  }
}

/// Microseconds of CPU per operation of `work`, which does `count` of them.
void print_cost(const char* what, double count, const std::function<void()>& work) {
  const double cpu = cpu_seconds();
  work();
  std::printf("| %s | %.3f us |\n", what, (cpu_seconds() - cpu) / count * 1e6);
  std::fflush(stdout);
}

void print_state(const Settings& settings) {
  constexpr int kObjects = 10'000;
  const std::string path = settings.folder + "/store_bench.db";
  std::filesystem::remove(path);
  std::printf("\n| 10,000 objects of 1 KiB | |\n|---|---|\n");
  {
    auto store = std::move(*Store::open(std::move(*open_sqlite_log({path}))));
    const double before = pss_mib();
    for (int i = 0; i < kObjects; ++i) {
      const std::string name = name_of(static_cast<std::uint64_t>(i));
      store->submit(Txn{{}, {{"configmaps/default/" + name, config_map(name)}}}, [](const auto&) {});
    }
    (void)store->commit({});
    std::printf("| memory added, history included | %.1f MiB PSS |\n", pss_mib() - before);
    const Snapshot snapshot = store->snapshot();
    std::atomic<std::size_t> sink{0};
    print_cost("snapshot and get of one", kObjects, [&] {
      for (int i = 0; i < kObjects; ++i)
        sink += store->snapshot().get("configmaps/default/" + name_of(static_cast<std::uint64_t>(i)))->bytes.size();
    });
    print_cost("scan, per object", kObjects * 100.0, [&] {
      for (int i = 0; i < 100; ++i)
        snapshot.scan("configmaps/", "", [&](const ObjectPtr& object) {
          sink += object->bytes.size();
          return true;
        });
    });
    print_cost("count by prefix", kObjects, [&] {
      for (int i = 0; i < kObjects; ++i) sink += snapshot.count("configmaps/default/cm-" + std::to_string(i % 100));
    });
    std::atomic<Revision> at{store->snapshot().revision()};
    const auto listening = store->listen([&] { at = store->changes("configmaps/default/", at)->up_to; });
    print_cost("update, told and read", 200.0, [&] {
      for (int i = 0; i < 200; ++i)
        (void)store->commit(Txn{{}, {{"configmaps/default/" + name_of(1), config_map(name_of(1))}}});
    });
  }
  const double start = now_seconds();
  auto store = std::move(*Store::open(std::move(*open_sqlite_log({path}))));
  std::printf("| open and replay | %.1f ms |\n", (now_seconds() - start) * 1e3);
}

/// How long writes wait while a long history is compacted: the longest latency beside the one without compaction.
void print_compaction(const Settings& settings) {
  const std::string path = settings.folder + "/store_bench.db";
  std::filesystem::remove(path);
  auto store = std::move(*Store::open(std::move(*open_sqlite_log({path}))));
  constexpr int kUpdates = 40'000;
  for (int i = 0; i < kUpdates; ++i) {
    const std::string name = name_of(static_cast<std::uint64_t>(i % 2000));
    store->submit(Txn{{}, {{"configmaps/default/" + name, config_map(name)}}}, [](const auto&) {});
  }
  (void)store->commit({});
  Figures quiet, busy;
  std::string prefix = "a";
  const auto writes = [&](int count) {
    std::vector<double> latencies;
    for (int i = 0; i < count; ++i) {
      const double start = now_seconds();
      (void)store->commit(Txn{{}, {{"configmaps/other/" + prefix + std::to_string(i), config_map("x")}}});
      latencies.push_back(now_seconds() - start);
    }
    return Figures{0, percentile(latencies, 0.5) * 1e3, percentile(latencies, 0.99) * 1e3, latencies.back() * 1e3};
  };
  quiet = writes(200);
  prefix = "b";
  std::atomic<double> compaction_ms{0};
  std::thread compactor([&] {
    const double start = now_seconds();
    (void)store->compact(store->snapshot().revision());
    compaction_ms = (now_seconds() - start) * 1e3;
  });
  busy = writes(200);
  compactor.join();
  std::printf("\n| 1 writer | p50 | p99 | longest |\n|---|---|---|---|\n");
  std::printf("| quiet | %.2f ms | %.2f ms | %.2f ms |\n", quiet.p50_ms, quiet.p99_ms, quiet.cpu_us);
  std::printf("| while 38,000 rows are compacted (%.0f ms) | %.2f ms | %.2f ms | %.2f ms |\n", compaction_ms.load(),
              busy.p50_ms, busy.p99_ms, busy.cpu_us);
}

}  // namespace
}  // namespace sublet::store

int main(int argc, char** argv) {
  sublet::store::Settings settings;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string flag = argv[i];
    if (flag == "--dir")
      settings.folder = argv[i + 1];
    else if (flag == "--seconds")
      settings.seconds = std::stod(argv[i + 1]);
    else if (flag == "--rounds")
      settings.rounds = std::stoi(argv[i + 1]);
    else {
      std::fprintf(stderr, "usage: store_bench [--dir FOLDER] [--seconds S] [--rounds N]\n");
      return 2;
    }
  }
  sublet::store::print_creates(settings);
  sublet::store::print_state(settings);
  sublet::store::print_compaction(settings);
}
