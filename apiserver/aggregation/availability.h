// Availability: an API server of the tenant's own is asked for the group version that it is to serve; what it says of
// itself then is what discovery says of it (AggregatedApis::learn). See sublet/apiserver/api_availability.h.
//
// Lifecycle: the core outlives what it returns. Threads: any.
#pragma once

#include "apiserver/request/server_core.h"
#include "sublet/apiserver/api_availability.h"

namespace sublet::apiserver {

std::shared_ptr<void> check_api_service(const std::shared_ptr<ServerCore>& core, const std::string& name,
                                        std::function<void(ApiAvailability)> done);

}  // namespace sublet::apiserver
