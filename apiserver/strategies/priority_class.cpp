#include "apiserver/strategies/priority_classes.h"
#include "apiserver/strategies/rows.h"
#include "apiserver/validation/field_errors.h"

namespace sublet::apiserver {
namespace {

using schema::Value;

constexpr std::string_view kSystemPrefix = "system-";
constexpr std::int64_t kUserMax = 1'000'000'000;

void default_preemption_policy(Value object) { default_text(object, "preemptionPolicy", "PreemptLowerPriority"); }

std::string why_not_system(const Value& object) {
  auto name = object["metadata"]["name"].string();
  for (const auto& known : kSystemPriorityClasses) {
    if (known.name != name) continue;
    if (object["value"].integer() != known.value)
      return "value of " + name + " PriorityClass must be " + std::to_string(known.value);
    return object["globalDefault"].boolean() ? "globalDefault of " + name + " PriorityClass must be false" : "";
  }
  return name + " is not a known system priority class";
}

void validate_priority_class_create(const Value& object, Causes& causes) {
  validate_choice(causes, "", object, {"preemptionPolicy", {"PreemptLowerPriority", "Never"}});
  if (object["metadata"]["name"].text().starts_with(kSystemPrefix)) {
    auto why = why_not_system(object);
    if (!why.empty())
      forbidden(causes, "metadata.name",
                "priority class names with 'system-' prefix are reserved for system use only. error: " + why);
  } else if (object["value"].integer() > kUserMax) {
    forbidden(causes, "value", "maximum allowed value of a user defined priority is " + std::to_string(kUserMax));
  }
}

void validate_priority_class_update(const Value& object, const Value& old, Causes& causes) {
  if (object["value"].integer() != old["value"].integer())
    forbidden(causes, "value", "may not be changed in an update.");
  immutable(causes, "preemptionPolicy", object["preemptionPolicy"], old["preemptionPolicy"]);
}

/// Upstream numbers the first generation and counts no further.
Outcome prepare_priority_class_create(WriteContext&, Value object) {
  object.object("metadata").put("generation", 1);
  return {};
}

}  // namespace

Strategy priority_class_strategy() {
  Strategy row;
  row.group = "scheduling.k8s.io";
  row.resource = "priorityclasses";
  row.prepare_create = prepare_priority_class_create;
  row.defaults = default_preemption_policy;
  row.validate_create = validate_priority_class_create;
  row.validate_update = validate_priority_class_update;
  return row;
}

}  // namespace sublet::apiserver
