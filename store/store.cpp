#include "sublet/store/store.h"

#include <algorithm>
#include <future>
#include <string>

namespace sublet::store {

int StoreUsage::percent() const {
  const auto of = [](std::size_t used, std::size_t limit) {
    return limit == 0
               ? 0
               : static_cast<int>(std::min(1000.0, 100.0 * static_cast<double>(used) / static_cast<double>(limit)));
  };
  return std::max(of(objects, quota.objects), of(bytes, quota.bytes));
}

std::string StoreUsage::words() const {
  const auto in = [](std::size_t used, std::size_t limit, const char* what) {
    return std::to_string(used) + " of " + std::to_string(limit) + what;
  };
  const bool by_bytes = StoreUsage{0, bytes, quota}.percent() >= StoreUsage{objects, 0, quota}.percent();
  return (by_bytes ? in(bytes, quota.bytes, " bytes") : in(objects, quota.objects, " objects")) + " (" +
         std::to_string(percent()) + " %)";
}

Result<Committed> Store::commit(Txn txn) {
  auto answer = std::make_shared<std::promise<Result<Committed>>>();
  auto future = answer->get_future();
  if (!submit(std::move(txn), [answer](Result<Committed> result) { answer->set_value(std::move(result)); }))
    return fail(Reason::conflict, "a guard failed: the store's state is not what the transaction was prepared against");
  return future.get();
}

}  // namespace sublet::store
