#include "cluster/local/daemon.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <filesystem>
#include <fstream>

#include "cluster/host/wait_until.h"
#include "sublet/cluster/local_layout.h"

namespace sublet::cluster {
namespace {

using std::chrono::steady_clock;

int open_lock(const std::string& lock_path) {
  return ::open(lock_path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
}

// The words of a command as exec wants them.
std::vector<char*> exec_words(std::vector<std::string>& words) {
  std::vector<char*> pointers;
  for (auto& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  return pointers;
}

bool write_pid(int lock) {
  char text[16];
  char* end = std::to_chars(text, text + sizeof text - 1, ::getpid()).ptr;
  *end++ = '\n';
  return ::ftruncate(lock, 0) == 0 && ::pwrite(lock, text, static_cast<size_t>(end - text), 0) > 0;
}

// The grandchild: a session of its own, the lock inherited, everything else closed or redirected. An inherited pipe or
// lock of the caller would stay open while the daemon lives, and block a reader of that pipe.
// Forked from a process with threads: nothing here may allocate.
[[noreturn]] void become_daemon(int lock, const char* log_path, const char* program, char* const* words) {
  ::setsid();
  if (::fork() != 0) ::_exit(0);
  constexpr int kLock = kDaemonLock;
  if (!write_pid(lock)) ::_exit(126);
  if (lock == kLock ? ::fcntl(lock, F_SETFD, 0) < 0 : ::dup2(lock, kLock) < 0) ::_exit(126);
  const int nothing = ::open("/dev/null", O_RDONLY);
  const int log = ::open(log_path, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW, 0600);
  if (log < 0) ::_exit(126);
  ::dup2(nothing, STDIN_FILENO);
  ::dup2(log, STDOUT_FILENO);
  ::dup2(log, STDERR_FILENO);
  ::close_range(kLock + 1, ~0U, 0);
  if (::chdir("/") != 0) ::_exit(126);
  ::execvp(program, words);
  ::dprintf(STDERR_FILENO, "cannot run %s: %s\n", program, ::strerrordesc_np(errno));
  ::_exit(127);
}

// True when the lock is free (and taken and given back by this call).
bool lock_is_free(const std::string& lock_path) {
  const int lock = ::open(lock_path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW);
  if (lock < 0) return true;
  const bool free = ::flock(lock, LOCK_EX | LOCK_NB) == 0;
  ::close(lock);
  return free;
}

}  // namespace

std::string subletd_path() {
  std::error_code error;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", error);
  const auto beside = self.parent_path() / "subletd";
  return !error && std::filesystem::exists(beside) ? beside.string() : "subletd";
}

Outcome start_daemon(const std::string& lock_path, const std::string& log_path,
                     const std::vector<std::string>& arguments) {
  const int lock = open_lock(lock_path);
  if (lock < 0) return internal_error("cannot open " + lock_path + ": " + std::strerror(errno));
  if (std::error_code ignored; std::filesystem::is_symlink(log_path, ignored)) {
    ::close(lock);
    return bad_request(log_path + " is a symbolic link, where a log would be written; remove it");
  }
  if (::flock(lock, LOCK_EX | LOCK_NB) != 0) {
    ::close(lock);
    return fail(Reason::already_exists, "it runs already");
  }
  const std::string program = subletd_path();
  std::vector<std::string> command{"subletd"};
  command.insert(command.end(), arguments.begin(), arguments.end());
  const std::vector<char*> words = exec_words(command);
  const pid_t child = ::fork();
  if (child == 0) become_daemon(lock, log_path.c_str(), program.c_str(), words.data());
  ::close(lock);
  if (child < 0) return internal_error(std::string("cannot fork: ") + std::strerror(errno));
  ::waitpid(child, nullptr, 0);
  return {};
}

bool daemon_runs(const std::string& lock_path) { return !lock_is_free(lock_path); }

int daemon_pid(const std::string& lock_path) {
  if (lock_is_free(lock_path)) return 0;
  std::ifstream file(lock_path);
  int pid = 0;
  file >> pid;
  return pid;
}

namespace {

// The writer of the pid may be in another container that shares only the folder, where the number means another
// process. A daemon of ours names its folder in its arguments.
bool is_daemon_of(int pid, const std::string& lock_path) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/cmdline");
  const std::string folder = std::filesystem::path(lock_path).parent_path();
  std::error_code error;
  std::string word;
  if (!std::getline(file, word, '\0') || std::filesystem::path(word).filename() != "subletd") return false;
  while (std::getline(file, word, '\0'))
    if (std::filesystem::equivalent(word, folder, error) ||
        std::filesystem::equivalent(std::filesystem::path(word).parent_path(), folder, error))
      return true;
  return false;
}

constexpr std::chrono::seconds kAfterKill{5};

}  // namespace

Outcome stop_daemon(const std::string& lock_path, std::chrono::seconds grace) {
  const int pid = daemon_pid(lock_path);
  if (pid <= 0) return {};
  const auto ends = [&](std::chrono::seconds within) {
    return wait_until(steady_clock::now() + within, [&] { return lock_is_free(lock_path); });
  };
  if (!is_daemon_of(pid, lock_path)) {
    if (ends(std::min(grace, kAfterKill))) return {};  // children of one that was killed
    return fail(Reason::conflict, "daemons serve " + std::filesystem::path(lock_path).parent_path().string() +
                                      " that are no processes of this place (in another container, say); stop them "
                                      "where they run (scale their StatefulSet to 0) and try again");
  }
  ::kill(pid, SIGTERM);
  if (ends(grace)) return {};
  if (daemon_pid(lock_path) == pid) {
    ::kill(-::getsid(pid), SIGKILL);
    ::kill(pid, SIGKILL);
  }
  if (ends(kAfterKill)) return {};
  return fail(Reason::timeout,
              "process " + std::to_string(pid) + " (" + lock_path + ") does not end; kill it by hand and try again");
}

std::string log_tail(const std::string& log_path, int lines) {
  std::ifstream file(log_path);
  std::deque<std::string> kept;
  for (std::string line; std::getline(file, line);) {
    kept.push_back(line);
    if (static_cast<int>(kept.size()) > lines) kept.pop_front();
  }
  std::string text;
  for (const auto& line : kept) text += "\n  " + line;
  return text;
}

}  // namespace sublet::cluster
