// ApiAccess: the way of people outside the host to a virtual cluster's API server, as the template's controlPlane asks
// (sublet/patches/control_plane.h): a Service of its own without the pods' DNS port, and an Ingress or a TLSRoute to
// it. They lead to the address by which pods reach the API server (PodAccess), carry the virtual cluster's labels and
// are removed with it (sweep.h).
#pragma once

#include <vector>

#include "cluster/host/host.h"
#include "sublet/patches/template.h"
#include "sublet/schema/document.h"

namespace sublet::cluster {

struct ApiAccessObject {
  kube::Resource resource;
  schema::Document object;
};
/// None when the template asks for none.
std::vector<ApiAccessObject> api_access_objects(const VirtualCluster& cluster, const patches::SyncConfig& config);
Outcome keep_api_access(const Host& host, const VirtualCluster& cluster, const patches::SyncConfig& config);

/// Their resources, for the sweep.
std::vector<kube::Resource> api_access_resources(const patches::SyncConfig& config);

}  // namespace sublet::cluster
