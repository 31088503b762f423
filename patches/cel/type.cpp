#include <algorithm>
#include <array>

#include "sublet/patches/cel_type.h"

namespace sublet::patches::cel {

namespace {

constexpr std::string_view kKindNames[] = {
    "null_type",
    "bool",
    "int",
    "uint",
    "double",
    "string",
    "bytes",
    "google.protobuf.Timestamp",
    "google.protobuf.Duration",
    "list",
    "map",
    "type",
    "optional_type",
    "kubernetes.Quantity",
    "kubernetes.URL",
    "net.IP",
    "net.CIDR",
    "kubernetes.Semver",
    "kubernetes.NamedFormat",
    "kubernetes.authorization.Authorizer",
    "kubernetes.authorization.PathCheck",
    "kubernetes.authorization.GroupCheck",
    "kubernetes.authorization.ResourceCheck",
    "kubernetes.authorization.Decision",
    "unknown",
    "error",
    "dyn",
    "object",
    "parameter",
    "function",
};
static_assert(std::size(kKindNames) == static_cast<std::size_t>(Kind::function) + 1);

std::shared_ptr<Type> make(Kind kind, std::vector<TypeRef> parameters = {}) {
  auto type = std::make_shared<Type>();
  type->kind = kind;
  type->parameters = std::move(parameters);
  return type;
}

std::array<TypeRef, std::size(kKindNames)> plain_types() {
  std::array<TypeRef, std::size(kKindNames)> types;
  const TypeRef dyn = make(Kind::dyn);
  for (std::size_t i = 0; i < types.size(); ++i) {
    const auto kind = static_cast<Kind>(i);
    std::vector<TypeRef> parameters;
    if (kind == Kind::list || kind == Kind::optional || kind == Kind::type) parameters = {dyn};
    if (kind == Kind::map) parameters = {dyn, dyn};
    types[i] = kind == Kind::dyn ? dyn : make(kind, std::move(parameters));
  }
  return types;
}

std::string head_text(const Type& type) {
  switch (type.kind) {
    case Kind::timestamp:
      return "timestamp";
    case Kind::duration:
      return "duration";
    case Kind::null:
      return "null";
    case Kind::error:
      return "!error!";
    case Kind::object:
    case Kind::parameter:
      return type.name;
    case Kind::dyn:
      if (!type.name.empty()) return type.name;
      [[fallthrough]];
    default:
      return std::string(kind_name(type.kind));
  }
}

}  // namespace

std::string_view kind_name(Kind kind) { return kKindNames[static_cast<std::size_t>(kind)]; }

const TypeField* Type::field(std::string_view wanted) const {
  const auto found = std::lower_bound(fields.begin(), fields.end(), wanted,
                                      [](const TypeField& field, std::string_view text) { return field.name < text; });
  return found != fields.end() && found->name == wanted ? &*found : nullptr;
}

const TypeField* Type::property(std::string_view wanted) const {
  const TypeField* same = field(wanted);  // nearly all are written as they are
  if (same && same->property == wanted) return same;
  for (const TypeField& candidate : fields)
    if (candidate.property == wanted) return &candidate;
  return nullptr;
}

TypeRef Type::of(Kind kind) {
  static const auto kPlain = plain_types();
  return kPlain[static_cast<std::size_t>(kind)];
}

TypeRef Type::list(TypeRef item) { return make(Kind::list, {std::move(item)}); }
TypeRef Type::map(TypeRef key, TypeRef value) { return make(Kind::map, {std::move(key), std::move(value)}); }
TypeRef Type::optional(TypeRef what) { return make(Kind::optional, {std::move(what)}); }
TypeRef Type::type_of(TypeRef what) { return make(Kind::type, {std::move(what)}); }

TypeRef Type::parameter(std::string name) {
  auto type = make(Kind::parameter);
  type->name = std::move(name);
  return type;
}

TypeRef Type::object(std::string name, std::vector<TypeField> fields) {
  auto type = make(Kind::object);
  type->name = std::move(name);
  type->fields = std::move(fields);
  std::sort(type->fields.begin(), type->fields.end(),
            [](const TypeField& a, const TypeField& b) { return a.name < b.name; });
  return type;
}

std::string type_text(const Type& type) {
  std::string text = head_text(type);
  if (type.parameters.empty() || (type.kind == Kind::type && type.parameters[0]->kind == Kind::dyn)) return text;
  text += '(';
  for (std::size_t i = 0; i < type.parameters.size(); ++i) text += (i ? ", " : "") + type_text(*type.parameters[i]);
  return text + ')';
}

}  // namespace sublet::patches::cel
