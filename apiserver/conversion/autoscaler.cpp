#include "apiserver/conversion/autoscaler.h"

#include <cctype>
#include <optional>
#include <span>
#include <string>

namespace sublet::apiserver {
namespace {

using schema::Document;
using schema::Value;

constexpr std::string_view kMetrics = "autoscaling.alpha.kubernetes.io/metrics";
constexpr std::string_view kCurrentMetrics = "autoscaling.alpha.kubernetes.io/current-metrics";
constexpr std::string_view kConditionsAnnotation = "autoscaling.alpha.kubernetes.io/conditions";
constexpr std::string_view kBehavior = "autoscaling.alpha.kubernetes.io/behavior";
constexpr std::string_view kOwnAnnotations[] = {kMetrics,
                                                kCurrentMetrics,
                                                kConditionsAnnotation,
                                                kBehavior,
                                                "autoscaling.alpha.kubernetes.io/scale-down-tolerance",
                                                "autoscaling.alpha.kubernetes.io/scale-up-tolerance"};
constexpr int kCpuDefault = 80;  // percent

/// A member of a v1 metric, and the path where v2 has it. `always`: a quantity that v1 cannot leave out.
struct MetricField {
  std::string_view v1, v2;
  bool always = false;
};
struct Metric {
  std::string_view name;  // the member of a MetricSpec or MetricStatus
  std::span<const MetricField> fields;
};

constexpr MetricField kObjectSource[] = {{"target", "describedObject"},
                                         {"metricName", "metric.name"},
                                         {"targetValue", "target.value", true},
                                         {"selector", "metric.selector"},
                                         {"averageValue", "target.averageValue"}};
constexpr MetricField kPodsSource[] = {{"metricName", "metric.name"},
                                       {"targetAverageValue", "target.averageValue", true},
                                       {"selector", "metric.selector"}};
constexpr MetricField kResourceSource[] = {{"name", "name"},
                                           {"targetAverageUtilization", "target.averageUtilization"},
                                           {"targetAverageValue", "target.averageValue"}};
constexpr MetricField kContainerSource[] = {{"name", "name"},
                                            {"targetAverageUtilization", "target.averageUtilization"},
                                            {"targetAverageValue", "target.averageValue"},
                                            {"container", "container"}};
constexpr MetricField kExternalSource[] = {{"metricName", "metric.name"},
                                           {"metricSelector", "metric.selector"},
                                           {"targetValue", "target.value"},
                                           {"targetAverageValue", "target.averageValue"}};
constexpr Metric kAutoscalerMetricSources[] = {{"object", kObjectSource},
                                               {"pods", kPodsSource},
                                               {"resource", kResourceSource},
                                               {"containerResource", kContainerSource},
                                               {"external", kExternalSource}};

constexpr MetricField kObjectStatus[] = {{"target", "describedObject"},
                                         {"metricName", "metric.name"},
                                         {"currentValue", "current.value", true},
                                         {"selector", "metric.selector"},
                                         {"averageValue", "current.averageValue"}};
constexpr MetricField kPodsStatus[] = {{"metricName", "metric.name"},
                                       {"currentAverageValue", "current.averageValue", true},
                                       {"selector", "metric.selector"}};
constexpr MetricField kResourceStatus[] = {{"name", "name"},
                                           {"currentAverageUtilization", "current.averageUtilization"},
                                           {"currentAverageValue", "current.averageValue", true}};
constexpr MetricField kContainerStatus[] = {{"name", "name"},
                                            {"currentAverageUtilization", "current.averageUtilization"},
                                            {"currentAverageValue", "current.averageValue", true},
                                            {"container", "container"}};
constexpr MetricField kExternalStatus[] = {{"metricName", "metric.name"},
                                           {"metricSelector", "metric.selector"},
                                           {"currentValue", "current.value", true},
                                           {"currentAverageValue", "current.averageValue"}};
constexpr Metric kMetricStatuses[] = {{"object", kObjectStatus},
                                      {"pods", kPodsStatus},
                                      {"resource", kResourceStatus},
                                      {"containerResource", kContainerStatus},
                                      {"external", kExternalStatus}};

// --- metrics ---

void put_path(Value object, std::string_view path, const Value& value) {
  for (auto dot = path.find('.'); dot != std::string_view::npos; dot = path.find('.')) {
    object = object.object(path.substr(0, dot));
    path.remove_prefix(dot + 1);
  }
  object.put(path, value);
}

void append_v1(Value list, const Value& metric, std::span<const Metric> shapes) {
  Value made = list.push_object();
  made.put("type", metric["type"].text());
  for (const Metric& shape : shapes) {
    const Value source = metric[shape.name];
    if (!source.is_object()) continue;
    Value target = made.object(shape.name);
    for (const MetricField& field : shape.fields) {
      if (const Value value = source.path(field.v2); value && !value.is_null())
        target.put(field.v1, value);
      else if (field.always)
        target.put(field.v1, "0");
    }
  }
}

bool is_zero(const Value& quantity) {
  const auto digits = quantity.is_string() ? quantity.string() : quantity.to_json();
  return digits.find_first_of("123456789") == std::string::npos;
}

/// v1 does not say of which type a target is.
void put_target_type(std::string_view metric, Value target) {
  const bool value = target.has("value"), average = target.has("averageValue");
  if (metric == "object") {
    if (average && value && is_zero(target["value"])) target.erase("value");  // v1 could not leave it out
    target.put("type", average ? "AverageValue" : "Value");
  } else if (metric == "external") {
    target.put("type", value ? "Value" : "AverageValue");
  } else if (metric == "pods") {
    target.put("type", "AverageValue");
  } else {
    target.put("type", target.has("averageUtilization") ? "Utilization" : "AverageValue");
  }
}

void append_v2(Value list, const Value& metric, std::span<const Metric> shapes, bool is_source) {
  Value made = list.push_object();
  made.put("type", metric["type"].text());
  for (const Metric& shape : shapes) {
    const Value source = metric[shape.name];
    if (!source.is_object()) continue;
    Value target = made.object(shape.name);
    target.object(is_source ? "target" : "current");
    for (const MetricField& field : shape.fields) {
      if (const Value value = source[field.v1]; value && !value.is_null())
        put_path(target, field.v2, value);
      else if (field.always)
        target.object(is_source ? "target" : "current").put(field.v2.substr(field.v2.find('.') + 1), "0");
    }
    if (is_source) put_target_type(shape.name, target["target"]);
  }
}

bool is_cpu(const Value& metric) {
  return metric["type"].text() == "Resource" && metric["resource"]["name"].text() == "cpu";
}

bool is_cpu_percentage(const Value& metric) {
  return is_cpu(metric) && metric.path("resource.target.averageUtilization").is_integer();
}

void push_cpu_percentage(Value metrics, std::int64_t percent) {
  Value metric = metrics.push_object();
  metric.put("type", "Resource");
  Value resource = metric.object("resource");
  resource.put("name", "cpu");
  Value target = resource.object("target");
  target.put("type", "Utilization");
  target.put("averageUtilization", percent);
}

// --- behavior, which the annotation has in Go's own names ---

constexpr std::string_view kScalings[] = {"scaleUp", "scaleDown"};
constexpr std::string_view kRuleFields[] = {"stabilizationWindowSeconds", "selectPolicy", "policies", "tolerance"};
constexpr std::string_view kPolicyFields[] = {"type", "value", "periodSeconds"};

std::string go_name(std::string_view name) {
  std::string made(name);
  made[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(made[0])));
  return made;
}

/// A member by a name that Go takes in any case.
Value member_of(const Value& object, std::string_view name) {
  for (const Value member : object) {
    const auto key = member.key();
    bool same = key.size() == name.size();
    for (std::size_t i = 0; same && i < name.size(); ++i)
      same = std::tolower(static_cast<unsigned char>(key[i])) == std::tolower(static_cast<unsigned char>(name[i]));
    if (same) return member;
  }
  return {};
}

Document behavior_in_go(const Value& behavior) {
  Document made = Document::object();
  for (const auto scaling : kScalings) {
    const Value rules = behavior[scaling];
    Value out = made.root().put(go_name(scaling), Value());
    if (!rules.is_object()) continue;
    out.make_object();
    for (const auto field : kRuleFields) {
      if (field != "policies" || !rules[field].is_array()) {
        out.put(go_name(field), rules[field]);
        continue;
      }
      Value policies = out.array(go_name(field));
      for (const Value policy : rules[field]) {
        Value item = policies.push_object();
        for (const auto part : kPolicyFields) item.put(go_name(part), policy[part]);
      }
    }
  }
  return made;
}

void put_behavior(Value spec, const Value& in_go) {
  for (const auto scaling : kScalings) {
    const Value rules = member_of(in_go, scaling);
    if (!rules.is_object()) continue;
    Value out = spec.object("behavior").object(scaling);
    for (const auto field : kRuleFields) {
      const Value value = member_of(rules, field);
      if (value.missing() || value.is_null()) continue;
      if (!value.is_array()) {
        out.put(field, value);
        continue;
      }
      Value policies = out.array(field);
      for (const Value policy : value) {
        Value item = policies.push_object();
        for (const auto part : kPolicyFields)
          if (const Value known = member_of(policy, part)) item.put(part, known);
      }
    }
  }
}

// --- annotations ---

void drop_own_annotations(Value object) {
  Value meta = object["metadata"];
  if (!meta["annotations"].is_object()) return;
  for (const auto name : kOwnAnnotations) meta["annotations"].erase(name);
  if (meta["annotations"].empty()) meta.erase("annotations");
}

void annotate(Value object, std::string_view name, const Document& value) {
  object.object("metadata").object("annotations").put(name, value.root().to_json());
}

/// What an annotation holds; nullopt: nothing of that kind, which upstream passes over.
std::optional<Document> annotated(const Value& object, std::string_view name, bool list) {
  const Value text = object["metadata"]["annotations"][name];
  if (!text.is_string()) return std::nullopt;
  auto parsed = Document::parse_json(text.text());
  if (!parsed || (list ? !parsed->root().is_array() : !parsed->root().is_object())) return std::nullopt;
  return std::move(*parsed);
}

Document new_list() {
  Document made;
  made.root().make_array();
  return made;
}

void spec_from_storage(Value object) {
  Value spec = object["spec"];
  if (!spec.is_object()) return;
  Document others = new_list();
  Value percent;
  for (const Value metric : spec["metrics"]) {
    if (!is_cpu_percentage(metric))
      append_v1(others.root(), metric, kAutoscalerMetricSources);
    else if (percent.missing())
      percent = metric.path("resource.target.averageUtilization");
  }
  if (percent) spec.put("targetCPUUtilizationPercentage", percent.integer());
  if (!others.root().empty()) annotate(object, kMetrics, others);
  if (spec["behavior"].is_object()) annotate(object, kBehavior, behavior_in_go(spec["behavior"]));
  spec.erase("metrics");
  spec.erase("behavior");
}

void status_from_storage(Value object) {
  Value status = object["status"];
  if (!status.is_object()) return;
  Document metrics = new_list();
  for (const Value metric : status["currentMetrics"]) {
    append_v1(metrics.root(), metric, kMetricStatuses);
    const Value percent = metric.path("resource.current.averageUtilization");
    if (is_cpu(metric) && percent.is_integer()) status.put("currentCPUUtilizationPercentage", percent.integer());
  }
  if (!metrics.root().empty()) annotate(object, kCurrentMetrics, metrics);
  if (const Value conditions = status["conditions"]; !conditions.empty()) {
    Document list = new_list();
    for (const Value condition : conditions) {
      Value made = list.root().push_object();
      for (const std::string_view name : {"type", "status", "lastTransitionTime", "reason", "message"})
        if (condition.has(name) || name == "lastTransitionTime") made.put(name, condition[name]);
    }
    annotate(object, kConditionsAnnotation, list);
  }
  status.erase("currentMetrics");
  status.erase("conditions");
}

void spec_to_storage(Value object) {
  Value spec = object.object("spec");
  spec.erase("metrics");
  spec.erase("behavior");
  Value metrics = spec.array("metrics");
  if (const auto others = annotated(object, kMetrics, true))
    for (const Value metric : others->root()) append_v2(metrics, metric, kAutoscalerMetricSources, true);
  const Value percent = spec["targetCPUUtilizationPercentage"];
  if (percent.is_integer())
    push_cpu_percentage(metrics, percent.integer());
  else if (metrics.empty())
    push_cpu_percentage(metrics, kCpuDefault);
  spec.erase("targetCPUUtilizationPercentage");
  if (const auto behavior = annotated(object, kBehavior, false)) put_behavior(spec, behavior->root());
}

void status_to_storage(Value object) {
  const auto current = annotated(object, kCurrentMetrics, true);
  const auto conditions = annotated(object, kConditionsAnnotation, true);
  if (!object["status"].is_object() && !current && !conditions) return;
  Value status = object.object("status");
  const Value percent = status["currentCPUUtilizationPercentage"];
  if (current) {
    Value metrics = status.array("currentMetrics");
    for (const Value metric : current->root()) append_v2(metrics, metric, kMetricStatuses, false);
  } else if (percent.is_integer()) {
    Value metric = status.array("currentMetrics").push_object();
    metric.put("type", "Resource");
    Value resource = metric.object("resource");
    resource.put("name", "cpu");
    resource.object("current").put("averageUtilization", percent.integer());
  }
  status.erase("currentCPUUtilizationPercentage");
  if (conditions) status.put("conditions", conditions->root());
}

}  // namespace

void autoscaler_from_storage(Value object) {
  drop_own_annotations(object);
  spec_from_storage(object);
  status_from_storage(object);
}

void autoscaler_to_storage(Value object) {
  spec_to_storage(object);
  status_to_storage(object);
  drop_own_annotations(object);
}

}  // namespace sublet::apiserver
