// FlowSchemas and PriorityLevelConfigurations: upstream's own are kept (apiserver/flow_objects.h), and every FlowSchema
// has the condition Dangling, true when its priority level is missing.
// Source: k8s.io/apiserver pkg/util/flowcontrol/apf_controller.go, pkg/registry/flowcontrol/ensurer of Kubernetes.

#include <algorithm>

#include "controllers/pods/status.h"
#include "controllers/runtime/calls.h"
#include "sublet/apiserver/flow_objects.h"
#include "sublet/controllers/controller.h"

namespace sublet::controllers {
namespace {

using schema::Document;
using schema::Value;

kube::Resource resource_named(std::string_view resource) {
  return {std::string(apiserver::kFlowControlGroup), std::string(apiserver::kFlowControlVersion),
          std::string(resource)};
}
const kube::Resource kSchemas = resource_named(apiserver::kFlowSchemas),
                     kLevels = resource_named(apiserver::kPriorityLevels);
constexpr std::string_view kOwn = "*";  // the key of upstream's own: no object has such a name
constexpr std::string_view kFlowControlManager = "api-priority-and-fairness-config-consumer-v1";

class FlowControlController final : public Controller {
 public:
  explicit FlowControlController(Context& context)
      : context_(context),
        schemas_(context.lister(kSchemas)),
        levels_(context.lister(kLevels)),
        own_(apiserver::flow_objects()) {}

  void start() override {
    context_.on_change(kSchemas, [this](const Change& change) {
      context_.enqueue(std::string(name_of(change.object())));
      wake_own(change);
    });
    context_.on_change(kLevels, [this](const Change& change) {
      wake_own(change);
      if (!change.before || !change.after) wake_schemas(name_of(change.object()));
    });
    context_.enqueue(std::string(kOwn));
  }

  Outcome reconcile(const std::string& key) override { return key == kOwn ? keep_own() : write_dangling(key); }

 private:
  void wake_own(const Change& change) {
    if (change.before && is_own(name_of(change.object()))) context_.enqueue(std::string(kOwn));
  }
  bool is_own(std::string_view name) const {
    return std::any_of(own_.begin(), own_.end(), [&](const auto& own) { return own.name == name; });
  }
  void wake_schemas(std::string_view level) {
    for (const auto& schema : schemas_.list())
      if (level_of(document_of(*schema).root()) == level) context_.enqueue(std::string(name_of(*schema)));
  }
  static std::string_view level_of(const Value& schema) {
    return schema["spec"]["priorityLevelConfiguration"]["name"].text();
  }

  Outcome keep_own() {
    for (const auto& wanted : own_)
      if (auto kept = keep(wanted); !kept) return kept;
    return {};
  }

  Outcome keep(const apiserver::FlowObject& wanted) {
    const auto resource = resource_named(wanted.resource);
    const auto stored = context_.lister(resource).get("", wanted.name);
    if (!stored) return ensure_created(context_.client(), resource, "", wanted.object.root());
    auto current = document_of(*stored);
    if (!apiserver::restore_flow_object(current.root(), wanted)) return {};
    return settled(context_.client().update(resource, "", wanted.name, current.root()));
  }

  Outcome write_dangling(const std::string& name) {
    const auto stored = schemas_.get("", name);
    if (!stored) return {};
    const auto schema = document_of(*stored);
    const std::string level(level_of(schema.root()));
    const bool there = static_cast<bool>(levels_.get("", level));
    const std::string message = "This FlowSchema references the PriorityLevelConfiguration object named \"" + level +
                                "\" " + (there ? "and it exists" : "but there is no such object");
    const std::string_view status = there ? "False" : "True", reason = there ? "Found" : "NotFound";
    const auto known = find_condition(schema["status"]["conditions"], "Dangling");
    if (known && known["status"].text() == status && known["reason"].text() == reason &&
        known["message"].text() == message)
      return {};
    auto config = Document::object();
    auto root = config.root();
    root.put("apiVersion", kSchemas.group + "/" + kSchemas.version);
    root.put("kind", "FlowSchema");
    root.object("metadata").put("name", name);
    auto entry = root.object("status").array("conditions").push_object();
    entry.put("type", "Dangling");
    entry.put("status", status);
    entry.put("lastTransitionTime", format_time(context_.clock().now()));
    entry.put("reason", reason);
    entry.put("message", message);
    return settled(context_.client().apply(
        kSchemas, "", name, root, {.field_manager = std::string(kFlowControlManager), .force = true}, "status"));
  }

  Context& context_;
  const Lister schemas_, levels_;
  const std::vector<apiserver::FlowObject> own_;
};

}  // namespace

std::unique_ptr<Controller> make_flow_control_controller(Context& context) {
  return std::make_unique<FlowControlController>(context);
}

}  // namespace sublet::controllers
