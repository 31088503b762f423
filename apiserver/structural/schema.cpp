#include "apiserver/structural/schema.h"

#include <re2/re2.h>

#include <algorithm>
#include <deque>
#include <unordered_map>

namespace sublet::apiserver {
namespace {

using schema::Document;
using schema::ListType;
using schema::MapType;
using schema::Value;

constexpr std::string_view kTypeNames[] = {"", "object", "array", "string", "integer", "number", "boolean", ""};

JsonType type_of(const Value& props) {
  if (props["x-kubernetes-int-or-string"].boolean()) return JsonType::int_or_string;
  const auto name = props["type"].text();
  for (std::size_t i = 1; i < std::size(kTypeNames); ++i)
    if (!name.empty() && name == kTypeNames[i]) return static_cast<JsonType>(i);
  return JsonType::any;
}

ListType list_type_of(std::string_view text) {
  if (text == "set") return ListType::set;
  if (text == "map") return ListType::map;
  return text == "atomic" ? ListType::atomic : ListType::none;
}

MapType map_type_of(std::string_view text) {
  if (text == "atomic") return MapType::atomic;
  return text == "granular" ? MapType::granular : MapType::none;
}

std::optional<double> optional_number(const Value& value) {
  return value.is_number() ? std::optional(value.floating()) : std::nullopt;
}
std::optional<std::int64_t> integer_of(const Value& value) {
  return value.is_integer() ? std::optional(value.integer()) : std::nullopt;
}

/// What tells nodes apart, as bytes.
class Key {
 public:
  template <class T>
  Key& raw(const T& value) {
    const auto bytes = std::as_bytes(std::span(&value, 1));
    bytes_.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    return *this;
  }
  Key& text(std::string_view value) {
    raw(value.size());
    bytes_ += value;
    return *this;
  }
  Key& json(const Value& value) {
    raw(value.missing());
    return text(value.missing() ? std::string() : value.to_json());
  }
  template <class T>
  Key& optional(const std::optional<T>& value) {
    raw(value.has_value());
    return raw(value.value_or(T{}));
  }
  std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

}  // namespace

std::string_view type_name(JsonType type) { return kTypeNames[static_cast<std::size_t>(type)]; }

LazyPattern::~LazyPattern() { delete compiled_.load(std::memory_order_acquire); }

bool LazyPattern::matches(std::string_view value) const {
  const re2::RE2* known = compiled_.load(std::memory_order_acquire);
  if (!known) {
    re2::RE2::Options options;
    options.set_log_errors(false);
    auto made = std::make_unique<const re2::RE2>(re2::StringPiece(text_.data(), text_.size()), options);
    if (compiled_.compare_exchange_strong(known, made.get(), std::memory_order_acq_rel)) known = made.release();
  }
  return known->ok() && re2::RE2::PartialMatch(re2::StringPiece(value.data(), value.size()), *known);
}

const Schema* Schema::property(std::string_view name) const {
  const auto at = std::ranges::lower_bound(properties, name, {}, &Property::name);
  return at == properties.end() || at->name != name ? nullptr : at->schema;
}

const Schema* Schema::member(std::string_view name) const {
  const Schema* own = property(name);
  return own ? own : additional;
}

struct Schemas::Storage {
  schema::Arena texts;
  Document constants = Document::object();  // defaults and enums: an array of them
  std::deque<Schema> nodes;
  std::deque<Checks> checks;
  std::deque<LazyPattern> patterns;
  std::deque<std::vector<Property>> properties;
  std::deque<std::vector<std::string_view>> names;
  // For compile() alone.
  std::unordered_map<std::string, const Schema*> known;
  std::unordered_map<std::string, std::string_view> known_texts;
  std::unordered_map<std::string_view, const LazyPattern*> known_patterns;
};

/// Children first, so that equal subtrees have equal pointers below.
class Schemas::Compiler {
 public:
  explicit Compiler(Storage& storage) : storage_(storage) {}

  const Schema* node(const Value& props) {
    if (!props.is_object()) return nullptr;
    Schema made;
    made.type = type_of(props);
    made.list_type = list_type_of(props["x-kubernetes-list-type"].text());
    made.map_type = map_type_of(props["x-kubernetes-map-type"].text());
    made.nullable = props["nullable"].boolean();
    made.preserve = props["x-kubernetes-preserve-unknown-fields"].boolean();
    made.embedded = props["x-kubernetes-embedded-resource"].boolean();
    std::vector<Property> properties = properties_of(props);
    if (props["items"].is_object()) made.items = node(props["items"]);
    const Value additional = props["additionalProperties"];
    made.additional_any = additional.is_boolean() && additional.boolean();
    if (additional.is_object()) made.additional = node(additional);
    std::vector<std::string_view> keys = texts(props["x-kubernetes-list-map-keys"]);
    Checks checks;
    const bool checked = fill(checks, props);
    made.below = below_of(made, properties, checks, props);
    Key key;
    describe(key, made, properties, keys, props["default"]);
    key.raw(checked);
    if (checked) describe(key, checks);
    auto [known, added] = storage_.known.try_emplace(key.take(), nullptr);
    if (!added) return known->second;
    if (!properties.empty()) made.properties = storage_.properties.emplace_back(std::move(properties));
    if (!keys.empty()) made.list_map_keys = storage_.names.emplace_back(std::move(keys));
    if (checked) made.checks = &storage_.checks.emplace_back(std::move(checks));
    if (props.has("default")) made.default_value = constant(props["default"]);
    if (made.checks && made.checks->choices) storage_.checks.back().choices = constant(storage_.checks.back().choices);
    return known->second = &storage_.nodes.emplace_back(made);
  }

 private:
  std::vector<Property> properties_of(const Value& props) {
    std::vector<Property> made;
    made.reserve(props["properties"].size());
    for (const Value member : props["properties"])
      if (const Schema* below = node(member)) made.push_back({text(member.key()), below});
    std::ranges::sort(made, {}, &Property::name);
    return made;
  }

  bool fill(Checks& checks, const Value& props) {
    checks.minimum = optional_number(props["minimum"]);
    checks.maximum = optional_number(props["maximum"]);
    checks.exclusive_minimum = props["exclusiveMinimum"].boolean();
    checks.exclusive_maximum = props["exclusiveMaximum"].boolean();
    checks.multiple_of = optional_number(props["multipleOf"]);
    checks.min_length = integer_of(props["minLength"]);
    checks.max_length = integer_of(props["maxLength"]);
    checks.min_items = integer_of(props["minItems"]);
    checks.max_items = integer_of(props["maxItems"]);
    checks.min_properties = integer_of(props["minProperties"]);
    checks.max_properties = integer_of(props["maxProperties"]);
    if (const auto pattern = props["pattern"].text(); !pattern.empty()) checks.pattern = compiled(pattern);
    checks.format = text(props["format"].text());
    checks.required = texts(props["required"]);
    if (!props["enum"].empty()) checks.choices = props["enum"];
    for (const Value part : props["allOf"]) checks.all_of.push_back(node(part));
    for (const Value part : props["anyOf"]) checks.any_of.push_back(node(part));
    for (const Value part : props["oneOf"]) checks.one_of.push_back(node(part));
    checks.negated = node(props["not"]);
    for (const Value rule : props["x-kubernetes-validations"]) checks.rules.push_back(rule_of(rule));
    return checks.minimum || checks.maximum || checks.multiple_of || checks.min_length || checks.max_length ||
           checks.min_items || checks.max_items || checks.min_properties || checks.max_properties || checks.pattern ||
           !checks.format.empty() || !checks.required.empty() || checks.choices || !checks.all_of.empty() ||
           !checks.any_of.empty() || !checks.one_of.empty() || checks.negated || !checks.rules.empty();
  }

  RuleSpec rule_of(const Value& rule) {
    RuleSpec made{text(rule["rule"].text()),   text(rule["message"].text()),   text(rule["messageExpression"].text()),
                  text(rule["reason"].text()), text(rule["fieldPath"].text()), std::nullopt};
    if (rule["optionalOldSelf"].is_boolean()) made.optional_old_self = rule["optionalOldSelf"].boolean();
    return made;
  }

  static std::uint8_t below_of(const Schema& made, const std::vector<Property>& properties, const Checks& checks,
                               const Value& props) {
    unsigned below = 0;
    if (props.has("default")) below |= Schema::kDefaults;
    if (made.list_type == ListType::set || made.list_type == ListType::map) below |= Schema::kLists;
    if (made.embedded) below |= Schema::kEmbedded;
    if (!checks.rules.empty()) below |= Schema::kRules;
    for (const Property& property : properties) below |= property.schema->below;
    if (made.items) below |= made.items->below;
    if (made.additional) below |= made.additional->below;
    return static_cast<std::uint8_t>(below);
  }

  static void describe(Key& key, const Schema& made, const std::vector<Property>& properties,
                       const std::vector<std::string_view>& keys, const Value& default_value) {
    key.raw(made.type).raw(made.list_type).raw(made.map_type).raw(made.nullable).raw(made.preserve);
    key.raw(made.embedded).raw(made.additional_any).raw(made.items).raw(made.additional).raw(properties.size());
    for (const Property& property : properties) key.text(property.name).raw(property.schema);
    key.raw(keys.size());
    for (const auto name : keys) key.text(name);
    key.json(default_value);
  }

  static void describe(Key& key, const Checks& checks) {
    key.optional(checks.minimum).optional(checks.maximum).optional(checks.multiple_of);
    key.raw(checks.exclusive_minimum).raw(checks.exclusive_maximum);
    key.optional(checks.min_length).optional(checks.max_length).optional(checks.min_items).optional(checks.max_items);
    key.optional(checks.min_properties).optional(checks.max_properties).raw(checks.pattern).text(checks.format);
    key.raw(checks.required.size());
    for (const auto name : checks.required) key.text(name);
    key.json(checks.choices);
    for (const auto* parts : {&checks.all_of, &checks.any_of, &checks.one_of}) {
      key.raw(parts->size());
      for (const Schema* part : *parts) key.raw(part);
    }
    key.raw(checks.negated).raw(checks.rules.size());
    for (const RuleSpec& rule : checks.rules) {
      key.text(rule.rule).text(rule.message).text(rule.message_expression).text(rule.reason).text(rule.field_path);
      key.optional(rule.optional_old_self);
    }
  }

  std::string_view text(std::string_view value) {
    if (value.empty()) return {};
    auto [known, added] = storage_.known_texts.try_emplace(std::string(value));
    if (added) known->second = storage_.texts.store(value);
    return known->second;
  }

  std::vector<std::string_view> texts(const Value& list) {
    std::vector<std::string_view> made;
    for (const Value item : list) made.push_back(text(item.text()));
    return made;
  }

  const LazyPattern* compiled(std::string_view pattern) {
    const LazyPattern*& known = storage_.known_patterns[text(pattern)];
    if (!known) known = &storage_.patterns.emplace_back(text(pattern));
    return known;
  }

  Value constant(const Value& value) { return storage_.constants.root().array("constants").push(value); }

  Storage& storage_;
};

Schemas::Schemas() : storage_(std::make_unique<Storage>()) {}
Schemas::~Schemas() = default;

const Schema* Schemas::compile(const Value& props) { return Compiler(*storage_).node(props); }

void Schemas::seal() {
  storage_->known.clear();
  storage_->known_texts.clear();
  storage_->known_patterns.clear();
  storage_->known = {};
  storage_->known_texts = {};
  storage_->known_patterns = {};
}

std::size_t Schemas::bytes() const {
  std::size_t sum = storage_->texts.bytes() + storage_->constants.arena_bytes();
  sum += storage_->nodes.size() * sizeof(Schema) + storage_->checks.size() * sizeof(Checks);
  for (const auto& properties : storage_->properties) sum += properties.capacity() * sizeof(Property);
  for (const auto& names : storage_->names) sum += names.capacity() * sizeof(std::string_view);
  return sum;
}

std::size_t Schemas::node_count() const { return storage_->nodes.size(); }

}  // namespace sublet::apiserver
