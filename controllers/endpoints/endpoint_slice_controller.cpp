// EndpointSlices of Services with a selector, from the pods that they select. The pods' addresses come from the host
// with the pods' status; host Services have endpoints of the host's own, and nothing here crosses.
// Unlike upstream's, a pod whose node is not known stays an endpoint, without a zone: whether a node is there is the
// host's business, and a template may leave nodes out.

#include "controllers/endpoints/pod_endpoint.h"
#include "controllers/endpoints/slice_plan.h"
#include "controllers/endpoints/slice_writer.h"
#include "controllers/runtime/kinds.h"

namespace sublet::controllers {
namespace {

constexpr std::string_view kZoneLabel = "topology.kubernetes.io/zone";

class EndpointSliceController final : public Controller {
 public:
  explicit EndpointSliceController(Context& context)
      : context_(context),
        services_(context.lister(kServices, {By::map_selector})),
        pods_(context.lister(kPods, {By::label, By::node})),
        nodes_(context.lister(kNodes)),
        slices_(context.lister(kEndpointSlices, {By::label})) {}

  void start() override {
    context_.on_change(kServices, [this](const Change& change) { context_.enqueue(key_of(change.object())); });
    context_.on_change(kPods, [this](const Change& change) {
      if (concerns_endpoints(change)) enqueue_services_of(context_, services_, change);
    });
    context_.on_change(kEndpointSlices, [this](const Change& change) {
      if (!change.before) return;  // additions are ours
      enqueue_service_of_slice(context_, *change.before, kSliceController);
      if (change.after) enqueue_service_of_slice(context_, *change.after, kSliceController);
    });
    context_.on_change(kNodes, [this](const Change& change) {
      if (change.before && change.after && zone_in(*change.before) == zone_in(*change.after)) return;
      for (const auto& pod : pods_.on_node(name_of(change.object())))
        enqueue_services_of(context_, services_, {nullptr, pod});
    });
  }

  Outcome reconcile(const std::string& key) override {
    const auto [namespace_name, name] = parts_of(key);
    const auto stored = services_.get(namespace_name, name);
    if (!stored) return {};  // its slices go with it: they are owned
    const auto service = document_of(*stored);
    if (!has_our_endpoints(service.root())) return {};
    const auto pods = pods_of_service(pods_, service.root());
    const auto slices = slices_of_service(slices_, namespace_name, name, kSliceController);
    auto plan = plan_slices(
        service.root(), pods, [this](std::string_view node) { return zone_of(node); }, slices);
    if (service["metadata"].has("deletionTimestamp")) plan.creates.clear();
    stamp(plan, latest_trigger(service.root(), pods));
    return write_slices(context_.client(), namespace_name, plan);
  }

 private:
  static std::string zone_in(const store::Object& node) {
    for (const auto& [label, value] : node.index.labels)
      if (label == kZoneLabel) return value;
    return {};
  }
  std::string zone_of(std::string_view node) const {
    const auto stored = nodes_.get("", node);
    return stored ? zone_in(*stored) : "";
  }
  static void stamp(SlicePlan& plan, const std::string& trigger) {
    for (auto* documents : {&plan.creates, &plan.updates})
      for (auto& slice : *documents) slice["metadata"].object("annotations").put(kTriggerAnnotation, trigger);
  }

  Context& context_;
  const Lister services_, pods_, nodes_, slices_;
};

}  // namespace

std::unique_ptr<Controller> make_endpoint_slice_controller(Context& context) {
  return std::make_unique<EndpointSliceController>(context);
}

}  // namespace sublet::controllers
