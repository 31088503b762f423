// Handles into the rows of a table: everything here is an index, nothing is made.
#include "sublet/schema/table.h"

#include <algorithm>
#include <array>

#include "schema/table_data.h"
#include "schema/type_plan.h"

namespace sublet::schema {
namespace {

const FieldRow& row_of(const TableData& data, std::uint32_t index) {
  assert(index < data.fields.size());
  return data.fields[index];
}

const ExtraRow& extra_of(const TableData& data, std::uint32_t index) { return data.extras[row_of(data, index).extra]; }

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

std::size_t StringList::size() const { return data_ ? data_->lists[place_] : 0; }

std::string_view StringList::operator[](std::size_t i) const {
  assert(i < size());
  return data_->text(data_->lists[place_ + 1 + i]);
}

bool StringList::contains(std::string_view wanted) const { return std::find(begin(), end(), wanted) != end(); }

std::string_view Field::name() const { return data_->text(row_of(*data_, index_).name); }
Scalar Field::scalar() const { return static_cast<Scalar>(row_of(*data_, index_).scalar); }
Type Field::type() const { return data_->type(row_of(*data_, index_).type); }
bool Field::repeated() const { return row_of(*data_, index_).flags & kRepeated; }
bool Field::map() const { return row_of(*data_, index_).flags & kMap; }
bool Field::map_of_lists() const { return row_of(*data_, index_).flags & kMapOfLists; }
bool Field::list_message() const { return row_of(*data_, index_).flags & kListMessage; }
bool Field::pointer() const { return row_of(*data_, index_).flags & kPointer; }
bool Field::omit_empty() const { return row_of(*data_, index_).flags & kOmitEmpty; }
bool Field::omit_zero() const { return row_of(*data_, index_).flags & kOmitZero; }
bool Field::inlined() const { return row_of(*data_, index_).flags & kInlined; }
bool Field::required() const { return row_of(*data_, index_).flags & kRequired; }
std::uint32_t Field::proto_number() const { return row_of(*data_, index_).proto_number; }
ListType Field::list_type() const { return static_cast<ListType>(row_of(*data_, index_).merging & 3); }
MapType Field::map_type() const { return static_cast<MapType>(row_of(*data_, index_).merging >> 2 & 3); }
PatchStrategy Field::patch_strategy() const { return static_cast<PatchStrategy>(row_of(*data_, index_).merging >> 4); }
StringList Field::list_map_keys() const { return data_->list(extra_of(*data_, index_).list_map_keys); }
std::string_view Field::patch_merge_key() const { return data_->text(extra_of(*data_, index_).patch_merge_key); }
StringList Field::enum_values() const { return data_->list(extra_of(*data_, index_).enum_values); }
std::string_view Field::default_json() const { return data_->text(extra_of(*data_, index_).default_json); }
std::string_view Field::format() const { return kFormats[static_cast<std::size_t>(scalar())]; }

Shape Field::shape() const {
  if (map_of_lists()) return Shape::map_of_lists;
  if (map()) return Shape::map;
  return repeated() ? Shape::list : Shape::single;
}

std::string_view Type::name() const { return missing() ? std::string_view() : data_->text(data_->row(index_).name); }

std::string_view Type::short_name() const {
  const std::string_view full = name();
  return full.substr(full.rfind('.') + 1);
}

bool Type::atomic() const { return !missing() && data_->row(index_).flags & kAtomicType; }
bool Type::open() const { return !missing() && data_->row(index_).flags & kOpenType; }
std::size_t Type::field_count() const { return missing() ? 0 : data_->row(index_).field_count; }

Field Type::field_at(std::size_t i) const {
  assert(i < field_count());
  return data_->field(data_->row(index_).first_field + static_cast<std::uint32_t>(i));
}

std::size_t Type::proto_field_count() const { return missing() ? 0 : data_->row(index_).proto_count; }

Field Type::proto_field_at(std::size_t i) const {
  assert(i < proto_field_count());
  return field_at(data_->proto_order[data_->row(index_).first_proto + i]);
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

void TableData::end_plans() {
  for (std::size_t id = 0; id < types.size(); ++id) delete plans[id].exchange(nullptr, std::memory_order_acquire);
}

Type TableData::find_type(std::string_view definition_name) const {
  const auto named = [this](const TypeRow& row) { return text(row.name); };
  const auto found = custom ? std::ranges::find(types, definition_name, named)
                            : std::ranges::lower_bound(types, definition_name, {}, named);
  if (found == types.end() || named(*found) != definition_name) return {};
  return type(static_cast<TypeId>(found - types.begin()));
}

Type TableData::find_kind(std::string_view group, std::string_view version, std::string_view kind) const {
  using Key = std::tuple<std::string_view, std::string_view, std::string_view>;
  const auto key = [this](const KindRow& row) { return Key{text(row.kind), text(row.group), text(row.version)}; };
  const Key wanted{kind, group, version};
  const auto found = std::ranges::lower_bound(kinds, wanted, {}, key);
  return found == kinds.end() || key(*found) != wanted ? Type() : type(found->type);
}

Table::Table(std::unique_ptr<TableData> data) : data_(std::move(data)) {}
Table::~Table() = default;

std::string_view Table::release() const { return data_->release; }
std::size_t Table::type_count() const { return data_->types.size(); }

Type Table::type_at(std::size_t i) const {
  assert(i < type_count());
  return data_->type(static_cast<TypeId>(i));
}

std::size_t Table::kind_count() const { return data_->kinds.size(); }

KindFacts Table::kind_at(std::size_t i) const {
  assert(i < kind_count());
  const KindRow& from = data_->kinds[i];
  return {data_->text(from.group), data_->text(from.version), data_->text(from.kind), data_->type(from.type)};
}

}  // namespace sublet::schema
