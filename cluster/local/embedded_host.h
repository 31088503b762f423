// EmbeddedHost: one `subletd simhost` a state folder, started on demand and stopped with the last virtual cluster.
//
// Its address and its shape are kept across restarts, so that the syncers that knew it find it again by themselves.
// Lifecycle: cheap; the process outlives the object. Blocking. Threads: one.
#pragma once

#include <chrono>
#include <string>

#include "sublet/base/status.h"
#include "sublet/cluster/driver.h"
#include "sublet/kube/kubeconfig.h"

namespace sublet::cluster {

class EmbeddedHost {
 public:
  explicit EmbeddedHost(const std::string& state_folder) : folder_(state_folder + "/host") {}

  /// Starts it when it does not run, and waits until it is ready. A shape that one of other shape cannot take is a
  /// warning. Gives the access to it.
  Result<kube::ClusterAccess> start(const EmbeddedHostShape& shape, std::chrono::seconds patience, Progress& progress);
  bool runs() const;
  /// The file with the access that start() gives.
  std::string kubeconfig_path() const { return folder_ + "/admin.kubeconfig"; }
  /// Stops it and removes all that it had.
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
