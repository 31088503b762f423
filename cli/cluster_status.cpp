#include "cli/cluster_status.h"

#include "cli/daemon.h"
#include "cli/embedded_host.h"
#include "cli/state.h"
#include "sublet/kube/kubeconfig.h"

namespace sublet::cli {

std::string current_context() { return kube::kubeconfig_current_context(kube::default_kubeconfig_path()).value_or(""); }

ClusterStatus probe(const syncer::VirtualCluster& cluster, const std::string& current) {
  ClusterStatus out{"Stopped", "-", current == context_name(cluster)};
  if (!daemon_runs(cluster.folder + "/daemon.lock")) return out;
  out.status = "Starting";
  const auto access = kube::load_kubeconfig(cluster.admin_kubeconfig_path());
  if (!access) return out;
  net::LoopThread loop("probe");
  auto transport = kube::connect(loop.loop(), *access);
  if (!transport) return out;
  const kube::Client client(*transport, {.timeout = std::chrono::seconds(2)});
  const auto answer = client.raw("GET", "/version");
  if (!answer || answer->code != 200) return out;
  const auto version = schema::Document::parse_json(answer->body);
  out.status = cluster.embedded_host && !embedded_host_runs() ? "HostDown" : "Running";
  if (version) out.version = version->root()["gitVersion"].string("-");
  return out;
}

}  // namespace sublet::cli
