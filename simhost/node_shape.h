// NodeShape: what the simulated nodes look like: CPU nodes, and GPU nodes, whole, time-sliced or cut by MIG.
//
// Labels are those of GPU feature discovery. simhost's kubelet runs every node with the annotation
// kSimulatedAnnotation, so users may add nodes of their own. To add a shape: a row in the tables of node_shape.cpp.
// Pure functions.
#pragma once

#include <string>
#include <vector>

#include "sublet/base/clock.h"
#include "sublet/base/status.h"
#include "sublet/schema/document.h"
#include "sublet/simhost/simhost.h"

namespace sublet::simhost {

inline constexpr std::string_view kSimulatedAnnotation = "sublet.dev/simulated-node";

struct NodeShape {
  std::string name;
  int index = 0;  // among all, gives addresses
  bool gpu = false;
};

/// cpu-1.., gpu-1..; bad_request for flags that contradict each other or name an unknown MIG profile.
Result<std::vector<NodeShape>> node_shapes(const SimHostOptions& options);
/// The whole Node object.
schema::Document make_node(const NodeShape& shape, const SimHostOptions& options, WallTime now);
std::string node_address(int index);

}  // namespace sublet::simhost
