// What the two controllers that write EndpointSlices do alike: finding a Service's slices and writing a SlicePlan.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "controllers/endpoints/slice_plan.h"
#include "sublet/controllers/controller.h"

namespace sublet::controllers {

/// Slices of that Service which `manager` looks after, without those that are being deleted.
std::vector<schema::Document> slices_of_service(const Lister& slices, std::string_view namespace_name,
                                                std::string_view service, std::string_view manager);
/// Enqueues the Service that the slice is for, if `manager` looks after it.
void enqueue_service_of_slice(const Context& context, const store::Object& slice, std::string_view manager);
Outcome write_slices(const kube::Client& client, const std::string& namespace_name, const SlicePlan& plan);

}  // namespace sublet::controllers
