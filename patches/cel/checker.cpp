#include "patches/cel/checker.h"

#include <re2/re2.h>

#include <algorithm>

#include "patches/cel/functions.h"
#include "sublet/base/nearest.h"

namespace sublet::patches::cel {

namespace {

// Kinds that can be named in an expression, as in `type(x) == string`.
constexpr std::pair<std::string_view, Kind> kTypeNames[] = {{"bool", Kind::boolean},
                                                            {"int", Kind::integer},
                                                            {"uint", Kind::uinteger},
                                                            {"double", Kind::floating},
                                                            {"string", Kind::string},
                                                            {"bytes", Kind::bytes},
                                                            {"list", Kind::list},
                                                            {"map", Kind::map},
                                                            {"null_type", Kind::null},
                                                            {"type", Kind::type},
                                                            {"optional_type", Kind::optional}};

class Checker {
 public:
  explicit Checker(const Environment& environment) : environment_(environment) {}

  Kind check(Node& node);
  std::vector<Problem> take_problems() { return std::move(problems_); }

 private:
  void fail(const Node& node, std::string message) { problems_.push_back({node.offset, std::move(message)}); }
  void want(const Node& node, Kind wanted, std::string_view what);

  Kind dispatch(Node& node);
  Kind check_identifier(Node& node);
  Kind check_select(Node& node);
  Kind check_index(Node& node);
  Kind check_call(Node& node);
  Kind check_conditional(Node& node);
  Kind check_comprehension(Node& node);
  void check_pattern(Node& node);

  std::string qualified_name(const Node& node) const;
  bool resolve(Node& node, std::string_view name);
  bool is_local(std::string_view name) const;
  void resolve_namespace(Node& node);
  std::vector<std::string_view> known_names(std::string_view prefix) const;

  const Environment& environment_;
  std::vector<std::string> locals_;
  std::vector<Problem> problems_;
};

Kind Checker::check(Node& node) { return node.type = dispatch(node); }

Kind Checker::dispatch(Node& node) {
  switch (node.op) {
    case Op::literal:
      return node.literal.kind();
    case Op::identifier:
      return check_identifier(node);
    case Op::select:
    case Op::has:
      return check_select(node);
    case Op::index:
      return check_index(node);
    case Op::call:
      return check_call(node);
    case Op::list:
      for (const NodePtr& child : node.children) check(*child);
      return Kind::list;
    case Op::map:
      for (const NodePtr& child : node.children) check(*child);
      return Kind::map;
    case Op::conditional:
      return check_conditional(node);
    case Op::logical_and:
    case Op::logical_or:
      for (const NodePtr& child : node.children) {
        check(*child);
        want(*child, Kind::boolean, node.op == Op::logical_and ? "an operand of &&" : "an operand of ||");
      }
      return Kind::boolean;
    case Op::comprehension:
      return check_comprehension(node);
    case Op::variable:
    case Op::local:
      break;
  }
  return node.type;
}

void Checker::want(const Node& node, Kind wanted, std::string_view what) {
  if (!fits(wanted, node.type))
    fail(node, std::string(what) + " must be a " + std::string(kind_name(wanted)) + ", not a " +
                   std::string(kind_name(node.type)));
}

bool Checker::is_local(std::string_view name) const {
  return std::find(locals_.begin(), locals_.end(), name) != locals_.end();
}

// "a.b.c" for a chain of plain selections from a name that is no local; empty otherwise.
std::string Checker::qualified_name(const Node& node) const {
  if (node.op == Op::identifier) return is_local(node.name) ? std::string() : node.name;
  if ((node.op != Op::select && node.op != Op::has) || node.optional) return {};
  const std::string operand = qualified_name(*node.children[0]);
  return operand.empty() ? operand : operand + '.' + node.name;
}

bool Checker::resolve(Node& node, std::string_view name) {
  const int slot = environment_.slot_of(name);
  if (slot < 0) return false;
  node.op = Op::variable;
  node.slot = slot;
  node.type = environment_.variables()[static_cast<std::size_t>(slot)].type;
  node.children.clear();
  return true;
}

std::vector<std::string_view> Checker::known_names(std::string_view prefix) const {
  std::vector<std::string_view> names;
  for (const auto& variable : environment_.variables()) {
    const std::string_view name = variable.name;
    if (variable.visible && name.starts_with(prefix) && name.find('.', prefix.size()) == std::string_view::npos)
      names.push_back(name.substr(prefix.size()));
  }
  return names;
}

Kind Checker::check_identifier(Node& node) {
  const auto local = std::find(locals_.rbegin(), locals_.rend(), node.name);
  if (local != locals_.rend()) {
    node.op = Op::local;
    node.slot = static_cast<int>(locals_.rend() - local) - 1;
    return Kind::dyn;
  }
  if (resolve(node, node.name)) return node.type;
  for (const auto& [name, kind] : kTypeNames)
    if (name == node.name) {
      node.op = Op::literal;
      node.literal = Value::type(kind);
      return Kind::type;
    }
  std::vector<std::string_view> names = known_names("");
  names.insert(names.end(), locals_.begin(), locals_.end());
  fail(node, "undeclared reference to '" + node.name + "'" + suggestion(node.name, names));
  return Kind::dyn;
}

Kind Checker::check_select(Node& node) {
  const bool test = node.op == Op::has;
  const std::string qualified = qualified_name(node);
  if (!qualified.empty()) {
    if (!test && resolve(node, qualified)) return node.type;
    const std::string parent = qualified_name(*node.children[0]);
    const auto* closed = environment_.closed(parent);
    if (closed && environment_.slot_of(qualified) < 0) {
      fail(node,
           "there is no " + closed->what + " '" + node.name + "'" + suggestion(node.name, known_names(parent + '.')));
      return Kind::dyn;
    }
  }
  const Kind operand = check(*node.children[0]);
  if (!fits(Kind::map, operand) && operand != Kind::optional)
    fail(node, "a " + std::string(kind_name(operand)) + " has no fields");
  if (test) return Kind::boolean;
  return node.optional || operand == Kind::optional ? Kind::optional : Kind::dyn;
}

Kind Checker::check_index(Node& node) {
  const Kind operand = check(*node.children[0]);
  const Kind index = check(*node.children[1]);
  if (!fits(Kind::map, operand) && !fits(Kind::list, operand) && operand != Kind::optional)
    fail(node, "a " + std::string(kind_name(operand)) + " cannot be indexed");
  if (operand == Kind::list && index != Kind::dyn && index != Kind::integer && index != Kind::uinteger &&
      index != Kind::floating)
    fail(*node.children[1], "a list is indexed by an int, not by a " + std::string(kind_name(index)));
  return node.optional || operand == Kind::optional ? Kind::optional : Kind::dyn;
}

// `math.greatest(a, b)` parses as a method on `math`; it is a function when no variable has that name.
void Checker::resolve_namespace(Node& node) {
  if (!node.is_method) return;
  const std::string receiver = qualified_name(*node.children[0]);
  if (receiver.empty() || environment_.slot_of(receiver) >= 0) return;
  const std::string function = receiver + '.' + node.name;
  if (overloads_of(function).empty()) return;
  node.name = function;
  node.is_method = false;
  node.children.erase(node.children.begin());
}

// math.least(a, b, ...) takes any number of arguments: they become one list.
void gather_arguments(Node& node) {
  const bool gathers = node.name == "math.least" || node.name == "math.greatest";
  if (!gathers || node.is_method || node.children.empty()) return;
  if (node.children.size() == 1 && node.children[0]->op == Op::list) return;
  auto list = std::make_unique<Node>();
  list->op = Op::list;
  list->offset = node.offset;
  list->optional_items.assign(node.children.size(), false);
  list->children = std::move(node.children);
  node.children.clear();
  node.children.push_back(std::move(list));
}

Kind Checker::check_call(Node& node) {
  resolve_namespace(node);
  gather_arguments(node);
  std::vector<Kind> arguments;
  const std::size_t before = problems_.size();
  for (const NodePtr& child : node.children) arguments.push_back(check(*child));
  const auto& candidates = overloads_of(node.name);
  if (candidates.empty()) {
    fail(node, "there is no function '" + node.name + "'" + suggestion(node.name, function_names()));
    return Kind::dyn;
  }
  for (const Overload* candidate : candidates) {
    if ((candidate->style == Style::method) != node.is_method || candidate->arity != arguments.size()) continue;
    bool fitting = true;
    for (std::size_t i = 0; i < arguments.size(); ++i) fitting &= fits(candidate->arguments[i], arguments[i]);
    if (fitting) node.overloads.push_back(candidate);
  }
  if (node.overloads.empty()) {
    if (problems_.size() == before) fail(node, no_overload(node.name, node.is_method, arguments));
    return Kind::dyn;
  }
  check_pattern(node);
  const Kind result = node.overloads.front()->result;
  const bool same = std::all_of(node.overloads.begin(), node.overloads.end(),
                                [&](const Overload* overload) { return overload->result == result; });
  return same ? result : Kind::dyn;
}

void Checker::check_pattern(Node& node) {
  if (node.name != "matches" || node.children.size() != 2 || node.children[1]->op != Op::literal) return;
  RE2::Options options;
  options.set_log_errors(false);
  options.set_max_mem(1 << 20);
  const std::string_view pattern = node.children[1]->literal.as_text();
  auto compiled = std::make_shared<const RE2>(re2::StringPiece(pattern.data(), pattern.size()), options);
  if (compiled->ok())
    node.pattern = std::move(compiled);
  else
    fail(*node.children[1], "invalid regular expression: " + compiled->error());
}

Kind Checker::check_conditional(Node& node) {
  check(*node.children[0]);
  want(*node.children[0], Kind::boolean, "the condition of ?:");
  const Kind yes = check(*node.children[1]);
  const Kind no = check(*node.children[2]);
  return yes == no ? yes : Kind::dyn;
}

Kind Checker::check_comprehension(Node& node) {
  const Kind range = check(*node.children[0]);
  const bool over_optional = node.macro == Macro::opt_map || node.macro == Macro::opt_flat_map;
  if (over_optional)
    want(*node.children[0], Kind::optional, "the receiver of " + node.name + "()");
  else if (node.macro != Macro::bind && !fits(Kind::list, range) && !fits(Kind::map, range))
    fail(node, "the receiver of " + node.name + "() must be a list or a map, not a " + std::string(kind_name(range)));
  node.slot = static_cast<int>(locals_.size());
  locals_.insert(locals_.end(), node.variables.begin(), node.variables.end());
  Kind last = Kind::dyn;
  for (std::size_t i = 1; i < node.children.size(); ++i) last = check(*node.children[i]);
  locals_.resize(static_cast<std::size_t>(node.slot));
  const bool has_filter = node.children.size() == 3;
  switch (node.macro) {
    case Macro::all:
    case Macro::exists:
    case Macro::exists_one:
      want(*node.children[1], Kind::boolean, "the condition of " + node.name + "()");
      return Kind::boolean;
    case Macro::filter:
      want(*node.children[1], Kind::boolean, "the condition of filter()");
      return Kind::list;
    case Macro::map:
    case Macro::transform_list:
    case Macro::transform_map:
      if (has_filter) want(*node.children[1], Kind::boolean, "the condition of " + node.name + "()");
      return node.macro == Macro::transform_map ? Kind::map : Kind::list;
    case Macro::opt_map:
      return Kind::optional;
    case Macro::opt_flat_map:
      want(*node.children[1], Kind::optional, "the result of optFlatMap()");
      return Kind::optional;
    case Macro::bind:
    case Macro::none:
      break;
  }
  return last;
}

}  // namespace

std::vector<Problem> check(Node& root, const Environment& environment) {
  Checker checker(environment);
  checker.check(root);
  return checker.take_problems();
}

}  // namespace sublet::patches::cel
