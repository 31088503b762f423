#include "subletd/supervisor.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <optional>

#include "sublet/base/log.h"

namespace sublet::subletd {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr milliseconds kBackoffMin{100}, kBackoffMax{10'000};
constexpr std::chrono::seconds kStableAfter{30};  // a child that lived this long starts with a small back-off again
constexpr int kFirstStarts{4};                    // tries that an API server has that never was up
constexpr std::chrono::seconds kChildStopGrace{10};

struct Child {
  std::string role, log_path;  // "": where this process logs
  std::vector<std::string> arguments;
  pid_t pid = 0;
  steady_clock::time_point started{};
  std::optional<steady_clock::time_point> restart_at = std::nullopt;
  milliseconds backoff = kBackoffMin;
  int failed_starts = 0;  // in a row, each ended by itself with an error before kStableAfter
};

void exec_child(const Child& child, int program, pid_t parent) {
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
  ::fexecve(program, argv.data(), environ);
  ::_exit(127);
}

Outcome start(Child& child, int program) {
  const pid_t parent = ::getpid();
  const pid_t pid = ::fork();
  if (pid < 0) return internal_error(std::string("fork: ") + std::strerror(errno));
  if (pid == 0) exec_child(child, program, parent);
  child.pid = pid;
  child.started = steady_clock::now();
  child.restart_at.reset();
  return {};
}

class Supervisor {
 public:
  explicit Supervisor(const Supervision& asked) : program_(asked.program) {
    for (const auto& role : asked.roles) {
      Child child;
      child.role = role;
      if (!asked.logs_to_stdout) child.log_path = asked.folder + "/" + role + ".log";
      child.arguments = {"subletd", role, role == "syncer" ? "--dir" : "--virtual-cluster", asked.folder};
      children_.push_back(std::move(child));
    }
  }

  Outcome run() {
    ::sigemptyset(&signals_);
    for (const int signal : {SIGTERM, SIGINT, SIGCHLD}) ::sigaddset(&signals_, signal);
    ::sigprocmask(SIG_BLOCK, &signals_, nullptr);
    for (Child& child : children_)
      if (auto started = start(child, program_); !started) return started;
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
  // SIGCHLD also means that a restart is due. Sleeps without a limit while nothing is due.
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
      if (auto started = start(child, program_); !started) {
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
    const auto deadline = steady_clock::now() + kChildStopGrace;
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

  const int program_;
  sigset_t signals_{};
  bool ever_stable_ = false;  // any child, for kStableAfter
  std::vector<Child> children_;
};

}  // namespace

Outcome supervise(const Supervision& asked) { return Supervisor(asked).run(); }

}  // namespace sublet::subletd
