#include "apiserver/crd/custom_strategy.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <set>

#include "apiserver/crd/go_type.h"
#include "apiserver/request/members.h"
#include "apiserver/structural/prune.h"
#include "apiserver/structural/validate.h"
#include "apiserver/validation/field_errors.h"

namespace sublet::apiserver {
namespace {

using schema::Value;

/// ".spec.replicas" -> {"spec", "replicas"}.
std::vector<std::string> path_names(std::string_view path) {
  std::vector<std::string> names;
  while (!path.empty()) {
    path.remove_prefix(1);
    const auto dot = std::min(path.find('.'), path.size());
    names.emplace_back(path.substr(0, dot));
    path.remove_prefix(dot);
  }
  return names;
}

std::string shown_value(const Value& value) { return value.is_string() ? value.string() : value.to_json(); }

/// What on the way to `names` is no object, and where; nothing is amiss where the way just ends.
std::optional<std::string> blocked(Value value, const std::vector<std::string>& names) {
  std::string path;
  for (const auto& name : names) {
    path += "." + name;
    if (value.missing()) return std::nullopt;
    if (!value.is_object())
      return path + " accessor error: " + shown_value(value) + " is of the type " + std::string(go_type(value)) +
             ", expected map[string]interface{}";
    value = value[name];
  }
  return std::nullopt;
}

void check_replicas(const Value& object, const std::vector<std::string>& names, const std::string& path,
                    std::vector<Cause>& causes) {
  if (const auto problem = blocked(object, names)) return invalid(causes, path, 0, *problem);
  const Value value = at_path(object, names);
  if (value.missing()) return;
  if (!value.is_integer())
    return invalid(causes, path, 0,
                   path + " accessor error: " + shown_value(value) + " is of the type " + std::string(go_type(value)) +
                       ", expected int64");
  if (value.integer() < 0) return invalid(causes, path, value, "should be a non-negative integer");
  if (value.integer() > std::numeric_limits<std::int32_t>::max())
    invalid(causes, path, value, "should be less than or equal to 2147483647");
}

/// What is allowed, but may meet another writer's finalizer of the same name.
void warn_of_finalizers(WriteContext& context, const Value& object, const Value& old) {
  constexpr std::string_view kStandard[] = {"orphan", "foregroundDeletion", "kubernetes"};
  std::set<std::string> added;
  for (const Value finalizer : object["metadata"]["finalizers"]) added.insert(finalizer.string());
  for (const Value finalizer : old["metadata"]["finalizers"]) added.erase(finalizer.string());
  for (const auto& name : added) {
    const bool plain = name.find('/') == std::string::npos && std::ranges::find(kStandard, name) == std::end(kStandard);
    if (!plain) continue;
    const bool domain = name.find('.') != std::string::npos;
    context.warnings.push_back("metadata.finalizers: \"" + name + "\": prefer a domain-qualified finalizer name " +
                               (domain ? "including a path (/) " : "") +
                               "to avoid accidental conflicts with other finalizer writers");
  }
}

}  // namespace

CustomStrategy::CustomStrategy(CustomKindPtr kind, bool terminating)
    : Strategy(custom_strategy()), kind_(std::move(kind)), terminating_(terminating) {
  unconditional_update = false;
  says_version = kind_->converter() != nullptr;
  defaults = decltype(defaults)::bound<set_defaults>(*this);
  prepare_create = decltype(prepare_create)::bound<on_create>(*this);
  prepare_update = decltype(prepare_update)::bound<on_update>(*this);
  prepare_status_update = decltype(prepare_status_update)::bound<on_status>(*this);
  validate_create = decltype(validate_create)::bound<check_new>(*this);
  validate_update = decltype(validate_update)::bound<check_update>(*this);
  validate_status_update = decltype(validate_status_update)::bound<check_status>(*this);
  judge_update = decltype(judge_update)::bound<judge>(*this);
  scale_paths = decltype(scale_paths)::bound<paths_of>(*this);
  ready = decltype(ready)::bound<is_ready>(*this);
  make_ready = decltype(make_ready)::bound<make_kind_ready>(*this);
  for (const DefinitionVersion& version : kind_->definition().versions) {
    add_scale(version);
    add_selectable(version);
  }
}

void CustomStrategy::add_scale(const DefinitionVersion& version) {
  if (!version.scale) return;
  auto [paths, added] = scales_.try_emplace(version.name);
  paths->second.spec_replicas = path_names(version.scale->spec_replicas);
  paths->second.status_replicas = path_names(version.scale->status_replicas);
  paths->second.selector = path_names(version.scale->selector);
  if (paths->second.selector.empty()) paths->second.selector = {""};  // has none, rather than spec.selector
}

void CustomStrategy::add_selectable(const DefinitionVersion& version) {
  for (const std::string& path : version.selectable_paths) {
    const std::string_view label = std::string_view(path).substr(1);
    const bool known = std::ranges::any_of(selectable_fields, [&](const auto& field) { return field.label == label; });
    if (known) continue;
    texts_.emplace_back(label);
    selectable_fields.push_back({texts_.back(), texts_.back()});
  }
}

bool CustomStrategy::is_ready(const CustomStrategy& self, std::string_view version) {
  return self.kind_->ready(version);
}

void CustomStrategy::make_kind_ready(const CustomStrategy& self, std::string_view version) {
  self.kind_->make_ready(version);
}

const ScalePaths* CustomStrategy::paths_of(const CustomStrategy& self, std::string_view version) {
  const auto found = self.scales_.find(version);
  return found == self.scales_.end() ? nullptr : &found->second;
}

// What is stored and shown has no apiVersion: then it is the stored one.
std::string_view CustomStrategy::version_of(const Value& object) const {
  const auto text = object["apiVersion"].text();
  return text.substr(std::min(text.find('/') + 1, text.size()));
}

void CustomStrategy::set_defaults(const CustomStrategy& self, Value object) {
  apply_schema_defaults(object, self.kind_->schema(self.version_of(object)));
}

Outcome CustomStrategy::on_create(const CustomStrategy& self, WriteContext& context, Value object) {
  if (self.terminating_) {
    Status status;
    status.reason = Reason::method_not_allowed;
    status.message = "create not allowed while custom resource definition is terminating";
    status.group = context.resource.group;
    status.kind = context.resource.resource;
    return fail(std::move(status));
  }
  if (self.kind_->version(self.version_of(object)).has_status) object.erase("status");
  warn_of_finalizers(context, object, Value());
  return {};
}

Outcome CustomStrategy::on_update(const CustomStrategy& self, WriteContext& context, Value object, const Value& old) {
  warn_of_finalizers(context, object, old);
  if (self.kind_->version(self.version_of(object)).has_status) copy_field(object, old, "status");
  return {};
}

Outcome CustomStrategy::on_status(const CustomStrategy&, WriteContext&, Value object, const Value& old) {
  std::vector<std::string> names;
  for (const Value member : object) names.emplace_back(member.key());
  for (const Value member : old) names.emplace_back(member.key());
  for (const auto& name : names)
    if (name != "metadata" && name != "status" && name != "kind" && name != "apiVersion") copy_field(object, old, name);
  // Of the metadata, too, only who owns what may change.
  schema::Document managed = schema::Document::copy_of(object["metadata"]["managedFields"]);
  Value meta = object.object("metadata");
  meta.set(old["metadata"]);
  if (managed.root().is_array())
    meta.put("managedFields", managed.root());
  else
    meta.erase("managedFields");
  return {};
}

void CustomStrategy::check_new(const CustomStrategy& self, const Value& object, std::vector<Cause>& causes) {
  validate_schema(object, Value(), self.kind_->schema(self.version_of(object)), "", causes);
  self.check_scale(object, true, causes);
  const Schema& schema = self.kind_->schema(self.version_of(object));
  validate_embedded(object, schema, Root::value, "", causes);
  validate_lists(object, schema, "", causes);
  std::vector<std::string> warnings;  // of what is unchanged; nothing is
  self.check_rules(object, Value(), causes, warnings);
}

void CustomStrategy::check_update(const CustomStrategy& self, const Value& object, const Value& old,
                                  std::vector<Cause>& causes) {
  const Schema& schema = self.kind_->schema(self.version_of(object));
  validate_schema(object, old, schema, "", causes);
  self.check_scale(object, true, causes);
  validate_embedded(object, schema, Root::value, "", causes);
  std::vector<Cause> before;
  validate_lists(old, schema, "", before);
  if (before.empty()) validate_lists(object, schema, "", causes);
}

void CustomStrategy::check_status(const CustomStrategy& self, const Value& object, const Value& old,
                                  std::vector<Cause>& causes) {
  const Schema& schema = self.kind_->schema(self.version_of(object));
  const Schema* status = schema.property("status");
  if (status && object.has("status")) validate_schema(object["status"], old["status"], *status, "status", causes);
  self.check_scale(object, false, causes);
  std::vector<Cause> now, before;
  validate_lists(object, schema, "", now);
  if (!now.empty()) validate_lists(old, schema, "", before);
  if (before.empty()) std::ranges::move(now, std::back_inserter(causes));
}

void CustomStrategy::judge(const CustomStrategy& self, WriteContext& context, const Value& object, const Value& old,
                           std::vector<Cause>& causes) {
  self.check_rules(object, old, causes, context.warnings);
}

void CustomStrategy::check_rules(const Value& object, const Value& old, std::vector<Cause>& causes,
                                 std::vector<std::string>& warnings) const {
  const Rules* rules = kind_->rules(version_of(object));
  if (!rules) return;
  if (blocks_rules(causes))
    return invalid(causes, std::string(kNoField), BadValue::raw("null"),
                   "some validation rules were not checked because the object was invalid; correct the existing errors "
                   "to complete validation");
  if (old.missing() || old.has("apiVersion")) return rules->check(object, old, causes, warnings);
  schema::Document typed = schema::Document::copy_of(old);  // rules may ask oldSelf for both
  for (const std::string_view name : {"apiVersion", "kind"}) typed.root().put(name, object[name]);
  rules->check(object, typed.root(), causes, warnings);
}

void CustomStrategy::check_scale(const Value& object, bool spec, std::vector<Cause>& causes) const {
  const DefinitionVersion& version = kind_->version(version_of(object));
  const ScalePaths* paths = paths_of(*this, version.name);
  if (!paths) return;
  if (spec) check_replicas(object, paths->spec_replicas, version.scale->spec_replicas, causes);
  check_replicas(object, paths->status_replicas, version.scale->status_replicas, causes);
  const Value selector = version.scale->selector.empty() ? Value() : at_path(object, paths->selector);
  if (selector && !selector.is_string())
    invalid(causes, version.scale->selector, "",
            version.scale->selector + " accessor error: " + shown_value(selector) + " is of the type " +
                std::string(go_type(selector)) + ", expected string");
}

}  // namespace sublet::apiserver
