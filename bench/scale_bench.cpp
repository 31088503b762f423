// scale_bench: one store with very many objects beside one with few: memory, start, and whether anyone notices it.
//
// usage: scale_bench [--dir FOLDER] [--objects N] [--few N] [--bytes N] [--seconds S] [--keep 1]
//        scale_bench --open FOLDER        (how long the store there takes to open, and its memory: a process of its
//        own)
// Objects are ConfigMaps whose stored form has --bytes bytes (1,024), written in whole batches. Then 16 writers create
// for
// --seconds: quietly, while a long history is compacted, and while a backup reads everything (the latest snapshot,
// object by object, its text with the revision filled in), in turns with the store that holds few. Readers GET beside
// them. In the end it holds --objects again, and is opened. --keep leaves the file FOLDER/state.db for a server to
// serve.
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "bench/own_usage.h"
#include "sublet/base/mutex.h"
#include "sublet/store/sqlite_log.h"
#include "sublet/store/store.h"

namespace sublet::store {
namespace {

using namespace bench;

constexpr int kWriters = 16;
constexpr int kOutstanding = 2048;  // while filling
constexpr int kGarbage = 40'000;    // rows that compaction has to remove
constexpr int kRounds = 3;
constexpr std::chrono::microseconds kBetweenGets{500};

struct Settings {
  std::string folder = std::filesystem::temp_directory_path().string() + "/sublet-scale";
  long objects = 1'000'000, few = 10'000, bytes = 1024;
  double seconds = 2;
  bool keep = false;
};

std::string uid_of(std::uint64_t n) {
  char text[40];
  std::snprintf(text, sizeof text, "%08lx-8f1d-4ae1-9e2e-%012lx", n * 2654435761u % 0xffffffffu, n);
  return text;
}

/// As the API server would hand it in, `bytes` long.
Put config_map(const std::string& name, std::uint64_t n, long bytes) {
  Put put;
  put.index.uid = uid_of(n);
  put.bytes = R"({"metadata":{"name":")" + name + R"(","namespace":"default","uid":")" + put.index.uid +
              R"(","resourceVersion":")";
  put.hole = static_cast<std::uint32_t>(put.bytes.size());
  put.bytes += R"(","creationTimestamp":"2026-11-21T09:41:37Z"},"data":{"payload":")";
  // Not all alike: a memory or a file that finds repetitions would flatter itself.
  std::minstd_rand random(static_cast<unsigned>(n) + 1);
  while (static_cast<long>(put.bytes.size()) + 3 < bytes) put.bytes += static_cast<char>('a' + (random() >> 8) % 26);
  put.bytes += "\"}}";
  put.bytes.shrink_to_fit();
  return put;
}
std::string name_of(std::uint64_t n) { return "cm-" + std::to_string(n * 2654435761u % 1000000007u); }
std::string key_of(const std::string& name) { return "configmaps/default/" + name; }

std::unique_ptr<Store> open_store(const std::string& path) {
  auto log = open_sqlite_log({path});
  if (log) {
    // History is kept until compact() is called, so that compaction comes when it is measured.
    StoreOptions options;
    options.compact_interval = std::chrono::hours(24);
    auto store = Store::open(std::move(*log), options);
    if (store) return std::move(*store);
    std::fprintf(stderr, "scale_bench: %s\n", store.error().message.c_str());
  } else {
    std::fprintf(stderr, "scale_bench: %s\n", log.error().message.c_str());
  }
  std::exit(1);
}

/// A store that is filled, and asked what it costs to write to it.
class Subject {
 public:
  Subject(const std::string& folder, const Settings& settings) : settings_(settings), path_(folder + "/state.db") {
    std::filesystem::create_directories(folder);
    for (const char* suffix : {"", "-wal", "-lock", "-reserve"}) std::filesystem::remove(path_ + suffix);
    store_ = open_store(path_);
  }

  double fill(long objects) {
    const double begin = now_seconds();
    Mutex mutex;
    CondVar less;
    long outstanding = 0;
    for (long i = 0; i < objects; ++i) {
      const std::uint64_t n = next_++;
      const std::string name = name_of(n);
      {
        MutexLock lock(mutex);
        less.wait(lock, [&] { return outstanding < kOutstanding; });
        ++outstanding;
      }
      store_->submit(Txn{{}, {{key_of(name), config_map(name, n, settings_.bytes)}}}, [&](const auto& result) {
        if (!result) std::abort();
        const MutexLock lock(mutex);
        --outstanding;
        less.notify_one();
      });
    }
    MutexLock lock(mutex);
    less.wait(lock, [&] { return outstanding == 0; });
    return static_cast<double>(objects) / (now_seconds() - begin);
  }

  /// Updates of few objects: rows that compaction will remove.
  void churn() {
    for (int i = 0; i < kGarbage; ++i) {
      const auto n = static_cast<std::uint64_t>(i % 1000);
      const std::string name = name_of(n);
      store_->submit(Txn{{}, {{key_of(name), config_map(name, n, settings_.bytes)}}}, [](const auto&) {});
    }
    (void)store_->commit({});
  }

  /// Adds the latencies of creates, and of GETs beside them, for as long as `busy` holds and `seconds` at least.
  void measure(double seconds, const std::atomic<bool>& busy) {
    const double end = now_seconds() + seconds;
    const auto going = [&] { return now_seconds() < end || busy; };
    std::vector<std::thread> writers;
    Mutex mutex;
    for (int w = 0; w < kWriters; ++w)
      writers.emplace_back([&] {
        std::vector<double> mine;
        while (going()) {
          const std::uint64_t n = next_++;
          const std::string name = name_of(n);
          Put put = config_map(name, n, settings_.bytes);
          const double start = now_seconds();
          if (!store_->commit(Txn{{{key_of(name), 0}}, {{key_of(name), std::move(put)}}})) std::abort();
          mine.push_back(now_seconds() - start);
        }
        const MutexLock lock(mutex);
        creates_.insert(creates_.end(), mine.begin(), mine.end());
      });
    std::minstd_rand random(7);
    while (going()) {
      const std::string key = key_of(name_of(random() % next_.load()));
      const double start = now_seconds();
      const ObjectPtr found = store_->snapshot().get(key);
      gets_.push_back(now_seconds() - start);
      std::this_thread::sleep_for(kBetweenGets);
    }
    for (std::thread& writer : writers) writer.join();
  }

  /// Back to so many objects: what measuring has added goes.
  void trim(long objects) {
    for (auto n = static_cast<std::uint64_t>(objects); n < next_; ++n)
      store_->submit(Txn{{}, {{key_of(name_of(n)), std::nullopt}}}, [](const auto&) {});
    (void)store_->commit({});
  }

  double backup() {
    const double begin = now_seconds();
    std::ofstream out("/dev/null", std::ios::binary);
    std::string text;
    store_->snapshot().scan("", "", [&](const ObjectPtr& object) {
      object->append_json(text);
      if (text.size() > 1 << 20) {
        out << text;
        text.clear();
      }
      return true;
    });
    return now_seconds() - begin;
  }
  double compact() {
    const double begin = now_seconds();
    if (!store_->compact(store_->snapshot().revision())) std::abort();
    return now_seconds() - begin;
  }

  void print(const char* what) {
    std::printf("| %s | %zu | %.2f | %.2f | %.1f | %.1f |\n", what, creates_.size(), percentile(creates_, 0.5) * 1e3,
                percentile(creates_, 0.99) * 1e3, percentile(gets_, 0.5) * 1e6, percentile(gets_, 0.99) * 1e6);
    std::fflush(stdout);
    creates_.clear();
    gets_.clear();
  }

  double close() {
    const double begin = now_seconds();
    store_.reset();
    return now_seconds() - begin;
  }

 private:
  const Settings& settings_;
  const std::string path_;
  std::unique_ptr<Store> store_;
  std::atomic<std::uint64_t> next_{0};
  std::vector<double> creates_, gets_;
};

int measure_open(const std::string& folder) {
  const double begin = now_seconds();
  const auto store = open_store(folder + "/state.db");
  const double took = now_seconds() - begin, user = cpu_seconds(), memory = pss_mib();
  const StoreStats stats = store->stats();
  std::printf("| open and replay of %zu objects and %zu events | %.2f s, processor %.2f s |\n", stats.objects,
              stats.history_events, took, user);
  std::printf("| memory after it, PSS | %.0f MiB: %.3f GiB per million |\n", memory,
              memory / 1024 / static_cast<double>(stats.objects) * 1e6);
  return 0;
}

int run(const Settings& settings, const char* self) {
  const std::atomic<bool> no{false};
  Subject few(settings.folder + "/few", settings), many(settings.folder, settings);
  few.fill(settings.few);
  const double before = pss_mib();
  const double rate = many.fill(settings.objects);
  std::printf(
      "| | |\n|---|---|\n| filled with %ld objects of %ld bytes | %.0f/s |\n| memory added, PSS, with history | %.0f "
      "MiB |\n\n",
      settings.objects, settings.bytes, rate, pss_mib() - before);
  std::printf("| 16 writers | creates | p50, ms | p99, ms | GET p50, us | p99, us |\n|---|---|---|---|---|---|\n");
  for (int round = 0; round < kRounds; ++round) {
    few.measure(settings.seconds / kRounds, no);
    many.measure(settings.seconds / kRounds, no);
  }
  few.print("few objects");
  many.print("many objects");
  const auto beside = [&](Subject& subject, const char* what, auto work) {
    std::atomic<bool> busy{true};
    double took = 0;
    std::thread worker([&] {
      took = work();
      busy = false;
    });
    subject.measure(0, busy);
    worker.join();
    subject.print((std::string(what) + ", " + std::to_string(static_cast<long>(took * 1e3)) + " ms").c_str());
  };
  few.churn();
  beside(few, "few, while 40,000 rows are compacted", [&] { return few.compact(); });
  many.churn();
  beside(many, "many, while 40,000 rows are compacted", [&] { return many.compact(); });
  beside(many, "many, while a backup reads everything", [&] { return many.backup(); });
  many.trim(settings.objects);
  many.compact();  // so that what is opened has no history, as after five quiet minutes
  std::printf("\n| | |\n|---|---|\n| close | %.2f s |\n", many.close());
  few.close();
  std::fflush(stdout);
  const std::string again = std::string(self) + " --open " + settings.folder;
  const int code = std::system(again.c_str());
  std::printf("| file | %.0f MiB |\n",
              static_cast<double>(std::filesystem::file_size(settings.folder + "/state.db")) / (1 << 20));
  std::filesystem::remove_all(settings.folder + "/few");
  if (!settings.keep) std::filesystem::remove_all(settings.folder);
  return code == 0 ? 0 : 1;
}

}  // namespace
}  // namespace sublet::store

int main(int argc, char** argv) {
  sublet::store::Settings settings;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string flag = argv[i], value = argv[i + 1];
    if (flag == "--open") return sublet::store::measure_open(value);
    if (flag == "--dir")
      settings.folder = value;
    else if (flag == "--objects")
      settings.objects = std::stol(value);
    else if (flag == "--few")
      settings.few = std::stol(value);
    else if (flag == "--bytes")
      settings.bytes = std::stol(value);
    else if (flag == "--seconds")
      settings.seconds = std::stod(value);
    else if (flag == "--keep")
      settings.keep = value == "1";
    else {
      std::fprintf(stderr,
                   "usage: scale_bench [--dir FOLDER] [--objects N] [--few N] [--bytes N] [--seconds S] [--keep 1]\n");
      return 2;
    }
  }
  return sublet::store::run(settings, argv[0]);
}
