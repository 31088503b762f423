#include "patches/cel/evaluator.h"

#include <re2/re2.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "patches/cel/cost.h"
#include "patches/cel/pattern.h"

namespace sublet::patches::cel {

namespace {

constexpr const char* kTooExpensive = "operation cancelled: actual cost limit exceeded";
constexpr std::size_t kArgumentsMax = 4;

Value no_such_key(const Value& key) { return Value::error("no such key: " + go_text(key)); }

// A chain of names, selections and indices: cel-go's "attribute", which costs 1 as a whole and 1 per step.
bool is_attribute(const Node& node) {
  if (node.folded) return false;
  switch (node.op) {
    case Op::variable:
    case Op::local:
    case Op::select:
    case Op::index:
    case Op::conditional:
    case Op::has:
      return true;
    default:
      return false;
  }
}

// What stands at the beginning of such a chain.
const Node& root_of(const Node& node) {
  const Node* at = &node;
  while (is_attribute(*at) && (at->op == Op::select || at->op == Op::index || at->op == Op::has))
    at = at->children[0].get();
  return *at;
}

// The type of a value in cel-go itself, which shows in some messages.
std::string go_type(Kind kind) {
  switch (kind) {
    case Kind::integer:
      return "types.Int";
    case Kind::uinteger:
      return "types.Uint";
    case Kind::floating:
      return "types.Double";
    case Kind::boolean:
      return "types.Bool";
    case Kind::string:
      return "types.String";
    case Kind::bytes:
      return "types.Bytes";
    case Kind::null:
      return "types.Null";
    case Kind::timestamp:
      return "types.Timestamp";
    case Kind::duration:
      return "types.Duration";
    case Kind::list:
      return "*types.baseList";
    case Kind::map:
      return "*types.baseMap";
    case Kind::optional:
      return "*types.Optional";
    case Kind::type:
      return "*types.Type";
    case Kind::ip:
      return "cel.IP";
    case Kind::cidr:
      return "cel.CIDR";
    default:
      return std::string(kind_name(kind));
  }
}

class Evaluator {
 public:
  Evaluator(const Activation& activation, int slots, Library library, std::uint64_t budget)
      : activation_(activation), meter_(budget, library), locals_(static_cast<std::size_t>(slots)) {}

  Evaluation run(const Node& root) {
    Value value = evaluate(root);
    if (meter_.exhausted()) return {Value::error(kTooExpensive, root.offset), meter_.cost(), true};
    return {std::move(value), meter_.cost(), false};
  }

  Value evaluate(const Node& node);

 private:
  // A local variable; what it is bound to may not have been looked at yet.
  struct Local {
    Value value;
    const Node* start = nullptr;
  };

  Value dispatch(const Node& node);
  Value attribute(const Node& node);
  Value resolve(const Node& node);
  Value resolve_or_evaluate(const Node& node) { return is_attribute(node) ? resolve(node) : evaluate(node); }
  Value step(const Node& node);
  Value conditional(const Node& node);
  Value has(const Node& node);
  Value read_local(int slot);
  Value call(const Node& node);
  Value invoke(const Node& node, Arguments arguments, CostWay& way);
  Value with_pattern(const Node& node, Arguments arguments);
  Value either(const Node& node);
  Value member_of_constants(const Node& node);
  Value list(const Node& node);
  Value map(const Node& node);
  Value message(const Node& node);
  Value logical(const Node& node);
  Value comprehension(const Node& node);
  Value iterate(const Node& node, const Value& range);
  Value add_to_accumulator(const Node& node);

  std::optional<Value> lookup(const Value& container, const Value& key, Value* failure);
  bool keeps_presence_errors() const { return meter_.library() != Library::kubernetes; }

  const Activation& activation_;
  Meter meter_;
  std::vector<Local> locals_;
};

Value Evaluator::evaluate(const Node& node) {
  meter_.work(1);
  if (meter_.exhausted()) return Value::error(kTooExpensive, node.offset);
  Value result = node.folded ? *node.folded : dispatch(node);
  return result.is_error() ? result.at_offset(node.offset) : result;
}

Value Evaluator::dispatch(const Node& node) {
  switch (node.op) {
    case Op::literal:
      return node.literal;
    case Op::variable:
    case Op::local:
    case Op::select:
    case Op::index:
    case Op::conditional:
      return attribute(node);
    case Op::has:
      return has(node);
    case Op::call:
      return call(node);
    case Op::list:
      return list(node);
    case Op::map:
      return map(node);
    case Op::logical_and:
    case Op::logical_or:
      return logical(node);
    case Op::comprehension:
      return comprehension(node);
    case Op::message:
      return message(node);
    case Op::identifier:
      break;
  }
  return Value::error("undeclared reference to '" + node.name + "'");
}

Value Evaluator::attribute(const Node& node) {
  Value value = resolve(node);
  if (root_of(node).op != Op::conditional) meter_.charge(1);
  return value;
}

// The value of a chain, without what the chain as a whole costs.
Value Evaluator::resolve(const Node& node) {
  meter_.work(1);
  if (meter_.exhausted()) return Value::error(kTooExpensive, node.offset);
  switch (node.op) {
    case Op::variable:
      return activation_.get(node.slot).at_offset(node.offset);
    case Op::local:
      return read_local(node.slot);
    case Op::conditional:
      return conditional(node);
    case Op::has:
      return has(node);
    default:
      return step(node).at_offset(node.offset);
  }
}

Value Evaluator::read_local(int slot) {
  Local& local = locals_[static_cast<std::size_t>(slot)];
  if (const Node* start = std::exchange(local.start, nullptr)) {
    Value value = evaluate(*start);
    locals_[static_cast<std::size_t>(slot)].value = std::move(value);
  }
  return locals_[static_cast<std::size_t>(slot)].value;
}

Value Evaluator::conditional(const Node& node) {
  Value condition = evaluate(*node.children[0]);
  if (condition.is_error()) return condition;
  if (!condition.is(Kind::boolean)) return Value::error("no such overload", node.offset);
  return resolve_or_evaluate(*node.children[condition.as_bool() ? 1 : 2]);
}

// operand.field or operand[key], and their optional forms.
Value Evaluator::step(const Node& node) {
  const Node& base = *node.children[0];
  Value operand = resolve_or_evaluate(base);
  if (operand.is_error()) return operand;
  const bool optional = node.optional || operand.is(Kind::optional);
  if (operand.is(Kind::optional) && !operand.as_optional()) return operand;
  Value key = Value::borrowed(node.name);
  if (node.op == Op::index) {
    const Node& index = *node.children[1];
    key = resolve_or_evaluate(index);
    if (key.is_error()) return key;
    if (!key.is_numeric() && !key.is(Kind::string) && !key.is(Kind::boolean))
      return Value::error("invalid qualifier type: " + go_type(key.kind()));
  }
  const Value& container = operand.is(Kind::optional) ? *operand.as_optional() : operand;
  Value failure;
  auto found = lookup(container, key, &failure);
  if (failure.is_error()) {
    const bool hidden = optional && !keeps_presence_errors() && !container.is(Kind::map) && !container.is(Kind::list);
    if (!hidden) meter_.charge(1);
    return hidden ? Value::optional_none() : failure;
  }
  if (found || !optional) meter_.charge(1);
  if (found && found->is_error()) return *found;
  if (optional) return found ? Value::optional_of(std::move(*found)) : Value::optional_none();
  if (found) return std::move(*found);
  return container.is(Kind::list) ? Value::error("index out of bounds: " + go_text(key)) : no_such_key(key);
}

// The element behind a key or index. Nothing and no failure: it is not there.
std::optional<Value> Evaluator::lookup(const Value& container, const Value& key, Value* failure) {
  if (container.is(Kind::map)) {
    meter_.work(1 + container.size() / 16);
    const bool by_text = container.node() && !key.is(Kind::string);
    if (by_text && container.container_type()) *failure = plain_no_such_overload();
    return by_text ? std::nullopt : container.find(key);
  }
  if (!container.is(Kind::list)) {
    *failure = no_such_key(key);
    return std::nullopt;
  }
  meter_.work(1 + (container.node() ? container.size() / 16 : 0));
  std::int64_t at = -1;
  if (key.is(Kind::integer))
    at = key.as_int();
  else if (key.is(Kind::uinteger))
    at = key.as_uint() <= INT64_MAX ? static_cast<std::int64_t>(key.as_uint()) : INT64_MAX;
  else if (key.is(Kind::floating) && key.as_double() == std::floor(key.as_double()) &&
           std::fabs(key.as_double()) < 9e18)
    at = static_cast<std::int64_t>(key.as_double());
  else
    *failure = key.is(Kind::floating)
                   ? Value::error("unsupported index value " + go_text(key) + " in list")
                   : Value::error("unsupported index type '" + std::string(kind_name(key.kind())) + "' in list");
  if (at < 0 || static_cast<std::uint64_t>(at) >= container.size()) return std::nullopt;
  return container.item(static_cast<std::size_t>(at));
}

Value Evaluator::has(const Node& node) {
  Value operand = resolve_or_evaluate(*node.children[0]);
  if (operand.is_error()) return operand;
  const bool conditional_root = root_of(node).op == Op::conditional;
  if (meter_.library() != Library::kubernetes) meter_.charge(conditional_root ? 0 : 1);
  if (conditional_root && meter_.library() == Library::kubernetes) meter_.refund(1);
  if (operand.is(Kind::optional) && !operand.as_optional()) return Value::boolean(false);
  meter_.charge(1);
  const Value& container = operand.is(Kind::optional) ? *operand.as_optional() : operand;
  if (!container.is(Kind::map)) {
    if (container.is(Kind::list)) return Value::error("unsupported index type 'string' in list");
    return keeps_presence_errors() ? no_such_key(Value::borrowed(node.name)) : Value::boolean(false);
  }
  meter_.work(1 + container.size() / 16);
  const auto found = container.find(node.name);
  return found && found->is_error() ? *found : Value::boolean(found.has_value());
}

// accumulator + [item], which is what map() and filter() do: in place, while nobody else holds the list.
Value Evaluator::add_to_accumulator(const Node& node) {
  const Node& items = *node.children[1];
  Value item = evaluate(*items.children[0]);
  meter_.charge(items.folded ? 1 + 1 : 1 + kListCost + 1);  // the name, the literal, the sum
  Value& accumulated = locals_[static_cast<std::size_t>(node.children[0]->slot)].value;
  if (accumulated.is_error()) return accumulated;
  if (item.is_error()) return item;
  Value sum = std::move(accumulated);
  if (sum.append_in_place(item)) return sum;
  List all;
  all.reserve(sum.size() + 1);
  sum.each_item([&](const Value& known) {
    all.push_back(known);
    return true;
  });
  all.push_back(std::move(item));
  return Value::list(std::move(all));
}

bool extends_accumulator(const Node& node) {
  if (node.name != "_+_" || node.children[0]->op != Op::local || node.children[0]->name != kAccumulator) return false;
  const Node& items = *node.children[1];
  return items.op == Op::list && items.children.size() == 1 && !items.optional_items[0];
}

// `x in [1, 2, 3]`: cel-go makes a set of it, which costs nothing.
Value Evaluator::member_of_constants(const Node& node) {
  const Value& items = *node.children[1]->folded;
  if (items.size() == 0) return Value::boolean(false);
  Value wanted = evaluate(*node.children[0]);
  if (wanted.is_error()) return wanted;
  bool found = false;
  std::size_t work = 0;
  items.each_item([&](const Value& item) { return !(found = equal(wanted, item, work)); });
  meter_.work(work);
  return Value::boolean(found);
}

bool is_set_of_constants(const Node& node) {
  if (node.name != "@in" || node.overloads.size() != 1 || node.overloads[0]->row->id != "in_list") return false;
  const Node& items = *node.children[1];
  if (!items.folded) return false;
  bool plain = true;
  items.folded->each_item(
      [&](const Value& item) { return plain = item.is_numeric() || item.is(Kind::boolean) || item.is(Kind::string); });
  return plain;
}

// a.or(b), a.orValue(b).
Value Evaluator::either(const Node& node) {
  Value first = evaluate(*node.children[0]);
  if (!first.is(Kind::optional)) return first;
  if (!first.as_optional()) return evaluate(*node.children[1]);
  return node.name == "or" ? first : *first.as_optional();
}

Value Evaluator::call(const Node& node) {
  if (node.is_method && node.children.size() == 2 && (node.name == "or" || node.name == "orValue")) return either(node);
  if (extends_accumulator(node)) return add_to_accumulator(node);
  if (is_set_of_constants(node)) return member_of_constants(node);
  std::array<Value, kArgumentsMax> arguments;
  const std::size_t count = std::min(node.children.size(), kArgumentsMax);
  const bool lenient = node.name == "@not_strictly_false";
  Value failure;
  for (std::size_t i = 0; i < count; ++i) {
    arguments[i] = evaluate(*node.children[i]);
    if (lenient || !arguments[i].is_error()) continue;
    if (count > 2) return arguments[i];
    if (!failure.is_error()) failure = arguments[i];
  }
  if (failure.is_error() || (count == 1 && arguments[0].is_error() && !lenient)) {
    meter_.charge(1);
    return failure.is_error() ? failure : arguments[0];
  }
  CostWay way = CostWay::one;
  Value result = invoke(node, {arguments.data(), count}, way);
  meter_.charge(call_cost(way, {arguments.data(), count}, result));
  return result;
}

Value Evaluator::with_pattern(const Node& node, Arguments arguments) {
  if (node.name == "matches") return pattern_matches(*node.pattern, arguments[0].as_text(), meter_);
  if (node.name == "find") return pattern_find(*node.pattern, arguments[0].as_text(), meter_);
  return pattern_find_all(*node.pattern, arguments[0].as_text(), arguments.size() > 2 ? arguments[2].as_int() : -1,
                          meter_);
}

Value Evaluator::invoke(const Node& node, Arguments arguments, CostWay& way) {
  for (const Function* function : node.overloads) {
    const bool fits = node.name == "@not_strictly_false" || accepts(*function, arguments);
    if (!fits) continue;
    way = node.overloads.size() == 1 ? function->cost : function->cost_as_one_of_many;
    return node.pattern ? with_pattern(node, arguments) : function->row->apply(arguments, meter_);
  }
  // Values that the checker knew nothing about may fit an overload that it left out.
  return no_such_overload(node.name, arguments);
}

Value Evaluator::list(const Node& node) {
  List items;
  items.reserve(node.children.size());
  for (std::size_t i = 0; i < node.children.size(); ++i) {
    Value item = evaluate(*node.children[i]);
    if (item.is_error()) return item;
    if (!node.optional_items[i]) {
      items.push_back(std::move(item));
    } else if (!item.is(Kind::optional)) {
      return Value::error("cannot initialize optional list element from non-optional value " + go_text(item),
                          node.children[i]->offset);
    } else if (item.as_optional()) {
      items.push_back(*item.as_optional());
    }
  }
  meter_.charge(kListCost);
  return Value::list(std::move(items));
}

Value Evaluator::map(const Node& node) {
  Map entries;
  for (std::size_t i = 0; i + 1 < node.children.size(); i += 2) {
    Value key = evaluate(*node.children[i]);
    if (key.is_error()) return key;
    Value value = evaluate(*node.children[i + 1]);
    if (value.is_error()) return value;
    const Kind kind = key.kind();
    if (kind != Kind::string && kind != Kind::boolean && kind != Kind::integer && kind != Kind::uinteger)
      return Value::error("unsupported key type: " + std::string(kind_name(kind)), node.children[i]->offset);
    if (node.optional_items[i / 2]) {
      if (!value.is(Kind::optional))
        return Value::error(
            "cannot initialize optional entry '" + go_text(key) + "' from non-optional value " + go_text(value),
            node.children[i]->offset);
      if (!value.as_optional()) continue;
      value = Value(*value.as_optional());
    }
    std::size_t work = 0;
    const auto known =
        std::find_if(entries.begin(), entries.end(), [&](const auto& entry) { return equal(entry.first, key, work); });
    meter_.work(work);
    if (known == entries.end())
      entries.emplace_back(std::move(key), std::move(value));
    else if (meter_.library() == Library::kubernetes)  // as upstream: the last one wins
      known->second = std::move(value);
    else
      return Value::error("Failed with repeated key: " + go_text(key), node.children[i]->offset);
  }
  meter_.charge(kMapCost);
  return Value::map(std::move(entries));
}

// A patch's message is a map of its fields.
Value Evaluator::message(const Node& node) {
  if (!node.mismatch.empty()) return Value::error("type mismatch: " + node.mismatch);
  Map entries;
  for (std::size_t i = 0; i < node.children.size(); ++i) {
    Value value = evaluate(*node.children[i]);
    if (value.is_error()) return value;
    if (node.optional_items[i]) {
      if (!value.is(Kind::optional))
        return Value::error(
            "cannot initialize optional entry '" + node.fields[i] + "' from non-optional value " + go_text(value),
            node.children[i]->offset);
      if (!value.as_optional()) continue;
      value = Value(*value.as_optional());
    }
    entries.emplace_back(Value::string(node.fields[i]), std::move(value));
  }
  meter_.charge(kMessageCost);
  return Value::map(std::move(entries));
}

// && and ||: the deciding value wins over an error on the other side.
Value Evaluator::logical(const Node& node) {
  const bool deciding = node.op == Op::logical_or;
  Value failure;
  for (const NodePtr& child : node.children) {
    Value operand = evaluate(*child);
    if (operand.is(Kind::boolean)) {
      if (operand.as_bool() == deciding) return operand;
      continue;
    }
    if (failure.is_error()) continue;
    failure = operand.is_error() ? operand : Value::error("no such overload", child->offset);
  }
  return failure.is_error() ? failure : Value::boolean(!deciding);
}

Value Evaluator::comprehension(const Node& node) {
  const auto slot = static_cast<std::size_t>(node.slot);
  Value range = evaluate(*node.children[kRange]);
  if (range.is_error()) return range;
  locals_[slot] = {Value(), node.children[kStart].get()};
  if (!range.is(Kind::list) && !range.is(Kind::map))
    return node.variables.size() == 2 ? Value::error("unsupported comprehension range type: " + go_type(range.kind()))
                                      : Value::error("got '" + go_type(range.kind()) + "', expected iterable type");
  if (!is_bind(node)) {
    Value stopped = iterate(node, range);
    if (stopped.is_error()) return stopped;
  }
  Value result = evaluate(*node.children[kResult]);
  locals_[slot] = {};
  return result;
}

// Runs the loop; an error only when the budget is used up.
Value Evaluator::iterate(const Node& node, const Value& range) {
  const auto slot = static_cast<std::size_t>(node.slot);
  const bool two = node.variables.size() == 2;
  const Node& condition = *node.children[kCondition];
  const auto body = [&](Value first, Value second) {
    locals_[slot + 1] = {std::move(first), nullptr};
    if (two) locals_[slot + 2] = {std::move(second), nullptr};
    const Value goes_on = evaluate(condition);
    if (meter_.exhausted() || (goes_on.is(Kind::boolean) && !goes_on.as_bool())) return false;
    read_local(node.slot);  // the start is worked out before it is changed
    Value next = evaluate(*node.children[kStep]);
    locals_[slot] = {std::move(next), nullptr};
    return !meter_.exhausted();
  };
  std::int64_t position = 0;
  if (range.is(Kind::list))
    range.each_item([&](const Value& item) { return two ? body(Value::integer(position++), item) : body(item, {}); });
  else
    range.each_entry([&](const Value& key, const Value& value) { return body(key, value); });
  return meter_.exhausted() ? Value::error(kTooExpensive, node.offset) : Value();
}

// --- folding ---------------------------------------------------------------------------------------------------------

class NoVariables final : public Activation {
 public:
  Value get(int) const override { return Value::error("no variables"); }
};

bool is_constant(const Node& node) { return node.op == Op::literal || node.folded; }

bool is_conversion(const Node& node) {
  static constexpr std::string_view kNames[] = {"bool", "bytes",  "double", "duration",  "dyn",
                                                "int",  "string", "type",   "timestamp", "uint"};
  return node.op == Op::call && !node.is_method && node.children.size() == 1 &&
         std::find(std::begin(kNames), std::end(kNames), node.name) != std::end(kNames);
}

void fold_pattern(Node& node, Library library, std::vector<Problem>& problems) {
  const bool uses = node.name == "matches" || node.name == "find" || node.name == "findAll";
  if (node.op != Op::call || !uses || node.children.size() < 2) return;
  const Node& pattern = *node.children[1];
  if (pattern.op != Op::literal || !pattern.literal.is(Kind::string)) return;
  std::string problem;
  node.pattern = compile_pattern(pattern.literal.as_text(), problem);
  if (node.pattern) return;
  if (library == Library::kubernetes)
    problems.push_back({-1, "program instantiation failed: " + problem});
  else
    problems.push_back({pattern.offset, "invalid regular expression: " + problem});
}

}  // namespace

Evaluation evaluate(const Node& root, const Activation& activation, int slots, Library library, std::uint64_t budget) {
  return Evaluator(activation, slots, library, budget).run(root);
}

void fold(Node& root, Library library, std::vector<Problem>& problems) {
  for (const NodePtr& child : root.children) fold(*child, library, problems);
  fold_pattern(root, library, problems);
  if (is_set_of_constants(root) && root.children[1]->folded->size() == 0)
    root.folded = std::make_shared<const Value>(Value::boolean(false));
  const bool literal = root.op == Op::list || root.op == Op::map;
  const bool optional =
      std::find(root.optional_items.begin(), root.optional_items.end(), true) != root.optional_items.end();
  if ((!literal || optional) && !is_conversion(root)) return;
  if (!std::all_of(root.children.begin(), root.children.end(), [](const NodePtr& c) { return is_constant(*c); }))
    return;
  const Evaluation value = evaluate(root, NoVariables(), 0, library, kRunCostMax);
  if (!value.value.is_error())
    root.folded = std::make_shared<const Value>(value.value);
  else if (library == Library::kubernetes)
    problems.push_back({-1, "program instantiation failed: " + value.value.failure().message});
}

}  // namespace sublet::patches::cel
