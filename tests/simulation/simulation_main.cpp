// sublet_simulation: runs seeds, each from the beginning to its end, in several processes, and says what it found.
//
//   --seeds A..B     these (default 0..999); --minutes M: from a fresh one on, as long as that
//   --jobs N         processes (default: one a core)
//   --replay SEED    one, with everything that happened, twice: both must be the same to the last line;
//                    --crash-before N or --crash-after N: with a crash at that write more
//   --every-write SEED  that one again and again, each time with a crash more: before and after each of its writes in
//   turn
//   --mutant NAME    the syncer with that fault built in (tests/simulation/mutants.toml): passes when a seed fails
// Exit code 1: something was found, or a fault never fired in 40 seeds or more.
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "sublet/base/log.h"
#include "sublet/base/random.h"
#include "tests/simulation/run.h"

namespace sublet::simulation {
namespace {

using Steady = std::chrono::steady_clock;
constexpr std::uint64_t kEnoughSeeds = 40;  // that every fault must have fired

struct Settings {
  std::uint64_t first = 0, last = 999;
  double minutes = 0;  // 0: first..last
  unsigned jobs = std::max(1u, std::thread::hardware_concurrency());
  std::optional<std::uint64_t> replay, every_write;
  std::uint64_t crash_before = 0, crash_after = 0;
  std::string mutant;
  bool must_fail = false;
};

/// What one process tells another of a run, on a line: numbers, then the violations.
std::string to_line(const RunResult& run) {
  std::ostringstream out;
  out << run.seed << ' ' << run.trace_digest << ' ' << std::hash<std::string>()(run.end) << ' ' << run.waits_for_others
      << ' ' << run.steps << ' ' << run.writes << ' ' << run.lives << ' ' << run.simulated_seconds;
  for (const std::uint64_t fired : run.tally.fired) out << ' ' << fired;
  for (const std::string& violation : run.violations) out << '\t' << violation;
  out << '\n';
  return out.str();
}

struct Told {
  std::uint64_t seed = 0, trace_digest = 0, end = 0, steps = 0, writes = 0, lives = 0;
  bool waits_for_others = false;
  double simulated_seconds = 0;
  Tally tally;
  std::vector<std::string> violations;
};

Told from_line(const std::string& line) {
  Told told;
  std::istringstream in(line);
  in >> told.seed >> told.trace_digest >> told.end >> told.waits_for_others >> told.steps >> told.writes >>
      told.lives >> told.simulated_seconds;
  for (std::uint64_t& fired : told.tally.fired) in >> fired;
  std::string violation;
  std::getline(in, violation, '\t');
  while (std::getline(in, violation, '\t')) told.violations.push_back(violation);
  return told;
}

void write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = ::write(fd, text.data(), text.size());
    if (n <= 0) std::_Exit(1);  // nobody listens any more
    text.remove_prefix(static_cast<std::size_t>(n));
  }
}

/// A process that runs every `jobs`-th group of seeds. It says which seed it begins, so that a crash has a name.
struct Worker {
  pid_t pid = 0;
  int fd = -1;
  std::string unread;
  std::uint64_t running = 0;
};

[[noreturn]] void work(const Settings& settings, unsigned job, int fd) {
  const auto until = Steady::now() + std::chrono::duration<double>(settings.minutes * 60);
  const std::uint64_t first_group = settings.first / kSeedsPerScript;
  for (std::uint64_t seed = settings.first; settings.minutes > 0 ? Steady::now() < until : seed <= settings.last;
       ++seed) {
    if ((seed / kSeedsPerScript - first_group) % settings.jobs != job) continue;
    write_all(fd, "begin " + std::to_string(seed) + "\n");
    write_all(fd, to_line(run(seed)));
  }
  std::_Exit(0);
}

Worker hire(const Settings& settings, unsigned job) {
  int ends[2];
  if (::pipe(ends) != 0) std::abort();
  const pid_t pid = ::fork();
  if (pid < 0) std::abort();
  if (pid == 0) {
    ::close(ends[0]);
    work(settings, job, ends[1]);
  }
  ::close(ends[1]);
  return {pid, ends[0], {}, settings.first};
}

class Report {
 public:
  explicit Report(const Settings& settings) : settings_(settings) {}

  void take(const Told& run) {
    ++runs_;
    steps_ += run.steps;
    writes_ += run.writes;
    lives_ += run.lives;
    simulated_ += run.simulated_seconds;
    tally_ += run.tally;
    digest_ += run.trace_digest * (2 * run.seed + 1);  // whatever order they came in
    if (!run.violations.empty()) return bad(run.seed, run.violations);
    if (run.waits_for_others) return;
    const auto [known, first] = ends_.try_emplace(run.seed / kSeedsPerScript, run.seed, run.end);
    if (!first && known->second.second != run.end)
      bad(run.seed, {"the end is another than that of seed " + std::to_string(known->second.first) +
                     ", whose script is the same"});
  }
  void bad(std::uint64_t seed, const std::vector<std::string>& violations) {
    if (bad_.emplace(seed, violations.front()).second && bad_.size() <= 10)
      for (const std::string& violation : violations)
        std::printf("seed %llu: %s\n", static_cast<unsigned long long>(seed), violation.c_str());
    std::fflush(stdout);
  }

  bool failed() const { return !bad_.empty(); }

  int end(double took) const {
    std::printf(
        "%llu seeds from %llu in %.1f s: %.0f a minute; %llu steps, %llu writes, %llu lives of the syncer, %.0f "
        "simulated "
        "seconds (%.0f times as fast); digest %016llx\n",
        ull(runs_), ull(settings_.first), took, static_cast<double>(runs_) * 60 / took, ull(steps_), ull(writes_),
        ull(lives_), simulated_, simulated_ / took, ull(digest_));
    bool all_fired = true;
    for (std::size_t i = 0; i < kFaults; ++i) {
      const auto name = name_of(static_cast<Fault>(i));
      std::printf("  %-20.*s %llu\n", static_cast<int>(name.size()), name.data(), ull(tally_.fired[i]));
      all_fired = all_fired && tally_.fired[i] > 0;
    }
    if (settings_.must_fail) return must_have_failed();
    if (!all_fired && runs_ >= kEnoughSeeds) std::printf("a fault never fired\n");
    std::printf("%zu of %llu seeds failed\n", bad_.size(), ull(runs_));
    if (!bad_.empty()) std::printf("replay: sublet_simulation --replay %llu\n", ull(bad_.begin()->first));
    return bad_.empty() && (all_fired || runs_ < kEnoughSeeds) ? 0 : 1;
  }

 private:
  static unsigned long long ull(std::uint64_t value) { return value; }
  int must_have_failed() const {
    if (bad_.empty()) return std::printf("the mutant lived through %llu seeds\n", ull(runs_)), 1;
    std::printf("the mutant fell after %llu seeds, with %llu (%s)\n", ull(runs_), ull(bad_.begin()->first),
                bad_.begin()->second.c_str());
    return 0;
  }

  const Settings& settings_;
  std::uint64_t runs_ = 0, steps_ = 0, writes_ = 0, lives_ = 0, digest_ = 0;
  double simulated_ = 0;
  Tally tally_;
  std::map<std::uint64_t, std::pair<std::uint64_t, std::uint64_t>> ends_;  // by script: a seed, and its end
  std::map<std::uint64_t, std::string> bad_;
};

/// False: it has ended.
bool read_from(Worker& worker, Report& report) {
  char buffer[65536];
  const ssize_t n = ::read(worker.fd, buffer, sizeof(buffer));
  if (n <= 0) {
    int status = 0;
    ::waitpid(worker.pid, &status, 0);
    if (status != 0) report.bad(worker.running, {"the process ended with status " + std::to_string(status)});
    return false;
  }
  worker.unread.append(buffer, static_cast<std::size_t>(n));
  for (std::size_t end; (end = worker.unread.find('\n')) != std::string::npos; worker.unread.erase(0, end + 1)) {
    const std::string line = worker.unread.substr(0, end);
    if (line.starts_with("begin "))
      worker.running = std::strtoull(line.c_str() + 6, nullptr, 10);
    else
      report.take(from_line(line));
  }
  return true;
}

int run_seeds(const Settings& settings) {
  const auto began = Steady::now();
  Report report(settings);
  std::vector<Worker> workers;
  for (unsigned job = 0; job < settings.jobs; ++job) workers.push_back(hire(settings, job));
  while (!workers.empty()) {
    if (settings.must_fail && report.failed()) {  // that was all that was asked
      for (const Worker& worker : workers) {
        ::kill(worker.pid, SIGKILL);
        ::waitpid(worker.pid, nullptr, 0);
      }
      break;
    }
    std::vector<pollfd> wait;
    for (const Worker& worker : workers) wait.push_back({worker.fd, POLLIN, 0});
    if (::poll(wait.data(), wait.size(), -1) < 0) break;
    for (std::size_t i = wait.size(); i-- > 0;)
      if (wait[i].revents != 0 && !read_from(workers[i], report)) {
        ::close(workers[i].fd);
        workers.erase(workers.begin() + static_cast<std::ptrdiff_t>(i));
      }
  }
  return report.end(std::chrono::duration<double>(Steady::now() - began).count());
}

int replay(std::uint64_t seed, std::uint64_t crash_before, std::uint64_t crash_after) {
  const RunOptions options{
      .keep_trace = true, .crash_at_write = crash_before + crash_after, .crash_after_commit = crash_after != 0};
  const RunResult first = run(seed, options), again = run(seed, options);
  for (const std::string& line : first.trace) std::printf("%s\n", line.c_str());
  std::printf("%s", first.end.c_str());
  for (const std::string& violation : first.violations) std::printf("violation: %s\n", violation.c_str());
  std::printf("seed %llu: %zu lines, digest %016llx\n", static_cast<unsigned long long>(seed), first.trace.size(),
              static_cast<unsigned long long>(first.trace_digest));
  if (first.trace_digest != again.trace_digest) {
    const auto [at, other] = std::ranges::mismatch(first.trace, again.trace);
    std::printf("violation: run again, it was another, from line %td on: %s\n", at - first.trace.begin() + 1,
                other == again.trace.end() ? "it ended" : other->c_str());
  }
  return first.violations.empty() && first.trace_digest == again.trace_digest ? 0 : 1;
}

/// A crash may not be seen in the end: it is that of the run without it.
int crash_at_every_write(std::uint64_t seed) {
  const RunResult plain = run(seed);
  std::uint64_t bad = plain.violations.empty() ? 0 : 1, runs = 0, lives = 0;
  for (const bool after : {false, true})
    for (std::uint64_t write = 1; write <= plain.crash_points; ++write) {
      RunResult crashed = run(seed, {.crash_at_write = write, .crash_after_commit = after});
      ++runs;
      lives += crashed.lives;
      if (crashed.violations.empty() && crashed.end != plain.end) crashed.violations.emplace_back("the end is another");
      if (!crashed.violations.empty()) ++bad;
      for (const std::string& violation : crashed.violations)
        std::printf("seed %llu, a crash %s write %llu: %s\n", static_cast<unsigned long long>(seed),
                    after ? "after" : "before", static_cast<unsigned long long>(write), violation.c_str());
    }
  std::printf("seed %llu: %llu runs with a crash at one of its %llu writes, %llu lives of the syncer; %llu failed\n",
              static_cast<unsigned long long>(seed), static_cast<unsigned long long>(runs),
              static_cast<unsigned long long>(plain.crash_points), static_cast<unsigned long long>(lives),
              static_cast<unsigned long long>(bad));
  return bad == 0 && plain.crash_points > 0 ? 0 : 1;
}

std::uint64_t number(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) {
    std::fprintf(stderr, "sublet_simulation: not a number: %.*s\n", static_cast<int>(text.size()), text.data());
    std::exit(2);
  }
  return value;
}

Settings parse(int argc, char** argv) {
  Settings settings;
  for (int i = 1; i < argc; ++i) {
    const std::string_view name = argv[i];
    if (name == "--must-fail") {
      settings.must_fail = true;
      continue;
    }
    if (i + 1 == argc)
      std::fprintf(stderr, "sublet_simulation: %s wants a value, or is unknown\n", argv[i]), std::exit(2);
    const std::string value = argv[++i];
    if (name == "--seeds") {
      const auto dots = value.find("..");
      settings.first = number(value.substr(0, dots));
      settings.last = dots == std::string::npos ? settings.first : number(value.substr(dots + 2));
    } else if (name == "--minutes") {
      settings.minutes = std::strtod(value.c_str(), nullptr);
      settings.first = Random::system().next() % 1'000'000'000 / kSeedsPerScript * kSeedsPerScript;
    } else if (name == "--jobs") {
      settings.jobs = static_cast<unsigned>(std::max<std::uint64_t>(1, number(value)));
    } else if (name == "--replay") {
      settings.replay = number(value);
    } else if (name == "--crash-before") {
      settings.crash_before = number(value);
    } else if (name == "--crash-after") {
      settings.crash_after = number(value);
    } else if (name == "--every-write") {
      settings.every_write = number(value);
    } else if (name == "--mutant") {
      settings.mutant = value;
    } else {
      std::fprintf(stderr, "sublet_simulation: unknown: %s\n", argv[i - 1]), std::exit(2);
    }
  }
  return settings;
}

/// A mutant is a program of its own, beside this one.
[[noreturn]] void become(const std::string& mutant, int argc, char** argv) {
  const std::string program = std::filesystem::read_symlink("/proc/self/exe").string() + "_" + mutant;
  std::vector<char*> arguments = {argv[0]};
  std::string must_fail = "--must-fail";
  for (int i = 1; i < argc; ++i)
    if (std::string_view(argv[i]) == "--mutant")
      ++i;
    else
      arguments.push_back(argv[i]);
  const bool replays = std::any_of(arguments.begin(), arguments.end(),
                                   [](const char* argument) { return std::string_view(argument) == "--replay"; });
  if (!replays) arguments.push_back(must_fail.data());
  arguments.push_back(nullptr);
  ::execv(program.c_str(), arguments.data());
  std::fprintf(stderr, "sublet_simulation: there is no %s; is the target built?\n", program.c_str());
  std::exit(2);
}

}  // namespace
}  // namespace sublet::simulation

int main(int argc, char** argv) {
  using namespace sublet::simulation;
  const Settings settings = parse(argc, argv);
  if (!settings.mutant.empty()) become(settings.mutant, argc, argv);
  if (std::getenv("SUBLET_SIMULATION_LOG") == nullptr) sublet::log::set_level(sublet::log::Level::error);
  if (settings.replay) return replay(*settings.replay, settings.crash_before, settings.crash_after);
  if (settings.every_write) return crash_at_every_write(*settings.every_write);
  return run_seeds(settings);
}
