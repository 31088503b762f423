// ClusterLock: held by the command that creates, starts, stops or deletes a virtual cluster; one at a time. A second
// command waits and then finds what the first left.
//
// Holds a kernel lock on create.lock in the virtual cluster's folder, which it makes. At its end it removes a folder
// without a record, so that a create that failed early leaves nothing. Threads: one.
#pragma once

#include <chrono>
#include <string>

#include "sublet/base/status.h"
#include "sublet/cluster/local_layout.h"

namespace sublet::cluster {

class ClusterLock {
 public:
  /// timeout when another command holds it for so long.
  static Result<ClusterLock> take(const LocalLayout& layout, std::chrono::seconds patience);
  ClusterLock(ClusterLock&& other) noexcept;
  ClusterLock& operator=(ClusterLock&&) = delete;
  ~ClusterLock();

 private:
  ClusterLock(LocalLayout layout, int lock) : layout_(std::move(layout)), lock_(lock) {}
  LocalLayout layout_;
  int lock_ = -1;
};

}  // namespace sublet::cluster
