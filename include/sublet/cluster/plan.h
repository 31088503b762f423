// Plan: a virtual cluster that is to be, with everything checked that can be checked before anything is started.
// Pure, but for reading the template's file.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "sublet/cluster/virtual_cluster.h"

namespace sublet::cluster {

struct Wish {
  std::string name;
  std::string host_namespace{};  // empty: sublet-<name>
  std::string template_file{};   // empty: none
  std::map<std::string, std::string> parameters{};
  Quota quota{};
  bool lenient = false;                     // leave out keys of the template that sublet does not do
  std::string pod_address{}, pod_listen{};  // PodAccess; empty: as it is, at first none
};

struct Plan {
  VirtualCluster cluster;  // its uid and time of creation given; folder, address and host come with the driver
  std::string template_text;
  bool leads_people_in = false;       // the template asks for what needs a PodAccess
  std::vector<std::string> left_out;  // what a lenient wish left out of the template: place, key and reason
};

/// bad_request names what cannot be used and why; the template's mistakes come with file, line and key.
Result<Plan> make_plan(const Wish& wish);

/// Under which account of the host its pods run: the template's word, or sublet's.
std::string workload_account_name(const std::string& name, const patches::SyncConfig& config);

/// How much a virtual cluster's store may hold when nobody says otherwise.
inline constexpr const char* kDefaultQuotaBytes = "2Gi";
/// "2Gi", "500M", "0": whole bytes. bad_request when it is no such quantity.
Result<std::int64_t> bytes_of(std::string_view quantity);

}  // namespace sublet::cluster
