#include "apiserver/structural/prune.h"

#include <algorithm>

#include "apiserver/structural/schema.h"
#include "sublet/schema/engine.h"
#include "sublet/schema/registry.h"

namespace sublet::apiserver {
namespace {

using schema::Value;

schema::Type object_meta() {
  static const schema::Type type =
      schema::Registry::builtin()->find_type("io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta");
  return type;
}

/// The position of a pass; the path's text is only made for unknown fields.
struct PruneStep {
  const PruneStep* parent = nullptr;
  std::string_view key;
  std::int64_t index = -1;
};

void append_path(std::string& out, const PruneStep* step) {
  if (!step) return;
  append_path(out, step->parent);
  if (step->index >= 0) {
    out += '[' + std::to_string(step->index) + ']';
    return;
  }
  if (!out.empty()) out += '.';
  out += step->key;
}

class Pruner {
 public:
  explicit Pruner(std::vector<std::string>* unknown) : unknown_(unknown) {}

  void resource(Value value, const Schema& schema) { object(value, schema, true, nullptr); }

  /// `schema` null: nothing is known of the value, so it may hold nothing.
  void value(Value value, const Schema* schema, const PruneStep* at) {
    if (schema && schema->preserve) return skip(value, *schema, at);
    if (value.is_array()) {
      std::int64_t index = 0;
      for (const Value item : value) {
        const PruneStep here{at, {}, index++};
        this->value(item, schema ? schema->items : nullptr, &here);
      }
    } else if (value.is_object()) {
      if (schema) return object(value, *schema, schema->embedded, at);
      for (const Value member : value) note(member.key(), at);
      value.clear();
    }
  }

 private:
  void object(Value value, const Schema& schema, bool resource, const PruneStep* at) {
    if (schema.preserve) return skip_object(value, schema, resource, at);
    bool strangers = false;
    for (const Value member : value) {
      if (resource && is_type_or_object_meta(member.key())) {
        embedded_meta(member, at);
        continue;
      }
      const PruneStep here{at, member.key(), -1};
      if (const Schema* known = schema.member(member.key()))
        this->value(member, known, &here);
      else if (schema.additional_any)
        this->value(member, nullptr, &here);
      else
        strangers = true;
    }
    if (!strangers) return;
    value.retain([&](const Value& member) {
      if (resource && is_type_or_object_meta(member.key())) return true;
      if (schema.member(member.key()) || schema.additional_any) return true;
      if (at || !is_type_or_object_meta(member.key())) note(member.key(), at);
      return false;
    });
  }

  // Unknown fields stay, but what is known below is pruned again.
  void skip(Value value, const Schema& schema, const PruneStep* at) {
    if (value.is_object()) return skip_object(value, schema, schema.embedded, at);
    std::int64_t index = 0;
    for (const Value item : value) {
      const PruneStep here{at, {}, index++};
      if (schema.items) skip(item, *schema.items, &here);
    }
  }

  void skip_object(Value value, const Schema& schema, bool resource, const PruneStep* at) {
    for (const Value member : value) {
      if (resource && is_type_or_object_meta(member.key())) {
        embedded_meta(member, at);
        continue;
      }
      const PruneStep here{at, member.key(), -1};
      if (const Schema* known = schema.member(member.key())) this->value(member, known, &here);
    }
  }

  // The root's has its form already.
  void embedded_meta(Value member, const PruneStep* at) {
    if (!at || member.key() != "metadata" || !member.is_object()) return;
    schema::Document formed = schema::Document::copy_of(member);
    schema::DecodeNotes notes;
    if (!schema::conform(formed.root(), object_meta(), &notes)) return;  // validation will say what is wrong
    member.set(formed.root());
    const PruneStep here{at, "metadata", -1};
    for (const auto& field : notes.unknown_fields) note(field, &here);
  }

  void note(std::string_view key, const PruneStep* at) {
    if (!unknown_) return;
    std::string path;
    append_path(path, at);
    if (!path.empty()) path += '.';
    unknown_->push_back(path.append(key));
  }

  std::vector<std::string>* unknown_;
};

bool defaultless_null(const Value& value, const Schema* schema) {
  return value.is_null() && schema && !schema->nullable && !schema->default_value;
}

void fill_defaults(Value value, const Schema& schema) {
  if (value.is_array()) {
    if (!schema.items) return;
    for (Value item : value) {
      if (item.is_null() && !schema.items->nullable && schema.items->default_value)
        item.set(schema.items->default_value);
      fill_defaults(item, *schema.items);
    }
    return;
  }
  if (!value.is_object()) return;
  if (schema.below & Schema::kDefaults)
    for (const Property& property : schema.properties) {
      if (!property.schema->default_value) continue;
      const Value present = value[property.name];
      if (!present || (present.is_null() && !property.schema->nullable))
        value.put(property.name, property.schema->default_value);
    }
  for (Value member : value) {
    const Schema* known = schema.member(member.key());
    if (!known) continue;
    if (member.is_null() && !known->nullable && known->default_value) member.set(known->default_value);
    fill_defaults(member, *known);
  }
}

}  // namespace

void prune(Value object, const Schema& schema, Root root, std::vector<std::string>* unknown) {
  Pruner pruner(unknown);
  if (root == Root::resource)
    pruner.resource(object, schema);
  else
    pruner.value(object, &schema, nullptr);
  if (unknown) std::ranges::sort(*unknown);
}

void drop_nulls(Value object, const Schema& schema) {
  if (object.is_array() && schema.items)
    for (const Value item : object) drop_nulls(item, *schema.items);
  if (!object.is_object()) return;
  bool nulls = false;
  for (const Value member : object) {
    const Schema* known = schema.member(member.key());
    if (!known) continue;
    nulls = nulls || defaultless_null(member, known);
    drop_nulls(member, *known);
  }
  if (nulls) object.retain([&](const Value& member) { return !defaultless_null(member, schema.member(member.key())); });
}

void apply_schema_defaults(Value object, const Schema& schema) { fill_defaults(object, schema); }

}  // namespace sublet::apiserver
