// Policies: vcluster.yaml's `policies` as a template says them: what is kept on the host namespace of a virtual
// cluster, and the level of the Pod Security Standards that every host pod meets. Values; immutable once a template is
// loaded.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace sublet::patches {

/// Resources and their quantities, in the template's order.
using Quantities = std::vector<std::pair<std::string, std::string>>;

struct Policies {
  bool resource_quota = false;  // policies.resourceQuota.enabled
  Quantities quota = {
      {"requests.cpu", "10"},      {"requests.memory", "20Gi"},     {"requests.ephemeral-storage", "60Gi"},
      {"limits.cpu", "20"},        {"limits.memory", "40Gi"},       {"limits.ephemeral-storage", "160Gi"},
      {"services.nodeports", "0"}, {"services.loadbalancers", "1"}, {"count/pods", "20"},
      {"count/services", "20"}};

  bool limit_range = false;  // policies.limitRange.enabled; of containers
  Quantities limit_default = {{"cpu", "1"}, {"memory", "512Mi"}, {"ephemeral-storage", "8Gi"}};
  Quantities limit_default_request = {{"cpu", "100m"}, {"memory", "128Mi"}, {"ephemeral-storage", "3Gi"}};
  Quantities limit_min, limit_max;

  bool network_policy = true;                      // policies.networkPolicy.enabled
  std::string pod_security_standard = "baseline";  // policies.podSecurityStandard: privileged, baseline, restricted
};

}  // namespace sublet::patches
