// The status of ValidatingAdmissionPolicies: which generation was looked at, and what their expressions get wrong about
// the objects that they are for (sublet/apiserver/policy_types.h).
// Source: pkg/controller/validatingadmissionpolicystatus of Kubernetes.

#include "controllers/runtime/calls.h"
#include "sublet/apiserver/policy_types.h"
#include "sublet/controllers/controller.h"
#include "sublet/controllers/controllers.h"

namespace sublet::controllers {
namespace {

using schema::Document;

constexpr std::string_view kGroup = "admissionregistration.k8s.io";
const kube::Resource kPolicies{std::string(kGroup), "v1", "validatingadmissionpolicies"};

class PolicyStatusController final : public Controller {
 public:
  explicit PolicyStatusController(Context& context) : context_(context), policies_(context.lister(kPolicies)) {}

  void start() override {
    context_.on_change(kPolicies, [this](const Change& change) {
      if (change.after) context_.enqueue(std::string(name_of(*change.after)));
    });
  }

  Outcome reconcile(const std::string& name) override {
    const auto stored = policies_.get("", name);
    if (!stored) return {};
    const auto policy = document_of(*stored);
    const auto generation = policy["metadata"]["generation"].integer();
    if (generation <= policy["status"]["observedGeneration"].integer()) return {};
    const auto config = status_of(name, generation, policy.root());
    return settled(context_.client().apply(kPolicies, "", name, config.root(),
                                           {.field_manager = "validatingadmissionpolicy-status", .force = true},
                                           "status"));
  }

 private:
  Document status_of(const std::string& name, std::int64_t generation, const schema::Value& policy) const {
    auto config = Document::object();
    config.root().put("apiVersion", std::string(kGroup) + "/v1");
    config.root().put("kind", "ValidatingAdmissionPolicy");
    config.root().object("metadata").put("name", name);
    auto status = config.root().object("status");
    status.put("observedGeneration", generation);
    auto checked = status.object("typeChecking");
    for (const auto& warning : apiserver::check_policy_types(policy, *context_.options().kinds())) {
      auto item = checked.array("expressionWarnings").push_object();
      item.put("fieldRef", warning.field);
      item.put("warning", warning.warning);
    }
    return config;
  }

  Context& context_;
  const Lister policies_;
};

}  // namespace

std::unique_ptr<Controller> make_policy_status_controller(Context& context) {
  return std::make_unique<PolicyStatusController>(context);
}

}  // namespace sublet::controllers
