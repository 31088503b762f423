#include "apiserver/admission/plugin_table.h"

#include <algorithm>

namespace sublet::apiserver {

Outcome namespace_lifecycle(const Attempt& attempt);
Outcome limit_defaults(const Attempt& attempt);
Outcome service_account(const Attempt& attempt);
Outcome taint_nodes_by_condition(const Attempt& attempt);
Outcome priority(const Attempt& attempt);
Outcome default_toleration_seconds(const Attempt& attempt);
Outcome default_storage_class(const Attempt& attempt);
Outcome storage_protection(const Attempt& attempt);
Outcome runtime_class(const Attempt& attempt);
Outcome default_ingress_class(const Attempt& attempt);
Outcome pod_topology_labels(const Attempt& attempt);

Outcome from_host(const Attempt& attempt);
Outcome limit_bounds(const Attempt& attempt);
Outcome pod_security(const Attempt& attempt);
Outcome single_default_priority_class(const Attempt& attempt);
Outcome claim_resize(const Attempt& attempt);
Outcome certificate_approval(const Attempt& attempt);
Outcome certificate_signing(const Attempt& attempt);
Outcome trust_bundle_attest(const Attempt& attempt);
Outcome certificate_subject(const Attempt& attempt);
Outcome class_of_host(const Attempt& attempt);
Outcome group_workload(const Attempt& attempt);
Outcome template_border(const Attempt& attempt);
Outcome border(const Attempt& attempt);

namespace {

constexpr auto kMutating = AdmissionPass::mutating, kValidating = AdmissionPass::validating;
constexpr unsigned char kWrite = kCreate | kUpdate;
constexpr std::string_view kScheduling = "scheduling.k8s.io", kCertificates = "certificates.k8s.io";

// A DELETE has the validating pass only, so what upstream does to it while mutating is a validating row here.
constexpr PluginRow kPlugins[] = {
    {"NamespaceLifecycle", kMutating, namespace_lifecycle, {{{"*", "*", "*", kWrite}}}},
    {"LimitRanger", kMutating, limit_defaults, {{{"", "pods", "", kCreate}, {"", "pods", "resize", kUpdate}}}},
    {"ServiceAccount", kMutating, service_account, {{{"", "pods", "", kCreate}}}},
    {"TaintNodesByCondition", kMutating, taint_nodes_by_condition, {{{"", "nodes", "", kCreate}}}},
    {"Priority", kMutating, priority, {{{"", "pods", "", kWrite}, {kScheduling, "podgroups", "", kCreate}}}},
    {"DefaultTolerationSeconds", kMutating, default_toleration_seconds, {{{"", "pods", "", kWrite}}}},
    {"DefaultStorageClass", kMutating, default_storage_class, {{{"", "persistentvolumeclaims", "", kCreate}}}},
    {"StorageObjectInUseProtection",
     kMutating,
     storage_protection,
     {{{"", "persistentvolumeclaims", "", kCreate},
       {"", "persistentvolumes", "", kCreate},
       {"storage.k8s.io", "volumeattributesclasses", "", kCreate}}}},
    {"PodGroupProtection", kMutating, storage_protection, {{{kScheduling, "podgroups", "", kCreate}}}},
    {"RuntimeClass", kMutating, runtime_class, {{{"", "pods", "", kCreate}}}},
    {"DefaultIngressClass", kMutating, default_ingress_class, {{{"networking.k8s.io", "ingresses", "", kCreate}}}},
    {"PodTopologyLabels",
     kMutating,
     pod_topology_labels,
     {{{"", "pods", "", kCreate}, {"", "pods", "binding", kCreate}}}},

    {"NamespaceLifecycle", kValidating, namespace_lifecycle, {{{"*", "*", "*", kRemove}}}},
    {"sublet.dev/FromHost", kValidating, from_host, {{{"*", "*", "", kCreate}, {"*", "*", "*", kUpdate | kRemove}}}},
    {"LimitRanger",
     kValidating,
     limit_bounds,
     {{{"", "pods", "", kCreate}, {"", "pods", "resize", kUpdate}, {"", "persistentvolumeclaims", "", kWrite}}}},
    {"PodSecurity",
     kValidating,
     pod_security,
     {{{"", "pods", "", kWrite},
       {"", "pods", "ephemeralcontainers", kUpdate},
       {"", "namespaces", "", kWrite},
       {"", "podtemplates", "", kWrite},
       {"", "replicationcontrollers", "", kWrite},
       {"apps", "daemonsets", "", kWrite},
       {"apps", "deployments", "", kWrite},
       {"apps", "replicasets", "", kWrite},
       {"apps", "statefulsets", "", kWrite},
       {"batch", "cronjobs", "", kWrite},
       {"batch", "jobs", "", kWrite}}}},
    {"Priority", kValidating, single_default_priority_class, {{{kScheduling, "priorityclasses", "", kWrite}}}},
    {"PersistentVolumeClaimResize", kValidating, claim_resize, {{{"", "persistentvolumeclaims", "", kUpdate}}}},
    {"CertificateApproval",
     kValidating,
     certificate_approval,
     {{{kCertificates, "certificatesigningrequests", "approval", kUpdate}}}},
    {"CertificateSigning",
     kValidating,
     certificate_signing,
     {{{kCertificates, "certificatesigningrequests", "status", kUpdate}}}},
    {"ClusterTrustBundleAttest",
     kValidating,
     trust_bundle_attest,
     {{{kCertificates, "clustertrustbundles", "", kWrite}}}},
    {"CertificateSubjectRestriction",
     kValidating,
     certificate_subject,
     {{{kCertificates, "certificatesigningrequests", "", kCreate}}}},
    {"sublet.dev/ClassOfHost",
     kValidating,
     class_of_host,
     {{{"", "persistentvolumeclaims", "", kWrite},
       {"networking.k8s.io", "ingresses", "", kWrite},
       {"", "pods", "", kWrite},
       {"resource.k8s.io", "resourceclaims", "", kWrite},
       {"resource.k8s.io", "resourceclaimtemplates", "", kWrite}}}},
    {"PodGroupWorkloadExists", kValidating, group_workload, {{{kScheduling, "podgroups", "", kCreate}}}},
    {"sublet.dev/TemplateBorder",
     kValidating,
     template_border,
     {{{"", "replicationcontrollers", "", kWrite},
       {"apps", "daemonsets", "", kWrite},
       {"apps", "deployments", "", kWrite},
       {"apps", "replicasets", "", kWrite},
       {"apps", "statefulsets", "", kWrite},
       {"batch", "cronjobs", "", kWrite},
       {"batch", "jobs", "", kWrite}}}},
    // Last: it sees the object as it would be stored. After it come only the tenant's policies and webhooks, and the
    // quotas, which the plan charges.
    {"sublet.dev/Border", kValidating, border, {{{"*", "*", "", kCreate}, {"*", "*", "*", kUpdate}}}},
};

bool fits(std::string_view pattern, std::string_view value) { return pattern == "*" || pattern == value; }

}  // namespace

Operation operation_of(WriteVerb verb) {
  switch (verb) {
    case WriteVerb::update:
      return kUpdate;
    case WriteVerb::remove:
      return kRemove;
    case WriteVerb::connect:
      return kConnect;
    case WriteVerb::create:
    case WriteVerb::subresource:
      break;
  }
  return kCreate;
}

bool AdmittedResource::matches(const Attempt& attempt) const {
  const auto& context = attempt.context;
  return (operations & operation_of(attempt.verb)) != 0 && fits(resource, context.resource.resource) &&
         fits(group, context.resource.group) && fits(subresource, context.subresource);
}

bool PluginRow::matches(const Attempt& attempt) const {
  return std::ranges::any_of(resources, [&](const AdmittedResource& one) { return one.matches(attempt); });
}

std::span<const PluginRow> plugin_table() { return kPlugins; }

}  // namespace sublet::apiserver
