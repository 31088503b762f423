// Deployments: what wakes them. What is done then is a Rollout's.

#include "controllers/deployment/rollout.h"
#include "controllers/pods/owner_wake.h"
#include "controllers/runtime/kinds.h"
#include "sublet/controllers/controller.h"

namespace sublet::controllers {
namespace {

constexpr std::string_view kRecreate = "\"Recreate\"";

class DeploymentController final : public Controller {
 public:
  explicit DeploymentController(Context& context)
      : context_(context),
        listers_{context.lister(kDeploymentKind.resource, {By::label_selector}),
                 context.lister(kReplicaSetResource, {By::owner, By::orphan}), context.lister(kPods, {By::owner})} {}

  int workers() const override { return 5; }

  void start() override {
    context_.on_change(kDeploymentKind.resource, [this](const Change& change) {
      if (change.after) context_.enqueue(key_of(*change.after));
    });
    context_.on_change(kReplicaSetResource, [this](const Change& change) {
      wake_owners(context_, kDeploymentKind, listers_.deployments, change);
    });
    context_.on_change(kPods, [this](const Change& change) {
      if (!change.after) pod_gone(*change.before);
    });
  }

  Outcome reconcile(const std::string& key) override {
    const auto [namespace_name, name] = parts_of(key);
    const auto stored = listers_.deployments.get(namespace_name, name);
    return stored ? Rollout(context_, listers_, *stored).run() : Outcome();
  }

 private:
  /// A Deployment with strategy Recreate waits for the last of the old pods.
  void pod_gone(const store::Object& pod) {
    const auto controller = controller_of(pod);
    if (!controller || controller->kind != "ReplicaSet") return;
    const auto set = listers_.sets.get(namespace_of(pod), controller->name);
    const auto owner = set ? controller_of(*set) : std::nullopt;
    if (!owner || owner->kind != kDeploymentKind.kind) return;
    const auto deployment = listers_.deployments.get(namespace_of(pod), owner->name);
    if (deployment && raw_of(*deployment, {"spec", "strategy", "type"}) == kRecreate)
      context_.enqueue(key_of(*deployment));
  }

  Context& context_;
  const DeploymentListers listers_;
};

}  // namespace

std::unique_ptr<Controller> make_deployment_controller(Context& context) {
  return std::make_unique<DeploymentController>(context);
}

}  // namespace sublet::controllers
