#include <algorithm>
#include <cmath>

#include "sublet/patches/cel_value.h"
#include "sublet/schema/engine.h"

namespace sublet::patches::cel {

namespace {

const Type kUnknownType{
    .kind = Kind::unknown, .name = {}, .parameters = {}, .fields = {}, .max_elements = std::nullopt, .list_keys = {}};

const char* go_kind(const schema::Value& node) {
  switch (node.kind()) {
    case schema::NodeKind::null:
      return "<nil>";
    case schema::NodeKind::boolean:
      return "bool";
    case schema::NodeKind::integer:
      return "int64";
    case schema::NodeKind::floating:
      return "float64";
    case schema::NodeKind::string:
      return "string";
    case schema::NodeKind::array:
      return "[]interface {}";
    case schema::NodeKind::object:
      return "map[string]interface {}";
  }
  return "";
}

Value text_by_type(const schema::Value& node, const Type& type) {
  if (!node.is_string()) return Value::error(std::string("invalid data, expected string, got ") + go_kind(node));
  const std::string_view text = node.text();
  if (type.kind == Kind::string) return Value::borrowed(text);
  if (type.kind == Kind::bytes) {
    auto bytes = schema::base64_decode(text);
    return bytes ? Value::bytes(std::move(*bytes))
                 : Value::error("Invalid byte formatted string " + std::string(text) + ": illegal base64 data");
  }
  if (type.kind == Kind::duration) {
    const auto duration = parse_duration(text);
    return duration ? Value::duration(*duration) : Value::error("Invalid duration " + std::string(text));
  }
  const bool date = type.name == "date";
  const auto moment = parse_timestamp(date ? std::string(text) + "T00:00:00Z" : std::string(text));
  if (moment) return Value::timestamp(*moment);
  return Value::error(std::string(date ? "Invalid date formatted string " : "Invalid date-time formatted string ") +
                      std::string(text));
}

Value by_type(const schema::Value& node, const Type& type) {
  switch (type.kind) {
    case Kind::boolean:
      if (node.is_boolean()) return Value::boolean(node.boolean());
      return Value::error(std::string("invalid data, expected bool, got ") + go_kind(node));
    case Kind::integer:
      if (node.is_integer()) return Value::integer(node.integer());
      return Value::error(std::string("invalid data, expected int, got ") + go_kind(node));
    case Kind::floating:
      if (node.is_number()) return Value::floating(node.floating());
      return Value::error(std::string("invalid data, expected float, got ") + go_kind(node));
    case Kind::string:
    case Kind::bytes:
    case Kind::timestamp:
    case Kind::duration:
      return text_by_type(node, type);
    default:
      break;
  }
  if (type.int_or_string && !node.is_integer() && !node.is_string())
    return Value::error("invalid data, expected XIntOrString value to be either a string or integer");
  return Value::of(node);
}

int order_from(bool less, bool greater) { return less ? -1 : (greater ? 1 : 0); }

std::optional<int> compare_doubles(double a, double b) {
  if (std::isnan(a) || std::isnan(b)) return std::nullopt;
  return order_from(a<b, a> b);
}

std::optional<int> reversed_order(std::optional<int> order) { return order ? std::optional(-*order) : order; }

std::optional<int> compare_numbers(const Value& a, const Value& b) {
  if (a.is(Kind::floating)) {
    // Through double, as the specification has it, though it loses digits beyond 2^53.
    if (b.is(Kind::integer)) return compare_doubles(a.as_double(), static_cast<double>(b.as_int()));
    if (b.is(Kind::uinteger)) return compare_doubles(a.as_double(), static_cast<double>(b.as_uint()));
    return compare_doubles(a.as_double(), b.as_double());
  }
  if (b.is(Kind::floating)) return reversed_order(compare_numbers(b, a));
  if (a.is(Kind::integer) && b.is(Kind::integer)) return order_from(a.as_int() < b.as_int(), a.as_int() > b.as_int());
  if (a.is(Kind::uinteger) && b.is(Kind::uinteger))
    return order_from(a.as_uint() < b.as_uint(), a.as_uint() > b.as_uint());
  if (a.is(Kind::uinteger)) return reversed_order(compare_numbers(b, a));
  if (a.as_int() < 0) return -1;
  const auto left = static_cast<std::uint64_t>(a.as_int());
  return order_from(left<b.as_uint(), left> b.as_uint());
}

List items_in(const Value& list) {
  List items;
  items.reserve(list.size());
  list.each_item([&](const Value& item) {
    items.push_back(item);
    return true;
  });
  return items;
}

bool same_keys(const Value& a, const Value& b, const std::vector<std::string>& keys) {
  for (const std::string& key : keys)
    if (!a.node()[key].equals(b.node()[key])) return false;
  return true;
}

// x-kubernetes-list-type set and map: the order does not matter.
bool equal_unordered(const Value& a, const Value& b, std::size_t& work) {
  const Type& type = *a.container_type();
  const List left = items_in(a);
  bool same = true;
  b.each_item([&](const Value& item) {
    const auto partner = std::find_if(left.begin(), left.end(), [&](const Value& other) {
      ++work;
      return type.list_form == ListForm::set ? equal(other, item, work) : same_keys(other, item, type.list_keys);
    });
    return same = partner != left.end() && equal(*partner, item, work);
  });
  return same;
}

bool equal_lists(const Value& a, const Value& b, std::size_t& work) {
  if (a.size() != b.size()) return false;
  const Type* type = a.container_type();
  if (type && type->list_form != ListForm::atomic) return equal_unordered(a, b, work);
  const List right = items_in(b);
  std::size_t index = 0;
  bool same = true;
  a.each_item([&](const Value& item) { return same = equal(item, right[index++], work); });
  return same;
}

// Objects by their schema: what the type does not know is compared as it stands, when both have it.
bool equal_objects(const Value& a, const Value& b, std::size_t& work) {
  for (const schema::Value member : a.node()) {
    work += 1 + b.size() / 16;
    const schema::Value other = b.node()[member.key()];
    const TypeField* field = a.container_type()->property(member.key());
    if (!field) {
      if (other && !member.equals(other)) return false;
      continue;
    }
    if (member.is_null() != (!other || other.is_null())) return false;
    if (!member.is_null() && !equal(Value::of(member, field->type.get()), Value::of(other, field->type.get()), work))
      return false;
  }
  return true;
}

bool equal_maps(const Value& a, const Value& b, std::size_t& work) {
  if (a.size() != b.size()) return false;
  const Type* type = a.container_type();
  if (type && type->kind == Kind::object && type == b.container_type()) return equal_objects(a, b, work);
  bool same = true;
  a.each_entry([&](const Value& key, const Value& value) {
    work += b.size() / 16;  // what the look-up costs
    const auto other = b.find(key);
    return same = other && equal(value, *other, work);
  });
  return same;
}

}  // namespace

Value::Value(Kind kind, std::string text) {
  auto owner = std::make_shared<const std::string>(std::move(text));
  const std::string_view view = *owner;
  data_ = Text{kind, std::move(owner), view};
}

Value Value::optional_of(Value value) { return Value(std::make_shared<const std::optional<Value>>(std::move(value))); }

Value Value::optional_none() { return Value(std::make_shared<const std::optional<Value>>()); }

Value Value::error(std::string message, int offset) {
  return Value(std::make_shared<const Failure>(Failure{std::move(message), offset}));
}

Value Value::at_offset(int offset) const {
  if (!is_error() || failure().offset >= 0) return *this;
  return error(failure().message, offset);
}

Value Value::of(const schema::Value& node) {
  switch (node.kind()) {
    case schema::NodeKind::null:
      return {};
    case schema::NodeKind::boolean:
      return boolean(node.boolean());
    case schema::NodeKind::integer:
      return integer(node.integer());
    case schema::NodeKind::floating:
      return floating(node.floating());
    case schema::NodeKind::string:
      return borrowed(node.text());
    case schema::NodeKind::array:
    case schema::NodeKind::object:
      return Value(Node{node, nullptr});
  }
  return {};
}

Value Value::of(const schema::Value& node, const Type* type) {
  if (!type) return Value(Node{node, &kUnknownType});
  if (!node || node.is_null()) {
    if (type->nullable || type->kind == Kind::dyn) return {};
    return error("invalid data, got null for schema with nullable=false");
  }
  if (type->kind == Kind::list) {
    if (node.is_array()) return Value(Node{node, type});
    return error("invalid data, expected an array for the provided schema with type=array");
  }
  if (type->kind == Kind::map || type->kind == Kind::object) {
    if (node.is_object()) return Value(Node{node, type});
    return error("invalid data, expected a map for the provided schema with type=object");
  }
  return by_type(node, *type);
}

Kind Value::kind() const {
  struct Visitor {
    Kind operator()(std::monostate) const { return Kind::null; }
    Kind operator()(bool) const { return Kind::boolean; }
    Kind operator()(std::int64_t) const { return Kind::integer; }
    Kind operator()(std::uint64_t) const { return Kind::uinteger; }
    Kind operator()(double) const { return Kind::floating; }
    Kind operator()(const Text& text) const { return text.kind; }
    Kind operator()(const Timestamp&) const { return Kind::timestamp; }
    Kind operator()(const Duration&) const { return Kind::duration; }
    Kind operator()(const Items&) const { return Kind::list; }
    Kind operator()(const Shared<Map>&) const { return Kind::map; }
    Kind operator()(const Node& over) const {
      if (over.type == &kUnknownType) return Kind::unknown;
      return over.node.is_array() ? Kind::list : Kind::map;
    }
    Kind operator()(const Quantity&) const { return Kind::quantity; }
    Kind operator()(const Shared<Opaque>& value) const { return value->kind(); }
    Kind operator()(const Shared<std::optional<Value>>&) const { return Kind::optional; }
    Kind operator()(const Shared<Failure>&) const { return Kind::error; }
  };
  return std::visit(Visitor{}, data_);
}

bool Value::is_numeric() const {
  const Kind k = kind();
  return k == Kind::integer || k == Kind::uinteger || k == Kind::floating;
}

const std::optional<Value>& Value::as_optional() const { return *std::get<Shared<std::optional<Value>>>(data_); }

schema::Value Value::node() const {
  const auto* over = std::get_if<Node>(&data_);
  return over ? over->node : schema::Value();
}

const Type* Value::container_type() const {
  if (const auto* over = std::get_if<Node>(&data_)) return over->type;
  const auto* held = std::get_if<Items>(&data_);
  return held ? held->type : nullptr;
}

bool Value::append_in_place(Value item) {
  auto* held = std::get_if<Items>(&data_);
  if (!held || held->items.use_count() != 1) return false;
  held->items->push_back(std::move(item));
  return true;
}

std::size_t Value::size() const {
  if (const auto* held = std::get_if<Items>(&data_)) return held->items->size();
  if (const auto* entries = std::get_if<Shared<Map>>(&data_)) return (*entries)->size();
  return node().size();
}

Value Value::item(std::size_t index) const {
  if (const auto* held = std::get_if<Items>(&data_)) return (*held->items)[index];
  const Type* type = container_type();
  return type ? of(node().at(index), type->parameters[0].get()) : of(node().at(index));
}

std::optional<Value> Value::find(const Value& key) const {
  if (const auto* entries = std::get_if<Shared<Map>>(&data_)) {
    std::size_t work = 0;
    for (const auto& [name, value] : **entries)
      if (equal(name, key, work)) return value;
    return std::nullopt;
  }
  if (!key.is(Kind::string)) return std::nullopt;
  const Type* type = container_type();
  if (type && type->kind == Kind::object) {
    const TypeField* field = type->field(key.as_text());
    if (!field) return std::nullopt;
    const schema::Value member = node()[field->property];
    if (!member || member.is_null()) return std::nullopt;  // a field that is null is as one that is not there
    return of(member, field->type.get());
  }
  const schema::Value member = node()[key.as_text()];
  if (!member) return std::nullopt;
  return type ? of(member, type->parameters[1].get()) : of(member);
}

bool equal(const Value& a, const Value& b, std::size_t& work) {
  ++work;
  if (a.is_numeric() && b.is_numeric()) {
    const auto order = compare_numbers(a, b);
    return order && *order == 0;
  }
  if (a.kind() != b.kind()) return false;
  switch (a.kind()) {
    case Kind::null:
      return true;
    case Kind::boolean:
      return a.as_bool() == b.as_bool();
    case Kind::string:
    case Kind::bytes:
    case Kind::type:
      work += std::min(a.as_text().size(), b.as_text().size()) / 64;
      return a.as_text() == b.as_text();
    case Kind::list:
      return equal_lists(a, b, work);
    case Kind::map:
      return equal_maps(a, b, work);
    case Kind::unknown:
      return a.node().equals(b.node());
    case Kind::optional: {
      const auto& left = a.as_optional();
      const auto& right = b.as_optional();
      return left.has_value() == right.has_value() && (!left || equal(*left, *right, work));
    }
    case Kind::timestamp:
    case Kind::duration:
    case Kind::quantity:
      return compare(a, b) == 0;
    case Kind::error:
      return false;
    default:
      return a.as_opaque().equals(b.as_opaque());
  }
}

std::optional<int> compare(const Value& a, const Value& b) {
  if (a.is_numeric() && b.is_numeric()) return compare_numbers(a, b);
  if (a.kind() != b.kind()) return std::nullopt;
  switch (a.kind()) {
    case Kind::boolean:
      return order_from(a.as_bool() < b.as_bool(), a.as_bool() > b.as_bool());
    case Kind::string:
    case Kind::bytes: {
      const int order = a.as_text().compare(b.as_text());  // UTF-8 sorts bytewise as by code point
      return order_from(order<0, order> 0);
    }
    case Kind::timestamp: {
      const Timestamp left = a.as_timestamp(), right = b.as_timestamp();
      if (left.seconds != right.seconds) return order_from(left.seconds < right.seconds, true);
      return order_from(left.nanos<right.nanos, left.nanos> right.nanos);
    }
    case Kind::duration:
      return order_from(a.as_duration().nanos<b.as_duration().nanos, a.as_duration().nanos> b.as_duration().nanos);
    case Kind::quantity:
      return order_from(a.as_quantity().nanos<b.as_quantity().nanos, a.as_quantity().nanos> b.as_quantity().nanos);
    default:
      return std::nullopt;
  }
}

namespace {

Outcome write_container(const Value& value, schema::Value out) {
  if (const schema::Value node = value.node()) {
    out.set(node);
    return {};
  }
  Outcome done;
  if (value.is(Kind::list)) {
    out.make_array();
    value.each_item([&](const Value& item) { return (done = write(item, out.push(false))).has_value(); });
    return done;
  }
  out.make_object();
  value.each_entry([&](const Value& key, const Value& entry) {
    done = key.is(Kind::string)
               ? write(entry, out.put(key.as_text(), false))
               : Outcome(bad_request("JSON cannot hold a map key of type " + std::string(kind_name(key.kind()))));
    return done.has_value();
  });
  return done;
}

}  // namespace

Outcome write(const Value& value, schema::Value out) {
  switch (value.kind()) {
    case Kind::null:
      out.set_null();
      return {};
    case Kind::boolean:
      out.set(value.as_bool());
      return {};
    case Kind::integer:
      out.set(value.as_int());
      return {};
    case Kind::uinteger:
      if (value.as_uint() <= INT64_MAX)
        out.set(static_cast<std::int64_t>(value.as_uint()));
      else
        out.set(static_cast<double>(value.as_uint()));
      return {};
    case Kind::floating:
      if (!std::isfinite(value.as_double())) return bad_request("JSON cannot hold NaN or infinity");
      out.set(value.as_double());
      return {};
    case Kind::string:
      out.set(value.as_text());
      return {};
    case Kind::bytes:
      out.set(schema::base64_encode(value.as_text()));
      return {};
    case Kind::timestamp:
      out.set(timestamp_text(value.as_timestamp()));
      return {};
    case Kind::duration:
      out.set(duration_text(value.as_duration()));
      return {};
    case Kind::quantity:
      out.set(schema::quantity_from_nanos(value.as_quantity().nanos));
      return {};
    case Kind::url:
    case Kind::ip:
    case Kind::cidr:
    case Kind::semver:
      out.set(value.as_opaque().text());
      return {};
    case Kind::optional:
      if (!value.as_optional()) return bad_request("the value is optional.none()");
      return write(*value.as_optional(), out);
    case Kind::list:
    case Kind::map:
    case Kind::unknown:
      return write_container(value, out);
    case Kind::error:
      return bad_request(value.failure().message);
    default:
      return bad_request("JSON cannot hold a " + std::string(kind_name(value.kind())));
  }
}

std::string debug_text(const Value& value) {
  if (value.is_error()) return "error: " + value.failure().message;
  if (value.is(Kind::type)) return std::string(value.as_text());
  if (value.is(Kind::optional) && !value.as_optional()) return "optional.none()";
  schema::Document document;
  if (auto done = write(value, document.root()); !done) return "<" + done.error().message + ">";
  return document.to_json();
}

std::string go_text(const Value& value) {
  switch (value.kind()) {
    case Kind::string:
    case Kind::type:
      return std::string(value.as_text());
    case Kind::floating:
      return double_text(value.as_double());
    case Kind::timestamp:
      return timestamp_text(value.as_timestamp());
    case Kind::duration:
      return duration_text(value.as_duration());
    case Kind::list:
    case Kind::map: {
      std::string text(value.is(Kind::list) ? "[" : "{");
      const char* separator = "";
      value.each_item([&](const Value& item) {
        text += separator + go_text(item);
        separator = ", ";
        return true;
      });
      value.each_entry([&](const Value& key, const Value& entry) {
        text += separator + go_text(key) + ": " + go_text(entry);
        separator = ", ";
        return true;
      });
      return text + (value.is(Kind::list) ? "]" : "}");
    }
    default:
      return debug_text(value);
  }
}

}  // namespace sublet::patches::cel
