// Pods: the heart of the border. One function looks at both sides and does the next thing that brings them together.
//
// Map: what changes become keys; then no tenant pod -> the host pod goes. Tenant pod ending -> the host pod ends first,
// then the tenant's. No host pod
// -> it is made, unless the tenant's had already run. Both -> changes go to the host; node, status and end come back.
#include "sublet/base/log.h"
#include "sublet/base/metrics.h"
#include "sublet/kube/volume_match.h"
#include "sublet/patches/patch.h"
#include "sublet/syncer/node_names.h"
#include "syncer/border/border.h"
#include "syncer/from_host/pod_status.h"
#include "syncer/from_host/terminal_status.h"
#include "syncer/from_host/text_for_tenant.h"
#include "syncer/to_host/host_object.h"
#include "syncer/translate/metadata.h"
#include "syncer/translate/reserved_keys.h"
#include "syncer/translate/rewrites.h"

namespace sublet::syncer {
namespace {

using kube::CachedObject;
using kube::CachedPtr;
using schema::Document;
using schema::Value;

constexpr std::chrono::minutes kClaimLooked{5};  // what becomes of it is told; but not of one that is not ours

bool has_node(const CachedObject& tenant_pod) { return !tenant_pod.text({"spec", "nodeName"}).empty(); }

/// A list from before what was known already.
bool went_back(const CachedPtr& before, const CachedObject& after) {
  return before && before->uid == after.uid && has_node(*before) && !has_node(after);
}

/// Older than this syncer, by the tenant's word: another one may have run it, however late a watch tells of it.
bool made_before(const CachedObject& tenant_pod, const std::string& begun) {
  return tenant_pod.text({"metadata", "creationTimestamp"}) <= begun;
}

void note_pod_from_before(Border& border, const CachedObject& tenant_pod) {
  if (has_node(tenant_pod)) return;  // it says itself that it has run
  border.pods.owners.add_from_before(tenant_pod.uid);
}

void note_gone(Border& border, const CachedObject& tenant_pod) {
  if (!border.on_host(border.sides("Pod"), tenant_pod.namespace_name, tenant_pod.name)) return;
  border.pods.owners.add_deleted(tenant_pod.uid);
}

void enqueue_uses(Border& border, const CachedObject& tenant_pod) {
  for (const PodUsePtr use = border.pods.uses.of(tenant_pod); const auto& key : use->keys) border.queue.add(key);
}

}  // namespace

void watch_tenant_pods(Border& border, KindSides& sides) {
  sides.tenant->add_index(kUsesIndex, [&border](const CachedObject& pod) { return border.pods.uses.keys_in_use(pod); });
  sides.tenant->on_deleted([&border](const CachedObject& last_state) { note_gone(border, last_state); });
  const std::string begun = format_time(border.clock.now());
  sides.tenant->add_handler([&border, &sides, begun](const CachedPtr& before, const CachedPtr& after) {
    if (after && (!sides.tenant->synced() || went_back(before, *after) || (!before && made_before(*after, begun))))
      note_pod_from_before(border, *after);
    border.enqueue("Pod", after ? *after : *before);
    // On the host before this syncer was: whoever made it may not have come to what it uses.
    if (!before)
      if (const auto host_pod = border.on_host(border.sides("Pod"), after->namespace_name, after->name);
          host_pod && tenant_identity(*host_pod).uid == after->uid)
        enqueue_uses(border, *after);
    if (after) return;
    // The last user may be gone.
    enqueue_uses(border, *before);
    border.pods.uses.forget(*before);
    border.pods.settled.forget(before->uid);
    border.pods.awaited_claims.forget(queue_key("Pod", before->namespace_name, before->name));
    border.pods.owners.remove_from_before(before->uid);
  });
}

void watch_host_pods(Border& border, KindSides& sides) {
  sides.host->add_handler([&border](const CachedPtr& before, const CachedPtr& after) {
    const CachedObject& pod = after ? *after : *before;
    TenantIdentity owner = tenant_identity(pod);
    // Someone on the host has removed what names the owner: what was known of it still holds.
    if (owner.uid.empty() || owner.name.empty())
      if (const auto known = border.pods.owners.owner_of(pod.name)) owner = *known;
    const bool is_news = border.pods.owners.record(pod.name, owner);
    if (!after) border.pods.owners.remove_deleted(owner.uid);
    if (!before && is_news)  // not of our making, as above
      if (const auto tenant_pod = border.tenant_pods().get(owner.namespace_name, owner.name);
          tenant_pod && tenant_pod->uid == owner.uid)
        enqueue_uses(border, *tenant_pod);
    if (!owner.name.empty()) border.queue.add(queue_key("Pod", owner.namespace_name, owner.name));
  });
}

void resync_pods(Border& border, const KindSides& sides) {
  for (const auto& pod : sides.tenant->list()) {
    border.enqueue("Pod", *pod);
    for (const PodUsePtr use = border.pods.uses.of(*pod); const auto& key : use->keys) border.queue.add(key);
  }
}

int lane_of_pod(const Border& border, const KindSides& sides, std::string_view tenant_namespace,
                std::string_view tenant_name) {
  return sides.host->get(border.host_namespace(), border.host_name_of(tenant_namespace, tenant_name)) ? 1 : 0;
}

namespace {

struct PodPair {
  Border& border;
  const KindSides& sides;
  std::string tenant_namespace, tenant_name, host_name;
  kube::CachedPtr tenant_cached, host_cached;

  std::string key() const { return queue_key("Pod", tenant_namespace, tenant_name); }
};

Result<Requeue> done(const Outcome& outcome) {
  if (!outcome) return fail(outcome.error());
  return Requeue();
}

Outcome patch_status(PodPair& pair, const Value& difference) {
  Document patch = Document::object();
  patch.root().put("status", difference);
  // The uid keeps the status from another pod that has the name by now.
  patch.root().object("metadata").put("uid", pair.tenant_cached->uid);
  ++pair.border.tenant.writes;
  const auto patched = pair.border.tenant.client.send(pair.border.tenant.client.patch_request(
      kPods, pair.tenant_namespace, pair.tenant_name, kube::PatchType::merge, patch.to_json(), "status"));
  if (!patched && !patched.error().is(Reason::not_found)) return fail(patched.error());
  return {};
}

/// Writes the last status of a pod that a finalizer keeps although its host pod is gone.
Outcome report_end(PodPair& pair, const Value& tenant_pod) {
  if (tenant_pod["metadata"]["finalizers"].empty()) return {};
  const Document wanted = terminal_status(tenant_pod, pair.border.clock.now());
  const Document difference = patches::make_merge_patch(tenant_pod["status"], wanted.root());
  return difference.root().empty() ? Outcome() : patch_status(pair, difference.root());
}

// Finishes a tenant pod as the kubelet would: grace 0, by uid.
Result<Requeue> finish_tenant_pod(PodPair& pair) {
  kube::DeleteOptions options;
  options.grace_period_seconds = 0;
  options.uid = pair.tenant_cached->uid;
  ++pair.border.tenant.writes;
  const auto removed = pair.border.tenant.client.send(
      pair.border.tenant.client.remove_request(kPods, pair.tenant_namespace, pair.tenant_name, options));
  if (removed || removed.error().is(Reason::not_found)) return Requeue();
  return fail(removed.error());
}

// Puts the labels and annotations that identify the pod back on its host pod, which someone on the host has removed.
Outcome restore_identity(PodPair& pair, const Value& host_pod) {
  Document patch = Document::object();
  Value metadata = patch.root().object("metadata");
  metadata.put("uid", host_pod["metadata"]["uid"].text());
  put_identity(pair.border.context(), pair.tenant_namespace, pair.tenant_name, pair.tenant_cached->uid, metadata);
  log::warning("syncer.identity_restored", {{"kind", "Pod"}, {"host_object", pair.host_name}});
  ++pair.border.host.writes;
  const auto patched = pair.border.host.client.patch(kPods, pair.border.host_namespace(), pair.host_name,
                                                     kube::PatchType::merge, patch.to_json());
  if (!patched && !patched.error().is(Reason::not_found)) return fail(patched.error());
  return {};
}

// Returns true if the host pod no longer records a tenant uid but is known to have been made for this tenant pod.
bool has_lost_annotation(const PodPair& pair, const Value& host_pod) {
  if (!is_ours(pair.border, host_pod) || !tenant_identity(host_pod).uid.empty()) return false;
  const auto owner = pair.border.pods.owners.owner_of(pair.host_name);
  return owner && owner->uid == pair.tenant_cached->uid;
}

// The cache may lag behind our own create, and it does not have pods without our label: before a missing host pod has
// consequences, the host itself is asked.
Result<bool> gone_from_host(PodPair& pair) {
  const auto host_pod = pair.border.host.client.get(kPods, pair.border.host_namespace(), pair.host_name);
  if (!host_pod && host_pod.error().is(Reason::not_found)) return true;
  if (!host_pod) return fail(host_pod.error());
  const TenantIdentity owner{pair.tenant_namespace, pair.tenant_name, pair.tenant_cached->uid};
  if (has_lost_label(pair.border, host_pod->root(), owner)) {
    if (auto restored = restore_identity(pair, host_pod->root()); !restored) return fail(restored.error());
    return false;
  }
  return !is_ours(pair.border, host_pod->root()) || tenant_identity(host_pod->root()).uid != pair.tenant_cached->uid;
}

// The same of the tenant's: before a host pod ends, or runs a second time, because of what the copy says, the tenant's
// server is asked. Missing: there is none.
Result<Document> tenant_pod_now(PodPair& pair) {
  auto pod = pair.border.tenant.client.get(kPods, pair.tenant_namespace, pair.tenant_name);
  if (!pod && pod.error().is(Reason::not_found)) return Document();
  return pod;
}

// The host pod stands for no pod that the copy of the tenant's has.
Result<Requeue> remove_host_pod_of_none(PodPair& pair, const Value& host_pod) {
  const std::string owner = tenant_identity(host_pod).uid;
  if (!pair.border.pods.owners.is_deleted(owner)) {
    const auto now = tenant_pod_now(pair);
    if (!now) return fail(now.error());
    const bool its_own = !owner.empty() && (*now)["metadata"]["uid"].text() == owner;
    if (its_own) return Requeue(kCopyIsBehind);
  }
  return done(remove_from_host(pair.border, kPods, *pair.host_cached));
}

// The tenant pod has a deletionTimestamp.
Result<Requeue> end_pod(PodPair& pair, const Value& tenant_pod) {
  const Document host_pod = pair.host_cached ? pair.host_cached->document() : Document();
  if (!pair.host_cached || tenant_identity(host_pod.root()).uid != pair.tenant_cached->uid) {
    const auto gone = gone_from_host(pair);
    if (!gone) return fail(gone.error());
    if (!*gone) return Requeue(kCopyIsBehind);
    if (const auto reported = report_end(pair, tenant_pod); !reported) return fail(reported.error());
    return finish_tenant_pod(pair);
  }
  const auto grace = static_cast<int>(tenant_pod["metadata"]["deletionGracePeriodSeconds"].integer(30));
  const Value metadata = host_pod["metadata"];
  // A later, shorter grace of the tenant shortens the host's; nothing lengthens it.
  if (metadata.has("deletionTimestamp") && metadata["deletionGracePeriodSeconds"].integer(grace) <= grace)
    return Requeue();
  return done(remove_from_host(pair.border, kPods, *pair.host_cached, grace));
}

bool terminal(const Value& pod) {
  const std::string_view phase = pod["status"]["phase"].text();
  return phase == "Succeeded" || phase == "Failed";
}

// What a pod uses comes to the host; or leaves it, when the pod is over and was the last that used it.
void look_at_uses(const PodPair& pair) {
  for (const PodUsePtr use = pair.border.pods.uses.of(*pair.tenant_cached); const std::string& key : use->keys)
    pair.border.queue.add(key);
}

// What the host said of this pod, as it may say of it again: its policy, its namespace that is gone, a webhook of its
// that fails. That it does not answer, or has no time, is no word about a pod.
bool is_refusal(const Status& error) {
  return error.is(Reason::invalid) || error.is(Reason::forbidden) || error.is(Reason::bad_request) ||
         error.is(Reason::not_found) || error.is(Reason::internal_error);
}

void report_pod_refusal(PodPair& pair, const Value& tenant_pod, std::string_view what, const Status& error) {
  if (!is_refusal(error)) return;
  record_tenant_event(
      pair.border, tenant_pod, "Warning", "SyncFailed",
      "the host refused " + std::string(what) + ": " +
          text_for_tenant(pair.border, error.message, pair.host_name, {pair.tenant_namespace, pair.tenant_name, {}}));
}

struct PodClaim {
  std::string name;
  bool ephemeral = false;  // of a generic ephemeral volume: the pod has to be its controller
};
std::vector<PodClaim> claims_of(const PodPair& pair, const Value& tenant_pod) {
  std::vector<PodClaim> claims;
  for (const Value volume : tenant_pod["spec"]["volumes"]) {
    if (volume.has("ephemeral")) claims.push_back({pair.tenant_name + "-" + volume["name"].string(), true});
    if (volume.has("persistentVolumeClaim"))
      claims.push_back({volume["persistentVolumeClaim"]["claimName"].string(), false});
  }
  return claims;
}

// Null: there is none.
Result<Document> claim_now(const kube::Client& side, const std::string& namespace_name, const std::string& name) {
  auto claim = side.get({"", "v1", "persistentvolumeclaims"}, namespace_name, name);
  if (!claim && claim.error().is(Reason::not_found)) return Document();
  return claim;
}

// Returns true while a claim is not ready for this pod. The host's claim of that name may belong to an earlier claim of
// the tenant, or be terminating: the pod would get the wrong volume and keep that claim from going. The claim of an
// ephemeral volume may be missing, or belong to something else: the tenant's ephemeral volume controller creates it,
// and says in an event why it cannot. Cached copies may be old, so success takes a read from both sides.
Result<bool> waits_for_claim(const PodPair& pair, const Value& tenant_pod) {
  const Border& border = pair.border;
  const KindSides* const claims = border.sides_of_key("PersistentVolumeClaim");
  if (!claims || !claims->tenant || !claims->host) return false;
  const auto other = [](const std::string& uid, const std::string& wanted, bool ends) { return ends || uid != wanted; };
  const std::vector<PodClaim> names = claims_of(pair, tenant_pod);
  for (const auto& [name, ephemeral] : names)
    pair.border.pods.awaited_claims.await(queue_key("PersistentVolumeClaim", pair.tenant_namespace, name), pair.key());
  for (const auto& [name, ephemeral] : names) {
    const CachedPtr there = border.on_host(*claims, pair.tenant_namespace, name);
    const CachedPtr wanted = claims->tenant->get(pair.tenant_namespace, name);
    if (there && other(tenant_identity(*there).uid, wanted ? wanted->uid : "",
                       !there->text({"metadata", "deletionTimestamp"}).empty()))
      return true;
  }
  for (const auto& [name, ephemeral] : names) {
    const auto there =
        claim_now(border.host.client, border.host_namespace(), border.host_name_of(pair.tenant_namespace, name));
    if (!there) return fail(there.error());
    if (!there->root().is_object() && !ephemeral) continue;  // the host's kubelet waits for the claim
    const auto wanted = claim_now(border.tenant.client, pair.tenant_namespace, name);
    if (!wanted) return fail(wanted.error());
    if (ephemeral && !kube::is_claim_of_pod(wanted->root(), pair.tenant_cached->uid)) return true;
    if (there->root().is_object() && other(tenant_identity(there->root()).uid, (*wanted)["metadata"]["uid"].string(),
                                           (*there)["metadata"].has("deletionTimestamp")))
      return true;
  }
  if (!names.empty()) pair.border.pods.awaited_claims.forget(pair.key());
  return false;
}

// One without which there is none for the pod; "": there may be others. It comes back when that node does: the host
// pod would keep the name that no node has.
std::string awaited_node(const PodPair& pair, const Value& tenant_pod) {
  Border& border = pair.border;
  std::vector<std::string> missing = missing_nodes(border.context(), tenant_pod);
  for (const std::string& node : missing) border.pods.awaited_claims.await(queue_key("Node", "", node), pair.key());
  if (!missing.empty()) missing = missing_nodes(border.context(), tenant_pod);  // it may have come meanwhile
  return missing.empty() ? "" : missing.front();
}

// No host pod in the cache.
Result<Requeue> create_host_pod(PodPair& pair, const Value& tenant_pod) {
  Border& border = pair.border;
  if (terminal(tenant_pod)) {
    look_at_uses(pair);
    return Requeue();
  }
  if (!tenant_pod["spec"]["nodeName"].text().empty() || tenant_pod["status"].has("startTime")) {
    // It ran, and the host has no pod any more: it was deleted there. Running it again under the same uid would break
    // what controllers are promised.
    const auto gone = gone_from_host(pair);
    if (!gone) return fail(gone.error());
    if (!*gone) return Requeue(kCopyIsBehind);
    record_tenant_event(border, tenant_pod, "Warning", "HostPodDeleted", "the pod was deleted on the host");
    return finish_tenant_pod(pair);
  }
  if (border.pods.owners.may_have_run(pair.host_name, pair.tenant_cached->uid)) {  // has it, by now?
    const auto now = tenant_pod_now(pair);
    if (!now) return fail(now.error());
    if ((*now)["metadata"]["resourceVersion"].text() != pair.tenant_cached->resource_version)
      return Requeue(kCopyIsBehind);
    border.pods.owners.remove_from_before(pair.tenant_cached->uid);
  }
  if (const std::string why = unshown_name(border, pair.sides.kind, tenant_pod, nullptr); !why.empty()) {
    record_tenant_event(border, tenant_pod, "Warning", "SyncDenied", why);
    return kUnshownWait;
  }
  if (const std::string node = awaited_node(pair, tenant_pod); !node.empty()) {
    record_tenant_event(border, tenant_pod, "Warning", "SyncDenied",
                        "node \"" + node + "\", where alone the pod may go, is none of those that the host shows");
    return kUnshownWait;
  }
  const auto waits = waits_for_claim(pair, tenant_pod);
  if (!waits) return fail(waits.error());
  if (*waits) return Requeue(kClaimLooked);
  auto translated = translate_for_host(border, pair.sides.kind, tenant_pod, Operation::create);
  if (!translated) return Requeue();
  (void)border.pods.owners.record(pair.host_name, {pair.tenant_namespace, pair.tenant_name, pair.tenant_cached->uid});
  look_at_uses(pair);
  auto applied = apply_to_host(border, pair.sides.kind, nullptr, std::move(translated->host_object), tenant_pod);
  if (!applied) report_pod_refusal(pair, tenant_pod, "the pod", applied.error());
  return applied;
}

/// Whether it is bound by this; false: it may not be, or was before.
Result<bool> bind_tenant_pod(PodPair& pair, std::string_view node) {
  Document binding = Document::object();
  Value root = binding.root();
  root.put("apiVersion", "v1");
  root.put("kind", "Binding");
  Value metadata = root.object("metadata");
  metadata.put("name", pair.tenant_name);
  metadata.put("namespace", pair.tenant_namespace);
  metadata.put("uid", pair.tenant_cached->uid);
  Value target = root.object("target");
  target.put("apiVersion", "v1");
  target.put("kind", "Node");
  target.put("name", pair.border.nodes().to_tenant(node));
  ++pair.border.tenant.writes;
  const auto bound = pair.border.tenant.client.send(
      pair.border.tenant.client.create_request(kPods, pair.tenant_namespace, root, pair.tenant_name, "binding"));
  // Conflict: bound already and our cache is behind, or being deleted; the next event tells.
  if (bound) return true;
  if (bound.error().is(Reason::conflict) || bound.error().is(Reason::not_found)) return false;
  return fail(bound.error());
}

Outcome bring_pod_status_back(PodPair& pair, const Value& tenant_pod, const Value& host_pod) {
  const Document wanted =
      tenant_pod_status(pair.border.context(), host_pod, tenant_pod, [&pair](std::string_view text) {
        return text_for_tenant(pair.border, text, pair.host_name,
                               {pair.tenant_namespace, pair.tenant_name, pair.tenant_cached->uid});
      });
  Document difference = patches::make_merge_patch(tenant_pod["status"], wanted.root());
  if (difference.root().empty()) return {};
  Document patch = Document::object();
  patch.root().put("status", difference.root());
  // Of this very pod: by now another may have its name, and must not be said to have run.
  patch.root().object("metadata").put("uid", pair.tenant_cached->uid);
  if (difference.root().has("conditions") && has_conditions_of_tenant(tenant_pod))
    patch.root().object("metadata").put("resourceVersion", tenant_pod["metadata"]["resourceVersion"].text());
  ++pair.border.tenant.writes;
  const auto patched = pair.border.tenant.client.send(pair.border.tenant.client.patch_request(
      kPods, pair.tenant_namespace, pair.tenant_name, kube::PatchType::merge, patch.to_json(), "status"));
  if (!patched && !patched.error().is(Reason::not_found)) return fail(patched.error());
  return {};
}

Outcome bring_records_back(PodPair& pair, const Value& tenant_pod, const Value& host_pod) {
  Document patch = Document::object();
  for (const std::string_view map : {"labels", "annotations"}) {
    const Value theirs = host_pod["metadata"][map], ours = tenant_pod["metadata"][map];
    for (const Value entry : theirs)
      if (shown_to_tenants(entry.key()) && !ours[entry.key()].equals(entry))
        patch.root().object("metadata").object(map).put(entry.key(), entry);
    for (const Value entry : ours)  // what the host does not say, nobody else does: null removes it
      if (shown_to_tenants(entry.key()) && theirs[entry.key()].missing())
        patch.root().object("metadata").object(map).put(entry.key(), Value());
  }
  if (patch.root().empty()) return {};
  patch.root().object("metadata").put("uid", pair.tenant_cached->uid);
  ++pair.border.tenant.writes;
  const auto patched = pair.border.tenant.client.send(pair.border.tenant.client.patch_request(
      kPods, pair.tenant_namespace, pair.tenant_name, kube::PatchType::merge, patch.to_json()));
  if (!patched && !patched.error().is(Reason::not_found)) return fail(patched.error());
  return {};
}

// The host is ending the pod by itself (eviction, preemption, drain): the tenant's ends with the same grace.
Result<Requeue> follow_host_deletion(PodPair& pair, const Value& tenant_pod, const Value& host_pod) {
  kube::DeleteOptions options;
  options.uid = pair.tenant_cached->uid;
  options.grace_period_seconds = static_cast<int>(host_pod["metadata"]["deletionGracePeriodSeconds"].integer(30));
  record_tenant_event(pair.border, tenant_pod, "Warning", "HostPodDeleted", "the host is deleting the pod");
  ++pair.border.tenant.writes;
  const auto removed = pair.border.tenant.client.send(
      pair.border.tenant.client.remove_request(kPods, pair.tenant_namespace, pair.tenant_name, options));
  if (removed || removed.error().is(Reason::not_found)) return Requeue();
  return fail(removed.error());
}

// What the tenant has changed of its pod, and what the host pod has lost of it.
Result<Requeue> bring_wishes_down(PodPair& pair, const Value& tenant_pod) {
  Border& border = pair.border;
  std::string seen = SettledPods::fingerprint(*pair.tenant_cached, *pair.host_cached);
  if (border.pods.settled.settled(pair.tenant_cached->uid, seen)) return Requeue();
  auto translated = translate_for_host(border, pair.sides.kind, tenant_pod, Operation::update);
  if (!translated) return Requeue();
  auto applied =
      apply_to_host(border, pair.sides.kind, pair.host_cached, std::move(translated->host_object), tenant_pod);
  if (!applied) report_pod_refusal(pair, tenant_pod, "what has changed of the pod", applied.error());
  // What was written now comes back as a change of the host pod, and is looked at then.
  if (applied && !*applied) border.pods.settled.settle(pair.tenant_cached->uid, seen);
  return applied;
}

Result<Requeue> sync_both(PodPair& pair, const Value& tenant_pod) {
  const Document host_pod = pair.host_cached->document();
  const Value host_metadata = host_pod["metadata"];
  if (has_lost_annotation(pair, host_pod.root())) return done(restore_identity(pair, host_pod.root()));
  if (tenant_identity(host_pod.root()).uid != pair.tenant_cached->uid) {
    // It stands for an earlier pod of that name; its end brings this key back.
    if (host_metadata.has("deletionTimestamp")) return Requeue();
    return remove_host_pod_of_none(pair, host_pod.root());
  }
  // The status first: what the host knows must not wait for what the tenant wants.
  const std::string node = host_pod["spec"]["nodeName"].string();
  if (!node.empty() && tenant_pod["spec"]["nodeName"].text().empty()) {
    const auto bound = bind_tenant_pod(pair, node);
    if (!bound) return fail(bound.error());
    if (*bound)
      return Requeue();  // that change brings the key back, with what is known by then: mostly a pod that runs
  }
  if (const auto back = bring_pod_status_back(pair, tenant_pod, host_pod.root()); !back) return fail(back.error());
  if (const auto back = bring_records_back(pair, tenant_pod, host_pod.root()); !back) return fail(back.error());
  if (host_metadata.has("deletionTimestamp")) return follow_host_deletion(pair, tenant_pod, host_pod.root());
  if (terminal(tenant_pod)) {
    look_at_uses(pair);
    return Requeue();
  }
  return bring_wishes_down(pair, tenant_pod);
}

}  // namespace

Result<Requeue> reconcile_pod(Border& border, const KindSides& sides, const std::string& tenant_namespace,
                              const std::string& tenant_name) {
  PodPair pair{border,  sides,  tenant_namespace, tenant_name, border.host_name_of(tenant_namespace, tenant_name),
               nullptr, nullptr};
  pair.tenant_cached = Border::carried(sides, tenant_namespace, tenant_name);
  pair.host_cached = sides.host->get(border.host_namespace(), pair.host_name);
  if (!pair.tenant_cached) {
    if (!pair.host_cached) return Requeue();
    const Document host_pod = pair.host_cached->document();
    if (host_pod["metadata"].has("deletionTimestamp")) return Requeue();
    return remove_host_pod_of_none(pair, host_pod.root());
  }
  const Document tenant_pod = whole(*pair.tenant_cached, "v1", "Pod");
  if (tenant_pod["metadata"].has("deletionTimestamp")) {
    if (pair.host_cached) {
      const Document host_pod = pair.host_cached->document();
      if (tenant_identity(host_pod.root()).uid == pair.tenant_cached->uid)
        if (const auto back = bring_pod_status_back(pair, tenant_pod.root(), host_pod.root()); !back)
          log::warning("syncer.status_not_written", {{"pod", tenant_name}, {"cause", back.error().message}});
    }
    return end_pod(pair, tenant_pod.root());
  }
  if (!pair.host_cached) return create_host_pod(pair, tenant_pod.root());
  return sync_both(pair, tenant_pod.root());
}

bool report_to_pending_pod(Border& border, const KindSides& sides, const std::string& tenant_namespace,
                           const std::string& tenant_name, HostTrouble trouble) {
  const CachedPtr cached = sides.tenant->get(tenant_namespace, tenant_name);
  if (!cached || has_node(*cached) || border.on_host(sides, tenant_namespace, tenant_name)) return false;
  const Document tenant_pod = whole(*cached, "v1", "Pod");
  if (terminal(tenant_pod.root()) || tenant_pod["metadata"].has("deletionTimestamp")) return false;
  if (trouble == HostTrouble::silent)
    record_tenant_event(border, tenant_pod.root(), "Warning", "HostAway",
                        "the host does not answer; the pod comes to it as soon as it does");
  else
    record_tenant_event(border, tenant_pod.root(), "Warning", "HostRefuses",
                        "the host does not accept the credentials of this virtual cluster, as after its host namespace "
                        "was deleted; ask the platform team to run `sublet create " +
                            border.context().virtual_cluster + "` again");
  return true;
}

}  // namespace sublet::syncer
