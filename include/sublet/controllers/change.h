// Change: one change of one object, as controllers get it. Handlers run on the store's commit thread: compare, enqueue.
#pragma once

#include <functional>

#include "sublet/store/object.h"

namespace sublet::controllers {

/// `before` is null for a created object (or one that existed at the start), `after` for a deleted one; never both.
struct Change {
  const store::ObjectPtr& before;
  const store::ObjectPtr& after;
  /// Returns the latest version.
  const store::Object& object() const { return after ? *after : *before; }
};
using ChangeHandler = std::function<void(const Change& change)>;

}  // namespace sublet::controllers
