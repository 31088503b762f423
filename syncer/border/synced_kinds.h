// SyncedKinds: the table of everything that crosses the border, one row a kind.
//
// Informers and their handlers, reconcilers, resync, what `sublet delete` sweeps, the rights that the syncer needs on
// the host (include/sublet/syncer/host_footprint.h) and docs/synced-kinds.md come from it; which fields cross is said
// by the rows of translate/fields_*.cpp. Most kinds are served by the functions named here: a kind with ways of its own
// brings its own, in a file under to_host/ or from_host/. Immutable; any thread.
#pragma once

#include <chrono>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "sublet/base/status.h"
#include "sublet/kube/client.h"
#include "sublet/kube/informer.h"
#include "sublet/patches/template.h"
#include "sublet/syncer/translate.h"

namespace sublet::syncer {

class Border;
struct KindSides;

/// When to look at a key again: never by itself, or after a delay. Errors come back with the key's back-off.
using Requeue = std::optional<std::chrono::milliseconds>;
/// Looks at both sides of one object and does the next thing that brings them together. Blocking; workers only.
using Reconcile = Result<Requeue> (*)(Border& border, const KindSides& sides, const std::string& namespace_name,
                                      const std::string& name);
/// Before the informers start: gives one side's copy its indexes and handlers, which put keys on the queue.
using Watch = void (*)(Border& border, KindSides& sides);

enum class Direction { to_host, from_host };
// What of the host the syncer keeps a copy of: ours in the host namespace, all in it, all of a kind without namespaces,
// ours of such a kind, or all in the namespace of a mapping.
enum class HostCopy { none, ours, host_namespace, cluster, ours_in_cluster, other_namespace };

/// What the syncer may do on the host with a kind that it writes there, and with one that it only reads.
inline constexpr std::string_view kAllVerbs = "get list watch create patch delete", kReadVerbs = "list watch";

/// A subresource of a host object through which part of it changes.
struct HostView {
  std::string_view subresource;
  void (*patch_content)(const schema::Value& host_object, const schema::Value& desired, schema::Value patch);
};

/// A place where a kind's objects name one of the host's.
struct NamedPlace {
  std::string_view kind,
      path;  // "StorageClass", "spec.storageClassName": of each entry, where there is a list on the way
  bool (*always)(std::string_view name) = nullptr;  // names that are nobody's to show
};

struct SyncedKind {
  std::string_view kind;  // of the row, and the first part of its keys
  kube::Resource resource;
  Direction direction = Direction::to_host;

  // For people: docs/synced-kinds.md.
  std::string_view crosses;         // which of its objects
  std::string_view host_allocates;  // what only the host can say
  std::string_view wins;            // who has the last word, on which part
  std::string_view status;          // what comes back, and how

  // On the host.
  HostCopy host_copy = HostCopy::none;
  std::string_view host_verbs;                        // space-separated
  std::vector<std::string_view> host_subresources{};  // "pods/log get": each with its own verbs
  bool measured = false;  // what they use is read from the host's metrics API (gateway/metrics_answer.h)
  bool swept = false;     // found by our label and removed with the virtual cluster
  bool ends_with_grace = false;

  // At work. No function, no part: no informer without its watch, no resync without its function.
  Watch watch_tenant = nullptr, watch_host = nullptr;
  Reconcile reconcile = nullptr;
  /// Of objects that were there before this syncer: keys "Past<kind>".
  Reconcile reconcile_past = nullptr;
  /// Puts every known object in line again.
  void (*resync)(Border& border, const KindSides& sides) = nullptr;
  /// How urgent a key is (kube::WorkQueue); none: 0, with everything small.
  int (*lane)(const Border& border, const KindSides& sides, std::string_view namespace_name,
              std::string_view name) = nullptr;
  bool before_others = false;  // reconciled before the syncer says that it has started
  /// The tenant object for which the host has one whatever the tenant does; before others, too.
  struct {
    std::string_view namespace_name, name;
  } always{};

  // Towards the host (translate_for_host(), apply_to_host()).
  /// Which tenant objects cross; none: all.
  bool (*crosses_to_host)(std::string_view tenant_namespace, std::string_view tenant_name) = nullptr;
  /// Whether one that could cross does so as things stand; none: it does. What no longer does leaves the host.
  bool (*crosses_now)(const Border& border, const kube::CachedObject& tenant_object) = nullptr;
  /// Label selector of the tenant's objects that are looked at at all.
  std::string_view tenant_selector{};
  /// Its objects need others on the host (Translated::references): watch_tenant() keeps the index kUsesIndex of them.
  bool uses_others = false;
  /// The tenant's API server asks whether an object may cross before it is stored.
  bool judged = false;
  /// What of the content differs from what is desired and is ours to change, put into a merge patch.
  void (*patch_content)(const schema::Value& host_object, const schema::Value& desired, schema::Value patch) = nullptr;
  /// What changes through subresources of the host object: before `patch_content` is asked.
  std::vector<HostView> host_views{};
  /// What its objects name and the host does not show keeps them from crossing (unshown_name()).
  std::vector<NamedPlace> names_of_host{};
  /// Behind a feature gate of the host's, in a version that not every release has. One that this host does not serve
  /// has no version, as a custom resource (custom_kinds.h).
  bool only_some_hosts = false;
  bool made_anew = false;          // when the host refuses a change as invalid: only a new object can carry it
  std::string_view status_rows{};  // rows (fields_from_host.cpp) by which reconcile_copied() brings status back
  /// Fields of the spec that the host fills where the tenant's has none, and annotations in which it says how that
  /// went: reconcile_copied() brings them back. Space-separated.
  std::string_view host_fills{}, host_notes{};
  /// Whether the template's configuration asks for the kind; none: always.
  bool (*wanted)(const patches::SyncConfig& config) = nullptr;
  /// Without being asked for it is watched all the same, so that what was brought earlier goes.
  bool tidied_unwanted = false;
  // From the host (reconcile_mirror()).
  /// Which of the host's objects come; none: all.
  bool (*comes)(const Border& border, std::string_view name) = nullptr;
  /// What the tenant calls one, by its name on the host; none: the same. watch_host_by_name() keeps an index of it.
  std::string (NodeNames::*tenant_name)(std::string_view host_name) const = nullptr;
  /// A member of status.conditions' entries that says only that somebody is alive: it comes with the next difference.
  std::string_view beat{};
  /// The template's label selector of those that come, for a kind that has one: the others are never read.
  std::string patches::SyncConfig::*shown = nullptr;
  std::string_view next_step{};    // for a tenant that may not change what came: what to do instead
  std::string_view object_kind{};  // Kubernetes' name of the kind, where the row has another

  // Custom resources (custom_kinds.cpp), and their definitions.
  const patches::CustomResource* custom = nullptr;
  /// The one object of the kind that is meant, on both sides: a definition.
  std::string_view only{};

  std::string_view kubernetes_kind() const { return object_kind.empty() ? kind : object_kind; }
  /// ConfigMaps and Secrets that the template maps into the tenant, and what it keeps on the host namespace.
  const patches::HostMapping* mapping = nullptr;
  std::string_view carried_as{};  // the rows (fields_from_host.cpp) by which they come
  /// Takes out of a host object's JSON what the reconcilers do not ask the copy for.
  void (*trim_host_copy)(std::string& json) = nullptr;
  bool passing = false;  // the reconciler lets host objects go (kube::Informer::let_go)

  /// The name by which translate() knows the kind.
  std::string_view translated_as() const { return custom ? kind : kubernetes_kind(); }
  /// On the host its objects have no namespace.
  bool in_cluster() const { return host_copy == HostCopy::cluster || host_copy == HostCopy::ours_in_cluster; }
  std::string api_version() const {
    return resource.group.empty() ? resource.version : resource.group + "/" + resource.version;
  }
};

/// Whether a kind crosses at all, by the template's configuration, or the default one.
bool is_wanted(const SyncedKind& kind, const TranslateContext& context);

/// Whether the host says that it serves a resource in that version. Anybody may ask. Blocking.
Result<bool> serves(const kube::Client& host, const kube::Resource& resource);

/// Those of Kubernetes itself, in the order in which a sweep goes: what runs before what it uses.
std::span<const SyncedKind> synced_kinds();
/// And the custom resources of the template (custom_kinds.cpp), before them. What they point to, the template and the
/// context's served kinds, must outlive them. One that the host does not serve has no version.
std::vector<SyncedKind> synced_kinds(const TranslateContext& context);
std::vector<SyncedKind> custom_kinds(const TranslateContext& context);

// --- what serves many kinds ------------------------------------------------------------------------------------------

/// Keys by the object's own namespace and name.
void watch_tenant_by_name(Border& border, KindSides& sides);
void watch_host_by_name(Border& border, KindSides& sides);
/// Host objects name the tenant object that they stand for, and its kind.
void watch_host_by_identity(Border& border, KindSides& sides);
/// Only what pods use crosses: a tenant's other objects cost nothing here.
void watch_tenant_used(Border& border, KindSides& sides);

/// Whether the template says so of a kind that else crosses while it is used.
bool all_cross(const TranslateContext& context, std::string_view kind);
/// As by name, and what its objects use comes to the host with them (SyncedKind::uses_others).
void watch_tenant_using(Border& border, KindSides& sides);

void resync_tenant(Border& border, const KindSides& sides);
void resync_host(Border& border, const KindSides& sides);

/// Every tenant object that crosses stands on the host; its status comes back (to_host/copied_sync.cpp).
Result<Requeue> reconcile_copied(Border& border, const KindSides& sides, const std::string& tenant_namespace,
                                 const std::string& name);
/// On the host exactly while an object of the tenant that is there uses it, or always when the template says all
/// (to_host/reference_sync.cpp).
Result<Requeue> reconcile_used(Border& border, const KindSides& sides, const std::string& tenant_namespace,
                               const std::string& name);
/// A Secret that an operator of the host made by an object that crossed (CustomReference::made_there) comes to the
/// tenant and goes as it does there; nothing of the tenant's crosses under that name (from_host/made_secret.cpp).
Result<Requeue> reconcile_made(Border& border, const KindSides& sides, const std::string& tenant_namespace,
                               const std::string& name);
bool is_made_there(const kube::CachedObject& host_secret);
bool is_made_on_host(const kube::CachedObject& tenant_secret);
/// A cluster-scoped tenant object equal to the host's. Mirrored objects carry the label kLabelFromHost: only those are
/// ever removed (from_host/mirror.cpp), and the tenant's API server refuses everybody else's writes to them
/// (mirrored_kinds.h); a difference that is there all the same is put back.
Result<Requeue> reconcile_mirror(Border& border, const KindSides& sides, const std::string& unused,
                                 const std::string& name);

// --- kinds with ways of their own: to_host/ and from_host/, one file each
// ---------------------------------------------

void watch_tenant_pods(Border& border, KindSides& sides);
void watch_host_pods(Border& border, KindSides& sides);
Result<Requeue> reconcile_pod(Border& border, const KindSides& sides, const std::string& tenant_namespace,
                              const std::string& tenant_name);
void resync_pods(Border& border, const KindSides& sides);
enum class HostTrouble { silent, refuses };
/// Writes an event on a tenant pod that has no host pod, about why it waits. Returns false if it does not wait.
bool report_to_pending_pod(Border& border, const KindSides& sides, const std::string& tenant_namespace,
                           const std::string& tenant_name, HostTrouble trouble);
/// What must start first goes first: pods that the host does not have yet (0), then what pods that run report (1).
int lane_of_pod(const Border& border, const KindSides& sides, std::string_view tenant_namespace,
                std::string_view tenant_name);

Result<Requeue> reconcile_token(Border& border, const KindSides& sides, const std::string& tenant_namespace,
                                const std::string& batch);
/// The ConfigMap of all containers' variables (to_host/environment_sync.cpp).
Result<Requeue> reconcile_environment(Border& border, const KindSides& sides, const std::string& tenant_namespace,
                                      const std::string& name);

/// Of a Secret of tokens it is enough to know whose are there: before one is made anew the host is asked.
void leave_out_tokens(std::string& host_secret_json);

void watch_tenant_services(Border& border, KindSides& sides);
/// As reconcile_copied(), and the host's addresses are brought to the tenant (to_host/service_sync.cpp).
Result<Requeue> reconcile_service(Border& border, const KindSides& sides, const std::string& tenant_namespace,
                                  const std::string& name);

/// As of kinds that are copied; what becomes of a claim, and a resync, also brings back the pods that wait for one
/// (to_host/claim_sync.cpp).
void watch_tenant_claims(Border& border, KindSides& sides);
void watch_host_claims(Border& border, KindSides& sides);
void resync_claims(Border& border, const KindSides& sides);
/// As reconcile_copied(), but that a claim whose volume the host has taken away is lost, and never made anew
/// (to_host/claim_sync.cpp).
Result<Requeue> reconcile_claim(Border& border, const KindSides& sides, const std::string& tenant_namespace,
                                const std::string& name);

/// A tenant's own volumes, while they are for a claim (to_host/volume_sync.cpp).
void watch_tenant_volumes(Border& border, KindSides& sides);
void watch_host_volumes(Border& border, KindSides& sides);
Result<Requeue> reconcile_volume(Border& border, const KindSides& sides, const std::string& no_namespace,
                                 const std::string& name);

/// Endpoints and slices cross only for Services without a selector: the host finds the others' pods itself
/// (to_host/endpoints_sync.cpp).
void watch_tenant_endpoints(Border& border, KindSides& sides);
void watch_tenant_slices(Border& border, KindSides& sides);
bool has_own_endpoints(const Border& border, const kube::CachedObject& tenant_endpoints);
bool slice_of_own_endpoints(const Border& border, const kube::CachedObject& tenant_slice);

/// As of kinds that are copied; a group whose Workload is not there yet waits for it, since the host takes none without
/// (to_host/group_sync.cpp).
/// Of a host that does not serve them it is asked every minute whether it does by now; then the syncer begins anew
/// (SyncerOptions::kinds_changed).
void look_for_groups(Border& border);
void watch_tenant_groups(Border& border, KindSides& sides);
void watch_host_workloads(Border& border, KindSides& sides);
Result<Requeue> reconcile_pod_group(Border& border, const KindSides& sides, const std::string& tenant_namespace,
                                    const std::string& name);

/// Also when the labels of namespaces change, of which policies select (to_host/policy_sync.cpp).
void watch_tenant_policies(Border& border, KindSides& sides);

/// Only of nodes that are shown (from_host/mirror.cpp).
void watch_host_nodes_drivers(Border& border, KindSides& sides);
bool is_of_shown_node(const Border& border, std::string_view name);
void watch_host_nodes_devices(Border& border, KindSides& sides);
bool is_of_shown_nodes_devices(const Border& border, std::string_view name);

/// The host's definition of a custom resource, with the one version that crosses; it stays when the host's goes, for
/// the tenant's objects would go with it. One that the tenant has made itself is left alone (from_host/definition.cpp).
Result<Requeue> reconcile_definition(Border& border, const KindSides& sides, const std::string& unused,
                                     const std::string& name);

/// Keys by the host's names.
void watch_mapped(Border& border, KindSides& sides);
void watch_mapped_copies(Border& border, KindSides& sides);
void resync_mapped(Border& border, const KindSides& sides);
/// A ConfigMap or Secret of the host in the tenant, read-only, where the template maps it, or a quota. What the tenant
/// has under that name itself is left alone (from_host/mapped.cpp).
Result<Requeue> reconcile_mapped(Border& border, const KindSides& sides, const std::string& unused,
                                 const std::string& host_name);

void watch_host_events(Border& border, KindSides& sides);
Result<Requeue> reconcile_event(Border& border, const KindSides& sides, const std::string& host_namespace,
                                const std::string& host_event);
/// An event that was there before this syncer: the tenant most likely has it, so that is looked at first.
Result<Requeue> reconcile_past_event(Border& border, const KindSides& sides, const std::string& host_namespace,
                                     const std::string& host_event);
/// After all else (2): a burst brings several events for each pod.
int lane_of_event(const Border& border, const KindSides& sides, std::string_view host_namespace,
                  std::string_view host_event);

}  // namespace sublet::syncer
