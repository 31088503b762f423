// Driver: makes, starts, looks after and removes virtual clusters in one kind of place where they can live; what
// commands and an operator share.
//
// local_driver.h keeps them as processes of this machine. Another place is another Driver in a file of its own; what is
// the same everywhere (the record, a Plan, the objects on the host) stands beside it in cluster/.
//
// Lifecycle: cheap to make. Every call may be cut off at any moment and repeated: create() and start() go on where they
// were, remove() too. Blocking. Threads: one at a time; other processes may drive the same place at the same time.
#pragma once

#include <chrono>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sublet/base/status.h"
#include "sublet/cluster/certificates.h"
#include "sublet/cluster/plan.h"
#include "sublet/cluster/virtual_cluster.h"
#include "sublet/kube/kubeconfig.h"

namespace sublet::cluster {

/// Hears how a call gets on. Called from within the call, on its thread. Every function may do nothing.
class Progress {
 public:
  virtual ~Progress() = default;
  /// A step begins; the one before is done.
  virtual void begin(const std::string& step) { (void)step; }
  /// How far the running step is: "312 pods left".
  virtual void update(const std::string& how_far) { (void)how_far; }
  /// The running step failed; the call returns the error, perhaps after taking back what it made.
  virtual void failed() {}
  /// Something to know that is no failure.
  virtual void warn(const std::string& text) { (void)text; }
  /// The record is there: from here on an interrupted create can be gone on with, or be removed.
  virtual void recorded(const VirtualCluster& cluster) { (void)cluster; }
  /// Its host objects are gone and its record goes next: what refers to it from elsewhere should go now.
  virtual void leaving(const std::string& name, const std::string& host_namespace) { (void)name, (void)host_namespace; }
};

/// Of the embedded host, heeded when it is made: unset is one of each, or what it has.
struct EmbeddedHostShape {
  std::optional<int> nodes, gpu_nodes, gpus_per_node;
};

/// The host to stand on: the embedded one (empty), or one by kubeconfig.
struct HostChoice {
  std::string kubeconfig, context;  // one may be empty: the default file, the current context
  EmbeddedHostShape shape;
  bool given() const { return !kubeconfig.empty() || !context.empty(); }
};

/// A record that cannot be read; where it lies says whose it is.
struct DamagedRecord {
  std::string name, host_namespace, folder, why;
};
struct Records {
  std::vector<VirtualCluster> clusters;  // by namespace and name
  std::vector<DamagedRecord> damaged;
};

struct ClusterStatus {
  // Running, Starting, HostDown (its API answers, its host does not), TokenExpired (its host no longer takes what its
  // syncer is known by), Stopped
  std::string status = "Stopped";
  std::string version = "-";  // Kubernetes version it serves; "-" when it does not answer
};

struct Created {
  enum class How { created, started, unchanged } how;
  VirtualCluster cluster;
};

struct RemoveOptions {
  bool force = false;      // go on when the host cannot be reached or swept
  bool keep_host = false;  // leave the embedded host running when the last one goes
  std::chrono::seconds patience{120};
  HostChoice host{};  // the operator's access, where that is no longer where create found it
};

class Driver {
 public:
  virtual ~Driver() = default;

  virtual Records list() const = 0;
  /// What each is doing right now, in their order; all are asked at once, and one that hangs is given up after
  /// `patience`.
  virtual std::vector<ClusterStatus> status(std::span<const VirtualCluster> clusters,
                                            std::chrono::milliseconds patience) const = 0;

  /// Makes it, or starts the one of that name and namespace; one that runs is left as it is. already_exists when that
  /// one has another template, other parameters or another host. A create that fails leaves nothing behind.
  virtual Result<Created> create(const Plan& plan, const HostChoice& host, std::chrono::seconds patience,
                                 Progress& progress) = 0;
  /// Starts what of it and of its host does not run, with renewed credentials when `host` gives them. False: all ran.
  virtual Result<bool> start(const VirtualCluster& cluster, const HostChoice& host, std::chrono::seconds patience,
                             Progress& progress) = 0;
  /// Ends its daemons; what it has, here and on the host, stays.
  virtual Outcome stop(const VirtualCluster& cluster) = 0;
  /// An administrator's access. service_unavailable, with what to do, when it is stopped.
  virtual Result<kube::ClusterAccess> access(const VirtualCluster& cluster) const = 0;

  /// Those of its API server.
  virtual Result<std::vector<Certificate>> certificates(const VirtualCluster& cluster) const = 0;
  /// Has the API server make what it shows and what administrators have anew; what was handed out before counts no
  /// longer, and who is connected by it is cut off. False: it is stopped, and does so when it starts.
  virtual Result<bool> rotate_certificates(const VirtualCluster& cluster) = 0;

  /// Stops it, takes its objects from the host, and forgets it.
  virtual Outcome remove(const VirtualCluster& cluster, const RemoveOptions& options, Progress& progress) = 0;
  /// Gives up one whose host nobody knows any more: what runs and lies here goes, its host objects stay.
  virtual Outcome remove_damaged(const DamagedRecord& record, Progress& progress) = 0;
};

/// The damaged record of that name, and namespace when given.
const DamagedRecord* find_damaged(const Records& records, const std::string& name, const std::string& host_namespace);
/// By name, and namespace when given. not_found names the nearest; bad_request when the name alone is ambiguous;
/// internal_error when its record is damaged.
Result<VirtualCluster> find_cluster(const Records& records, const std::string& name, const std::string& host_namespace);

}  // namespace sublet::cluster
