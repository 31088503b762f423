// Border: what every reconciler works with: both sides, the informers of every synced kind, the work queue, what is
// remembered of pods, and the counters.
//
// One per Syncer. Lifecycle: complete before the first informer starts, constant afterwards.
// Threads: any; informers, the queue and the members of both sides lock for themselves.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "sublet/base/clock.h"
#include "sublet/base/strand.h"
#include "sublet/kube/client.h"
#include "sublet/kube/informer.h"
#include "sublet/kube/work_queue.h"
#include "sublet/syncer/syncer_options.h"
#include "syncer/border/identity.h"
#include "syncer/border/pod_state.h"
#include "syncer/border/queue_key.h"
#include "syncer/border/side.h"
#include "syncer/border/synced_kinds.h"

namespace sublet::syncer {

inline const kube::Resource kPods{"", "v1", "pods"};
inline const kube::Resource kSecrets{"", "v1", "secrets"};
inline const kube::Resource kServiceAccounts{"", "v1", "serviceaccounts"};
inline const kube::Resource kEvents{"", "v1", "events"};

/// A synced kind and its informers. A side that is not watched has none.
struct KindSides {
  const SyncedKind& kind;
  std::unique_ptr<kube::Informer> tenant, host;
};

struct SyncCounters {
  std::atomic<std::uint64_t> reconciles{0}, failures{0}, denied{0};
};

class Border {
 public:
  /// `strand` runs the informers.
  Border(Strand& strand, kube::Client tenant_client, kube::Client host_client, SyncerOptions syncer_options);
  ~Border();
  /// No handler runs afterwards; the informers' copies remain readable.
  void stop_informers();

  const SyncerOptions options;
  Clock& clock = *options.clock;
  const SteadyTime started = clock.steady_now();
  PodState pods;
  SyncCounters counters;
  kube::WorkQueue queue{clock, [this](std::string_view key) { return lane_of(key); }, *options.random};
  Side tenant;
  HostSide host;

  const TranslateContext& context() const { return options.context; }
  const NodeNames& nodes() const { return node_names_of(options.context); }
  const std::string& host_namespace() const { return options.context.host_namespace; }
  std::string host_name_of(std::string_view tenant_namespace, std::string_view tenant_name) const {
    return host_name(tenant_name, tenant_namespace.empty() ? host_namespace() : tenant_namespace,
                     options.context.virtual_cluster);
  }
  /// Returns the host namespace of a kind's objects; "" for a cluster-scoped kind.
  std::string host_place(const SyncedKind& kind) const {
    if (kind.mapping && !kind.mapping->host_namespace.empty()) return kind.mapping->host_namespace;
    return kind.in_cluster() ? "" : host_namespace();
  }

  /// All kinds, in the order of the table.
  const std::vector<KindSides>& kinds() const { return kinds_; }
  /// Returns a kind that is in the table.
  const KindSides& sides(std::string_view kind) const;
  /// Returns the kind whose queue keys begin with `kind`; null if there is none.
  const KindSides* sides_of_key(std::string_view kind) const;
  const kube::Informer& tenant_pods() const { return *sides("Pod").tenant; }
  const kube::Informer& host_pods() const { return *sides("Pod").host; }
  /// The tenant's namespaces, for kinds that select them by labels. Null if no such kind crosses.
  kube::Informer* tenant_namespaces() const { return tenant_namespaces_.get(); }
  std::vector<kube::Informer*> informers() const;

  /// Returns the tenant object to reconcile; the thread's writes to the host are recorded as made for it.
  static kube::CachedPtr carried(const KindSides& sides, std::string_view tenant_namespace,
                                 std::string_view tenant_name);
  /// Returns the host object of a tenant object, as the informer knows it.
  kube::CachedPtr on_host(const KindSides& sides, std::string_view tenant_namespace,
                          std::string_view tenant_name) const {
    return sides.host->get(host_place(sides.kind), host_name_of(tenant_namespace, tenant_name));
  }
  /// Returns true if an object of the tenant needs the object of that key on the host.
  bool is_used(std::string_view key) const;
  void enqueue(std::string_view kind, const kube::CachedObject& object);
  /// Returns the priority of a key (kube::WorkQueue::LaneOf).
  int lane_of(std::string_view key) const;

 private:
  /// Learns the names of the host's nodes, for a tenant that knows them by other names (NodeNames).
  void learn_nodes(Strand& strand);

  const std::vector<SyncedKind> table_{synced_kinds(options.context)};
  std::vector<KindSides> kinds_;  // destroyed before the members above, which its handlers use
  std::unique_ptr<kube::Informer> tenant_namespaces_;
  std::unique_ptr<kube::Informer> host_nodes_;  // all nodes, where the Node kind does not watch all of them
};

/// When to reconcile again if an informer does not have the latest state yet: its event is on the way.
inline constexpr std::chrono::milliseconds kCopyIsBehind{50};

/// Returns the cluster-scoped host object of that tenant name (SyncedKind::tenant_name); null if there is none.
kube::CachedPtr host_object_of(const KindSides& sides, std::string_view tenant_name);
inline constexpr const char* kTenantNameIndex = "tenant name";

/// Records that this thread's next writes to the host are for that tenant object, or for its end (null).
void write_for(const kube::Resource& resource, std::string_view namespace_name, std::string_view name,
               const kube::CachedObject* object);

/// Returns true if a host object belongs to this virtual cluster.
bool is_ours(const Border& border, const schema::Value& host_object);
/// Returns true if a host object was made for that tenant object by this virtual cluster, and someone on the host has
/// removed its label since: the tenant's uid is in an annotation too.
bool has_lost_label(const Border& border, const schema::Value& host_object, const TenantIdentity& owner);

/// Deletes a tenant object by uid. Succeeds if it no longer exists.
Outcome remove_from_tenant(Border& border, const kube::Resource& resource, const kube::CachedObject& tenant_object);

/// Writes an event about a tenant object. Best effort: a failure is logged and never stops a reconcile.
void record_tenant_event(Border& border, const schema::Value& tenant_object, std::string_view type,
                         std::string_view reason, std::string_view message);

}  // namespace sublet::syncer
