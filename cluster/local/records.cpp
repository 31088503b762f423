#include "cluster/local/records.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <tuple>

namespace sublet::cluster {

namespace fs = std::filesystem;

namespace {

constexpr const char* kOwnFolder = "; set SUBLET_STATE_DIR to a folder of your own";

std::string octal(mode_t mode) {
  char text[8];
  std::snprintf(text, sizeof text, "%04o", static_cast<unsigned>(mode & 07777));
  return text;
}

// Refuses a path on which others can put another folder in place of ours: a part of it lies in a folder that everybody
// may write and that has no sticky bit, or is a symbolic link of another user.
Outcome check_path(const fs::path& path) {
  fs::path partial;
  struct stat parent {};
  for (const fs::path& part : path) {
    partial /= part;
    struct stat info {};
    if (::lstat(partial.c_str(), &info) != 0) return {};  // the rest does not exist
    const bool replaceable = (parent.st_mode & S_IWOTH) != 0 && (parent.st_mode & S_ISVTX) == 0;
    const bool foreign_link = S_ISLNK(info.st_mode) && info.st_uid != 0 && info.st_uid != ::geteuid();
    if (replaceable || foreign_link)
      return fail(Reason::forbidden, "the state folder " + path.string() + " is not safe: " + partial.string() +
                                         (foreign_link ? " is a symbolic link of user " + std::to_string(info.st_uid)
                                                       : " is in a folder that every user may change (mode " +
                                                             octal(parent.st_mode) + ")") +
                                         kOwnFolder);
    if (::stat(partial.c_str(), &parent) != 0) return {};
  }
  return {};
}

}  // namespace

LocalLayout layout_of(const std::string& state_folder, const std::string& host_namespace, const std::string& name) {
  return LocalLayout(state_folder + "/clusters/" + host_namespace + "/" + name);
}

Records read_records(const std::string& state_folder) {
  Records records;
  std::error_code error;
  for (const auto& host_namespace : fs::directory_iterator(state_folder + "/clusters", error)) {
    for (const auto& entry : fs::directory_iterator(host_namespace.path(), error)) {
      auto cluster = LocalLayout(entry.path().string()).load();
      if (cluster)
        records.clusters.push_back(std::move(*cluster));
      else if (!cluster.error().is(Reason::not_found))
        records.damaged.push_back(
            {entry.path().filename(), host_namespace.path().filename(), entry.path(), cluster.error().message});
    }
  }
  const auto place = [](const auto& record) { return std::tie(record.host_namespace, record.name); };
  std::ranges::sort(records.clusters, {}, place);
  std::ranges::sort(records.damaged, {}, place);
  return records;
}

Outcome empty_cluster_folder(const LocalLayout& layout) {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(layout.folder(), error))
    if (entry.path() != layout.record_path() && entry.path() != layout.create_lock_path() && !error)
      fs::remove_all(entry, error);
  if (!error) fs::remove(layout.record_path(), error);
  if (error && error != std::errc::no_such_file_or_directory)
    return internal_error("cannot remove the files in " + layout.folder() + ": " + error.message());
  return {};
}

Outcome remove_cluster_folder(const LocalLayout& layout) {
  if (auto emptied = empty_cluster_folder(layout); !emptied) return emptied;
  std::error_code error;
  fs::remove(layout.create_lock_path(), error);
  fs::remove(layout.folder(), error);
  if (error && error != std::errc::no_such_file_or_directory && error != std::errc::directory_not_empty)
    return internal_error("cannot remove " + layout.folder() + ": " + error.message());
  fs::remove(fs::path(layout.folder()).parent_path(), error);  // fails unless it was the last in it
  return {};
}

Outcome check_state_folder(const std::string& state_folder) {
  if (auto safe = check_path(state_folder); !safe) return safe;
  struct stat info {};
  if (::stat(state_folder.c_str(), &info) != 0) {
    if (errno == ENOENT) return {};  // it is to be made, as ours
    return fail(errno == EACCES ? Reason::forbidden : Reason::bad_request,
                "the state folder " + state_folder + " cannot be read: " + std::strerror(errno) + kOwnFolder);
  }
  if (!S_ISDIR(info.st_mode)) return bad_request("the state folder " + state_folder + " is not a folder" + kOwnFolder);
  if (info.st_uid == ::geteuid()) return {};
  return fail(Reason::forbidden, "the state folder " + state_folder + " belongs to user " +
                                     std::to_string(info.st_uid) + ", not to user " + std::to_string(::geteuid()) +
                                     "; work as its owner, or set SUBLET_STATE_DIR to a folder of your own");
}

}  // namespace sublet::cluster
