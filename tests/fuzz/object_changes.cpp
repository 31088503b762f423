#include "tests/fuzz/object_changes.h"

#include <cstdint>
#include <iterator>

namespace sublet::fuzz {
namespace {

using schema::Field;
using schema::Scalar;
using schema::Type;
using schema::Value;

constexpr int kDeepest = 5;  // of what is made anew
constexpr std::int64_t kIntegers[] = {0,   -1,   1,     2,     3,          50,          99,
                                      100, 3600, 65535, 65536, 2147483647, -2147483648, 9223372036854775807};
constexpr std::string_view kQuantities[] = {"1",   "0", "-1",   "1Gi",    "1.5", "100m", "1e3",
                                            "abc", "",  "10Ei", "0.0001", "1n",  "9e99"};
constexpr std::string_view kPorts[] = {"50%", "0%", "101%", "-5%", "x", "5", "http", ""};
constexpr std::string_view kTimes[] = {"2026-01-01T00:00:00Z", "2026-01-01T00:00:00.000001Z", "1-01-01T00:00:00Z", "x",
                                       ""};
constexpr std::string_view kBytes[] = {"", "YQ==", "AAEC", "!", "YQ"};
constexpr std::string_view kDurations[] = {"1h0m0s", "-1s", "0s", "1ns", "x", ""};
constexpr std::string_view kTexts[] = {"",
                                       "a",
                                       "A",
                                       "-a",
                                       "a-",
                                       "a_b",
                                       "a.b",
                                       "a/b",
                                       "a/b/c",
                                       "a b",
                                       " a",
                                       "\xc3\xbc\xe4\xb8\xad",
                                       "10%",
                                       "0",
                                       "-1",
                                       "080",
                                       "1.2.3.4",
                                       "1.2.3.0/24",
                                       "01.2.3.4",
                                       "1.2.3.4/33",
                                       "::1",
                                       "2001:DB8::/32",
                                       "example.com",
                                       "example.com/x",
                                       "*.example.com",
                                       "*",
                                       "/",
                                       "/abs",
                                       "../x",
                                       "a/../b",
                                       "kubernetes.io/x",
                                       "None",
                                       "true",
                                       "Always",
                                       "http://x",
                                       "https://x/y",
                                       "1Gi",
                                       "100m",
                                       "TCP",
                                       "{{x}}",
                                       "\n",
                                       "a,b",
                                       "$(A)",
                                       "a..b",
                                       "//a",
                                       "\x01",
                                       "\xef\xbf\xbd",
                                       "\\",
                                       "\"",
                                       "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
                                       "<&>"};
constexpr std::string_view kKeys[] = {"a",
                                      "a/b",
                                      "A_b",
                                      "-bad",
                                      "example.com/ok",
                                      "a/b/c",
                                      "",
                                      "kubernetes.io/x",
                                      "\xc3\xbc",
                                      "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"};

}  // namespace

void ObjectChanges::learn(const Value& object) {
  for (const Value child : object) {
    if (child.is_string() && !child.key().empty()) spoken_[std::string(child.key())].push_back(child.string());
    learn(child);
  }
}

void ObjectChanges::change(const Value& object, Type type) {
  constexpr int kEdits[] = {1, 1, 1, 1, 2, 2, 3};
  for (int edits = kEdits[pick(std::size(kEdits))]; edits > 0; --edits) change_once(object, type);
}

void ObjectChanges::collect(const Value& parent, const Value& node, const Place& made, std::vector<Place>& places) {
  places.push_back(made);
  places.back().parent = parent;
  places.back().node = node;
  std::size_t index = 0;
  for (const Value child : node) {
    Place below{.parent = {}, .node = {}, .index = index++, .type = {}};
    const bool collection = made.field && !made.item && made.field->shape() != schema::Shape::single;
    if (collection) {
      below.field = made.field;
      below.item = true;
      if (made.field->scalar() == Scalar::message) below.type = made.field->type();
    } else if (made.type) {
      below.field = made.type.field(child.key());
      if (!below.field) continue;
      if (below.field->shape() == schema::Shape::single && below.field->scalar() == Scalar::message)
        below.type = below.field->type();
    } else {
      continue;  // free JSON: as it is
    }
    collect(node, child, below, places);
  }
}

void ObjectChanges::change_once(const Value& object, Type type) {
  std::vector<Place> own, metadata;
  for (const Value child : object) {
    const auto field = type.field(child.key());
    if (!field || child.key() == "apiVersion" || child.key() == "kind") continue;
    Place made{.parent = {}, .node = {}, .index = 0, .type = {}, .field = field};
    if (field->shape() == schema::Shape::single && field->scalar() == Scalar::message) made.type = field->type();
    std::size_t index = 0;
    for (const Value sibling : object) {
      if (sibling.same_node(child)) break;
      ++index;
    }
    made.index = index;
    collect(object, child, made, child.key() == "metadata" ? metadata : own);
  }
  own.push_back({.parent = {}, .node = object, .index = 0, .type = type});
  auto& places = chance(92) || metadata.empty() ? own : metadata;
  const Place place = places[pick(places.size())];
  const bool container = place.node.is_object() || place.node.is_array();
  if (container && chance(60)) return place.type ? grow_object(place) : grow_collection(place);
  if (place.parent.missing()) return grow_object(place);
  if (chance(20)) return remove(place);
  if (!place.field || chance(2)) {  // of a wrong type
    Value node = place.node;
    if (chance(50))
      node.set(static_cast<std::int64_t>(1));
    else if (chance(50))
      node.make_object();
    else
      node.set_null();
    return;
  }
  place.item ? fill_item(place.node, *place.field, 1) : fill(place.node, *place.field, 1);
}

void ObjectChanges::remove(const Place& place) {
  Value parent = place.parent;
  if (parent.is_array())
    parent.remove(place.index);
  else
    parent.erase(std::string(place.node.key()));
}

void ObjectChanges::grow_object(const Place& place) {
  Value node = place.node;
  if (!node.is_object() || place.type.field_count() == 0) return;
  for (int tries = 0; tries < 4; ++tries) {
    const Field field = place.type.field_at(pick(place.type.field_count()));
    const auto name = field.name();
    if (name.empty() || name == "apiVersion" || name == "kind" || name == "managedFields" || node.has(name)) continue;
    return fill(node.add_member(name), field, 1);
  }
}

void ObjectChanges::grow_collection(const Place& place) {
  Value node = place.node;
  if (!place.field) return;
  if (node.is_array()) {
    if (node.size() > 0 && chance(40)) {
      const auto copied = schema::Document::copy_of(node.at(pick(node.size())));
      node.push(copied.root());
    } else if (chance(10)) {
      node.clear();
    } else {
      fill_item(node.insert(node.size()), *place.field, 1);
    }
  } else if (node.is_object()) {
    const auto key = kKeys[pick(std::size(kKeys))];
    if (!node.has(key)) fill_item(node.add_member(key), *place.field, 1);
  }
}

void ObjectChanges::fill(Value into, const Field& field, int depth) {
  if (field.shape() == schema::Shape::single) return fill_item(into, field, depth);
  constexpr int kItems[] = {0, 1, 1, 1, 2};
  int items = kItems[pick(std::size(kItems))];
  if (field.shape() == schema::Shape::list) {
    into.make_array();
    while (items-- > 0) fill_item(into.insert(into.size()), field, depth + 1);
    return;
  }
  into.make_object();
  while (items-- > 0) {
    const auto key = kKeys[pick(std::size(kKeys))];
    if (into.has(key)) continue;
    Value member = into.add_member(key);
    if (field.map_of_lists())
      member.make_array();
    else
      fill_item(member, field, depth + 1);
  }
}

void ObjectChanges::fill_item(Value into, const Field& field, int depth) {
  if (field.scalar() == Scalar::message) return fill_object(into, field.type(), depth);
  fill_scalar(into, field);
}

void ObjectChanges::fill_object(Value into, Type type, int depth) {
  into.make_object();
  if (depth >= kDeepest) return;
  auto more = pick(4);
  for (std::size_t i = 0; i < type.field_count(); ++i) {
    const Field field = type.field_at(i);
    if (field.name().empty() || field.name() == "managedFields") continue;
    const bool wanted =
        field.required() ? chance(95) : more > 0 && chance(static_cast<unsigned>(300 / type.field_count()) + 1);
    if (!wanted) continue;
    if (!field.required()) --more;
    fill(into.add_member(field.name()), field, depth + 1);
  }
}

void ObjectChanges::fill_scalar(Value into, const Field& field) {
  const auto text = [&](const auto& list) { into.set(list[pick(std::size(list))]); };
  switch (field.scalar()) {
    case Scalar::boolean:
      return into.set(chance(50));
    case Scalar::int32:
    case Scalar::int64:
      return into.set(kIntegers[pick(std::size(kIntegers))]);
    case Scalar::floating:
      return into.set(chance(50) ? 0.5 : -1e300);
    case Scalar::quantity:
      return text(kQuantities);
    case Scalar::int_or_string:
      return chance(50) ? into.set(kIntegers[pick(std::size(kIntegers))]) : text(kPorts);
    case Scalar::time:
    case Scalar::micro_time:
      return text(kTimes);
    case Scalar::duration:
      return text(kDurations);
    case Scalar::bytes:
      return text(kBytes);
    case Scalar::string:
      break;
    default:  // free JSON
      into.make_object();
      into.put("type", kTexts[pick(std::size(kTexts))]);
      return;
  }
  if (const auto values = field.enum_values(); !values.empty() && chance(70))
    return into.set(values[pick(values.size())]);
  if (const auto words = spoken_.find(field.name()); words != spoken_.end() && chance(35))
    return into.set(words->second[pick(words->second.size())]);
  text(kTexts);
}

}  // namespace sublet::fuzz
