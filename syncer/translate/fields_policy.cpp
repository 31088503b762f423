// Rows of what tenants say of how their pods are treated: disruption budgets, priorities, identities.
#include "syncer/translate/field_table.h"
#include "syncer/translate/rewrites.h"

namespace sublet::syncer {

std::vector<TypeRows> policy_fields() {
  return {
      {"PodDisruptionBudget",
       {copy("apiVersion kind"), walk("metadata", "ObjectMeta"), walk("spec", "PodDisruptionBudgetSpec"),
        drop("status", "each side counts its own")},
       "policy.v1.PodDisruptionBudget"},
      {"PodDisruptionBudgetSpec",
       {rewrite("minAvailable maxUnavailable", written_after_rows),
        rewrite("selector", rewrite_own_namespace_selector, "LabelSelector"), copy("unhealthyPodEvictionPolicy")},
       "policy.v1.PodDisruptionBudgetSpec"},
      {"PriorityClass",
       {copy("apiVersion kind"), walk("metadata", "ObjectMeta"), clamp("value", clamp_priority),
        drop("globalDefault", "the host's default is the platform's; the tenant's is named by its pods"),
        copy("description preemptionPolicy")},
       "scheduling.v1.PriorityClass"},
      {"ServiceAccount",
       {copy("apiVersion kind"), walk("metadata", "ObjectMeta"),
        drop("secrets imagePullSecrets", "what pods name themselves is enough, and crosses with them"),
        force("automountServiceAccountToken", "false: tokens are the tenant's, in a volume")}},
  };
}

}  // namespace sublet::syncer
