#include "cluster/local/cluster_lock.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include "cluster/host/wait_until.h"
#include "cluster/local/records.h"
#include "sublet/base/files.h"

namespace sublet::cluster {
namespace {

// Returns the lock, taken; -1 when another has it, or it was removed with its folder.
int try_lock(const std::string& path) {
  const int lock = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (lock < 0) return -1;
  if (lock_while_there(lock, path)) return lock;
  ::close(lock);
  return -1;
}

}  // namespace

Result<ClusterLock> ClusterLock::take(const LocalLayout& layout, std::chrono::seconds patience) {
  const std::string path = layout.create_lock_path();
  if (std::error_code ignored; std::filesystem::is_symlink(path, ignored))
    return bad_request(path + " is a symbolic link, where a lock would be; remove it");
  int lock = -1;
  Outcome made;
  const bool taken = wait_until(std::chrono::steady_clock::now() + patience, [&] {
    made = make_private_folder(layout.folder());
    // A deletion may remove the folder while it is made.
    if (!made) return !made.error().is(Reason::not_found);
    return (lock = try_lock(path)) >= 0;
  });
  if (!made) return fail(made.error());
  if (!taken)
    return fail(Reason::timeout, "another `sublet` command works on this virtual cluster (it holds " + path +
                                     "); wait until it ends, or end it");
  return ClusterLock(layout, lock);
}

ClusterLock::ClusterLock(ClusterLock&& other) noexcept
    : layout_(std::move(other.layout_)), lock_(std::exchange(other.lock_, -1)) {}

ClusterLock::~ClusterLock() {
  if (lock_ < 0) return;
  std::error_code ignored;
  // A deletion has removed the lock file; the folder may then be another command's.
  if (lock_while_there(lock_, layout_.create_lock_path()) && !std::filesystem::exists(layout_.record_path(), ignored))
    (void)remove_cluster_folder(layout_);
  ::close(lock_);
}

}  // namespace sublet::cluster
