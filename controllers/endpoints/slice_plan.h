// SlicePlan: from the EndpointSlices that a Service has to those that it should have, with as few writes as upstream's
// controller makes: unchanged endpoints stay where they are, slices that change are filled up first, and one that would
// go is used again for one that would come. Pure functions. Source: k8s.io/endpointslice/reconciler.go.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "sublet/schema/document.h"

namespace sublet::controllers {

inline constexpr std::size_t kSliceEndpointsMax = 100;
inline constexpr std::string_view kServiceNameLabel = "kubernetes.io/service-name",
                                  kSliceManagedByLabel = "endpointslice.kubernetes.io/managed-by",
                                  kSliceController = "endpointslice-controller.k8s.io",
                                  kHeadlessLabel = "service.kubernetes.io/headless",
                                  kTriggerAnnotation = "endpoints.kubernetes.io/last-change-trigger-time";

struct SlicePlan {
  std::vector<schema::Document> creates, updates;
  std::vector<std::string> removals;  // names
};

/// A node's zone by the node's name, "" when it has none or is not known.
using ZoneOf = std::function<std::string(std::string_view node)>;

/// `slices` are the Service's, as stored, without those that are being deleted.
SlicePlan plan_slices(const schema::Value& service, const std::vector<schema::Document>& pods, const ZoneOf& zone_of,
                      const std::vector<schema::Document>& slices, std::size_t endpoints_max = kSliceEndpointsMax);

/// What distinguishes an endpoint: addresses, host name and pod.
std::string endpoint_identity(const schema::Value& endpoint);
/// Returns the ports as sorted text, which distinguishes groups of endpoints.
std::string ports_identity(const schema::Value& ports);
/// "name-", or without the dash where that would be too long.
std::string slice_name_prefix(std::string_view name);
/// Which slices stay of the plan's when those that would go are used for those that would come.
void reuse_slices(SlicePlan& plan, const std::vector<schema::Document>& slices,
                  const std::function<bool(const schema::Value& slice)>& usable);

}  // namespace sublet::controllers
