// Bootstrap: the objects that every cluster has from its start, as data: system namespaces with their default accounts
// and CA, priority classes, and the objects that describe the server (server_objects).
//
// Server::start() creates those that are missing; controllers restore some of them later. Pure.
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

/// Objects that describe the server: the Service `kubernetes` in `default` with its Endpoints and EndpointSlice, the
/// ServiceCIDR `kubernetes`, and the CA of its clients (ConfigMap extension-apiserver-authentication).
std::vector<BootstrapObject> server_objects(const ClusterFacts& cluster);
/// The ConfigMap with the CA that pods trust; every namespace has one.
BootstrapObject root_ca_config_map(std::string_view namespace_name, const std::string& ca_certificate_pem);
BootstrapObject default_service_account(std::string_view namespace_name);

/// The first usable address of the service network: the `kubernetes` Service's.
std::string kubernetes_service_ip(const ClusterFacts& cluster);

}  // namespace sublet::apiserver
