// Driver: creates, starts, inspects and deletes virtual clusters in one kind of place. The commands and the operator
// use only this interface.
//
// local_driver.h runs virtual clusters as processes of this machine. Another place is another Driver in a folder of its
// own; what all share (the record, a Plan, the objects on the host) is in cluster/record, cluster/host,
// cluster/objects and cluster/lifecycle.
//
// Lifecycle: cheap to make. Every call may be interrupted at any moment and repeated: create(), start() and remove()
// continue where they were.
// Threads: blocking; one call at a time. Other processes may use the same place at the same time.
// Errors: name the object, the cause and the next step.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sublet/base/status.h"
#include "sublet/cluster/certificates.h"
#include "sublet/cluster/plan.h"
#include "sublet/cluster/virtual_cluster.h"
#include "sublet/kube/kubeconfig.h"
#include "sublet/syncer/host_audit.h"

namespace sublet::cluster {

/// Receives the progress of a call, within the call and on its thread. Every function may do nothing.
class Progress {
 public:
  virtual ~Progress() = default;
  /// A step begins; the one before is done.
  virtual void begin(const std::string& step) { (void)step; }
  /// How far the running step is: "312 pods left".
  virtual void update(const std::string& how_far) { (void)how_far; }
  /// The running step failed; the call returns the error, perhaps after it has undone what it made.
  virtual void failed() {}
  /// Something to know that is no failure.
  virtual void warn(const std::string& text) { (void)text; }
  /// The record is stored: from now on an interrupted create can be continued or deleted.
  virtual void recorded(const VirtualCluster& cluster) { (void)cluster; }
  /// Its host objects are gone and its record goes next: references to it elsewhere should go now.
  virtual void leaving(const std::string& name, const std::string& host_namespace) { (void)name, (void)host_namespace; }
};

/// Shape of the embedded host, used when it is made. Unset: one of each, or what it has.
struct EmbeddedHostShape {
  std::optional<int> nodes, gpu_nodes, gpus_per_node;
};

/// The host of a virtual cluster: the embedded one (empty), or one by kubeconfig.
struct HostChoice {
  std::string kubeconfig, context;  // one may be empty: the default file, the current context
  EmbeddedHostShape shape;
  bool given() const { return !kubeconfig.empty() || !context.empty(); }
};

/// A record that cannot be read. Name and namespace come from where it is kept.
struct DamagedRecord {
  std::string name, host_namespace, place, why;
};
struct Records {
  std::vector<VirtualCluster> clusters;  // by namespace and name
  std::vector<DamagedRecord> damaged;
};

struct ClusterStatus {
  // Running, Starting, HostDown (the host does not answer), TokenExpired (the host no longer accepts the syncer's
  // token), Deleting (its deletion has begun and is not finished), Stopped
  std::string status = "Stopped";
  std::string version = "-";  // Kubernetes version it serves; "-" when it does not answer
};

/// Where its logs are, for people.
struct LogPlaces {
  std::string all;                               // one text for a table
  std::map<std::string, std::string> by_daemon;  // "apiserver": "/.../apiserver.log"
};

/// The log of its writes to the host, checked (sublet/syncer/host_audit.h).
struct AuditReport {
  std::string place;  // where the log is, for people
  syncer::AuditCheck check;
};

struct Created {
  enum class How { created, started, unchanged } how;
  VirtualCluster cluster;
};

struct RemoveOptions {
  bool force = false;      // continue when the host cannot be reached or cleaned up
  bool keep_host = false;  // leave the embedded host running when its last virtual cluster goes
  std::chrono::seconds patience{120};
  HostChoice host{};  // the operator's access, when it is no longer where create found it
};

class Driver {
 public:
  virtual ~Driver() = default;

  /// Returns all of them; an error when the place itself cannot be read or belongs to another user.
  virtual Result<Records> list() const = 0;
  /// Returns the present state of each, in their order. All are asked at once; one that does not answer within
  /// `patience` is given up.
  virtual std::vector<ClusterStatus> status(std::span<const VirtualCluster> clusters,
                                            std::chrono::milliseconds patience) const = 0;
  virtual LogPlaces logs(const std::string& name, const std::string& host_namespace) const = 0;

  /// Creates it, or starts the one of that name and namespace; one that runs is left as it is. already_exists when that
  /// one has another template, other parameters or another host; conflict while it is being deleted. A create that
  /// fails leaves nothing behind.
  virtual Result<Created> create(const Plan& plan, const HostChoice& host, std::chrono::seconds patience,
                                 Progress& progress) = 0;
  /// Starts those of its daemons and of its host that do not run, with renewed credentials when `host` gives them.
  /// False: all ran.
  virtual Result<bool> start(const VirtualCluster& cluster, const HostChoice& host, std::chrono::seconds patience,
                             Progress& progress) = 0;
  /// Stops its daemons; its state and its host objects stay.
  virtual Outcome stop(const VirtualCluster& cluster) = 0;
  /// Returns an administrator's access. service_unavailable, with the next step, when it is stopped.
  virtual Result<kube::ClusterAccess> access(const VirtualCluster& cluster) const = 0;
  /// Returns the access of its syncer to its host, which may read no more than what the syncer carries.
  virtual Result<kube::ClusterAccess> syncer_access(const VirtualCluster& cluster) const = 0;
  /// Returns the key of the nodes' pseudo names (sublet/syncer/node_names.h).
  virtual Result<std::string> node_names_key(const VirtualCluster& cluster) const = 0;
  /// Checks the log of its writes to the host. `head`: a hash that an earlier check returned; "": none.
  virtual Result<AuditReport> check_audit(const VirtualCluster& cluster, const std::string& head) const = 0;

  /// Returns the certificates of its API server.
  virtual Result<std::vector<Certificate>> certificates(const VirtualCluster& cluster) const = 0;
  /// Replaces the serving and the administrator's certificates. Those issued before are refused, and their connections
  /// are closed. False: it is stopped, and replaces them when it starts.
  virtual Result<bool> rotate_certificates(const VirtualCluster& cluster) = 0;

  /// Stops it, removes its objects from the host, and deletes its record. Waits for another command that works on it;
  /// if that command deletes it, this one succeeds too. Once begun, a deletion must be finished: it is not started
  /// again.
  virtual Outcome remove(const VirtualCluster& cluster, const RemoveOptions& options, Progress& progress) = 0;
  /// Deletes one whose host is unknown: its processes and its state go, its host objects stay.
  virtual Outcome remove_damaged(const DamagedRecord& record, Progress& progress) = 0;
};

/// Returns the damaged record of that name, and namespace when given; null when there is none.
const DamagedRecord* find_damaged(const Records& records, const std::string& name, const std::string& host_namespace);
/// Finds by name, and namespace when given. not_found names the nearest; bad_request when the name alone is ambiguous;
/// internal_error when its record is damaged.
Result<VirtualCluster> find_cluster(const Records& records, const std::string& name, const std::string& host_namespace);

}  // namespace sublet::cluster
