#include "cli/state.h"

#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "sublet/base/nearest.h"

namespace sublet::cli {
namespace {

namespace fs = std::filesystem;

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::string home_folder() {
  if (auto home = environment("HOME"); !home.empty()) return home;
  const passwd* entry = ::getpwuid(::getuid());
  return entry && entry->pw_dir ? entry->pw_dir : "";
}

Status no_such_cluster(const std::string& name, const std::string& host_namespace,
                       const std::vector<syncer::VirtualCluster>& clusters) {
  Status status;
  status.reason = Reason::not_found;
  status.message = "no virtual cluster " + name + (host_namespace.empty() ? "" : " in namespace " + host_namespace);
  const syncer::VirtualCluster* nearest = nullptr;
  for (const auto& cluster : clusters)
    if (!nearest || edit_distance(name, cluster.name) < edit_distance(name, nearest->name)) nearest = &cluster;
  if (nearest && nearest->name == name)
    status.message += "; there is one in namespace " + nearest->host_namespace;
  else if (nearest && edit_distance(name, nearest->name) <= 3)
    status.message += "; did you mean " + nearest->name + " (namespace " + nearest->host_namespace + ")?";
  else
    status.message += "; `sublet list` shows what there is, `sublet create " + name + "` makes it";
  return status;
}

}  // namespace

std::string state_folder() {
  // Absolute, for daemons run in another folder than the command that starts them.
  if (auto explicit_folder = environment("SUBLET_STATE_DIR"); !explicit_folder.empty())
    return fs::absolute(explicit_folder).lexically_normal().string();
  // A relative one is invalid and ignored, as the XDG base directory specification wants it.
  if (auto xdg = environment("XDG_STATE_HOME"); xdg.starts_with('/')) return xdg + "/sublet";
  return home_folder() + "/.local/state/sublet";
}

std::string cluster_folder(const std::string& host_namespace, const std::string& name) {
  return state_folder() + "/clusters/" + host_namespace + "/" + name;
}

std::string embedded_host_folder() { return state_folder() + "/host"; }

Records all_records() {
  Records records;
  std::error_code error;
  for (const auto& host_namespace : fs::directory_iterator(state_folder() + "/clusters", error)) {
    for (const auto& entry : fs::directory_iterator(host_namespace.path(), error)) {
      if (!fs::exists(entry.path() / "virtual-cluster.json")) continue;  // being created, or being deleted
      auto cluster = syncer::VirtualCluster::load(entry.path().string());
      if (cluster)
        records.clusters.push_back(std::move(*cluster));
      else
        records.damaged.push_back(
            {entry.path().filename(), host_namespace.path().filename(), entry.path(), cluster.error().message});
    }
  }
  std::ranges::sort(records.clusters, {},
                    [](const auto& cluster) { return std::tie(cluster.host_namespace, cluster.name); });
  return records;
}

std::optional<DamagedRecord> find_damaged(const std::string& name, const std::string& host_namespace) {
  for (auto& record : all_records().damaged)
    if (record.name == name && (host_namespace.empty() || record.host_namespace == host_namespace)) return record;
  return std::nullopt;
}

Result<syncer::VirtualCluster> find_cluster(const std::string& name, const std::string& host_namespace) {
  const auto clusters = all_records().clusters;
  std::vector<const syncer::VirtualCluster*> found;
  for (const auto& cluster : clusters)
    if (cluster.name == name && (host_namespace.empty() || cluster.host_namespace == host_namespace))
      found.push_back(&cluster);
  if (found.size() == 1) return *found.front();
  if (found.empty()) {
    if (const auto damaged = find_damaged(name, host_namespace))
      return internal_error(damaged->why + "; to give it up: sublet delete " + name + " -n " + damaged->host_namespace +
                            " --force");
    return fail(no_such_cluster(name, host_namespace, clusters));
  }
  std::string where;
  for (const auto* cluster : found) where += (where.empty() ? "" : ", ") + cluster->host_namespace;
  return bad_request("there are several virtual clusters " + name + ": in namespaces " + where + "; say which with -n");
}

std::string context_name(const syncer::VirtualCluster& cluster) {
  return "sublet_" + cluster.name + "_" + cluster.host_namespace + "_" + cluster.host_context;
}

}  // namespace sublet::cli
