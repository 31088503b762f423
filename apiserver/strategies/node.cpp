#include <algorithm>
#include <iterator>
#include <set>

#include "apiserver/strategies/rows.h"
#include "apiserver/validation/field_rules.h"
#include "apiserver/validation/names.h"
#include "apiserver/validation/resources.h"

namespace sublet::apiserver {
namespace {

using schema::Value;

/// The old field for one range and the new one for several say the same; the old one wins.
void copy_pod_cidr(Value spec) {
  const auto one = spec["podCIDR"].string();
  const auto many = spec["podCIDRs"];
  if (!one.empty() && (many.empty() || many.at(0).text() != one)) {
    auto list = spec.array("podCIDRs");
    list.clear();
    list.push(one);
  } else if (one.empty() && !many.empty()) {
    spec.put("podCIDR", many.at(0).text());
  }
}

/// What was once set here has no effect any more and is not kept.
void drop_old_fields(Value object) {
  if (auto spec = object["spec"]; spec.is_object()) spec.erase("configSource");
  if (auto status = object["status"]; status.is_object()) status.erase("config");
}

void default_node(Value object) {
  if (auto spec = object["spec"]) copy_pod_cidr(spec);
  auto status = object["status"];
  if (status && status["allocatable"].missing() && status.has("capacity"))
    status.put("allocatable", status["capacity"]);
}

/// A taint as upstream's messages show it.
std::string taint_text(const Value& taint) {
  std::string text;
  for (auto [name, field] : {std::pair{"Key", "key"}, {"Value", "value"}, {"Effect", "effect"}})
    text += (text.empty() ? "{\"" : ",\"") + std::string(name) + "\":" + BadValue(taint[field].text()).text();
  return text + ",\"TimeAdded\":null}";
}

void validate_taints(Causes& causes, const std::string& path, const Value& taints) {
  std::set<std::string> seen;
  std::size_t index = 0;
  for (auto taint : taints) {
    std::string at = item(path, index++);
    invalid_each(causes, child(at, "key"), taint["key"].text(), qualified_name(taint["key"].text()));
    invalid_each(causes, child(at, "value"), taint["value"].text(), label_value(taint["value"].text()));
    constexpr static std::string_view kEffects[] = {"NoSchedule", "PreferNoSchedule", "NoExecute"};
    const auto effect = taint["effect"].text();
    if (effect.empty())
      required(causes, child(at, "effect"));
    else if (std::ranges::find(kEffects, effect) == std::end(kEffects))
      not_supported(causes, child(at, "effect"), effect, kEffects);
    if (!seen.insert(taint["effect"].string() + "/" + taint["key"].string()).second)
      duplicate(causes, at, BadValue::raw(taint_text(taint)), "taints must be unique by key and effect pair");
  }
}

void validate_pod_cidrs(Causes& causes, const Value& ranges) {
  bool v4 = false, v6 = false;
  std::size_t index = 0;
  std::string unreadable;
  for (auto range : ranges) {
    const auto text = range.text();
    const auto messages = cidr(text);
    if (unreadable.empty() && !messages.empty() && messages.front().starts_with("must be a valid"))
      unreadable = "Internal error: invalid PodCIDRs. failed to check with dual stack with error:invalid CIDR[" +
                   std::to_string(index) + "]: <nil> (invalid CIDR address: " + std::string(text) + ")";
    invalid_each(causes, item("spec.podCIDRs", index++), text, messages);
    (text.find(':') == std::string_view::npos ? v4 : v6) = true;
  }
  if (ranges.size() > 1 && !unreadable.empty()) causes.push_back({"InternalError", unreadable, "spec.podCIDRs"});
  if (ranges.size() > 2 || (ranges.size() == 2 && (!(v4 && v6) || !unreadable.empty())))
    invalid(causes, "spec.podCIDRs", ranges, "may specify no more than one CIDR for each IP family");
}

/// "MyFeature/mySubFeature".
bool is_feature(std::string_view name) {
  bool first = true, inside = false;
  for (const char c : name) {
    const bool upper = c >= 'A' && c <= 'Z', letter = upper || (c >= 'a' && c <= 'z'), digit = c >= '0' && c <= '9';
    if (c == '/' && inside)
      first = inside = false;
    else if (inside ? !letter && !digit : first ? !upper : !letter)
      return false;
    else
      inside = true;
  }
  return inside;
}

void validate_features(Causes& causes, const Value& features) {
  constexpr std::size_t kNameMax = 253;
  std::size_t index = 0;
  std::string_view before;
  for (auto feature : features) {
    const auto at = item("status.declaredFeatures", index);
    const auto name = feature.text();
    const auto what = "invalid feature name " + BadValue(name).text() + ": must ";
    if (name.size() > kNameMax)
      invalid(causes, at, name, what + "be no more than " + std::to_string(kNameMax) + " characters");
    else if (!is_feature(name))
      invalid(causes, at, name,
              what +
                  "start with an UpperCamelCase segment, with subsequent segments separated by '/' (e.g., MyFeature "
                  "or MyFeature/mySubFeature), and contain only alphanumeric characters and slashes");
    if (index > 0 && name == before) duplicate(causes, at, name);
    if (index > 0 && name < before) invalid(causes, at, name, "list must be sorted alphabetically");
    before = name;
    ++index;
  }
}

/// A note of old to schedulers, in JSON.
void validate_avoided(Causes& causes, const Value& annotations) {
  constexpr std::string_view kAvoid = "scheduler.alpha.kubernetes.io/preferAvoidPods";
  const auto text = annotations[kAvoid].text();
  if (text.empty()) return;
  const auto avoided = schema::Document::parse_json(text);
  if (!avoided || !avoided->root().is_object())
    return invalid(causes, "metadata.annotations.AvoidPods", kAvoid, "is no JSON of AvoidPods");
  const auto at = child("metadata.annotations", kAvoid);
  std::size_t index = 0;
  for (auto entry : avoided->root()["preferAvoidPods"]) {
    const auto signature = child(item(at, index++), "PodSignature");
    const auto controller = entry["podSignature"]["podController"];
    if (!controller)
      required(causes, signature);
    else if (!controller["controller"].boolean())
      invalid(causes, child(signature, "PodController.Controller"), BadValue::raw("false"),
              "must point to a controller");
  }
}

void validate_node(const Value& object, Causes& causes) {
  validate_avoided(causes, object["metadata"]["annotations"]);
  validate_features(causes, object["status"]["declaredFeatures"]);
  // As that of the taints, this path is upstream's.
  if (const auto swap = object["status"]["nodeInfo"]["swap"]["capacity"])
    if (swap.integer() <= 0) invalid(causes, "metadata.nodeSwapStatus.capacity", swap, "must be greater than zero");
  validate_pod_cidrs(causes, object["spec"]["podCIDRs"]);
  // The path is upstream's: taints are reported below metadata.
  validate_taints(causes, "metadata.taints", object["spec"]["taints"]);
  for (auto list : {"capacity", "allocatable"})
    for (auto quantity : object["status"][list])
      validate_resource_quantity(causes, child(child("status", list), quantity.key()), quantity.key(), quantity);
}

void validate_node_update(const Value& object, const Value& old, Causes& causes) {
  auto spec = object["spec"], old_spec = old["spec"];
  if (spec["externalID"].text() != old_spec["externalID"].text())
    forbidden(causes, "spec.externalID", "may not be updated");
  if (!old_spec["podCIDRs"].empty() && !semantically_equal(spec["podCIDRs"], old_spec["podCIDRs"]))
    forbidden(causes, "spec.podCIDRs", "node updates may not change podCIDR except from \"\" to valid");
  if (!old_spec["providerID"].text().empty() && spec["providerID"].text() != old_spec["providerID"].text())
    forbidden(causes, "spec.providerID", "node updates may not change providerID except from \"\" to valid");
}

/// Nodes are created with their status: the kubelet registers itself in one request.
Outcome prepare_node_create(WriteContext&, Value object) {
  drop_old_fields(object);
  return {};
}
Outcome prepare_node_update(WriteContext& context, Value object, const Value& old) {
  drop_old_fields(object);
  return keep_status(context, object, old);
}
Outcome prepare_node_status(WriteContext& context, Value object, const Value& old) {
  drop_old_fields(object);
  return keep_spec(context, object, old);
}

}  // namespace

Strategy node_strategy() {
  Strategy row;
  row.resource = "nodes";
  row.defaults = default_node;
  row.prepare_create = prepare_node_create;
  row.prepare_update = prepare_node_update;
  row.prepare_status_update = prepare_node_status;
  row.validate = validate_node;
  row.validate_update = validate_node_update;
  row.selectable_fields = {{"spec.unschedulable", "spec.unschedulable", "false"}};
  return row;
}

}  // namespace sublet::apiserver
