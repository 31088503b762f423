#include "cluster/host.h"

#include "cluster/owner.h"
#include "cluster/pod_access.h"
#include "cluster/policies.h"
#include "cluster/wait_until.h"

namespace sublet::cluster {

namespace {

using schema::Document;
using schema::Value;

constexpr const char* kEmbeddedContext = "embedded";
constexpr const char* kCreatedByLabel = "sublet.dev/created-by";  // on a namespace that sublet made
constexpr const char* kCreatedBySublet = "sublet";

Result<Host> make_host(const HostConnector& connect, kube::ClusterAccess access, std::string context, bool embedded) {
  auto transport = connect(access);
  if (!transport) return fail(transport.error());
  kube::Client client(*transport, {.user_agent = "sublet", .timeout = std::chrono::seconds(20)});
  return Host{std::move(access), std::move(context), embedded, std::move(client)};
}

Document manifest(std::string_view api_version, std::string_view kind, std::string_view name) {
  Document document = Document::object();
  Value root = document.root();
  root.put("apiVersion", api_version);
  root.put("kind", kind);
  root.object("metadata").put("name", name);
  return document;
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
  const auto answer = host->client.raw("GET", "/version");
  if (!answer)
    return fail(Reason::service_unavailable,
                "the host of context " + name + " does not answer: " + answer.error().message);
  if (answer->code != 200)
    return fail(reason_from_http_code(answer->code), "the host of context " + name + " answers " +
                                                         std::to_string(answer->code) + "; are the credentials valid?");
  return host;
}

void tell_of_unverified(const Host& host, Progress& progress) {
  if (!host.access.insecure_skip_tls_verify) return;
  progress.warn("the certificate of the host of context " + host.context +
                " is not verified (insecure-skip-tls-verify in its kubeconfig): whoever stands in between can read and "
                "change all that crosses; name its CA there instead (certificate-authority)");
}

Result<Host> host_of(const HostConnector& connect, const VirtualCluster& cluster) {
  auto access = kube::load_kubeconfig(cluster.host_kubeconfig_path());
  if (!access) return fail(access.error());
  return make_host(connect, std::move(*access), cluster.host_context, cluster.embedded_host);
}

namespace {

// One that is terminating takes nothing in: its end is waited for.
Outcome make_namespace(const Host& host, const std::string& host_namespace,
                       std::chrono::steady_clock::time_point deadline) {
  const Document wanted = manifest("v1", "Namespace", host_namespace);
  wanted.root().object("metadata").object("labels").put(kCreatedByLabel, kCreatedBySublet);
  for (;;) {
    const auto created = host.client.create(kNamespaces, "", wanted.root());
    if (created) return {};
    if (!created.error().is(Reason::already_exists)) return fail(created.error());
    const auto existing = host.client.get(kNamespaces, "", host_namespace);
    if (!existing && existing.error().is(Reason::not_found)) continue;
    if (!existing) return fail(existing.error());
    if (!existing->root()["metadata"].has("deletionTimestamp")) return {};
    if (!wait_until_namespace_is_gone(host, host_namespace, deadline))
      return fail(Reason::conflict,
                  "namespace " + host_namespace + " is being deleted on the host; wait until it is gone");
  }
}

Outcome make_service_account(const Host& host, const VirtualCluster& cluster) {
  const Document account = manifest("v1", "ServiceAccount", cluster.host_service_account);
  account.root().put("automountServiceAccountToken", false);
  Value labels = account.root().object("metadata").object("labels");
  labels.put(syncer::kLabelManagedBy, cluster.name);
  labels.put(syncer::kLabelTenantUid, cluster.uid);
  const auto made = host.client.create(kServiceAccounts, cluster.host_namespace, account.root());
  if (made) return {};
  if (!made.error().is(Reason::already_exists)) return fail(made.error());
  const auto there = host.client.get(kServiceAccounts, cluster.host_namespace, cluster.host_service_account);
  if (!there) return fail(there.error());
  if (there->root()["metadata"]["labels"][syncer::kLabelTenantUid].text() == cluster.uid) return {};
  return fail(Reason::already_exists,
              "ServiceAccount " + cluster.host_service_account + " is there, and is not of virtual cluster " +
                  cluster.name + " (" + host_selector(cluster) +
                  "); its pods would run with whatever rights it has. Remove it, or take another name");
}

// What pods are told is in the record before any daemon reads it.
Outcome open_to_pods(const Host& host, VirtualCluster& cluster) {
  if (!cluster.pod_access.given()) return {};
  const auto address = keep_pod_access(host, cluster);
  if (!address) return fail(address.error());
  if (cluster.pod_access.service_address == *address) return {};
  cluster.pod_access.service_address = *address;
  return cluster.save();
}

}  // namespace

Outcome prepare_host(const Host& host, VirtualCluster& cluster, std::chrono::steady_clock::time_point deadline) {
  auto prepared = make_namespace(host, cluster.host_namespace, deadline);
  if (prepared) prepared = take_name(host, cluster);
  if (prepared) prepared = make_service_account(host, cluster);
  if (prepared) prepared = open_to_pods(host, cluster);
  if (prepared) prepared = keep_policies(host, cluster);
  if (prepared) return prepared;
  Status status = prepared.error();
  status.message = "on the host of context " + host.context + ": " + status.message;
  if (status.is(Reason::unauthorized)) status.message += "; are the credentials in its kubeconfig valid?";
  return fail(std::move(status));
}

// The host's own word, not our record's: a create that was cut off may not have come to write it down.
std::optional<std::string> uid_of_namespace_by_sublet(const Host& host, const std::string& host_namespace) {
  const auto there = host.client.get(kNamespaces, "", host_namespace);
  if (!there || there->root()["metadata"]["labels"][kCreatedByLabel].text() != kCreatedBySublet) return std::nullopt;
  return there->root()["metadata"]["uid"].string();
}

bool wait_until_namespace_is_gone(const Host& host, const std::string& host_namespace,
                                  std::chrono::steady_clock::time_point deadline) {
  return wait_until(deadline, [&] {
    const auto there = host.client.get(kNamespaces, "", host_namespace);
    return !there && there.error().is(Reason::not_found);
  });
}

}  // namespace sublet::cluster
