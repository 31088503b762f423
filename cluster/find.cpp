#include "sublet/base/nearest.h"
#include "sublet/cluster/driver.h"

namespace sublet::cluster {
namespace {

bool is_asked_for(const auto& record, const std::string& name, const std::string& host_namespace) {
  return record.name == name && (host_namespace.empty() || record.host_namespace == host_namespace);
}

Status no_such_cluster(const std::string& name, const std::string& host_namespace,
                       const std::vector<VirtualCluster>& clusters) {
  Status status;
  status.reason = Reason::not_found;
  status.message = "no virtual cluster " + name + (host_namespace.empty() ? "" : " in namespace " + host_namespace);
  const VirtualCluster* nearest = nullptr;
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
      return internal_error(damaged->why + "; to give it up: sublet delete " + name + " -n " + damaged->host_namespace +
                            " --force");
    return fail(no_such_cluster(name, host_namespace, records.clusters));
  }
  std::string where;
  for (const auto* cluster : found) where += (where.empty() ? "" : ", ") + cluster->host_namespace;
  return bad_request("there are several virtual clusters " + name + ": in namespaces " + where + "; say which with -n");
}

}  // namespace sublet::cluster
