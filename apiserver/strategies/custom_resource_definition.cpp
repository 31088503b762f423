#include <algorithm>
#include <cctype>
#include <optional>

#include "apiserver/strategies/rows.h"
#include "apiserver/structural/check_definition.h"
#include "apiserver/structural/definition.h"

namespace sublet::apiserver {
namespace {

using schema::Value;

std::optional<std::string_view> storage_version(const Value& object) {
  for (const Value version : object["spec"]["versions"])
    if (version["storage"].boolean()) return version["name"].text();  // even one without a name
  return std::nullopt;
}

// Every version that objects may be stored in stays listed.
void note_storage_version(Value object) {
  const auto stored = storage_version(object);
  if (!stored) return;
  Value list = object.object("status").array("storedVersions");
  for (const Value known : list)
    if (known.text() == *stored) return;
  list.push(*stored);
}

void default_definition(Value object) {
  Value spec = object.object("spec");
  Value names = spec.object("names");
  const std::string kind = names["kind"].string();
  if (names["singular"].text().empty() && !kind.empty()) {
    std::string lower = kind;
    std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    names.put("singular", lower);
  }
  if (names["listKind"].text().empty() && !kind.empty()) names.put("listKind", kind + "List");
  if (!spec["conversion"].is_object()) spec.object("conversion").put("strategy", "None");
  if (Value service = spec["conversion"]["webhook"]["clientConfig"]["service"]; service && !service.has("port"))
    service.put("port", 443);
  if (object["status"]["storedVersions"].empty()) note_storage_version(object);
}

void warn_of_formats(WriteContext& context, const Value& object, const Value& old);

Outcome prepare_definition_create(WriteContext& context, Value object) {
  object.object("status").clear();
  note_storage_version(object);
  warn_of_formats(context, object, Value());
  return {};
}

Outcome prepare_definition_update(WriteContext& context, Value object, const Value& old) {
  if (auto kept = keep_status(context, object, old); !kept) return kept;
  note_storage_version(object);
  warn_of_formats(context, object, old);
  return {};
}

// The first DELETE only marks it: the kind's objects go first.
bool holds_definition(const Value& object) { return !object["metadata"].has("deletionTimestamp"); }

void put_true_condition(Value object, std::string_view type, std::string_view reason, std::string_view message,
                        std::string_view time) {
  Value list = object.object("status").array("conditions");
  Value condition;
  for (const Value known : list)
    if (known["type"].text() == type) condition = known;
  if (!condition) condition = list.push_object();
  condition.put("type", type);
  condition.put("status", "True");
  condition.put("lastTransitionTime", time);
  condition.put("reason", reason);
  condition.put("message", message);
}

void mark_definition_deleted(Value object) {
  Value meta = object["metadata"];
  Value finalizers = meta.array("finalizers");
  for (const Value finalizer : finalizers)
    if (finalizer.text() == kCleanupFinalizer) return;
  finalizers.push(kCleanupFinalizer);
  put_true_condition(object, "Terminating", "InstanceDeletionPending",
                     "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon",
                     meta["deletionTimestamp"].text());
}

void warn_of_formats(WriteContext& context, const Value& object, const Value& old) {
  const auto before = old ? unrecognized_formats(old) : std::vector<std::string>();
  for (const auto& format : unrecognized_formats(object))
    if (std::ranges::find(before, format) == before.end())
      context.warnings.push_back("unrecognized format \"" + format + "\"");
}

void validate_definition_create(const Value& object, std::vector<Cause>& causes) {
  check_definition(object, Value(), causes);
}

void validate_definition_update(const Value& object, const Value& old, std::vector<Cause>& causes) {
  check_definition(object, old, causes);
}

void validate_definition_status(const Value& object, const Value&, std::vector<Cause>& causes) {
  check_accepted_names(object, causes);
}

}  // namespace

Strategy custom_resource_definition_strategy() {
  Strategy row;
  row.group = "apiextensions.k8s.io";
  row.resource = "customresourcedefinitions";
  row.generation = true;
  row.is_slow_to_validate = true;  // a megabyte of schemas, and its rules are compiled
  row.finalizers = FinalizerRule::any_name;
  row.unconditional_update = false;
  row.defaults = default_definition;
  row.prepare_create = prepare_definition_create;
  row.prepare_update = prepare_definition_update;
  row.prepare_status_update = keep_spec;
  row.validate_create = validate_definition_create;
  row.validate_update = validate_definition_update;
  row.validate_status_update = validate_definition_status;
  row.holds_deletion = holds_definition;
  row.mark_deleting = mark_definition_deleted;
  return row;
}

}  // namespace sublet::apiserver
