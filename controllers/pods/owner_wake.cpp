#include "controllers/pods/owner_wake.h"

namespace sublet::controllers {
namespace {

/// Returns true when the object has a controller, of any kind.
bool wake_controller(const Context& context, const KindFacts& kind, const store::Object& object) {
  const auto controller = controller_of(object);
  if (controller && controller->kind == kind.kind && controller->api_version == kind.api_version)
    context.enqueue(key_of(namespace_of(object), controller->name));
  return controller.has_value();
}

/// The usual case: the owner is enqueued once.
bool same_owners(const Change& change) {
  const auto owners = [](const store::Object& object) { return raw_of(object, {"metadata", "ownerReferences"}); };
  return change.before && change.after && change.before->index.owner_uids == change.after->index.owner_uids &&
         (change.after->index.owner_uids.empty() || owners(*change.before) == owners(*change.after));
}

}  // namespace

void wake_owners(const Context& context, const KindFacts& kind, const Lister& owners, const Change& change) {
  const bool had_owner = change.before && !same_owners(change) && wake_controller(context, kind, *change.before);
  if (!change.after || wake_controller(context, kind, *change.after) || is_ending(*change.after)) return;
  const bool news = !change.before || had_owner || change.before->index.labels != change.after->index.labels;
  if (!news || change.after->index.labels.empty()) return;
  for (const auto& owner : owners.selecting(namespace_of(*change.after), change.after->index))
    context.enqueue(key_of(*owner));
}

}  // namespace sublet::controllers
