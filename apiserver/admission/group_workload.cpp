// PodGroupWorkloadExists: a PodGroup that says of which template it was made names one that there is.
#include "apiserver/admission/plugins.h"

namespace sublet::apiserver {

Outcome group_workload(const Attempt& attempt) {
  const schema::Value reference = attempt.object["spec"]["podGroupTemplateRef"]["workload"];
  if (!reference.is_object()) return {};
  const std::string name = reference["workloadName"].string(), wanted = reference["podGroupTemplateName"].string();
  const auto workload =
      attempt.context.read("workloads.scheduling.k8s.io", std::string(attempt.context.namespace_name), name);
  if (!workload) return attempt.forbid("PodGroup rejected: Workload \"" + name + "\" not found");
  if (workload->root()["metadata"].has("deletionTimestamp"))
    return attempt.forbid("PodGroup rejected: Workload \"" + name + "\" is being deleted");
  for (const schema::Value one : workload->root()["spec"]["podGroupTemplates"])
    if (one["name"].text() == wanted) return {};
  return attempt.forbid("PodGroup rejected: PodGroupTemplate \"" + wanted + "\" not found in Workload \"" + name +
                        "\"");
}

}  // namespace sublet::apiserver
