#include "cluster/host/host_namespace.h"

#include <algorithm>
#include <array>

#include "cluster/host/wait_until.h"

namespace sublet::cluster {
namespace {

using schema::Document;
using schema::Value;

constexpr const char* kCreatedByLabel = "sublet.dev/created-by";  // on a namespace that sublet made
constexpr const char* kCreatedBySublet = "sublet";

constexpr std::string_view kEnforceLabel = "pod-security.kubernetes.io/enforce";
constexpr std::array<std::string_view, 3> kStandards{"privileged", "baseline", "restricted"};  // from loose to strict

// The host enforces the same standard as the syncer. Several virtual clusters may share a namespace that sublet made:
// it gets the loosest of their standards. In a foreign namespace its owner decides.
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

Document unlabelled_manifest(std::string_view api_version, std::string_view kind, std::string_view name) {
  Document document = Document::object();
  Value root = document.root();
  root.put("apiVersion", api_version);
  root.put("kind", kind);
  root.object("metadata").put("name", name);
  return document;
}

}  // namespace

// A terminating namespace accepts no objects, so this waits for its end.
Outcome ensure_namespace(const Host& host, const VirtualCluster& cluster,
                         std::chrono::steady_clock::time_point deadline, Progress& progress) {
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

// Asks the host and not the record, which an interrupted create may not have written.
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
