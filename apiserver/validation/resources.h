// Resources: names and quantities of resource lists (requests, limits, capacity), and the QoS class of a pod. Pure.
#pragma once

#include <string>
#include <string_view>

#include "apiserver/validation/field_errors.h"

namespace sublet::apiserver {

/// "vendor.example/thing": counted in whole units, request and limit must agree.
bool is_extended_resource(std::string_view name);
bool is_huge_page_resource(std::string_view name);
/// What a pod as a whole can ask for.
bool is_pod_resource(std::string_view name);
/// Whether a request may be below its limit.
bool is_overcommit_allowed(std::string_view name);

/// Not negative, and whole for resources that are counted.
void validate_resource_quantity(Causes& causes, const std::string& path, std::string_view name,
                                const schema::Value& quantity);
void validate_resource_name(Causes& causes, const std::string& path, std::string_view name);
/// The narrower rule for what a container can have.
void validate_container_resource_name(Causes& causes, const std::string& path, std::string_view name);
/// A container's `resources`.
void validate_container_resources(Causes& causes, const std::string& path, const schema::Value& resources);
/// A pod's `overhead`, of which upstream speaks as of limits.
void validate_overhead(Causes& causes, const std::string& path, const schema::Value& overhead);
/// `resources` of the pod as a whole, at `path`.resources.
void validate_pod_resources(Causes& causes, const std::string& path, const schema::Value& spec);
/// A resource list without the rules for containers (RuntimeClass overhead, node capacity).
void validate_resource_list(Causes& causes, const std::string& path, const schema::Value& list);

/// "Guaranteed", "Burstable" or "BestEffort".
std::string_view qos_class(const schema::Value& pod_spec);

/// Nano units, rounded up; malformed counts as zero.
__int128 quantity_nanos_of(const schema::Value& quantity);
/// a <=> b as quantities; malformed counts as zero.
int compare_quantities(const schema::Value& a, const schema::Value& b);

}  // namespace sublet::apiserver
