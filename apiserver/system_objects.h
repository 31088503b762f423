// System objects: puts what every cluster has (sublet/apiserver/bootstrap.h says what) into the store at the start, and
// back when somebody deletes it.
#pragma once

#include <memory>

#include "apiserver/request/server_core.h"

namespace sublet::apiserver {

/// Creates what is missing; brings the endpoints of `kubernetes` to the advertised address. Blocks for the commits; not
/// from the commit thread. Idempotent.
Outcome create_system_objects(const std::shared_ptr<ServerCore>& core);

}  // namespace sublet::apiserver
