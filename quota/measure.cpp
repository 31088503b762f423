#include "sublet/quota/measure.h"

#include <algorithm>
#include <array>
#include <set>

#include "quota/scopes.h"

namespace sublet::quota {
namespace {

using schema::Value;

constexpr std::string_view kHugePages = "hugepages-", kRequests = "requests.", kLimits = "limits.", kCount = "count/",
                           kStorageClass = ".storageclass.storage.k8s.io/",
                           kDeviceClass = ".deviceclass.resource.k8s.io/devices",
                           kImplicitDevice = "deviceclass.resource.kubernetes.io/";
constexpr std::array<std::string_view, 3> kComputed = {"cpu", "memory", "ephemeral-storage"};
constexpr std::array<std::string_view, 4> kNumbered = {"configmaps", "secrets", "replicationcontrollers",
                                                       "resourcequotas"};
constexpr std::array<std::string_view, 3> kOfServices = {"services", "services.nodeports", "services.loadbalancers"};
constexpr std::array<std::string_view, 2> kOfClaims = {"persistentvolumeclaims", "requests.storage"};
constexpr int kDevicesMax = 32;  // of one claim: what "All" may come to

template <class List>
bool lists(const List& names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

std::string prefixed(std::string_view prefix, std::string_view name) { return std::string(prefix).append(name); }

bool is_computed(std::string_view name) {
  for (const auto prefix : {kRequests, kLimits})
    if (name.starts_with(prefix)) return lists(kComputed, name.substr(prefix.size()));
  return lists(kComputed, name);
}

/// Of a vendor: "nvidia.com/gpu".
bool is_extended(std::string_view name) {
  return name.starts_with(kImplicitDevice) ||
         (name.find('/') != std::string_view::npos && name.find("kubernetes.io/") == std::string_view::npos);
}

bool is_of_pods(std::string_view name) {
  if (name == "pods" || is_computed(name) || name.starts_with(kHugePages)) return true;
  if (!name.starts_with(kRequests)) return false;
  const auto bare = name.substr(kRequests.size());
  return bare.starts_with(kHugePages) || is_extended(bare);
}

bool is_of_claims(std::string_view name) {
  const auto of_class = [&](std::string_view what) { return name.ends_with(prefixed(kStorageClass, what)); };
  return lists(kOfClaims, name) || std::ranges::any_of(kOfClaims, of_class);
}

/// "deployments.apps", "pods".
std::string full_name(std::string_view group, std::string_view resource) { return group_resource(group, resource); }

bool has_ended(const Value& pod, WallTime now) {
  const auto phase = pod["status"]["phase"].text();
  if (phase == "Succeeded" || phase == "Failed") return true;
  const Value metadata = pod["metadata"];
  const auto deleted = parse_time(metadata["deletionTimestamp"].text());
  return deleted && metadata.has("deletionGracePeriodSeconds") &&
         now > *deleted + std::chrono::seconds(metadata["deletionGracePeriodSeconds"].integer());
}

Amounts pod_needs(const Value& spec, std::string_view list) {
  Amounts needs = container_amounts(spec, list);
  for (const auto& [name, amount] : amounts_of(spec["resources"][list]))
    if (may_be_of_a_pod(name)) needs[name] = amount;
  for (const auto& [name, amount] : amounts_of(spec["overhead"])) {
    const auto at = needs.find(name);
    if (list == "limits" && (at == needs.end() || at->second.nanos == 0)) continue;
    if (at == needs.end())
      needs.emplace(name, amount);
    else
      add(at->second, amount);
  }
  return needs;
}

/// As names of a quota. Of what containers say, or a pod needs.
Amounts as_limited(const Amounts& requests, const Amounts& limits) {
  Amounts usage{{"pods", number(1)}};
  for (const auto& [name, amount] : requests) {
    const bool native = lists(kComputed, name) || name.starts_with(kHugePages);
    if (native) usage[name] = amount;
    if (native || is_extended(name)) usage[prefixed(kRequests, name)] = amount;
  }
  for (const auto& [name, amount] : limits)
    if (lists(kComputed, name)) usage[prefixed(kLimits, name)] = amount;
  return usage;
}

Amounts pod_usage(const Value& pod, WallTime now) {
  if (has_ended(pod, now)) return {};
  return as_limited(pod_needs(pod["spec"], "requests"), pod_needs(pod["spec"], "limits"));
}

Amounts service_usage(const Value& service) {
  Amounts usage{{"services", number(1)}, {"services.loadbalancers", {}}, {"services.nodeports", {}}};
  const Value spec = service["spec"];
  const auto type = spec["type"].text();
  if (type == "LoadBalancer") usage["services.loadbalancers"] = number(1);
  if (type != "NodePort" && type != "LoadBalancer") return usage;
  auto ports = static_cast<std::int64_t>(spec["ports"].size());
  if (type == "LoadBalancer" && !spec["allocateLoadBalancerNodePorts"].boolean(true))
    ports = std::count_if(spec["ports"].begin(), spec["ports"].end(),
                          [](const Value& port) { return port["nodePort"].integer() != 0; });
  usage["services.nodeports"] = number(ports);
  return usage;
}

/// Bytes, none of them in part.
Amount whole_bytes(Amount amount) {
  constexpr __int128 kByte = 1'000'000'000;
  if (const auto rest = amount.nanos % kByte; rest > 0) add(amount, {kByte - rest, amount.text});
  return amount;
}

Amounts claim_usage(const Value& claim) {
  Amounts usage{{"persistentvolumeclaims", number(1)}};
  const Value asked = claim["spec"]["resources"]["requests"]["storage"],
              allocated = claim["status"]["allocatedResources"]["storage"];
  if (asked) {
    auto storage = amount_of(asked);
    if (allocated && amount_of(allocated).nanos > storage.nanos) storage = amount_of(allocated);
    usage["requests.storage"] = whole_bytes(std::move(storage));
  }
  const Value by_annotation = claim["metadata"]["annotations"]["volume.beta.kubernetes.io/storage-class"];
  const auto named = (by_annotation ? by_annotation : claim["spec"]["storageClassName"]).string();
  if (named.empty()) return usage;
  const Amounts plain = usage;
  for (const auto& [name, amount] : plain) usage[named + prefixed(kStorageClass, name)] = amount;
  return usage;
}

std::int64_t devices_of(const Value& request) {
  const auto mode = request["allocationMode"].text();
  if (mode == "ExactCount") return request["count"].integer();
  return mode == "All" ? kDevicesMax : 0;
}

// Of alternatives the worst of each class counts.
Amounts resource_claim_usage(const Value& claim) {
  Amounts usage;
  for (const Value request : claim["spec"]["devices"]["requests"]) {
    Amounts worst;
    const auto take = [&](const Value& one) {
      Amounts asked{{one["deviceClassName"].string().append(kDeviceClass), number(devices_of(one))}};
      raise(worst, asked);
    };
    for (const Value alternative : request["firstAvailable"]) take(alternative);
    if (request.has("exactly") && request["firstAvailable"].empty()) take(request["exactly"]);
    add(usage, worst);
  }
  return usage;
}

std::string joined(const std::set<std::string>& texts) {
  std::string all;
  for (const auto& text : texts) all.append(all.empty() ? "" : ",").append(text);
  return all;
}

}  // namespace

Measure::Measure(std::string_view group, std::string_view resource) : group_(group), resource_(resource) {
  const bool core = group.empty();
  if (resource == "events" && (core || group == "events.k8s.io"))
    kind_ = Kind::free;
  else if (core && resource == "pods")
    kind_ = Kind::pods;
  else if (core && resource == "services")
    kind_ = Kind::services;
  else if (core && resource == "persistentvolumeclaims")
    kind_ = Kind::claims;
  else if (group == "resource.k8s.io" && resource == "resourceclaims")
    kind_ = Kind::resource_claims;
  else
    kind_ = Kind::counted;
}

bool Measure::covers(std::string_view name) const {
  if (kind_ == Kind::free) return false;
  if (name.starts_with(kCount)) return name.substr(kCount.size()) == full_name(group_, resource_);
  switch (kind_) {
    case Kind::pods:
      return is_of_pods(name);
    case Kind::services:
      return lists(kOfServices, name);
    case Kind::claims:
      return is_of_claims(name);
    case Kind::resource_claims:
      return name.ends_with(kDeviceClass);
    default:
      return group_.empty() && name == resource_ && lists(kNumbered, name);
  }
}

Amounts Measure::usage(const Value& object, WallTime now) const {
  Amounts usage;
  if (kind_ == Kind::pods) usage = pod_usage(object, now);
  if (kind_ == Kind::services) usage = service_usage(object);
  if (kind_ == Kind::claims) usage = claim_usage(object);
  if (kind_ == Kind::resource_claims) usage = resource_claim_usage(object);
  if (group_.empty() && lists(kNumbered, resource_)) usage.emplace(resource_, number(1));
  usage.emplace(prefixed(kCount, full_name(group_, resource_)), number(1));
  return usage;
}

bool Measure::is_in_scopes(const Value& quota_spec, const Value& object) const {
  const auto is_in = [&](std::string_view scope, const Value& requirement) {
    if (kind_ == Kind::pods) return is_pod_in_scope(scope, requirement, object);
    return kind_ == Kind::claims && is_claim_in_scope(scope, requirement, object);
  };
  for (const Value scope : quota_spec["scopes"])
    if (!is_in(scope.text(), {})) return false;
  for (const Value requirement : quota_spec["scopeSelector"]["matchExpressions"])
    if (!is_in(requirement["scopeName"].text(), requirement)) return false;
  return true;
}

bool Measure::is_changed_by_update(std::string_view subresource, const Value& object, const Value& old) const {
  switch (kind_) {
    case Kind::pods:  // else only what does not change counts; and the scope may
      return subresource == "resize" || (subresource.empty() && is_terminating(object) != is_terminating(old));
    case Kind::claims:
      return subresource.empty() || subresource == "status";
    case Kind::services:
    case Kind::resource_claims:
      return subresource.empty();
    default:
      return false;
  }
}

std::string Measure::lacks(const std::vector<std::string>& names, const Value& object) const {
  if (kind_ != Kind::pods || has_own_resources(object["spec"])) return {};
  std::map<std::string, std::set<std::string>> lacking;  // who lacks what
  for (const auto* list : {"containers", "initContainers"})
    for (const Value container : object["spec"][list]) {
      const Value resources = container["resources"];
      const auto said = as_limited(amounts_of(resources["requests"]), amounts_of(resources["limits"]));
      for (const auto& name : names) {
        const bool must_be_said = is_computed(name) && !name.ends_with("ephemeral-storage");
        if (must_be_said && !said.contains(name)) lacking[name].insert(container["name"].string());
      }
    }
  std::string text;
  for (const auto& [name, containers] : lacking)
    text.append(text.empty() ? "must specify " : "; ").append(name).append(" for: ").append(joined(containers));
  return text;
}

bool has_scopes(const Value& quota_spec) {
  return !quota_spec["scopes"].empty() || !quota_spec["scopeSelector"]["matchExpressions"].empty();
}

std::string counted_resource(std::string_view name) {
  if (name.starts_with(kCount)) return std::string(name.substr(kCount.size()));
  return lists(kNumbered, name) ? std::string(name) : "";
}

}  // namespace sublet::quota
