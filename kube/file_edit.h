// Changing a user's file so that neither a crash nor another writer can damage it.
//
// FileLock is a lock file made with O_EXCL, as client-go's: "<path>.lock". Ours also hold a kernel lock and say so in
// their content, so that one left behind by a killed process is taken over at once; a foreign one is waited for and
// never broken. replace_user_file() is base/files' replace_file() for a file that is not ours: mode, owner and links
// stay.
#pragma once

#include <chrono>
#include <string>

#include "sublet/base/status.h"

namespace sublet::kube {

class FileLock {
 public:
  /// Waits up to `patience` for another holder.
  static Result<FileLock> take(const std::string& path, std::chrono::milliseconds patience = std::chrono::seconds(10));
  FileLock(FileLock&& other) noexcept;
  FileLock& operator=(FileLock&&) = delete;
  ~FileLock();

 private:
  FileLock(std::string lock_path, int fd) : lock_path_(std::move(lock_path)), fd_(fd) {}
  std::string lock_path_;
  int fd_ = -1;
};

/// The file behind symbolic links; the path itself when there is none yet.
std::string resolve_links(const std::string& path);
/// Puts `text` in the place of the file (through links), or makes it with mode 0600 (and its folder with 0700).
Outcome replace_user_file(const std::string& path, const std::string& text);

}  // namespace sublet::kube
