// HostGatewayOptions: what a HostGateway may reach and name, and how the syncer describes the pods and nodes whose
// metrics a tenant may read.
//
// Plain data. The functions may be called from any thread.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sublet/net/address_rules.h"
#include "sublet/schema/document.h"

namespace sublet::syncer {

inline constexpr std::size_t kGatewayStreamsMax = 256;

/// A tenant pod that runs on the host.
struct MeasuredPod {
  std::string namespace_name, name;
  schema::Document labels;
  std::vector<std::string> containers;  // those that the tenant's pod has
};

/// A node that the tenant sees.
struct MeasuredNode {
  std::string name;
  schema::Document labels;
};

class NodeNames;

struct HostGatewayOptions {
  std::string virtual_cluster_uid;  // a label of our host objects
  std::string host_namespace;
  std::string host_bearer_token;  // empty: the host authenticates us by certificate
  std::function<std::string(const std::string& tenant_namespace, const std::string& tenant_pod)> host_name;
  std::size_t streams_max = kGatewayStreamsMax;
  net::AddressRules call_rules = {};  // which addresses pods may have
  /// Return the tenant's pod for a host pod, and the tenant's node for a host node; nullopt if the tenant has none.
  /// Syncer::measured_pod() and measured_node().
  std::function<std::optional<MeasuredPod>(const std::string& host_pod)> measured_pod = nullptr;
  std::function<std::optional<MeasuredNode>(const std::string& host_node)> measured_node = nullptr;
  /// Null: nodes have their host names, and the bytes of sessions are not read (docs/decisions/sessions-as-bytes.md).
  std::shared_ptr<const NodeNames> node_names = nullptr;
};

}  // namespace sublet::syncer
