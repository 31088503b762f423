#include "cluster/local/records.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <tuple>

namespace sublet::cluster {

namespace fs = std::filesystem;

std::string cluster_folder(const std::string& state_folder, const std::string& host_namespace,
                           const std::string& name) {
  return state_folder + "/clusters/" + host_namespace + "/" + name;
}

std::string create_lock_path(const std::string& folder) { return folder + "/create.lock"; }

Records read_records(const std::string& state_folder) {
  Records records;
  std::error_code error;
  for (const auto& host_namespace : fs::directory_iterator(state_folder + "/clusters", error)) {
    for (const auto& entry : fs::directory_iterator(host_namespace.path(), error)) {
      auto cluster = VirtualCluster::load(entry.path().string());
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

Outcome empty_cluster_folder(const std::string& folder) {
  const std::string record = VirtualCluster::record_path_in(folder);
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error))
    if (entry.path() != record && entry.path() != create_lock_path(folder) && !error) fs::remove_all(entry, error);
  if (!error) fs::remove(record, error);
  if (error && error != std::errc::no_such_file_or_directory)
    return internal_error("cannot remove what is in " + folder + ": " + error.message());
  return {};
}

Outcome remove_cluster_folder(const std::string& folder) {
  if (auto emptied = empty_cluster_folder(folder); !emptied) return emptied;
  std::error_code error;
  fs::remove_all(folder, error);
  if (error) return internal_error("cannot remove " + folder + ": " + error.message());
  fs::remove(fs::path(folder).parent_path(), error);  // when it was the last in it
  return {};
}

Outcome check_state_folder(const std::string& state_folder) {
  struct stat info {};
  if (::stat(state_folder.c_str(), &info) != 0) return {};  // it is to be made, as ours
  if (!S_ISDIR(info.st_mode)) return bad_request("the state folder " + state_folder + " is not a folder");
  if (info.st_uid == ::geteuid()) return {};
  return fail(Reason::forbidden, "the state folder " + state_folder + " belongs to user " +
                                     std::to_string(info.st_uid) + ", not to user " + std::to_string(::geteuid()) +
                                     "; work as its owner, or set SUBLET_STATE_DIR to a folder of your own");
}

}  // namespace sublet::cluster
