// What sublet_bench measures: each function runs one scenario against running servers and returns figures by name.
//
// The servers are given by their kubeconfigs; nothing here knows which program answers.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "bench/process_usage.h"
#include "sublet/kube/kubeconfig.h"

namespace sublet::bench {

/// Name and value; the unit is the end of the name (_us, _ms, _kib, _per_s).
using Figures = std::vector<std::pair<std::string, double>>;

/// Quantile `q` (0..1) of the values; 0 when there are none.
double quantile(std::vector<double> values, double q);

/// create with 1, 16 and 64 writers, GET, LIST, merge-patch; `seconds` each.
Figures measure_api(const kube::ClusterAccess& access, const ProcessUsage& server, double seconds);
/// Of these the PUTs and the applies of pods that exist alone.
Figures measure_changes(const kube::ClusterAccess& access, const ProcessUsage& server, double seconds);
/// `count` watchers on TLS connections of their own: memory of each while idle, CPU and latency of each delivery.
Figures measure_watches(const kube::ClusterAccess& access, const ProcessUsage& server, int count, int events);

struct SlowWatchRun {
  int count = 50;               // watches of everything that is written
  int bytes_per_second = 1024;  // that each of their readers takes
  double rate = 2000;           // writes per second beside them
  double seconds = 15;
};
/// How slow readers' watches end: still open and complete when they are read to the end afterwards, expired (410), or
/// ended or reset without a reason. And what they and the writes cost the server.
Figures measure_slow_watches(const kube::ClusterAccess& access, const ProcessUsage& server, const SlowWatchRun& run);
/// GETs at 200/s on one connection, alone and while another lists `count` ConfigMaps of 1 KiB without pause, as they
/// are and with gzip; `seconds` each. Servers do not compress for a peer at a loopback address.
Figures measure_neighbours(const kube::ClusterAccess& access, const ProcessUsage& server, double seconds, int count);
/// GETs at 200/s on four connections, beside the definitions of a folder of CRDs (GROUP_RESOURCE.yaml) that are applied
/// and deleted one after the other, `rounds` times; and as long again alone.
Figures measure_definitions(const kube::ClusterAccess& access, const std::string& folder, int rounds);
/// Renewals of two Leases (of an account of kube-system, and of one of a namespace) and /readyz, each at 20/s, while
/// `listers` connections of another account list `pods` pods without pause.
Figures measure_leases(const kube::ClusterAccess& access, double seconds, int pods, int listers);
/// The server's CPU in microseconds for a create of each kind of the files (`### VERSION COLLECTION[?QUERY]` and an
/// object's JSON in a line, as tools/differential/seeds.txt has it; the shortest of a kind), under VERSION/RESOURCE;
/// `only` those whose name has this in it. `count` creates of each, by 16 writers.
Figures measure_creates(const kube::ClusterAccess& access, const ProcessUsage& server,
                        const std::vector<std::string>& files, const std::string& only, int count);
/// What `count` ConfigMaps of 1 KiB add to the server's memory.
Figures measure_objects(const kube::ClusterAccess& access, const ProcessUsage& server, int count);

struct PodRun {
  kube::ClusterAccess tenant;  // where pods are created; the host itself in a direct run
  kube::ClusterAccess host;    // where they must appear
  std::string tenant_namespace = "default", host_namespace;
  int count = 0;
  int writers = 1;
  double rate = 0;          // pods per second; 0: as fast as the writers go
  int watch_seconds = 900;  // how long a watch is asked for; a shorter one is resumed more often
  bool keep = false;        // leave the pods where they are when they run
};
/// Creates pods and follows each to the host and back to Running, then (unless they are kept) deletes them and waits
/// until the host has none.
Figures measure_pods(const PodRun& run);

}  // namespace sublet::bench
