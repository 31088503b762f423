// JsonOutput: the output of `-o json`. Keys are lower case and stable; docs/cli.md names them. Pure, except print_json.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "sublet/cluster/driver.h"

namespace sublet::cli {

/// Returns an object of that kind without other members.
nlohmann::json json_object(const std::string& kind);
/// Everything in its record, and where its logs are.
nlohmann::json cluster_json(const cluster::VirtualCluster& cluster, const cluster::LogPlaces& logs);
/// Writes to stdout; replaces bytes that are not UTF-8 (from file names).
void print_json(const nlohmann::json& document);

}  // namespace sublet::cli
