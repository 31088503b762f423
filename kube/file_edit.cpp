#include "kube/file_edit.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <thread>

#include "sublet/base/files.h"

namespace sublet::kube {
namespace {

constexpr std::string_view kOurMark = "sublet";

tl::unexpected<Status> system_failure(const std::string& what, const std::string& path) {
  const Reason reason = errno == ENOENT ? Reason::not_found : errno == EACCES ? Reason::forbidden : Reason::unknown;
  return fail(reason, what + " " + path + ": " + std::strerror(errno));
}

/// The lock file that a killed sublet left behind, taken over; -1 when it is held, foreign or gone.
int take_over(const std::string& lock_path) {
  const int fd = ::open(lock_path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW);
  if (fd < 0) return -1;
  char mark[kOurMark.size()] = {};
  const bool ours = lock_while_there(fd, lock_path) && ::pread(fd, mark, sizeof(mark), 0) == sizeof(mark) &&
                    std::string_view(mark, sizeof(mark)) == kOurMark;
  if (ours) return fd;
  ::close(fd);
  return -1;
}

int create_lock(const std::string& lock_path) {
  const int fd = ::open(lock_path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0) return -1;
  // The mark comes after the kernel lock: whoever sees the mark can trust the lock.
  if (::flock(fd, LOCK_EX | LOCK_NB) == 0) write_all(fd, std::string(kOurMark) + " " + std::to_string(::getpid()));
  return fd;
}

Outcome make_folder_of(const std::filesystem::path& file) {
  if (file.parent_path().empty() || std::filesystem::exists(file.parent_path())) return {};
  std::error_code error;
  std::filesystem::create_directories(file.parent_path().parent_path(), error);
  if (::mkdir(file.parent_path().c_str(), 0700) != 0 && errno != EEXIST)
    return system_failure("cannot make the folder", file.parent_path().string());
  return {};
}

}  // namespace

Result<FileLock> FileLock::take(const std::string& path, std::chrono::milliseconds patience) {
  const std::string lock_path = path + ".lock";
  if (auto made = make_folder_of(path); !made) return fail(made.error());
  const auto deadline = std::chrono::steady_clock::now() + patience;
  for (std::chrono::milliseconds pause{2};; pause = std::min(pause * 2, std::chrono::milliseconds(50))) {
    int fd = create_lock(lock_path);
    if (fd < 0 && errno != EEXIST) return system_failure("cannot make the lock file", lock_path);
    if (fd < 0) fd = take_over(lock_path);
    if (fd >= 0) return FileLock(lock_path, fd);
    if (std::chrono::steady_clock::now() >= deadline)
      return fail(Reason::conflict, "another program holds " + lock_path +
                                        "; when none is running any more, remove that file and try again");
    std::this_thread::sleep_for(pause);
  }
}

FileLock::FileLock(FileLock&& other) noexcept
    : lock_path_(std::move(other.lock_path_)), fd_(std::exchange(other.fd_, -1)) {}

FileLock::~FileLock() {
  if (fd_ < 0) return;
  ::unlink(lock_path_.c_str());
  ::close(fd_);
}

std::string resolve_links(const std::string& path) {
  std::error_code error;
  const std::filesystem::path resolved = std::filesystem::weakly_canonical(path, error);
  return error ? path : resolved.string();
}

Outcome replace_user_file(const std::string& path, const std::string& text) {
  const std::string target = resolve_links(path);
  if (auto made = make_folder_of(target); !made) return made;
  struct stat before;
  const bool existed = ::stat(target.c_str(), &before) == 0;
  if (existed && ::access(target.c_str(), W_OK) != 0) return system_failure("cannot write", target);
  return replace_file(target, text, existed ? &before : nullptr);
}

}  // namespace sublet::kube
