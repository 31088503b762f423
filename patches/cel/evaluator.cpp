#include "patches/cel/evaluator.h"

#include <re2/re2.h>

#include <cmath>

#include "patches/cel/functions.h"

namespace sublet::patches::cel {

namespace {

constexpr const char* kTooExpensive = "the expression exceeds its cost limit";

Value no_such_key(const Value& key) {
  return Value::error("no such key: " + (key.is(Kind::string) ? std::string(key.as_text()) : debug_text(key)));
}

class Evaluator {
 public:
  Evaluator(const Activation& activation, std::size_t cost_max) : activation_(activation), meter_(cost_max) {}

  Value run(const Node& root) {
    const Value result = evaluate(root);
    return meter_.exhausted() ? Value::error(kTooExpensive, root.offset) : result;
  }

 private:
  Value evaluate(const Node& node);
  Value dispatch(const Node& node);
  Value select(const Node& node);
  Value has(const Node& node);
  Value index(const Node& node);
  Value call(const Node& node);
  Value list(const Node& node);
  Value map(const Node& node);
  Value conditional(const Node& node);
  Value logical(const Node& node);
  Value comprehension(const Node& node);
  Value optional_comprehension(const Node& node, const Value& operand);
  Value quantifier(const Node& node, const Value& range);
  Value exists_one(const Node& node, const Value& range);
  Value collect(const Node& node, const Value& range);

  std::optional<Value> lookup(const Value& container, const Value& key, Value* failure);
  Value access(const Node& node, const Value& operand, const Value& key);
  // Runs body() for each element of a list or map, with the comprehension's variables set, until it returns false.
  template <class Body>
  void each(const Node& node, const Value& range, Body body);

  const Activation& activation_;
  Meter meter_;
  std::vector<Value> locals_;
};

Value Evaluator::evaluate(const Node& node) {
  meter_.charge(1);
  if (meter_.exhausted()) return Value::error(kTooExpensive, node.offset);
  Value result = dispatch(node);
  return result.is_error() ? result.at_offset(node.offset) : result;
}

Value Evaluator::dispatch(const Node& node) {
  switch (node.op) {
    case Op::literal:
      return node.literal;
    case Op::variable:
      return activation_.get(node.slot);
    case Op::local:
      return locals_[static_cast<std::size_t>(node.slot)];
    case Op::select:
      return select(node);
    case Op::has:
      return has(node);
    case Op::index:
      return index(node);
    case Op::call:
      return call(node);
    case Op::list:
      return list(node);
    case Op::map:
      return map(node);
    case Op::conditional:
      return conditional(node);
    case Op::logical_and:
    case Op::logical_or:
      return logical(node);
    case Op::comprehension:
      return comprehension(node);
    case Op::identifier:
      break;
  }
  return Value::error("undeclared reference to '" + node.name + "'");
}

// The element behind a key or index. Nothing and no failure: it is not there.
std::optional<Value> Evaluator::lookup(const Value& container, const Value& key, Value* failure) {
  if (container.is(Kind::map)) {
    meter_.charge(container.size() / 16);
    const Kind kind = key.kind();
    if (kind == Kind::string || kind == Kind::boolean || key.is_numeric()) return container.find(key);
    *failure = Value::error("a map has no key of type " + std::string(kind_name(kind)));
    return std::nullopt;
  }
  if (!container.is(Kind::list)) {
    *failure = Value::error("a " + std::string(kind_name(container.kind())) + " has no elements");
    return std::nullopt;
  }
  meter_.charge(container.size() / 16);
  std::int64_t at = -1;
  if (key.is(Kind::integer))
    at = key.as_int();
  else if (key.is(Kind::uinteger))
    at = key.as_uint() <= INT64_MAX ? static_cast<std::int64_t>(key.as_uint()) : INT64_MAX;
  else if (key.is(Kind::floating) && key.as_double() == std::floor(key.as_double()) &&
           std::fabs(key.as_double()) < 1e15)
    at = static_cast<std::int64_t>(key.as_double());
  else
    *failure = Value::error("a list is indexed by an int, not by a " + std::string(kind_name(key.kind())));
  if (at < 0 || static_cast<std::uint64_t>(at) >= container.size()) return std::nullopt;
  return container.item(static_cast<std::size_t>(at));
}

// operand.key, operand[key] and their optional forms.
Value Evaluator::access(const Node& node, const Value& operand, const Value& key) {
  if (operand.is_error()) return operand;
  if (key.is_error()) return key;
  const bool optional = node.optional || operand.is(Kind::optional);
  if (operand.is(Kind::optional) && !operand.as_optional()) return operand;
  const Value& container = operand.is(Kind::optional) ? *operand.as_optional() : operand;
  Value failure;
  auto found = lookup(container, key, &failure);
  if (failure.is_error()) return failure;
  if (optional) return found ? Value::optional_of(std::move(*found)) : Value::optional_none();
  if (found) return std::move(*found);
  return container.is(Kind::list) ? Value::error("index out of bounds: " + debug_text(key)) : no_such_key(key);
}

Value Evaluator::select(const Node& node) {
  return access(node, evaluate(*node.children[0]), Value::borrowed(node.name));
}

Value Evaluator::index(const Node& node) {
  const Value operand = evaluate(*node.children[0]);
  return access(node, operand, evaluate(*node.children[1]));
}

Value Evaluator::has(const Node& node) {
  Value operand = evaluate(*node.children[0]);
  if (operand.is_error()) return operand;
  if (operand.is(Kind::optional) && !operand.as_optional()) return Value::boolean(false);
  const Value& container = operand.is(Kind::optional) ? *operand.as_optional() : operand;
  if (!container.is(Kind::map)) return Value::error("a " + std::string(kind_name(container.kind())) + " has no fields");
  return Value::boolean(container.find(node.name).has_value());
}

Value Evaluator::call(const Node& node) {
  std::array<Value, kArgumentsMax> arguments;
  std::array<Kind, kArgumentsMax> kinds{};
  const std::size_t count = node.children.size();
  for (std::size_t i = 0; i < count; ++i) {
    arguments[i] = evaluate(*node.children[i]);
    if (arguments[i].is_error()) return arguments[i];
    kinds[i] = arguments[i].kind();
  }
  if (node.pattern && kinds[0] == Kind::string) {
    const std::string_view text = arguments[0].as_text();
    meter_.charge(1 + text.size() * (1 + node.pattern->pattern().size() / 10) / 10);
    return Value::boolean(RE2::PartialMatch(re2::StringPiece(text.data(), text.size()), *node.pattern));
  }
  for (const Overload* overload : node.overloads) {
    bool fitting = true;
    for (std::size_t i = 0; i < count; ++i) fitting &= fits(overload->arguments[i], kinds[i]);
    if (fitting) return overload->apply({arguments.data(), count}, meter_);
  }
  return Value::error(no_overload(node.name, node.is_method, {kinds.data(), count}));
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
      return Value::error("an item marked with ? must be an optional value", node.children[i]->offset);
    } else if (item.as_optional()) {
      items.push_back(*item.as_optional());
    }
  }
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
      return Value::error("a map cannot have a key of type " + std::string(kind_name(kind)), node.children[i]->offset);
    if (node.optional_items[i / 2]) {
      if (!value.is(Kind::optional))
        return Value::error("an entry marked with ? must have an optional value", node.children[i]->offset);
      if (!value.as_optional()) continue;
      value = Value(*value.as_optional());
    }
    std::size_t work = 0;
    for (const auto& [known, other] : entries)
      if (equal(known, key, work))
        return Value::error("the map has the key " + debug_text(key) + " twice", node.children[i]->offset);
    meter_.charge(work);
    entries.emplace_back(std::move(key), std::move(value));
  }
  return Value::map(std::move(entries));
}

Value Evaluator::conditional(const Node& node) {
  Value condition = evaluate(*node.children[0]);
  if (condition.is_error()) return condition;
  if (!condition.is(Kind::boolean))
    return Value::error("the condition of ?: is a " + std::string(kind_name(condition.kind())) + ", not a bool");
  return evaluate(*node.children[condition.as_bool() ? 1 : 2]);
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
    failure =
        operand.is_error()
            ? operand
            : Value::error("an operand of && or || is a " + std::string(kind_name(operand.kind())) + ", not a bool",
                           child->offset);
  }
  return failure.is_error() ? failure : Value::boolean(!deciding);
}

template <class Body>
void Evaluator::each(const Node& node, const Value& range, Body body) {
  const bool two = node.variables.size() == 2;
  const auto slot = static_cast<std::size_t>(node.slot);
  locals_.resize(slot + node.variables.size());
  std::int64_t position = 0;
  if (range.is(Kind::list)) {
    range.each_item([&](const Value& item) {
      if (two) locals_[slot] = Value::integer(position++);
      locals_[slot + (two ? 1 : 0)] = item;
      return !meter_.exhausted() && body(two ? locals_[slot] : item);
    });
  } else {
    range.each_entry([&](const Value& key, const Value& value) {
      locals_[slot] = key;
      if (two) locals_[slot + 1] = value;
      return !meter_.exhausted() && body(key);
    });
  }
  locals_.resize(slot);
}

Value Evaluator::comprehension(const Node& node) {
  Value range = evaluate(*node.children[0]);
  if (node.macro == Macro::bind) {
    locals_.resize(static_cast<std::size_t>(node.slot));
    locals_.push_back(range);
    Value result = evaluate(*node.children[1]);
    locals_.resize(static_cast<std::size_t>(node.slot));
    return result;
  }
  if (range.is_error()) return range;
  if (node.macro == Macro::opt_map || node.macro == Macro::opt_flat_map) return optional_comprehension(node, range);
  if (!range.is(Kind::list) && !range.is(Kind::map))
    return Value::error("the receiver of " + node.name + "() is a " + std::string(kind_name(range.kind())) +
                        ", not a list or a map");
  switch (node.macro) {
    case Macro::all:
    case Macro::exists:
      return quantifier(node, range);
    case Macro::exists_one:
      return exists_one(node, range);
    default:
      return collect(node, range);
  }
}

Value Evaluator::optional_comprehension(const Node& node, const Value& operand) {
  if (!operand.is(Kind::optional))
    return Value::error("the receiver of " + node.name + "() is a " + std::string(kind_name(operand.kind())) +
                        ", not an optional value");
  if (!operand.as_optional()) return operand;
  locals_.resize(static_cast<std::size_t>(node.slot));
  locals_.push_back(*operand.as_optional());
  Value result = evaluate(*node.children[1]);
  locals_.resize(static_cast<std::size_t>(node.slot));
  if (result.is_error() || node.macro == Macro::opt_flat_map) return result;
  return Value::optional_of(std::move(result));
}

Value not_a_bool(const Node& node, const Value& value) {
  return Value::error("the condition of " + node.name + "() is a " + std::string(kind_name(value.kind())) +
                      ", not a bool");
}

// all() and exists(): as && and || over the elements.
Value Evaluator::quantifier(const Node& node, const Value& range) {
  const bool deciding = node.macro == Macro::exists;
  bool decided = false;
  Value failure;
  each(node, range, [&](const Value&) {
    const Value holds = evaluate(*node.children[1]);
    if (holds.is(Kind::boolean))
      decided = holds.as_bool() == deciding;
    else if (!failure.is_error())
      failure = holds.is_error() ? holds : not_a_bool(node, holds);
    return !decided;
  });
  if (decided) return Value::boolean(deciding);
  return failure.is_error() ? failure : Value::boolean(!deciding);
}

Value Evaluator::exists_one(const Node& node, const Value& range) {
  int count = 0;
  Value failure;
  each(node, range, [&](const Value&) {
    const Value holds = evaluate(*node.children[1]);
    if (!holds.is(Kind::boolean)) {
      failure = holds.is_error() ? holds : not_a_bool(node, holds);
      return false;
    }
    count += holds.as_bool() ? 1 : 0;
    return true;
  });
  return failure.is_error() ? failure : Value::boolean(count == 1);
}

// map(), filter(), transformList(), transformMap().
Value Evaluator::collect(const Node& node, const Value& range) {
  const bool filters = node.macro == Macro::filter || node.children.size() == 3;
  const Node* value_step = node.macro == Macro::filter ? nullptr : node.children.back().get();
  List items;
  Map entries;
  Value failure;
  each(node, range, [&](const Value& element) {
    if (filters) {
      const Value holds = evaluate(*node.children[1]);
      if (!holds.is(Kind::boolean)) {
        failure = holds.is_error() ? holds : not_a_bool(node, holds);
        return false;
      }
      if (!holds.as_bool()) return true;
    }
    Value value = value_step ? evaluate(*value_step) : element;
    if (value.is_error()) {
      failure = value;
      return false;
    }
    if (node.macro == Macro::transform_map)
      entries.emplace_back(element, std::move(value));
    else
      items.push_back(std::move(value));
    return true;
  });
  if (failure.is_error()) return failure;
  return node.macro == Macro::transform_map ? Value::map(std::move(entries)) : Value::list(std::move(items));
}

}  // namespace

Value evaluate(const Node& root, const Activation& activation, std::size_t cost_max) {
  return Evaluator(activation, cost_max).run(root);
}

}  // namespace sublet::patches::cel
