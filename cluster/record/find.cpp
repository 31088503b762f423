#include <algorithm>

#include "sublet/base/nearest.h"
#include "sublet/cluster/driver.h"

namespace sublet::cluster {
namespace {

bool is_asked_for(const auto& record, const std::string& name, const std::string& host_namespace) {
  return record.name == name && (host_namespace.empty() || record.host_namespace == host_namespace);
}

std::size_t common_prefix(const std::string& a, const std::string& b) {
  return static_cast<std::size_t>(std::ranges::mismatch(a, b).in1 - a.begin());
}

// Of equally near names the one that begins alike, because typing errors are rare in the first letter. Null: none is
// near.
const VirtualCluster* nearest_cluster(const std::string& name, const std::vector<VirtualCluster>& clusters) {
  constexpr std::size_t kEditsMax = 3;
  const auto rank = [&](const VirtualCluster& cluster) {
    return std::pair(edit_distance(name, cluster.name), name.size() - common_prefix(name, cluster.name));
  };
  const auto nearest = std::ranges::min_element(clusters, {}, rank);
  if (nearest == clusters.end()) return nullptr;
  const std::size_t edits_max = std::min(kEditsMax, std::max<std::size_t>(1, name.size() / 2));
  return rank(*nearest).first <= edits_max ? &*nearest : nullptr;
}

Status no_such_cluster(const std::string& name, const std::string& host_namespace,
                       const std::vector<VirtualCluster>& clusters) {
  Status status;
  status.reason = Reason::not_found;
  status.message = "no virtual cluster " + name + (host_namespace.empty() ? "" : " in namespace " + host_namespace);
  const VirtualCluster* nearest = nearest_cluster(name, clusters);
  if (nearest && nearest->name == name)
    status.message += "; there is one in namespace " + nearest->host_namespace;
  else if (nearest)
    status.message += "; did you mean " + nearest->name + " (namespace " + nearest->host_namespace + ")?";
  else
    status.message += "; `sublet list` shows what there is, `sublet create " + name + "` makes it";
  return status;
}

}  // namespace

const DamagedRecord* find_damaged(const Records& records, const std::string& name, const std::string& host_namespace) {
  for (const auto& record : records.damaged)
    if (is_asked_for(record, name, host_namespace)) return &record;
  return nullptr;
}

Result<VirtualCluster> find_cluster(const Records& records, const std::string& name,
                                    const std::string& host_namespace) {
  std::vector<const VirtualCluster*> found;
  for (const auto& cluster : records.clusters)
    if (is_asked_for(cluster, name, host_namespace)) found.push_back(&cluster);
  if (found.size() == 1) return *found.front();
  if (found.empty()) {
    if (const auto* damaged = find_damaged(records, name, host_namespace))
      return fail(Reason::internal_error, damaged->why + "; to give it up: sublet delete " + name + " -n " +
                                              damaged->host_namespace + " --force");
    return fail(no_such_cluster(name, host_namespace, records.clusters));
  }
  std::string where;
  for (const auto* cluster : found) where += (where.empty() ? "" : ", ") + cluster->host_namespace;
  return bad_request("there are several virtual clusters " + name + ": in namespaces " + where + "; say which with -n");
}

}  // namespace sublet::cluster
