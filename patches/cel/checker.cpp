#include "patches/cel/checker.h"

#include <algorithm>

#include "patches/cel/functions.h"
#include "patches/cel/unifier.h"
#include "sublet/base/nearest.h"

namespace sublet::patches::cel {

namespace {

// Kinds that can be named in an expression, as in `type(x) == string`.
constexpr Kind kNamedTypes[] = {Kind::boolean,  Kind::integer,   Kind::uinteger, Kind::floating, Kind::string,
                                Kind::bytes,    Kind::list,      Kind::map,      Kind::null,     Kind::type,
                                Kind::optional, Kind::timestamp, Kind::duration, Kind::ip,       Kind::cidr};

bool mentions_dyn(const Type& type) {
  return type.kind == Kind::dyn || std::any_of(type.parameters.begin(), type.parameters.end(),
                                               [](const TypeRef& part) { return mentions_dyn(*part); });
}

constexpr int kTypePartsMax = 1000;
constexpr std::string_view kJsonPatch = "JSONPatch", kObject = "Object";

bool is_patch_type(std::string_view name) {
  return name == kJsonPatch || name == kObject || (name.starts_with(kObject) && name[kObject.size()] == '.');
}

struct CheckedVariable {
  std::string_view name;
  int slot;
  TypeRef type;
};

class Checker {
 public:
  explicit Checker(const Environment& environment)
      : environment_(environment), friendly_(environment.library() == Library::templates) {}

  CheckResult run(Node& root) {
    check(root);
    close(root);
    std::stable_sort(result_.problems.begin(), result_.problems.end(),
                     [](const Problem& a, const Problem& b) { return a.offset < b.offset; });
    return std::move(result_);
  }

 private:
  void fail(const Node& node, std::string message) { fail_at(node.offset, std::move(message)); }
  void fail_at(int offset, std::string message) { result_.problems.push_back({offset, std::move(message)}); }
  void mismatch(const Node& node, const TypeRef& wanted, const TypeRef& found) {
    fail(node, "expected type '" + type_text(*unifier_.substitute(wanted, false)) + "' but found '" +
                   type_text(*unifier_.substitute(found, false)) + "'");
  }

  void check(Node& node) {
    node.type = dispatch(node);
    if (!unifier_.larger_than(node.type, kTypePartsMax)) return;
    fail(node, "the type of the expression is too large");
    node.type = Type::of(Kind::error);
  }
  TypeRef dispatch(Node& node);
  TypeRef check_identifier(Node& node);
  TypeRef check_select(Node& node);
  TypeRef field_type(Node& node);
  TypeRef check_call(Node& node);
  TypeRef check_logical(Node& node);
  TypeRef check_list(Node& node);
  TypeRef check_map(Node& node);
  TypeRef check_message(Node& node);
  TypeRef check_comprehension(Node& node);
  void check_range(Node& node, std::vector<CheckedVariable>& variables);
  TypeRef resolve(Node& node, std::string_view name);
  TypeRef resolve_leniently(Node& node, const std::vector<Function>& candidates, std::span<const TypeRef> arguments);
  TypeRef join(const TypeRef& before, const TypeRef& now);
  TypeRef item_type(const Node& item, bool optional);
  TypeRef undeclared(const Node& node, std::string_view name, const std::vector<std::string_view>& known);

  std::string qualified_name(const Node& node) const;
  bool resolve_name(Node& node, std::string_view name);
  const CheckedVariable* local(std::string_view name) const;
  bool resolve_namespace(Node& node);
  std::string known_function(std::string_view name) const;
  std::vector<std::string> candidates(std::string_view name) const;
  std::vector<std::string_view> known_names(std::string_view prefix) const;
  void close(Node& node);

  const Environment& environment_;
  bool friendly_;
  Unifier unifier_;
  std::vector<CheckedVariable> locals_;
  CheckResult result_;
};

TypeRef Checker::dispatch(Node& node) {
  switch (node.op) {
    case Op::literal:
      return Type::of(node.literal.kind());
    case Op::identifier:
      return check_identifier(node);
    case Op::select:
    case Op::has:
      return check_select(node);
    case Op::index:
    case Op::conditional:
      for (const NodePtr& child : node.children) check(*child);
      return resolve(node, function_of(node));
    case Op::call:
      return check_call(node);
    case Op::list:
      return check_list(node);
    case Op::map:
      return check_map(node);
    case Op::logical_and:
    case Op::logical_or:
      return check_logical(node);
    case Op::comprehension:
      return check_comprehension(node);
    case Op::message:
      return check_message(node);
    case Op::variable:
    case Op::local:
      break;
  }
  return node.type;
}

const CheckedVariable* Checker::local(std::string_view name) const {
  for (auto known = locals_.rbegin(); known != locals_.rend(); ++known)
    if (known->name == name) return &*known;
  return nullptr;
}

// A name in its container and those around it, the nearest first.
std::vector<std::string> Checker::candidates(std::string_view name) const {
  if (name.starts_with(".")) return {std::string(name.substr(1))};
  std::vector<std::string> names;
  std::string container = environment_.container();
  while (!container.empty()) {
    names.push_back(container + '.' + std::string(name));
    const std::size_t dot = container.rfind('.');
    container.resize(dot == std::string::npos ? 0 : dot);
  }
  names.emplace_back(name);
  return names;
}

// "a.b.c" for a chain of plain selections from a name that is no local; empty otherwise.
std::string Checker::qualified_name(const Node& node) const {
  if (node.op == Op::identifier) return local(node.name) ? std::string() : node.name;
  if (node.op != Op::select || node.optional) return {};
  const std::string operand = qualified_name(*node.children[0]);
  return operand.empty() ? operand : operand + '.' + node.name;
}

bool Checker::resolve_name(Node& node, std::string_view name) {
  for (const std::string& candidate : candidates(name)) {
    const int slot = environment_.slot_of(candidate);
    if (slot >= 0) {
      node.op = Op::variable;
      node.slot = slot;
      node.name = candidate;
      node.type = environment_.variables()[static_cast<std::size_t>(slot)].type;
      node.children.clear();
      if (std::find(result_.variables.begin(), result_.variables.end(), candidate) == result_.variables.end())
        result_.variables.push_back(candidate);
      return true;
    }
    for (const Kind kind : kNamedTypes)
      if (kind_name(kind) == candidate) {
        node.op = Op::literal;
        node.literal = Value::type(kind);
        node.named = true;
        node.type = Type::type_of(Type::of(kind));
        node.children.clear();
        return true;
      }
  }
  return false;
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

TypeRef Checker::undeclared(const Node& node, std::string_view name, const std::vector<std::string_view>& known) {
  const std::string text = "undeclared reference to '" + std::string(name) + "'";
  if (friendly_)
    fail_at(node.name_offset, text + suggestion(name, known));
  else
    fail(node, text + " (in container '" + environment_.container() + "')");
  return Type::of(Kind::error);
}

TypeRef Checker::check_identifier(Node& node) {
  if (const CheckedVariable* known = local(node.name)) {
    node.op = Op::local;
    node.slot = known->slot;
    return known->type;
  }
  if (resolve_name(node, node.name)) return node.type;
  std::vector<std::string_view> names = known_names("");
  for (const CheckedVariable& known : locals_) names.push_back(known.name);
  return undeclared(node, node.name, names);
}

TypeRef Checker::check_select(Node& node) {
  const bool test = node.op == Op::has;
  const std::string parent = node.optional ? std::string() : qualified_name(*node.children[0]);
  if (!parent.empty()) {
    const std::string qualified = parent + '.' + node.name;
    if (!test && resolve_name(node, qualified)) return node.type;
    if (test && environment_.slot_of(qualified) >= 0) {  // of a declared member there is no doubt
      node.op = Op::literal;
      node.literal = Value::boolean(true);
      node.children.clear();
      return Type::of(Kind::boolean);
    }
    const auto* closed = environment_.closed(parent);
    if (closed && environment_.slot_of(qualified) < 0) {
      if (!friendly_) {
        fail(node, "undefined field '" + node.name + "'");
        return Type::of(Kind::error);
      }
      fail_at(node.name_offset, "there is no " + closed->what + " '" + node.name + "'" +
                                    suggestion(node.name, known_names(parent + '.')));
      return Type::of(Kind::error);
    }
  }
  TypeRef type = field_type(node);
  return test ? Type::of(Kind::boolean) : unifier_.substitute(type, false);
}

// The type of operand.field.
TypeRef Checker::field_type(Node& node) {
  check(*node.children[0]);
  TypeRef target = unifier_.substitute(node.children[0]->type, false);
  const bool optional = target->kind == Kind::optional || node.optional;
  if (target->kind == Kind::optional) target = target->parameters[0];
  TypeRef type = Type::of(Kind::error);
  switch (target->kind) {
    case Kind::map:
      type = target->parameters[1];
      break;
    case Kind::object:
      if (const TypeField* field = target->field(node.name); field && field->type)
        type = field->type;
      else if (environment_.offers_patches() && is_patch_type(target->name))
        type = Type::of(Kind::dyn);
      else
        fail(node, "undefined field '" + node.name + "'");
      break;
    case Kind::parameter:
      unifier_.assignable(Type::of(Kind::dyn), target);
      type = Type::of(Kind::dyn);
      break;
    case Kind::dyn:
    case Kind::error:
      type = Type::of(Kind::dyn);
      break;
    case Kind::quantity:
    case Kind::url:
    case Kind::semver:
    case Kind::format:
    case Kind::authorizer:
    case Kind::path_check:
    case Kind::group_check:
    case Kind::resource_check:
    case Kind::decision:
      fail(node, "unexpected failed resolution of '" + type_text(*target) + "'");
      break;
    default:
      fail(node, "type '" + type_text(*target) + "' does not support field selection");
      type = Type::of(Kind::dyn);
  }
  return optional ? Type::optional(type) : type;
}

// The name under which a function is declared, seen from the container; empty: it is not.
std::string Checker::known_function(std::string_view name) const {
  for (const std::string& candidate : candidates(name)) {
    const auto& overloads = overloads_of(candidate);
    if (std::any_of(overloads.begin(), overloads.end(),
                    [&](const Function& function) { return available(function.row->set, environment_); }))
      return candidate;
  }
  return {};
}

// `sets.contains(a, b)` parses as a method on `sets`; it is a function when there is one of that name.
bool Checker::resolve_namespace(Node& node) {
  const std::string receiver = qualified_name(*node.children[0]);
  if (receiver.empty()) return false;
  std::string function = known_function(receiver + '.' + node.name);
  if (function.empty()) return false;
  node.name = std::move(function);
  node.is_method = false;
  node.children.erase(node.children.begin());
  return true;
}

TypeRef Checker::check_call(Node& node) {
  if (node.is_method) {
    for (std::size_t i = 1; i < node.children.size(); ++i) check(*node.children[i]);
    if (resolve_namespace(node)) return resolve(node, node.name);
    check(*node.children[0]);
  } else {
    for (const NodePtr& child : node.children) check(*child);
  }
  const std::string name = known_function(node.name);
  if (name.empty()) {
    const std::vector<std::string_view> names =
        friendly_ ? function_names(environment_) : std::vector<std::string_view>();
    if (!friendly_) return undeclared(node, node.name, names);
    fail_at(node.name_offset, "there is no function '" + node.name + "'" + suggestion(node.name, names));
    return Type::of(Kind::error);
  }
  node.name = name;
  return resolve(node, node.name);
}

TypeRef Checker::resolve(Node& node, std::string_view name) {
  const auto& all = overloads_of(name);
  std::vector<TypeRef> arguments;
  for (const NodePtr& child : node.children) arguments.push_back(child->type);
  const bool vague = std::any_of(arguments.begin(), arguments.end(), [&](const TypeRef& argument) {
    return mentions_dyn(*unifier_.substitute(argument, true));
  });
  TypeRef type;
  for (const Function& function : all) {
    if (function.is_method != node.is_method || function.arguments.size() != arguments.size() ||
        !available(function.row->set, environment_))
      continue;
    std::vector<TypeRef> wanted = function.arguments;
    wanted.push_back(function.result);
    if (function.generic) wanted = unifier_.instantiate(wanted);
    const TypeRef result = std::move(wanted.back());
    wanted.pop_back();
    if (!unifier_.assignable(arguments, wanted)) continue;
    node.overloads.push_back(&function);
    // What is known of values that nothing is known of: templates take them as they come.
    TypeRef found = friendly_ && vague && function.generic
                        ? unifier_.substitute(unifier_.instantiate({function.result})[0], true)
                        : unifier_.substitute(result, false);
    if (!type)
      type = std::move(found);
    else if (type->kind != Kind::dyn && !same_type(*type, *found))
      type = Type::of(Kind::dyn);
  }
  if (type) return type;
  for (TypeRef& argument : arguments) argument = unifier_.substitute(argument, true);
  if (friendly_)
    if (TypeRef lenient = resolve_leniently(node, all, arguments)) return lenient;
  std::string signature;
  std::span<const TypeRef> rest = arguments;
  if (node.is_method) {
    signature = type_text(*rest[0]) + ".";
    rest = rest.subspan(1);
  }
  signature += '(';
  for (std::size_t i = 0; i < rest.size(); ++i) signature += (i ? ", " : "") + type_text(*rest[i]);
  fail(node, "found no matching overload for '" + std::string(name) + "' applied to '" + signature + ")'");
  return Type::of(Kind::error);
}

// Templates may compare and mix what cel-go refuses, such as 1 == 'a': only the kinds of the arguments must fit.
TypeRef Checker::resolve_leniently(Node& node, const std::vector<Function>& all, std::span<const TypeRef> arguments) {
  const auto fits = [](const Type& wanted, const Type& given) {
    return wanted.kind == given.kind || wanted.kind == Kind::dyn || wanted.kind == Kind::parameter ||
           given.kind == Kind::dyn || given.kind == Kind::error;
  };
  TypeRef type;
  for (const Function& function : all) {
    if (function.is_method != node.is_method || function.arguments.size() != arguments.size() ||
        !available(function.row->set, environment_))
      continue;
    bool fitting = true;
    for (std::size_t i = 0; i < arguments.size(); ++i) fitting &= fits(*function.arguments[i], *arguments[i]);
    if (!fitting) continue;
    node.overloads.push_back(&function);
    TypeRef result = unifier_.substitute(unifier_.instantiate({function.result})[0], true);
    type = !type || same_type(*type, *result) ? std::move(result) : Type::of(Kind::dyn);
  }
  return type;
}

TypeRef Checker::check_logical(Node& node) {
  bool fits = true;
  for (const NodePtr& child : node.children) check(*child);
  for (const NodePtr& child : node.children) {
    if (unifier_.assignable(child->type, Type::of(Kind::boolean))) continue;
    mismatch(*child, Type::of(Kind::boolean), child->type);
    fits = false;
  }
  return Type::of(fits ? Kind::boolean : Kind::error);
}

TypeRef Checker::join(const TypeRef& before, const TypeRef& now) {
  if (!before) return now;
  if (unifier_.assignable(before, now)) return most_general(before, now);
  return Type::of(Kind::dyn);  // what Kubernetes does not let pass is the validators' to say
}

// What a literal's item adds: of `?x` what the optional holds.
TypeRef Checker::item_type(const Node& item, bool optional) {
  if (!optional) return item.type;
  if (item.type->kind == Kind::optional) return item.type->parameters[0];
  if (item.type->kind != Kind::dyn && item.type->kind != Kind::error)
    mismatch(item, Type::optional(item.type), item.type);
  return item.type;
}

TypeRef Checker::check_list(Node& node) {
  TypeRef items;
  for (std::size_t i = 0; i < node.children.size(); ++i) {
    Node& child = *node.children[i];
    check(child);
    items = join(items, item_type(child, node.optional_items[i]));
  }
  return Type::list(items ? items : unifier_.fresh());
}

TypeRef Checker::check_map(Node& node) {
  TypeRef keys, values;
  for (std::size_t i = 0; i + 1 < node.children.size(); i += 2) {
    Node& key = *node.children[i];
    Node& value = *node.children[i + 1];
    check(key);
    keys = join(keys, key.type);
    check(value);
    values = join(values, item_type(value, node.optional_items[i / 2]));
  }
  if (!keys) keys = unifier_.fresh();
  if (!values) values = unifier_.fresh();
  return Type::map(keys, values);
}

// Names of messages within messages must say where they stand: Object.spec{} in the field spec of Object{}.
void check_names(const Node& node, const std::string& path, std::string& mismatch) {
  if (node.op == Op::message) {
    if (node.name != path) {
      if (!mismatch.empty()) mismatch += '\n';
      mismatch += "unexpected type name \"" + node.name + "\", expected \"" + path +
                  "\", which matches field name path from root Object type";
    }
    for (std::size_t i = 0; i < node.children.size(); ++i)
      check_names(*node.children[i], path + "." + node.fields[i], mismatch);
  } else if (node.op == Op::list) {
    for (const NodePtr& child : node.children) check_names(*child, path, mismatch);
  } else if (node.op == Op::map) {
    for (std::size_t i = 1; i < node.children.size(); i += 2) check_names(*node.children[i], path, mismatch);
  }
}

TypeRef Checker::check_message(Node& node) {
  if (friendly_) {
    fail(node, "messages cannot be constructed; use a map {'key': value}");
    return Type::of(Kind::error);
  }
  if (!environment_.offers_patches() || !is_patch_type(node.name)) {
    fail(node, "undeclared reference to '" + node.name + "' (in container '" + environment_.container() + "')");
    return Type::of(Kind::error);
  }
  const bool json_patch = node.name == kJsonPatch;
  for (std::size_t i = 0; i < node.children.size(); ++i) {
    Node& child = *node.children[i];
    check(child);
    const TypeRef found = item_type(child, node.optional_items[i]);
    const std::string& field = node.fields[i];
    const bool text = json_patch && field != "value";
    if (text && field != "op" && field != "path" && field != "from")
      fail(child, "undefined field '" + field + "'");
    else if (text && !unifier_.assignable(Type::of(Kind::string), found))
      fail(child, "expected type of field '" + field + "' is 'string' but provided type is '" +
                      type_text(*unifier_.substitute(found, false)) + "'");
  }
  if (!json_patch) {
    std::string mismatch;
    check_names(node, node.name, mismatch);
    node.mismatch = std::move(mismatch);
  }
  return Type::object(node.name, {});
}

// The types of a comprehension's variables.
void Checker::check_range(Node& node, std::vector<CheckedVariable>& variables) {
  const Node& range = *node.children[kRange];
  const TypeRef type = unifier_.substitute(range.type, false);
  TypeRef first = Type::of(Kind::error), second = first;
  const auto refuse = [&] {
    fail(range, "expression of type '" + type_text(*type) +
                    "' cannot be range of a comprehension (must be list, map, or dynamic)");
  };
  switch (type->kind) {
    case Kind::list:
      first = second = type->parameters[0];
      if (node.variables.size() == 2) first = Type::of(Kind::integer);
      break;
    case Kind::map:
      first = type->parameters[0];
      second = type->parameters[1];
      break;
    case Kind::dyn:
      if (!type->name.empty()) {
        refuse();
        break;
      }
      [[fallthrough]];
    case Kind::error:
    case Kind::parameter:
      unifier_.assignable(Type::of(Kind::dyn), type);
      first = second = Type::of(Kind::dyn);
      break;
    default:
      refuse();
  }
  for (std::size_t i = 0; i < node.variables.size(); ++i)
    variables.push_back({node.variables[i], node.slot + 1 + static_cast<int>(i), i == 0 ? first : second});
}

TypeRef Checker::check_comprehension(Node& node) {
  check(*node.children[kRange]);
  check(*node.children[kStart]);
  node.slot = result_.slots;
  result_.slots += 1 + static_cast<int>(node.variables.size());
  const TypeRef accumulated = node.children[kStart]->type;
  std::vector<CheckedVariable> variables;
  check_range(node, variables);
  locals_.push_back({node.accumulator, node.slot, accumulated});
  locals_.insert(locals_.end(), variables.begin(), variables.end());
  Node& condition = *node.children[kCondition];
  Node& step = *node.children[kStep];
  check(condition);
  if (!unifier_.assignable(Type::of(Kind::boolean), condition.type))
    mismatch(condition, Type::of(Kind::boolean), condition.type);
  check(step);
  if (!unifier_.assignable(accumulated, step.type)) mismatch(step, accumulated, step.type);
  locals_.resize(locals_.size() - variables.size());
  check(*node.children[kResult]);
  locals_.pop_back();
  return unifier_.substitute(node.children[kResult]->type, false);
}

void Checker::close(Node& node) {
  if (node.type) node.type = unifier_.substitute(node.type, true);
  for (const NodePtr& child : node.children) close(*child);
}

}  // namespace

CheckResult check(Node& root, const Environment& environment) { return Checker(environment).run(root); }

}  // namespace sublet::patches::cel
