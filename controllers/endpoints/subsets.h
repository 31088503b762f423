// Subsets: the endpoints of a Service in the older form, addresses by ports, repacked as upstream does it: one subset
// per set of addresses, every address in it ready or not. Pure functions. Source:
// pkg/controller/endpoint/endpoints_controller.go, pkg/api/v1/endpoints/util.go of Kubernetes.
#pragma once

#include <vector>

#include "sublet/schema/document.h"

namespace sublet::controllers {

inline constexpr std::size_t kEndpointsCapacity = 1000;

/// The array for `subsets`, in an order of its own.
schema::Document make_subsets(const schema::Value& service, const std::vector<schema::Document>& pods);
/// Cuts down to so many addresses, ready ones first, each subset by its share; false when there was nothing to cut.
bool truncate_subsets(schema::Value subsets, std::size_t capacity = kEndpointsCapacity);

}  // namespace sublet::controllers
