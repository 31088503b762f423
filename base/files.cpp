#include "sublet/base/files.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "sublet/base/descriptor.h"

namespace sublet {
namespace {

constexpr std::size_t kFileBytesMax = 64 * 1024 * 1024;

Reason reason_of(int error) {
  switch (error) {
    case ENOENT:
      return Reason::not_found;
    case EACCES:
      return Reason::forbidden;
    case EISDIR:
      return Reason::bad_request;
    default:
      return Reason::internal_error;
  }
}

tl::unexpected<Status> file_failure(const std::string& doing, const std::string& path, int error) {
  return fail(reason_of(error), doing + " " + path + ": " + std::strerror(error));
}

// Without it the entry (a rename, a new folder) may be lost in a crash. A folder that may not be read, or a file system
// that syncs no folders, leaves nothing to do.
Outcome sync_folder_of(const std::filesystem::path& path) {
  const std::string folder = path.parent_path().empty() ? "." : path.parent_path().string();
  const Descriptor opened{::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
  if (opened.get() >= 0 ? ::fsync(opened.get()) == 0 || errno == EINVAL || errno == ENOTSUP : errno == EACCES)
    return {};
  return file_failure("cannot sync the folder", folder, errno);
}

// Gives an open file the mode and owner of another; false with errno set when it cannot have that mode.
bool take_after(int fd, const struct stat& like) {
  if (::fchmod(fd, like.st_mode & 07777) != 0) return false;
  if (::fchown(fd, like.st_uid, like.st_gid) != 0) ::fchmod(fd, 0600);  // not root: the file is ours
  return true;
}

}  // namespace

Result<std::string> read_file(const std::string& path) {
  const Descriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
  if (file.get() < 0) return file_failure("cannot read", path, errno);
  std::string out;
  char buffer[16 * 1024];
  for (;;) {
    const ssize_t got = ::read(file.get(), buffer, sizeof(buffer));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return file_failure("cannot read", path, errno);
    if (got == 0) return out;
    out.append(buffer, static_cast<std::size_t>(got));
    if (out.size() > kFileBytesMax) return bad_request(path + " is larger than 64 MiB");
  }
}

bool write_all(int fd, std::string_view content) {
  while (!content.empty()) {
    const ssize_t written = ::write(fd, content.data(), content.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    content.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

Outcome replace_file(const std::string& path, std::string_view content, const struct stat* like) {
  std::string temporary = path + ".XXXXXX";
  const Descriptor file{::mkostemp(temporary.data(), O_CLOEXEC)};  // mode 0600
  if (file.get() < 0) return file_failure("cannot make a file beside", path, errno);
  const bool renamed = write_all(file.get(), content) && (!like || take_after(file.get(), *like)) &&
                       ::fsync(file.get()) == 0 && ::rename(temporary.c_str(), path.c_str()) == 0;
  const int error = errno;
  if (!renamed) ::unlink(temporary.c_str());
  if (!renamed) return file_failure("cannot write", path, error);
  return sync_folder_of(path);
}

Outcome make_private_folder(const std::string& path) {
  std::filesystem::path partial;
  for (const auto& part : std::filesystem::path(path)) {
    partial /= part;
    if (::mkdir(partial.c_str(), 0700) == 0) {
      if (auto synced = sync_folder_of(partial); !synced) return synced;
    } else if (errno != EEXIST) {
      return file_failure("cannot make the folder", partial.string(), errno);
    }
  }
  if (::chmod(path.c_str(), 0700) != 0) return file_failure("cannot close to others the folder", path, errno);
  return {};
}

bool lock_while_there(int fd, const std::string& path) {
  struct stat mine, there;
  return ::flock(fd, LOCK_EX | LOCK_NB) == 0 && ::fstat(fd, &mine) == 0 && ::stat(path.c_str(), &there) == 0 &&
         mine.st_ino == there.st_ino && mine.st_dev == there.st_dev;
}

}  // namespace sublet
