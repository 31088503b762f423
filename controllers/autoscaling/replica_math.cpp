#include "controllers/autoscaling/replica_math.h"

#include <cmath>
#include <limits>
#include <set>

#include "sublet/schema/engine.h"

namespace sublet::controllers {
namespace {

using schema::Value;

constexpr std::chrono::seconds kCpuInitialization{300};  // a pod's CPU use in its first seconds is no measure
constexpr std::chrono::seconds kInitialReadiness{30};    // in which a pod may become ready for the first time
constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();

std::int64_t round_up(double replicas) {
  return replicas >= static_cast<double>(kMost) ? kMost : static_cast<std::int64_t>(std::ceil(replicas));
}

struct Groups {
  std::int64_t ready = 0;
  std::set<std::string> unready, missing, ignored;
};

/// The pod has not settled: its sample is of how it starts.
bool starts_still(const Pod& pod, const Sample& sample, WallTime now) {
  const auto condition = pod.condition("Ready");
  const auto started = parse_time(pod.status()["startTime"].text());
  if (!condition || !started) return true;
  const auto since = parse_time(condition["lastTransitionTime"].text()).value_or(WallTime());
  const bool is_unready = condition["status"].text() == "False";
  if (*started + kCpuInitialization > now) return is_unready || sample.at < since + sample.window;
  return is_unready && *started + kInitialReadiness > since;
}

Groups group(const ScaledPods& scaled, const Samples& samples, const std::string& resource) {
  Groups groups;
  for (const auto& pod : scaled.pods) {
    const std::string name(pod.name());
    const auto sample = samples.find(name);
    const bool pending = pod.phase() == "Pending";
    if (pod.ending() || pod.phase() == "Failed")
      groups.ignored.insert(name);
    else if (!pending && sample == samples.end())
      groups.missing.insert(name);
    else if (pending || (resource == "cpu" && starts_still(pod, sample->second, scaled.now)))
      groups.unready.insert(name);
    else
      ++groups.ready;
  }
  return groups;
}

struct Usage {
  double ratio = 0;  // to the target
  std::int64_t average = 0;
  std::optional<std::int64_t> utilization{};
};

/// What two ways of measuring have in common: how samples become a ratio, and what a pod without a sample is taken to
/// use when the rest would like fewer.
class Measure {
 public:
  virtual ~Measure() = default;
  virtual Result<Usage> usage(const Samples& samples) const = 0;
  virtual std::int64_t assumed(const std::string& pod) const = 0;
};

class ByUtilization final : public Measure {
 public:
  ByUtilization(const Amounts& requests, std::int64_t target) : requests_(requests), target_(target) {}
  Result<Usage> usage(const Samples& samples) const override {
    std::int64_t used = 0, requested = 0, count = 0;
    for (const auto& [pod, sample] : samples) {
      const auto request = requests_.find(pod);
      if (request == requests_.end()) continue;
      used += sample.value;
      requested += request->second;
      ++count;
    }
    if (requested == 0) return bad_request("no metrics returned matched known pods");
    const auto utilization = used * 100 / requested;
    return Usage{static_cast<double>(utilization) / static_cast<double>(target_), used / count, utilization};
  }
  std::int64_t assumed(const std::string& pod) const override {
    const auto request = requests_.find(pod);
    return request == requests_.end() ? 0 : request->second * std::max<std::int64_t>(100, target_) / 100;
  }

 private:
  const Amounts& requests_;
  const std::int64_t target_;
};

class ByAverage final : public Measure {
 public:
  explicit ByAverage(std::int64_t target) : target_(target) {}
  Result<Usage> usage(const Samples& samples) const override {
    std::int64_t used = 0;
    for (const auto& [pod, sample] : samples) used += sample.value;
    const auto average = used / static_cast<std::int64_t>(samples.size());
    return Usage{static_cast<double>(average) / static_cast<double>(target_), average, {}};
  }
  std::int64_t assumed(const std::string&) const override { return target_; }

 private:
  const std::int64_t target_;
};

/// Pods without a sample, and those that start, count against the change: as much as the target when it goes down,
/// nothing when it goes up.
void assume(Samples& samples, const Groups& groups, double ratio, bool up_with_unready, const Measure& measure) {
  if (ratio < 1)
    for (const auto& pod : groups.missing) samples[pod].value = measure.assumed(pod);
  if (ratio > 1)
    for (const auto& pod : groups.missing) samples[pod].value = 0;
  if (up_with_unready)
    for (const auto& pod : groups.unready) samples[pod].value = 0;
}

Result<Proposal> propose(const ScaledPods& scaled, Samples samples, const std::string& resource,
                         const Measure& measure) {
  if (scaled.pods.empty()) return bad_request("no pods returned by selector while calculating replica count");
  const auto groups = group(scaled, samples, resource);
  for (const auto* names : {&groups.ignored, &groups.unready})
    for (const auto& name : *names) samples.erase(name);
  if (samples.empty()) return bad_request("did not receive metrics for targeted pods (pods might be unready)");
  const auto usage = measure.usage(samples);
  if (!usage) return fail(usage.error());
  Proposal stay{scaled.replicas, usage->average, usage->utilization}, change = stay;
  const bool up_with_unready = !groups.unready.empty() && usage->ratio > 1;
  if (!up_with_unready && groups.missing.empty()) {
    change.replicas = round_up(usage->ratio * static_cast<double>(groups.ready));
    return scaled.tolerances.covers(usage->ratio) ? stay : change;
  }
  assume(samples, groups, usage->ratio, up_with_unready, measure);
  const auto assumed = measure.usage(samples);
  if (!assumed) return fail(assumed.error());
  if (scaled.tolerances.covers(assumed->ratio) || (usage->ratio < 1 && assumed->ratio > 1) ||
      (usage->ratio > 1 && assumed->ratio < 1))
    return stay;
  change.replicas = round_up(assumed->ratio * static_cast<double>(samples.size()));
  const bool turns = (assumed->ratio < 1 && change.replicas > scaled.replicas) ||
                     (assumed->ratio > 1 && change.replicas < scaled.replicas);
  return turns ? stay : change;
}

Result<std::int64_t> request_of(const Value& container, const std::string& resource, const Pod& pod) {
  const auto requests = container["resources"]["requests"];
  if (!requests.has(resource))
    return bad_request("missing request for " + resource + " in container " + container["name"].string() + " of Pod " +
                       std::string(pod.name()));
  return milli_of(requests[resource]);
}

Result<std::int64_t> request_of(const Pod& pod, const std::string& container, const std::string& resource) {
  const auto spec = pod.spec();
  if (const auto whole = spec["resources"]["requests"]; container.empty() && !whole.empty()) {
    if (!whole.has(resource))
      return bad_request("missing pod-level request for " + resource + " in Pod " + std::string(pod.name()));
    return milli_of(whole[resource]);
  }
  std::vector<Value> containers;
  for (auto each : spec["containers"]) containers.push_back(each);
  for (auto each : spec["initContainers"])
    if (each["restartPolicy"].text() == "Always") containers.push_back(each);
  std::int64_t total = 0;
  for (const auto& each : containers) {
    if (!container.empty() && each["name"].text() != container) continue;
    auto request = request_of(each, resource, pod);
    if (!request || !container.empty()) return request;
    total += *request;
  }
  if (!container.empty()) return bad_request("container " + container + " not found in Pod " + std::string(pod.name()));
  return total;
}

}  // namespace

std::int64_t milli_of(const Value& quantity) {
  constexpr __int128 kNanosInMilli = 1'000'000;
  if (quantity.is_integer()) return quantity.integer() * 1000;
  const auto nanos = schema::quantity_nanos(quantity.text()).value_or(0);
  const auto milli = nanos / kNanosInMilli + (nanos % kNanosInMilli > 0 ? 1 : 0);
  return milli > std::numeric_limits<std::int64_t>::max() ? std::numeric_limits<std::int64_t>::max()
                                                          : static_cast<std::int64_t>(milli);
}

Result<Amounts> requests_of(const std::vector<Pod>& pods, const std::string& container, const std::string& resource) {
  Amounts requests;
  for (const auto& pod : pods) {
    const auto request = request_of(pod, container, resource);
    if (!request) return fail(request.error());
    requests.emplace(pod.name(), *request);
  }
  return requests;
}

Result<Proposal> by_utilization(const ScaledPods& scaled, Samples samples, const Amounts& requests,
                                const std::string& resource, std::int64_t target) {
  return propose(scaled, std::move(samples), resource, ByUtilization(requests, target));
}

Result<Proposal> by_average(const ScaledPods& scaled, Samples samples, const std::string& resource,
                            std::int64_t target) {
  return propose(scaled, std::move(samples), resource, ByAverage(target));
}

Result<Proposal> by_value(const ScaledPods& scaled, std::int64_t usage, std::int64_t target) {
  const double ratio = static_cast<double>(usage) / static_cast<double>(target);
  if (scaled.replicas == 0) return Proposal{round_up(ratio), usage, {}};
  if (scaled.tolerances.covers(ratio)) return Proposal{scaled.replicas, usage, {}};
  if (scaled.pods.empty())
    return bad_request("unable to calculate ready pods: no pods returned by selector while calculating replica count");
  std::int64_t ready = 0;
  for (const auto& pod : scaled.pods) ready += pod.phase() == "Running" && pod.ready() ? 1 : 0;
  return Proposal{round_up(ratio * static_cast<double>(ready)), usage, {}};
}

Proposal by_value_per_pod(std::int64_t replicas_there, const Tolerances& tolerances, std::int64_t usage,
                          std::int64_t target) {
  const auto there = static_cast<double>(replicas_there);
  Proposal proposal{replicas_there, usage, {}};
  const double wanted = static_cast<double>(usage) / static_cast<double>(target);
  if (replicas_there == 0 || !tolerances.covers(wanted / there)) proposal.replicas = round_up(wanted);
  if (replicas_there > 0) proposal.usage = static_cast<std::int64_t>(std::ceil(static_cast<double>(usage) / there));
  return proposal;
}

}  // namespace sublet::controllers
