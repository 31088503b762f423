// Availability: asks a tenant's own API server for its group version, and records its documents for discovery
// (AggregatedApis::learn). See sublet/apiserver/api_availability.h.
//
// Lifecycle: the core outlives the returned functions. Threads: any.
#pragma once

#include "apiserver/request/server_core.h"
#include "sublet/apiserver/api_availability.h"

namespace sublet::apiserver {

std::shared_ptr<void> check_api_service(const std::shared_ptr<ServerCore>& core, const std::string& name,
                                        std::function<void(ApiAvailability)> done);

}  // namespace sublet::apiserver
