#include "sublet/schema/table_builder.h"

#include <algorithm>
#include <limits>
#include <tuple>
#include <unordered_map>

#include "schema/builtin_table.h"
#include "schema/table_data.h"
#include "sublet/schema/engine.h"

namespace sublet::schema {
namespace {

constexpr std::string_view kTypeMeta = "io.k8s.apimachinery.pkg.apis.meta.v1.TypeMeta";
constexpr std::string_view kObjectMeta = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";
constexpr std::string_view kListMeta = "io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta";

/// The rows in memory of their own. Everything is appended; seal() shows it to TableData.
struct CompiledData final : TableData {
  std::vector<TypeRow> own_types;
  std::vector<FieldRow> own_fields;
  std::vector<ExtraRow> own_extras;
  std::vector<std::uint16_t> own_lists;
  std::vector<KindRow> own_kinds;
  std::vector<GroupRow> own_groups;
  std::vector<ResourceRow> own_resources;
  std::vector<SubresourceRow> own_subresources;
  std::vector<Type> own_imports;
  std::string own_pool;
  std::vector<std::uint32_t> own_offsets;
  std::unique_ptr<std::atomic<const TypePlan*>[]> own_plans;
  std::vector<std::shared_ptr<const ObjectForm>> own_forms;  // one per type

  const ObjectForm* form_of(TypeId id) const override { return own_forms[id].get(); }

  ~CompiledData() override {
    if (plans) end_plans();
  }

  void seal() {
    types = own_types;
    fields = own_fields;
    extras = own_extras;
    lists = own_lists;
    kinds = own_kinds;
    groups = own_groups;
    resources = own_resources;
    subresources = own_subresources;
    imports = own_imports;
    pool = own_pool.data();
    offsets = own_offsets.data();
    own_plans = std::make_unique<std::atomic<const TypePlan*>[]>(types.size() + imports.size());
    plans = own_plans.get();
    custom = true;
  }
};

std::uint8_t merging_of(const FieldSpec& spec) {
  return static_cast<std::uint8_t>(static_cast<unsigned>(spec.list_type) | static_cast<unsigned>(spec.map_type) << 2 |
                                   static_cast<unsigned>(spec.patch_strategy) << 4);
}

/// What a client sent is kept: a member is there or not, as behind Go's pointers.
std::uint16_t flags_of(const FieldSpec& spec) {
  unsigned flags = kPointer | kOmitEmpty;
  if (spec.name.empty()) flags = kInlined;
  if (spec.shape == Shape::list) flags |= kRepeated;
  if (spec.shape == Shape::map || spec.shape == Shape::map_of_lists) flags |= kMap;
  if (spec.shape == Shape::map_of_lists) flags |= kMapOfLists;
  if (spec.required) flags |= kRequired;
  return static_cast<std::uint16_t>(flags);
}

}  // namespace

/// Lays the specs out as rows.
class TableCompiler {
 public:
  TableCompiler() {
    data_->own_offsets.push_back(0);
    text("");
    data_->own_lists.push_back(0);  // the empty list, place 0
  }

  void add(const StructSpec& spec) {
    TypeRow row{};
    row.name = text(spec.name);
    row.first_field = number(data_->own_fields.size());
    row.field_count = number(spec.fields.size());
    row.flags = static_cast<std::uint16_t>((spec.atomic ? kAtomicType : 0) | (spec.open ? kOpenType : 0));
    for (const FieldSpec& field : spec.fields) add(field);
    data_->own_types.push_back(row);
    data_->own_forms.push_back(spec.form);
  }

  void add(const ResourceSpec& spec) {
    ResourceRow row{};
    row.group = row.storage_group = text(spec.group);
    row.version = text(spec.version);
    row.resource = text(spec.resource);
    row.kind = text(spec.kind);
    row.list_kind = text(spec.list_kind);
    row.singular = text(spec.singular);
    row.storage_version = text(spec.storage_version);
    row.storage_hash = text("");
    row.type = type_number(spec.type);
    row.verbs = list(sorted(spec.verbs));
    row.short_names = list(spec.short_names);
    row.categories = list(spec.categories);
    row.first_subresource = number(data_->own_subresources.size());
    row.subresource_count = number(spec.subresources.size());
    row.namespaced = spec.namespaced;
    row.served = spec.served;
    for (const SubresourceSpec& sub : spec.subresources)
      data_->own_subresources.push_back(
          {text(sub.name), text(sub.group), text(sub.version), text(sub.kind), list(sorted(sub.verbs))});
    data_->own_resources.push_back(row);
  }

  void add_kind(const ResourceSpec& spec, const std::string& kind, StructRef type) {
    data_->own_kinds.push_back({text(kind), text(spec.group), text(spec.version), type_number(type)});
  }

  /// Groups of the resources, each with its versions as they came.
  void add_groups(const std::vector<ResourceSpec>& resources) {
    for (auto from = resources.begin(); from != resources.end(); ++from) {
      const auto same = [&](const ResourceSpec& other) { return other.group == from->group; };
      if (std::any_of(resources.begin(), from, same)) continue;
      std::vector<std::string> versions, served;
      for (auto other = from; other != resources.end(); ++other) {
        if (!same(*other)) continue;
        if (std::ranges::find(versions, other->version) == versions.end()) versions.push_back(other->version);
        if (other->served && std::ranges::find(served, other->version) == served.end())
          served.push_back(other->version);
      }
      data_->own_groups.push_back({text(from->group), list(versions), list(served)});
    }
  }

  Result<std::unique_ptr<TableData>> take() {
    if (overflow_)
      return fail(Reason::invalid, "the kinds are too large: a table holds up to 32,767 types and as many texts");
    // Imports are numbered on from the table's own types, whose count is known only now.
    for (FieldRow& row : data_->own_fields) row.type = import_after(row.type);
    using Key = std::tuple<std::string_view, std::string_view, std::string_view>;
    data_->seal();
    const auto key = [this](const KindRow& row) {
      return Key{data_->text(row.kind), data_->text(row.group), data_->text(row.version)};
    };
    std::ranges::sort(data_->own_kinds, {}, key);
    return std::unique_ptr<TableData>(std::move(data_));
  }

 private:
  static constexpr std::uint16_t kFirstImport = 0x8000;  // until take() knows how many types there are
  static constexpr std::size_t kNumbersMax = 0x7fff;

  void add(const FieldSpec& spec) {
    FieldRow row{};
    row.name = text(spec.name);
    row.type = spec.scalar == Scalar::message ? type_number(spec.type) : kNoType;
    row.flags = flags_of(spec);
    row.extra = number(data_->own_extras.size());
    row.scalar = static_cast<std::uint8_t>(spec.scalar);
    row.merging = merging_of(spec);
    data_->own_extras.push_back(
        {list(spec.list_map_keys), list(spec.enum_values), text(spec.patch_merge_key), text(spec.default_json)});
    data_->own_fields.push_back(row);
  }

  std::uint16_t type_number(StructRef type) {
    if (!type.builtin_) return type.number_ == StructRef::kNone ? kNoType : number(type.number_);
    auto known = std::ranges::find(data_->own_imports, type.builtin_);
    if (known == data_->own_imports.end()) known = data_->own_imports.insert(known, type.builtin_);
    return static_cast<std::uint16_t>(kFirstImport +
                                      number(static_cast<std::size_t>(known - data_->own_imports.begin())));
  }

  std::uint16_t import_after(std::uint16_t type) const {
    if (type == kNoType || type < kFirstImport) return type;
    return static_cast<std::uint16_t>(type - kFirstImport + data_->own_types.size());
  }

  std::uint16_t text(const std::string& value) {
    const auto [known, is_new] = texts_.try_emplace(value, number(texts_.size()));
    if (is_new) {
      data_->own_pool += value;
      data_->own_offsets.push_back(static_cast<std::uint32_t>(data_->own_pool.size()));
    }
    return known->second;
  }

  std::uint16_t list(const std::vector<std::string>& values) {
    if (values.empty()) return 0;
    const std::uint16_t place = number(data_->own_lists.size());
    data_->own_lists.push_back(number(values.size()));
    for (const std::string& value : values) data_->own_lists.push_back(text(value));
    return place;
  }

  static std::vector<std::string> sorted(std::vector<std::string> values) {
    std::ranges::sort(values);
    return values;
  }

  std::uint16_t number(std::size_t value) {
    overflow_ = overflow_ || value > kNumbersMax;
    return static_cast<std::uint16_t>(value);
  }

  std::unique_ptr<CompiledData> data_ = std::make_unique<CompiledData>();
  std::unordered_map<std::string, std::uint16_t> texts_;
  bool overflow_ = false;
};

StructRef TableBuilder::add_struct(StructSpec spec) {
  structs_.push_back(std::move(spec));
  return StructRef(structs_.size() - 1);
}

StructRef TableBuilder::add_object(std::string name, std::vector<FieldSpec> fields) {
  const TableData& builtin = builtin_table().data();
  StructSpec spec{std::move(name)};
  spec.fields.push_back({.name = "", .scalar = Scalar::message, .type = builtin.find_type(kTypeMeta)});
  spec.fields.push_back({.name = "metadata", .scalar = Scalar::message, .type = builtin.find_type(kObjectMeta)});
  std::ranges::move(fields, std::back_inserter(spec.fields));
  return add_struct(std::move(spec));
}

StructRef TableBuilder::add_object(std::string name, std::shared_ptr<const ObjectForm> form) {
  const StructRef object = add_object(std::move(name), std::vector<FieldSpec>());
  structs_.back().open = true;
  structs_.back().form = std::move(form);
  return object;
}

void TableBuilder::add_resource(ResourceSpec spec) { resources_.push_back(std::move(spec)); }

StructRef TableBuilder::add_list(const ResourceSpec& spec) {
  const TableData& builtin = builtin_table().data();
  StructSpec list{structs_[spec.type.number_].name + "List"};
  list.fields.push_back({.name = "", .scalar = Scalar::message, .type = builtin.find_type(kTypeMeta)});
  list.fields.push_back({.name = "metadata", .scalar = Scalar::message, .type = builtin.find_type(kListMeta)});
  list.fields.push_back(
      {.name = "items", .scalar = Scalar::message, .type = spec.type, .shape = Shape::list, .required = true});
  return add_struct(std::move(list));
}

Result<std::shared_ptr<const Table>> TableBuilder::build() {
  std::vector<StructRef> lists;
  for (const ResourceSpec& spec : resources_) lists.push_back(add_list(spec));
  TableCompiler compiler;
  for (const StructSpec& spec : structs_) compiler.add(spec);
  for (std::size_t i = 0; i < resources_.size(); ++i) {
    compiler.add(resources_[i]);
    compiler.add_kind(resources_[i], resources_[i].kind, resources_[i].type);
    compiler.add_kind(resources_[i], resources_[i].list_kind, lists[i]);
  }
  compiler.add_groups(resources_);
  auto data = compiler.take();
  if (!data) return fail(data.error());
  return std::make_shared<const Table>(std::move(*data));
}

}  // namespace sublet::schema
