// LocalDriver: see sublet/cluster/local_driver.h. Its parts: create.cpp, start.cpp, remove.cpp; what they stand on has
// files of its own beside them.
#pragma once

#include "cluster/host.h"
#include "cluster/local/embedded_host.h"
#include "sublet/cluster/local_driver.h"

namespace sublet::cluster {

class LocalDriver final : public Driver {
 public:
  LocalDriver(std::string state_folder, HostConnector connect_host)
      : state_folder_(std::move(state_folder)), connect_host_(std::move(connect_host)), embedded_host_(state_folder_) {}

  Records list() const override;
  std::vector<ClusterStatus> status(std::span<const VirtualCluster> clusters,
                                    std::chrono::milliseconds patience) const override;
  Result<Created> create(const Plan& plan, const HostChoice& host, std::chrono::seconds patience,
                         Progress& progress) override;
  Result<bool> start(const VirtualCluster& cluster, const HostChoice& host, std::chrono::seconds patience,
                     Progress& progress) override;
  Outcome stop(const VirtualCluster& cluster) override;
  Result<kube::ClusterAccess> access(const VirtualCluster& cluster) const override;
  Result<std::vector<Certificate>> certificates(const VirtualCluster& cluster) const override;
  Result<bool> rotate_certificates(const VirtualCluster& cluster) override;
  Outcome remove(const VirtualCluster& cluster, const RemoveOptions& options, Progress& progress) override;
  Outcome remove_damaged(const DamagedRecord& record, Progress& progress) override;

 private:
  using TimePoint = std::chrono::steady_clock::time_point;

  Result<Host> embedded(const EmbeddedHostShape& shape, std::chrono::seconds patience, Progress& progress);
  Result<Host> chosen_host(const HostChoice& choice, std::chrono::seconds patience, Progress& progress);
  Result<Host> host_of_existing(const VirtualCluster& existing, const HostChoice& choice, std::chrono::seconds patience,
                                Progress& progress);
  bool embedded_host_in_place(const VirtualCluster& cluster) const;
  enum class Renewed { nothing, token, access };
  Result<Renewed> renew(const VirtualCluster& cluster, const HostChoice& choice, std::chrono::seconds patience,
                        Progress& progress);
  Outcome take_quota(const Quota& wanted, VirtualCluster& existing);
  Outcome take_pod_access(const PodAccess& wanted, VirtualCluster& existing);
  Result<Created> go_on_with(const Plan& plan, VirtualCluster existing, const HostChoice& choice,
                             std::chrono::seconds patience, Progress& progress);
  Result<Created> make(Plan plan, const HostChoice& choice, std::chrono::seconds patience, Progress& progress);
  void undo(const Host& host, const VirtualCluster& cluster, bool host_prepared, Progress& progress);
  Outcome sweep(const VirtualCluster& cluster, const RemoveOptions& options, Progress& progress);
  bool others_in_namespace(const VirtualCluster& cluster) const;
  bool last_on_embedded_host(const VirtualCluster& cluster) const;

  const std::string state_folder_;
  const HostConnector connect_host_;
  EmbeddedHost embedded_host_;
};

/// True when its daemons run, its API answers and its syncer carries.
bool all_runs(const VirtualCluster& cluster);
/// Starts the daemons that do not run and waits until they are ready.
Outcome start_daemons(const VirtualCluster& cluster, Progress& progress,
                      std::chrono::steady_clock::time_point deadline);
Outcome stop_daemons(const std::string& cluster_folder);
Status exists_with(const VirtualCluster& existing, const std::string& what);

}  // namespace sublet::cluster
