// HorizontalPodAutoscalers: looked at every 15 seconds, as metrics have no watch. With none there is no timer.
// Source: pkg/controller/podautoscaler of Kubernetes.

#include <map>

#include "controllers/autoscaling/autoscaler_pass.h"
#include "controllers/runtime/kinds.h"
#include "sublet/base/log.h"
#include "sublet/controllers/controllers.h"

namespace sublet::controllers {
namespace {

constexpr std::chrono::seconds kPeriod{15};

class AutoscalerController final : public Controller {
 public:
  explicit AutoscalerController(Context& context)
      : context_(context),
        autoscalers_(context.lister(kAutoscaler.resource)),
        pods_(context.lister(kPods, {By::label})) {}

  // Status is its own writing; it comes back by time.
  void start() override {
    context_.on_change(kAutoscaler.resource, [this](const Change& change) {
      if (!change.before || !change.after || raw_of(*change.before, {"spec"}) != raw_of(*change.after, {"spec"}))
        context_.enqueue(key_of(change.object()));
    });
  }

  Outcome reconcile(const std::string& key) override {
    const auto parts = parts_of(key);
    auto autoscaler = context_.client().get(kAutoscaler.resource, parts.namespace_name, parts.name);
    if (!autoscaler && !autoscaler.error().is(Reason::not_found)) return fail(autoscaler.error());
    if (!autoscaler) {
      memories_.erase(key);
      return {};
    }
    auto& memory = memories_[key];
    AutoscalerPass pass(
        context_, pods_, memory.history,
        [&](const std::string& selector, const std::vector<Pod>& pods) {
          memory.selector = selector;
          return who_scales(parts.namespace_name, pods);
        },
        std::move(*autoscaler));
    if (auto done = pass.run(); !done)
      log::debug("autoscaler.failed", {{"autoscaler", key}, {"error", done.error().message}});
    context_.enqueue_after(key, kPeriod);  // what went wrong is tried again then, no earlier
    return {};
  }

 private:
  struct Memory {
    ScaleHistory history;
    std::string selector;  // of its target, as it last was
  };

  std::vector<std::string> who_scales(const std::string& namespace_name, const std::vector<Pod>& pods) const {
    std::vector<std::string> scalers;
    for (auto at = memories_.lower_bound(namespace_name + "/"); at != memories_.end(); ++at) {
      if (parts_of(at->first).namespace_name != namespace_name) break;
      const auto selector = kube::LabelSelector::parse(at->second.selector);
      if (at->second.selector.empty() || !selector) continue;
      if (std::any_of(pods.begin(), pods.end(),
                      [&](const Pod& pod) { return selector->matches(pod.metadata()["labels"]); }))
        scalers.push_back(at->first);
    }
    return scalers;
  }

  Context& context_;
  const Lister autoscalers_, pods_;
  std::map<std::string, Memory> memories_;  // one worker: no lock
};

}  // namespace

std::unique_ptr<Controller> make_autoscaler_controller(Context& context) {
  return std::make_unique<AutoscalerController>(context);
}

}  // namespace sublet::controllers
