// A Store without a commit thread. submit() makes the write durable, calls the listeners and answers on the caller's
// thread before it returns; compact() and close() do the same.
//
// Threads: one alone. For simulations that replay themselves, over logs that do not block (make_memory_log()).
// Compaction by age runs only when something is written. A callback may submit(), never commit() or compact().
#pragma once

#include <memory>

#include "sublet/store/store.h"

namespace sublet::store {

Result<std::unique_ptr<Store>> open_threadless_store(std::unique_ptr<Log> log, StoreOptions options = {});

}  // namespace sublet::store
