// Border: what every reconciler works with: the two clients, the caches of both sides, the queue and the counters.
//
// One per Syncer; built before the first informer starts, constant afterwards (the caches and the queue synchronise
// themselves). Two-sided on purpose: every member says which side it stands on.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "sublet/base/clock.h"
#include "sublet/kube/client.h"
#include "sublet/kube/informer.h"
#include "sublet/kube/work_queue.h"
#include "sublet/syncer/syncer.h"
#include "syncer/to_host/pod_uses.h"

namespace sublet::syncer {

inline const kube::Resource kPods{"", "v1", "pods"};
inline const kube::Resource kConfigMaps{"", "v1", "configmaps"};
inline const kube::Resource kSecrets{"", "v1", "secrets"};
inline const kube::Resource kServices{"", "v1", "services"};
inline const kube::Resource kServiceAccounts{"", "v1", "serviceaccounts"};
inline const kube::Resource kNodes{"", "v1", "nodes"};
inline const kube::Resource kEvents{"", "v1", "events"};
inline const kube::Resource kRuntimeClasses{"node.k8s.io", "v1", "runtimeclasses"};

/// When to look at a key again: never by itself, or after a delay. Errors come back with the key's back-off.
using Requeue = std::optional<std::chrono::milliseconds>;

/// The tenant object that a host object stands for.
struct TenantIdentity {
  std::string namespace_name, name, uid;
};

struct Border {
  Border(kube::Client tenant_client, kube::Client host_client, SyncerOptions syncer_options)
      : tenant(std::move(tenant_client)),
        host(std::move(host_client)),
        options(std::move(syncer_options)),
        uses(options.context) {}

  kube::Client tenant, host;
  SyncerOptions options;
  Clock& clock = *options.clock;
  PodUses uses;
  SettledPods settled_pods;

  std::unique_ptr<kube::Informer> tenant_pods, tenant_config_maps, tenant_secrets, tenant_services, tenant_nodes,
      tenant_runtime_classes;
  std::unique_ptr<kube::Informer> host_pods, host_config_maps, host_secrets, host_services, host_nodes,
      host_runtime_classes, host_events;
  kube::WorkQueue queue{Clock::system(), [this](std::string_view key) { return lane_of(key); }};

  std::atomic<std::uint64_t> host_writes{0}, tenant_writes{0}, reconciles{0}, failures{0}, denied{0}, foreign{0};

  // Which tenant pod a host pod belongs to, kept a while beyond the host pod's end: its last events come after it.
  std::mutex owners_mutex;
  std::unordered_map<std::string, TenantIdentity> host_pod_owners;

  const TranslateContext& context() const { return options.context; }
  const std::string& host_namespace() const { return options.context.host_namespace; }
  std::string host_name_of(std::string_view tenant_namespace, std::string_view tenant_name) const {
    return host_name(tenant_name, tenant_namespace, options.context.virtual_cluster);
  }
  /// What must start first goes first: pods that the host does not have yet (lane 0, with everything small), then what
  /// pods that run report (1), then their events (2), of which a burst brings several for each pod.
  int lane_of(std::string_view key) const;
};

/// "<kind>/<namespace>/<name>"; cluster-scoped kinds leave the namespace empty.
std::string queue_key(std::string_view kind, std::string_view namespace_name, std::string_view name);

/// A cached object as a whole Document with apiVersion and kind.
schema::Document whole(const kube::CachedObject& cached, std::string_view api_version, std::string_view kind);

/// True when a host object carries this virtual cluster's marks.
bool is_ours(const Border& border, const schema::Value& host_object);
/// From the annotations of a host object; empty names when it carries none.
TenantIdentity tenant_identity(const schema::Value& host_object);
TenantIdentity tenant_identity(const kube::CachedObject& host_object);

/// Writes a Warning or Normal event on a tenant object. Best effort: an event must never stop a reconcile.
void record_tenant_event(Border& border, const schema::Value& tenant_object, std::string_view type,
                         std::string_view reason, std::string_view message);

// Reconcilers, one file each under to_host/ and from_host/.
using Reconcile = Result<Requeue> (*)(Border& border, const std::string& namespace_name, const std::string& name);
Result<Requeue> reconcile_pod(Border& border, const std::string& tenant_namespace, const std::string& tenant_name);
Result<Requeue> reconcile_token(Border& border, const std::string& tenant_namespace, const std::string& batch);
Result<Requeue> reconcile_config_map(Border& border, const std::string& tenant_namespace, const std::string& name);
Result<Requeue> reconcile_secret(Border& border, const std::string& tenant_namespace, const std::string& name);
Result<Requeue> reconcile_service(Border& border, const std::string& tenant_namespace, const std::string& name);
Result<Requeue> reconcile_node(Border& border, const std::string& unused, const std::string& name);
Result<Requeue> reconcile_runtime_class(Border& border, const std::string& unused, const std::string& name);
Result<Requeue> reconcile_event(Border& border, const std::string& host_namespace, const std::string& host_event);
/// An event that was there before this syncer: the tenant most likely has it, so that is looked at first.
Result<Requeue> reconcile_past_event(Border& border, const std::string& host_namespace, const std::string& host_event);

}  // namespace sublet::syncer
