// An API server of a test as the host cluster: its resources, its administrator, and what the code under test reports.
#pragma once

#include <string>
#include <vector>

#include "cluster/host/host.h"
#include "sublet/cluster/driver.h"
#include "sublet/net/http.h"

namespace sublet::cluster {

inline const kube::Resource kPods{"", "v1", "pods"}, kSecrets{"", "v1", "secrets"}, kConfigMaps{"", "v1", "configmaps"},
    kServices{"", "v1", "services"};

/// Returns the identity of a client in the process, which may do everything.
inline net::PeerIdentity host_admin() {
  net::PeerIdentity identity;
  identity.kind = net::PeerIdentity::Kind::in_process;
  identity.common_name = "test";
  return identity;
}

struct RecordedProgress final : Progress {
  std::vector<std::string> updates, warnings;
  void warn(const std::string& text) override { warnings.push_back(text); }
  void update(const std::string& how_far) override { updates.push_back(how_far); }
};

}  // namespace sublet::cluster
