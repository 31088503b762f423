#include "controllers/quota/quota_usage.h"

#include <algorithm>

#include "sublet/schema/engine.h"

namespace sublet::controllers {
namespace {

using schema::Value;

constexpr __int128 kOne = 1'000'000'000;
constexpr std::string_view kHugePages = "hugepages-", kRequests = "requests.", kLimits = "limits.", kCount = "count/",
                           kStorageClass = ".storageclass.storage.k8s.io/";
constexpr std::string_view kComputed[] = {"cpu", "memory", "ephemeral-storage"};
constexpr std::string_view kNumbered[] = {"configmaps", "secrets", "replicationcontrollers", "resourcequotas"};

__int128 nanos_of(const Value& quantity) {
  if (quantity.is_integer()) return quantity.integer() * kOne;
  return schema::quantity_nanos(quantity.text()).value_or(0);
}

Usage read(const Value& list) {
  Usage usage;
  for (Value quantity : list) usage[std::string(quantity.key())] = nanos_of(quantity);
  return usage;
}

void raise(Usage& total, const Usage& other) {
  for (const auto& [name, nanos] : other) total[name] = std::max(total[name], nanos);
}

/// What a pod needs at most at one time: its containers and sidecars together, or one init container beside the
/// sidecars before it. Resources of the pod as a whole count instead of its containers'.
Usage needs(const Value& spec, std::string_view kind) {
  Usage total, sidecars, starting;
  for (Value container : spec["containers"]) add(total, read(container["resources"][kind]));
  for (Value container : spec["initContainers"]) {
    auto own = read(container["resources"][kind]);
    if (container["restartPolicy"].text() == "Always") {
      add(total, own);
      add(sidecars, own);
      own = sidecars;
    } else {
      add(own, sidecars);
    }
    raise(starting, own);
  }
  raise(total, starting);
  for (const auto& [name, nanos] : read(spec["resources"][kind])) total[name] = nanos;
  for (const auto& [name, nanos] : read(spec["overhead"]))
    if (kind == "requests" || total.contains(name)) total[name] += nanos;
  return total;
}

bool is_best_effort(const Value& spec) {
  for (auto list : {"containers", "initContainers"})
    for (Value container : spec[list])
      for (auto kind : {"requests", "limits"})
        for (auto name : {"cpu", "memory"})
          if (nanos_of(container["resources"][kind][name]) > 0) return false;
  return true;
}

bool has_ended(const Value& pod, WallTime now) {
  const auto phase = pod["status"]["phase"].text();
  if (phase == "Succeeded" || phase == "Failed") return true;
  const auto metadata = pod["metadata"];
  const auto deleted = parse_time(metadata["deletionTimestamp"].text());
  return deleted && metadata.has("deletionGracePeriodSeconds") &&
         now > *deleted + std::chrono::seconds(metadata["deletionGracePeriodSeconds"].integer());
}

bool reaches_other_namespaces(const Value& spec) {
  for (auto kind : {"podAffinity", "podAntiAffinity"}) {
    const auto affinity = spec["affinity"][kind];
    const auto reaches = [](const Value& term) { return !term["namespaces"].empty() || term.has("namespaceSelector"); };
    for (Value term : affinity["requiredDuringSchedulingIgnoredDuringExecution"])
      if (reaches(term)) return true;
    for (Value term : affinity["preferredDuringSchedulingIgnoredDuringExecution"])
      if (reaches(term["podAffinityTerm"])) return true;
  }
  return false;
}

bool is_in_scope(std::string_view scope, const Value& requirement, const Value& pod) {
  const auto spec = pod["spec"];
  const bool ends = spec["activeDeadlineSeconds"].integer(-1) >= 0;
  if (scope == "Terminating") return ends;
  if (scope == "NotTerminating") return !ends;
  if (scope == "BestEffort") return is_best_effort(spec);
  if (scope == "NotBestEffort") return !is_best_effort(spec);
  if (scope == "CrossNamespacePodAffinity") return reaches_other_namespaces(spec);
  if (scope != "PriorityClass") return false;
  const auto name = spec["priorityClassName"].text();
  const auto op = requirement["operator"].text("Exists");
  bool listed = false;
  for (Value value : requirement["values"]) listed |= value.text() == name;
  if (op == "In") return !name.empty() && listed;
  if (op == "NotIn") return name.empty() || !listed;
  return (op == "Exists") == !name.empty();
}

bool starts_with_any(std::string_view name, std::string_view prefix) {
  return std::any_of(std::begin(kComputed), std::end(kComputed),
                     [&](std::string_view computed) { return name == std::string(prefix).append(computed); });
}

}  // namespace

void add(Usage& total, const Usage& more) {
  for (const auto& [name, nanos] : more) total[name] += nanos;
}

Usage pod_usage(const Value& pod, WallTime now) {
  if (has_ended(pod, now)) return {};
  Usage usage{{"pods", kOne}};
  for (const auto& [name, nanos] : needs(pod["spec"], "requests")) {
    const bool computed = starts_with_any(name, "");
    const bool native = computed || name.starts_with(kHugePages);
    if (native) usage[name] = nanos;
    if (native || name.find('/') != std::string::npos) usage[std::string(kRequests) + name] = nanos;
  }
  for (const auto& [name, nanos] : needs(pod["spec"], "limits"))
    if (starts_with_any(name, "")) usage[std::string(kLimits) + name] = nanos;
  return usage;
}

Usage service_usage(const Value& service) {
  Usage usage{{"services", kOne}};
  const auto spec = service["spec"];
  const auto type = spec["type"].text();
  if (type == "LoadBalancer") usage["services.loadbalancers"] = kOne;
  if (type != "NodePort" && type != "LoadBalancer") return usage;
  auto ports = static_cast<std::int64_t>(spec["ports"].size());
  if (type == "LoadBalancer" && !spec["allocateLoadBalancerNodePorts"].boolean(true)) {
    ports = 0;
    for (Value port : spec["ports"]) ports += port["nodePort"].integer() != 0;
  }
  usage["services.nodeports"] = ports * kOne;
  return usage;
}

Usage claim_usage(const Value& claim) {
  const auto storage = nanos_of(claim["spec"]["resources"]["requests"]["storage"]);
  Usage usage{{"persistentvolumeclaims", kOne}, {"requests.storage", storage}};
  auto named = claim["metadata"]["annotations"]["volume.beta.kubernetes.io/storage-class"].string();
  if (named.empty()) named = claim["spec"]["storageClassName"].string();
  if (named.empty()) return usage;
  usage[named + std::string(kStorageClass) + "persistentvolumeclaims"] = kOne;
  usage[named + std::string(kStorageClass) + "requests.storage"] = storage;
  return usage;
}

bool has_scopes(const Value& quota_spec) {
  return !quota_spec["scopes"].empty() || !quota_spec["scopeSelector"]["matchExpressions"].empty();
}

bool is_in_scopes(const Value& quota_spec, const Value& pod) {
  for (Value scope : quota_spec["scopes"])
    if (!is_in_scope(scope.text(), {}, pod)) return false;
  for (Value requirement : quota_spec["scopeSelector"]["matchExpressions"])
    if (!is_in_scope(requirement["scopeName"].text(), requirement, pod)) return false;
  return true;
}

std::string counted_kind(std::string_view name) {
  if (name.starts_with(kCount)) return std::string(name.substr(kCount.size()));
  const bool numbered = std::find(std::begin(kNumbered), std::end(kNumbered), name) != std::end(kNumbered);
  return numbered ? std::string(name) : "";
}

Measured measured_on(std::string_view name) {
  if (name == "services" || name.starts_with("services.")) return Measured::services;
  if (name == "persistentvolumeclaims" || name == "requests.storage" ||
      name.find(kStorageClass) != std::string_view::npos)
    return Measured::claims;
  const bool asked = name.starts_with(kRequests);
  const auto bare = asked ? name.substr(kRequests.size()) : name;
  const bool of_pods = name == "pods" || starts_with_any(name, "") || starts_with_any(name, kRequests) ||
                       starts_with_any(name, kLimits) || bare.starts_with(kHugePages) ||
                       (asked && bare.find('/') != std::string_view::npos);
  return of_pods ? Measured::pods : Measured::nowhere;
}

}  // namespace sublet::controllers
