// PodTemplates: the built-in kinds that create pods, and where their templates are. Constant. Internal to admission/.
#pragma once

#include <algorithm>
#include <iterator>
#include <string_view>

#include "sublet/schema/table.h"

namespace sublet::apiserver {

struct PodMaker {
  std::string_view group, resource, template_path;
};
inline constexpr PodMaker kPodMakers[] = {
    {"", "replicationcontrollers", "spec.template"},
    {"", "podtemplates", "template"},
    {"apps", "replicasets", "spec.template"},
    {"apps", "deployments", "spec.template"},
    {"apps", "statefulsets", "spec.template"},
    {"apps", "daemonsets", "spec.template"},
    {"batch", "jobs", "spec.template"},
    {"batch", "cronjobs", "spec.jobTemplate.spec.template"},
};

/// Null: the kind creates no pods.
inline const PodMaker* pod_maker_of(const schema::ResourceFacts& facts) {
  const auto* const found = std::ranges::find_if(
      kPodMakers, [&](const PodMaker& row) { return row.group == facts.group && row.resource == facts.resource; });
  return found == std::end(kPodMakers) ? nullptr : found;
}

}  // namespace sublet::apiserver
