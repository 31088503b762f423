#include "sublet/patches/merge_type.h"

#include <algorithm>
#include <unordered_map>

#include "sublet/base/mutex.h"

namespace sublet::patches {
namespace {

using schema::Field;
using schema::MapType;
using schema::Scalar;

struct Untyped {
  MergeType atomic, deduced;
  Untyped() {
    for (MergeType* type : {&atomic, &deduced}) {
      type->scalar = MergeScalar::untyped;
      type->list = std::make_unique<MergeList>();
      type->list->item = &atomic;
      type->map = std::make_unique<MergeMap>();
      type->map->other = type;
    }
    atomic.map->atomic = true;
    deduced.map->deduced = true;
  }
};

const Untyped& untyped() {
  static const Untyped types;
  return types;
}

MergeScalar scalar_of(Scalar scalar) {
  switch (scalar) {
    case Scalar::string:
    case Scalar::bytes:
    case Scalar::duration:
      return MergeScalar::string;
    case Scalar::boolean:
      return MergeScalar::boolean;
    case Scalar::int32:
    case Scalar::int64:
    case Scalar::floating:
      return MergeScalar::numeric;
    default:
      return MergeScalar::untyped;
  }
}

/// The types of one value each, for what the schema calls a scalar.
const MergeType& scalar_type(Scalar scalar) {
  static const auto types = [] {
    std::vector<MergeType> made(5);
    for (std::size_t i = 0; i < made.size(); ++i) made[i].scalar = static_cast<MergeScalar>(i);
    return made;
  }();
  switch (scalar) {
    case Scalar::fields_v1:
    case Scalar::json:
    case Scalar::schema_or_array:
    case Scalar::schema_or_bool:
    case Scalar::schema_or_strings:
      return deduced_type();
    case Scalar::raw_extension:
      return untyped_type();
    default:
      return types[static_cast<std::size_t>(scalar_of(scalar))];
  }
}

void set_list_facts(MergeList& list, const Field& field) {
  using schema::ListType;
  using schema::PatchStrategy;
  list.atomic = true;
  if (field.list_type() == ListType::none) {
    const auto strategy = field.patch_strategy();
    list.atomic = strategy != PatchStrategy::merge && strategy != PatchStrategy::merge_retain_keys;
    if (!list.atomic && !field.patch_merge_key().empty()) list.keys.emplace_back(field.patch_merge_key());
    return;
  }
  list.atomic = field.list_type() == ListType::atomic;
  if (field.list_type() != ListType::map) return;
  for (const auto key : field.list_map_keys()) list.keys.emplace_back(key);
}

}  // namespace

const MergeField* MergeMap::find(std::string_view name) const {
  const auto at = std::ranges::lower_bound(fields, name, {},
                                           [](const MergeField& field) -> std::string_view { return field.name; });
  return at == fields.end() || at->name != name ? nullptr : &*at;
}

const MergeType* MergeMap::type_of(std::string_view name) const {
  const MergeField* field = find(name);
  return field ? field->type : other;
}

const MergeType& deduced_type() { return untyped().deduced; }
const MergeType& untyped_type() { return untyped().atomic; }

const MergeType& merge_type_of(const schema::Registry& kinds, const schema::ResourceFacts& facts) {
  if (const auto* root = kinds.entry<MergeRoot>(facts)) return root->type();
  // Kinds come and go; those of the built-in ones stay, once for all snapshots.
  return (facts.custom ? kinds : *schema::Registry::builtin()).part<MergeTypes>().of(facts.type);
}

class MergeTypes::Maker {
 public:
  const MergeType& of(schema::Type type) {
    const MutexLock lock(mutex_);
    const MergeType& made = struct_type(type, false);
    while (!unfinished_.empty()) {  // what is made refers to others: one after the other, not in depth
      const auto [next, target] = unfinished_.back();
      unfinished_.pop_back();
      fill(next, *target);
    }
    return made;
  }

 private:
  /// A struct's type may be said to be one thing where it is used.
  const MergeType& struct_type(schema::Type type, bool atomic) SUBLET_REQUIRES(mutex_) {
    MergeType*& known = (atomic ? atomic_ : granular_)[type.name()];
    if (!known) {
      known = made_.emplace_back(std::make_unique<MergeType>()).get();
      known->map = std::make_unique<MergeMap>();
      known->map->atomic = atomic;
      unfinished_.emplace_back(type, known);
    }
    return *known;
  }

  void fill(schema::Type type, MergeType& target) SUBLET_REQUIRES(mutex_) {
    MergeMap& map = *target.map;
    add_fields(type, map);
    std::ranges::sort(map.fields, {}, &MergeField::name);
    if (type.open() || map.fields.empty()) map.other = &deduced_type();
    map.deduced = map.fields.empty();
  }

  void add_fields(schema::Type type, MergeMap& map) SUBLET_REQUIRES(mutex_) {
    for (std::size_t i = 0; i < type.field_count(); ++i) {
      const Field field = type.field_at(i);
      if (field.inlined())
        add_fields(field.type(), map);
      else
        map.fields.push_back({std::string(field.name()), &field_type(field), default_of(field)});
    }
  }

  /// What upstream's schema says a field is that nobody set: of a required text or number, Go's zero.
  static std::string default_of(const Field& field) {
    if (!field.default_json().empty() || !field.required()) return std::string(field.default_json());
    if (field.shape() != schema::Shape::single) return {};
    switch (field.scalar()) {
      case Scalar::string:
        return "\"\"";
      case Scalar::int32:
      case Scalar::int64:
        return "0";
      default:
        return {};
    }
  }

  const MergeType& field_type(const Field& field) SUBLET_REQUIRES(mutex_) {
    const bool atomic = field.map_type() == MapType::atomic;
    switch (field.shape()) {
      case schema::Shape::single:
        return single(field, field.map_type());
      case schema::Shape::list: {
        auto list = std::make_unique<MergeList>();
        set_list_facts(*list, field);
        list->item = &single(field, MapType::none);
        return keep({.list = std::move(list)});
      }
      case schema::Shape::map:
        return map_of(single(field, MapType::none), atomic);
      case schema::Shape::map_of_lists: {
        auto list = std::make_unique<MergeList>();
        list->item = &single(field, MapType::none);
        return map_of(keep({.list = std::move(list)}), atomic);
      }
    }
    return untyped_type();
  }

  /// What the field says of a struct goes before what the struct says of itself.
  const MergeType& single(const Field& field, MapType said) SUBLET_REQUIRES(mutex_) {
    if (field.scalar() != Scalar::message) return scalar_type(field.scalar());
    const bool atomic = said == MapType::none ? field.type().atomic() : said == MapType::atomic;
    return struct_type(field.type(), atomic);
  }

  const MergeType& map_of(const MergeType& value, bool atomic) SUBLET_REQUIRES(mutex_) {
    auto map = std::make_unique<MergeMap>();
    map->atomic = atomic;
    map->other = &value;
    return keep({.map = std::move(map)});
  }

  const MergeType& keep(MergeType type) SUBLET_REQUIRES(mutex_) {
    return *made_.emplace_back(std::make_unique<MergeType>(std::move(type)));
  }

  Mutex mutex_;
  std::vector<std::unique_ptr<MergeType>> made_ SUBLET_GUARDED_BY(mutex_);
  std::unordered_map<std::string_view, MergeType*> granular_ SUBLET_GUARDED_BY(mutex_);
  std::unordered_map<std::string_view, MergeType*> atomic_ SUBLET_GUARDED_BY(mutex_);
  std::vector<std::pair<schema::Type, MergeType*>> unfinished_ SUBLET_GUARDED_BY(mutex_);
};

MergeTypes::MergeTypes() : maker_(std::make_unique<Maker>()) {}
MergeTypes::~MergeTypes() = default;
const MergeType& MergeTypes::of(schema::Type type) { return maker_->of(type); }

}  // namespace sublet::patches
