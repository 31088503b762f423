// HorizontalPodAutoscaler and PodDisruptionBudget: what may scale pods, and what may take them away.

#include <algorithm>

#include "apiserver/strategies/kind_facts.h"
#include "apiserver/validation/names.h"
#include "apiserver/validation/resources.h"

namespace sublet::apiserver {
namespace {

using schema::Value;

// --- HorizontalPodAutoscaler ---

constexpr DefaultFact kAutoscaler[] = {
    {"spec.minReplicas", "1"},
    {"spec.metrics",
     "[{\"type\":\"Resource\",\"resource\":{\"name\":\"cpu\",\"target\":{\"type\":\"Utilization\","
     "\"averageUtilization\":80}}}]"},
    {"spec.behavior?.scaleUp.stabilizationWindowSeconds", "0"},
    {"spec.behavior?.scaleUp.selectPolicy", "\"Max\""},
    {"spec.behavior?.scaleUp.policies",
     "[{\"type\":\"Pods\",\"value\":4,\"periodSeconds\":15},"
     "{\"type\":\"Percent\",\"value\":100,\"periodSeconds\":15}]"},
    {"spec.behavior?.scaleDown.selectPolicy", "\"Max\""},
    {"spec.behavior?.scaleDown.policies", "[{\"type\":\"Percent\",\"value\":100,\"periodSeconds\":15}]"}};

void default_autoscaler(Value object) {
  if (auto metrics = object["spec"]["metrics"]; metrics && metrics.empty()) object.object("spec").erase("metrics");
  defaults_from<kAutoscaler>(object);
}

constexpr std::int64_t kWindowMax = 3600, kPeriodMax = 1800;
constexpr std::string_view kSelections[] = {"Disabled", "Max", "Min"}, kPolicyTypes[] = {"Percent", "Pods"},
                           kMetricTypes[] = {"ContainerResource", "External", "Object", "Pods", "Resource"};

void validate_reference(Causes& causes, const std::string& path, const Value& reference) {
  constexpr static FieldRule kRules[] = {required_name("kind", path_segment_name),
                                         required_name("name", path_segment_name)};
  check_rules(causes, path, reference, kRules);
}

/// What Go's schema.ParseGroupVersion says of it, and whether a group is in it where one must be.
void validate_api_version(Causes& causes, const std::string& path, std::string_view version, bool may_lack_group) {
  const auto slashes = std::ranges::count(version, '/');
  const auto field = child(path, "apiVersion");
  if (slashes > 1)
    invalid(causes, field, version, "unexpected GroupVersion string: " + std::string(version));
  else if (!may_lack_group && (version.find('/') == std::string_view::npos || version.starts_with('/')))
    invalid(causes, field, version, "apiVersion must specify API group");
}

void validate_scaling_rules(Causes& causes, const std::string& path, const Value& rules) {
  if (!rules) return;
  if (const auto window = rules["stabilizationWindowSeconds"]) {
    const auto field = child(path, "stabilizationWindowSeconds");
    if (window.integer() < 0) invalid(causes, field, window, "must be greater than or equal to zero");
    if (window.integer() > kWindowMax)
      invalid(causes, field, window, "must be less than or equal to " + std::to_string(kWindowMax));
  }
  constexpr static FieldRule kRules[] = {
      choice_of("selectPolicy", kSelections),
      {"policies", must_have_items, nullptr, 0, 0, {}, "must specify at least one Policy"},
      {"tolerance", is_nonnegative_quantity}};
  check_rules(causes, path, rules, kRules);
  std::size_t index = 0;
  for (auto policy : rules["policies"]) {
    const auto at = item(child(path, "policies"), index++);
    const auto type = policy["type"].text();
    if (std::ranges::find(kPolicyTypes, type) == std::end(kPolicyTypes))
      not_supported(causes, child(at, "type"), type, kPolicyTypes);
    for (auto field : {"value", "periodSeconds"})
      if (policy[field].integer() <= 0)
        invalid(causes, child(at, field), policy[field].integer(), "must be greater than zero");
    if (policy["periodSeconds"].integer() > kPeriodMax)
      invalid(causes, child(at, "periodSeconds"), policy["periodSeconds"],
              "must be less than or equal to " + std::to_string(kPeriodMax));
  }
}

void validate_target(Causes& causes, const std::string& path, const Value& target) {
  const auto type = target["type"].text();
  if (type.empty()) required(causes, child(path, "type"), "must specify a metric target type");
  if (type != "Utilization" && type != "Value" && type != "AverageValue")
    invalid(causes, child(path, "type"), type, "must be either Utilization, Value, or AverageValue");
  for (auto field : {"value", "averageValue"})
    if (const auto value = target[field]; value && quantity_nanos_of(value) <= 0)
      invalid(causes, child(path, field), value, "must be positive");
  if (const auto share = target["averageUtilization"]; share && share.integer() < 1)
    invalid(causes, child(path, "averageUtilization"), share, "must be greater than 0");
}

void validate_metric_name(Causes& causes, const std::string& path, const Value& metric) {
  const auto field = child(path, "metric.name");
  const auto name = metric["metric"]["name"].text();
  if (name.empty())
    required(causes, field, "must specify a metric name");
  else
    invalid_each(causes, field, name, path_segment_name(name));
}

/// What a source must say of its target: a raw value or a share of what is requested, but one of them.
void validate_resource_target(Causes& causes, const std::string& path, const Value& target) {
  const bool raw = target.has("averageValue"), share = target.has("averageUtilization");
  if (!raw && !share)
    required(causes, child(path, "averageUtilization"), "must set either a target raw value or a target utilization");
  if (raw && share)
    forbidden(causes, child(path, "averageValue"), "may not set both a target raw value and a target utilization");
}

void validate_object_source(Causes& causes, const std::string& path, const Value& source) {
  const auto described = child(path, "describedObject"), target = child(path, "target");
  validate_reference(causes, described, source["describedObject"]);
  validate_api_version(causes, described, source["describedObject"]["apiVersion"].text(), true);
  validate_metric_name(causes, path, source);
  validate_target(causes, target, source["target"]);
  if (!source["target"].has("value") && !source["target"].has("averageValue"))
    required(causes, child(target, "averageValue"), "must set either a target value or averageValue");
}

void validate_external_source(Causes& causes, const std::string& path, const Value& source) {
  const auto at = child(path, "target");
  validate_metric_name(causes, path, source);
  validate_target(causes, at, source["target"]);
  const bool value = source["target"].has("value"), average = source["target"].has("averageValue");
  if (!value && !average)
    required(causes, child(at, "averageValue"), "must set either a target value for metric or a per-pod target");
  if (value && average)
    forbidden(causes, child(at, "value"), "may not set both a target value for metric and a per-pod target");
}

void validate_pods_source(Causes& causes, const std::string& path, const Value& source) {
  const auto at = child(path, "target");
  validate_metric_name(causes, path, source);
  validate_target(causes, at, source["target"]);
  if (!source["target"].has("averageValue"))
    required(causes, child(at, "averageValue"), "must specify a positive target averageValue");
}

void validate_resource_source(Causes& causes, const std::string& path, const Value& source) {
  if (source["name"].text().empty()) required(causes, child(path, "name"), "must specify a resource name");
  validate_target(causes, child(path, "target"), source["target"]);
  validate_resource_target(causes, child(path, "target"), source["target"]);
}

void validate_container_source(Causes& causes, const std::string& path, const Value& source) {
  const auto name = source["name"].text(), container = source["container"].text();
  if (!name.empty()) validate_container_resource_name(causes, child(path, "name"), name);
  if (container.empty())
    required(causes, child(path, "container"), "must specify a container");
  else
    invalid_each(causes, child(path, "container"), container, dns1123_label(container));
  validate_resource_source(causes, path, source);
}

struct MetricSource {
  std::string_view member, type;
  void (*validate)(Causes& causes, const std::string& path, const Value& source);
};
constexpr MetricSource kMetricSources[] = {{"object", "Object", validate_object_source},
                                           {"external", "External", validate_external_source},
                                           {"pods", "Pods", validate_pods_source},
                                           {"resource", "Resource", validate_resource_source},
                                           {"containerResource", "ContainerResource", validate_container_source}};

void validate_metric(Causes& causes, const std::string& path, const Value& metric) {
  const auto type = metric["type"].text();
  if (type.empty()) required(causes, child(path, "type"), "must specify a metric source type");
  const bool known = std::ranges::find(kMetricTypes, type) != std::end(kMetricTypes);
  if (!known) not_supported(causes, child(path, "type"), type, kMetricTypes);
  int count = 0;
  for (const auto& source : kMetricSources)
    if (metric.has(source.member) && ++count == 1)
      source.validate(causes, child(path, source.member), metric[source.member]);
  for (const auto& source : kMetricSources) {
    if (source.type == type && !metric.has(source.member))
      required(causes, child(path, source.member), "must populate information for the given metric source");
    if (source.type != type && count > 1 && metric.has(source.member))
      forbidden(causes, child(path, source.member), "must populate the given metric source only");
  }
  if (count == 1) return;
  if (!known) not_supported(causes, child(path, "type"), type, kMetricTypes);
}

void validate_autoscaler(const Value& object, Causes& causes) {
  const auto spec = object["spec"], least = spec["minReplicas"], most = spec["maxReplicas"];
  if (least && least.integer() < 1) invalid(causes, "spec.minReplicas", least, "must be greater than or equal to 1");
  if (most.integer() == 0)
    required(causes, "spec.maxReplicas", "must be set and greater than 0");
  else if (most.integer() < 0)
    invalid(causes, "spec.maxReplicas", most, "must be greater than or equal to 1");
  if (least && most.integer() < least.integer())
    invalid(causes, "spec.maxReplicas", most.integer(), "must be greater than or equal to `minReplicas`");
  validate_reference(causes, "spec.scaleTargetRef", spec["scaleTargetRef"]);
  std::size_t index = 0;
  bool may_be_zero = false;
  for (auto metric : spec["metrics"]) {
    validate_metric(causes, item("spec.metrics", index++), metric);
    may_be_zero |= metric["type"].text() == "Object" || metric["type"].text() == "External";
  }
  if (least && least.integer() == 0 && !may_be_zero)
    forbidden(causes, "spec.metrics",
              "must specify at least one Object or External metric to support scaling to zero replicas");
  validate_scaling_rules(causes, "spec.behavior.scaleUp", spec["behavior"]["scaleUp"]);
  validate_scaling_rules(causes, "spec.behavior.scaleDown", spec["behavior"]["scaleDown"]);
}

void validate_scale_target(const Value& object, Causes& causes) {
  const auto target = object["spec"]["scaleTargetRef"];
  validate_api_version(causes, "spec.scaleTargetRef", target["apiVersion"].text(),
                       target["kind"].text() == "ReplicationController");
}

/// A target that stays as it is is not judged again.
void validate_scale_target_update(const Value& object, const Value& old, Causes& causes) {
  const auto target = object["spec"]["scaleTargetRef"], before = old["spec"]["scaleTargetRef"];
  if (target["apiVersion"].text() != before["apiVersion"].text() || target["kind"].text() != before["kind"].text())
    validate_scale_target(object, causes);
}

constexpr FieldRule kAutoscalerStatus[] = {{"currentReplicas", is_nonnegative}, {"desiredReplicas", is_nonnegative}};

void validate_autoscaler_status(const Value& object, const Value&, Causes& causes) {
  check_rules(causes, "status", object["status"], kAutoscalerStatus);
}

// --- PodDisruptionBudget ---

constexpr std::string_view kEvictionPolicies[] = {"AlwaysAllow", "IfHealthyBudget"};
constexpr FieldRule kBudgetRules[] = {{"spec.selector", is_selector},
                                      choice_of("spec.unhealthyPodEvictionPolicy", kEvictionPolicies)};

void validate_budget(const Value& object, Causes& causes) {
  const auto spec = object["spec"];
  if (spec.has("minAvailable") && spec.has("maxUnavailable"))
    invalid(causes, "spec", spec, "minAvailable and maxUnavailable cannot be both set");
  for (auto field : {"minAvailable", "maxUnavailable"}) {
    if (!spec.has(field)) continue;
    validate_int_or_percent(causes, child("spec", field), spec[field]);
    validate_at_most_all(causes, child("spec", field), spec[field]);
  }
  check_rules(causes, "", object, kBudgetRules);
}

constexpr FieldRule kBudgetStatus[] = {{"disruptionsAllowed", is_nonnegative},
                                       {"currentHealthy", is_nonnegative},
                                       {"desiredHealthy", is_nonnegative},
                                       {"expectedPods", is_nonnegative}};

void validate_budget_status(const Value& object, const Value&, Causes& causes) {
  validate_conditions(causes, "status.conditions", object["status"]["conditions"]);
  check_rules(causes, "status", object["status"], kBudgetStatus);
}

constexpr KindFacts kAutoscalingKinds[] = {
    {"policy", "poddisruptionbudgets", nullptr, kGeneration | kUpdateNeedsVersion, NameRule::path_segment,
     validate_budget, nullptr, validate_budget_status},
    {"autoscaling", "horizontalpodautoscalers", default_autoscaler, 0, NameRule::dns_subdomain, validate_autoscaler,
     validate_scale_target_update, validate_autoscaler_status, validate_scale_target}};

}  // namespace

std::vector<Strategy> autoscaling_strategies() {
  std::vector<Strategy> rows;
  for (const auto& facts : kAutoscalingKinds) rows.push_back(row_of(facts));
  return rows;
}

}  // namespace sublet::apiserver
