// A Store without a commit thread, for whoever owns order: what submit() accepts is durable, told and answered before
// it returns, on the caller's thread; compact() and close() likewise.
//
// For one thread alone, and for logs that do not block (make_memory_log()): a simulation that replays itself.
// Compaction by age has its turn at writes only. A callback may submit(), never commit() or compact().
#pragma once

#include <memory>

#include "sublet/store/store.h"

namespace sublet::store {

Result<std::unique_ptr<Store>> open_threadless_store(std::unique_ptr<Log> log, StoreOptions options = {});

}  // namespace sublet::store
