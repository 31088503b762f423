// Role run: supervises one virtual cluster: its API server and its syncer as child processes, its DNS server where pods
// have a way to it, and upstream's controller manager where its template wants that, restarted with back-off when they
// end; SIGTERM ends all, the API server last. It gives up only when the API server does not come up at all.
//
// One thread, no timers while all is well: it sleeps in sigtimedwait. The children die with it (PDEATHSIG), so that a
// killed supervisor leaves nothing behind.
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "sublet/base/log.h"
#include "sublet/cluster/virtual_cluster.h"
#include "subletd/lockdown.h"
#include "subletd/role.h"
#include "subletd/upstream_controllers.h"

namespace sublet::subletd {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr milliseconds kBackoffMin{100}, kBackoffMax{10'000};
constexpr std::chrono::seconds kStableAfter{30};  // a child that lived this long starts with a small back-off again
constexpr int kFirstStarts{4};                    // tries that an API server has that never was up
constexpr std::chrono::seconds kStopGrace{10};

struct Child {
  std::string role, log_path;  // "": where this process logs
  std::vector<std::string> arguments;
  pid_t pid = 0;
  steady_clock::time_point started{};
  std::optional<steady_clock::time_point> restart_at = std::nullopt;
  milliseconds backoff = kBackoffMin;
  int failed_starts = 0;  // in a row, each ended by itself with an error before kStableAfter
};

void exec_child(const Child& child, pid_t parent) {
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (::getppid() != parent) ::_exit(1);  // the parent died before the line above
  const int log = child.log_path.empty()
                      ? -1
                      : ::open(child.log_path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (log >= 0) {
    ::dup2(log, STDOUT_FILENO);
    ::dup2(log, STDERR_FILENO);
  }
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  std::vector<char*> argv;
  for (const auto& argument : child.arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  ::execv("/proc/self/exe", argv.data());
  ::_exit(127);
}

Outcome start(Child& child) {
  const pid_t parent = ::getpid();
  const pid_t pid = ::fork();
  if (pid < 0) return internal_error(std::string("fork: ") + std::strerror(errno));
  if (pid == 0) exec_child(child, parent);
  child.pid = pid;
  child.started = steady_clock::now();
  child.restart_at.reset();
  return {};
}

class Supervisor {
 public:
  Supervisor(const std::string& folder, bool upstream_controllers, bool dns, bool logs_to_stdout) {
    const auto child = [&](const std::string& role, std::vector<std::string> flags) {
      Child made;
      made.role = role;
      if (!logs_to_stdout) made.log_path = folder + "/" + role + ".log";
      made.arguments = {"subletd", role};
      made.arguments.insert(made.arguments.end(), flags.begin(), flags.end());
      return made;
    };
    children_ = {child("apiserver", {"--virtual-cluster", folder}), child("syncer", {"--dir", folder})};
    if (dns) children_.push_back(child("dns", {"--virtual-cluster", folder}));
    if (upstream_controllers) children_.push_back(child("controllers", {"--virtual-cluster", folder}));
  }

  Outcome run() {
    ::sigemptyset(&signals_);
    for (const int signal : {SIGTERM, SIGINT, SIGCHLD}) ::sigaddset(&signals_, signal);
    ::sigprocmask(SIG_BLOCK, &signals_, nullptr);
    for (Child& child : children_)
      if (auto started = start(child); !started) return started;
    Outcome outcome;
    while (outcome && wait_for_signal() == SIGCHLD) {
      reap();
      outcome = check_first_start();
      start_due();
    }
    stop();
    return outcome;
  }

 private:
  // SIGCHLD also stands for "a restart is due". Sleeps without a limit while nothing is due.
  int wait_for_signal() {
    std::optional<steady_clock::time_point> due;
    for (const Child& child : children_)
      if (child.restart_at && (!due || *child.restart_at < *due)) due = child.restart_at;
    int signal;
    if (due) {
      const auto wait = std::max(milliseconds(0), std::chrono::duration_cast<milliseconds>(*due - steady_clock::now()));
      const timespec limit{wait.count() / 1000, wait.count() % 1000 * 1'000'000};
      signal = ::sigtimedwait(&signals_, nullptr, &limit);
    } else {
      signal = ::sigwaitinfo(&signals_, nullptr);
    }
    if (signal < 0) return SIGCHLD;  // EAGAIN: a restart is due; EINTR: look again
    return signal;
  }

  void reap() {
    int status = 0;
    for (pid_t pid; (pid = ::waitpid(-1, &status, WNOHANG)) > 0;) {
      for (Child& child : children_) {
        if (child.pid != pid) continue;
        child.pid = 0;
        const auto now = steady_clock::now();
        const bool stable = now - child.started >= kStableAfter;
        if (stable) child.backoff = kBackoffMin;
        ever_stable_ = ever_stable_ || stable;
        child.failed_starts = !stable && WIFEXITED(status) && WEXITSTATUS(status) != 0 ? child.failed_starts + 1 : 0;
        child.restart_at = now + child.backoff;
        log::warning("run.child_ended",
                     {{"role", child.role},
                      {"status", WIFSIGNALED(status) ? "signal " + std::to_string(WTERMSIG(status))
                                                     : "exit " + std::to_string(WEXITSTATUS(status))},
                      {"restart_in_ms", child.backoff.count()}});
        child.backoff = std::min(child.backoff * 2, kBackoffMax);
      }
    }
  }

  // An API server that has not come up yet and ends by itself again and again has a cause that does not go by waiting
  // (a damaged store, a taken port), and somebody waits in `sublet create` to hear it.
  Outcome check_first_start() const {
    const Child& api_server = children_.front();
    if (ever_stable_ || api_server.failed_starts < kFirstStarts) return {};
    return internal_error("the API server does not start; its log " + api_server.log_path +
                          (api_server.log_path.empty() ? "above" : "") + " says why");
  }

  void start_due() {
    for (Child& child : children_) {
      if (!child.restart_at || *child.restart_at > steady_clock::now()) continue;
      if (auto started = start(child); !started) {
        log::error("run.start_failed", {{"role", child.role}, {"cause", started.error().message}});
        child.restart_at = steady_clock::now() + kBackoffMax;
      }
    }
  }

  // In reverse order: the syncer must not see its tenant vanish.
  void stop() {
    for (auto child = children_.rbegin(); child != children_.rend(); ++child) {
      if (child->pid == 0) continue;
      ::kill(child->pid, SIGTERM);
      if (!wait_for_end(*child)) {
        ::kill(child->pid, SIGKILL);
        ::waitpid(child->pid, nullptr, 0);
      }
      child->pid = 0;
    }
  }

  bool wait_for_end(const Child& child) {
    const auto deadline = steady_clock::now() + kStopGrace;
    for (;;) {
      const pid_t ended = ::waitpid(child.pid, nullptr, WNOHANG);
      if (ended == child.pid || (ended < 0 && errno == ECHILD)) return true;
      const auto left = std::chrono::duration_cast<milliseconds>(deadline - steady_clock::now());
      if (left.count() <= 0) return false;
      const timespec limit{left.count() / 1000, left.count() % 1000 * 1'000'000};
      sigset_t child_signal;
      ::sigemptyset(&child_signal);
      ::sigaddset(&child_signal, SIGCHLD);
      ::sigtimedwait(&child_signal, nullptr, &limit);
    }
  }

  sigset_t signals_{};
  bool ever_stable_ = false;  // any child, for kStableAfter
  std::vector<Child> children_;
};

class RunRole final : public RoleProgram {
 public:
  void declare(Flags& flags) override {
    flags.text("--dir", folder_, "the virtual cluster's folder, as `sublet create` made it", true);
    flags.toggle("--logs-to-stdout", logs_to_stdout_,
                 "all logs on standard output, as containers log, in place of files in the folder");
  }

  Outcome run() override {
    // Its children confine themselves; what they inherit is harmless.
    forget_environment();
    ::prctl(PR_SET_DUMPABLE, 0);
    ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    const auto cluster = cluster::VirtualCluster::load(folder_);
    if (!cluster) return fail(cluster.error());
    const auto upstream = wants_upstream_controllers(*cluster);
    if (!upstream) return fail(upstream.error());
    // One supervisor a folder; the lock also tells the CLI that one runs.
    const std::string lock_path = folder_ + "/run.lock";
    const int lock = ::open(lock_path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (lock < 0) return internal_error("cannot open " + lock_path + ": " + std::strerror(errno));
    if (::flock(lock, LOCK_EX | LOCK_NB) != 0)
      return fail(Reason::already_exists, "another `subletd run` serves " + folder_ + "; stop it first");
    const std::string pid = std::to_string(::getpid()) + "\n";
    if (::ftruncate(lock, 0) != 0 || ::write(lock, pid.data(), pid.size()) < 0)
      return internal_error("cannot write " + lock_path + ": " + std::strerror(errno));
    return Supervisor(folder_, *upstream, cluster->pod_access.given(), logs_to_stdout_).run();
  }

 private:
  // Whoever waits in `sublet create` hears at once that the program is not there.
  static Result<bool> wants_upstream_controllers(const cluster::VirtualCluster& cluster) {
    const auto context = cluster::translate_context(cluster);
    if (!context) return fail(context.error());
    if (!context->resolved_template || context->resolved_template->config().controllers != "upstream") return false;
    if (auto program = find_controller_manager(); !program) return fail(program.error());
    return true;
  }

  std::string folder_;
  bool logs_to_stdout_ = false;
};

}  // namespace

std::unique_ptr<RoleProgram> make_run_role() { return std::make_unique<RunRole>(); }

}  // namespace sublet::subletd
