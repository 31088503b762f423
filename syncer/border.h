// Border: what every reconciler works with: the two clients, both sides' copies of every synced kind, the queue and the
// counters.
//
// One per Syncer; built before the first informer starts, constant afterwards (the copies and the queue synchronise
// themselves). Two-sided on purpose: every member says which side it stands on. Which kinds there are is said by
// synced_kinds.h alone.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "sublet/base/clock.h"
#include "sublet/base/mutex.h"
#include "sublet/base/strand.h"
#include "sublet/kube/client.h"
#include "sublet/kube/informer.h"
#include "sublet/kube/work_queue.h"
#include "sublet/syncer/syncer.h"
#include "syncer/change_pace.h"
#include "syncer/outage.h"
#include "syncer/synced_kinds.h"
#include "syncer/to_host/awaited_claims.h"
#include "syncer/to_host/pod_uses.h"
#include "syncer/token_bucket.h"

namespace sublet::syncer {

inline const kube::Resource kPods{"", "v1", "pods"};
inline const kube::Resource kSecrets{"", "v1", "secrets"};
inline const kube::Resource kServiceAccounts{"", "v1", "serviceaccounts"};
inline const kube::Resource kEvents{"", "v1", "events"};

/// The tenant object that a host object stands for.
struct TenantIdentity {
  std::string namespace_name, name, uid;
};

/// One synced kind at work: its row, and the copies that are kept of it (null: none).
struct Sides {
  const SyncedKind& kind;
  std::unique_ptr<kube::Informer> tenant, host;
};

struct Border {
  /// `informers` runs the copies.
  Border(Strand& informers, kube::Client tenant_client, kube::Client host_client, SyncerOptions syncer_options);
  ~Border();
  /// No handler runs afterwards; the copies stay.
  void stop_informers();

  kube::Client tenant, host;
  SyncerOptions options;
  Clock& clock = *options.clock;
  const SteadyTime started = clock.steady_now();
  PodUses uses;
  SettledPods settled_pods;
  AwaitedClaims awaited_claims;
  kube::WorkQueue queue{clock, [this](std::string_view key) { return lane_of(key); }, *options.random};

  Outage outage{clock, queue, *options.random};  // the host's; its client tells it

  // Changes of host objects that are there: of each one, and of all.
  ChangePace host_pace{clock};
  TokenBucket host_changes{clock, options.host_changes_at_once, options.host_changes_per_second};

  std::atomic<std::uint64_t> host_writes{0}, tenant_writes{0}, reconciles{0}, failures{0}, denied{0}, foreign{0};

  // By the uid of a host object: the patch that it took at that version without any change, as of a field that its
  // release does not know. It is not sent again.
  Mutex vain_mutex;
  std::unordered_map<std::string, std::string> vain_patches SUBLET_GUARDED_BY(vain_mutex);

  // Which tenant pod a host pod belongs to, kept a while beyond the host pod's end: its last events come after it.
  Mutex owners_mutex;
  std::unordered_map<std::string, TenantIdentity> host_pod_owners SUBLET_GUARDED_BY(owners_mutex);
  // Uids of tenant pods without a node that may have run all the same: a syncer before this one has run them, and its
  // last word on that came to the tenant's server after the first list; or a list was older than what was known.
  std::unordered_set<std::string> pods_from_before SUBLET_GUARDED_BY(owners_mutex);
  /// Uids of tenant pods of which the tenant's server has told that they are gone, while their host pods are there.
  std::unordered_set<std::string> gone_pods SUBLET_GUARDED_BY(owners_mutex);

  const std::vector<SyncedKind> table{synced_kinds(options.context)};
  std::vector<Sides> kinds;  // in the order of the table; ended first, for its handlers use all of the above
  std::unique_ptr<kube::Informer> tenant_namespaces;  // where a kind that crosses selects them by their labels
  std::unique_ptr<kube::Informer> host_nodes;   // where they are called otherwise, and not all are shown: all of them
  std::vector<kube::Informer*> copies() const;  // all of them

  const TranslateContext& context() const { return options.context; }
  const NodeNames& nodes() const { return node_names_of(options.context); }
  const std::string& host_namespace() const { return options.context.host_namespace; }
  std::string host_name_of(std::string_view tenant_namespace, std::string_view tenant_name) const {
    return host_name(tenant_name, tenant_namespace.empty() ? host_namespace() : tenant_namespace,
                     options.context.virtual_cluster);
  }
  /// Where the host has its objects of a kind: "" for one without namespaces.
  std::string host_place(const SyncedKind& kind) const {
    if (kind.mapping && !kind.mapping->host_namespace.empty()) return kind.mapping->host_namespace;
    return kind.in_cluster() ? "" : host_namespace();
  }
  /// The tenant's object that is to be carried: from here on this is what the thread writes to the host for.
  static kube::CachedPtr carried(const Sides& sides, std::string_view tenant_namespace, std::string_view tenant_name);
  /// What the host has of a tenant object, as far as the copy knows.
  kube::CachedPtr on_host(const Sides& sides, std::string_view tenant_namespace, std::string_view tenant_name) const {
    return sides.host->get(host_place(sides.kind), host_name_of(tenant_namespace, tenant_name));
  }
  /// Whether an object of the tenant needs the one with that key on the host.
  bool is_used(std::string_view key) const;
  /// Of a kind that is in the table.
  const Sides& sides(std::string_view kind) const;
  /// Of the kind whose keys begin so; null: none.
  const Sides* sides_of_key(std::string_view kind) const;
  /// What other kinds ask about: which pods there are, and what they use (kUsesIndex).
  const kube::Informer& tenant_pods() const { return *sides("Pod").tenant; }
  const kube::Informer& host_pods() const { return *sides("Pod").host; }

  void enqueue(std::string_view kind, const kube::CachedObject& object);
  /// Keeps the names of the host's nodes, where the tenant has others (NodeNames).
  void learn_nodes(Strand& informers);
  /// How urgent a key is (kube::WorkQueue::LaneOf).
  int lane_of(std::string_view key) const;
};

/// When to look again at what a copy does not know yet: its event is on the way.
inline constexpr std::chrono::milliseconds kCopyIsBehind{50};

/// The host's object, of a kind without namespaces, that the tenant calls so (SyncedKind::tenant_name); null: none.
kube::CachedPtr host_object_of(const Sides& sides, std::string_view tenant_name);
inline constexpr const char* kTenantNameIndex = "tenant name";

/// "<kind>/<namespace>/<name>"; cluster-scoped kinds leave the namespace empty.
std::string queue_key(std::string_view kind, std::string_view namespace_name, std::string_view name);
/// Before a kind: keys of objects that were there before this syncer (SyncedKind::reconcile_past).
inline constexpr std::string_view kPast = "Past";
struct KeyParts {
  std::string_view kind, namespace_name, name;
};
KeyParts split_key(std::string_view key);

/// What this thread writes to the host from here on is for that object of the tenant, or for its end (null).
void write_for(const kube::Resource& resource, std::string_view namespace_name, std::string_view name,
               const kube::CachedObject* object);

/// A cached object as a whole Document with apiVersion and kind.
schema::Document whole(const kube::CachedObject& cached, const SyncedKind& kind);
schema::Document whole(const kube::CachedObject& cached, std::string_view api_version, std::string_view kind);

/// True when a host object carries this virtual cluster's marks.
bool is_ours(const Border& border, const schema::Value& host_object);
/// From the marks of a host object; empty names when it carries none.
TenantIdentity tenant_identity(const schema::Value& host_object);
TenantIdentity tenant_identity(const kube::CachedObject& host_object);

/// Deletes this very object of the tenant. Succeeds if it has gone already.
Outcome remove_from_tenant(Border& border, const kube::Resource& resource, const kube::CachedObject& tenant_object);

/// Writes a Warning or Normal event on a tenant object. Best effort: an event must never stop a reconcile.
void record_tenant_event(Border& border, const schema::Value& tenant_object, std::string_view type,
                         std::string_view reason, std::string_view message);

}  // namespace sublet::syncer
