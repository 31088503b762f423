#include "cli/host.h"

#include <algorithm>
#include <array>

#include "cli/cpprest_transport.h"
#include "cli/daemon.h"
#include "cli/embedded_host.h"
#include "cli/state.h"

namespace sublet::cli {
namespace {

using schema::Document;
using schema::Value;
using std::chrono::steady_clock;

const kube::Resource kNamespaces{"", "v1", "namespaces"};
const kube::Resource kServiceAccounts{"", "v1", "serviceaccounts"};
const kube::Resource kPods{"", "v1", "pods"};
constexpr const char* kEmbeddedContext = "embedded";
constexpr const char* kCreatedByLabel = "sublet.dev/created-by";  // on a namespace that sublet made
constexpr const char* kCreatedBySublet = "sublet";

// What the syncer makes, in the order in which it is taken away: pods first, so that nothing runs without its volumes.
const std::array<kube::Resource, 4> kSwept{
    {kPods, {"", "v1", "services"}, {"", "v1", "configmaps"}, {"", "v1", "secrets"}}};

std::string uid_selector(const syncer::VirtualCluster& cluster) {
  return std::string(syncer::kLabelTenantUid) + "=" + cluster.uid;
}

Result<Host> connect_host(kube::ClusterAccess access, std::string context, bool embedded) {
  auto transport = make_cpprest_transport(access);
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

Result<Host> embedded_host(const EmbeddedHostShape& shape, std::chrono::seconds timeout) {
  auto access = start_embedded_host(shape, timeout);
  if (!access) return fail(access.error());
  return connect_host(std::move(*access), kEmbeddedContext, true);
}

Result<Host> host_from_kubeconfig(const std::string& path, const std::string& context) {
  const std::string file = path.empty() ? kube::default_kubeconfig_path() : path;
  auto access = kube::load_kubeconfig(file, context);
  if (!access) return fail(access.error());
  const std::string name = access->context_name;
  auto host = connect_host(std::move(*access), name, false);
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

Result<Host> host_of(const syncer::VirtualCluster& cluster) {
  auto access = kube::load_kubeconfig(cluster.host_kubeconfig_path());
  if (!access) return fail(access.error());
  return connect_host(std::move(*access), cluster.host_context, cluster.embedded_host);
}

Outcome prepare_host(const Host& host, const syncer::VirtualCluster& cluster) {
  const auto failed = [&](Status status) {
    status.message = "on the host of context " + host.context + ": " + status.message;
    if (status.is(Reason::unauthorized)) status.message += "; are the credentials in its kubeconfig valid?";
    return fail(std::move(status));
  };
  const Document host_namespace = manifest("v1", "Namespace", cluster.host_namespace);
  host_namespace.root().object("metadata").object("labels").put(kCreatedByLabel, kCreatedBySublet);
  const auto created = host.client.create(kNamespaces, "", host_namespace.root());
  if (!created && !created.error().is(Reason::already_exists)) return failed(created.error());
  if (!created) {
    const auto existing = host.client.get(kNamespaces, "", cluster.host_namespace);
    if (!existing) return failed(existing.error());
    if (existing->root()["metadata"].has("deletionTimestamp"))
      return fail(Reason::conflict,
                  "namespace " + cluster.host_namespace + " is being deleted on the host; wait until it is gone");
  }
  const Document account = manifest("v1", "ServiceAccount", cluster.host_service_account);
  account.root().put("automountServiceAccountToken", false);
  Value labels = account.root().object("metadata").object("labels");
  labels.put(syncer::kLabelManagedBy, cluster.name);
  labels.put(syncer::kLabelTenantUid, cluster.uid);
  const auto made = host.client.create(kServiceAccounts, cluster.host_namespace, account.root());
  if (!made && !made.error().is(Reason::already_exists)) return failed(made.error());
  return {};
}

namespace {

Outcome delete_all(const Host& host, const syncer::VirtualCluster& cluster, const kube::Resource& resource,
                   std::optional<int> grace, std::size_t& left) {
  auto listed = host.client.list(resource, cluster.host_namespace, {.label_selector = uid_selector(cluster)});
  if (!listed) return fail(listed.error());
  left = listed->root()["items"].size();
  for (const Value item : listed->root()["items"]) {
    const Value metadata = item["metadata"];
    if (metadata.has("deletionTimestamp") && !grace) continue;
    kube::DeleteOptions options;
    options.uid = metadata["uid"].string();
    options.grace_period_seconds = grace;
    const auto removed = host.client.remove(resource, cluster.host_namespace, metadata["name"].text(), options);
    if (!removed && !removed.error().is(Reason::not_found) && !removed.error().is(Reason::conflict))
      return fail(removed.error());
  }
  return {};
}

// Deletes and waits; pods that do not end within half of the time are removed without grace.
Outcome sweep_resource(const Host& host, const syncer::VirtualCluster& cluster, const kube::Resource& resource,
                       steady_clock::time_point deadline) {
  const auto impatient = steady_clock::now() + (deadline - steady_clock::now()) / 2;
  Outcome outcome;
  std::size_t left = 0;
  const bool gone = wait_until(deadline, [&] {
    const bool force = resource == kPods && steady_clock::now() > impatient;
    outcome = delete_all(host, cluster, resource, force ? std::optional(0) : std::nullopt, left);
    return !outcome || left == 0;
  });
  if (!outcome) return outcome;
  if (!gone)
    return fail(Reason::timeout, std::to_string(left) + " " + resource.resource + " of " + cluster.name +
                                     " in host namespace " + cluster.host_namespace +
                                     " do not go away; run the command again, or look at their finalizers");
  return {};
}

// Other people's objects keep a namespace alive; what every namespace gets by itself does not.
bool only_defaults_left(const Host& host, const std::string& host_namespace) {
  for (const kube::Resource& resource : kSwept) {
    const auto listed = host.client.list(resource, host_namespace);
    if (!listed) return false;
    for (const Value item : listed->root()["items"])
      if (item["metadata"]["name"].text() != "kube-root-ca.crt") return false;
  }
  return true;
}

// The host's own word, not our record's: a create that was cut off may not have come to write it down.
bool made_by_us(const Host& host, const std::string& host_namespace) {
  const auto there = host.client.get(kNamespaces, "", host_namespace);
  return there && there->root()["metadata"]["labels"][kCreatedByLabel].text() == kCreatedBySublet;
}

bool others_in(const syncer::VirtualCluster& cluster) {
  const Records records = all_records();
  return std::ranges::any_of(records.clusters,
                             [&](const auto& other) {
                               return other.uid != cluster.uid && other.host_namespace == cluster.host_namespace &&
                                      other.host_context == cluster.host_context;
                             }) ||
         std::ranges::any_of(records.damaged,
                             [&](const auto& other) { return other.host_namespace == cluster.host_namespace; });
}

Outcome remove_namespace(const Host& host, const std::string& host_namespace, steady_clock::time_point deadline) {
  const auto removed = host.client.remove(kNamespaces, "", host_namespace);
  if (!removed && !removed.error().is(Reason::not_found) && !removed.error().is(Reason::conflict))
    return fail(removed.error());
  const bool gone = wait_until(deadline, [&] {
    const auto there = host.client.get(kNamespaces, "", host_namespace);
    return !there && there.error().is(Reason::not_found);
  });
  if (!gone) return fail(Reason::timeout, "host namespace " + host_namespace + " is still terminating");
  return {};
}

}  // namespace

Outcome sweep_host(const Host& host, const syncer::VirtualCluster& cluster, std::chrono::seconds timeout) {
  const auto deadline = steady_clock::now() + timeout;
  for (const kube::Resource& resource : kSwept)
    if (auto swept = sweep_resource(host, cluster, resource, deadline); !swept) return swept;
  const auto removed = host.client.remove(kServiceAccounts, cluster.host_namespace, cluster.host_service_account);
  if (!removed && !removed.error().is(Reason::not_found)) return fail(removed.error());
  if (!made_by_us(host, cluster.host_namespace) || others_in(cluster)) return {};
  if (!only_defaults_left(host, cluster.host_namespace)) return {};
  return remove_namespace(host, cluster.host_namespace, deadline);
}

}  // namespace sublet::cli
