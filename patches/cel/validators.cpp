#include <re2/re2.h>

#include <functional>

#include "patches/cel/checker.h"
#include "patches/cel/formatting.h"
#include "patches/cel/pattern.h"
#include "patches/cel/time.h"
#include "patches/cel/unifier.h"

namespace sublet::patches::cel {

namespace {

class Validator {
 public:
  std::vector<Problem> run(const Node& root) {
    visit(root, false);
    return std::move(problems_);
  }

 private:
  void fail(const Node& node, std::string message) { problems_.push_back({node.offset, std::move(message)}); }
  void mismatch(const Node& node, const Type& wanted) {
    fail(node, "expected type '" + type_text(wanted) + "' but found '" + type_text(*node.type) + "'");
  }

  void visit(const Node& node, bool formats);
  void check_call(const Node& node);
  void check_literal(const Node& argument, std::string_view function);
  void check_items(const Node& node);
  void check_entries(const Node& node);

  std::vector<Problem> problems_;
};

void Validator::visit(const Node& node, bool formats) {
  if (node.op == Op::call) check_call(node);
  if (!formats && node.op == Op::list) check_items(node);
  if (!formats && node.op == Op::map) check_entries(node);
  const bool inside = formats || (node.op == Op::call && node.name == "format");
  for (const NodePtr& child : node.children) visit(*child, inside);
}

void Validator::check_call(const Node& node) {
  const std::size_t first = node.is_method ? 1 : 0;
  if (node.children.size() > first) check_literal(*node.children[first], node.name);
  const bool format = node.name == "format" && node.is_method && node.children.size() == 2 &&
                      node.children[0]->op == Op::literal && node.children[1]->op == Op::list;
  if (format && node.children[0]->literal.is(Kind::string))
    for (Problem& problem : check_format(node)) problems_.push_back(std::move(problem));
}

void Validator::check_literal(const Node& argument, std::string_view function) {
  if (argument.op != Op::literal || argument.named) return;
  const Value& value = argument.literal;
  std::string problem;
  bool valid = true;
  if (function == "duration")
    valid = value.is(Kind::string) && parse_duration(value.as_text());
  else if (function == "timestamp" && value.is(Kind::integer))
    valid = !timestamp_in_range({value.as_int(), 0, 0}).is_error();
  else if (function == "timestamp" && value.is(Kind::string))
    valid = parse_timestamp(value.as_text()) && !timestamp_in_range(*parse_timestamp(value.as_text())).is_error();
  else if (function == "matches" && value.is(Kind::string))
    valid = compile_pattern(value.as_text(), problem) != nullptr;
  if (!valid) fail(argument, "invalid " + std::string(function) + " argument");
}

const Type& item_type(const Node& item, bool optional) {
  return optional && item.type->kind == Kind::optional ? *item.type->parameters[0] : *item.type;
}

void Validator::check_items(const Node& node) {
  const Type* first = nullptr;
  for (std::size_t i = 0; i < node.children.size(); ++i) {
    const Type& type = item_type(*node.children[i], node.optional_items[i]);
    if (!first) first = &type;
    if (same_type(*first, type)) continue;
    mismatch(*node.children[i], *first);
    return;
  }
}

void Validator::check_entries(const Node& node) {
  for (std::size_t i = 2; i + 1 < node.children.size(); i += 2) {
    const Node& key = *node.children[i];
    const Node& value = *node.children[i + 1];
    const Type& first = item_type(*node.children[1], node.optional_items[0]);
    if (!same_type(*node.children[0]->type, *key.type)) mismatch(key, *node.children[0]->type);
    if (!same_type(first, item_type(value, node.optional_items[i / 2]))) mismatch(value, first);
  }
}

}  // namespace

std::vector<Problem> validate(const Node& root) { return Validator().run(root); }

}  // namespace sublet::patches::cel
