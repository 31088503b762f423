#include "controllers/pods/claim.h"

#include "controllers/runtime/calls.h"

namespace sublet::controllers {
namespace {

using schema::Document;

Document adoption_patch(const ObjectRef& owner, const store::Object& object, std::string_view finalizer) {
  auto patch = Document::object();
  auto metadata = patch.root().object("metadata");
  put_controller_ref(metadata, owner);
  metadata.put("uid", object.index.uid.str());
  if (!finalizer.empty()) metadata.array("finalizers").push(finalizer);
  return patch;
}

Document release_patch(const store::Object& object, std::string_view owner_uid, std::string_view finalizer) {
  auto patch = Document::object();
  auto metadata = patch.root().object("metadata");
  metadata.put("uid", object.index.uid.str());
  auto reference = metadata.array("ownerReferences").push_object();
  reference.put("$patch", "delete");
  reference.put("uid", owner_uid);
  if (!finalizer.empty()) metadata.array("$deleteFromPrimitiveList/finalizers").push(finalizer);
  return patch;
}

std::string owner_text(const ObjectRef& owner) { return owner.kind + " " + owner.namespace_name + "/" + owner.name; }

Outcome may_adopt(const Claimant& claimant) {
  const auto& owner = claimant.owner;
  const auto fresh = claimant.owners.get(owner.namespace_name, owner.name);
  if (!fresh) return fail(Reason::not_found, owner_text(owner) + " is gone");
  if (fresh->index.uid != owner.uid)
    return fail(Reason::conflict, "original " + owner_text(owner) + " is gone: got uid " + fresh->index.uid.str() +
                                      ", wanted " + owner.uid);
  if (is_ending(*fresh)) return fail(Reason::conflict, owner_text(owner) + " has just been deleted");
  return {};
}

/// False: the object is gone.
Result<bool> adopt(const kube::Client& client, const kube::Resource& resource, const Claimant& claimant,
                   const store::Object& object) {
  if (auto may = may_adopt(claimant); !may)
    return fail(Reason::conflict,
                "can't adopt " + std::string(object.key) + " (" + object.index.uid.str() + "): " + may.error().message);
  auto patched = client.patch(resource, namespace_of(object), name_of(object), kube::PatchType::strategic_merge,
                              adoption_patch(claimant.owner, object, claimant.finalizer).to_json());
  if (patched) return true;
  if (patched.error().is(Reason::not_found)) return false;
  return fail(patched.error());
}

/// Whether the object is the claimant's, after what had to be done about it.
Result<bool> settle(const kube::Client& client, const kube::Resource& resource, const Claimant& claimant,
                    const store::Object& object) {
  const bool wanted = claimant.selector.matches(object.index.labels) && (!claimant.also || claimant.also(object));
  if (const auto controller = controller_of(object)) {
    if (controller->uid != claimant.owner.uid) return false;
    if (wanted) return true;
    if (claimant.ending) return false;
    auto released = release(client, resource, object, claimant.owner.uid, claimant.finalizer);
    return released ? Result<bool>(false) : fail(released.error());
  }
  if (claimant.ending || !wanted || is_ending(object)) return false;
  return adopt(client, resource, claimant, object);
}

}  // namespace

std::vector<store::ObjectPtr> claim_candidates(const Lister& lister, const ObjectRef& owner) {
  auto candidates = lister.owned_by(owner.uid);
  for (auto& orphan : lister.orphans(owner.namespace_name)) candidates.push_back(std::move(orphan));
  return candidates;
}

Claimed claim(const kube::Client& client, const kube::Resource& resource, const Claimant& claimant,
              const std::vector<store::ObjectPtr>& candidates) {
  Claimed claimed;
  for (const auto& object : candidates) {
    auto mine = settle(client, resource, claimant, *object);
    if (mine && *mine) claimed.objects.push_back(object);
    if (!mine && !claimed.error) claimed.error = mine.error();
  }
  return claimed;
}

Outcome release(const kube::Client& client, const kube::Resource& resource, const store::Object& object,
                std::string_view owner_uid, std::string_view finalizer) {
  // Invalid: it has no owners any more, or is another one of that name.
  return settled(client.patch(resource, namespace_of(object), name_of(object), kube::PatchType::strategic_merge,
                              release_patch(object, owner_uid, finalizer).to_json()),
                 {Reason::not_found, Reason::invalid});
}

}  // namespace sublet::controllers
