#include "apiserver/discovery/openapi_schemas.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <set>

#include "apiserver/discovery/custom_schema.h"
#include "sublet/schema/registry.h"

namespace sublet::apiserver {
namespace {

using schema::Field;
using schema::ListType;
using schema::MapType;
using schema::PatchStrategy;
using schema::Registry;
using schema::Scalar;
using schema::Type;

/// Scalars that upstream gives a definition of their own, with its content in each dialect.
struct ScalarDefinition {
  std::string_view name, v2, v3;
};

constexpr std::string_view kAny = "{}";
constexpr std::string_view kAnyObject = R"({"type":"object"})";
constexpr std::string_view kDateTime = R"({"type":"string","format":"date-time"})";

constexpr ScalarDefinition kQuantity{"io.k8s.apimachinery.pkg.api.resource.Quantity", R"({"type":"string"})",
                                     R"({"oneOf":[{"type":"string"},{"type":"number"}]})"};
constexpr ScalarDefinition kIntOrString{"io.k8s.apimachinery.pkg.util.intstr.IntOrString",
                                        R"({"type":"string","format":"int-or-string"})",
                                        R"({"oneOf":[{"type":"integer"},{"type":"string"}],"format":"int-or-string"})"};
constexpr ScalarDefinition kTime{"io.k8s.apimachinery.pkg.apis.meta.v1.Time", kDateTime, kDateTime};
constexpr ScalarDefinition kMicroTime{"io.k8s.apimachinery.pkg.apis.meta.v1.MicroTime", kDateTime, kDateTime};
constexpr ScalarDefinition kFieldsV1{"io.k8s.apimachinery.pkg.apis.meta.v1.FieldsV1", kAnyObject, kAnyObject};
constexpr ScalarDefinition kRawExtension{"io.k8s.apimachinery.pkg.runtime.RawExtension", kAnyObject, kAnyObject};
constexpr ScalarDefinition kJson{"io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSON", kAny, kAny};
constexpr ScalarDefinition kOrArray{"io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaPropsOrArray",
                                    kAny, kAny};
constexpr ScalarDefinition kOrBool{"io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaPropsOrBool",
                                   kAny, kAny};
constexpr ScalarDefinition kOrStrings{
    "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaPropsOrStringArray", kAny, kAny};
constexpr ScalarDefinition kPatch{kPatchDefinition, kAnyObject, kAnyObject};

/// How each scalar is written: a plain type, or a reference to a definition.
struct ScalarForm {
  std::string_view type;
  const ScalarDefinition* definition = nullptr;
};

constexpr std::array<ScalarForm, 18> kScalarForms = {{
    {"string"},            // string
    {"boolean"},           // boolean
    {"integer"},           // int32
    {"integer"},           // int64
    {"number"},            // floating
    {"string"},            // bytes
    {"", &kQuantity},      // quantity
    {"", &kIntOrString},   // int_or_string
    {"", &kTime},          // time
    {"", &kMicroTime},     // micro_time
    {"string"},            // duration
    {"", &kFieldsV1},      // fields_v1
    {"", &kRawExtension},  // raw_extension
    {"", &kJson},          // json
    {"", &kOrArray},       // schema_or_array
    {"", &kOrBool},        // schema_or_bool
    {"", &kOrStrings},     // schema_or_strings
    {"object"},            // message: by reference, see write_value()
}};
static_assert(kScalarForms.size() == static_cast<std::size_t>(Scalar::message) + 1);

constexpr const ScalarDefinition* kScalarDefinitions[] = {&kQuantity, &kIntOrString,  &kTime, &kMicroTime,
                                                          &kFieldsV1, &kRawExtension, &kJson, &kOrArray,
                                                          &kOrBool,   &kOrStrings,    &kPatch};

const ScalarForm& form_of(const Field& field) { return kScalarForms[static_cast<std::size_t>(field.scalar())]; }

std::string_view strategy_text(PatchStrategy strategy) {
  switch (strategy) {
    case PatchStrategy::none:
      return "";
    case PatchStrategy::merge:
      return "merge";
    case PatchStrategy::replace:
      return "replace";
    case PatchStrategy::retain_keys:
      return "retainKeys";
    case PatchStrategy::merge_retain_keys:
      return "merge,retainKeys";
  }
  return "";
}

constexpr std::string_view kListTypeTexts[] = {"", "atomic", "set", "map"};
constexpr std::string_view kMapTypeTexts[] = {"", "atomic", "granular"};

/// The definition that one value of the field refers to; "" when it is written in place.
std::string_view reference_of(const Field& field) {
  if (field.scalar() == Scalar::message) return field.type().name();
  const ScalarForm& form = form_of(field);
  return form.definition ? form.definition->name : std::string_view();
}

void write_plain_members(JsonWriter& json, const Field& field, OpenApiDialect dialect) {
  json.member("type", form_of(field).type);
  if (!field.format().empty()) json.member("format", field.format());
  // Enums are v3's: kubectl explain shows them. v2 is kept as small as it can be.
  if (dialect == OpenApiDialect::v3 && !field.enum_values().empty()) json.key("enum").texts(field.enum_values());
}

/// One value of the field, without its list or map.
void write_value(JsonWriter& json, const Field& field, OpenApiDialect dialect) {
  std::string_view reference = reference_of(field);
  if (!reference.empty()) return write_reference(json, reference, dialect);
  json.object([&] { write_plain_members(json, field, dialect); });
}

void write_items(JsonWriter& json, const Field& field, OpenApiDialect dialect) {
  json.member("type", "array").key("items");
  write_value(json, field, dialect);
}

void write_entries(JsonWriter& json, const Field& field, OpenApiDialect dialect) {
  json.member("type", "object").key("additionalProperties");
  if (!field.map_of_lists()) return write_value(json, field, dialect);
  json.object([&] { write_items(json, field, dialect); });
}

/// The field is atomic because its type is, which the type's definition says.
bool atomic_by_type(const Field& field) {
  return field.map_type() == MapType::atomic && field.scalar() == Scalar::message && field.type().atomic();
}

void write_extensions(JsonWriter& json, const Field& field) {
  if (!field.list_map_keys().empty()) json.key("x-kubernetes-list-map-keys").texts(field.list_map_keys());
  if (field.list_type() != ListType::none)
    json.member("x-kubernetes-list-type", kListTypeTexts[static_cast<int>(field.list_type())]);
  if (field.map_type() != MapType::none && !atomic_by_type(field))
    json.member("x-kubernetes-map-type", kMapTypeTexts[static_cast<int>(field.map_type())]);
  if (!field.patch_merge_key().empty()) json.member("x-kubernetes-patch-merge-key", field.patch_merge_key());
  if (field.patch_strategy() != PatchStrategy::none)
    json.member("x-kubernetes-patch-strategy", strategy_text(field.patch_strategy()));
}

/// A reference with facts beside it: OpenAPI 3.0 ignores members next to $ref, so the reference goes into allOf.
void write_referring_members(JsonWriter& json, const Field& field, OpenApiDialect dialect) {
  if (dialect == OpenApiDialect::v3)
    json.key("allOf").array([&] { write_reference(json, reference_of(field), dialect); });
  else
    json.member("$ref", "#/definitions/" + std::string(reference_of(field)));
}

/// Of fields that all objects have, since kubectl explain shows them with any custom resource; those of the other
/// built-in types are left out.
struct FieldText {
  std::string_view name, text;
};
constexpr FieldText kObjectMetaTexts[] = {
    {"annotations", "Annotations are texts by name that tools and people keep with the object; no selector sees them."},
    {"creationTimestamp", "CreationTimestamp is a timestamp of the moment when the server made the object. Read-only."},
    {"deletionGracePeriodSeconds",
     "How many seconds the object had to end by itself when its deletion began. Read-only."},
    {"deletionTimestamp", "When the object will be gone, or when nothing but its finalizers holds it. Read-only."},
    {"finalizers", "Names of those who must agree before the object goes; the last one to leave lets it go."},
    {"generateName", "The beginning of a name that the server completes, when there is no name."},
    {"generation", "A number that grows with each change of what is wanted of the object. Read-only."},
    {"labels", "Labels are texts by name that selectors go by."},
    {"managedFields", "Who owns which fields; server-side apply goes by it."},
    {"name", "The name of the object, which is unique among those of its kind in its namespace."},
    {"namespace", "The namespace that the object is in. It cannot be changed."},
    {"ownerReferences", "The objects that this one belongs to: when they all have gone, it is collected."},
    {"resourceVersion",
     "The version of the object as it is stored, for watches and for changes that want no other one before."},
    {"selfLink", "No longer set."},
    {"uid", "What tells the object apart from all others at all times. Read-only."}};

std::string description_of(Type owner, const Field& field, const HostTexts* host) {
  if (host != nullptr)
    if (auto text = host->of(owner.name(), field.name()); !text.empty()) return text;
  if (owner.name() != kObjectMetaType) return {};
  const auto known = std::ranges::find(kObjectMetaTexts, field.name(), &FieldText::name);
  return std::string(known == std::end(kObjectMetaTexts) ? std::string_view() : known->text);
}

void write_property(JsonWriter& json, Type owner, const Field& field, OpenApiDialect dialect, const HostTexts* host) {
  json.object([&] {
    if (const auto text = description_of(owner, field, host); !text.empty()) json.member("description", text);
    if (field.map())
      write_entries(json, field, dialect);
    else if (field.repeated())
      write_items(json, field, dialect);
    else if (!reference_of(field).empty())
      write_referring_members(json, field, dialect);
    else
      write_plain_members(json, field, dialect);
    if (dialect == OpenApiDialect::v3 && !field.default_json().empty()) json.key("default").raw(field.default_json());
    write_extensions(json, field);
  });
}

template <class Visit>
void for_each_property(Type type, Visit visit) {
  for (std::size_t i = 0; i < type.field_count(); ++i) {
    Field field = type.field_at(i);
    if (field.inlined())
      for_each_property(field.type(), visit);
    else
      visit(field);
  }
}

void write_group_version_kind(JsonWriter& json, std::string_view group, std::string_view version,
                              std::string_view kind) {
  json.object([&] { json.member("group", group).member("kind", kind).member("version", version); });
}

/// Every served group version, for kinds that all of them have.
void write_in_every_group(JsonWriter& json, const Registry& kinds, std::string_view kind) {
  for (const schema::GroupFacts& group : kinds.groups())
    for (std::string_view version : group.served) write_group_version_kind(json, group.name, version, kind);
}

void write_kinds(JsonWriter& json, const Registry& kinds, Type type) {
  std::vector<schema::KindFacts> named;
  for (std::size_t i = 0; i < kinds.kind_count(); ++i) {
    schema::KindFacts facts = kinds.kind_at(i);
    if (facts.type == type) named.push_back(facts);
  }
  if (named.empty()) return;
  json.key("x-kubernetes-group-version-kind").array([&] {
    for (const schema::KindFacts& facts : named) {
      if (facts.group == "*")
        write_in_every_group(json, kinds, facts.kind);
      else
        write_group_version_kind(json, facts.group, facts.version, facts.kind);
    }
  });
}

/// Of a kind whose maker says himself what it looks like.
const CustomSchema* custom_schema(const Registry& kinds, Type type) {
  if (!type.open()) return nullptr;
  for (const schema::ResourceFacts& facts : kinds.resources())
    if (facts.custom && facts.type == type) return kinds.entry<CustomSchema>(facts);
  return nullptr;
}

void write_type(JsonWriter& json, const Registry& kinds, Type type, OpenApiDialect dialect, const HostTexts* host) {
  if (const CustomSchema* custom = custom_schema(kinds, type)) {
    json.object([&] {
      custom->write_members(json, dialect);
      write_kinds(json, kinds, type);
    });
    return;
  }
  json.object([&] {
    if (const auto text = host ? host->of(type.name()) : ""; !text.empty()) json.member("description", text);
    json.member("type", "object");
    std::vector<std::string_view> required;
    bool any = false;
    for_each_property(type, [&](const Field& field) {
      any = true;
      if (field.required()) required.push_back(field.name());
    });
    if (!required.empty()) json.key("required").texts(required);
    if (any)
      json.key("properties").object([&] {
        for_each_property(type, [&](const Field& field) {
          json.key(field.name());
          write_property(json, type, field, dialect, host);
        });
      });
    if (type.atomic()) json.member("x-kubernetes-map-type", "atomic");
    if (type.open()) json.member("x-kubernetes-preserve-unknown-fields", true);
    write_kinds(json, kinds, type);
  });
}

class Reachable {
 public:
  void visit(Type type) {
    if (!names_.insert(type.name()).second) return;
    for_each_property(type, [&](const Field& field) {
      if (field.scalar() == Scalar::message)
        visit(field.type());
      else if (const ScalarDefinition* definition = form_of(field).definition)
        names_.insert(definition->name);
    });
  }
  std::vector<std::string_view> names() const { return {names_.begin(), names_.end()}; }

 private:
  std::set<std::string_view> names_{kPatchDefinition};
};

}  // namespace

std::vector<std::string_view> reachable_definitions(const std::vector<Type>& roots) {
  Reachable reachable;
  for (Type root : roots)
    if (root) reachable.visit(root);
  return reachable.names();
}

void write_definition(JsonWriter& json, const Registry& kinds, std::string_view name, OpenApiDialect dialect,
                      const HostTexts* host) {
  auto found = std::find_if(std::begin(kScalarDefinitions), std::end(kScalarDefinitions),
                            [&](const ScalarDefinition* definition) { return definition->name == name; });
  if (found == std::end(kScalarDefinitions)) return write_type(json, kinds, kinds.find_type(name), dialect, host);
  const std::string_view content = dialect == OpenApiDialect::v2 ? (*found)->v2 : (*found)->v3;
  const std::string text = host ? host->of(name) : "";
  if (text.empty()) return void(json.raw(content));
  json.object([&] {
    json.member("description", text);
    if (const auto members = content.substr(1, content.size() - 2); !members.empty()) json.raw(members);
  });
}

void write_reference(JsonWriter& json, std::string_view name, OpenApiDialect dialect) {
  std::string_view place = dialect == OpenApiDialect::v2 ? "#/definitions/" : "#/components/schemas/";
  json.object([&] { json.member("$ref", std::string(place) + std::string(name)); });
}

void write_what_it_does(JsonWriter& json, const ApiOperation& operation) {
  json.member("x-kubernetes-action", operation.action);
  json.key("x-kubernetes-group-version-kind").object([&] {
    json.member("group", operation.group).member("kind", operation.kind).member("version", operation.version);
  });
}

}  // namespace sublet::apiserver
