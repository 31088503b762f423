#include "sublet/base/wake_batch.h"

#include <algorithm>
#include <cassert>

namespace sublet {
namespace {

thread_local WakeBatch* current = nullptr;

}  // namespace

WakeBatch::WakeBatch() {
  assert(current == nullptr);
  current = this;
}

WakeBatch::~WakeBatch() {
  current = nullptr;
  for (const auto& sleeper : sleepers_) sleeper->wake();
}

bool WakeBatch::defer(const std::shared_ptr<Sleeper>& sleeper) {
  if (current == nullptr) return false;
  auto& sleepers = current->sleepers_;
  if (std::find(sleepers.begin(), sleepers.end(), sleeper) == sleepers.end()) sleepers.push_back(sleeper);
  return true;
}

}  // namespace sublet
