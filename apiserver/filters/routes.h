// Routes of the built-in table: where strategies and conversions are joined to what is served. Any thread.
#pragma once

#include "apiserver/request/route.h"

namespace sublet::apiserver {

/// Made on first use, once per process.
const Routes& builtin_routes();

}  // namespace sublet::apiserver
