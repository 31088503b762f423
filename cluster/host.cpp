#include "cluster/host.h"

#include <algorithm>
#include <array>
#include <filesystem>

#include "cluster/api_access.h"
#include "cluster/host_manifest.h"
#include "cluster/identity.h"
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

// Of a list as in $KUBECONFIG: it is read again from another folder.
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

Document unlabelled_manifest(std::string_view api_version, std::string_view kind, std::string_view name) {
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

void tell_of_unverified(const Host& host, Progress& progress) {
  if (!host.access.insecure_skip_tls_verify) return;
  progress.warn("the certificate of the host of context " + host.context +
                " is not verified (insecure-skip-tls-verify in its kubeconfig): whoever stands in between can read and "
                "change all that crosses; name its CA there instead (certificate-authority)");
}

Result<Host> host_of(const HostConnector& connect, const VirtualCluster& cluster, const HostChoice& choice) {
  if (choice.given()) return host_from_kubeconfig(connect, choice.kubeconfig, choice.context);
  auto stored = kube::load_kubeconfig(cluster.host_kubeconfig_path());
  if (!stored) return fail(stored.error());
  // An earlier version kept the operator's access itself.
  if (cluster.host_kubeconfig.empty())
    return make_host(connect, std::move(*stored), cluster.host_context, cluster.embedded_host);
  auto host = host_from_kubeconfig(connect, cluster.host_kubeconfig, cluster.host_context);
  const std::string next = "; name the host's kubeconfig with --host-kubeconfig FILE";
  if (!host) {
    Status status = host.error();
    status.message += next;
    return fail(std::move(status));
  }
  if (host->access.server != stored->server)
    return fail(Reason::conflict, "context " + cluster.host_context + " in " + cluster.host_kubeconfig + " is now of " +
                                      host->access.server + ", and virtual cluster " + cluster.name + " stands on " +
                                      stored->server + next);
  return host;
}

namespace {

constexpr std::string_view kEnforceLabel = "pod-security.kubernetes.io/enforce";
constexpr std::array<std::string_view, 3> kStandards{"privileged", "baseline", "restricted"};  // from loose to strict

// What its syncer holds each pod against the host holds it against too. Several virtual clusters may share a namespace
// that sublet made: it has the loosest of their standards. In another's namespace that is its owner's to say.
Outcome keep_standard(const Host& host, const VirtualCluster& cluster, const Value& there, const std::string& wanted,
                      Progress& progress) {
  const Value labels = there["metadata"]["labels"];
  const auto rank = [](std::string_view standard) {
    return std::ranges::find(kStandards, standard) - kStandards.begin();
  };
  const std::string has = labels[kEnforceLabel].string();
  if (!has.empty() && rank(has) <= rank(wanted)) return {};
  if (labels[kCreatedByLabel].text() != kCreatedBySublet) {
    progress.warn("namespace " + cluster.host_namespace + " is not sublet's and " +
                  (has.empty() ? "enforces no Pod Security Standard; to have the host refuse what the syncer must not "
                                 "make: kubectl label namespace " +
                                     cluster.host_namespace + " " + std::string(kEnforceLabel) + "=" + wanted
                               : "enforces the Pod Security Standard " + has + ", stricter than the template's " +
                                     wanted + ": the host refuses what is between them"));
    return {};
  }
  Document patch = Document::object();
  patch.root().object("metadata").object("labels").put(kEnforceLabel, wanted);
  const auto patched =
      host.client.patch(kNamespaces, "", cluster.host_namespace, kube::PatchType::merge, patch.to_json());
  return patched ? Outcome() : fail(patched.error());
}

// One that is terminating takes nothing in: its end is waited for.
Outcome make_namespace(const Host& host, const VirtualCluster& cluster, std::chrono::steady_clock::time_point deadline,
                       Progress& progress) {
  const std::string& host_namespace = cluster.host_namespace;
  const auto context = translate_context(cluster);
  if (!context) return fail(context.error());
  const std::string standard = context->resolved_template
                                   ? context->resolved_template->config().policies.pod_security_standard
                                   : patches::Policies().pod_security_standard;
  const Document wanted = unlabelled_manifest("v1", "Namespace", host_namespace);
  Value labels = wanted.root().object("metadata").object("labels");
  labels.put(kCreatedByLabel, kCreatedBySublet);
  labels.put(kEnforceLabel, standard);
  for (;;) {
    const auto created = host.client.create(kNamespaces, "", wanted.root());
    if (created) return {};
    if (!created.error().is(Reason::already_exists)) return fail(created.error());
    const auto existing = host.client.get(kNamespaces, "", host_namespace);
    if (!existing && existing.error().is(Reason::not_found)) continue;
    if (!existing) return fail(existing.error());
    if (!existing->root()["metadata"].has("deletionTimestamp"))
      return keep_standard(host, cluster, existing->root(), standard, progress);
    if (!wait_until_namespace_is_gone(host, host_namespace, deadline))
      return fail(Reason::conflict,
                  "namespace " + host_namespace + " is being deleted on the host; wait until it is gone");
  }
}

// The Secrets by which images are pulled for all pods of the virtual cluster; vcluster.yaml has two places for them.
void put_pull_secrets(Value account, const patches::ControlPlane& wanted) {
  for (const auto* named : {&wanted.syncer_account.pull_secrets, &wanted.workload_account.pull_secrets}) {
    if (named->empty()) continue;
    const auto secrets = Document::parse_json(*named);
    if (!secrets) continue;  // load() has written it
    for (const Value secret : secrets->root()) {
      if (!account.has("imagePullSecrets")) account.array("imagePullSecrets");
      account["imagePullSecrets"].push_object().set(secret);
    }
  }
}

}  // namespace

Document workload_account(const VirtualCluster& cluster, const patches::SyncConfig& config) {
  Document account = host_manifest(cluster, "v1", "ServiceAccount", cluster.host_service_account,
                                   with_global(config, config.control_plane.workload_account.metadata));
  account.root().put("automountServiceAccountToken", false);
  put_pull_secrets(account.root(), config.control_plane);
  return account;
}

namespace {

Outcome make_service_account(const Host& host, const VirtualCluster& cluster, const patches::SyncConfig& config) {
  const Document account = workload_account(cluster, config);
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
Outcome open_to_pods(const Host& host, VirtualCluster& cluster, const patches::SyncConfig& config) {
  if (!cluster.pod_access.given()) return {};
  const auto address =
      keep_pod_access(host, cluster, config.cluster_dns, with_global(config, config.control_plane.dns_service));
  if (!address) return fail(address.error());
  if (cluster.pod_access.service_address == *address) return {};
  cluster.pod_access.service_address = *address;
  return cluster.save();
}

}  // namespace

Outcome prepare_host(const Host& host, VirtualCluster& cluster, std::chrono::steady_clock::time_point deadline,
                     Progress& progress) {
  auto prepared = make_namespace(host, cluster, deadline, progress);
  if (prepared) prepared = take_name(host, cluster);
  const auto context = translate_context(cluster);
  if (!context) return fail(context.error());
  if (prepared) prepared = make_service_account(host, cluster, syncer::config_of(*context));
  if (prepared) prepared = open_to_pods(host, cluster, syncer::config_of(*context));
  if (prepared) prepared = keep_api_access(host, cluster, syncer::config_of(*context));
  if (prepared) prepared = keep_identity(host, cluster, progress);
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
