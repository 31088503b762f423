#include "patches/template/value_form.h"

#include <re2/re2.h>

#include "patches/cel/text.h"

namespace sublet::patches {

using cel::Kind;
using schema::NodeKind;

namespace {

cel::Value fixed_scalar(const YamlNode& node) {
  switch (node.kind) {
    case NodeKind::boolean:
      return cel::Value::boolean(node.boolean);
    case NodeKind::integer:
      return cel::Value::integer(node.integer);
    case NodeKind::floating:
      return cel::Value::floating(node.floating);
    case NodeKind::string:
      return cel::Value::string(node.text);
    default:
      return {};
  }
}

// The end of the expression that starts at `from`: its closing brace. Braces and quotes inside are skipped.
std::size_t closing_brace(std::string_view text, std::size_t from) {
  int depth = 0;
  for (std::size_t i = from; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '\'' || c == '"') {
      for (++i; i < text.size() && text[i] != c; ++i)
        if (text[i] == '\\') ++i;
    } else if (c == '{') {
      ++depth;
    } else if (c == '}' && depth-- == 0) {
      return i;
    }
  }
  return std::string_view::npos;
}

// Texts that are spelled as an expression: somebody forgot the ${ }. Only roots and members that expressions have, so
// that names such as "cluster.local" or "object.store" stay texts.
bool spells_expression(std::string_view text) {
  static const RE2 pattern(R"((params|variables)\.[A-Za-z_]\w*|cluster\.(name|hostNamespace|tenantNamespace)|)"
                           R"((object|tenant|item)\.\??(metadata|spec|data|name|value|key)\b[\w.?\[\]'"/-]*)");
  return RE2::FullMatch(text, pattern);
}

std::string shortened(const std::string& source) { return source.size() <= 80 ? source : source.substr(0, 77) + "..."; }

}  // namespace

std::optional<cel::Program> compile_expression(std::string_view source, const YamlNode& scalar, std::size_t offset,
                                               const cel::Environment& environment, const std::string& key,
                                               Problems& problems) {
  auto program = cel::Program::compile(source, environment);
  if (program) return std::move(*program);
  for (const cel::Problem& problem : program.error())
    problems.add_inside(scalar, offset + static_cast<std::size_t>(problem.offset), key, problem.message);
  return std::nullopt;
}

std::optional<std::string> scalar_text(const cel::Value& value) {
  switch (value.kind()) {
    case Kind::string:
      return std::string(value.as_text());
    case Kind::boolean:
      return value.as_bool() ? "true" : "false";
    case Kind::integer:
      return std::to_string(value.as_int());
    case Kind::uinteger:
      return std::to_string(value.as_uint());
    case Kind::floating:
      return cel::double_text(value.as_double());
    case Kind::quantity:
      return cel::debug_text(value).substr(1, cel::debug_text(value).size() - 2);
    default:
      return std::nullopt;
  }
}

ValueForm ValueForm::parse(const YamlNode& node, const cel::Environment& environment, const std::string& key,
                           Problems& problems) {
  ValueForm form;
  if (node.is_string()) return parse_text(node.text, node, 0, environment, key, problems);
  if (node.is_scalar()) {
    form.fixed_ = fixed_scalar(node);
    form.type_ = form.fixed_.kind();
    return form;
  }
  form.type_ = node.is_list() ? Kind::list : Kind::map;
  bool fixed = true;
  for (std::size_t i = 0; i < node.children.size(); ++i) {
    const YamlNode& child = node.children[i];
    const std::string path = key + (node.is_list() ? '[' + std::to_string(i) + ']' : '.' + child.key);
    form.children_.push_back(parse(child, environment, path, problems));
    if (node.is_map()) {
      YamlNode name;
      name.kind = NodeKind::string;
      name.text = child.key;
      name.mark = child.key_mark;
      form.keys_.push_back(parse_text(child.key, name, 0, environment, path, problems));
      fixed &= form.keys_.back().fixed();
    }
    fixed &= form.children_.back().fixed();
  }
  if (!fixed) return form;
  // Nothing to evaluate: keep the finished value.
  class Nothing final : public cel::Activation {
    cel::Value get(int) const override { return {}; }
  };
  if (form.children_.empty())
    form.fixed_ = node.is_list() ? cel::Value::list({}) : cel::Value::map({});
  else
    form.fixed_ = form.evaluate(Nothing());
  form.children_.clear();
  form.keys_.clear();
  return form;
}

ValueForm ValueForm::parse_text(std::string_view text, const YamlNode& scalar, std::size_t offset,
                                const cel::Environment& environment, const std::string& key, Problems& problems) {
  ValueForm form;
  form.type_ = Kind::string;
  if (text.find("${") == std::string_view::npos) {
    form.fixed_ = cel::Value::string(std::string(text));
    if (spells_expression(text))
      problems.add_inside(scalar, offset, key,
                          "\"" + std::string(text) + "\" would be written as it stands; ${" + std::string(text) +
                              "} gives its value, ${'" + std::string(text) + "'} the text");
  } else {
    form.parse_parts(text, scalar, offset, environment, key, problems);
  }
  return form;
}

void ValueForm::parse_parts(std::string_view text, const YamlNode& scalar, std::size_t offset,
                            const cel::Environment& environment, const std::string& key, Problems& problems) {
  std::string before;
  bool any = false;
  for (std::size_t i = 0; i < text.size();) {
    if (text.substr(i).starts_with("$${")) {
      before += "${";
      i += 3;
    } else if (!text.substr(i).starts_with("${")) {
      before += text[i++];
    } else {
      const std::size_t end = closing_brace(text, i + 2);
      if (end == std::string_view::npos)
        return problems.add_inside(scalar, offset + i, key, "the expression after ${ has no closing brace");
      auto program =
          compile_expression(text.substr(i + 2, end - i - 2), scalar, offset + i + 2, environment, key, problems);
      if (!program) return;
      any = true;
      parts_.push_back({std::move(before), {std::move(*program)}});
      before.clear();
      i = end + 1;
    }
  }
  if (!any) {  // only escapes
    fixed_ = cel::Value::string(std::move(before));
    return;
  }
  if (parts_.size() == 1 && parts_[0].text.empty() && before.empty())
    type_ = parts_[0].program[0].type();
  else
    parts_.push_back({std::move(before), {}});
}

cel::Value ValueForm::interpolate(const cel::Activation& activation) const {
  const bool alone = parts_.size() == 1 && parts_[0].text.empty();
  std::string text;
  for (const Part& part : parts_) {
    text += part.text;
    if (part.program.empty()) continue;
    const cel::Program& program = part.program[0];
    cel::Value value = program.evaluate(activation);
    if (value.is_error())
      return cel::Value::error("${" + shortened(program.source()) + "}: " + value.failure().message);
    if (alone) return value;
    const auto piece = scalar_text(value);
    if (!piece)
      return cel::Value::error("${" + shortened(program.source()) + "}: a " + std::string(kind_name(value.kind())) +
                               " cannot stand in a text");
    text += *piece;
  }
  return cel::Value::string(std::move(text));
}

cel::Value ValueForm::evaluate(const cel::Activation& activation) const {
  if (!parts_.empty()) return interpolate(activation);
  if (children_.empty()) return fixed_;
  if (type_ == Kind::list) {
    cel::List items;
    for (const ValueForm& child : children_) {
      items.push_back(child.evaluate(activation));
      if (items.back().is_error()) return items.back();
    }
    return cel::Value::list(std::move(items));
  }
  cel::Map entries;
  for (std::size_t i = 0; i < children_.size(); ++i) {
    cel::Value name = keys_[i].evaluate_text(activation);
    if (name.is_error()) return name;
    cel::Value value = children_[i].evaluate(activation);
    if (value.is_error()) return value;
    entries.emplace_back(std::move(name), std::move(value));
  }
  return cel::Value::map(std::move(entries));
}

cel::Value ValueForm::evaluate_text(const cel::Activation& activation) const {
  cel::Value value = evaluate(activation);
  if (value.is_error() || value.is(Kind::string)) return value;
  auto text = scalar_text(value);
  return text ? cel::Value::string(std::move(*text))
              : cel::Value::error("a " + std::string(kind_name(value.kind())) + " is no text");
}

}  // namespace sublet::patches
