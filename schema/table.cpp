// Reads the generated arrays. Everything here is an index into them; nothing but the rows of groups and resources is
// ever made on the heap.
#include "sublet/schema/table.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <tuple>
#include <utility>
#include <vector>

namespace sublet::schema {
namespace {

// Rows as tools/schema/sublet_schema/emit.py writes them. `list` members are places in kLists, all other texts are
// numbers of strings.
struct TypeRow {
  std::uint16_t name, first_field, field_count, first_proto, proto_count, atomic;
};
struct FieldRow {
  std::uint16_t name, type, flags, proto_number, extra;
  std::uint8_t scalar, merging;
};
struct ExtraRow {
  std::uint16_t list_map_keys, enum_values, patch_merge_key, default_json;
};
struct KindRow {
  std::uint16_t kind, group, version, type;
};
struct GroupRow {
  std::uint16_t name, versions, served;
};
struct ResourceRow {
  std::uint16_t group, version, resource, kind, list_kind, singular, storage_group, storage_version, storage_hash;
  std::uint16_t type, verbs, short_names, categories, first_subresource, subresource_count, namespaced, served,
      delete_returns_object;
};
struct SubresourceRow {
  std::uint16_t name, group, version, kind, verbs;
};

enum Flag : std::uint16_t {
  kRepeated = 1 << 0,
  kMap = 1 << 1,
  kMapOfLists = 1 << 2,
  kListMessage = 1 << 3,
  kPointer = 1 << 4,
  kOmitEmpty = 1 << 5,
  kOmitZero = 1 << 6,
  kInlined = 1 << 7,
  kRequired = 1 << 8,
};

#include "schema/generated/resources.inc"
#include "schema/generated/strings.inc"
#include "schema/generated/types.inc"

constexpr std::size_t kTypeCount = std::size(kTypes);
static_assert(kTypeCount < kNoType);

std::string_view text(std::uint16_t number) {
  return {kPool + kOffsets[number], kOffsets[number + 1] - kOffsets[number]};
}

const FieldRow& row(std::uint32_t index) {
  assert(index < std::size(kFields));
  return kFields[index];
}

const ExtraRow& extra(std::uint32_t index) { return kExtras[row(index).extra]; }

const TypeRow& type_row(TypeId id) {
  assert(id < kTypeCount);
  return kTypes[id];
}

// OpenAPI's format of each scalar, in the order of the enum.
constexpr std::array<std::string_view, 18> kFormats = {
    "",        // string
    "",        // boolean
    "int32",   // int32
    "int64",   // int64
    "double",  // floating
    "byte",    // bytes
    "",        // quantity
    "int-or-string",
    "date-time",  // time
    "date-time",  // micro_time
    "",           // duration
    "",           // fields_v1
    "",           // raw_extension
    "",           // json
    "",           // schema_or_array
    "",           // schema_or_bool
    "",           // schema_or_strings
    "",           // message
};
static_assert(kFormats.size() == static_cast<std::size_t>(Scalar::message) + 1);

}  // namespace

std::size_t StringList::size() const { return kLists[place_]; }

std::string_view StringList::operator[](std::size_t i) const {
  assert(i < size());
  return text(kLists[place_ + 1 + i]);
}

bool StringList::contains(std::string_view wanted) const { return std::find(begin(), end(), wanted) != end(); }

std::string_view Field::name() const { return text(row(index_).name); }
Scalar Field::scalar() const { return static_cast<Scalar>(row(index_).scalar); }
Type Field::type() const { return Type(row(index_).type); }
bool Field::repeated() const { return row(index_).flags & kRepeated; }
bool Field::map() const { return row(index_).flags & kMap; }
bool Field::map_of_lists() const { return row(index_).flags & kMapOfLists; }
bool Field::list_message() const { return row(index_).flags & kListMessage; }
bool Field::pointer() const { return row(index_).flags & kPointer; }
bool Field::omit_empty() const { return row(index_).flags & kOmitEmpty; }
bool Field::omit_zero() const { return row(index_).flags & kOmitZero; }
bool Field::inlined() const { return row(index_).flags & kInlined; }
bool Field::required() const { return row(index_).flags & kRequired; }
std::uint32_t Field::proto_number() const { return row(index_).proto_number; }
ListType Field::list_type() const { return static_cast<ListType>(row(index_).merging & 3); }
MapType Field::map_type() const { return static_cast<MapType>(row(index_).merging >> 2 & 3); }
PatchStrategy Field::patch_strategy() const { return static_cast<PatchStrategy>(row(index_).merging >> 4); }
StringList Field::list_map_keys() const { return StringList(extra(index_).list_map_keys); }
std::string_view Field::patch_merge_key() const { return text(extra(index_).patch_merge_key); }
StringList Field::enum_values() const { return StringList(extra(index_).enum_values); }
std::string_view Field::default_json() const { return text(extra(index_).default_json); }
std::string_view Field::format() const { return kFormats[static_cast<std::size_t>(scalar())]; }

std::string_view Type::name() const { return missing() ? std::string_view() : text(type_row(id_).name); }

std::string_view Type::short_name() const {
  std::string_view full = name();
  return full.substr(full.rfind('.') + 1);
}

bool Type::atomic() const { return !missing() && type_row(id_).atomic != 0; }
std::size_t Type::field_count() const { return missing() ? 0 : type_row(id_).field_count; }

Field Type::field_at(std::size_t i) const {
  assert(i < field_count());
  return Field(type_row(id_).first_field + static_cast<std::uint32_t>(i));
}

std::size_t Type::proto_field_count() const { return missing() ? 0 : type_row(id_).proto_count; }

Field Type::proto_field_at(std::size_t i) const {
  assert(i < proto_field_count());
  return field_at(kProtoOrder[type_row(id_).first_proto + i]);
}

std::optional<Field> Type::field(std::string_view json_name) const {
  // Types have a dozen fields on average, so a scan that mostly compares lengths is as fast as any index.
  for (std::size_t i = 0; i < field_count(); ++i) {
    Field candidate = field_at(i);
    if (candidate.inlined()) {
      if (auto found = candidate.type().field(json_name)) return found;
    } else if (candidate.name() == json_name) {
      return candidate;
    }
  }
  return std::nullopt;
}

std::optional<Field> Type::field_by_proto(std::uint32_t number) const {
  std::size_t low = 0, high = proto_field_count();
  while (low < high) {
    std::size_t middle = (low + high) / 2;
    Field candidate = proto_field_at(middle);
    if (candidate.proto_number() == number) return candidate;
    (candidate.proto_number() < number ? low : high) = candidate.proto_number() < number ? middle + 1 : middle;
  }
  return std::nullopt;
}

namespace {

/// What Table gives out by reference: made once, on first use.
struct Served {
  std::vector<GroupFacts> groups;
  std::vector<SubresourceFacts> subresources;
  std::vector<ResourceFacts> resources;
  // Numbers of resources, ordered by (resource, group, version) and by (kind, group, version).
  std::vector<std::uint16_t> by_resource, by_kind;

  Served();

 private:
  ResourceFacts resource(const ResourceRow& from) const;
};

using Key = std::tuple<std::string_view, std::string_view, std::string_view>;
Key resource_key(const ResourceFacts& facts) { return {facts.resource, facts.group, facts.version}; }
Key kind_key(const ResourceFacts& facts) { return {facts.kind, facts.group, facts.version}; }

Served::Served() {
  for (const GroupRow& from : kGroups)
    groups.push_back(
        {text(from.name), StringList(from.versions), StringList(from.served), static_cast<int>(groups.size())});
  for (const SubresourceRow& from : kSubresources)
    subresources.push_back(
        {text(from.name), text(from.group), text(from.version), text(from.kind), StringList(from.verbs)});
  for (const ResourceRow& from : kResources) {
    by_resource.push_back(static_cast<std::uint16_t>(resources.size()));
    resources.push_back(resource(from));
  }
  by_kind = by_resource;
  std::sort(by_resource.begin(), by_resource.end(),
            [&](auto a, auto b) { return resource_key(resources[a]) < resource_key(resources[b]); });
  std::sort(by_kind.begin(), by_kind.end(),
            [&](auto a, auto b) { return kind_key(resources[a]) < kind_key(resources[b]); });
}

ResourceFacts Served::resource(const ResourceRow& from) const {
  ResourceFacts made;
  made.group = text(from.group);
  made.version = text(from.version);
  made.resource = text(from.resource);
  made.kind = text(from.kind);
  made.list_kind = text(from.list_kind);
  made.singular = text(from.singular);
  made.namespaced = from.namespaced != 0;
  made.served = from.served != 0;
  made.delete_returns_object = from.delete_returns_object != 0;
  made.type = from.type;
  made.verbs = StringList(from.verbs);
  made.short_names = StringList(from.short_names);
  made.categories = StringList(from.categories);
  made.subresources = {subresources.data() + from.first_subresource, from.subresource_count};
  made.storage_version = text(from.storage_version);
  made.storage_group = text(from.storage_group);
  made.storage_hash = text(from.storage_hash);
  for (const SubresourceFacts& subresource : made.subresources)
    if (subresource.name == "status") made.has_status = true;
  return made;
}

const Served& served() {
  static const Served* made = new Served;  // never destroyed: other static objects may still read it at exit
  return *made;
}

const ResourceFacts* search(const std::vector<std::uint16_t>& order, const Key& wanted,
                            Key (*key_of)(const ResourceFacts&)) {
  const Served& all = served();
  auto found = std::lower_bound(order.begin(), order.end(), wanted,
                                [&](auto number, const Key& key) { return key_of(all.resources[number]) < key; });
  if (found == order.end() || key_of(all.resources[*found]) != wanted) return nullptr;
  return &all.resources[*found];
}

Type search_kind(const Key& wanted) {
  auto found = std::lower_bound(std::begin(kKinds), std::end(kKinds), wanted, [](const KindRow& from, const Key& key) {
    return Key{text(from.kind), text(from.group), text(from.version)} < key;
  });
  if (found == std::end(kKinds) || Key{text(found->kind), text(found->group), text(found->version)} != wanted)
    return {};
  return Type(found->type);
}

}  // namespace

const Table& Table::builtin() {
  static const Table table;
  return table;
}

std::string_view Table::release() const { return text(kRelease); }
std::span<const GroupFacts> Table::groups() const { return served().groups; }
std::span<const ResourceFacts> Table::resources() const { return served().resources; }

const ResourceFacts* Table::find_resource(std::string_view group, std::string_view version,
                                          std::string_view resource) const {
  return search(served().by_resource, {resource, group, version}, resource_key);
}

const ResourceFacts* Table::find_resource_of_kind(std::string_view group, std::string_view version,
                                                  std::string_view kind) const {
  return search(served().by_kind, {kind, group, version}, kind_key);
}

Type Table::find_kind(std::string_view group, std::string_view version, std::string_view kind) const {
  if (Type found = search_kind({kind, group, version})) return found;
  return search_kind({kind, "*", "*"});
}

Type Table::find_type(std::string_view definition_name) const {
  auto found = std::lower_bound(std::begin(kTypes), std::end(kTypes), definition_name,
                                [](const TypeRow& from, std::string_view name) { return text(from.name) < name; });
  if (found == std::end(kTypes) || text(found->name) != definition_name) return {};
  return Type(static_cast<TypeId>(found - std::begin(kTypes)));
}

std::size_t Table::type_count() const { return kTypeCount; }
std::size_t Table::kind_count() const { return std::size(kKinds); }

KindFacts Table::kind_at(std::size_t i) const {
  assert(i < kind_count());
  const KindRow& from = kKinds[i];
  return {text(from.group), text(from.version), text(from.kind), Type(from.type)};
}

}  // namespace sublet::schema
