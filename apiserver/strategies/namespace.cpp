#include "apiserver/strategies/rows.h"
#include "apiserver/validation/names.h"

namespace sublet::apiserver {
namespace {

using schema::Value;

constexpr std::string_view kNameLabel = "kubernetes.io/metadata.name";
constexpr std::string_view kFinalizer = "kubernetes";
constexpr std::string_view kStandardFinalizers[] = {"kubernetes", "orphan", "foregroundDeletion"};

void default_namespace(Value object) {
  auto name = object["metadata"]["name"].string();
  if (!name.empty()) object.object("metadata").object("labels").put(kNameLabel, name);
  default_text(object.object("status"), "phase", "Active");
}

Outcome prepare_namespace_create(WriteContext&, Value object) {
  default_namespace(object);
  auto status = object.object("status");
  status.clear();
  status.put("phase", "Active");
  auto finalizers = object.object("spec").array("finalizers");
  for (auto finalizer : finalizers)
    if (finalizer.text() == kFinalizer) return {};
  finalizers.push(kFinalizer);
  return {};
}

/// The main endpoint changes metadata only; /finalize is the one way to take finalizers out of spec.
Outcome prepare_namespace_update(WriteContext& context, Value object, const Value& old) {
  if (context.subresource != "finalize") copy_field(object, old, "spec");
  copy_field(object, old, "status");
  return {};
}

void validate_namespace(const Value& object, Causes& causes) {
  for (auto finalizer : object["spec"]["finalizers"]) {
    auto name = finalizer.text();
    invalid_each(causes, "spec.finalizers", name, qualified_name(name));
    bool standard = name.find('/') != std::string_view::npos;
    for (auto known : kStandardFinalizers) standard |= name == known;
    if (!standard)
      invalid(causes, "spec.finalizers", name, "name is neither a standard finalizer name nor is it fully qualified");
  }
}

void validate_namespace_status(const Value& object, const Value&, Causes& causes) {
  bool deleting = object["metadata"].has("deletionTimestamp");
  auto phase = object["status"]["phase"].text();
  if (!deleting && phase != "Active")
    invalid(causes, "status.Phase", phase, "may only be 'Active' if `deletionTimestamp` is empty");
  if (deleting && phase != "Terminating")
    invalid(causes, "status.Phase", phase, "may only be 'Terminating' if `deletionTimestamp` is not empty");
}

bool holds_namespace(const Value& object) { return !object["spec"]["finalizers"].empty(); }

void mark_namespace_deleted(Value object) { object.object("status").put("phase", "Terminating"); }

}  // namespace

Strategy namespace_strategy() {
  Strategy row;
  row.resource = "namespaces";
  row.name_rule = NameRule::dns_label;
  row.delete_returns_object = true;
  row.defaults = default_namespace;
  row.prepare_create = prepare_namespace_create;
  row.prepare_update = prepare_namespace_update;
  row.prepare_status_update = keep_spec;
  row.validate = validate_namespace;
  row.validate_status_update = validate_namespace_status;
  row.holds_deletion = holds_namespace;
  row.mark_deleting = mark_namespace_deleted;
  row.selectable_fields = {{"status.phase", "status.phase"}, {"name", "metadata.name"}};
  return row;
}

}  // namespace sublet::apiserver
