// The library of disk_faults.h. Plain calls of the C library stand behind each function; nothing here allocates.
#include "tests/history/disk_faults.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/types.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <ctime>

namespace {

using sublet::history::DiskFaults;

DiskFaults* shared() {
  static DiskFaults* const faults = []() -> DiskFaults* {
    const char* path = std::getenv(sublet::history::kDiskFaultsVariable);
    const int file = path == nullptr ? -1 : ::open(path, O_RDWR | O_CLOEXEC);
    if (file < 0) return nullptr;
    void* memory = ::mmap(nullptr, sizeof(DiskFaults), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    ::close(file);
    return memory == MAP_FAILED ? nullptr : static_cast<DiskFaults*>(memory);
  }();
  return faults;
}

template <typename Function>
Function* next(const char* name) {
  return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

std::uint32_t random_below(std::uint32_t bound) {
  static thread_local std::uint64_t state = 0;
  if (state == 0) {
    timespec now{};
    ::clock_gettime(CLOCK_MONOTONIC, &now);
    state = static_cast<std::uint64_t>(now.tv_nsec) * 2654435761u + 1;
  }
  state = state * 6364136223846793005u + 1442695040888963407u;
  return static_cast<std::uint32_t>(state >> 33) % bound;
}

/// True for one of the calls that are to fail.
bool take_one(std::atomic<std::int32_t>& left) {
  for (std::int32_t n = left.load(); n > 0;)
    if (left.compare_exchange_weak(n, n - 1)) return true;
  return false;
}

int fail(DiskFaults& faults, int error) {
  (error == ENOSPC ? faults.refused_writes : faults.failed_calls)++;
  errno = error;
  return -1;
}

ssize_t write_at(ssize_t (*real)(int, const void*, size_t, off64_t), int file, const void* data, size_t size,
                 off64_t offset) {
  DiskFaults* faults = shared();
  if (faults == nullptr) return real(file, data, size, offset);
  if (take_one(faults->failing_writes)) return fail(*faults, EIO);
  if (random_below(1000) < faults->full_per_mille) {
    if (size > 1) real(file, data, size / 2, offset);  // what fitted
    return fail(*faults, ENOSPC);
  }
  return real(file, data, size, offset);
}

int sync_with(int (*real)(int), int file) {
  DiskFaults* faults = shared();
  if (faults == nullptr) return real(file);
  if (const std::uint32_t most = faults->slow_us; most > 0) {
    const std::uint32_t us = random_below(most);
    const timespec pause{us / 1'000'000, static_cast<long>(us % 1'000'000) * 1000};
    ::nanosleep(&pause, nullptr);
    ++faults->slow_syncs;
  }
  if (take_one(faults->failing_syncs)) return fail(*faults, EIO);
  return real(file);
}

}  // namespace

extern "C" {

ssize_t pwrite64(int file, const void* data, size_t size, off64_t offset) {
  static const auto real = next<ssize_t(int, const void*, size_t, off64_t)>("pwrite64");
  return write_at(real, file, data, size, offset);
}
ssize_t pwrite(int file, const void* data, size_t size, off_t offset) {
  static const auto real = next<ssize_t(int, const void*, size_t, off64_t)>("pwrite64");
  return write_at(real, file, data, size, offset);
}
int fdatasync(int file) {
  static const auto real = next<int(int)>("fdatasync");
  return sync_with(real, file);
}
int fsync(int file) {
  static const auto real = next<int(int)>("fsync");
  return sync_with(real, file);
}
}
