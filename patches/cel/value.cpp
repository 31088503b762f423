#include "patches/cel/value.h"

#include <algorithm>
#include <cmath>

#include "sublet/schema/engine.h"

namespace sublet::patches::cel {

namespace {

constexpr std::string_view kKindNames[] = {"null_type", "bool", "int",  "uint",     "double",        "string", "bytes",
                                           "list",      "map",  "type", "quantity", "optional_type", "error",  "dyn"};

int sign(bool less, bool greater) { return less ? -1 : (greater ? 1 : 0); }

std::optional<int> compare_doubles(double a, double b) {
  if (std::isnan(a) || std::isnan(b)) return std::nullopt;
  return sign(a<b, a> b);
}

std::optional<int> reverse(std::optional<int> order) { return order ? std::optional(-*order) : order; }

std::optional<int> compare_numbers(const Value& a, const Value& b) {
  if (a.is(Kind::floating)) {
    // Through double, as the specification has it, though it loses digits beyond 2^53.
    if (b.is(Kind::integer)) return compare_doubles(a.as_double(), static_cast<double>(b.as_int()));
    if (b.is(Kind::uinteger)) return compare_doubles(a.as_double(), static_cast<double>(b.as_uint()));
    return compare_doubles(a.as_double(), b.as_double());
  }
  if (b.is(Kind::floating)) return reverse(compare_numbers(b, a));
  if (a.is(Kind::integer) && b.is(Kind::integer)) return sign(a.as_int() < b.as_int(), a.as_int() > b.as_int());
  if (a.is(Kind::uinteger) && b.is(Kind::uinteger)) return sign(a.as_uint() < b.as_uint(), a.as_uint() > b.as_uint());
  if (a.is(Kind::uinteger)) return reverse(compare_numbers(b, a));
  if (a.as_int() < 0) return -1;
  const auto left = static_cast<std::uint64_t>(a.as_int());
  return sign(left<b.as_uint(), left> b.as_uint());
}

bool equal_lists(const Value& a, const Value& b, std::size_t& work) {
  if (a.size() != b.size()) return false;
  List right;
  right.reserve(b.size());
  b.each_item([&](const Value& item) {
    right.push_back(item);
    return true;
  });
  std::size_t index = 0;
  bool same = true;
  a.each_item([&](const Value& item) { return same = equal(item, right[index++], work); });
  return same;
}

bool equal_maps(const Value& a, const Value& b, std::size_t& work) {
  if (a.size() != b.size()) return false;
  bool same = true;
  a.each_entry([&](const Value& key, const Value& value) {
    work += b.size() / 16;  // what the look-up costs
    const auto other = b.find(key);
    return same = other && equal(value, *other, work);
  });
  return same;
}

}  // namespace

std::string_view kind_name(Kind kind) { return kKindNames[static_cast<std::size_t>(kind)]; }

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
      return Value(node);
  }
  return {};
}

Kind Value::kind() const {
  struct Visitor {
    Kind operator()(std::monostate) const { return Kind::null; }
    Kind operator()(bool) const { return Kind::boolean; }
    Kind operator()(std::int64_t) const { return Kind::integer; }
    Kind operator()(std::uint64_t) const { return Kind::uinteger; }
    Kind operator()(double) const { return Kind::floating; }
    Kind operator()(const Text& text) const { return text.kind; }
    Kind operator()(const Shared<List>&) const { return Kind::list; }
    Kind operator()(const Shared<Map>&) const { return Kind::map; }
    Kind operator()(const schema::Value& node) const { return node.is_array() ? Kind::list : Kind::map; }
    Kind operator()(const Quantity&) const { return Kind::quantity; }
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
  const auto* node = std::get_if<schema::Value>(&data_);
  return node ? *node : schema::Value();
}

std::size_t Value::size() const {
  if (const auto* items = std::get_if<Shared<List>>(&data_)) return (*items)->size();
  if (const auto* entries = std::get_if<Shared<Map>>(&data_)) return (*entries)->size();
  return node().size();
}

Value Value::item(std::size_t index) const {
  if (const auto* items = std::get_if<Shared<List>>(&data_)) return (**items)[index];
  return of(node().at(index));
}

std::optional<Value> Value::find(const Value& key) const {
  if (const auto* entries = std::get_if<Shared<Map>>(&data_)) {
    std::size_t work = 0;
    for (const auto& [name, value] : **entries)
      if (equal(name, key, work)) return value;
    return std::nullopt;
  }
  if (!key.is(Kind::string)) return std::nullopt;
  const schema::Value member = node()[key.as_text()];
  return member ? std::optional(of(member)) : std::nullopt;
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
    case Kind::quantity:
      return a.as_quantity().nanos == b.as_quantity().nanos;
    case Kind::optional: {
      const auto& left = a.as_optional();
      const auto& right = b.as_optional();
      return left.has_value() == right.has_value() && (!left || equal(*left, *right, work));
    }
    default:
      return false;
  }
}

std::optional<int> compare(const Value& a, const Value& b) {
  if (a.is_numeric() && b.is_numeric()) return compare_numbers(a, b);
  if (a.kind() != b.kind()) return std::nullopt;
  switch (a.kind()) {
    case Kind::boolean:
      return sign(a.as_bool() < b.as_bool(), a.as_bool() > b.as_bool());
    case Kind::string:
    case Kind::bytes: {
      const int order = a.as_text().compare(b.as_text());  // UTF-8 sorts bytewise as by code point
      return sign(order<0, order> 0);
    }
    case Kind::quantity:
      return sign(a.as_quantity().nanos<b.as_quantity().nanos, a.as_quantity().nanos> b.as_quantity().nanos);
    default:
      return std::nullopt;
  }
}

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
    case Kind::quantity:
      out.set(schema::quantity_from_nanos(value.as_quantity().nanos));
      return {};
    case Kind::optional:
      if (!value.as_optional()) return bad_request("the value is optional.none()");
      return write(*value.as_optional(), out);
    case Kind::list:
    case Kind::map:
      break;
    case Kind::error:
      return bad_request(value.failure().message);
    case Kind::type:
    case Kind::dyn:
      return bad_request("JSON cannot hold a " + std::string(kind_name(value.kind())));
  }
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

std::string debug_text(const Value& value) {
  if (value.is_error()) return "error: " + value.failure().message;
  if (value.is(Kind::type)) return std::string(value.as_text());
  if (value.is(Kind::optional) && !value.as_optional()) return "optional.none()";
  schema::Document document;
  if (auto done = write(value, document.root()); !done) return "<" + done.error().message + ">";
  return document.to_json();
}

}  // namespace sublet::patches::cel
