#include "apiserver/structural/merge_schema.h"

#include <algorithm>
#include <unordered_map>

#include "apiserver/structural/schema.h"
#include "sublet/schema/registry.h"

namespace sublet::apiserver {
namespace {

using patches::MergeField;
using patches::MergeList;
using patches::MergeMap;
using patches::MergeScalar;
using patches::MergeType;

MergeScalar scalar_of(JsonType type) {
  switch (type) {
    case JsonType::string:
      return MergeScalar::string;
    case JsonType::boolean:
      return MergeScalar::boolean;
    case JsonType::integer:
    case JsonType::number:
      return MergeScalar::numeric;
    default:
      return MergeScalar::untyped;
  }
}

}  // namespace

/// One type per node: equal schemas share theirs.
class MergeSchema::Maker {
 public:
  const MergeType& root(const Schema& schema) {
    MergeType& made = keep();
    made.map = std::make_unique<MergeMap>();
    for (const Property& property : schema.properties)
      if (!is_type_or_object_meta(property.name)) add(*made.map, property);
    made.map->fields.push_back({"apiVersion", &text(), {}});
    made.map->fields.push_back({"kind", &text(), {}});
    made.map->fields.push_back({"metadata", &object_meta(), {}});
    finish(*made.map, schema);
    return made;
  }

 private:
  MergeType& keep() { return *made_.emplace_back(std::make_unique<MergeType>()); }
  const MergeType& text() {
    if (!text_) {
      text_ = &keep();
      text_->scalar = MergeScalar::string;
    }
    return *text_;
  }
  const MergeType& object_meta() {
    const auto& kinds = schema::Registry::builtin();
    return kinds->part<patches::MergeTypes>().of(kinds->find_type("io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"));
  }

  void add(MergeMap& map, const Property& property) {
    map.fields.push_back({std::string(property.name), &node(*property.schema),
                          property.schema->default_value ? property.schema->default_value.to_json() : std::string()});
  }

  void finish(MergeMap& map, const Schema& schema) {
    std::ranges::sort(map.fields, {}, &MergeField::name);
    if (schema.additional)
      map.other = &node(*schema.additional);
    else if (schema.preserve || schema.additional_any)
      map.other = &patches::deduced_type();
  }

  const MergeType& node(const Schema& schema) {
    if (const auto known = known_.find(&schema); known != known_.end()) return *known->second;
    return *(known_[&schema] = &make(schema));
  }

  const MergeType& make(const Schema& schema) {
    switch (schema.type) {
      case JsonType::object:
        return object(schema);
      case JsonType::array: {
        MergeType& made = keep();
        made.list = std::make_unique<MergeList>();
        made.list->atomic = schema.list_type != schema::ListType::set && schema.list_type != schema::ListType::map;
        for (const auto key : schema.list_map_keys) made.list->keys.emplace_back(key);
        made.list->item = schema.items ? &node(*schema.items) : &patches::deduced_type();
        return made;
      }
      case JsonType::any:
        return schema.preserve ? patches::deduced_type() : patches::untyped_type();
      default: {
        MergeType& made = keep();
        made.scalar = scalar_of(schema.type);
        return made;
      }
    }
  }

  const MergeType& object(const Schema& schema) {
    if (schema.properties.empty() && !schema.additional && schema.preserve && schema.map_type == schema::MapType::none)
      return patches::deduced_type();
    MergeType& made = keep();
    made.map = std::make_unique<MergeMap>();
    made.map->atomic = schema.map_type == schema::MapType::atomic;
    for (const Property& property : schema.properties)
      if (!schema.embedded || !is_type_or_object_meta(property.name)) add(*made.map, property);
    if (schema.embedded) {
      made.map->fields.push_back({"apiVersion", &text(), {}});
      made.map->fields.push_back({"kind", &text(), {}});
      made.map->fields.push_back({"metadata", &object_meta(), {}});
    }
    finish(*made.map, schema);
    if (made.map->fields.empty() && !made.map->other) made.map->other = &patches::deduced_type();
    return made;
  }

  std::vector<std::unique_ptr<MergeType>> made_;
  std::unordered_map<const Schema*, const MergeType*> known_;
  MergeType* text_ = nullptr;
};

MergeSchema::MergeSchema(const Schema& root) : maker_(std::make_unique<Maker>()), root_(&maker_->root(root)) {}
MergeSchema::~MergeSchema() = default;

}  // namespace sublet::apiserver
