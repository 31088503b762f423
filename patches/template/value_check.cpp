#include "patches/template/value_check.h"

#include <algorithm>

#include "patches/template/value_form.h"
#include "sublet/base/nearest.h"

namespace sublet::patches {

using schema::NodeKind;
using schema::Value;

namespace {

bool has_expression(std::string_view text) { return text.find("${") != std::string_view::npos; }

cel::Kind kind_of(NodeKind kind) {
  switch (kind) {
    case NodeKind::boolean:
      return cel::Kind::boolean;
    case NodeKind::integer:
      return cel::Kind::integer;
    case NodeKind::floating:
      return cel::Kind::floating;
    case NodeKind::string:
      return cel::Kind::string;
    case NodeKind::array:
      return cel::Kind::list;
    case NodeKind::object:
      return cel::Kind::map;
    case NodeKind::null:
      break;
  }
  return cel::Kind::null;
}

// Empty: fits. A null stands for "nothing here" and fits everywhere.
std::string kind_problem(NodeKind kind, const Shape& shape) {
  if (kind == NodeKind::null) return {};
  const auto wanted = shape.mismatch(kind_of(kind));
  if (wanted.empty()) return {};
  return "the value is a " + std::string(kind_name(kind_of(kind))) + ", it must be " + std::string(wanted);
}

std::string unknown_field(std::string_view name, const Shape& shape) {
  return "unknown field \"" + std::string(name) + "\"" + suggestion(name, shape.field_names());
}

Outcome fit_at(Value value, const Shape& shape, const std::string& where) {
  const auto wrong = [&](const std::string& what) -> Outcome {
    return bad_request(where.empty() ? what : where.substr(where.front() == '.' ? 1 : 0) + ": " + what);
  };
  if (shape.form() == Shape::Form::free) return {};
  if (auto problem = kind_problem(value.kind(), shape); !problem.empty()) return wrong(problem);
  if (shape.textual() && !value.is_string() && !value.is_null())
    if (const auto text = scalar_text(cel::Value::of(value))) value.set(*text);
  if (value.is_string())
    if (auto problem = shape.text_problem(value.text()); !problem.empty()) return wrong(problem);
  if (value.is_array()) {
    std::size_t index = 0;
    for (Value item : value)
      if (auto fits = fit_at(item, shape.element().value_or(Shape()), where + '[' + std::to_string(index++) + ']');
          !fits)
        return fits;
  }
  if (!value.is_object()) return {};
  for (Value member : value) {
    if (auto problem = shape.key_problem(member.key()); !problem.empty()) return wrong(problem);
    const auto below = shape.member(member.key());
    if (!below) return wrong(unknown_field(member.key(), shape));
    if (auto fits = fit_at(member, *below, where + '.' + std::string(member.key())); !fits) return fits;
  }
  return {};
}

void check_required(const YamlNode& node, const Shape& shape, bool whole, const std::string& key, Problems& problems) {
  const auto computed = [](const YamlNode& child) { return has_expression(child.key); };
  if (!whole || std::any_of(node.children.begin(), node.children.end(), computed)) return;
  for (const std::string_view name : shape.required_names())
    if (node.find(name) == nullptr) problems.add(node.mark, key, '"' + std::string(name) + "\" is missing");
}

}  // namespace

void check_literal(const YamlNode& node, const Shape& shape, bool whole, const std::string& key, Problems& problems) {
  if (shape.form() == Shape::Form::free || (node.is_string() && has_expression(node.text))) return;
  if (auto problem = kind_problem(node.kind, shape); !problem.empty())
    return problems.add(node.mark, key, std::move(problem));
  if (node.is_scalar() && !node.is_null())
    if (auto problem = shape.text_problem(node.text); !problem.empty())
      return problems.add(node.mark, key, std::move(problem));
  if (node.is_list())
    for (std::size_t i = 0; i < node.children.size(); ++i)
      check_literal(node.children[i], shape.element().value_or(Shape()), whole, key + '[' + std::to_string(i) + ']',
                    problems);
  if (!node.is_map()) return;
  check_required(node, shape, whole, key, problems);
  for (const YamlNode& child : node.children) {
    if (has_expression(child.key)) continue;
    if (auto problem = shape.key_problem(child.key); !problem.empty()) problems.add(child.key_mark, key, problem);
    const auto below = shape.member(child.key);
    if (below)
      check_literal(child, *below, whole, key + '.' + child.key, problems);
    else
      problems.add(child.key_mark, key, unknown_field(child.key, shape));
  }
}

bool fits_as_written(const YamlNode& node, const Shape& shape) {
  if (node.is_string()) return !has_expression(node.text);
  if (node.is_scalar()) return node.is_null() || !shape.textual();
  return std::all_of(node.children.begin(), node.children.end(), [&](const YamlNode& child) {
    if (node.is_map() && has_expression(child.key)) return false;
    const auto below = node.is_map() ? shape.member(child.key) : shape.element();
    return fits_as_written(child, below.value_or(Shape()));
  });
}

Outcome fit_built(Value value, const Shape& shape) { return fit_at(value, shape, ""); }

}  // namespace sublet::patches
