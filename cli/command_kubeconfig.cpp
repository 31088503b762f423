#include "cli/command_kubeconfig.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "sublet/base/files.h"

namespace sublet::cli {
namespace {

constexpr std::string_view kFirstPart = "connect-", kLastPart = ".kubeconfig";

// Makes the folder; refuses one that another user made or may enter, because the file is a credential.
Outcome make_folder(const std::string& folder) {
  if (::mkdir(folder.c_str(), 0700) == 0) return {};
  if (errno != EEXIST) return internal_error("cannot make " + folder + ": " + std::strerror(errno));
  struct stat info {};
  if (::lstat(folder.c_str(), &info) != 0) return internal_error(folder + ": " + std::strerror(errno));
  if (S_ISDIR(info.st_mode) && info.st_uid == ::geteuid() && (info.st_mode & 077) == 0) return {};
  return fail(Reason::forbidden, folder + " is not a folder of yours alone (mode 0700); remove it");
}

void remove_left_over(const std::string& folder) {
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(kFirstPart) || !name.ends_with(kLastPart)) continue;
    const Descriptor file(::open(entry.path().c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
    if (file && ::flock(file.get(), LOCK_EX | LOCK_NB) == 0) ::unlink(entry.path().c_str());
  }
}

Outcome write_file(int file, const std::string& path, const std::string& text) {
  if (file < 0) return internal_error("cannot write " + path + ": " + std::strerror(errno));
  ::flock(file, LOCK_SH);
  if (write_all(file, text)) return {};
  const std::string cause = std::strerror(errno);
  ::unlink(path.c_str());
  return internal_error("cannot write " + path + ": " + cause);
}

}  // namespace

std::vector<std::string> CommandKubeconfig::default_places() {
  std::vector<std::string> places;
  if (const char* runtime = std::getenv("XDG_RUNTIME_DIR"); runtime && *runtime == '/') places.emplace_back(runtime);
  places.emplace_back("/dev/shm");
  std::error_code error;
  if (const auto temporary = std::filesystem::temp_directory_path(error); !error) places.push_back(temporary.string());
  return places;
}

Outcome CommandKubeconfig::write(const kube::ClusterAccess& access, const std::vector<std::string>& places) {
  const std::string text = kube::render_kubeconfig(access);
  Outcome written = internal_error("there is no folder for temporary files");
  for (const std::string& place : places) {
    const std::string folder = place + "/sublet-" + std::to_string(::geteuid());
    if (written = make_folder(folder); !written) continue;
    remove_left_over(folder);
    const std::string path =
        folder + "/" + std::string(kFirstPart) + std::to_string(::getpid()) + std::string(kLastPart);
    // Not closed on exec: the command inherits the lock.
    Descriptor file(::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0600));
    if (written = write_file(file.get(), path, text); !written) continue;
    path_ = path;
    lock_ = std::move(file);
    return {};
  }
  return written;
}

CommandKubeconfig::~CommandKubeconfig() {
  if (!path_.empty()) ::unlink(path_.c_str());
}

}  // namespace sublet::cli
