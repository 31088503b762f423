#include "sublet/base/files.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

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

}  // namespace

Result<std::string> read_file(const std::string& path) {
  const Descriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
  if (file.fd < 0) return file_failure("cannot read", path, errno);
  std::string out;
  char buffer[16 * 1024];
  for (;;) {
    const ssize_t got = ::read(file.fd, buffer, sizeof(buffer));
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

Outcome write_private_file(const std::string& path, std::string_view content) {
  std::string temporary = path + ".XXXXXX";
  const Descriptor file{::mkostemp(temporary.data(), O_CLOEXEC)};  // mode 0600
  if (file.fd < 0) return file_failure("cannot write", path, errno);
  if (write_all(file.fd, content) && ::fsync(file.fd) == 0 && ::rename(temporary.c_str(), path.c_str()) == 0) return {};
  const int error = errno;
  ::unlink(temporary.c_str());
  return file_failure("cannot write", path, error);
}

Outcome make_private_folder(const std::string& path) {
  std::filesystem::path partial;
  for (const auto& part : std::filesystem::path(path)) {
    partial /= part;
    if (::mkdir(partial.c_str(), 0700) != 0 && errno != EEXIST)
      return file_failure("cannot make the folder", partial.string(), errno);
  }
  if (::chmod(path.c_str(), 0700) != 0) return file_failure("cannot close to others the folder", path, errno);
  return {};
}

Descriptor::~Descriptor() {
  if (fd >= 0) ::close(fd);
}

bool lock_while_there(int fd, const std::string& path) {
  struct stat mine, there;
  return ::flock(fd, LOCK_EX | LOCK_NB) == 0 && ::fstat(fd, &mine) == 0 && ::stat(path.c_str(), &there) == 0 &&
         mine.st_ino == there.st_ino && mine.st_dev == there.st_dev;
}

}  // namespace sublet
