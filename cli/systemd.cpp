#include "cli/systemd.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "sublet/base/descriptor.h"
#include "sublet/base/files.h"

extern char** environ;

namespace sublet::cli {
namespace {

std::string read_all(int fd) {
  std::string text;
  std::array<char, 4096> piece;
  for (;;) {
    const ssize_t got = ::read(fd, piece.data(), piece.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    text.append(piece.data(), static_cast<std::size_t>(got));
  }
  while (text.ends_with('\n')) text.pop_back();
  return text;
}

// Runs the program of the PATH; an error has what it wrote.
Outcome run_program(const std::vector<std::string>& command) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return internal_error(std::string("pipe: ") + std::strerror(errno));
  const Descriptor reading(ends[0]);
  std::string line;
  std::vector<char*> words;
  for (const auto& word : command) {
    line += (line.empty() ? "" : " ") + word;
    words.push_back(const_cast<char*>(word.c_str()));
  }
  words.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, ends[1], STDERR_FILENO);
  pid_t child = 0;
  const int error = ::posix_spawnp(&child, words[0], &actions, nullptr, words.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  ::close(ends[1]);
  if (error != 0) return internal_error(line + ": " + std::strerror(error));
  const std::string said = read_all(reading.get());
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return {};
  return internal_error(line + " failed" + (said.empty() ? "" : ": " + said));
}

class Systemd final : public ServiceManager {
 public:
  // As sd_booted(3) finds out.
  bool runs() const override {
    std::error_code error;
    return std::filesystem::is_directory("/run/systemd/system", error);
  }
  Outcome control(const std::vector<std::string>& arguments) override {
    std::vector<std::string> command{"systemctl"};
    if (!root_) command.emplace_back("--user");
    command.insert(command.end(), arguments.begin(), arguments.end());
    return run_program(command);
  }
  Outcome linger() override { return root_ ? Outcome() : run_program({"loginctl", "enable-linger"}); }

 private:
  const bool root_ = ::geteuid() == 0;
};

}  // namespace

std::unique_ptr<ServiceManager> make_systemd() { return std::make_unique<Systemd>(); }

}  // namespace sublet::cli
