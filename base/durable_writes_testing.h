// DurableWrites: what a test's program did to make files durable: the syncs and renames of this process while one
// lives, as "sync PATH" and "rename PATH" (a temporary file's random ending as ".*"). A chosen sync can be made to
// fail.
//
// It stands in libc's place: fsync() and rename() below are what the linker finds first. Include it in one .cpp of a
// test program; at most one lives at a time. Threads: any.
#pragma once

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <utility>
#include <vector>

#include "sublet/base/mutex.h"

namespace sublet::testing_support {

class DurableWrites {
 public:
  DurableWrites() { current() = this; }
  ~DurableWrites() { current() = nullptr; }
  DurableWrites(const DurableWrites&) = delete;
  DurableWrites& operator=(const DurableWrites&) = delete;

  std::vector<std::string> calls() const {
    const MutexLock lock(mutex_);
    return calls_;
  }
  /// From now on, instead of the one named before.
  void fail_sync_of(const std::string& path) {
    const MutexLock lock(mutex_);
    failing_ = path;
  }

  /// For fsync() and rename() below. False: it is to fail.
  bool note(const std::string& call, std::string path) {
    const MutexLock lock(mutex_);
    if (const auto dot = path.rfind('.'); path.size() - dot == 7) path.replace(dot, 7, ".*");  // mkostemp's XXXXXX
    calls_.push_back(call + " " + path);
    return call != "sync" || path != failing_;
  }
  static DurableWrites*& current() {
    static DurableWrites* one = nullptr;
    return one;
  }

 private:
  mutable Mutex mutex_;
  std::vector<std::string> calls_ SUBLET_GUARDED_BY(mutex_);
  std::string failing_ SUBLET_GUARDED_BY(mutex_);
};

}  // namespace sublet::testing_support

extern "C" int fsync(int fd) {
  char path[4096] = {};
  const auto link = "/proc/self/fd/" + std::to_string(fd);
  if (auto* writes = sublet::testing_support::DurableWrites::current();
      writes && ::readlink(link.c_str(), path, sizeof(path) - 1) > 0 && !writes->note("sync", path)) {
    errno = EIO;
    return -1;
  }
  return static_cast<int>(::syscall(SYS_fsync, fd));
}

extern "C" int rename(const char* from, const char* to) noexcept {
  if (auto* writes = sublet::testing_support::DurableWrites::current()) (void)writes->note("rename", to);
  return static_cast<int>(::syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0));
}
