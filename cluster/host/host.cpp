#include "cluster/host/host.h"

#include <algorithm>
#include <filesystem>

namespace sublet::cluster {
namespace {

constexpr const char* kEmbeddedContext = "embedded";
Result<Host> make_host(const HostConnector& connect, kube::ClusterAccess access, std::string context, bool embedded) {
  auto transport = connect(access);
  if (!transport) return fail(transport.error());
  kube::Client client(*transport, {.user_agent = "sublet", .timeout = std::chrono::seconds(20)});
  return Host{std::move(access), std::move(context), embedded, std::move(client)};
}

// Makes the paths of a list as in $KUBECONFIG absolute, because it is read again from another folder.
std::string absolute(std::string_view list) {
  std::string out;
  for (std::size_t at = 0; at <= list.size();) {
    const std::size_t end = std::min(list.find(':', at), list.size());
    std::error_code error;
    const std::filesystem::path path = std::filesystem::absolute(list.substr(at, end - at), error);
    if (end > at) out += (out.empty() ? "" : ":") + (error ? std::string(list.substr(at, end - at)) : path.string());
    at = end + 1;
  }
  return out;
}

}  // namespace

Result<Host> embedded_host(const HostConnector& connect, kube::ClusterAccess access) {
  return make_host(connect, std::move(access), kEmbeddedContext, true);
}

Result<Host> host_from_kubeconfig(const HostConnector& connect, const std::string& path, const std::string& context) {
  const std::string file = path.empty() ? kube::default_kubeconfig_path() : path;
  auto access = kube::load_kubeconfig(file, context);
  if (!access) return fail(access.error());
  const std::string name = access->context_name;
  auto host = make_host(connect, std::move(*access), name, false);
  if (!host) return host;
  host->kubeconfig = absolute(file);
  const auto answer = host->client.raw("GET", "/version");
  if (!answer)
    return fail(Reason::service_unavailable,
                "the host of context " + name + " does not answer: " + answer.error().message);
  if (answer->code != 200)
    return fail(reason_from_http_code(answer->code), "the host of context " + name + " answers " +
                                                         std::to_string(answer->code) + "; are the credentials valid?");
  return host;
}

void warn_if_unverified(const Host& host, Progress& progress) {
  if (!host.access.insecure_skip_tls_verify) return;
  progress.warn(
      "the certificate of the host of context " + host.context +
      " is not verified (insecure-skip-tls-verify in its kubeconfig): anyone on the network path can read and "
      "change what the syncer carries; name its CA there instead (certificate-authority)");
}

Result<Host> host_of(const HostConnector& connect, const VirtualCluster& cluster, const kube::ClusterAccess& stored,
                     const HostChoice& choice) {
  if (choice.given()) return host_from_kubeconfig(connect, choice.kubeconfig, choice.context);
  // An earlier version stored the operator's access itself.
  if (cluster.host_kubeconfig.empty()) return make_host(connect, stored, cluster.host_context, cluster.embedded_host);
  auto host = host_from_kubeconfig(connect, cluster.host_kubeconfig, cluster.host_context);
  const std::string next = "; name the host's kubeconfig with --host-kubeconfig FILE";
  if (!host) {
    Status status = host.error();
    status.message += next;
    return fail(std::move(status));
  }
  if (host->access.server != stored.server)
    return fail(Reason::conflict, "context " + cluster.host_context + " in " + cluster.host_kubeconfig + " is now of " +
                                      host->access.server + ", and the host of virtual cluster " + cluster.name +
                                      " is " + stored.server + next);
  return host;
}

}  // namespace sublet::cluster
