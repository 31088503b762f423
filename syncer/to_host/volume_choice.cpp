#include "syncer/to_host/volume_choice.h"

#include <algorithm>
#include <vector>

#include "sublet/kube/volume_match.h"

namespace sublet::syncer {

using schema::Document;
using schema::Value;

namespace {

constexpr std::string_view kProvisioner = "volume.kubernetes.io/storage-provisioner",
                           kProvisionerBefore = "volume.beta.kubernetes.io/storage-provisioner";
bool crosses(const Border& border) { return config_of(border.context()).volumes_to_host; }

// Null: its volumes are not watched, or there is none of that name.
kube::CachedPtr tenant_volume(const Border& border, std::string_view name) {
  return border.sides(kVolumeKind).tenant->get("", name);
}

// By the host's name; of an earlier claim of that name nothing is told.
std::string volume_on_host(const Border& border, const kube::CachedObject& claim) {
  const auto host_claim = border.on_host(border.sides(kClaimKind), claim.namespace_name, claim.name);
  const bool is_its = host_claim && tenant_identity(*host_claim).uid == claim.uid;
  return is_its ? host_claim->text({"spec", "volumeName"}) : std::string();
}

// A volume that the host has given it, or is having made for it.
bool is_served_by_host(const kube::CachedObject& host_claim) {
  const auto noted = [&](std::string_view note) { return !host_claim.text({"metadata", "annotations", note}).empty(); };
  return !host_claim.text({"spec", "volumeName"}).empty() || noted(kProvisioner) || noted(kProvisionerBefore);
}

Outcome give(Border& border, const Value& volume, const Value& claim) {
  Document patch = Document::object();
  if (volume["spec"]["claimRef"].missing())
    patch.root().object("metadata").object("annotations").put(kBoundByController, "yes");
  Value reference = patch.root().object("spec").object("claimRef");
  reference.put("apiVersion", "v1");
  reference.put("kind", kClaimKind);
  for (const char* member : {"name", "namespace", "uid"}) reference.put(member, claim["metadata"][member]);
  return patch_as_seen(border, kVolumes, volume, std::move(patch));
}

// Only of a claim that the host has not got: there another may be on the way, and the name can be given once.
Outcome name_in_claim(Border& border, const Value& claim, const Value& volume) {
  const Value metadata = claim["metadata"];
  const auto there = border.host.client.get(kClaims, border.host_namespace(),
                                            border.host_name_of(metadata["namespace"].text(), metadata["name"].text()));
  if (there) return fail(Reason::conflict, "the copy of the host's claims is behind");
  if (!there.error().is(Reason::not_found)) return fail(there.error());
  Document patch = Document::object();
  patch.root().object("metadata").object("annotations").put(kBoundByController, "yes");
  patch.root().object("spec").put("volumeName", volume["metadata"]["name"]);
  return patch_as_seen(border, kClaims, claim, std::move(patch));
}

// What was written brings the claim back; what was changed under our hands is looked at again, and what the tenant's
// API server refuses it is told.
Result<std::optional<Requeue>> after(const Outcome& written, Border& border, const Value& claim) {
  if (written) return std::optional<Requeue>(Requeue());
  const Status& error = written.error();
  if (error.is(Reason::conflict) || error.is(Reason::not_found)) return std::optional<Requeue>(kCopyIsBehind);
  if (!error.is(Reason::forbidden) && !error.is(Reason::invalid)) return fail(error);
  record_tenant_event(border, claim, "Warning", "FailedBinding", error.message);
  return std::optional<Requeue>(Requeue());
}

// One that could not is chosen for nobody, and who is to have it waits.
bool can_cross(const Border& border, const Value& volume) {
  return translate(border.context(), kVolumeKind, volume, Operation::update).has_value();
}

// The one that it asks for by name, or the best of all.
Document choice_for(Border& border, const SyncedKind& volumes, const Value& claim) {
  if (const std::string named = claim["spec"]["volumeName"].string(); !named.empty()) {
    const auto found = tenant_volume(border, named);
    return found ? whole(*found, volumes) : Document();
  }
  const std::string key = claim["metadata"]["namespace"].string() + "/" + claim["metadata"]["name"].string();
  std::vector<Document> all;
  std::vector<Value> values;
  for (const auto& cached : border.sides(kVolumeKind).tenant->list()) {
    const std::string claimed = claim_key_of(*cached);
    const bool free = claimed.empty() && cached->text({"status", "phase"}) == "Available";
    if (!free && claimed != key) continue;
    Document volume = whole(*cached, volumes);
    if (!free || can_cross(border, volume.root())) all.push_back(std::move(volume));
  }
  for (const Document& one : all) values.push_back(one.root());
  const Value best = kube::best_volume(values, claim, false);
  return best ? Document::copy_of(best) : Document();
}

// Mostly in Kubernetes' words.
std::string why_not(const Border& border, const Value& volume, const Value& claim) {
  const std::string name = volume["metadata"]["name"].string();
  if (!can_cross(border, volume)) return "volume \"" + name + "\" may not cross to the host; its events say why";
  if (kube::is_claimed_by(volume, claim)) return {};
  if (volume["spec"].has("claimRef")) return "volume \"" + name + "\" already bound to a different claim.";
  const std::string wrong = kube::check_requested(volume, claim);
  return wrong.empty() ? "" : "Cannot bind to requested volume \"" + name + "\": " + wrong;
}

// By its labels a claim asks for a volume of the tenant's: one that the host makes has none.
std::optional<Requeue> go_without(Border& border, const Value& claim) {
  if (claim["spec"]["volumeName"].text().empty() && claim["spec"]["selector"].empty()) return std::nullopt;
  record_tenant_event(border, claim, "Warning", "FailedBinding",
                      claim["spec"]["volumeName"].text().empty()
                          ? "no persistent volumes available for this claim"
                          : "volume \"" + claim["spec"]["volumeName"].string() + "\" is not in this virtual cluster");
  return Requeue();
}

}  // namespace

Outcome patch_as_seen(Border& border, const kube::Resource& resource, const Value& object, Document patch,
                      std::string_view subresource) {
  const Value metadata = object["metadata"];
  for (const char* member : {"uid", "resourceVersion"}) patch.root().object("metadata").put(member, metadata[member]);
  ++border.tenant.writes;
  const auto patched = border.tenant.client.patch(resource, metadata["namespace"].text(), metadata["name"].text(),
                                                  kube::PatchType::merge, patch.to_json(), subresource);
  return patched ? Outcome() : fail(patched.error());
}

std::string claim_key_of(const kube::CachedObject& tenant_volume) {
  const std::string space = tenant_volume.text({"spec", "claimRef", "namespace"}),
                    name = tenant_volume.text({"spec", "claimRef", "name"});
  // As Kubernetes' API server does, the tenant's takes any words here.
  const auto is_name = [](const std::string& text) { return !text.empty() && text.find('/') == std::string::npos; };
  return is_name(space) && is_name(name) ? space + "/" + name : "";
}

std::string claim_key(const kube::CachedObject& tenant_claim) {
  return tenant_claim.namespace_name + "/" + tenant_claim.name;
}

Result<std::optional<Requeue>> choose_volume(Border& border, const SyncedKind& claims,
                                             const kube::CachedObject& tenant_claim,
                                             const kube::CachedPtr& host_claim) {
  const std::optional<Requeue> may_cross;
  if (!crosses(border) || !tenant_claim.text({"metadata", "deletionTimestamp"}).empty()) return may_cross;
  const bool bound = has_on_host(border, tenant_claim, tenant_claim.text({"spec", "volumeName"}));
  if (!bound && host_claim && is_served_by_host(*host_claim)) return may_cross;
  const Document claim = whole(tenant_claim, claims);
  const KindSides& volumes = border.sides(kVolumeKind);
  const Document volume = choice_for(border, volumes.kind, claim.root());
  if (!volume.root().is_object()) return bound || host_claim ? may_cross : go_without(border, claim.root());
  if (const std::string why = bound ? "" : why_not(border, volume.root(), claim.root()); !why.empty()) {
    record_tenant_event(border, claim.root(), "Warning", "VolumeMismatch", why);
    return Requeue();
  }
  if (const Value reference = volume["spec"]["claimRef"];
      reference.missing() || (reference["uid"].text().empty() && kube::is_claimed_by(volume.root(), claim.root())))
    return after(give(border, volume.root(), claim.root()), border, claim.root());
  if (!host_claim && claim["spec"]["volumeName"].text().empty())
    return after(name_in_claim(border, claim.root(), volume.root()), border, claim.root());
  return may_cross;
}

bool has_on_host(const Border& border, const kube::CachedObject& tenant_claim, std::string_view tenant_volume) {
  return !tenant_volume.empty() && volume_on_host(border, tenant_claim) == border.host_name_of("", tenant_volume);
}

bool has_another_on_host(const Border& border, const kube::CachedObject& tenant_claim, std::string_view tenant_volume) {
  const std::string there = volume_on_host(border, tenant_claim);  // once: the claim may go meanwhile
  return !there.empty() && there != border.host_name_of("", tenant_volume);
}

bool was_bound(const Border& border, const kube::CachedObject& tenant_claim) {
  if (tenant_claim.text({"spec", "volumeName"}).empty()) return false;
  if (!crosses(border)) return true;
  const std::string phase = tenant_claim.text({"status", "phase"});
  return phase == "Bound" || phase == "Lost";
}

void look_at_volumes_of(Border& border, const kube::CachedObject& tenant_claim) {
  if (!crosses(border)) return;
  for (const auto& volume : border.sides(kVolumeKind).tenant->by_index(kVolumesByClaim, claim_key(tenant_claim)))
    border.enqueue(kVolumeKind, *volume);
  if (const std::string named = tenant_claim.text({"spec", "volumeName"}); !named.empty())
    border.queue.add(queue_key(kVolumeKind, "", named));
}

std::string own_volume_of(const Border& border, std::string_view host_volume) {
  if (crosses(border))
    for (const auto& volume : border.sides(kVolumeKind).tenant->list())
      if (border.host_name_of("", volume->name) == host_volume) return volume->name;
  return {};
}

}  // namespace sublet::syncer
