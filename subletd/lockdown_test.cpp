// What code can do that somebody brought into a confined process: each test's child confines itself as a daemon does,
// and then tries. Every refusal has what is close to it and works.
#include "subletd/lockdown.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <thread>

#include "sublet/base/descriptor.h"

namespace sublet::subletd {
namespace {

/// The errno of a call that gave -1; 0 for one that went well.
int error_of(long result) { return result < 0 ? errno : 0; }

/// A socket that listens on the loopback, and its port.
std::pair<Descriptor, std::uint16_t> listener() {
  Descriptor fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  EXPECT_EQ(::bind(fd.get(), reinterpret_cast<sockaddr*>(&address), size), 0);
  EXPECT_EQ(::listen(fd.get(), 8), 0);
  EXPECT_EQ(::getsockname(fd.get(), reinterpret_cast<sockaddr*>(&address), &size), 0);
  return {std::move(fd), ntohs(address.sin_port)};
}

int connect_to(std::uint16_t port) {
  const Descriptor fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!fd) return errno;
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(port);
  return error_of(::connect(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)));
}

int open_file(const std::string& path, int flags) {
  const Descriptor fd(::open(path.c_str(), flags | O_CLOEXEC, 0600));
  return fd ? 0 : errno;
}

class Lockdown : public ::testing::Test {
 protected:
  Lockdown() {
    char name[] = "/tmp/sublet-lockdown-XXXXXX";
    folder_ = ::mkdtemp(name);
    for (const char* part : {"own", "other"}) {
      std::filesystem::create_directories(folder_ + "/" + part);
      std::ofstream(folder_ + "/" + part + "/file") << part;
    }
    std::ofstream(folder_ + "/record") << "record";
  }
  ~Lockdown() override { std::filesystem::remove_all(folder_); }

  Confinement own() const { return {.own = {folder_ + "/own"}, .readable = {folder_ + "/record"}}; }

  /// Runs it in a child that ends without what a test program does at its end; the errno of each try, by name.
  using Tries = std::map<std::string, int>;
  static Tries in_child(const std::function<void(Tries&)>& tries) {
    int pipe[2];
    EXPECT_EQ(::pipe2(pipe, O_CLOEXEC), 0);
    const pid_t child = ::fork();
    if (child == 0) {
      Tries seen;
      tries(seen);
      std::string text;
      for (const auto& [name, error] : seen) text += name + " " + std::to_string(error) + "\n";
      const auto written = ::write(pipe[1], text.data(), text.size());
      ::_exit(written == static_cast<ssize_t>(text.size()) ? 0 : 1);
    }
    ::close(pipe[1]);
    const Descriptor in(pipe[0]);
    std::string text;
    char buffer[4096];
    for (ssize_t got; (got = ::read(in.get(), buffer, sizeof(buffer))) > 0;)
      text.append(buffer, static_cast<std::size_t>(got));
    int status = 0;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "status " << status;
    Tries seen;
    std::istringstream lines(text);
    std::string name;
    for (int error = 0; lines >> name >> error;) seen[name] = error;
    return seen;
  }

  static bool landlock_has(long version) { return ::syscall(SYS_landlock_create_ruleset, nullptr, 0, 1) >= version; }

  std::string folder_;
};

TEST_F(Lockdown, FilesAreOnesOwn) {
  if (!landlock_has(3)) GTEST_SKIP() << "this kernel has no Landlock";
  const auto seen = in_child([this](Tries& tries) {
    confine(own());
    tries["reads-own"] = open_file(folder_ + "/own/file", O_RDONLY);
    tries["makes-own"] = open_file(folder_ + "/own/new", O_RDWR | O_CREAT);
    tries["renames-own"] = error_of(::rename((folder_ + "/own/new").c_str(), (folder_ + "/own/newer").c_str()));
    tries["reads-record"] = open_file(folder_ + "/record", O_RDONLY);
    tries["writes-record"] = open_file(folder_ + "/record", O_WRONLY);
    tries["truncates-record"] = error_of(::truncate((folder_ + "/record").c_str(), 0));
    tries["reads-other"] = open_file(folder_ + "/other/file", O_RDONLY);
    tries["makes-other"] = open_file(folder_ + "/other/new", O_RDWR | O_CREAT);
    tries["lists-other"] = open_file(folder_ + "/other", O_RDONLY | O_DIRECTORY);
    tries["by-dots"] = open_file(folder_ + "/own/../other/file", O_RDONLY);
    tries["removes-record"] = error_of(::unlink((folder_ + "/record").c_str()));
    tries["reads-passwords"] = open_file("/etc/shadow", O_RDONLY);
    tries["reads-environment"] = open_file("/proc/" + std::to_string(::getppid()) + "/environ", O_RDONLY);
  });
  EXPECT_EQ(seen, (Tries{{"reads-own", 0},
                         {"makes-own", 0},
                         {"renames-own", 0},
                         {"reads-record", 0},
                         {"writes-record", EACCES},
                         {"truncates-record", EACCES},
                         {"reads-other", EACCES},
                         {"makes-other", EACCES},
                         {"lists-other", EACCES},
                         {"by-dots", EACCES},
                         {"removes-record", EACCES},
                         {"reads-passwords", EACCES},
                         {"reads-environment", EACCES}}));
}

TEST_F(Lockdown, PortsAreThoseThatAreNamed) {
  if (!landlock_has(4)) GTEST_SKIP() << "this kernel's Landlock knows no ports";
  const auto [named, named_port] = listener();
  const auto [other, other_port] = listener();
  const auto seen = in_child([&, to = named_port, not_to = other_port](Tries& tries) {
    auto confinement = own();
    confinement.connected = {to};
    confine(confinement);
    tries["named"] = connect_to(to);
    tries["other"] = connect_to(not_to);
  });
  EXPECT_EQ(seen, (Tries{{"named", 0}, {"other", EACCES}}));
}

void try_calls(std::map<std::string, int>& tries, const std::string& prefix, std::uint16_t port) {
  char* const words[] = {const_cast<char*>("true"), nullptr};
  tries[prefix + "exec"] = error_of(::execve("/bin/true", words, nullptr));
  tries[prefix + "fork"] = error_of(::syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0));
  tries[prefix + "ptrace"] = error_of(::ptrace(PTRACE_ATTACH, ::getppid(), nullptr, nullptr));
  char byte = 0;
  tries[prefix + "reads-memory"] = error_of(::syscall(SYS_process_vm_readv, ::getppid(), nullptr, 0, nullptr, 0, 0));
  tries[prefix + "kills"] = error_of(::kill(::getppid(), 0));
  tries[prefix + "connects"] = connect_to(port);
  tries[prefix + "mounts"] = error_of(::syscall(SYS_mount, "none", "/tmp", "tmpfs", 0, nullptr));
  tries[prefix + "new"] = error_of(::syscall(9999, &byte));
}

TEST_F(Lockdown, CallsAreThoseOfTheWorkInEveryThread) {
  const auto [listening, port] = listener();
  const int accepting = listening.get();
  const auto seen = in_child([&, to = port](Tries& tries) {
    const Descriptor client(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(to);
    tries["control-connect"] =
        error_of(::connect(client.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)));
    std::atomic<bool> dropped{false};
    Tries of_thread;
    std::thread early([&] {
      while (!dropped) std::this_thread::yield();
      try_calls(of_thread, "early-", to);
    });
    confine(own());
    const auto walls = drop_calls(Outward::refused);
    tries["control-holds"] = walls.missing.empty() ? 0 : 1;
    dropped = true;
    early.join();
    tries.merge(of_thread);
    try_calls(tries, "main-", to);
    const Descriptor accepted(::accept(accepting, nullptr, nullptr));
    tries["control-accept"] = accepted ? 0 : errno;
    tries["control-send"] = error_of(::send(accepted.get(), "x", 1, MSG_NOSIGNAL));
    tries["control-file"] = open_file(folder_ + "/own/file", O_RDONLY);
    tries["control-own-signal"] = error_of(::kill(::getpid(), 0));
    bool ran = false;
    std::thread([&] { ran = true; }).join();
    tries["control-thread"] = ran ? 0 : 1;
  });
  for (const auto& [name, error] : seen) {
    if (name.starts_with("control-"))
      EXPECT_EQ(error, 0) << name << ": " << std::strerror(error);
    else
      EXPECT_EQ(error, name.ends_with("-new") ? ENOSYS : EPERM) << name << ": " << std::strerror(error);
  }
  EXPECT_EQ(seen.size(), 23u);
}

TEST_F(Lockdown, WhoMustSpeakMayButStartsNothing) {
  const auto [listening, port] = listener();
  const auto seen = in_child([&, to = port](Tries& tries) {
    auto confinement = own();
    confinement.connected = {to};
    confine(confinement);
    drop_calls(Outward::allowed);
    tries["connects"] = connect_to(to);
    char* const words[] = {const_cast<char*>("true"), nullptr};
    tries["exec"] = error_of(::execve("/bin/true", words, nullptr));
  });
  EXPECT_EQ(seen, (Tries{{"connects", 0}, {"exec", EPERM}}));
}

// Status of a program, or the errno of starting it.
int run_program(const char* path) {
  const pid_t child = ::fork();
  if (child < 0) return errno;
  if (child == 0) {
    char* const words[] = {const_cast<char*>(path), nullptr};
    ::execv(path, words);
    ::_exit(errno);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

int make_socket(const std::string& path) {
  const Descriptor fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, path.c_str(), sizeof(address.sun_path) - 1);
  return error_of(::bind(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)));
}

TEST_F(Lockdown, WhoStartsOthersStartsThoseThatAreNamed) {
  if (!landlock_has(3)) GTEST_SKIP() << "this kernel has no Landlock";
  const auto [listening, port] = listener();
  const auto seen = in_child([&, to = port](Tries& tries) {
    auto confinement = own();
    confinement.executable = this_program();
    confinement.executable.emplace_back("/bin/true");
    confinement.readable.emplace_back("/proc");
    confine(confinement);
    drop_calls_with_children();
    tries["control-program"] = run_program("/bin/true");
    tries["control-connect"] = connect_to(to);
    tries["control-socket"] = make_socket(folder_ + "/own/socket");
    tries["control-file"] = open_file(folder_ + "/own/file", O_RDWR);
    tries["control-own-proc"] = open_file("/proc/self/statm", O_RDONLY);
    tries["other-program"] = run_program("/bin/ls");
    tries["other-file"] = open_file(folder_ + "/other/file", O_RDONLY);
    tries["other-socket"] = make_socket(folder_ + "/other/socket");
    tries["others-environment"] = open_file("/proc/" + std::to_string(::getppid()) + "/environ", O_RDONLY);
    tries["ptrace"] = error_of(::ptrace(PTRACE_ATTACH, ::getppid(), nullptr, nullptr));
    tries["mounts"] = error_of(::syscall(SYS_mount, "none", "/tmp", "tmpfs", 0, nullptr));
    tries["io-uring"] = error_of(::syscall(SYS_io_uring_setup, 1, nullptr));
  });
  EXPECT_EQ(seen, (Tries{{"control-program", 0},
                         {"control-connect", 0},
                         {"control-socket", 0},
                         {"control-file", 0},
                         {"control-own-proc", 0},
                         {"other-program", EACCES},
                         {"other-file", EACCES},
                         {"other-socket", EACCES},
                         {"others-environment", EACCES},
                         {"ptrace", EPERM},
                         {"mounts", EPERM},
                         {"io-uring", EPERM}}));
}

TEST_F(Lockdown, TheEnvironmentIsForgotten) {
  const auto seen = in_child([](Tries& tries) {
    char secret[] = "AWS_SECRET_ACCESS_KEY=canary", kept[] = "SUBLET_STATE_DIR=/x";
    char* all[] = {secret, kept, nullptr};
    environ = all;
    forget_environment();
    tries["secret-gone"] = ::getenv("AWS_SECRET_ACCESS_KEY") == nullptr ? 0 : 1;
    tries["bytes-gone"] = std::strstr(secret, "canary") == nullptr && secret[0] == '\0' ? 0 : 1;
    tries["kept"] = ::getenv("SUBLET_STATE_DIR") != nullptr ? 0 : 1;
  });
  EXPECT_EQ(seen, (Tries{{"secret-gone", 0}, {"bytes-gone", 0}, {"kept", 0}}));
}

}  // namespace
}  // namespace sublet::subletd
