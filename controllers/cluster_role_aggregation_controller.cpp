// ClusterRoles with an aggregationRule have the rules of all that it selects.
// Source: pkg/controller/clusterroleaggregation of Kubernetes.

#include <algorithm>

#include "controllers/runtime/calls.h"
#include "sublet/controllers/controller.h"
#include "sublet/controllers/controllers.h"

namespace sublet::controllers {
namespace {

using schema::Document;
using schema::Value;

const kube::Resource kRoles{"rbac.authorization.k8s.io", "v1", "clusterroles"};

void add_new(Value rules, const Value& more) {
  for (Value rule : more) {
    bool known = false;
    for (Value have : rules) known |= have.equals(rule);
    if (!known) rules.push(rule);
  }
}

class ClusterRoleAggregationController final : public Controller {
 public:
  explicit ClusterRoleAggregationController(Context& context) : context_(context), roles_(context.lister(kRoles)) {}

  // Any change may be one of what a rule selects, now or before.
  void start() override {
    context_.on_change(kRoles, [this](const Change&) { context_.enqueue("all"); });
  }

  Outcome reconcile(const std::string&) override {
    const auto roles = roles_.list();
    for (const auto& role : roles) {
      if (raw_of(*role, {"aggregationRule"}).empty()) continue;
      if (auto written = aggregate(*role, roles); !written) return written;
    }
    return {};
  }

 private:
  Outcome aggregate(const store::Object& stored, const std::vector<store::ObjectPtr>& roles) {
    auto role = document_of(stored);
    Document rules;
    rules.root().make_array();
    for (Value wanted : role["aggregationRule"]["clusterRoleSelectors"]) {
      auto selector = kube::LabelSelector::from_object(wanted);
      if (!selector) return fail(selector.error());
      for (const auto& other : roles)
        if (other->key != stored.key && selector->matches(other->index.labels))
          add_new(rules.root(), document_of(*other)["rules"]);
    }
    if (rules.root().empty() ? role["rules"].empty() : role["rules"].equals(rules.root())) return {};
    role.root().put("rules", rules.root());
    return settled(context_.client().update(kRoles, "", name_of(stored), role.root()));
  }

  Context& context_;
  const Lister roles_;
};

}  // namespace

std::unique_ptr<Controller> make_cluster_role_aggregation_controller(Context& context) {
  return std::make_unique<ClusterRoleAggregationController>(context);
}

}  // namespace sublet::controllers
