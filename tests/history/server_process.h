// ServerProcess: a `subletd apiserver` on a folder and a port of its own, that is killed, or ends itself, and started
// again; with a disk that does what the test wants (disk_faults.h).
//
// A life is one process. Clients wait while there is none; a call that was under way when a
// life ended cannot have an effect after its end. Threads: lives(), end_of() and wait_for_life() from any; the rest
// from one.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>
#include <vector>

#include "bench/connection.h"
#include "sublet/base/mutex.h"
#include "tests/history/disk_faults.h"
#include "tests/history/linearizability.h"

namespace sublet::history {

/// Now, by the clock of all histories.
Moment now();

class ServerProcess {
 public:
  /// `program`: subletd; `faults_library`: empty for a disk without faults.
  ServerProcess(std::string program, std::string faults_library, std::string folder);
  ~ServerProcess();
  ServerProcess(const ServerProcess&) = delete;
  ServerProcess& operator=(const ServerProcess&) = delete;

  /// Starts a life, and returns when it serves; ends the program with the server's own words when it does not.
  void start();
  /// kill -9.
  void kill();
  /// SIGTERM, and the end that comes of it.
  void stop();
  /// Whether the life ended by itself, as it does after an I/O error; then it is over as after kill().
  bool ended();

  /// Waits while there is no life that serves; false when there will be none any more.
  bool wait_for_life();
  /// The newest life, from the moment on at which its process is made.
  int lives() const;
  /// When the life ended; kNever while it lasts.
  Moment end_of(int life) const;
  /// No further life: wait_for_life() returns false.
  void give_up();

  const bench::ClientTls& tls() const { return *tls_; }
  DiskFaults& disk() { return *faults_; }
  /// The disk does as it should, from now on.
  void heal_disk();
  std::string log_path() const { return folder_ + "/server.log"; }

 private:
  void spawn();
  bool serves() const;
  void reap(int flags);
  [[noreturn]] void die(const std::string& what) const;

  const std::string program_, faults_library_, folder_;
  int port_ = 0;
  pid_t child_ = -1;
  DiskFaults* faults_ = nullptr;
  std::unique_ptr<bench::ClientTls> tls_;

  mutable Mutex mutex_;
  CondVar changed_;
  /// Of the lives; the last one's is kNever while it lasts.
  std::vector<Moment> ends_ SUBLET_GUARDED_BY(mutex_);
  bool serving_ SUBLET_GUARDED_BY(mutex_) = false, over_ SUBLET_GUARDED_BY(mutex_) = false;
};

}  // namespace sublet::history
