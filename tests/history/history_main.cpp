// sublet_history: real clients and watchers of a real `subletd apiserver` whose life and disk are hard; then everything
// that they were told is checked. Prints what was done and what was found; exit code 1 when anything was.
//
// usage: sublet_history --server SUBLETD [flags], see kUsage. Every run has a fresh seed unless --seed names one; it is
// printed, and decides what is asked and when faults come (threads and the kernel decide the rest).
#include <signal.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "sublet/base/mutex.h"
#include "tests/history/linearizability.h"
#include "tests/history/object_text.h"
#include "tests/history/server_process.h"
#include "tests/history/watchers.h"
#include "tests/history/workload.h"

namespace sublet::history {
namespace {

constexpr char kUsage[] =
    "usage: sublet_history --server SUBLETD [--disk-faults LIBRARY] [--seed N] [--clients N] [--keys N]\n"
    "         [--operations N] [--burst N] [--flood N] [--kills N] [--faults N] [--watchers N] [--resumes N] [--folder "
    "FOLDER]\n"
    "--operations of all kinds, then --burst writes only; spread over them --kills (kill -9) and --faults of the disk\n"
    "(full, a failing sync, a failing write, slow, in turn); then --flood patches at once, undisturbed; --resumes: "
    "bookmarks to resume from at most, 0: every "
    "one.\n";

constexpr std::uint16_t kMarkerKey = 9999;
constexpr std::size_t kTriesMax = 50'000'000;
constexpr std::size_t kToldMax = 5;  // findings of one property
constexpr int kResumers = 4;
constexpr std::chrono::milliseconds kProgressPoll{5};

struct Settings {
  std::string server, disk_faults, folder;
  unsigned seed = std::random_device()();
  WorkloadOptions load{.operations = 3000, .burst = 1000};
  int kills = 3, faults = 4, watchers = 10;
  long resumes = 20;
};

// --- what goes wrong ---

enum class Fault { kill, full, failing_sync, failing_write, slow };

/// The faults of a run, evenly spread: at how many calls which comes.
std::vector<std::pair<long, Fault>> plan(const Settings& settings, std::mt19937& random) {
  static constexpr Fault kDiskFaults[] = {Fault::slow, Fault::full, Fault::failing_sync, Fault::failing_write};
  std::vector<Fault> faults(static_cast<std::size_t>(settings.kills), Fault::kill);
  for (int i = 0; i < settings.faults && !settings.disk_faults.empty(); ++i) faults.push_back(kDiskFaults[i % 4]);
  std::shuffle(faults.begin(), faults.end(), random);
  const long total = settings.load.operations + settings.load.burst;
  const long step = total / static_cast<long>(faults.size() + 1);
  std::vector<std::pair<long, Fault>> out;
  for (std::size_t i = 0; i < faults.size(); ++i)
    out.emplace_back(
        step * static_cast<long>(i + 1) - static_cast<long>(random() % static_cast<unsigned>(step / 2 + 1)), faults[i]);
  return out;
}

class Nemesis {
 public:
  Nemesis(ServerProcess& server, Workload& load, std::vector<std::pair<long, Fault>> plan, std::mt19937& random)
      : server_(server), load_(load), plan_(std::move(plan)), random_(random) {}

  /// Until the clients are done.
  void run() {
    while (load_.done() < load_.total()) {
      std::this_thread::sleep_for(kProgressPoll);
      if (server_.ended()) {
        ++ended_;
        server_.start();
      }
      if (load_.done() >= load_.troubled()) at_ = plan_.size();
      if (at_ < plan_.size() && load_.done() >= plan_[at_].first) strike(plan_[at_++].second);
      if (lasting_until_ != 0 && now() >= lasting_until_) calm();
    }
    calm();
  }
  int kills() const { return kills_; }
  int ended() const { return ended_; }

 private:
  void strike(Fault fault) {
    DiskFaults& disk = server_.disk();
    switch (fault) {
      case Fault::kill:
        ++kills_;
        server_.kill();
        calm();
        server_.start();
        return;
      case Fault::full:
        disk.full_per_mille = 200 + random_() % 800;
        break;
      case Fault::slow:
        disk.slow_us = 20'000;
        break;
      case Fault::failing_sync:
        disk.failing_syncs = 1 + static_cast<int>(random_() % 3);
        return;
      case Fault::failing_write:
        disk.failing_writes = 1 + static_cast<int>(random_() % 3);
        return;
    }
    lasting_until_ = now() + 300'000'000;
  }
  void calm() {
    server_.heal_disk();
    lasting_until_ = 0;
  }

  ServerProcess& server_;
  Workload& load_;
  std::vector<std::pair<long, Fault>> plan_;
  std::mt19937& random_;
  std::size_t at_ = 0;
  Moment lasting_until_ = 0;
  int kills_ = 0, ended_ = 0;
};

// --- what was found ---

class Findings {
 public:
  void add(const std::string& property, std::string text) {
    auto& told = texts_[property];
    if (told.size() < kToldMax) told.push_back(std::move(text));
    ++counts_[property];
  }
  void add(const std::vector<Violation>& violations) {
    for (const Violation& violation : violations) add(violation.property, violation.text);
  }
  void print() const {
    for (const auto& [property, count] : counts_) {
      std::printf("VIOLATION %s: %ld\n", property.c_str(), count);
      for (const std::string& text : texts_.at(property)) std::printf("  %s\n", text.c_str());
    }
  }
  long count() const {
    long sum = 0;
    for (const auto& [property, count] : counts_) sum += count;
    return sum;
  }

 private:
  std::map<std::string, std::vector<std::string>> texts_;
  std::map<std::string, long> counts_;
};

std::string tell(const LinearizabilityCheck<ObjectModel>& check, const Finding& finding) {
  const auto& calls = check.calls();
  const Moment zero = calls.front().called;
  const auto line = [&](std::size_t i) {
    const auto& timed = calls[i];
    const std::string end = timed.answered == kNever ? "never" : std::to_string((timed.answered - zero) / 1000);
    return "\n    " + std::to_string((timed.called - zero) / 1000) + ".." + end + " us " + describe(timed.call);
  };
  std::string text = "no order fits; the longest (" + std::to_string(finding.longest.size()) + " of " +
                     std::to_string(calls.size()) + " calls) ends with";
  const std::size_t begin = finding.longest.size() - std::min<std::size_t>(finding.longest.size(), 6);
  for (std::size_t i = begin; i < finding.longest.size(); ++i) text += line(finding.longest[i]);
  return text + "\n  and has no place for" + line(finding.stuck);
}

void check_histories(const std::vector<Timed<ObjectCall>>& calls, Findings& findings) {
  std::map<std::uint16_t, std::vector<Timed<ObjectCall>>> by_key;
  for (const auto& timed : calls) by_key[timed.call.key].push_back(timed);
  for (auto& [key, of_key] : by_key) {
    LinearizabilityCheck<ObjectModel> check(std::move(of_key), kTriesMax);
    const Finding finding = check.run({});
    if (finding.verdict == Verdict::violation)
      findings.add("linearizable", "key " + std::to_string(key) + ": " + tell(check, finding));
    if (finding.verdict == Verdict::undecided)
      findings.add("undecided", "key " + std::to_string(key) + " after " + std::to_string(finding.tried) + " tries");
  }
}

/// Every bookmark that any watcher got, with its watcher's selection.
std::vector<std::pair<Selection, Version>> bookmarks_of(const std::vector<Stream>& streams) {
  std::vector<std::pair<Selection, Version>> out;
  for (const Stream& stream : streams)
    for (const StreamItem& item : stream.items)
      if (item.kind != StreamItem::Kind::event) out.emplace_back(stream.selection, item.event.version);
  return out;
}

struct Resumed {
  std::size_t all = 0, expired = 0;  // those that a full disk has put out of the history
};

/// Resumes from each.
Resumed resume(ServerProcess& server, WatchCheck& check, std::vector<std::pair<Selection, Version>> bookmarks,
               long most, std::mt19937& random, Findings& findings) {
  if (most > 0 && bookmarks.size() > static_cast<std::size_t>(most)) {
    std::shuffle(bookmarks.begin(), bookmarks.end(), random);
    bookmarks.resize(static_cast<std::size_t>(most));
  }
  std::atomic<std::size_t> next{0}, expired{0};
  Mutex mutex;
  const auto work = [&] {
    for (std::size_t i = 0; (i = next++) < bookmarks.size();) {
      const auto& [selection, from] = bookmarks[i];
      Version until = 0;
      {
        const MutexLock lock(mutex);
        until = check.last_of(selection);
      }
      if (until <= from) continue;
      std::string problem;
      const Stream stream = read_watch(server, selection, from, until, problem);
      if (kept_from(problem) > 0 && server.disk().refused_writes > 0) {
        ++expired;
        continue;
      }
      const MutexLock lock(mutex);
      if (!problem.empty()) findings.add("problem", problem);
      findings.add(check.check(stream));
    }
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < kResumers; ++i) threads.emplace_back(work);
  for (std::thread& thread : threads) thread.join();
  return {bookmarks.size(), expired};
}

/// What a server that was built with a sanitizer had to say, in any of its lives.
void check_server_log(const std::string& path, Findings& findings) {
  std::ifstream log(path);
  for (std::string line; std::getline(log, line);)
    for (const char* mark :
         {"ERROR: AddressSanitizer", "ERROR: LeakSanitizer", "WARNING: ThreadSanitizer", "runtime error:"})
      if (line.find(mark) != std::string::npos) findings.add("sanitizer", line);
}

// --- the run ---

/// Makes the namespace; the version from which everything is watched.
Version prepare(ServerProcess& server) {
  HttpPeer peer(server.tls());
  const auto made = peer.call({.method = "POST",
                               .path = "/api/v1/namespaces",
                               .body = R"({"apiVersion":"v1","kind":"Namespace","metadata":{"name":"history"}})"});
  if (made.status != 201) {
    std::fprintf(stderr, "history: the namespace was answered %d: %s\n", made.status, made.body.c_str());
    std::exit(1);
  }
  return read_version(made.body);
}

Version version_of_marker(const std::vector<Timed<ObjectCall>>& calls) {
  for (const auto& timed : calls)
    if (timed.call.key == kMarkerKey) return timed.call.version;
  return 0;
}

void print_counts(const Record& record, const ServerProcess& server, const Nemesis& nemesis, DiskFaults& disk) {
  std::printf(
      "calls: %ld GET, %ld POST, %ld PUT, %ld PATCH, %ld DELETE, %ld LIST; %ld writes of unknown outcome, %ld reads "
      "cut "
      "off, %zu refused\n",
      record.asked[0], record.asked[1], record.asked[2], record.asked[3], record.asked[4], record.asked[5],
      record.unknown, record.failed_reads, record.refused.size());
  if (record.flood_events > 0)
    std::printf("flood: %ld events at once, in %.1f s\n", record.flood_events,
                static_cast<double>(record.flood_end - record.flood_begin) * 1e-9);
  std::printf(
      "lives: %d; %d killed, %d ended themselves; disk: %ld writes found no space, %ld calls failed, %ld syncs were "
      "slow\n",
      server.lives(), nemesis.kills(), nemesis.ended(), static_cast<long>(disk.refused_writes.load()),
      static_cast<long>(disk.failed_calls.load()), static_cast<long>(disk.slow_syncs.load()));
}

int run(const Settings& settings, const std::string& folder) {
  std::printf("seed %u, %d clients, %d keys\n", settings.seed, settings.load.clients, settings.load.keys);
  std::fflush(stdout);
  std::mt19937 random(settings.seed);
  ServerProcess server(settings.server, settings.disk_faults, folder);
  server.start();
  const Version begin = prepare(server);
  Watchers watchers(server, settings.watchers, begin, settings.seed);
  Workload load(server, settings.load);
  watchers.run();
  load.run();
  Nemesis nemesis(server, load, plan(settings, random), random);
  nemesis.run();
  load.join();
  // What is read from here on is what is durable.
  if (!server.ended()) server.kill();
  server.start();
  load.mark_end(kMarkerKey);
  Record record = load.record();

  Findings findings;
  for (const std::string& problem : record.problems) findings.add("problem", problem);
  std::string problem;
  const EventLog log = watchers.read_log(version_of_marker(record.calls), problem);
  if (!problem.empty()) {
    std::printf("VIOLATION problem: %s\n", problem.c_str());  // all else would only follow from it
    return 1;
  }
  WatchCheck check(log);
  findings.add(watchers.finish(check));
  for (const std::string& text : watchers.problems()) findings.add("problem", text);
  if (watchers.expired() > 0 && server.disk().refused_writes == 0)
    findings.add("problem", "watchers fell out of a history that nothing has cut short");

  print_counts(record, server, nemesis, server.disk());
  std::fflush(stdout);
  check_histories(resolve(log, record.calls), findings);
  findings.add(check_answers(log, record.calls, record.refused));
  const std::vector<Stream> streams = watchers.streams();
  long items = 0;
  for (const Stream& stream : streams) {
    findings.add(check.check(stream));
    items += static_cast<long>(stream.items.size());
  }
  const auto bookmarks = bookmarks_of(streams);
  const Resumed resumed = resume(server, check, bookmarks, settings.resumes, random, findings);
  std::printf(
      "checked: %zu calls, %zu lists, %zu events, %zu streams of %d watchers with %ld items, %zu of %zu bookmarks "
      "resumed from\n",
      record.calls.size(), record.lists.size(), log.size(), streams.size(), settings.watchers, items,
      resumed.all - resumed.expired, bookmarks.size());
  if (watchers.expired() > 0 || resumed.expired > 0)
    std::printf("a full disk cut the history short: %ld times a watcher was told so, and %zu bookmarks are older\n",
                watchers.expired(), resumed.expired);
  findings.add(check_lists(log, std::move(record.lists)));
  server.give_up();
  server.stop();
  check_server_log(server.log_path(), findings);
  findings.print();
  std::printf("%ld violations\n", findings.count());
  return findings.count() == 0 ? 0 : 1;
}

bool take_flag(Settings& settings, const std::string& name, const std::string& value) {
  const auto number = [&value] { return std::atol(value.c_str()); };
  if (name == "--server")
    settings.server = value;
  else if (name == "--disk-faults")
    settings.disk_faults = value;
  else if (name == "--folder")
    settings.folder = value;
  else if (name == "--seed")
    settings.seed = static_cast<unsigned>(number());
  else if (name == "--clients")
    settings.load.clients = static_cast<int>(number());
  else if (name == "--keys")
    settings.load.keys = static_cast<std::uint16_t>(number());
  else if (name == "--operations")
    settings.load.operations = number();
  else if (name == "--burst")
    settings.load.burst = number();
  else if (name == "--flood")
    settings.load.flood = number();
  else if (name == "--kills")
    settings.kills = static_cast<int>(number());
  else if (name == "--faults")
    settings.faults = static_cast<int>(number());
  else if (name == "--watchers")
    settings.watchers = static_cast<int>(number());
  else if (name == "--resumes")
    settings.resumes = number();
  else
    return false;
  return true;
}

}  // namespace
}  // namespace sublet::history

int main(int argc, char** argv) {
  using namespace sublet::history;
  ::signal(SIGPIPE, SIG_IGN);
  Settings settings;
  for (int i = 1; i < argc; i += 2) {
    if (i + 1 == argc || !take_flag(settings, argv[i], argv[i + 1])) {
      std::fputs(kUsage, stderr);
      return 2;
    }
  }
  if (settings.server.empty()) {
    std::fputs(kUsage, stderr);
    return 2;
  }
  settings.load.seed = settings.seed;
  const bool keep = !settings.folder.empty();
  std::string folder = keep ? settings.folder : "/tmp/sublet-history-XXXXXX";
  if (!keep && ::mkdtemp(folder.data()) == nullptr) return 2;
  if (keep) std::filesystem::create_directories(folder);
  const int code = run(settings, std::filesystem::absolute(folder).string());
  if (!keep) std::filesystem::remove_all(folder);
  return code;
}
