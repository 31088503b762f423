#include "patches/cel/macros.h"

#include <algorithm>

#include "patches/cel/functions.h"

namespace sublet::patches::cel {

namespace {

enum class Macro : std::uint8_t {
  has,
  all,
  exists,
  exists_one,
  map,
  filter,
  transform_map,
  transform_entries,
  bind,
  opt_map,
  opt_flat_map,
  sort_by,
  most,
  least,
};

struct MacroForm {
  std::string_view name;
  std::size_t arguments;  // 0: any number
  std::size_t variables;  // leading arguments that are names
  Macro macro;
  Set set = Set::core;
};

// Macros on a receiver, `range.name(variable..., steps...)`. A name and count that is not here is a plain call.
constexpr MacroForm kForms[] = {
    {"all", 2, 1, Macro::all},
    {"exists", 2, 1, Macro::exists},
    {"exists_one", 2, 1, Macro::exists_one},
    {"existsOne", 2, 1, Macro::exists_one, Set::strings_more},  // as old as the rest of that
    {"map", 2, 1, Macro::map},
    {"map", 3, 1, Macro::map},
    {"filter", 2, 1, Macro::filter},
    {"all", 3, 2, Macro::all, Set::two_variables},
    {"exists", 3, 2, Macro::exists, Set::two_variables},
    {"exists_one", 3, 2, Macro::exists_one, Set::two_variables},
    {"existsOne", 3, 2, Macro::exists_one, Set::two_variables},
    {"transformList", 3, 2, Macro::map, Set::two_variables},
    {"transformList", 4, 2, Macro::map, Set::two_variables},
    {"transformMap", 3, 2, Macro::transform_map, Set::two_variables},
    {"transformMap", 4, 2, Macro::transform_map, Set::two_variables},
    {"transformMapEntry", 3, 2, Macro::transform_entries, Set::two_variables},
    {"transformMapEntry", 4, 2, Macro::transform_entries, Set::two_variables},
    {"optMap", 2, 1, Macro::opt_map, Set::optional},
    {"optFlatMap", 2, 1, Macro::opt_flat_map, Set::optional},
    {"sortBy", 2, 1, Macro::sort_by, Set::lists},
};

// `namespace.name(...)`.
constexpr MacroForm kNamespaced[] = {
    {"cel.bind", 3, 1, Macro::bind, Set::bindings},
    {"math.greatest", 0, 0, Macro::most, Set::math},
    {"math.least", 0, 0, Macro::least, Set::math},
};

std::vector<NodePtr> nodes() { return {}; }
template <class... Rest>
std::vector<NodePtr> nodes(NodePtr first, Rest... rest) {
  std::vector<NodePtr> all = nodes(std::move(rest)...);
  all.insert(all.begin(), std::move(first));
  return all;
}

class Expansion {
 public:
  Expansion(NodeMaker& maker, const MacroForm& form, int offset, std::vector<NodePtr> arguments,
            std::vector<Problem>& problems)
      : maker_(maker), form_(form), offset_(offset), arguments_(std::move(arguments)), problems_(problems) {}

  NodePtr run(NodePtr receiver) {
    if (form_.macro == Macro::has) return has();
    if (form_.macro == Macro::most || form_.macro == Macro::least) return extreme();
    if (!take_variables()) return literal(Value());
    switch (form_.macro) {
      case Macro::all:
        return quantifier(std::move(receiver), true);
      case Macro::exists:
        return quantifier(std::move(receiver), false);
      case Macro::exists_one:
        return exists_one(std::move(receiver));
      case Macro::map:
      case Macro::filter:
      case Macro::transform_map:
      case Macro::transform_entries:
        return collect(std::move(receiver));
      case Macro::bind:
        return bound(variables_[0], std::move(arguments_[1]), std::move(arguments_[2]));
      case Macro::opt_map:
      case Macro::opt_flat_map:
        return over_optional(std::move(receiver));
      default:
        return sort_by(std::move(receiver));
    }
  }

 private:
  void fail(const Node& node, std::string message) { problems_.push_back({node.offset, std::move(message)}); }
  NodePtr literal(Value value) { return maker_.literal(std::move(value), offset_); }
  NodePtr result() { return maker_.identifier(kAccumulator, offset_); }
  NodePtr call(std::string_view function, std::vector<NodePtr> arguments) {
    return maker_.call(function, offset_, std::move(arguments));
  }
  NodePtr choose(NodePtr condition, NodePtr yes, NodePtr no) {
    return maker_.conditional(offset_, std::move(condition), std::move(yes), std::move(no));
  }

  std::string_view not_a_name() const {
    switch (form_.macro) {
      case Macro::map:
        return form_.variables == 1 ? "argument is not an identifier" : "argument must be a simple name";
      case Macro::filter:
      case Macro::sort_by:
        return "argument is not an identifier";
      case Macro::bind:
        return "cel.bind() variable names must be simple identifiers";
      case Macro::opt_map:
        return "optMap() variable name must be a simple identifier";
      case Macro::opt_flat_map:
        return "optFlatMap() variable name must be a simple identifier";
      default:
        return "argument must be a simple name";
    }
  }

  bool take_variables() {
    for (std::size_t i = 0; i < form_.variables; ++i) {
      const Node& argument = *arguments_[i];
      if (argument.op != Op::identifier) {
        fail(argument, std::string(not_a_name()));
        return false;
      }
      variables_.push_back(argument.name);
    }
    if (variables_.size() == 2 && variables_[0] == variables_[1]) {
      fail(*arguments_[1], "duplicate variable name: " + variables_[0]);
      return false;
    }
    for (std::size_t i = 0; i < variables_.size(); ++i)
      if (variables_[i] == "__result__") {
        fail(*arguments_[i], "iteration variable overwrites accumulator variable");
        return false;
      }
    return true;
  }

  NodePtr loop(NodePtr range, NodePtr start, NodePtr condition, NodePtr step, NodePtr end) {
    return maker_.comprehension(offset_, std::move(range), variables_, kAccumulator, std::move(start),
                                std::move(condition), std::move(step), std::move(end));
  }

  NodePtr has() {
    if (arguments_[0]->op != Op::select || arguments_[0]->optional) {
      fail(*arguments_[0], "invalid argument to has() macro");
      return literal(Value());
    }
    NodePtr node = std::move(arguments_[0]);
    node->op = Op::has;
    node->offset = offset_;
    return node;
  }

  NodePtr quantifier(NodePtr range, bool all) {
    NodePtr condition = all ? result() : maker_.call("!_", offset_, nodes(result()));
    NodePtr step = maker_.make(all ? Op::logical_and : Op::logical_or, offset_);
    maker_.adopt(*step, result());
    maker_.adopt(*step, std::move(arguments_.back()));
    return loop(std::move(range), literal(Value::boolean(all)),
                call("@not_strictly_false", nodes(std::move(condition))), std::move(step), result());
  }

  NodePtr exists_one(NodePtr range) {
    NodePtr one_more = call("_+_", nodes(result(), literal(Value::integer(1))));
    NodePtr step = choose(std::move(arguments_.back()), std::move(one_more), result());
    return loop(std::move(range), literal(Value::integer(0)), literal(Value::boolean(true)), std::move(step),
                call("_==_", nodes(result(), literal(Value::integer(1)))));
  }

  // map(), filter(), transformList(), transformMap(), transformMapEntry().
  NodePtr collect(NodePtr range) {
    const bool filters = form_.macro == Macro::filter || form_.arguments == form_.variables + 2;
    const bool to_map = form_.macro == Macro::transform_map || form_.macro == Macro::transform_entries;
    NodePtr step;
    if (form_.macro == Macro::transform_map)
      step = call("cel.@mapInsert",
                  nodes(result(), maker_.identifier(variables_[0], offset_), std::move(arguments_.back())));
    else if (form_.macro == Macro::transform_entries)
      step = call("cel.@mapInsert", nodes(result(), std::move(arguments_.back())));
    else
      step = call("_+_", nodes(result(), maker_.list(offset_, nodes(form_.macro == Macro::filter
                                                                        ? std::move(arguments_[0])
                                                                        : std::move(arguments_.back())))));
    if (filters) step = choose(std::move(arguments_[form_.variables]), std::move(step), result());
    NodePtr start = to_map ? maker_.make(Op::map, offset_) : maker_.list(offset_, {});
    return loop(std::move(range), std::move(start), literal(Value::boolean(true)), std::move(step), result());
  }

  NodePtr bound(const std::string& name, NodePtr value, NodePtr body) {
    return maker_.comprehension(offset_, maker_.list(offset_, {}), {std::string(kUnused)}, name, std::move(value),
                                literal(Value::boolean(false)), maker_.identifier(name, offset_), std::move(body));
  }

  NodePtr over_optional(NodePtr receiver) {
    NodePtr copy = maker_.copy(*receiver);
    NodePtr body = bound(variables_[0], maker_.method("value", offset_, std::move(copy), {}), std::move(arguments_[1]));
    if (form_.macro == Macro::opt_map) body = call("optional.of", nodes(std::move(body)));
    return choose(maker_.method("hasValue", offset_, std::move(receiver), {}), std::move(body),
                  call("optional.none", {}));
  }

  NodePtr sort_by(NodePtr receiver) {
    constexpr std::string_view kInput = "@__sortBy_input__";
    NodePtr step = call("_+_", nodes(result(), maker_.list(offset_, nodes(std::move(arguments_[1])))));
    NodePtr keys = loop(maker_.identifier(kInput, offset_), maker_.list(offset_, {}), literal(Value::boolean(true)),
                        std::move(step), result());
    NodePtr sorted =
        maker_.method("@sortByAssociatedKeys", offset_, maker_.identifier(kInput, offset_), nodes(std::move(keys)));
    return bound(std::string(kInput), std::move(receiver), std::move(sorted));
  }

  // math.greatest(a, b, ...): of one list, or of two; more become a list.
  NodePtr extreme() {
    const std::string name = form_.macro == Macro::most ? "math.@max" : "math.@min";
    if (arguments_.empty()) {
      problems_.push_back({offset_, std::string(form_.name) + "() requires at least one argument"});
      return literal(Value());
    }
    if (arguments_.size() <= 2) return call(name, std::move(arguments_));
    return call(name, nodes(maker_.list(offset_, std::move(arguments_))));
  }

  NodeMaker& maker_;
  const MacroForm& form_;
  int offset_;
  std::vector<NodePtr> arguments_;
  std::vector<std::string> variables_;
  std::vector<Problem>& problems_;
};

const MacroForm* form_of(const Environment& environment, std::string_view name, const Node* receiver,
                         std::size_t arguments) {
  static constexpr MacroForm kHas{"has", 1, 0, Macro::has};
  if (!receiver) return name == "has" && arguments == 1 ? &kHas : nullptr;
  if (receiver->op == Op::identifier)
    for (const MacroForm& form : kNamespaced)
      if (form.name == receiver->name + "." + std::string(name) &&
          (form.arguments == arguments || form.arguments == 0) && available(form.set, environment))
        return &form;
  for (const MacroForm& form : kForms)
    if (form.name == name && form.arguments == arguments && available(form.set, environment)) return &form;
  return nullptr;
}

}  // namespace

NodePtr NodeMaker::make(Op op, int offset) {
  auto node = std::make_unique<Node>();
  node->op = op;
  node->offset = offset;
  node->name_offset = offset;
  exceeded_ |= ++nodes_ > kNodesMax;
  return node;
}

NodePtr NodeMaker::literal(Value value, int offset) {
  NodePtr node = make(Op::literal, offset);
  node->literal = std::move(value);
  return node;
}

NodePtr NodeMaker::identifier(std::string_view name, int offset) {
  NodePtr node = make(Op::identifier, offset);
  node->name = name;
  return node;
}

NodePtr NodeMaker::call(std::string_view function, int offset, std::vector<NodePtr> arguments) {
  NodePtr node = make(Op::call, offset);
  node->name = function;
  for (NodePtr& argument : arguments) adopt(*node, std::move(argument));
  return node;
}

NodePtr NodeMaker::method(std::string_view function, int offset, NodePtr receiver, std::vector<NodePtr> arguments) {
  NodePtr node = make(Op::call, offset);
  node->name = function;
  node->is_method = true;
  adopt(*node, std::move(receiver));
  for (NodePtr& argument : arguments) adopt(*node, std::move(argument));
  return node;
}

NodePtr NodeMaker::list(int offset, std::vector<NodePtr> items) {
  NodePtr node = make(Op::list, offset);
  node->optional_items.assign(items.size(), false);
  for (NodePtr& item : items) adopt(*node, std::move(item));
  return node;
}

NodePtr NodeMaker::conditional(int offset, NodePtr condition, NodePtr yes, NodePtr no) {
  NodePtr node = make(Op::conditional, offset);
  adopt(*node, std::move(condition));
  adopt(*node, std::move(yes));
  adopt(*node, std::move(no));
  return node;
}

NodePtr NodeMaker::comprehension(int offset, NodePtr range, std::vector<std::string> variables,
                                 std::string_view accumulator, NodePtr start, NodePtr condition, NodePtr step,
                                 NodePtr result) {
  NodePtr node = make(Op::comprehension, offset);
  node->variables = std::move(variables);
  node->accumulator = accumulator;
  adopt(*node, std::move(range));
  adopt(*node, std::move(start));
  adopt(*node, std::move(condition));
  adopt(*node, std::move(step));
  adopt(*node, std::move(result));
  return node;
}

NodePtr NodeMaker::copy(const Node& node) {
  NodePtr twin = make(node.op, node.offset);
  if (exceeded_) return twin;
  twin->is_method = node.is_method;
  twin->optional = node.optional;
  twin->name_offset = node.name_offset;
  twin->name = node.name;
  twin->literal = node.literal;
  twin->optional_items = node.optional_items;
  twin->entry_offsets = node.entry_offsets;
  twin->accumulator = node.accumulator;
  twin->variables = node.variables;
  for (const NodePtr& child : node.children) adopt(*twin, copy(*child));
  return twin;
}

void NodeMaker::adopt(Node& node, NodePtr child) {
  node.height = std::max(node.height, child->height + 1);
  if (node.height > kTreeHeightMax) {
    exceeded_ = true;
    child = std::make_unique<Node>();
    node.height = 2;
  }
  node.children.push_back(std::move(child));
}

NodePtr expand_macro(const Environment& environment, NodeMaker& maker, std::string_view name, int offset,
                     NodePtr& receiver, std::vector<NodePtr>& arguments, std::vector<Problem>& problems) {
  const MacroForm* form = form_of(environment, name, receiver.get(), arguments.size());
  if (!form) return nullptr;
  return Expansion(maker, *form, offset, std::move(arguments), problems).run(std::move(receiver));
}

}  // namespace sublet::patches::cel
