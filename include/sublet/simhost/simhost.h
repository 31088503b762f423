// SimHost: makes an API server a host: simulated nodes, a scheduler and a kubelet, all pure clients of that server.
//
// Nodes have real-looking labels, capacity, status and leases. The scheduler packs pods by resources, selectors,
// affinity to nodes and pods, spread, host ports, taints and priority, with preemption, for `default-scheduler` and,
// with shares of GPUs, for `kai-scheduler`; pods of any other scheduler stay Pending. The kubelet walks pods to
// Running, Succeeded or Failed by what their command does in a simulated shell (simhost/shell/), probes them, waits for
// missing ConfigMaps and Secrets, cannot pull some images (simhost/image.cpp), and removes deleted pods after a short
// stop time. Everything happens on one loop, driven by informers: no threads, no polling; idle it only renews leases.
// Lifecycle: start() and the destructor from any thread but the loop's; the loop must run meanwhile and outlive it.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "sublet/apiserver/server.h"
#include "sublet/base/clock.h"
#include "sublet/base/random.h"
#include "sublet/base/status.h"
#include "sublet/kube/client.h"
#include "sublet/net/loop.h"

namespace sublet::simhost {

struct SimHostOptions {
  int nodes = 1;      // --nodes: CPU nodes
  int gpu_nodes = 1;  // --gpu-nodes
  int gpus_per_node = 1;
  int time_slicing = 1;       // --time-slicing N: replicas that each GPU is offered as; 1: none
  std::string mig_profile{};  // --mig PROFILE, e.g. "1g.5gb": every GPU cut into as many of these as fit
  int pods_per_node = 110;
  std::chrono::milliseconds stop_time{20};        // from deletion to the end of a pod, within its grace period
  std::chrono::milliseconds image_backoff{2000};  // from ErrImagePull to ImagePullBackOff
  std::chrono::seconds lease_renewal{20};
};

class SimHost {
 public:
  /// `client` speaks to the host's own API server, usually in-process.
  SimHost(net::Loop& loop, const kube::Client& client, SimHostOptions options = {}, Clock& clock = Clock::system(),
          Random& random = Random::system());
  ~SimHost();

  /// Writes nodes, leases and the RuntimeClass `nvidia`, and starts scheduling and running. Blocks until the copies are
  /// in. Idempotent over restarts: pods that run are taken over as they are.
  Outcome start();

  /// Logs of the simulated containers, for ServerOptions::pod_logs. May be taken before start() and outlive the
  /// SimHost.
  apiserver::PodLogs pod_logs() const;
  /// exec, attach and port-forward of them, for ServerOptions::pod_connections. The same.
  kube::PodConnections pod_connections() const;
  /// What its pods and nodes use, by a rule (simhost/usage.h), for ServerOptions::metrics. The same.
  kube::MetricsSource metrics() const;
  /// What KAI's webhook refuses at pod creation (a share together with whole GPUs, malformed shares), for
  /// ServerOptions::border. Pure.
  static apiserver::BorderAdmission admission();

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace sublet::simhost
