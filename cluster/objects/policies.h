// Policies: the objects that a template's `policies` (sublet/patches/policies.h) ask for in the host namespace: a
// ResourceQuota, a LimitRange, and a NetworkPolicy for the egress of its pods. All carry the virtual cluster's labels
// and go with it (sweep.h). Pure but for keep_policies(), which blocks.
#pragma once

#include <optional>
#include <span>

#include "cluster/host/host.h"
#include "sublet/patches/template.h"
#include "sublet/schema/document.h"

namespace sublet::cluster {

struct PolicyObject {
  kube::Resource resource;
  std::string name;
  std::optional<schema::Document> object;  // nullopt: it must not exist
};
/// `host_server`: the URL of the host's API server.
std::vector<PolicyObject> policy_objects(const VirtualCluster& cluster, const patches::SyncConfig& config,
                                         const std::string& host_server);
/// Creates, updates or removes them as the template says. An object of that name that is not the virtual cluster's
/// stays as it is and is an error.
Outcome keep_policies(const Host& host, const VirtualCluster& cluster);

/// Their resources, for the sweep.
std::span<const kube::Resource> policy_resources();

}  // namespace sublet::cluster
