// JsonOutput: what `-o json` writes. Keys are lower case and stable; docs/cli.md names them. Pure, but for print_json.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "sublet/cluster/virtual_cluster.h"

namespace sublet::cli {

/// An object of that kind, to be filled.
nlohmann::json json_object(const std::string& kind);
/// All that its record says.
nlohmann::json cluster_json(const cluster::VirtualCluster& cluster);
/// To stdout; bytes that are no UTF-8 (they come from file names) are replaced.
void print_json(const nlohmann::json& document);

}  // namespace sublet::cli
