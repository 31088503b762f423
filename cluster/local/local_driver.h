// LocalDriver: see sublet/cluster/local_driver.h. Its parts: create.cpp, start.cpp, remove.cpp; what they use has files
// of its own beside them.
#pragma once

#include "cluster/host/host.h"
#include "cluster/local/embedded_host.h"
#include "cluster/local/records.h"
#include "sublet/cluster/local_driver.h"
#include "sublet/cluster/state_folder.h"

namespace sublet::cluster {

class LocalDriver final : public Driver {
 public:
  LocalDriver(std::string state_folder, HostConnector connect_host)
      : chosen_folder_(std::move(state_folder)),
        state_folder_(resolved_folder(chosen_folder_)),
        connect_host_(std::move(connect_host)),
        embedded_host_(state_folder_) {}

  Result<Records> list() const override;
  std::vector<ClusterStatus> status(std::span<const VirtualCluster> clusters,
                                    std::chrono::milliseconds patience) const override;
  LogPlaces logs(const std::string& name, const std::string& host_namespace) const override;
  Result<Created> create(const Plan& plan, const HostChoice& host, std::chrono::seconds patience,
                         Progress& progress) override;
  Result<bool> start(const VirtualCluster& cluster, const HostChoice& host, std::chrono::seconds patience,
                     Progress& progress) override;
  Outcome stop(const VirtualCluster& cluster) override;
  Result<kube::ClusterAccess> access(const VirtualCluster& cluster) const override;
  Result<kube::ClusterAccess> syncer_access(const VirtualCluster& cluster) const override;
  Result<std::string> node_names_key(const VirtualCluster& cluster) const override;
  Result<AuditReport> check_audit(const VirtualCluster& cluster, const std::string& head) const override;
  Result<std::vector<Certificate>> certificates(const VirtualCluster& cluster) const override;
  Result<bool> rotate_certificates(const VirtualCluster& cluster) override;
  Outcome remove(const VirtualCluster& cluster, const RemoveOptions& options, Progress& progress) override;
  Outcome remove_damaged(const DamagedRecord& record, Progress& progress) override;

 private:
  using TimePoint = std::chrono::steady_clock::time_point;

  LocalLayout layout_of(const std::string& name, const std::string& host_namespace) const;
  LocalCluster local(const VirtualCluster& cluster) const;
  Result<Host> embedded(const EmbeddedHostShape& shape, std::chrono::seconds patience, Progress& progress);
  Result<Host> chosen_host(const HostChoice& choice, std::chrono::seconds patience, Progress& progress);
  Result<Host> recorded_host(const LocalCluster& cluster, const HostChoice& choice) const;
  Result<Host> host_of_existing(const LocalCluster& existing, const HostChoice& choice, std::chrono::seconds patience,
                                Progress& progress);
  bool embedded_host_in_place(const LocalCluster& cluster) const;
  enum class Renewed { nothing, token, access };
  Result<Renewed> renew(LocalCluster& cluster, const HostChoice& choice, std::chrono::seconds patience,
                        Progress& progress);
  Outcome take_quota(const Quota& wanted, LocalCluster& existing);
  Outcome take_pod_access(const PodAccess& wanted, LocalCluster& existing);
  Result<bool> start_local(LocalCluster& cluster, const HostChoice& choice, std::chrono::seconds patience,
                           Progress& progress);
  Result<Created> go_on_with(const Plan& plan, LocalCluster existing, const HostChoice& choice,
                             std::chrono::seconds patience, Progress& progress);
  Result<Created> make(const Plan& plan, const HostChoice& choice, std::chrono::seconds patience, Progress& progress);
  void undo(const Host& host, const LocalCluster& cluster, bool host_prepared, Progress& progress);
  Result<bool> begin_removal(LocalCluster& cluster);
  Outcome remove_state(const LocalCluster& cluster, bool keep_host, Progress& progress);
  Outcome sweep(const LocalCluster& cluster, const RemoveOptions& options, Progress& progress);
  bool others_in_namespace(const VirtualCluster& cluster) const;
  bool last_on_embedded_host(const VirtualCluster& cluster) const;

  Outcome check_own_folder() const { return check_state_folder(chosen_folder_); }

  const std::string chosen_folder_;  // as configured, perhaps by way of symbolic links
  const std::string state_folder_;
  const HostConnector connect_host_;
  EmbeddedHost embedded_host_;
};

/// True when its daemons run, its API answers and its syncer works.
bool all_runs(const LocalLayout& layout);
/// Starts the daemons that do not run and waits until they are ready.
Outcome start_daemons(const LocalCluster& cluster, Progress& progress, std::chrono::steady_clock::time_point deadline);
Outcome stop_daemons(const LocalLayout& layout);
/// The error of a command that would start one whose deletion has begun.
Status being_deleted(const VirtualCluster& cluster);
Status exists_with(const VirtualCluster& existing, const std::string& difference);

}  // namespace sublet::cluster
