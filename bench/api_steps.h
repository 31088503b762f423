// What the API scenarios have in common: namespaces of their own, paths, and the resourceVersion of an answer.
#pragma once

#include <string>

#include "bench/connection.h"

namespace sublet::bench {

/// A new namespace whose name no earlier run on this server has used.
std::string make_namespace(Connection& connection, const std::string& stem);
std::string config_maps_path(const std::string& namespace_name);
/// The first resourceVersion in an object's or a list's JSON; dies when there is none.
std::string resource_version(const std::string& json);

}  // namespace sublet::bench
