// Policies: what a template's `policies` (sublet/patches/policies.h) keep on a virtual cluster's host namespace: a
// ResourceQuota, a LimitRange, and a NetworkPolicy for the egress of its pods. All carry the virtual cluster's labels
// and go with it (sweep.h). Pure but for keep_policies(), which blocks.
#pragma once

#include <optional>
#include <span>

#include "cluster/host.h"
#include "sublet/patches/template.h"
#include "sublet/schema/document.h"

namespace sublet::cluster {

struct PolicyObject {
  kube::Resource resource;
  std::string name;
  std::optional<schema::Document> object;  // none: it is not to be there
};
/// `host_server`: the URL of the host's API server.
std::vector<PolicyObject> policy_objects(const VirtualCluster& cluster, const patches::SyncConfig& config,
                                         const std::string& host_server);
/// Makes, changes or removes them as the template says; one that is not the virtual cluster's is left alone, with an
/// error.
Outcome keep_policies(const Host& host, const VirtualCluster& cluster);

/// Their resources, for who takes them away.
std::span<const kube::Resource> policy_resources();

}  // namespace sublet::cluster
