#include "syncer/translate/translation.h"

#include <algorithm>

#include "syncer/translate/field_table.h"

namespace sublet::syncer {
namespace {

// The type's zero: nothing is asked for, so nothing needs to be refused.
bool zero(const schema::Value& value) {
  switch (value.kind()) {
    case schema::NodeKind::null:
      return true;
    case schema::NodeKind::boolean:
      return !value.boolean();
    case schema::NodeKind::integer:
      return value.integer() == 0;
    case schema::NodeKind::string:
      return value.text().empty();
    case schema::NodeKind::array:
      return value.empty();
    case schema::NodeKind::object:
    case schema::NodeKind::floating:
      return false;
  }
  return false;
}

// Extends a path for one scope.
class PathScope {
 public:
  PathScope(std::string& path, const std::string& step) : path_(path), size_(path.size()) { path_ += step; }
  ~PathScope() { path_.resize(size_); }

 private:
  std::string& path_;
  std::size_t size_;
};

}  // namespace

Translation::Translation(const TranslateContext& context, const schema::Value& tenant_object, Operation operation)
    : context_(context),
      tenant_(tenant_object),
      tenant_name_(tenant_object.path("metadata.name").text()),
      tenant_namespace_(tenant_object.path("metadata.namespace").text()),
      operation_(operation) {}

void Translation::deny(std::string message) { causes.push_back({"FieldValueForbidden", std::move(message), path_}); }

void Translation::warn(std::string message) { warnings.push_back(path_ + ": " + std::move(message)); }

void Translation::refer(std::string_view kind, std::string_view tenant_name, bool optional) {
  const auto same = std::find_if(references.begin(), references.end(), [&](const Reference& reference) {
    return reference.kind == kind && reference.tenant_name == tenant_name;
  });
  if (same == references.end())
    references.push_back({std::string(kind), std::string(tenant_name), optional});
  else
    same->optional = same->optional && optional;
}

std::string Translation::host_name_of(std::string_view tenant_name) const {
  return host_name(tenant_name, tenant_namespace_, context_.virtual_cluster);
}

std::string Translation::carry_annotation(std::string_view key, std::string value) {
  const auto same = std::find_if(carried_annotations.begin(), carried_annotations.end(),
                                 [&](const auto& carried) { return carried.first == key; });
  if (same == carried_annotations.end()) carried_annotations.emplace_back(key, std::move(value));
  return std::string(key);
}

void Translation::walk(schema::Value value, std::string_view type) {
  if (!value.is_object()) return;
  // Rows may erase the member they are called for: look at a copy of the list of members.
  std::vector<schema::Value> members;
  members.reserve(value.size());
  for (const schema::Value member : value) members.push_back(member);
  for (const schema::Value member : members) apply(value, member, type);
}

void Translation::apply(schema::Value parent, schema::Value field, std::string_view type) {
  const std::string name(field.key());
  const PathScope scope(path_, path_.empty() ? name : "." + name);
  const TypeRows* type_rows = rows_of(type);
  const FieldRow* row = nullptr;
  if (type_rows)
    for (const FieldRow& candidate : type_rows->rows)
      if (candidate.field == name) row = &candidate;
  if (row == nullptr)
    return deny(
        "this field is not known to sublet's border, so it cannot cross to the host; remove it, or use a newer sublet");
  switch (row->action) {
    case Action::copy:
      return;
    case Action::walk:
      return walk_each(field, row->detail);
    case Action::drop:
      parent.erase(name);
      return;
    case Action::warn:
      if (!zero(field)) warn(std::string(row->detail));
      parent.erase(name);
      return;
    case Action::deny:
      if (!zero(field)) deny(std::string(row->detail));
      parent.erase(name);
      return;
    case Action::rewrite:
      return row->function(*this, parent, field);
  }
}

void Translation::walk_each(schema::Value field, std::string_view type) {
  if (!field.is_array()) return walk(field, type);
  std::size_t index = 0;
  for (const schema::Value item : field) {
    const PathScope scope(path_, "[" + std::to_string(index++) + "]");
    walk(item, type);
  }
}

}  // namespace sublet::syncer
