// TranslateContext: what translation knows beside the object, and what it may ask for beside the host object.
//
// Plain data, constant while a syncer runs except where a member says so. Threads: any.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sublet/patches/template.h"
#include "sublet/schema/document.h"

namespace sublet::syncer {

inline constexpr std::string_view kLabelManagedBy = "sublet.dev/managed-by";           // virtual cluster's name
inline constexpr std::string_view kLabelTenantUid = "sublet.dev/virtual-cluster-uid";  // uid of the virtual cluster
inline constexpr std::string_view kLabelTenantNamespace = "sublet.dev/tenant-namespace";
inline constexpr std::string_view kAnnotationTenantName = "sublet.dev/tenant-name";
inline constexpr std::string_view kAnnotationTenantUid = "sublet.dev/tenant-uid";
/// Where a host object stands for no tenant object of its own kind (PodToken).
inline constexpr std::string_view kAnnotationTenantKind = "sublet.dev/tenant-kind";
/// Of a Secret that an operator of the host makes for a tenant's object: it comes to the tenant.
inline constexpr std::string_view kMadeSecret = "MadeSecret";
/// What the syncer has written of the object (syncer/border/written.h).
inline constexpr std::string_view kAnnotationWritten = "sublet.dev/written";

class NodeNames;

/// How the host serves a custom resource that the template lets cross.
struct ServedKind {
  std::string version, kind;
  bool has_status = false;  // with an endpoint of its own
};

/// Everything translation may know beside the object. The same for the life of a virtual cluster's syncer, but for
/// `service_environment`, which the caller fills per pod.
struct TranslateContext {
  std::string virtual_cluster;
  std::string virtual_cluster_uid;
  std::string host_namespace;
  std::shared_ptr<const patches::ResolvedTemplate> resolved_template;
  /// False: only what the template allows counts, not what its patches do to objects nor the look at the final pod; for
  /// who asks what an object uses.
  bool patched = true;
  /// As patches::PatchContext has it.
  std::function<void(std::string_view patch, const schema::Value& object)> after_patch = {};
  // Pods only:
  std::string host_service_account;              // without rights
  std::string api_server_host, api_server_port;  // the tenant's `kubernetes` Service as pods should see it
  /// NAME_SERVICE_HOST=... of the tenant namespace's services, when the pod enables service links.
  std::vector<std::pair<std::string, std::string>> service_environment;
  std::string dns_service_ip;  // tenant DNS; empty: dnsPolicy None with no server but the tenant's search path
  // Custom resources only, by the names of their definitions: those that the host serves. Asked of the host by
  // learn_served_kinds() (custom_kinds.h), for who reads or writes such objects.
  std::map<std::string, ServedKind, std::less<>> served_kinds;
  /// Kubernetes' own kinds that only some hosts serve, and this one does not. Asked of the host likewise.
  std::set<std::string, std::less<>> unserved_kinds;
  /// What the tenant calls the host's nodes (node_names.h); its keeper is the syncer. None: the host's own names, or,
  /// where the template asks for pseudo names, some that mean no node: for who only judges what crosses.
  std::shared_ptr<NodeNames> node_names;
  // NetworkPolicies only:
  /// The tenant's namespaces whose labels a selector accepts; the caller gives it, for they change. None: no namespace.
  std::function<std::vector<std::string>(const schema::Value& namespace_selector)> namespaces_selected;
};
/// The template's configuration, or the default one.
const patches::SyncConfig& config_of(const TranslateContext& context);
const NodeNames& node_names_of(const TranslateContext& context);

/// A host object that goes with another (ConfigMaps and Secrets a pod uses, its token Secret).
struct Reference {
  std::string kind;  // "ConfigMap", "Secret", "Service", "ServiceAccount", "PersistentVolumeClaim"
  std::string tenant_name;
  bool optional = false;
  bool operator==(const Reference&) const = default;
};

/// A projected service-account token that the syncer must request and keep fresh.
struct TokenRequest {
  std::string service_account, audience;
  int expiration_seconds = 3600;
  std::string batch;        // pods of one namespace made at about the same time share the Secret: which of them
  std::string secret_name;  // host Secret that carries it
  std::string secret_key;   // unique within it
};

enum class Operation { create, update };

}  // namespace sublet::syncer
