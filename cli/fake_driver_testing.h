// FakeDriver: a driver with the results that a test sets; it records its calls. For the tests of the commands.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sublet/cluster/driver.h"

namespace sublet::cli {

using cluster::Created;
using cluster::Driver;
using cluster::VirtualCluster;

class FakeDriver final : public Driver {
 public:
  cluster::Records records;
  std::vector<cluster::ClusterStatus> statuses;
  std::optional<Status> failure;  // of whatever is called
  std::string failing;            // the one that remove() fails for; empty: all
  std::vector<std::string> calls;
  int failures = 1'000;   // of start(): how often
  std::string unchanged;  // the one that start() finds running
  cluster::RemoveOptions remove_options;
  std::optional<cluster::Plan> plan;
  cluster::HostChoice host_choice;
  std::chrono::seconds patience{};
  mutable int status_calls = 0;

  Result<cluster::Records> list() const override { return records; }
  std::vector<cluster::ClusterStatus> status(std::span<const VirtualCluster> clusters,
                                             std::chrono::milliseconds) const override {
    ++status_calls;
    return {statuses.begin(), statuses.begin() + static_cast<std::ptrdiff_t>(clusters.size())};
  }
  Result<Created> create(const cluster::Plan& wanted, const cluster::HostChoice& host, std::chrono::seconds within,
                         cluster::Progress& progress) override {
    patience = within;
    plan = wanted;
    host_choice = host;
    calls.push_back("create " + wanted.cluster.name + " on " + (host.given() ? host.context : "embedded"));
    progress.begin("start everything");
    progress.recorded(wanted.cluster);
    if (failure) return fail(*failure);
    return Created{Created::How::created, wanted.cluster};
  }
  Result<bool> start(const VirtualCluster& cluster, const cluster::HostChoice&, std::chrono::seconds,
                     cluster::Progress& progress) override {
    calls.push_back("start " + cluster.name);
    progress.begin("start its daemons");
    if (failure && failures-- > 0 && (failing.empty() || failing == cluster.name)) return fail(*failure);
    return cluster.name != unchanged;
  }
  Outcome stop(const VirtualCluster&) override { return {}; }
  cluster::LogPlaces logs(const std::string& name, const std::string& host_namespace) const override {
    const std::string folder = "/state/clusters/" + host_namespace + "/" + name + "/";
    return {folder + "*.log",
            {{"run", folder + "run.log"}, {"apiserver", folder + "apiserver.log"}, {"syncer", folder + "syncer.log"}}};
  }
  Result<kube::ClusterAccess> syncer_access(const VirtualCluster& cluster) const override { return access(cluster); }
  Result<std::string> node_names_key(const VirtualCluster&) const override { return std::string(64, 'k'); }
  Result<cluster::AuditReport> check_audit(const VirtualCluster&, const std::string&) const override {
    if (failure) return fail(*failure);
    return cluster::AuditReport{"/audit", {}};
  }
  Result<kube::ClusterAccess> access(const VirtualCluster&) const override {
    if (failure) return fail(*failure);
    kube::ClusterAccess access;
    access.server = "https://127.0.0.1:1";
    access.ca_pem = "CA";
    access.client_certificate_pem = "CERT";
    access.client_key_pem = "KEY";
    return access;
  }
  std::vector<cluster::Certificate> certificates_of_all;
  bool rotates_now = true;
  Result<std::vector<cluster::Certificate>> certificates(const VirtualCluster&) const override {
    if (failure) return fail(*failure);
    return certificates_of_all;
  }
  Result<bool> rotate_certificates(const VirtualCluster& cluster) override {
    calls.push_back("rotate " + cluster.name);
    if (failure) return fail(*failure);
    return rotates_now;
  }
  Outcome remove(const VirtualCluster& cluster, const cluster::RemoveOptions& options,
                 cluster::Progress& progress) override {
    calls.push_back("remove " + cluster.name);
    remove_options = options;
    progress.begin("remove its objects from the host");
    if (failure && (failing.empty() || failing == cluster.name)) return fail(*failure);
    progress.leaving(cluster.name, cluster.host_namespace);
    return {};
  }
  Outcome remove_damaged(const cluster::DamagedRecord& record, cluster::Progress& progress) override {
    calls.push_back("remove damaged " + record.name);
    progress.leaving(record.name, record.host_namespace);
    return {};
  }
};

inline VirtualCluster cluster_of(const std::string& name, const std::string& host_namespace) {
  VirtualCluster out;
  out.name = name;
  out.uid = "u-" + name;
  out.host_namespace = host_namespace;
  out.host_context = "prod";
  out.listen = "127.0.0.1:7443";
  return out;
}

}  // namespace sublet::cli
