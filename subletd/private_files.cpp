#include "subletd/private_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace sublet::subletd {
namespace {

tl::unexpected<Status> file_error(std::string_view doing, const std::string& path) {
  return internal_error(std::string(doing) + " " + path + ": " + std::strerror(errno));
}

bool write_all(int fd, std::string_view content) {
  while (!content.empty()) {
    const ssize_t written = write(fd, content.data(), content.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    content.remove_prefix(static_cast<std::size_t>(written));
  }
  return fsync(fd) == 0;
}

}  // namespace

Outcome make_private_folder(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error) return internal_error("cannot create the folder " + path + ": " + error.message());
  if (chmod(path.c_str(), 0700) != 0) return file_error("cannot protect the folder", path);
  return {};
}

Outcome write_private_file(const std::string& path, std::string_view content) {
  std::string temporary = path + ".XXXXXX";
  const int fd = mkstemp(temporary.data());  // mode 0600
  if (fd < 0) return file_error("cannot create", temporary);
  const bool written = write_all(fd, content);
  close(fd);
  if (written && rename(temporary.c_str(), path.c_str()) == 0) return {};
  const auto failure = file_error("cannot write", path);
  unlink(temporary.c_str());
  return failure;
}

Result<std::optional<std::string>> read_file(const std::string& path) {
  struct stat info {};
  if (stat(path.c_str(), &info) != 0) {
    if (errno == ENOENT) return std::optional<std::string>();
    return file_error("cannot read", path);
  }
  std::ifstream file(path, std::ios::binary);
  std::ostringstream content;
  content << file.rdbuf();
  if (!file) return file_error("cannot read", path);
  return std::optional(content.str());
}

}  // namespace sublet::subletd
