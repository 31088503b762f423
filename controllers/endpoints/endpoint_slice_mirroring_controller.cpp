// EndpointSlices of Services without a selector, from the Endpoints that users create for them.

#include "controllers/endpoints/mirrored_slices.h"
#include "controllers/endpoints/pod_endpoint.h"
#include "controllers/endpoints/slice_writer.h"
#include "controllers/runtime/kinds.h"

namespace sublet::controllers {
namespace {

class EndpointSliceMirroringController final : public Controller {
 public:
  explicit EndpointSliceMirroringController(Context& context)
      : context_(context),
        services_(context.lister(kServices)),
        endpoints_(context.lister(kEndpoints)),
        slices_(context.lister(kEndpointSlices, {By::label})) {}

  void start() override {
    for (const auto& resource : {kServices, kEndpoints})
      context_.on_change(resource, [this](const Change& change) { context_.enqueue(key_of(change.object())); });
    context_.on_change(kEndpointSlices, [this](const Change& change) {
      if (!change.before) return;  // additions are ours
      enqueue_service_of_slice(context_, *change.before, kMirroringController);
      if (change.after) enqueue_service_of_slice(context_, *change.after, kMirroringController);
    });
  }

  Outcome reconcile(const std::string& key) override {
    const auto [namespace_name, name] = parts_of(key);
    const auto slices = slices_of_service(slices_, namespace_name, name, kMirroringController);
    const auto service = services_.get(namespace_name, name);
    const auto stored = endpoints_.get(namespace_name, name);
    const bool wanted = stored && service && document_of(*service)["spec"]["selector"].empty();
    const auto endpoints = wanted ? document_of(*stored) : schema::Document();
    MirrorPlan plan;
    if (wanted && may_be_mirrored(endpoints.root())) {
      plan = plan_mirror(endpoints.root(), slices);
      if (is_ending(*stored)) plan.slices.creates.clear();
    } else {
      for (const auto& slice : slices) plan.slices.removals.push_back(slice["metadata"]["name"].string());
    }
    return write_slices(context_.client(), namespace_name, plan.slices);
  }

 private:
  Context& context_;
  const Lister services_, endpoints_, slices_;
};

}  // namespace

std::unique_ptr<Controller> make_endpoint_slice_mirroring_controller(Context& context) {
  return std::make_unique<EndpointSliceMirroringController>(context);
}

}  // namespace sublet::controllers
