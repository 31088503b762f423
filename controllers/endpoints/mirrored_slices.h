// The EndpointSlices that mirror users' Endpoints: one for each family and set of ports. Pure functions.
// Source: pkg/controller/endpointslicemirroring of Kubernetes.
#pragma once

#include <vector>

#include "controllers/endpoints/slice_plan.h"

namespace sublet::controllers {

inline constexpr std::string_view kMirroringController = "endpointslicemirroring-controller.k8s.io";
inline constexpr std::size_t kMirroredAddressesMax = 1000;  // of each subset

struct MirrorPlan {
  SlicePlan slices;
  int skipped = 0;  // addresses beyond the maximum
};

/// Returns true when they are mirrored, whatever their Service is.
bool may_be_mirrored(const schema::Value& endpoints);
/// `slices`: those that mirror it now.
MirrorPlan plan_mirror(const schema::Value& endpoints, const std::vector<schema::Document>& slices);

}  // namespace sublet::controllers
