// StatefulSets: what wakes them. What is done then is a StatefulSetSync's.

#include "controllers/pods/history.h"
#include "controllers/pods/owner_wake.h"
#include "controllers/runtime/kinds.h"
#include "controllers/stateful_set/stateful_set_sync.h"

namespace sublet::controllers {
namespace {

class StatefulSetController final : public Controller {
 public:
  explicit StatefulSetController(Context& context)
      : context_(context),
        listers_{context.lister(kStatefulSetKind.resource, {By::label_selector}),
                 context.lister(kPods, {By::owner, By::orphan}),
                 context.lister(kRevisionResource, {By::owner, By::orphan}), context.lister(kVolumeClaims)} {}

  int workers() const override { return 5; }

  void start() override {
    context_.on_change(kStatefulSetKind.resource, [this](const Change& change) {
      if (change.after) context_.enqueue(key_of(*change.after));
    });
    context_.on_change(
        kPods, [this](const Change& change) { wake_owners(context_, kStatefulSetKind, listers_.sets, change); });
  }

  Outcome reconcile(const std::string& key) override {
    const auto [namespace_name, name] = parts_of(key);
    const auto stored = listers_.sets.get(namespace_name, name);
    return stored ? StatefulSetSync(context_, listers_, *stored).run() : Outcome();
  }

 private:
  Context& context_;
  const StatefulSetListers listers_;
};

}  // namespace

std::unique_ptr<Controller> make_stateful_set_controller(Context& context) {
  return std::make_unique<StatefulSetController>(context);
}

}  // namespace sublet::controllers
