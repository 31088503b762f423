// CurrentKinds: the snapshot of kinds that a server's next request uses.
//
// set() replaces it as a whole; requests keep the one that they began with. Any thread. (A mutex:
// std::atomic<std::shared_ptr> of g++ 12 spins on a bit as well, and TSan does not understand it.)
#pragma once

#include <memory>
#include <utility>

#include "sublet/base/mutex.h"
#include "sublet/schema/registry.h"

namespace sublet::apiserver {

class CurrentKinds {
 public:
  explicit CurrentKinds(std::shared_ptr<const schema::Registry> kinds) : kinds_(std::move(kinds)) {}

  std::shared_ptr<const schema::Registry> get() const {
    const MutexLock lock(mutex_);
    return kinds_;
  }
  void set(std::shared_ptr<const schema::Registry> kinds) {
    const MutexLock lock(mutex_);
    kinds_.swap(kinds);  // the old one ends outside the lock, with its last holder
  }

 private:
  mutable Mutex mutex_;
  std::shared_ptr<const schema::Registry> kinds_ SUBLET_GUARDED_BY(mutex_);
};

}  // namespace sublet::apiserver
