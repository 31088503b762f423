// Bootstrap: what every cluster has from its first moment, as data: system namespaces with their default accounts and
// CA, priority classes, and what the server says of itself (server_objects).
//
// Server::start() creates what is missing; the controllers restore some of it later (controllers/). Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sublet/apiserver/cluster_facts.h"
#include "sublet/schema/document.h"

namespace sublet::apiserver {

/// The name in the front proxy's certificate.
inline constexpr const char* kFrontProxyName = "front-proxy-client";

struct BootstrapObject {
  std::string_view group, version, resource;
  std::string namespace_name;  // "" for cluster scope
  std::string name;
  schema::Document object;  // with apiVersion and kind; no defaults, no server-owned metadata
};

/// In the order in which they must be created.
std::vector<BootstrapObject> bootstrap_objects(const ClusterFacts& cluster);

/// What the server says of itself: the Service `kubernetes` in `default` with its Endpoints and its EndpointSlice, the
/// ServiceCIDR `kubernetes`, and by which CA it knows its clients (ConfigMap extension-apiserver-authentication).
std::vector<BootstrapObject> server_objects(const ClusterFacts& cluster);
/// The CA that pods trust, as every namespace gets it.
BootstrapObject root_ca_config_map(std::string_view namespace_name, const std::string& ca_certificate_pem);
BootstrapObject default_service_account(std::string_view namespace_name);

/// The first usable address of the service network: the `kubernetes` Service's.
std::string kubernetes_service_ip(const ClusterFacts& cluster);

}  // namespace sublet::apiserver
