#include "tests/history/server_process.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <new>
#include <thread>

#include "sublet/kube/kubeconfig.h"
#include "tests/history/http_peer.h"

namespace sublet::history {
namespace {

constexpr std::chrono::seconds kStartWithin{120};  // also under a sanitizer, on a machine that does much else
constexpr std::chrono::milliseconds kReadyPoll{5};
constexpr int kFailedStartsMax = 5;  // then whoever owns the disk has seen to it

int free_port() {
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  ::bind(socket, reinterpret_cast<sockaddr*>(&address), sizeof address);
  ::getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size);
  ::close(socket);
  return ntohs(address.sin_port);
}

DiskFaults* make_shared(const std::string& path) {
  const int file = ::open(path.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600);
  if (file < 0 || ::ftruncate(file, sizeof(DiskFaults)) != 0) std::abort();
  void* memory = ::mmap(nullptr, sizeof(DiskFaults), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  ::close(file);
  if (memory == MAP_FAILED) std::abort();
  return new (memory) DiskFaults{};
}

}  // namespace

Moment now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

ServerProcess::ServerProcess(std::string program, std::string faults_library, std::string folder)
    : program_(std::move(program)),
      faults_library_(std::move(faults_library)),
      folder_(std::move(folder)),
      port_(free_port()),
      faults_(make_shared(folder_ + "/faults")) {}

ServerProcess::~ServerProcess() {
  if (child_ > 0) kill();
  ::munmap(faults_, sizeof(DiskFaults));
}

void ServerProcess::die(const std::string& what) const {
  std::ifstream log(log_path());
  const std::string text{std::istreambuf_iterator<char>(log), {}};
  std::fprintf(stderr, "history: %s. Its last words:\n%s\n", what.c_str(),
               text.substr(text.size() - std::min<std::size_t>(text.size(), 3000)).c_str());
  std::_Exit(1);
}

void ServerProcess::spawn() {
  const std::string listen = "127.0.0.1:" + std::to_string(port_), data = folder_ + "/data",
                    kubeconfig = folder_ + "/kubeconfig";
  const std::string faults_path = folder_ + "/faults";
  {
    const MutexLock lock(mutex_);
    ends_.push_back(kNever);
  }
  child_ = ::fork();
  if (child_ < 0) die("fork failed");
  if (child_ > 0) return;
  const int log = ::open(log_path().c_str(), O_CREAT | O_WRONLY | O_APPEND, 0600);
  ::dup2(log, STDOUT_FILENO);
  ::dup2(log, STDERR_FILENO);
  if (!faults_library_.empty()) {
    ::setenv("LD_PRELOAD", faults_library_.c_str(), 1);
    ::setenv(kDiskFaultsVariable, faults_path.c_str(), 1);
  }
  // History is kept for longer than any run, so that every bookmark can be resumed from.
  ::execl(program_.c_str(), program_.c_str(), "apiserver", "--data", data.c_str(), "--listen", listen.c_str(),
          "--admin-kubeconfig", kubeconfig.c_str(), "--compaction-interval", "86400", nullptr);
  ::_exit(127);
}

/// Its kubeconfig stands when it serves; in later lives the one of the first is as good, so it is asked.
bool ServerProcess::serves() const {
  if (!tls_) return false;
  HttpPeer peer(*tls_);
  return peer.call({.path = "/readyz"}).status == 200;
}

void ServerProcess::start() {
  std::uint64_t hits_before = faults_->failed_calls + faults_->refused_writes;
  int failed_starts = 0;
  spawn();
  const auto deadline = std::chrono::steady_clock::now() + kStartWithin;
  while (!serves()) {
    if (ended()) {
      // A disk that still fails keeps it from starting; its supervisor would try again, too.
      const std::uint64_t hits = faults_->failed_calls + faults_->refused_writes;
      if (hits == hits_before) die(program_ + " ended while it started");
      hits_before = hits;
      if (++failed_starts == kFailedStartsMax) heal_disk();
      spawn();
    }
    if (std::chrono::steady_clock::now() > deadline) die(program_ + " does not serve");
    if (!tls_ && ::access((folder_ + "/kubeconfig").c_str(), R_OK) == 0)
      if (auto access = kube::load_kubeconfig(folder_ + "/kubeconfig"))
        tls_ = std::make_unique<bench::ClientTls>(*access);
    std::this_thread::sleep_for(kReadyPoll);
  }
  const MutexLock lock(mutex_);
  serving_ = true;
  changed_.notify_all();
}

void ServerProcess::heal_disk() {
  faults_->full_per_mille = faults_->slow_us = 0;
  faults_->failing_syncs = faults_->failing_writes = 0;
}

void ServerProcess::reap(int flags) {
  if (child_ <= 0 || ::waitpid(child_, nullptr, flags) != child_) return;
  child_ = -1;
  const MutexLock lock(mutex_);
  ends_.back() = now();
  serving_ = false;
}

void ServerProcess::kill() {
  ::kill(child_, SIGKILL);
  reap(0);
}

void ServerProcess::stop() {
  ::kill(child_, SIGTERM);
  reap(0);
}

bool ServerProcess::ended() {
  reap(WNOHANG);
  return child_ < 0;
}

bool ServerProcess::wait_for_life() {
  MutexLock lock(mutex_);
  changed_.wait(lock, [this]() SUBLET_REQUIRES(mutex_) { return serving_ || over_; });
  return !over_;
}

int ServerProcess::lives() const {
  const MutexLock lock(mutex_);
  return static_cast<int>(ends_.size());
}

Moment ServerProcess::end_of(int life) const {
  const MutexLock lock(mutex_);
  return ends_.at(static_cast<std::size_t>(life) - 1);
}

void ServerProcess::give_up() {
  const MutexLock lock(mutex_);
  over_ = true;
  changed_.notify_all();
}

}  // namespace sublet::history
