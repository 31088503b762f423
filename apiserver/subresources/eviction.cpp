#include <vector>

#include "apiserver/codec/object_bytes.h"
#include "apiserver/subresources/functions.h"
#include "apiserver/validation/field_errors.h"
#include "sublet/kube/conditions.h"
#include "sublet/kube/selectors.h"
#include "sublet/schema/registry.h"

namespace sublet::apiserver {
namespace {

using schema::Document;
using schema::Value;

constexpr std::string_view kBudgets = "poddisruptionbudgets.policy/";
constexpr std::size_t kDisruptedPodsMax = 2000;
constexpr std::string_view kRefusal = "Cannot evict pod as it would violate the pod's disruption budget.";

/// A stored PodDisruptionBudget that covers the pod.
struct Budget {
  store::ObjectPtr stored;
  Document document;
};

std::vector<Budget> budgets_of(const WriteContext& context, const Value& pod) {
  std::vector<Budget> budgets;
  std::string prefix = std::string(kBudgets) + pod["metadata"]["namespace"].string() + "/";
  context.pending.scan(prefix, {}, [&](const store::ObjectPtr& stored) {
    auto document = Document::parse_json(stored->json());
    if (!document) return true;
    auto selector = kube::LabelSelector::from_object((*document)["spec"]["selector"]);
    if (selector && selector->matches(pod["metadata"]["labels"])) budgets.push_back({stored, std::move(*document)});
    return true;
  });
  return budgets;
}

/// Pods that do not serve yet, or no longer, spend no budget.
bool ignores_budgets(const Value& pod) {
  auto phase = pod["status"]["phase"].text();
  return phase == "Succeeded" || phase == "Failed" || phase == "Pending" || pod["metadata"].has("deletionTimestamp");
}

bool unhealthy_may_go(const Value& pod, const Value& budget) {
  if (kube::has_condition(pod, "Ready")) return false;
  if (budget["spec"]["unhealthyPodEvictionPolicy"].text() == "AlwaysAllow") return true;
  auto desired = budget["status"]["desiredHealthy"].integer();
  return desired > 0 && budget["status"]["currentHealthy"].integer() >= desired;
}

tl::unexpected<Status> too_many_evictions(std::string why, int retry_after) {
  Status status;
  status.reason = Reason::too_many_requests;
  status.message = kRefusal;
  status.retry_after_seconds = retry_after;
  status.causes.push_back({"DisruptionBudget", std::move(why), ""});
  return fail(std::move(status));
}

std::string why_exhausted(const Value& budget) {
  auto name = budget["metadata"]["name"].string();
  auto healthy = budget["status"]["currentHealthy"].integer(), desired = budget["status"]["desiredHealthy"].integer();
  if (healthy > desired) return "The disruption budget " + name + " does not allow evicting pods currently";
  return "The disruption budget " + name + " needs " + std::to_string(desired) + " healthy pods and has " +
         std::to_string(healthy) + " currently";
}

Outcome check_budget(const Value& budget) {
  auto name = budget["metadata"]["name"].string();
  auto status = budget["status"];
  if (status["observedGeneration"].integer() < budget["metadata"]["generation"].integer())
    return too_many_evictions("The disruption budget " + name + " is still being processed by the server.", 10);
  auto allowed = status["disruptionsAllowed"].integer();
  if (allowed < 0)
    return fail(sublet::forbidden_status("policy", "poddisruptionbudget", name, "pdb disruptions allowed is negative"));
  if (status["disruptedPods"].size() > kDisruptedPodsMax)
    return fail(
        sublet::forbidden_status("policy", "poddisruptionbudget", name,
                                 "DisruptedPods map too big - too many evictions not confirmed by PDB controller"));
  if (allowed == 0) return too_many_evictions(why_exhausted(budget), 0);
  return {};
}

/// Takes one disruption from the budget, in the same Txn that deletes the pod: two evictions cannot spend it twice.
Outcome spend(WriteContext& context, Budget& budget, const Value& pod) {
  if (auto outcome = check_budget(budget.document.root()); !outcome) return outcome;
  auto status = budget.document.root().object("status");
  status.put("disruptionsAllowed", status["disruptionsAllowed"].integer() - 1);
  status.object("disruptedPods").put(pod["metadata"]["name"].text(), format_time(context.clock.now()));
  if (context.dry_run) return {};
  const auto* facts = context.kinds.find_resource("policy", "v1", "poddisruptionbudgets");
  auto put = make_put(budget.document.root(), *facts, *context.kinds.entry<Strategy>(*facts));
  if (!put) return fail(put.error());
  context.txn.guards.push_back({budget.stored->key, budget.stored->revision});
  store::Op op;
  op.key = budget.stored->key;
  op.put = std::move(*put);
  context.txn.ops.push_back(std::move(op));
  return {};
}

Outcome spend_budgets(WriteContext& context, const Value& pod) {
  if (ignores_budgets(pod)) return {};
  auto budgets = budgets_of(context, pod);
  if (budgets.empty()) return {};
  if (budgets.size() > 1)
    return fail(Reason::internal_error,
                "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.");
  if (unhealthy_may_go(pod, budgets[0].document.root())) return {};
  return spend(context, budgets[0], pod);
}

}  // namespace

Result<SubresourceAnswer> evict_pod(WriteContext& context, Value pod, const Value& eviction) {
  if (auto outcome = spend_budgets(context, pod); !outcome) return fail(outcome.error());
  set_condition(pod.object("status"), "DisruptionTarget", "True", "EvictionByEvictionAPI", "Eviction API: evicting",
                context.clock.now());
  SubresourceAnswer answer;
  answer.body = success_document();
  answer.delete_parent = true;
  auto options = eviction["deleteOptions"];
  answer.delete_options = options ? Document::copy_of(options) : Document::object();
  return answer;
}

}  // namespace sublet::apiserver
