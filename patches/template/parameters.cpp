#include "patches/template/parameters.h"

#include <re2/re2.h>

#include <algorithm>
#include <charconv>

#include "patches/template/reader.h"
#include "sublet/base/nearest.h"
#include "sublet/base/text.h"

namespace sublet::patches {

using cel::Kind;

namespace {

constexpr std::string_view kTypeNames[] = {"string", "integer", "number", "boolean", "enum"};
constexpr Kind kTypeKinds[] = {Kind::string, Kind::integer, Kind::floating, Kind::boolean, Kind::string};

bool is_identifier(std::string_view name) {
  if (name.empty() || (name[0] >= '0' && name[0] <= '9')) return false;
  return std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  });
}

template <class Number>
std::optional<Number> parse_all(std::string_view text) {
  Number number{};
  const auto result = std::from_chars(text.data(), text.data() + text.size(), number);
  if (result.ec != std::errc() || result.ptr != text.data() + text.size()) return std::nullopt;
  return number;
}

}  // namespace

std::optional<Parameter::Type> Parameter::type_of(std::string_view name) {
  const auto* found = std::find(std::begin(kTypeNames), std::end(kTypeNames), name);
  if (found == std::end(kTypeNames)) return std::nullopt;
  return static_cast<Type>(found - std::begin(kTypeNames));
}

Kind Parameter::kind() const { return kTypeKinds[static_cast<std::size_t>(type_)]; }

std::string Parameter::type_text() const {
  if (type_ == Type::one_of) return "one of " + join(values_, ", ");
  return std::string(kTypeNames[static_cast<std::size_t>(type_)]) +
         (pattern_.empty() ? "" : " that matches " + pattern_);
}

Parameter Parameter::read(const YamlNode& node, const std::string& key, Problems& problems) {
  Parameter parameter;
  MapReader reader(node, key, problems);
  if (const YamlNode* name = reader.require("name")) {
    parameter.name_ = name->text;
    if (!name->is_string() || !is_identifier(name->text))
      problems.add(name->mark, reader.path("name"), "must be a name of letters, digits and _, as expressions spell it");
  }
  parameter.description_ = reader.text("description");
  if (const YamlNode* type = reader.take("type")) {
    const auto known = type_of(type->text);
    if (!known)
      problems.add(type->mark, reader.path("type"),
                   "unknown type \"" + type->text + "\"" +
                       suggestion(type->text, {std::begin(kTypeNames), std::end(kTypeNames)}) +
                       "; known: string, integer, number, boolean, enum");
    parameter.type_ = known.value_or(Type::string);
  }
  parameter.read_values(reader, node, key, problems);
  parameter.read_pattern(reader, node, key, problems);
  parameter.read_default(reader, key, problems);
  reader.finish();
  return parameter;
}

void Parameter::read_values(MapReader& reader, const YamlNode& node, const std::string& key, Problems& problems) {
  values_ = reader.texts("values");
  if (type_ == Type::one_of && values_.empty()) problems.add(node.mark, key, "an enum needs \"values\"");
  if (type_ != Type::one_of && !values_.empty()) problems.add(node.mark, key, "only an enum has \"values\"");
}

void Parameter::read_pattern(MapReader& reader, const YamlNode& node, const std::string& key, Problems& problems) {
  pattern_ = reader.text("pattern");
  if (pattern_.empty()) return;
  if (type_ != Type::string) return problems.add(node.mark, key, "only a string has a \"pattern\"");
  RE2::Options options;
  options.set_log_errors(false);
  auto compiled = std::make_shared<const RE2>(pattern_, options);
  if (!compiled->ok())
    problems.add(node.find("pattern")->mark, reader.path("pattern"),
                 "invalid regular expression: " + compiled->error());
  else
    compiled_ = std::move(compiled);
}

void Parameter::read_default(MapReader& reader, const std::string& key, Problems& problems) {
  const YamlNode* node = reader.take("default");
  if (node == nullptr) return;
  const std::size_t before = problems.size();
  default_ = ValueForm::parse(*node, default_environment(), key + ".default", problems);
  if (!default_->fixed() || problems.size() != before) return;
  const cel::Value value = check(default_->fixed_value());
  if (value.is_error()) problems.add(node->mark, key + ".default", value.failure().message);
}

// A value of the parameter's type, or the reason why it is none.
cel::Value Parameter::check(cel::Value value) const {
  const auto wrong = [&] {
    const auto text = scalar_text(value);
    return cel::Value::error((text ? "\"" + *text + "\"" : std::string(kind_name(value.kind()))) + " is not " +
                             (type_ == Type::integer  ? "an "
                              : type_ == Type::one_of ? ""
                                                      : "a ") +
                             type_text());
  };
  if (value.is_error()) return value;
  if (type_ == Type::number && value.is(Kind::integer))
    value = cel::Value::floating(static_cast<double>(value.as_int()));
  if (value.kind() != kind()) return wrong();
  if (type_ == Type::one_of && std::find(values_.begin(), values_.end(), value.as_text()) == values_.end())
    return wrong();
  if (compiled_ && !RE2::FullMatch(std::string(value.as_text()), *compiled_)) return wrong();
  return value;
}

cel::Value Parameter::parse(const std::string& text) const {
  cel::Value value = cel::Value::string(text);
  if (type_ == Type::integer) {
    if (const auto number = parse_all<std::int64_t>(text)) value = cel::Value::integer(*number);
  } else if (type_ == Type::number) {
    if (const auto number = parse_all<double>(text)) value = cel::Value::floating(*number);
  } else if (type_ == Type::boolean) {
    if (text == "true" || text == "false") value = cel::Value::boolean(text == "true");
  }
  return check(std::move(value));
}

cel::Value Parameter::default_value(const cel::Activation& activation) const {
  const cel::Value value = default_->evaluate(activation);
  // A default from an expression may borrow its text from the activation.
  return check(value.is(Kind::string) ? cel::Value::string(std::string(value.as_text())) : value);
}

std::vector<Parameter> read_parameters(const YamlNode* node, Problems& problems) {
  std::vector<Parameter> parameters;
  if (node == nullptr || node->is_null()) return parameters;
  if (!node->is_list()) {
    problems.add(node->mark, "parameters", "must be a list, not " + std::string(node->kind_text()));
    return parameters;
  }
  for (std::size_t i = 0; i < node->children.size(); ++i) {
    const std::string key = "parameters[" + std::to_string(i) + ']';
    parameters.push_back(Parameter::read(node->children[i], key, problems));
    for (std::size_t j = 0; j < i; ++j)
      if (!parameters[i].name().empty() && parameters[j].name() == parameters[i].name())
        problems.add(node->children[i].mark, key, "there are two parameters named " + parameters[i].name());
  }
  return parameters;
}

Result<std::vector<BoundParameter>> bind_parameters(const std::vector<Parameter>& parameters,
                                                    const std::map<std::string, std::string>& given,
                                                    const PatchContext& context) {
  Status status;
  status.reason = Reason::invalid;
  const auto wrong = [&](const std::string& name, const std::string& message) {
    status.causes.push_back({"FieldValueInvalid", message, name});
  };
  std::vector<std::string_view> names;
  for (const Parameter& parameter : parameters) names.push_back(parameter.name());
  for (const auto& [name, text] : given)
    if (std::find(names.begin(), names.end(), name) == names.end())
      wrong(name, "there is no such parameter" + suggestion(name, names));

  const std::vector<VariableRule> no_variables;
  const std::vector<BoundParameter> none;
  const cel::Value empty = cel::Value::map({});
  const ObjectScope::Facts facts{.context = &context, .parameters = &none, .parameter_map = &empty};
  const ObjectScope scope(facts, no_variables);
  std::vector<BoundParameter> bound;
  for (const Parameter& parameter : parameters) {
    const auto text = given.find(parameter.name());
    cel::Value value = text != given.end() ? parameter.parse(text->second)
                       : parameter.has_default()
                           ? parameter.default_value(scope)
                           : cel::Value::error("has no default; give it with --set " + parameter.name() + "=VALUE (" +
                                               parameter.type_text() + ")");
    if (value.is_error()) wrong(parameter.name(), value.failure().message);
    bound.push_back({parameter.name(), std::move(value)});
  }
  if (status.causes.empty()) return bound;
  for (const Cause& cause : status.causes)
    status.message +=
        (status.message.empty() ? "" : "\n") + std::string("parameter ") + cause.field + ": " + cause.message;
  status.message += names.empty() ? "\nthe template has no parameters" : "\nparameters of this template:";
  for (const Parameter& parameter : parameters)
    status.message += "\n  " + parameter.name() + " (" + parameter.type_text() + ")" +
                      (parameter.description().empty() ? "" : ": " + parameter.description());
  return fail(std::move(status));
}

}  // namespace sublet::patches
