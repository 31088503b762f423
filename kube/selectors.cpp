// Matching, and building selectors from objects. Parsing of query text is in selector_parser.cpp.
#include "sublet/kube/selectors.h"

#include <algorithm>
#include <charconv>

namespace sublet::kube {
namespace {

std::optional<std::int64_t> to_integer(std::string_view text) {
  std::int64_t number = 0;
  const char* last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, number);
  if (error != std::errc() || end != last || text.empty()) return std::nullopt;
  return number;
}

struct OperatorName {
  std::string_view name;
  SelectorOperator op;
  enum class Values { some, none, one_integer } values;
};
constexpr OperatorName kOperators[] = {
    {"In", SelectorOperator::in, OperatorName::Values::some},
    {"NotIn", SelectorOperator::not_in, OperatorName::Values::some},
    {"Exists", SelectorOperator::exists, OperatorName::Values::none},
    {"DoesNotExist", SelectorOperator::not_exists, OperatorName::Values::none},
    {"Gt", SelectorOperator::greater, OperatorName::Values::one_integer},
    {"Lt", SelectorOperator::less, OperatorName::Values::one_integer},
};

Result<SelectorRequirement> requirement_from(const schema::Value& expression) {
  SelectorRequirement out;
  out.key = expression["key"].string();
  for (const schema::Value value : expression["values"]) out.values.push_back(value.string());
  const std::string_view name = expression["operator"].text();
  const auto found = std::ranges::find(kOperators, name, &OperatorName::name);
  if (found == std::end(kOperators))
    return bad_request("\"" + std::string(name) + "\" is not a valid label selector operator");
  out.op = found->op;
  using Values = OperatorName::Values;
  if (found->values == Values::some && out.values.empty())
    return bad_request("values: Invalid value: []: for 'in', 'notin' operators, values set can't be empty");
  if (found->values == Values::none && !out.values.empty())
    return bad_request("values: Invalid value: values set must be empty for exists and does not exist");
  if (found->values == Values::one_integer && (out.values.size() != 1 || !to_integer(out.values[0])))
    return bad_request("values: Invalid value: for 'Gt', 'Lt' operators, exactly one integer value is required");
  return out;
}

}  // namespace

bool SelectorRequirement::matches(std::optional<std::string_view> value) const {
  const auto listed = [&] { return std::ranges::find(values, *value) != values.end(); };
  switch (op) {
    case SelectorOperator::in:
      return value && listed();
    case SelectorOperator::not_in:
      return !value || !listed();
    case SelectorOperator::exists:
      return value.has_value();
    case SelectorOperator::not_exists:
      return !value;
    case SelectorOperator::greater:
    case SelectorOperator::less: {
      const auto have = to_integer(value.value_or(""));
      const auto want = to_integer(values.empty() ? std::string_view() : values[0]);
      if (!have || !want) return false;
      return op == SelectorOperator::greater ? *have > *want : *have < *want;
    }
  }
  return false;
}

LabelSelector LabelSelector::nothing() {
  LabelSelector out;
  out.nothing_ = true;
  return out;
}

LabelSelector LabelSelector::from_map(const schema::Value& labels) {
  LabelSelector out;
  for (const schema::Value label : labels)
    out.requirements_.push_back({std::string(label.key()), SelectorOperator::in, {label.string()}});
  return out;
}

Result<LabelSelector> LabelSelector::from_expressions(const schema::Value& expressions) {
  LabelSelector out;
  for (const schema::Value expression : expressions) {
    auto requirement = requirement_from(expression);
    if (!requirement) return fail(requirement.error());
    out.requirements_.push_back(std::move(*requirement));
  }
  return out;
}

Result<LabelSelector> LabelSelector::from_object(const schema::Value& selector) {
  if (!selector.is_object()) return nothing();
  auto expressions = from_expressions(selector["matchExpressions"]);
  if (!expressions) return expressions;
  LabelSelector out = from_map(selector["matchLabels"]);
  std::ranges::move(expressions->requirements_, std::back_inserter(out.requirements_));
  return out;
}

bool LabelSelector::matches(const std::function<std::optional<std::string_view>(std::string_view)>& label) const {
  return !nothing_ && std::ranges::all_of(requirements_, [&](const auto& r) { return r.matches(label(r.key)); });
}

bool LabelSelector::matches(const schema::Value& labels) const {
  return matches([&](std::string_view key) -> std::optional<std::string_view> {
    const schema::Value label = labels[key];
    return label ? std::optional(label.text()) : std::nullopt;
  });
}

bool LabelSelector::matches(std::span<const std::pair<std::string, std::string>> labels) const {
  return matches([&](std::string_view key) -> std::optional<std::string_view> {
    const auto found =
        std::ranges::lower_bound(labels, key, {}, [](const auto& label) { return std::string_view(label.first); });
    if (found == labels.end() || found->first != key) return std::nullopt;
    return found->second;
  });
}

std::optional<std::string_view> FieldSelector::required(std::string_view path) const {
  for (const FieldTerm& term : terms_)
    if (!term.negated && term.path == path) return term.value;
  return std::nullopt;
}

bool FieldSelector::matches(const std::function<std::string_view(std::string_view)>& field) const {
  return std::ranges::all_of(terms_, [&](const FieldTerm& t) { return (field(t.path) == t.value) != t.negated; });
}

}  // namespace sublet::kube
