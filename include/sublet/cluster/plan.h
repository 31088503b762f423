// Plan: a virtual cluster to be created, with every check that is possible before anything starts. Pure, except that it
// reads the template's file.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "sublet/cluster/virtual_cluster.h"

namespace sublet::cluster {

struct PlanRequest {
  std::string name;
  std::string host_namespace{};  // empty: sublet-<name>
  std::string template_file{};   // empty: none
  std::map<std::string, std::string> parameters{};
  Quota quota{};
  bool lenient = false;                     // ignore unsupported keys of the template
  std::string pod_address{}, pod_listen{};  // PodAccess; empty: unchanged, none for a new one
};

struct Plan {
  VirtualCluster cluster;             // with uid, template and time of creation; the driver adds address and host
  bool needs_pod_access = false;      // the template has a Service, Ingress or route for people
  std::vector<std::string> left_out;  // keys that a lenient request ignores: place, key and reason
};

/// bad_request names the value and the reason; mistakes in the template come with file, line and key.
Result<Plan> make_plan(const PlanRequest& request);

/// Returns the host account under which its pods run: the template's, or sublet's.
std::string workload_account_name(const std::string& name, const patches::SyncConfig& config);

/// The default of Quota::bytes.
inline constexpr const char* kDefaultQuotaBytes = "2Gi";
/// Parses "2Gi", "500M", "0" as whole bytes; bad_request for anything else.
Result<std::int64_t> bytes_of(std::string_view quantity);

}  // namespace sublet::cluster
