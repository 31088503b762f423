// Amounts of resources as the scheduler counts them: integers in thousandths, rounded up. Pure functions.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "sublet/schema/document.h"

namespace sublet::simhost {

inline constexpr std::int64_t kUnit = 1000;  // one whole CPU, byte, device or pod
inline constexpr std::string_view kGpuResource = "nvidia.com/gpu";
inline constexpr std::string_view kPodsResource = "pods";

using Resources = std::map<std::string, std::int64_t, std::less<>>;

/// From a ResourceList object; malformed quantities count as 0.
Resources read_resources(const schema::Value& list);
std::int64_t amount(const Resources& resources, std::string_view name);
void add(Resources& to, const Resources& what, std::int64_t times = 1);

/// What a pod takes from its node: the larger of its containers together (sidecars included) and of any init container
/// beside the sidecars started before it, plus overhead, plus one of "pods". A limit without a request counts as one.
Resources pod_requests(const schema::Value& pod_spec);

}  // namespace sublet::simhost
