// A log in memory: nothing of it survives the process. For tests and simulations.
#pragma once

#include <memory>

#include "sublet/store/log.h"

namespace sublet::store {

std::unique_ptr<Log> make_memory_log();

}  // namespace sublet::store
