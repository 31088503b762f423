// SimHost: simulated nodes, a scheduler and a kubelet for an API server. All of them are clients of that server.
//
// Nodes have realistic labels, capacity, status and leases. The scheduler packs pods by resources, selectors, affinity,
// spread, host ports, taints, claims and priority, with preemption, for `default-scheduler` and, with shares of GPUs,
// for `kai-scheduler`; pods of any other scheduler stay Pending. The kubelet runs the commands of pods in a simulated
// shell (simhost/shell/), probes them, waits for what they need, fails to pull some images (simhost/image.cpp), and
// removes deleted pods after a short stop time. docs/embedded-host.md has the rules. Everything runs on one loop,
// driven by informers: no threads, no polling. An idle host only renews leases. Lifecycle: call start() and the
// destructor from any thread but the loop's. The loop must run and outlive this object.
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
  std::chrono::milliseconds program_life{2000};   // of an unknown program that is expected to end
  std::chrono::seconds lease_renewal{20};
};

class SimHost {
 public:
  /// `client` is a client of the host's own API server, usually in-process.
  SimHost(net::Loop& loop, const kube::Client& client, SimHostOptions options = {}, Clock& clock = Clock::system(),
          Random& random = Random::system());
  ~SimHost();

  /// Writes nodes, leases, the RuntimeClass `nvidia` and KAI's type Queue, and starts the scheduler and the kubelet.
  /// Blocks until the informers have synced. After a restart, running pods are taken over as they are.
  Outcome start();

  /// For ServerOptions::pod_logs: logs of the simulated containers. Valid before start() and after destruction.
  apiserver::PodLogs pod_logs() const;
  /// For ServerOptions::pod_connections: exec, attach and port-forward. Valid as pod_logs().
  kube::PodConnections pod_connections() const;
  /// For ServerOptions::metrics: the usage of pods and nodes (simhost/usage.h). Valid as pod_logs().
  kube::MetricsSource metrics() const;
  /// For ServerOptions::border: refuses pods as KAI's webhook does (a share together with whole GPUs, malformed
  /// shares). Pure.
  static apiserver::BorderAdmission admission();
  /// For ServerOptions::host_openapi: the descriptions of built-in types, for `kubectl explain`.
  static apiserver::HostOpenApi descriptions();

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace sublet::simhost
