// Usage: the CPU and memory of a running simulated container, by a rule over its spec: the environment variables
// SIMHOST_CPU and SIMHOST_MEMORY (quantities, so that a tenant can make load), else half of its request or, without a
// request, of its limit, else a small constant. Pure.
#pragma once

#include <cstdint>

#include "sublet/schema/document.h"

namespace sublet::simhost {

struct Usage {
  std::int64_t cpu_milli = 0, memory_bytes = 0;
  Usage& operator+=(const Usage& other);
  /// As a ResourceList, with metrics-server's units.
  void put(schema::Value out) const;
};

Usage container_usage(const schema::Value& container);
/// Of a node without pods.
Usage idle_node_usage();

}  // namespace sublet::simhost
