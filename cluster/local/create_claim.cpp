#include "cluster/local/create_claim.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include "cluster/local/records.h"
#include "cluster/wait_until.h"
#include "sublet/base/files.h"

namespace sublet::cluster {
namespace {

// The lock, taken; -1 when another has it, or it went with the folder of one that gave up.
int try_lock(const std::string& path) {
  const int lock = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (lock < 0) return -1;
  if (lock_while_there(lock, path)) return lock;
  ::close(lock);
  return -1;
}

}  // namespace

Result<CreateClaim> CreateClaim::take(const std::string& folder, std::chrono::seconds patience) {
  const std::string path = create_lock_path(folder);
  if (std::error_code ignored; std::filesystem::is_symlink(path, ignored))
    return bad_request(path + " is a symbolic link, where a lock would be; remove it");
  int lock = -1;
  Outcome made;
  const bool taken = wait_until(std::chrono::steady_clock::now() + patience, [&] {
    made = make_private_folder(folder);
    return !made || (lock = try_lock(path)) >= 0;
  });
  if (!made) return fail(made.error());
  if (!taken) return fail(Reason::timeout, "another `sublet create` holds " + path + "; wait for its end, or end it");
  return CreateClaim(folder, lock);
}

CreateClaim::CreateClaim(CreateClaim&& other) noexcept
    : folder_(std::move(other.folder_)), lock_(std::exchange(other.lock_, -1)) {}

CreateClaim::~CreateClaim() {
  if (lock_ < 0) return;
  std::error_code ignored;
  if (!std::filesystem::exists(VirtualCluster::record_path_in(folder_), ignored)) (void)remove_cluster_folder(folder_);
  ::close(lock_);
}

}  // namespace sublet::cluster
