#include <optional>

#include "apiserver/admission/plugins.h"
#include "apiserver/strategies/priority_classes.h"

namespace sublet::apiserver {
namespace {

using schema::Document;
using schema::Value;

constexpr std::string_view kPriorityClasses = "priorityclasses.scheduling.k8s.io";

struct Resolved {
  std::string class_name;
  std::int64_t value = 0;
  std::string preemption = "PreemptLowerPriority";
};

/// The class marked globalDefault; of several the one with the lowest value, as upstream decides.
std::optional<Document> default_priority_class(const WriteContext& context) {
  std::optional<Document> best;
  context.pending.scan(std::string(kPriorityClasses) + "/", {}, [&](const store::ObjectPtr& stored) {
    auto document = Document::parse_json(stored->json());
    if (!document || !(*document)["globalDefault"].boolean()) return true;
    if (!best || (*document)["value"].integer() < (*best)["value"].integer()) best = std::move(*document);
    return true;
  });
  return best;
}

Resolved from_class(const Value& priority_class) {
  return {priority_class["metadata"]["name"].string(), priority_class["value"].integer(),
          priority_class["preemptionPolicy"].string("PreemptLowerPriority")};
}

std::optional<Resolved> resolve(const WriteContext& context, const std::string& name) {
  if (name.empty()) {
    auto found = default_priority_class(context);
    return found ? from_class(found->root()) : Resolved{};
  }
  if (auto found = context.read(kPriorityClasses, {}, name)) return from_class(found->root());
  for (const auto& known : kSystemPriorityClasses)
    if (known.name == name) return Resolved{name, known.value};
  return std::nullopt;
}

Outcome keep_on_update(Value spec, const Value& old_spec) {
  for (auto field : {"priority", "preemptionPolicy"})
    if (!spec.has(field) && old_spec.has(field)) spec.put(field, old_spec[field]);
  return {};
}

// Resolves the class of a PodGroup as that of a pod, without the preemption policy.
Outcome priority_of_group(const Attempt& attempt) {
  auto spec = attempt.spec();
  const auto name = spec["priorityClassName"].string();
  const auto resolved = resolve(attempt.context, name);
  if (!resolved) return attempt.forbid("no PriorityClass with name " + name + " was found");
  const auto wish = spec["priority"];
  if (wish && wish.integer() != resolved->value)
    return attempt.forbid("priority set in the pod group (" + std::to_string(wish.integer()) +
                          ") must match the priority computed (" + std::to_string(resolved->value) +
                          ") based on the priority class set in the spec");
  if (!resolved->class_name.empty()) spec.put("priorityClassName", resolved->class_name);
  spec.put("priority", resolved->value);
  return {};
}

}  // namespace

Outcome priority(const Attempt& attempt) {
  if (attempt.context.resource.resource == "podgroups") return priority_of_group(attempt);
  auto spec = attempt.spec();
  if (attempt.verb == WriteVerb::update) return keep_on_update(spec, attempt.old["spec"]);
  auto name = spec["priorityClassName"].string();
  auto resolved = resolve(attempt.context, name);
  if (!resolved) return attempt.forbid("no PriorityClass with name " + name + " was found");
  auto wish = spec["priority"];
  if (wish && wish.integer() != resolved->value)
    return attempt.forbid("the integer value of priority (" + std::to_string(wish.integer()) +
                          ") must not be provided in pod spec; priority admission controller computed " +
                          std::to_string(resolved->value) + " from the given PriorityClass name");
  auto policy = spec["preemptionPolicy"].string();
  if (!policy.empty() && policy != resolved->preemption)
    return attempt.forbid("the string value of PreemptionPolicy (" + policy +
                          ") must not be provided in pod spec; priority admission controller computed " +
                          resolved->preemption + " from the given PriorityClass name");
  if (!resolved->class_name.empty()) spec.put("priorityClassName", resolved->class_name);
  spec.put("priority", resolved->value);
  spec.put("preemptionPolicy", resolved->preemption);
  return {};
}

Outcome single_default_priority_class(const Attempt& attempt) {
  if (!attempt.object["globalDefault"].boolean()) return {};
  auto found = default_priority_class(attempt.context);
  if (!found) return {};
  auto name = (*found)["metadata"]["name"].string();
  if (attempt.verb == WriteVerb::update && name == attempt.name()) return {};
  return attempt.forbid("PriorityClass " + name + " is already marked as default. Only one default can exist");
}

}  // namespace sublet::apiserver
