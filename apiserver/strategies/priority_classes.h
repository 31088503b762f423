// The priority classes that every cluster has. Used by validation, by admission and at bootstrap.
#pragma once

#include <cstdint>
#include <string_view>

namespace sublet::apiserver {

struct SystemPriorityClass {
  std::string_view name;
  std::int64_t value;
  std::string_view description;
};
inline constexpr SystemPriorityClass kSystemPriorityClasses[] = {
    {"system-cluster-critical", 2'000'000'000,
     "Used for system critical pods that must run in the cluster, but can be moved to another node if necessary."},
    {"system-node-critical", 2'000'001'000,
     "Used for system critical pods that must not be moved from their current node."}};

}  // namespace sublet::apiserver
