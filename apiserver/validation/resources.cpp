#include "apiserver/validation/resources.h"

#include <algorithm>
#include <array>

#include "apiserver/request/text_list.h"
#include "apiserver/validation/members.h"
#include "apiserver/validation/names.h"
#include "sublet/quota/amounts.h"
#include "sublet/schema/engine.h"

namespace sublet::apiserver {
namespace {

constexpr std::array<std::string_view, 3> kContainerResources = {"cpu", "memory", "ephemeral-storage"};
// Unqualified names that exist, but not for containers (quota and volume resources): they get one message, not two.
constexpr std::array<std::string_view, 17> kOtherStandardResources = {"requests.cpu",
                                                                      "requests.memory",
                                                                      "requests.ephemeral-storage",
                                                                      "limits.cpu",
                                                                      "limits.memory",
                                                                      "limits.ephemeral-storage",
                                                                      "pods",
                                                                      "resourcequotas",
                                                                      "services",
                                                                      "replicationcontrollers",
                                                                      "secrets",
                                                                      "configmaps",
                                                                      "persistentvolumeclaims",
                                                                      "storage",
                                                                      "requests.storage",
                                                                      "services.nodeports",
                                                                      "services.loadbalancers"};
constexpr std::string_view kPodLevelResources[] = {"cpu", "hugepages-", "memory"};
constexpr __int128 kNanosPerUnit = 1'000'000'000;

bool is_native(std::string_view name) {
  return name.find('/') == std::string_view::npos || name.find("kubernetes.io/") != std::string_view::npos;
}

void validate_request_against_limit(Causes& causes, const std::string& path, const schema::Value& request,
                                    const schema::Value& limit) {
  auto name = std::string(request.key());
  if (limit.missing()) {
    if (!is_overcommit_allowed(name))
      required(causes, child(path, "limits"), "Limit must be set for non overcommitable resources");
    return;
  }
  int order = compare_quantities(request, limit);
  if (order != 0 && !is_overcommit_allowed(name))
    invalid(causes, child(path, "requests"), request, "must be equal to " + name + " limit of " + limit.string());
  else if (order > 0)
    invalid(causes, child(path, "requests"), request,
            "must be less than or equal to " + name + " limit of " + limit.string());
}

/// What QoS counts in one container or pod-level `resources`.
struct QosFacts {
  bool any = false;         // some cpu or memory request or limit
  bool guaranteed = false;  // both limits set, and requests equal to them
};

QosFacts qos_of(const schema::Value& resources) {
  QosFacts facts{false, true};
  for (auto name : {"cpu", "memory"}) {
    auto limit = quantity_nanos_of(resources["limits"][name]);
    auto request = resources["requests"][name].missing() ? limit : quantity_nanos_of(resources["requests"][name]);
    if (limit > 0 || request > 0) facts.any = true;
    if (limit <= 0 || request != limit) facts.guaranteed = false;
  }
  return facts;
}

}  // namespace

bool is_huge_page_resource(std::string_view name) { return name.starts_with("hugepages-"); }

bool is_pod_resource(std::string_view name) { return name == "cpu" || name == "memory" || is_huge_page_resource(name); }

bool is_extended_resource(std::string_view name) {
  if (is_native(name) || name.starts_with("requests.")) return false;
  return qualified_name("requests." + std::string(name)).empty();
}

bool is_overcommit_allowed(std::string_view name) { return is_native(name) && !is_huge_page_resource(name); }

__int128 quantity_nanos_of(const schema::Value& quantity) {
  auto text = quantity.is_string() ? quantity.string() : quantity.to_json();
  return schema::quantity_nanos(text).value_or(0);
}

void validate_resource_name(Causes& causes, const std::string& path, std::string_view name) {
  auto messages = qualified_name(name);
  invalid_each(causes, path, name, messages);
  bool standard = contains_text(kContainerResources, name) || contains_text(kOtherStandardResources, name) ||
                  is_huge_page_resource(name) || name.starts_with("requests.hugepages-");
  if (messages.empty() && name.find('/') == std::string_view::npos && !standard)
    invalid(causes, path, name, "must be a standard resource type or fully qualified");
}

void validate_container_resource_name(Causes& causes, const std::string& path, std::string_view name) {
  validate_resource_name(causes, path, name);
  if (name.find('/') == std::string_view::npos) {
    if (!contains_text(kContainerResources, name) && !is_huge_page_resource(name))
      invalid(causes, path, name, "must be a standard resource for containers");
  } else if (!is_native(name) && !is_extended_resource(name)) {
    invalid(causes, path, name, "doesn't follow extended resource name standard");
  }
}

int compare_quantities(const schema::Value& a, const schema::Value& b) {
  auto left = quantity_nanos_of(a), right = quantity_nanos_of(b);
  return left < right ? -1 : left > right ? 1 : 0;
}

void validate_resource_quantity(Causes& causes, const std::string& path, std::string_view name,
                                const schema::Value& quantity) {
  auto value = quantity_nanos_of(quantity);
  if (value < 0) invalid(causes, path, quantity, "must be greater than or equal to 0");
  constexpr std::string_view kCounted[] = {
      "pods",       "resourcequotas",         "services",           "replicationcontrollers", "secrets",
      "configmaps", "persistentvolumeclaims", "services.nodeports", "services.loadbalancers"};
  if ((is_extended_resource(name) || std::ranges::find(kCounted, name) != std::end(kCounted)) &&
      value % kNanosPerUnit != 0)
    invalid(causes, path, quantity, "must be an integer");
}

void validate_container_resources(Causes& causes, const std::string& path, const schema::Value& resources) {
  bool huge_pages = false, cpu_or_memory = false;
  for (auto list : {"limits", "requests"}) {
    for (auto quantity : resources[list]) {
      std::string at = keyed(child(path, list), quantity.key());
      validate_container_resource_name(causes, at, quantity.key());
      validate_resource_quantity(causes, at, quantity.key(), quantity);
      huge_pages |= is_huge_page_resource(quantity.key());
      cpu_or_memory |= quantity.key() == "cpu" || quantity.key() == "memory";
    }
  }
  const Members limits(resources["limits"], resources["requests"].size());
  for (auto request : resources["requests"])
    validate_request_against_limit(causes, path, request, limits[request.key()]);
  if (huge_pages && !cpu_or_memory) forbidden(causes, path, "HugePages require cpu or memory");
}

void validate_overhead(Causes& causes, const std::string& path, const schema::Value& overhead) {
  for (auto quantity : overhead) {
    const auto at = keyed(child(path, "limits"), quantity.key());
    validate_container_resource_name(causes, at, quantity.key());
    validate_resource_quantity(causes, at, quantity.key(), quantity);
  }
}

namespace {

/// Of the pod as a whole against what its containers ask for together, and against each one's limits.
void validate_pod_consistency(Causes& causes, const std::string& at, const schema::Value& spec) {
  const auto requests = spec["resources"]["requests"], limits = spec["resources"]["limits"];
  const auto at_least = [&](std::string_view list, const schema::Value& own, const quota::Amounts& amounts) {
    for (const auto& [name, amount] : amounts)
      if (own[name] && amount.nanos > quantity_nanos_of(own[name]) &&
          (list == "requests" || is_huge_page_resource(name)))
        invalid(causes, keyed(child(at, list), name), own[name],
                "must be greater than or equal to aggregate container " + std::string(list) + " of " + amount.text);
  };
  at_least("requests", requests, quota::container_amounts(spec, "requests"));
  at_least("limits", limits, quota::container_amounts(spec, "limits"));
  std::size_t index = 0;
  for (const auto container : spec["containers"]) {
    const auto place = item(child(at, "containers"), index++);
    for (const auto limit : container["resources"]["limits"])
      if (const auto own = limits[limit.key()]; own && compare_quantities(limit, own) > 0)
        invalid(causes, child(keyed(place, limit.key()), "limits"), limit,
                "must be less than or equal to pod limits of " + own.string());
  }
}

}  // namespace

void validate_pod_resources(Causes& causes, const std::string& path, const schema::Value& spec) {
  const auto resources = spec["resources"];
  if (!resources) return;
  const auto at = child(path, "resources");
  if (!resources["claims"].empty())
    forbidden(causes, child(at, "claims"), "claims may not be set for Resources at pod-level");
  for (const std::string_view list : {"limits", "requests"}) {
    for (auto quantity : resources[list]) {
      const auto name = quantity.key();
      const auto field = keyed(child(at, list), name);
      const auto before = causes.size();
      validate_resource_name(causes, field, name);
      if (causes.size() == before && !is_pod_resource(name)) not_supported(causes, field, name, kPodLevelResources);
      validate_resource_quantity(causes, field, name, quantity);
    }
  }
  const Members limits(resources["limits"], resources["requests"].size());
  for (auto request : resources["requests"]) validate_request_against_limit(causes, at, request, limits[request.key()]);
  validate_pod_consistency(causes, at, spec);
}

void validate_resource_list(Causes& causes, const std::string& path, const schema::Value& list) {
  for (auto quantity : list) validate_resource_quantity(causes, keyed(path, quantity.key()), quantity.key(), quantity);
}

std::string_view qos_class(const schema::Value& pod_spec) {
  if (!pod_spec["resources"]["limits"].empty() || !pod_spec["resources"]["requests"].empty()) {
    auto facts = qos_of(pod_spec["resources"]);
    return facts.guaranteed ? "Guaranteed" : facts.any ? "Burstable" : "BestEffort";
  }
  bool any = false, guaranteed = true;
  for (auto list : {"containers", "initContainers"}) {
    for (auto container : pod_spec[list]) {
      auto facts = qos_of(container["resources"]);
      any |= facts.any;
      guaranteed &= facts.guaranteed;
    }
  }
  return !any ? "BestEffort" : guaranteed ? "Guaranteed" : "Burstable";
}

}  // namespace sublet::apiserver
