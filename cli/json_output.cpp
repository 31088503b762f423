#include "cli/json_output.h"

#include <cstdio>

#include "cli/context_name.h"

namespace sublet::cli {

nlohmann::json json_object(const std::string& kind) { return {{"apiVersion", "cli.sublet.dev/v1"}, {"kind", kind}}; }

nlohmann::json cluster_json(const cluster::VirtualCluster& cluster, const cluster::LogPlaces& logs) {
  nlohmann::json out = json_object("VirtualCluster");
  out["name"] = cluster.name;
  out["namespace"] = cluster.host_namespace;
  out["created"] = cluster.created;
  out["host"] = host_text(cluster);
  out["endpoint"] = "https://" + cluster.listen;
  out["context"] = context_name(cluster);
  out["template"] = cluster.template_file;
  out["uid"] = cluster.uid;
  if (cluster.quota.objects) out["quota"]["objects"] = *cluster.quota.objects;
  if (cluster.quota.bytes) out["quota"]["bytes"] = *cluster.quota.bytes;
  for (const auto& [daemon, place] : logs.by_daemon) out["logs"][daemon] = place;
  return out;
}

void print_json(const nlohmann::json& document) {
  std::printf("%s\n", document.dump(2, ' ', false, nlohmann::json::error_handler_t::replace).c_str());
  std::fflush(stdout);
}

}  // namespace sublet::cli
