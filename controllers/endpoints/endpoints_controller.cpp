// Endpoints of Services with a selector: the older form of EndpointSlices, for clients that still read it.

#include "controllers/endpoints/pod_endpoint.h"
#include "controllers/endpoints/slice_plan.h"
#include "controllers/endpoints/subsets.h"
#include "controllers/runtime/calls.h"
#include "controllers/runtime/kinds.h"
#include "sublet/controllers/controller.h"

namespace sublet::controllers {
namespace {

using schema::Document;
using schema::Value;

constexpr std::string_view kEndpointsManagedBy = "endpoints.kubernetes.io/managed-by",
                           kEndpointsManager = "endpoint-controller",
                           kOverCapacity = "endpoints.kubernetes.io/over-capacity",
                           kLeader = "control-plane.alpha.kubernetes.io/leader";

/// The API server's own, which the controller of that Service keeps.
bool is_kubernetes(const KeyParts& key) { return key.namespace_name == "default" && key.name == "kubernetes"; }

Document endpoints_labels(const Value& service) {
  auto labels = Document::object();
  for (Value label : service["metadata"]["labels"]) labels.root().put(label.key(), label.text());
  labels.root().erase(kHeadlessLabel);
  if (is_headless(service)) labels.root().put(kHeadlessLabel, "");
  labels.root().put(kEndpointsManagedBy, kEndpointsManager);
  return labels;
}

class EndpointsController final : public Controller {
 public:
  explicit EndpointsController(Context& context)
      : context_(context),
        services_(context.lister(kServices, {By::map_selector})),
        pods_(context.lister(kPods, {By::label})),
        endpoints_(context.lister(kEndpoints)) {}

  void start() override {
    // Those whose Service was deleted while no controller ran. Leader elections used Endpoints once, too.
    for (const auto& left : endpoints_.list())
      if (raw_of(*left, {"metadata", "annotations", kLeader}).empty()) context_.enqueue(key_of(*left));
    context_.on_change(kServices, [this](const Change& change) { context_.enqueue(key_of(change.object())); });
    context_.on_change(kPods, [this](const Change& change) {
      if (concerns_endpoints(change)) enqueue_services_of(context_, services_, change);
    });
    context_.on_change(kEndpoints, [this](const Change& change) {
      if (change.before && services_.get(namespace_of(*change.before), name_of(*change.before)))
        context_.enqueue(key_of(*change.before));
    });
  }

  Outcome reconcile(const std::string& key) override {
    const auto parts = parts_of(key);
    if (is_kubernetes(parts)) return {};
    const auto& [namespace_name, name] = parts;
    const auto stored = services_.get(namespace_name, name);
    if (!stored) return remove(namespace_name, name);
    const auto service = document_of(*stored);
    if (!has_our_endpoints(service.root())) return {};
    const auto pods = pods_of_service(pods_, service.root());
    return write(service.root(), pods, namespace_name, name);
  }

 private:
  Outcome remove(const std::string& namespace_name, const std::string& name) {
    if (!endpoints_.get(namespace_name, name)) return {};
    return settled(context_.client().remove(kEndpoints, namespace_name, name));
  }

  Outcome write(const Value& service, const std::vector<Document>& pods, const std::string& namespace_name,
                const std::string& name) {
    const auto stored = endpoints_.get(namespace_name, name);
    auto current = stored ? document_of(*stored) : Document::object();
    auto subsets = make_subsets(service, pods);
    const bool over = truncate_subsets(subsets.root());
    const auto labels = endpoints_labels(service);
    const bool says_over = current["metadata"]["annotations"].has(kOverCapacity);
    if (stored && over == says_over && same_list(current["subsets"], subsets.root()) &&
        current["metadata"]["labels"].equals(labels.root()))
      return {};
    auto metadata = current.root().object("metadata");
    metadata.put("name", name);
    metadata.put("namespace", namespace_name);
    metadata.put("labels", labels.root());
    auto annotations = metadata.object("annotations");
    annotations.put(kTriggerAnnotation, latest_trigger(service, pods));
    annotations.erase(kOverCapacity);
    if (over) annotations.put(kOverCapacity, "truncated");
    current.root().put("subsets", subsets.root());
    if (!stored) return ensure_created(context_.client(), kEndpoints, namespace_name, current.root());
    return settled(context_.client().update(kEndpoints, namespace_name, name, current.root()));
  }

  static bool same_list(const Value& stored, const Value& wanted) {
    return stored.empty() ? wanted.empty() : stored.equals(wanted);
  }

  Context& context_;
  const Lister services_, pods_, endpoints_;
};

}  // namespace

std::unique_ptr<Controller> make_endpoints_controller(Context& context) {
  return std::make_unique<EndpointsController>(context);
}

}  // namespace sublet::controllers
