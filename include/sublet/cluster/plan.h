// Plan: a virtual cluster that is to be, with everything checked that can be checked before anything is started.
// Pure, but for reading the template's file.
#pragma once

#include <map>
#include <string>

#include "sublet/cluster/virtual_cluster.h"

namespace sublet::cluster {

struct Wish {
  std::string name;
  std::string host_namespace{};  // empty: sublet-<name>
  std::string template_file{};   // empty: none
  std::map<std::string, std::string> parameters{};
};

struct Plan {
  VirtualCluster cluster;  // its uid and time of creation given; folder, address and host come with the driver
  std::string template_text;
};

/// bad_request names what cannot be used and why; the template's mistakes come with file, line and key.
Result<Plan> make_plan(const Wish& wish);

}  // namespace sublet::cluster
