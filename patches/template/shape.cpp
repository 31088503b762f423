#include "patches/template/shape.h"

#include <algorithm>
#include <charconv>

#include "sublet/base/nearest.h"
#include "sublet/kube/selectors.h"
#include "sublet/schema/engine.h"
#include "sublet/schema/registry.h"

namespace sublet::patches {

using cel::Kind;
using schema::Field;
using schema::Registry;
using schema::Scalar;
using schema::Type;

namespace {

const schema::ResourceFacts* resource_of_kind(std::string_view kind) {
  for (const schema::ResourceFacts& resource : Registry::builtin()->resources())
    if (resource.kind == kind && resource.version == resource.storage_version) return &resource;
  for (const schema::ResourceFacts& resource : Registry::builtin()->resources())
    if (resource.kind == kind) return &resource;
  return nullptr;
}

void collect_fields(Type type, std::vector<std::string_view>& names) {
  for (std::size_t i = 0; i < type.field_count(); ++i) {
    const Field field = type.field_at(i);
    if (field.inlined() && field.name().empty())
      collect_fields(field.type(), names);
    else
      names.push_back(field.name());
  }
}

enum class Wants : std::uint8_t { anything, text, boolean, integer, number, map };

Wants wants(Scalar scalar) {
  switch (scalar) {
    case Scalar::string:
    case Scalar::bytes:
    case Scalar::quantity:
    case Scalar::time:
    case Scalar::micro_time:
    case Scalar::duration:
      return Wants::text;
    case Scalar::boolean:
      return Wants::boolean;
    case Scalar::int32:
    case Scalar::int64:
      return Wants::integer;
    case Scalar::floating:
      return Wants::number;
    case Scalar::message:
      return Wants::map;
    default:
      return Wants::anything;
  }
}

}  // namespace

bool Shape::known_kind(std::string_view kind) { return resource_of_kind(kind) != nullptr; }

std::vector<std::string_view> Shape::kinds() {
  std::vector<std::string_view> names;
  for (const schema::ResourceFacts& resource : Registry::builtin()->resources())
    if (std::find(names.begin(), names.end(), resource.kind) == names.end()) names.push_back(resource.kind);
  return names;
}

Shape Shape::of_kind(std::string_view kind) {
  Shape shape;
  const auto* resource = resource_of_kind(kind);
  if (resource == nullptr) return shape;
  shape.form_ = Form::record;
  shape.type_ = resource->type;
  return shape;
}

Shape Shape::of_scalar(const Field& field) {
  Shape shape;
  if (field.scalar() == Scalar::message) {
    shape.form_ = Form::record;
    shape.type_ = field.type();
  } else if (wants(field.scalar()) != Wants::anything || field.scalar() == Scalar::int_or_string) {
    shape.form_ = Form::scalar;
    shape.field_ = field;
  }
  return shape;
}

Shape Shape::of_field(const Field& field) {
  Shape shape;
  if (field.map_of_lists()) return shape;
  if (!field.map() && !field.repeated()) return of_scalar(field);
  shape.form_ = field.map() ? Form::map : Form::list;
  shape.field_ = field;
  return shape;
}

std::optional<Shape> Shape::member(std::string_view name) const {
  switch (form_) {
    case Form::free:
      return Shape();
    case Form::map:
      return element();
    case Form::record: {
      const auto field = type_.field(name);
      if (field) {
        Shape shape = of_field(*field);
        if (shape.form_ == Form::map) shape.keys_ = keys_of(type_, name);
        return shape;
      }
      // TypeMeta belongs to every object, whether the table lists it or not.
      return name == "apiVersion" || name == "kind" ? std::optional(Shape()) : std::nullopt;
    }
    case Form::list:
    case Form::scalar:
      break;
  }
  return std::nullopt;
}

std::optional<Shape> Shape::element() const {
  if (form_ == Form::free) return Shape();
  if (form_ != Form::map && form_ != Form::list) return std::nullopt;
  Shape shape = of_scalar(*field_);
  shape.keys_ = keys_;
  return shape;
}

std::vector<std::string_view> Shape::field_names() const {
  std::vector<std::string_view> names;
  if (form_ == Form::record) collect_fields(type_, names);
  return names;
}

bool Shape::textual() const { return form_ == Form::scalar && wants(field_->scalar()) == Wants::text; }

std::string_view Shape::mismatch(Kind kind) const {
  if (kind == Kind::dyn || kind == Kind::optional) return {};
  const bool number = kind == Kind::integer || kind == Kind::uinteger;
  switch (form_) {
    case Form::free:
      return {};
    case Form::record:
    case Form::map:
      return kind == Kind::map ? "" : "a map";
    case Form::list:
      return kind == Kind::list ? "" : "a list";
    case Form::scalar:
      break;
  }
  switch (wants(field_->scalar())) {
    case Wants::text:  // scalars are written as text
      return kind == Kind::list || kind == Kind::map || kind == Kind::null ? "a string" : "";
    case Wants::boolean:
      return kind == Kind::boolean ? "" : "true or false";
    case Wants::integer:
      return number ? "" : "an integer";
    case Wants::number:
      return number || kind == Kind::floating ? "" : "a number";
    case Wants::map:
    case Wants::anything:
      break;
  }
  return kind == Kind::list || kind == Kind::map ? "a scalar" : "";
}

// Maps whose keys and values have the syntax of labels; a row with annotations has rules for the keys alone.
Shape::Keys Shape::keys_of(Type owner, std::string_view field) {
  struct Row {
    std::string_view type, field;
    Keys keys;
  };
  constexpr Row kRows[] = {{"ObjectMeta", "labels", Keys::labels},
                           {"ObjectMeta", "annotations", Keys::annotations},
                           {"LabelSelector", "matchLabels", Keys::labels},
                           {"PodSpec", "nodeSelector", Keys::labels},
                           {"ServiceSpec", "selector", Keys::labels}};
  for (const Row& row : kRows)
    if (row.type == owner.short_name() && row.field == field) return row.keys;
  return Keys::free;
}

std::string Shape::key_problem(std::string_view name) const {
  if (form_ != Form::map || keys_ == Keys::free) return {};
  const std::string wrong = kube::check_label_key(name);
  return wrong.empty() ? "" : '"' + std::string(name) + "\" is no valid key: " + wrong;
}

std::vector<std::string_view> Shape::required_names() const {
  std::vector<std::string_view> names;
  if (form_ != Form::record) return names;
  for (std::size_t i = 0; i < type_.field_count(); ++i) {
    const Field field = type_.field_at(i);
    // Of lists and numbers the table does not know whether none and 0 will do.
    if (field.required() && field.scalar() == Scalar::string && !field.repeated() && !field.map() &&
        field.default_json().empty())
      names.push_back(field.name());
  }
  return names;
}

std::string Shape::text_problem(std::string_view text) const {
  if (form_ != Form::scalar) return {};
  const std::string quoted = '"' + std::string(text) + '"';
  if (keys_ == Keys::labels)
    if (const std::string wrong = kube::check_label_value(text); !wrong.empty())
      return quoted + " is no valid value of a label: " + wrong;
  if (field_->scalar() == Scalar::int32) {
    std::int32_t number = 0;
    const auto parsed = std::from_chars(text.data(), text.data() + text.size(), number);
    if (parsed.ec == std::errc::result_out_of_range) return quoted + " does not fit into 32 bits";
  }
  if (field_->scalar() == Scalar::quantity && !schema::canonical_quantity(text))
    return quoted + " is no quantity; quantities look like 2, 500m or 1Gi";
  const schema::StringList allowed = field_->enum_values();
  if (allowed.empty() || text.empty() || allowed.contains(text)) return {};
  const std::vector<std::string_view> names(allowed.begin(), allowed.end());
  std::string known;
  for (const std::string_view name : names) known.append(known.empty() ? "" : ", ").append(name);
  return quoted + " is not one of " + known + suggestion(text, names);
}

}  // namespace sublet::patches
