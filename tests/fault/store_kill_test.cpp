// kill -9 under concurrent writes, again and again on one file: every acknowledged write is there afterwards, and a
// watch resumed by revision misses no event and repeats none.
//
// usage: store_kill_test [--cycles N] [--folder FOLDER]
// The parent runs itself as a child that opens the store and writes from several threads; the child tells of every
// acknowledgement and of every event that its watch delivered through a pipe (what is in a pipe survives the writer).
// The parent kills it after a random number of lines, opens the store itself and compares.
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <map>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "store/store_testing.h"
#include "sublet/store/sqlite_log.h"
#include "sublet/store/store.h"

namespace sublet::store {
namespace {

constexpr int kWriters = 4;

std::unique_ptr<Store> open_or_die(const std::string& path) {
  auto log = open_sqlite_log({path});
  if (log) {
    StoreOptions options;
    options.compact_step_rows = 32;
    if (auto store = Store::open(std::move(*log), options))
      return std::move(*store);
    else
      std::fprintf(stderr, "%s\n", store.error().message.c_str());
  } else {
    std::fprintf(stderr, "%s\n", log.error().message.c_str());
  }
  std::_Exit(3);
}

// --- the child ---

/// One line, one write: at most PIPE_BUF bytes, so lines never mix.
void tell(char what, Revision revision, const std::string& key, bool deleted, const std::string& value) {
  const std::string line =
      std::string(1, what) + " " + std::to_string(revision) + " " + key + " " + (deleted ? "-" : value) + "\n";
  if (::write(STDOUT_FILENO, line.data(), line.size()) < 0) std::_Exit(4);
}

class Teller final : public Watcher {
 public:
  void on_events(const std::vector<EventPtr>& events) override {
    for (const EventPtr& event : events)
      tell('E', event->revision, event->object->key, event->type == Event::Type::deleted, event->object->bytes);
  }
  void on_progress(Revision) override {}
};

void write_for_ever(Store& store, unsigned seed, int writer) {
  std::mt19937 random(seed);
  for (;;) {
    const std::string key = "k/" + std::to_string(random() % 50);
    const ObjectPtr there = store.pending().get(key);
    const std::string value =
        std::to_string(writer) + "." + std::to_string(random()) + std::string(random() % 900, 'v');
    const bool remove = there && random() % 4 == 0;
    auto committed = store.commit(remove  ? testing_support::remove(key, there->revision)
                                  : there ? testing_support::update(key, there->revision, value)
                                          : testing_support::create(key, value));
    if (committed)
      tell('A', committed->revisions[0], key, remove, value);
    else if (committed.error().reason != Reason::conflict)
      std::_Exit(5);
    if (writer == 0 && random() % 50 == 0) (void)store.compact(store.snapshot().revision() - 100);
  }
}

[[noreturn]] void run_child(const std::string& path, unsigned seed) {
  auto store = open_or_die(path);
  const auto watching = *store->watch("", store->snapshot().revision(), std::make_shared<Teller>());
  std::vector<std::thread> writers;
  for (int i = 0; i < kWriters; ++i)
    writers.emplace_back([&, i] { write_for_ever(*store, seed * kWriters + static_cast<unsigned>(i), i); });
  for (std::thread& writer : writers) writer.join();
  std::_Exit(0);
}

// --- the parent ---

struct Fact {
  std::string key, value;  // "-": deleted
  bool operator==(const Fact&) const = default;
};
using Facts = std::map<Revision, Fact>;

/// Reads the child's lines; kills it after `lines` of them, and reads what is left in the pipe.
Facts run_and_kill(const std::string& self, const std::string& path, unsigned seed, int lines, bool& broken) {
  int pipe_ends[2];
  if (::pipe2(pipe_ends, O_CLOEXEC) != 0) std::_Exit(6);
  const pid_t child = ::fork();
  if (child == 0) {
    ::dup2(pipe_ends[1], STDOUT_FILENO);
    ::execl(self.c_str(), self.c_str(), "--child", path.c_str(), std::to_string(seed).c_str(), nullptr);
    std::_Exit(7);
  }
  ::close(pipe_ends[1]);
  FILE* in = ::fdopen(pipe_ends[0], "r");
  Facts facts;
  char line[2048], what = 0, key[64], value[1100];
  long long revision = 0;
  while (std::fgets(line, sizeof(line), in) != nullptr) {
    if (std::sscanf(line, "%c %lld %63s %1099s", &what, &revision, key, value) != 4) break;
    const auto [known, added] = facts.insert({revision, {key, value}});
    if (!added && known->second != Fact{key, value}) broken = true;
    if (--lines == 0) ::kill(child, SIGKILL);
  }
  std::fclose(in);
  int status = 0;
  ::waitpid(child, &status, 0);
  if (!WIFSIGNALED(status)) broken = true;  // it stopped by itself: it says why on stderr
  return facts;
}

class Judge {
 public:
  /// Opens the store and holds it against what the child told and against what earlier cycles saw.
  std::string check(const std::string& path, const Facts& told) {
    auto store = open_or_die(path);
    const Revision floor = store->compacted(), last = store->snapshot().revision();
    if (last < seen_) return "the store went back from " + std::to_string(seen_) + " to " + std::to_string(last);
    const Facts resumed = events_after(*store, std::max(seen_, floor));
    const Facts all = events_after(*store, floor);
    for (const auto& [revision, fact] : told) {
      ++acknowledged_;
      if (std::string problem = find(*store, all, floor, revision, fact); !problem.empty()) return problem;
      if (revision > std::max(seen_, floor) && !resumed.contains(revision))
        return "the resumed watch missed " + std::to_string(revision);
    }
    for (const auto& [revision, fact] : resumed)
      if (revision <= seen_) return "the resumed watch repeated " + std::to_string(revision);
    for (const auto& [revision, fact] : known_)
      if (revision > floor && (!all.contains(revision) || all.at(revision) != fact))
        return "history changed at " + std::to_string(revision);
    known_ = all;
    seen_ = last;
    return {};
  }
  std::size_t acknowledged() const { return acknowledged_; }

 private:
  static Facts events_after(Store& store, Revision from) {
    auto recorder = std::make_shared<testing_support::Recorder>();
    auto watch = store.watch("", from, recorder);
    Facts out;
    for (const EventPtr& event : recorder->events())
      out.insert(
          {event->revision, {event->object->key, event->type == Event::Type::deleted ? "-" : event->object->bytes}});
    return out;
  }
  static std::string find(Store& store, const Facts& all, Revision floor, Revision revision, const Fact& fact) {
    const std::string name = "acknowledged write " + std::to_string(revision) + " of " + fact.key;
    if (revision > floor) {
      const auto found = all.find(revision);
      return found == all.end() ? name + " is lost" : found->second != fact ? name + " differs" : "";
    }
    // Compacted: it is current, or something newer is.
    const ObjectPtr now = store.snapshot().get(fact.key);
    if (now && now->revision == revision && now->bytes != fact.value) return name + " differs";
    return now && now->revision < revision ? name + " is lost" : "";
  }

  Revision seen_ = 0;
  Facts known_;
  std::size_t acknowledged_ = 0;
};

int run(const std::string& self, const std::string& folder, int cycles) {
  const std::string path = folder + "/state.db";
  Judge judge;
  std::mt19937 random(20261121);
  for (int cycle = 1; cycle <= cycles; ++cycle) {
    bool broken = false;
    const int lines = 1 + static_cast<int>(random() % 400);
    const Facts told = run_and_kill(self, path, random(), lines, broken);
    std::string problem = broken ? "the child failed or contradicted itself" : judge.check(path, told);
    if (!problem.empty()) {
      std::fprintf(stderr, "cycle %d: %s\n", cycle, problem.c_str());
      return 1;
    }
  }
  std::printf("%d cycles, %zu acknowledged writes and delivered events, none lost\n", cycles, judge.acknowledged());
  return 0;
}

}  // namespace
}  // namespace sublet::store

int main(int argc, char** argv) {
  if (argc == 4 && std::strcmp(argv[1], "--child") == 0)
    sublet::store::run_child(argv[2], static_cast<unsigned>(std::stoul(argv[3])));
  int cycles = 20;
  const sublet::store::testing_support::TempFolder temporary;
  std::string folder = temporary.path();
  for (int i = 1; i + 1 < argc; i += 2) {
    if (std::strcmp(argv[i], "--cycles") == 0)
      cycles = std::stoi(argv[i + 1]);
    else if (std::strcmp(argv[i], "--folder") == 0)
      folder = argv[i + 1];
    else {
      std::fprintf(stderr, "usage: store_kill_test [--cycles N] [--folder FOLDER]\n");
      return 2;
    }
  }
  return sublet::store::run(std::filesystem::canonical("/proc/self/exe").string(), folder, cycles);
}
