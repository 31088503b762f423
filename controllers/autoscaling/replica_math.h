// ReplicaMath: from what pods use to how many there should be. Pure.
//
// Amounts are in thousandths (milli), as upstream counts. Source: pkg/controller/podautoscaler/replica_calculator.go of
// Kubernetes.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "controllers/pods/pod.h"

namespace sublet::controllers {

/// What one pod was measured to use.
struct Sample {
  std::int64_t value = 0;
  WallTime at{};
  std::chrono::seconds window{60};
};
using Samples = std::map<std::string, Sample, std::less<>>;  // by the pod's name
using Amounts = std::map<std::string, std::int64_t, std::less<>>;

/// How far from its target a metric may be before anything is done.
struct Tolerances {
  double down = 0.1, up = 0.1;
  bool covers(double ratio) const { return 1 - down <= ratio && ratio <= 1 + up; }
};

struct Proposal {
  std::int64_t replicas = 0;
  std::int64_t usage = 0;                     // of one pod on average; for by_ratio: in all
  std::optional<std::int64_t> utilization{};  // in percent of what is requested
};

struct ScaledPods {
  const std::vector<Pod>& pods;
  std::int64_t replicas;  // wanted at present
  Tolerances tolerances;
  WallTime now;
};

std::int64_t milli_of(const schema::Value& quantity);

/// What each pod requests of the resource; of one container when it is named. The error says where a request is
/// missing.
Result<Amounts> requests_of(const std::vector<Pod>& pods, const std::string& container, const std::string& resource);

/// Towards a share of what is requested, in percent.
Result<Proposal> by_utilization(const ScaledPods& scaled, Samples samples, const Amounts& requests,
                                const std::string& resource, std::int64_t target);
/// Towards an average. `resource` "": no resource of containers.
Result<Proposal> by_average(const ScaledPods& scaled, Samples samples, const std::string& resource,
                            std::int64_t target);
/// Towards a value that one number has for all pods together.
Result<Proposal> by_value(const ScaledPods& scaled, std::int64_t usage, std::int64_t target);
/// The same, towards an average over the replicas that there are.
Proposal by_value_per_pod(std::int64_t replicas_there, const Tolerances& tolerances, std::int64_t usage,
                          std::int64_t target);

}  // namespace sublet::controllers
