#include "controllers/pods/owner_wake.h"

namespace sublet::controllers {
namespace {

/// True when somebody controls the object, be it another kind.
bool wake_controller(const Context& context, const KindFacts& kind, const store::Object& object) {
  const auto controller = controller_of(object);
  if (controller && controller->kind == kind.kind && controller->api_version == kind.api_version)
    context.enqueue(key_of(namespace_of(object), controller->name));
  return controller.has_value();
}

}  // namespace

void wake_owners(const Context& context, const KindFacts& kind, const Lister& owners, const Change& change) {
  const bool had_owner = change.before && wake_controller(context, kind, *change.before);
  if (!change.after || wake_controller(context, kind, *change.after) || is_ending(*change.after)) return;
  const bool news = !change.before || had_owner || change.before->index.labels != change.after->index.labels;
  if (!news || change.after->index.labels.empty()) return;
  for (const auto& owner : owners.selecting(namespace_of(*change.after), change.after->index))
    context.enqueue(key_of(*owner));
}

}  // namespace sublet::controllers
