// Rows of Kubernetes' own gangs: PodGroups and the Workloads that they are made of, and what the host's scheduler says
// of a group.
#include "syncer/translate/field_table.h"
#include "syncer/translate/rewrites.h"

namespace sublet::syncer {
namespace {

constexpr std::string_view kOfTheClass = "the host's PriorityClass says it";

std::vector<TypeRows> status() {
  return {
      {"PodGroupStatus",
       {walk("conditions", "PodGroupCondition"),
        drop("resourceClaimStatuses", "names of host objects mean nothing to the tenant")},
       "scheduling.v1alpha2.PodGroupStatus"},
      {"PodGroupCondition",
       {copy("type status lastTransitionTime reason message"),
        drop("observedGeneration", "counts the host object's changes")},
       "io.k8s.apimachinery.pkg.apis.meta.v1.Condition"},
  };
}

// What a group and the template of groups have alike.
std::vector<TypeRows> parts() {
  return {
      {"PodGroupSchedulingPolicy",
       {walk("basic", "BasicSchedulingPolicy"), walk("gang", "GangSchedulingPolicy")},
       "scheduling.v1alpha2.PodGroupSchedulingPolicy"},
      {"BasicSchedulingPolicy", {}, "scheduling.v1alpha2.BasicSchedulingPolicy"},
      {"GangSchedulingPolicy", {copy("minCount")}, "scheduling.v1alpha2.GangSchedulingPolicy"},
      {"PodGroupSchedulingConstraints",
       {walk("topology", "TopologyConstraint")},
       "scheduling.v1alpha2.PodGroupSchedulingConstraints"},
      {"TopologyConstraint", {copy("key")}, "scheduling.v1alpha2.TopologyConstraint"},
      {"PodGroupResourceClaim",
       {copy("name"), rewrite("resourceClaimName", rewrite_device_claim_name),
        rewrite("resourceClaimTemplateName", rewrite_device_template_name)},
       "scheduling.v1alpha2.PodGroupResourceClaim"},
  };
}

}  // namespace

std::vector<TypeRows> group_fields() {
  std::vector<TypeRows> all = {
      {"PodGroup",
       {copy("apiVersion kind"), walk("metadata", "ObjectMeta"), walk("spec", "PodGroupSpec"),
        drop("status", "the host says it, and it comes back")},
       "scheduling.v1alpha2.PodGroup"},
      {"PodGroupSpec",
       {clamp("podGroupTemplateRef", keep_carried_workload, "PodGroupTemplateReference"),
        walk("schedulingPolicy", "PodGroupSchedulingPolicy"),
        walk("schedulingConstraints", "PodGroupSchedulingConstraints"), walk("resourceClaims", "PodGroupResourceClaim"),
        copy("disruptionMode"), clamp("priorityClassName", rewrite_priority_class), drop("priority", kOfTheClass)},
       "scheduling.v1alpha2.PodGroupSpec"},
      {"PodGroupTemplateReference",
       {walk("workload", "WorkloadPodGroupTemplateReference")},
       "scheduling.v1alpha2.PodGroupTemplateReference"},
      {"WorkloadPodGroupTemplateReference",
       {rewrite("workloadName", rewrite_crossing_name), copy("podGroupTemplateName")},
       "scheduling.v1alpha2.WorkloadPodGroupTemplateReference"},
      {"Workload",
       {copy("apiVersion kind"), walk("metadata", "ObjectMeta"), walk("spec", "WorkloadSpec")},
       "scheduling.v1alpha2.Workload"},
      {"WorkloadSpec",
       {drop("controllerRef", "names an object of the tenant that is not on the host"),
        walk("podGroupTemplates", "PodGroupTemplate")},
       "scheduling.v1alpha2.WorkloadSpec"},
      {"PodGroupTemplate",
       {copy("name"), walk("schedulingPolicy", "PodGroupSchedulingPolicy"),
        walk("schedulingConstraints", "PodGroupSchedulingConstraints"), walk("resourceClaims", "PodGroupResourceClaim"),
        copy("disruptionMode"), clamp("priorityClassName", rewrite_priority_class), drop("priority", kOfTheClass)},
       "scheduling.v1alpha2.PodGroupTemplate"},
  };
  for (auto part : {parts(), status()}) all.insert(all.end(), part.begin(), part.end());
  return all;
}

}  // namespace sublet::syncer
