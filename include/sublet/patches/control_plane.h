// ControlPlane: vcluster.yaml's `controlPlane` as far as it makes objects on the host: what leads people to the API
// server, and the accounts there. Values; immutable once a template is loaded.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sublet/patches/api_value.h"

namespace sublet::patches {

/// controlPlane.service: beside the one for pods, for people (cluster/objects/api_access.h).
struct ServiceSettings {
  ExtraMetadata metadata;
  ApiValue spec;                     // without ports and selector
  std::int64_t https_node_port = 0;  // 0: the host gives one, where the type has one
  bool given() const { return metadata.given() || !spec.empty() || https_node_port != 0; }
};

/// controlPlane.ingress.
struct IngressSettings {
  bool enabled = false;
  std::string host, path_type = "ImplementationSpecific";
  ExtraMetadata metadata;
  ApiValue spec;
};

/// controlPlane.tlsRoute.
struct RouteSettings {
  bool enabled = false;
  std::string api_version = "gateway.networking.k8s.io/v1", host;
  ExtraMetadata metadata;
  ApiValue parents, spec;
};

/// controlPlane.serviceMonitor.
struct MonitorSettings {
  bool enabled = false;
  ExtraMetadata metadata;
};

struct AccountSettings {
  std::string name;  // "": sublet's own
  ExtraMetadata metadata;
  ApiValue pull_secrets;
};

struct ControlPlane {
  ApiValue annotations;  // advanced.globalMetadata.annotations: of all of these objects
  ServiceSettings service;
  IngressSettings ingress;
  RouteSettings route;
  MonitorSettings monitor;
  ExtraMetadata dns_service;                         // coredns.service: of the Service by which pods reach their DNS
  AccountSettings syncer_account, workload_account;  // advanced.serviceAccount, advanced.workloadServiceAccount
  std::vector<std::string> names;                    // proxy.extraSANs

  /// Somebody who is no pod of the virtual cluster is to reach the API server through the host.
  bool leads_people_in() const { return service.given() || ingress.enabled || route.enabled || monitor.enabled; }
};

/// What the API server is called by those who are led in: its certificate must cover them.
std::vector<std::string> names_of(const ControlPlane& wanted);

}  // namespace sublet::patches
