// A tenant's own PersistentVolumes: on the host while they are for a claim (volume_choice.h). Binding, reclaiming and
// growing are the host's; what becomes of the claim in the tenant decides whose a volume is next.
#include <string>

#include "sublet/kube/volume_match.h"
#include "syncer/to_host/host_object.h"
#include "syncer/to_host/volume_choice.h"

namespace sublet::syncer {

using schema::Document;
using schema::Value;

namespace {

kube::CachedPtr claim_of(const Border& border, const Value& reference) {
  return border.sides(kClaimKind).tenant->get(reference["namespace"].text(), reference["name"].text());
}

bool names_volume(const kube::CachedObject& claim, std::string_view volume) {
  return claim.text({"spec", "volumeName"}) == volume;
}

void look_at_claim_of(Border& border, const kube::CachedPtr& tenant_volume) {
  const std::string claim = tenant_volume ? claim_key_of(*tenant_volume) : std::string();
  if (!claim.empty()) border.queue.add(std::string(kClaimKind) + "/" + claim);
}

// Those that may want it: a volume that is nobody's.
void look_at_open_claims(Border& border, const std::string& volume) {
  for (const auto& claim : border.sides(kClaimKind).tenant->list())
    if (claim->text({"metadata", "annotations", kBindCompleted}).empty() || names_volume(*claim, volume))
      border.enqueue(kClaimKind, *claim);
}

// One that has gone meanwhile needs nothing.
Outcome patch_volume_of_tenant(Border& border, const Value& volume, Document patch, std::string_view subresource = {}) {
  const auto patched = patch_as_seen(border, kVolumes, volume, std::move(patch), subresource);
  return patched || patched.error().is(Reason::not_found) ? Outcome() : patched;
}

Outcome set_phase(Border& border, const Value& volume, std::string_view phase) {
  if (volume["status"]["phase"].text() == phase) return {};
  Document patch = Document::object();
  Value status = patch.root().object("status");
  status.put("phase", phase);
  for (const char* member : {"message", "reason"}) status.put(member, Value());
  return patch_volume_of_tenant(border, volume, std::move(patch), "status");
}

bool is_ending(const kube::CachedObject& object) { return !object.text({"metadata", "deletionTimestamp"}).empty(); }

Result<Requeue> take_from_host(Border& border, const kube::CachedObject& host_volume) {
  if (is_ending(host_volume)) return Requeue();  // its end brings the key back
  const auto removed = remove_from_host(border, kVolumes, host_volume);
  return removed ? Result<Requeue>(Requeue()) : fail(removed.error());
}

// Nobody's yet. A claim that names it gets it (choose_volume()), and so does one that has it on the host again.
Result<Requeue> keep_at_home(Border& border, const SyncedKind& kind, const Value& volume,
                             const kube::CachedPtr& host_volume) {
  const std::string name = volume["metadata"]["name"].string();
  for (const auto& claim : border.sides(kClaimKind).tenant->list())
    if (names_volume(*claim, name) && has_on_host(border, *claim, name)) return Requeue();
  if (host_volume) return take_from_host(border, *host_volume);
  if (!translate_for_host(border, kind, volume, Operation::update)) return Requeue();  // which says so
  if (const auto marked = set_phase(border, volume, "Available"); !marked) return fail(marked.error());
  return Requeue();
}

// Its claim has another volume, or is gone before it had this one: what was chosen here is undone, what a person wrote
// keeps the name.
Result<Requeue> take_back(Border& border, const Value& volume) {
  Document patch = Document::object();
  if (volume["metadata"]["annotations"].has(kBoundByController)) {
    patch.root().object("spec").put("claimRef", Value());
    patch.root().object("metadata").object("annotations").put(kBoundByController, Value());
  } else {
    patch.root().object("spec").object("claimRef").put("uid", Value());
  }
  const auto patched = patch_volume_of_tenant(border, volume, std::move(patch));
  return patched ? Result<Requeue>(Requeue()) : fail(patched.error());
}

// The copy may be behind: what is gone is not believed of it alone.
Result<bool> is_gone(const Border& border, const Value& reference) {
  const auto now = border.tenant.client.get(kClaims, reference["namespace"].text(), reference["name"].text());
  if (now) return (*now)["metadata"]["uid"].text() != reference["uid"].text();
  if (now.error().is(Reason::not_found)) return true;
  return fail(now.error());
}

Result<bool> host_has(const Border& border, const std::string& name) {
  const auto there = border.host.client.get(kVolumes, "", border.host_name_of("", name));
  if (there) return is_ours(border, there->root());
  if (there.error().is(Reason::not_found)) return false;
  return fail(there.error());
}

Result<Requeue> release(Border& border, const Value& volume) {
  const auto marked = set_phase(border, volume, "Released");
  return marked ? Result<Requeue>(Requeue()) : fail(marked.error());
}

// The host has none of a volume whose claim is gone. One that was used, and was to be deleted with its claim, has been,
// there.
Result<Requeue> end_with_claim(Border& border, const Value& volume) {
  const std::string name = volume["metadata"]["name"].string();
  const auto gone = is_gone(border, volume["spec"]["claimRef"]), there = host_has(border, name);
  if (!gone) return fail(gone.error());
  if (!there) return fail(there.error());
  if (!*gone || *there) return Requeue(kCopyIsBehind);
  const auto phase = volume["status"]["phase"].text();
  if (phase != "Bound" && phase != "Released" && phase != "Failed") return take_back(border, volume);
  if (volume["spec"]["persistentVolumeReclaimPolicy"].text() != "Delete") return release(border, volume);
  ++border.tenant.writes;
  kube::DeleteOptions options;
  options.uid = volume["metadata"]["uid"].string();
  const auto removed = border.tenant.client.remove(kVolumes, "", name, options);
  if (!removed && !removed.error().is(Reason::not_found)) return fail(removed.error());
  return Requeue();
}

// Made for a claim that went before it was bound: the next of that name would get it.
bool was_never_bound(const Value& host_volume) {
  return host_volume["spec"]["claimRef"]["uid"].text().empty() && host_volume["status"]["phase"].text() != "Bound";
}

// The host's stands for what was before: it is for another claim, or was used, and is to be used again.
bool is_of_earlier_use(const Border& border, const Value& host_volume, const Value& volume) {
  const Value there = host_volume["spec"]["claimRef"], here = volume["spec"]["claimRef"];
  if (there["name"].text() != border.host_name_of(here["namespace"].text(), here["name"].text())) return true;
  const auto phase = host_volume["status"]["phase"].text();
  return phase == "Failed" ||
         (phase == "Released" && host_volume["spec"]["persistentVolumeReclaimPolicy"].text() != "Delete");
}

// A volume grows on the host.
Outcome bring_capacity_back(Border& border, const Value& host_volume, const Value& volume) {
  const Value there = host_volume["spec"]["capacity"];
  if (!kube::has_more_storage(there, volume["spec"]["capacity"])) return {};
  Document patch = Document::object();
  patch.root().object("spec").object("capacity").put("storage", there["storage"]);
  return patch_volume_of_tenant(border, volume, std::move(patch));
}

}  // namespace

void watch_tenant_volumes(Border& border, KindSides& sides) {
  sides.tenant->add_index(kVolumesByClaim, [](const kube::CachedObject& volume) {
    const std::string claim = claim_key_of(volume);
    return claim.empty() ? std::vector<std::string>() : std::vector<std::string>{claim};
  });
  watch_tenant_by_name(border, sides);
  sides.tenant->add_handler([&border](const kube::CachedPtr& before, const kube::CachedPtr& after) {
    for (const auto& volume : {before, after}) look_at_claim_of(border, volume);
    if (after && claim_key_of(*after).empty()) look_at_open_claims(border, after->name);
  });
}

void watch_host_volumes(Border& border, KindSides& sides) {
  watch_host_by_identity(border, sides);
  sides.host->add_handler([&border, &sides](const kube::CachedPtr& before, const kube::CachedPtr& after) {
    look_at_claim_of(border, sides.tenant->get("", tenant_identity(after ? *after : *before).name));
  });
}

Result<Requeue> reconcile_volume(Border& border, const KindSides& sides, const std::string& no_namespace,
                                 const std::string& name) {
  const auto cached = sides.tenant->get("", name);
  if (!cached) return reconcile_copied(border, sides, no_namespace, name);
  const auto host_volume = border.on_host(sides, "", name);
  const Document volume = whole(*cached, sides.kind);
  const Value reference = volume["spec"]["claimRef"];
  const std::string uid = reference["uid"].string();
  if (claim_key_of(*cached).empty() || uid.empty()) return keep_at_home(border, sides.kind, volume.root(), host_volume);
  const auto claim = claim_of(border, reference);
  const bool ended = !claim || claim->uid != uid;
  if (!ended && has_another_on_host(border, *claim, name)) return take_back(border, volume.root());
  // Of a claim that the host lost, or whose volume it did, the data wait as those of one that is gone.
  const bool was_used = !ended && names_volume(*claim, name) && was_bound(border, *claim);
  if (!host_volume && ended) return end_with_claim(border, volume.root());
  if (!host_volume)
    return was_used ? release(border, volume.root()) : reconcile_copied(border, sides, no_namespace, name);
  const Document there = host_volume->document();
  if (ended ? was_never_bound(there.root()) : !was_used && is_of_earlier_use(border, there.root(), volume.root()))
    return take_from_host(border, *host_volume);
  const auto copied = reconcile_copied(border, sides, no_namespace, name);
  if (!copied || tenant_identity(*host_volume).uid != cached->uid) return copied;
  const auto back = bring_capacity_back(border, there.root(), volume.root());
  return back ? copied : fail(back.error());
}

}  // namespace sublet::syncer
