// Policies: vcluster.yaml's `policies` as a template says them: what is kept on the host namespace of a virtual
// cluster, and the level of the Pod Security Standards that every host pod meets. Values; immutable once a template is
// loaded.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sublet/patches/api_value.h"

namespace sublet::patches {

/// Resources and their quantities, in the template's order.
using Quantities = std::vector<std::pair<std::string, std::string>>;

/// Where clouds tell a machine its credentials: never public.
inline constexpr const char* kMetadataNetworks[] = {"169.254.0.0/16", "100.100.100.200/32", "fe80::/10",
                                                    "fd00:ec2::/32"};

/// Whether all addresses of `part` are in `whole` ("10.0.0.0/8", or one address). False when one of them is none.
bool covers(std::string_view whole, std::string_view part);

/// policies.networkPolicy.workload.publicEgress: what of the world outside pods reach.
struct PublicEgress {
  bool enabled = true;
  std::string cidr;                                // "": all of it
  std::optional<std::vector<std::string>> except;  // none: what is private; kMetadataNetworks stay out in any case
};

struct Policies {
  bool resource_quota = false;  // policies.resourceQuota.enabled
  Quantities quota = {
      {"requests.cpu", "10"},      {"requests.memory", "20Gi"},     {"requests.ephemeral-storage", "60Gi"},
      {"limits.cpu", "20"},        {"limits.memory", "40Gi"},       {"limits.ephemeral-storage", "160Gi"},
      {"services.nodeports", "0"}, {"services.loadbalancers", "1"}, {"count/pods", "20"},
      {"count/services", "20"}};

  ApiValue quota_scopes, quota_scope_expressions;  // .scopes and .scopeSelector.matchExpressions
  ExtraMetadata quota_metadata;

  bool limit_range = false;  // policies.limitRange.enabled; of containers
  Quantities limit_default = {{"cpu", "1"}, {"memory", "512Mi"}, {"ephemeral-storage", "8Gi"}};
  Quantities limit_default_request = {{"cpu", "100m"}, {"memory", "128Mi"}, {"ephemeral-storage", "3Gi"}};
  Quantities limit_min, limit_max;
  ExtraMetadata limit_metadata;

  bool network_policy = true;  // policies.networkPolicy.enabled
  ExtraMetadata network_metadata;
  PublicEgress public_egress;
  ApiValue workload_egress, workload_ingress;      // further rules; with one, all other traffic to the pods is closed
  std::string pod_security_standard = "baseline";  // policies.podSecurityStandard: privileged, baseline, restricted
};

}  // namespace sublet::patches
