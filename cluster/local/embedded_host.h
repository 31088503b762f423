// EmbeddedHost: one `subletd simhost` a state folder, started on demand and stopped with the last virtual cluster.
//
// Address and shape stay the same across restarts, so that syncers find it again.
// Lifecycle: cheap; the process outlives the object. Blocking. Threads: one.
#pragma once

#include <chrono>
#include <string>

#include "sublet/base/descriptor.h"
#include "sublet/base/status.h"
#include "sublet/cluster/driver.h"
#include "sublet/kube/kubeconfig.h"

namespace sublet::cluster {

class EmbeddedHost {
 public:
  explicit EmbeddedHost(const std::string& state_folder) : folder_(state_folder + "/host") {}

  /// Starts it when it does not run, waits until it is ready, and returns the access to it. A shape that differs from
  /// an existing host's has no effect and is a warning.
  Result<kube::ClusterAccess> start(const EmbeddedHostShape& shape, std::chrono::seconds patience, Progress& progress);
  bool runs() const;
  /// Waits for and holds a lock beside the host's folder: shared by a create until its record shows that the host is
  /// used, exclusive while a delete decides whether it was the last user.
  enum class Use { shared, exclusive };
  Result<Descriptor> lock(Use use) const;
  /// The file with the access that start() returns.
  std::string kubeconfig_path() const { return folder_ + "/admin.kubeconfig"; }
  /// Stops it and removes all of its state.
  Outcome remove();

 private:
  std::string lock_path() const { return folder_ + "/daemon.lock"; }
  std::string log_path() const { return folder_ + "/simhost.log"; }
  std::string shape_path() const { return folder_ + "/shape.json"; }
  EmbeddedHostShape recorded_shape() const;
  Outcome record_shape(const EmbeddedHostShape& shape) const;
  std::string address_to_listen() const;
  Outcome launch(const EmbeddedHostShape& wanted, Progress& progress) const;
  Result<kube::ClusterAccess> wait_until_ready(std::chrono::seconds patience) const;

  std::string folder_;
};

}  // namespace sublet::cluster
