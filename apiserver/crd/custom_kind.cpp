#include "apiserver/crd/custom_kind.h"

#include <algorithm>

#include "apiserver/apply/reset_fields.h"
#include "apiserver/conversion/conversion.h"
#include "apiserver/crd/custom_printer.h"
#include "apiserver/crd/custom_strategy.h"
#include "apiserver/crd/openapi_members.h"
#include "apiserver/discovery/custom_schema.h"
#include "apiserver/strategies/version_fields.h"
#include "apiserver/structural/prune.h"
#include "sublet/schema/engine.h"
#include "sublet/schema/table_builder.h"

namespace sublet::apiserver {
namespace {

using schema::Value;

/// Prunes by the schema of one version, and drops the nulls that it does not allow.
class VersionForm final : public schema::ObjectForm {
 public:
  VersionForm(CustomKindPtr kind, std::string version) : kind_(std::move(kind)), version_(std::move(version)) {}
  void shape(Value object, schema::DecodeNotes* notes) const override {
    std::vector<std::string> unknown;
    const Schema& schema = kind_->schema(version_);
    prune(object, schema, Root::resource, notes ? &unknown : nullptr);
    drop_nulls(object, schema);
    if (notes) std::ranges::move(unknown, std::back_inserter(notes->unknown_fields));
  }

 private:
  const CustomKindPtr kind_;
  const std::string version_;
};

class VersionMerge final : public patches::MergeRoot {
 public:
  VersionMerge(CustomKindPtr kind, std::string version) : kind_(std::move(kind)), version_(std::move(version)) {}
  const patches::MergeType& type() const override { return kind_->merge_type(version_); }

 private:
  const CustomKindPtr kind_;
  const std::string version_;
};

class VersionOpenApi final : public CustomSchema {
 public:
  VersionOpenApi(CustomKindPtr kind, std::string version) : kind_(std::move(kind)), version_(std::move(version)) {}
  void write_members(JsonWriter& json, OpenApiDialect dialect) const override {
    const auto source = schema::Document::parse_json(kind_->source()->json());
    if (source) write_openapi_members(json, schema_of(source->root(), version_), dialect);
  }
  std::string fingerprint() const override {
    const Definition& definition = kind_->definition();
    return definition.uid + "/" + std::to_string(definition.generation);
  }

 private:
  const CustomKindPtr kind_;
  const std::string version_;
};

/// What was stored under an earlier schema or another version, as a version of today has it. As upstream, the stored
/// version's defaults are set before an object becomes one of another version; that version's form prunes, and what it
/// would have by default it has only where it is written.
struct VersionConversion : Conversion {
  VersionConversion(CustomKindPtr kind_, std::string version_)
      : Conversion{}, kind(std::move(kind_)), version_text(std::move(version_)) {
    from_storage = decltype(from_storage)::bound<set_defaults>(*this);
    to_storage = decltype(to_storage)::bound<leave>(*this);
    if (!kind->converter()) return;
    by_webhook = kind->converter()->to_version(version_text, *kind);
    outside = by_webhook.get();
  }
  VersionConversion(const VersionConversion&) = delete;
  static void set_defaults(const VersionConversion& self, Value object) {
    if (self.outside) return;  // they were set before the webhook was asked
    apply_schema_defaults(object, self.kind->schema(self.kind->definition().stored().name));
  }
  static void leave(const VersionConversion&, Value) {}

  const CustomKindPtr kind;
  const std::string version_text;
  std::unique_ptr<const WebhookConversion> by_webhook;
};

/// The texts are the definition's.
struct OwnFields : VersionFields {
  OwnFields(CustomKindPtr kind_, const DefinitionVersion& version) : kind(std::move(kind_)) {
    for (const std::string& path : version.selectable_paths) {
      const std::string_view label = std::string_view(path).substr(1);
      fields.push_back({label, label});
    }
  }

  const CustomKindPtr kind;
};

/// Status has no manager through the main endpoint, nor any other field through /status.
std::shared_ptr<const ResetFields> reset_fields(bool has_status) {
  auto made = std::make_shared<ResetFields>();
  if (!has_status) return made;
  using patches::PathElement;
  made->by_subresource[""].insert(std::vector{PathElement::field("status")});
  for (const std::string_view name : {"metadata", "spec"})
    made->by_subresource["status"].insert(std::vector{PathElement::field(name)});
  return made;
}

/// "com.example.v1.Widget".
std::string definition_name(const std::string& group, const std::string& version, const std::string& kind) {
  std::string reversed, rest = group;
  for (auto dot = rest.rfind('.'); dot != std::string::npos; dot = rest.rfind('.')) {
    reversed += rest.substr(dot + 1) + ".";
    rest.resize(dot);
  }
  return reversed + rest + "." + version + "." + kind;
}

schema::ResourceSpec resource_of(const ServedKind& served, const DefinitionVersion& version, schema::StructRef type) {
  const Definition& definition = served.kind->definition();
  schema::ResourceSpec spec;
  spec.group = definition.group;
  spec.version = version.name;
  spec.resource = served.names.plural;
  spec.kind = served.names.kind;
  spec.list_kind = served.names.list_kind;
  spec.singular = served.names.singular;
  spec.type = type;
  spec.namespaced = definition.namespaced;
  spec.served = version.served;
  spec.storage_version = definition.stored().name;
  spec.short_names = served.names.short_names;
  spec.categories = served.names.categories;
  if (version.has_status)
    spec.subresources.push_back({"status", spec.group, version.name, spec.kind, {"get", "patch", "update"}});
  if (version.scale) spec.subresources.push_back({"scale", "autoscaling", "v1", "Scale", {"get", "patch", "update"}});
  return spec;
}

void put_version(schema::KindSet& set, const ServedKind& served, const DefinitionVersion& version) {
  const std::string& group = served.kind->definition().group;
  const std::string& plural = served.names.plural;
  set.put<patches::MergeRoot>(group, version.name, plural,
                              std::make_shared<const VersionMerge>(served.kind, version.name));
  set.put<CustomSchema>(group, version.name, plural, std::make_shared<const VersionOpenApi>(served.kind, version.name));
  set.put<VersionFields>(group, version.name, plural, std::make_shared<const OwnFields>(served.kind, version));
  if (!version.columns.empty())
    set.put<Printer>(group, version.name, plural, std::make_shared<const CustomPrinter>(version.columns));
  if (served.kind->converts_on_read())
    set.put<Conversion>(group, version.name, plural,
                        std::make_shared<const VersionConversion>(served.kind, version.name));
  if (!version.warning.empty())
    set.put<VersionWarning>(group, version.name, plural,
                            std::make_shared<const VersionWarning>(VersionWarning{version.warning}));
}

void put_kind(schema::KindSet& set, const ServedKind& served) {
  const Definition& definition = served.kind->definition();
  const std::string& plural = served.names.plural;
  set.put<Strategy>(definition.group, "", plural,
                    std::make_shared<const CustomStrategy>(served.kind, served.terminating));
  set.put<ResetFields>(definition.group, "", plural, reset_fields(definition.stored().has_status));
  for (const DefinitionVersion& version : definition.versions) put_version(set, served, version);
}

}  // namespace

/// One version's.
struct CustomKind::Compiled {
  explicit Compiled(const Value& props) : root(*schemas.compile(props)), merge(root) {
    schemas.seal();
    if (root.below & Schema::kRules) rules = Rules::compile(props);
  }
  Schemas schemas;
  const Schema& root;
  std::shared_ptr<const Rules> rules;  // null: it has none
  const MergeSchema merge;
};

CustomKind::CustomKind(store::ObjectPtr source, Definition definition, const Value& object,
                       std::shared_ptr<const WebhookConverter> converter)
    : definition_(std::move(definition)), converter_(std::move(converter)), source_(std::move(source)) {
  const Value first = schema_of(object, definition_.versions.front().name);
  const bool differ = std::ranges::any_of(definition_.versions, [&](const DefinitionVersion& version) {
    return !schema_of(object, version.name).equals(first);
  });
  // A default of the whole status counts only when an object is read: what is created has no status.
  const bool defaults_status = std::ranges::any_of(definition_.versions, [&](const DefinitionVersion& version) {
    return version.has_status && schema_of(object, version.name)["properties"]["status"].has("default");
  });
  converts_on_read_ = definition_.generation > 1 || differ || defaults_status || converter_;
}

CustomKind::~CustomKind() = default;

store::ObjectPtr CustomKind::source() const {
  const MutexLock lock(mutex_);
  return source_;
}

void CustomKind::set_source(store::ObjectPtr source) const {
  const MutexLock lock(mutex_);
  source_.swap(source);  // the old one ends outside the lock
}

const DefinitionVersion& CustomKind::version(std::string_view name) const {
  const auto found = std::ranges::find(definition_.versions, name, &DefinitionVersion::name);
  return found == definition_.versions.end() ? definition_.stored() : *found;
}

const CustomKind::Compiled* CustomKind::find_compiled(std::string_view version) const {
  const MutexLock lock(mutex_);
  const auto known = compiled_.find(version);
  return known == compiled_.end() ? nullptr : known->second.get();
}

const CustomKind::Compiled& CustomKind::compiled(std::string_view asked) const {
  const std::string& name = version(asked).name;
  if (const Compiled* known = find_compiled(name)) return *known;
  const MutexLock making(making_);
  if (const Compiled* known = find_compiled(name)) return *known;
  // What is stored was parsed before; else it is a kind of which nothing is known.
  const auto object = schema::Document::parse_json(source()->json());
  const schema::Document none = schema::Document::object();
  const Value props = object ? schema_of(object->root(), name) : Value();
  auto made = std::make_unique<const Compiled>(props ? props : none.root());
  const MutexLock lock(mutex_);
  return *(compiled_[name] = std::move(made));
}

bool CustomKind::ready(std::string_view version) const {
  return find_compiled(this->version(version).name) && (!converts_on_read_ || find_compiled(definition_.stored().name));
}
void CustomKind::make_ready(std::string_view version) const {
  (void)compiled(version);
  if (converts_on_read_) (void)compiled(definition_.stored().name);  // its defaults are set when an object is read
}
const Schema& CustomKind::schema(std::string_view version) const { return compiled(version).root; }
const Rules* CustomKind::rules(std::string_view version) const { return compiled(version).rules.get(); }
const patches::MergeType& CustomKind::merge_type(std::string_view version) const {
  return compiled(version).merge.root();
}

Result<schema::KindSet> kinds_of_group(const std::vector<ServedKind>& kinds) {
  struct Row {
    const ServedKind* served;
    const DefinitionVersion* version;
  };
  std::vector<Row> rows;
  for (const ServedKind& served : kinds)
    for (const DefinitionVersion& version : served.kind->definition().versions) rows.push_back({&served, &version});
  std::ranges::stable_sort(rows, [](const Row& a, const Row& b) {
    if (a.version->name != b.version->name) return version_before(a.version->name, b.version->name);
    return a.served->names.plural < b.served->names.plural;
  });
  schema::TableBuilder builder;
  for (const Row& row : rows) {
    const CustomKindPtr& kind = row.served->kind;
    const auto type =
        builder.add_object(definition_name(kind->definition().group, row.version->name, row.served->names.kind),
                           std::make_shared<const VersionForm>(kind, row.version->name));
    builder.add_resource(resource_of(*row.served, *row.version, type));
  }
  auto table = builder.build();
  if (!table) return fail(table.error());
  schema::KindSet set(std::move(*table));
  for (const ServedKind& served : kinds) put_kind(set, served);
  return set;
}

}  // namespace sublet::apiserver
