// MemoryDriver: virtual clusters that exist in memory only, without a file, a process or a host. A second driver, for
// tests: what works with it needs nothing but the Driver.
//
// Threads: one.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "sublet/cluster/driver.h"

namespace sublet::cluster {

class MemoryDriver final : public Driver {
 public:
  Result<Records> list() const override {
    Records records;
    for (const Entry& entry : entries_) records.clusters.push_back(entry.cluster);
    std::ranges::sort(records.clusters, {},
                      [](const VirtualCluster& one) { return one.host_namespace + "/" + one.name; });
    return records;
  }
  std::vector<ClusterStatus> status(std::span<const VirtualCluster> clusters,
                                    std::chrono::milliseconds) const override {
    std::vector<ClusterStatus> all;
    for (const VirtualCluster& cluster : clusters) {
      const Entry* entry = find(cluster);
      all.push_back(entry && entry->runs ? ClusterStatus{"Running", "v1.36.0"} : ClusterStatus{});
    }
    return all;
  }
  LogPlaces logs(const std::string&, const std::string&) const override { return {"none", {}}; }

  Result<Created> create(const Plan& plan, const HostChoice&, std::chrono::seconds, Progress& progress) override {
    progress.begin("create in memory");
    if (Entry* entry = find(plan.cluster)) {
      const bool ran = std::exchange(entry->runs, true);
      return Created{ran ? Created::How::unchanged : Created::How::started, entry->cluster};
    }
    VirtualCluster cluster = plan.cluster;
    cluster.listen = "192.0.2.1:6443";
    cluster.host_context = "memory";
    entries_.push_back({cluster, true, 1});
    progress.recorded(cluster);
    return Created{Created::How::created, cluster};
  }
  Result<bool> start(const VirtualCluster& cluster, const HostChoice&, std::chrono::seconds, Progress&) override {
    Entry* entry = find(cluster);
    if (!entry) return fail(missing(cluster));
    return !std::exchange(entry->runs, true);
  }
  Outcome stop(const VirtualCluster& cluster) override {
    Entry* entry = find(cluster);
    if (!entry) return fail(missing(cluster));
    entry->runs = false;
    return {};
  }
  Result<kube::ClusterAccess> access(const VirtualCluster& cluster) const override {
    const Entry* entry = find(cluster);
    if (!entry) return fail(missing(cluster));
    if (!entry->runs) return fail(Reason::service_unavailable, "virtual cluster " + cluster.name + " is stopped");
    kube::ClusterAccess access;
    access.server = "https://" + cluster.listen;
    access.ca_pem = "CA";
    access.client_certificate_pem = "CERT " + std::to_string(entry->certificate);
    access.client_key_pem = "KEY";
    return access;
  }
  Result<kube::ClusterAccess> syncer_access(const VirtualCluster& cluster) const override {
    return fail(Reason::service_unavailable, "virtual cluster " + cluster.name + " has no host");
  }
  Result<std::string> node_names_key(const VirtualCluster&) const override { return std::string(64, 'k'); }
  Result<AuditReport> check_audit(const VirtualCluster& cluster, const std::string&) const override {
    const Entry* entry = find(cluster);
    if (!entry) return fail(missing(cluster));
    return AuditReport{"memory", {1, 1, 1, "2026-01-01T00:00:00Z", "2026-01-01T00:00:00Z", "abc"}};
  }
  Result<std::vector<Certificate>> certificates(const VirtualCluster& cluster) const override {
    const Entry* entry = find(cluster);
    if (!entry) return fail(missing(cluster));
    return std::vector<Certificate>{{"admin", "administrators", WallTime::max(), true}};
  }
  Result<bool> rotate_certificates(const VirtualCluster& cluster) override {
    Entry* entry = find(cluster);
    if (!entry) return fail(missing(cluster));
    ++entry->certificate;
    return entry->runs;
  }
  Outcome remove(const VirtualCluster& cluster, const RemoveOptions&, Progress& progress) override {
    progress.begin("forget");
    progress.leaving(cluster.name, cluster.host_namespace);
    std::erase_if(entries_, [&](const Entry& entry) { return is(entry, cluster); });
    return {};
  }
  Outcome remove_damaged(const DamagedRecord& record, Progress&) override {
    return fail(Reason::not_found, "no damaged record " + record.name);
  }

 private:
  struct Entry {
    VirtualCluster cluster;
    bool runs = false;
    int certificate = 0;
  };
  static bool is(const Entry& entry, const VirtualCluster& cluster) {
    return entry.cluster.name == cluster.name && entry.cluster.host_namespace == cluster.host_namespace;
  }
  const Entry* find(const VirtualCluster& cluster) const {
    const auto found = std::ranges::find_if(entries_, [&](const Entry& entry) { return is(entry, cluster); });
    return found == entries_.end() ? nullptr : &*found;
  }
  Entry* find(const VirtualCluster& cluster) {
    return const_cast<Entry*>(std::as_const(*this).find(cluster));  // NOLINT(cppcoreguidelines-pro-type-const-cast)
  }
  static Status missing(const VirtualCluster& cluster) {
    return fail(Reason::not_found, "no virtual cluster " + cluster.name).value();
  }

  std::vector<Entry> entries_;
};

}  // namespace sublet::cluster
