// ResourceQuota: which resources and scopes may be limited, and that its scopes stay.

#include <algorithm>
#include <set>

#include "apiserver/request/text_list.h"
#include "apiserver/strategies/kind_facts.h"
#include "apiserver/validation/names.h"
#include "apiserver/validation/resources.h"

namespace sublet::apiserver {
namespace {

using schema::Value;

constexpr std::string_view kQuotaResources[] = {"configmaps",
                                                "cpu",
                                                "ephemeral-storage",
                                                "limits.cpu",
                                                "limits.ephemeral-storage",
                                                "limits.memory",
                                                "memory",
                                                "persistentvolumeclaims",
                                                "pods",
                                                "replicationcontrollers",
                                                "requests.cpu",
                                                "requests.ephemeral-storage",
                                                "requests.memory",
                                                "requests.storage",
                                                "resourcequotas",
                                                "secrets",
                                                "services",
                                                "services.loadbalancers",
                                                "services.nodeports"};
constexpr std::string_view kCountedResources[] = {"configmaps",
                                                  "persistentvolumeclaims",
                                                  "pods",
                                                  "replicationcontrollers",
                                                  "resourcequotas",
                                                  "secrets",
                                                  "services",
                                                  "services.loadbalancers",
                                                  "services.nodeports"};
constexpr std::string_view kPodQuotaResources[] = {"pods",          "cpu",          "memory",         "limits.cpu",
                                                   "limits.memory", "requests.cpu", "requests.memory"};
constexpr std::string_view kVolumeResources[] = {"persistentvolumeclaims", "requests.storage"};
constexpr std::string_view kQuotaScopes[] = {
    "BestEffort",  "CrossNamespacePodAffinity", "NotBestEffort", "NotTerminating", "PriorityClass",
    "Terminating", "VolumeAttributesClass"};
constexpr std::string_view kExistsScopes[] = {"BestEffort", "CrossNamespacePodAffinity", "NotBestEffort",
                                              "NotTerminating", "Terminating"};

bool is_standard(std::string_view name) {
  return contains_text(kQuotaResources, name) || is_huge_page_resource(name) || name.starts_with("requests.hugepages-");
}

bool fits_scope(std::string_view scope, std::string_view resource) {
  if (scope == "BestEffort") return resource == "pods";
  if (scope == "VolumeAttributesClass") return contains_text(kVolumeResources, resource);
  return !contains_text(kQuotaScopes, scope) || contains_text(kPodQuotaResources, resource);
}

void validate_quota_amounts(Causes& causes, const std::string& path, const Value& amounts) {
  constexpr __int128 kUnit = 1'000'000'000;
  for (auto amount : amounts) {
    const auto name = amount.key();
    const auto field = keyed(path, name);
    validate_resource_name(causes, field, name);
    if (name.find('/') == std::string_view::npos && !is_standard(name))
      invalid(causes, field, name, "must be a standard resource for quota");
    const auto nanos = quantity_nanos_of(amount);
    if (nanos < 0) invalid(causes, field, amount, "must be greater than or equal to 0");
    if ((contains_text(kCountedResources, name) || is_extended_resource(name)) && nanos % kUnit != 0)
      invalid(causes, field, amount, "must be an integer");
  }
}

// Each complaint shows the whole list, so that a long one would be shown as often as it is long: of such a one the
// first is enough, and no scope is judged twice.
constexpr std::size_t kLongList = 64;
bool is_long(const Value& list) { return list.size() > kLongList; }
std::size_t complaints_about(const Value& list) { return is_long(list) ? 1 : kLongList; }

void validate_scope_resources(Causes& causes, const std::string& field, const Value& spec, std::string_view scope,
                              const Value& shown, std::size_t& complaints_left) {
  for (auto amount : spec["hard"]) {
    if (complaints_left == 0) return;
    if (!is_standard(amount.key()) || fits_scope(scope, amount.key())) continue;
    invalid(causes, field, shown, "unsupported scope applied to resource");
    --complaints_left;
  }
}

void validate_conflicts(Causes& causes, const std::string& field, const std::set<std::string>& scopes,
                        const Value& shown) {
  for (const auto& [one, other] :
       {std::pair{"BestEffort", "NotBestEffort"}, std::pair{"Terminating", "NotTerminating"}})
    if (scopes.contains(one) && scopes.contains(other))
      invalid(causes, field, shown ? BadValue(shown) : BadValue::raw("null"), "conflicting scopes");
}

void validate_scopes(Causes& causes, const Value& spec) {
  const auto scopes = spec["scopes"];
  std::set<std::string> seen;
  const bool judges_again = !is_long(scopes);
  std::size_t complaints_left = complaints_about(scopes);
  for (auto scope : scopes) {
    if (complaints_left == 0) break;
    if (!seen.insert(scope.string()).second && !judges_again) continue;
    if (!contains_text(kQuotaScopes, scope.text())) {
      invalid(causes, "spec.scopes", scopes, "unsupported scope");
      --complaints_left;
    }
    validate_scope_resources(causes, "spec.scopes", spec, scope.text(), scopes, complaints_left);
  }
  validate_conflicts(causes, "spec.scopes", seen, scopes);
}

void validate_scope_selector(Causes& causes, const Value& spec) {
  const std::string at = "spec.scopeSelector.matchExpressions";  // upstream does not say which of them
  const auto expressions = spec["scopeSelector"]["matchExpressions"];
  std::set<std::string> seen;
  const bool judges_again = !is_long(expressions);
  std::size_t complaints_left = complaints_about(expressions);
  for (auto expression : expressions) {
    const auto scope = expression["scopeName"].text(), op = expression["operator"].text();
    if (!contains_text(kQuotaScopes, scope)) invalid(causes, child(at, "scopeName"), scope, "unsupported scope");
    if (seen.insert(std::string(scope)).second || judges_again)
      validate_scope_resources(causes, at, spec, scope, spec["scopeSelector"], complaints_left);
    if (contains_text(kExistsScopes, scope) && op != "Exists")
      invalid(causes, child(at, "operator"), op,
              "must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, ResourceQuotaScopeNotTerminating, "
              "ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or "
              "ResourceQuotaScopeCrossNamespacePodAffinity");
    const auto values = expression["values"];
    if (op == "In" || op == "NotIn") {
      if (values.empty())
        required(causes, child(at, "values"),
                 "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector");
    } else if (op == "Exists" || op == "DoesNotExist") {
      if (!values.empty())
        invalid(causes, child(at, "values"), values,
                "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector");
    } else {
      invalid(causes, child(at, "operator"), op, "not a valid selector operator");
    }
  }
  validate_conflicts(causes, at, seen, spec["scopes"]);
}

void validate_quota(const Value& object, Causes& causes) {
  const auto spec = object["spec"];
  validate_quota_amounts(causes, "spec.hard", spec["hard"]);
  validate_scopes(causes, spec);
  validate_scope_selector(causes, spec);
}

void validate_quota_update(const Value& object, const Value& old, Causes& causes) {
  const auto set_of = [](const Value& scopes) {
    std::set<std::string> texts;
    for (auto scope : scopes) texts.insert(scope.string());
    return texts;
  };
  const auto scopes = object["spec"]["scopes"];
  if (set_of(scopes) != set_of(old["spec"]["scopes"]))
    invalid(causes, "spec.scopes", scopes ? BadValue(scopes) : BadValue::raw("null"), kImmutable);
}

void validate_quota_status(const Value& object, const Value&, Causes& causes) {
  for (auto list : {"hard", "used"}) validate_quota_amounts(causes, child("status", list), object["status"][list]);
}

constexpr KindFacts kQuota = {"",
                              "resourcequotas",
                              nullptr,
                              kReturnsDeleted,
                              NameRule::dns_subdomain,
                              validate_quota,
                              validate_quota_update,
                              validate_quota_status};

}  // namespace

Strategy resource_quota_strategy() { return row_of(kQuota); }

}  // namespace sublet::apiserver
