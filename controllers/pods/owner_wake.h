// OwnerWake: puts the owner of a changed pod in line: the one that controls it, the one that did before, and when
// there is none, those whose selectors select the pod.
//
// For handlers of changes: runs on the store's commit thread and is quick.
#pragma once

#include "controllers/runtime/object_ref.h"
#include "sublet/controllers/controller.h"

namespace sublet::controllers {

/// `owners` needs By::label_selector or By::map_selector.
void wake_owners(const Context& context, const KindFacts& kind, const Lister& owners, const Change& change);

}  // namespace sublet::controllers
