#include "cli/state.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <numeric>
#include <sstream>

namespace sublet::cli {
namespace {

namespace fs = std::filesystem;

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// Levenshtein distance, for "did you mean".
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), 0);
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t above = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, diagonal + (a[i - 1] == b[j - 1] ? 0 : 1)});
      diagonal = above;
    }
  }
  return row[b.size()];
}

Status no_such_cluster(const std::string& name, const std::string& host_namespace,
                       const std::vector<syncer::VirtualCluster>& clusters) {
  Status status;
  status.reason = Reason::not_found;
  status.message = "no virtual cluster " + name + (host_namespace.empty() ? "" : " in namespace " + host_namespace);
  const syncer::VirtualCluster* nearest = nullptr;
  for (const auto& cluster : clusters)
    if (!nearest || distance(name, cluster.name) < distance(name, nearest->name)) nearest = &cluster;
  if (nearest && nearest->name == name)
    status.message += "; there is one in namespace " + nearest->host_namespace;
  else if (nearest && distance(name, nearest->name) <= 3)
    status.message += "; did you mean " + nearest->name + " (namespace " + nearest->host_namespace + ")?";
  else
    status.message += "; `sublet list` shows what there is, `sublet create " + name + "` makes it";
  return status;
}

}  // namespace

std::string state_folder() {
  if (auto explicit_folder = environment("SUBLET_STATE_DIR"); !explicit_folder.empty()) return explicit_folder;
  if (auto xdg = environment("XDG_STATE_HOME"); !xdg.empty()) return xdg + "/sublet";
  return environment("HOME") + "/.local/state/sublet";
}

std::string cluster_folder(const std::string& host_namespace, const std::string& name) {
  return state_folder() + "/clusters/" + host_namespace + "/" + name;
}

std::string embedded_host_folder() { return state_folder() + "/host"; }

Outcome make_private_folder(const std::string& path) {
  std::error_code error;
  fs::path partial;
  for (const auto& part : fs::path(path)) {
    partial /= part;
    if (::mkdir(partial.c_str(), 0700) != 0 && errno != EEXIST)
      return internal_error("cannot create folder " + partial.string() + ": " + std::strerror(errno));
  }
  fs::permissions(path, fs::perms::owner_all, error);
  if (error) return internal_error("cannot make " + path + " private: " + error.message());
  return {};
}

Outcome write_private_file(const std::string& path, std::string_view text) {
  const std::string temporary = path + ".new." + std::to_string(::getpid());
  const int fd = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (fd < 0) return internal_error("cannot write " + temporary + ": " + std::strerror(errno));
  bool good = true;
  for (std::string_view rest = text; good && !rest.empty();) {
    const ssize_t n = ::write(fd, rest.data(), rest.size());
    good = n > 0 || (n < 0 && errno == EINTR);
    if (n > 0) rest.remove_prefix(static_cast<std::size_t>(n));
  }
  good = good && ::fsync(fd) == 0;
  const int cause = errno;
  ::close(fd);
  if (good && ::rename(temporary.c_str(), path.c_str()) == 0) return {};
  ::unlink(temporary.c_str());
  return internal_error("cannot write " + path + ": " + std::strerror(good ? errno : cause));
}

Result<std::string> read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return fail(Reason::not_found, "cannot read " + path + ": " + std::strerror(errno));
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::vector<syncer::VirtualCluster> all_clusters() {
  std::vector<syncer::VirtualCluster> clusters;
  std::error_code error;
  for (const auto& host_namespace : fs::directory_iterator(state_folder() + "/clusters", error)) {
    for (const auto& entry : fs::directory_iterator(host_namespace.path(), error)) {
      if (!fs::exists(entry.path() / "virtual-cluster.json")) continue;  // being created, or being deleted
      auto cluster = syncer::VirtualCluster::load(entry.path().string());
      if (cluster)
        clusters.push_back(std::move(*cluster));
      else
        std::cerr << "sublet: " << cluster.error().message << "\n";
    }
  }
  std::sort(clusters.begin(), clusters.end(), [](const auto& a, const auto& b) {
    return std::tie(a.host_namespace, a.name) < std::tie(b.host_namespace, b.name);
  });
  return clusters;
}

Result<syncer::VirtualCluster> find_cluster(const std::string& name, const std::string& host_namespace) {
  const auto clusters = all_clusters();
  std::vector<const syncer::VirtualCluster*> found;
  for (const auto& cluster : clusters)
    if (cluster.name == name && (host_namespace.empty() || cluster.host_namespace == host_namespace))
      found.push_back(&cluster);
  if (found.size() == 1) return *found.front();
  if (found.empty()) return fail(no_such_cluster(name, host_namespace, clusters));
  std::string where;
  for (const auto* cluster : found) where += (where.empty() ? "" : ", ") + cluster->host_namespace;
  return bad_request("there are several virtual clusters " + name + ": in namespaces " + where + "; say which with -n");
}

std::string context_name(const syncer::VirtualCluster& cluster) {
  return "sublet_" + cluster.name + "_" + cluster.host_namespace + "_" + cluster.host_context;
}

}  // namespace sublet::cli
