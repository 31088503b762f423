#include "apiserver/structural/json_path.h"

#include <algorithm>
#include <charconv>
#include <iterator>

#include "sublet/base/text.h"

namespace sublet::apiserver {

using schema::Value;

class JsonPath::Parser {
 public:
  explicit Parser(std::string_view text) : rest_(text) {}

  Result<JsonPath> run() {
    JsonPath path;
    if (rest_.starts_with('$') || rest_.starts_with('@')) rest_.remove_prefix(1);
    while (!rest_.empty()) {
      auto step = next();
      if (!step) return fail(step.error());
      if (step->kind == Step::Kind::member && step->name.empty()) continue;  // a lone dot: the object itself
      path.steps_.push_back(std::move(*step));
    }
    return path;
  }

 private:
  Result<Step> next() {
    Step step;
    if (rest_.starts_with("..")) {
      rest_.remove_prefix(1);
      if (rest_.size() == 1) return bad_request("a path cannot end with two dots");
      step.kind = Step::Kind::descend;
      return step;
    }
    if (rest_.front() == '[') return bracket();
    if (rest_.front() == '.') rest_.remove_prefix(1);
    if (rest_.starts_with('[')) return bracket();
    return member();
  }

  Result<Step> member() {
    Step step;
    while (!rest_.empty() && rest_.front() != '.' && rest_.front() != '[') {
      if (rest_.front() == '\\' && rest_.size() > 1) rest_.remove_prefix(1);
      step.name += rest_.front();
      rest_.remove_prefix(1);
    }
    if (step.name == "*") step.kind = Step::Kind::each;
    return step;
  }

  Result<Step> bracket() {
    const auto end = closing();
    if (end == std::string_view::npos) return bad_request("unterminated array");
    const std::string_view inside = rest_.substr(1, end - 1);
    rest_.remove_prefix(end + 1);
    Step step;
    if (inside == "*") {
      step.kind = Step::Kind::each;
      return step;
    }
    if (inside.starts_with("?(") && inside.ends_with(')')) return filter(inside.substr(2, inside.size() - 3));
    if (inside.size() > 1 && (inside.front() == '\'' || inside.front() == '"') && inside.back() == inside.front()) {
      step.name = inside.substr(1, inside.size() - 2);
      return step;
    }
    step.kind = Step::Kind::slice;
    if (!slice(inside, step)) return bad_request("invalid array index " + std::string(inside));
    return step;
  }

  /// "3", "-1", "1:3", "-1:", "::2".
  static bool slice(std::string_view text, Step& step) {
    std::optional<std::int64_t> parts[3];
    std::size_t count = 0;
    for (;; ++count) {
      const auto colon = std::min(text.find(':'), text.size());
      if (count == std::size(parts) || !number(text.substr(0, colon), parts[count])) return false;
      if (colon == text.size()) break;
      text.remove_prefix(colon + 1);
    }
    if (count == 0 && !parts[0]) return false;
    step.begin = parts[0].value_or(0);
    step.end = parts[1];
    if (count == 0 && step.begin != -1) step.end = step.begin + 1;
    step.step = parts[2].value_or(1);
    return step.step > 0;
  }

  static bool number(std::string_view text, std::optional<std::int64_t>& value) {
    if (text.empty()) return true;
    std::int64_t read = 0;
    const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), read);
    value = read;
    return error == std::errc() && rest == text.data() + text.size();
  }

  /// Of the bracket that rest_ begins with, quotes respected.
  std::size_t closing() const {
    char quote = 0;
    int depth = 0;
    for (std::size_t i = 0; i < rest_.size(); ++i) {
      const char c = rest_[i];
      if (quote) {
        if (c == quote) quote = 0;
      } else if (c == '\'' || c == '"') {
        quote = c;
      } else if (c == '[') {
        ++depth;
      } else if (c == ']' && --depth == 0) {
        return i;
      }
    }
    return std::string_view::npos;
  }

  static Result<Step> filter(std::string_view text) {
    constexpr std::pair<std::string_view, Compare> kOperators[] = {
        {"==", Compare::equal},         {"!=", Compare::unequal}, {"<=", Compare::less_equal},
        {">=", Compare::greater_equal}, {"<", Compare::less},     {">", Compare::greater}};
    Step step;
    step.kind = Step::Kind::filter;
    std::string_view left = text, right;
    for (const auto& [sign, compare] : kOperators) {
      const auto at = text.find(sign);
      if (at == std::string_view::npos) continue;
      step.compare = compare;
      left = text.substr(0, at);
      right = text.substr(at + sign.size());
      break;
    }
    auto path = JsonPath::parse(trimmed(left, " "));
    if (!path) return fail(path.error());
    step.left = std::make_shared<const JsonPath>(std::move(*path));
    right = trimmed(right, " ");
    if (step.compare == Compare::exists) return step;
    if (right.size() > 1 && (right.front() == '\'' || right.front() == '"') && right.back() == right.front()) {
      step.right.root().set(right.substr(1, right.size() - 2));
      return step;
    }
    auto literal = schema::Document::parse_json(right);
    if (!literal) return bad_request("unrecognized value in a filter: " + std::string(right));
    step.right = std::move(*literal);
    return step;
  }

  std::string_view rest_;
};

Result<JsonPath> JsonPath::parse(std::string_view text) { return Parser(text).run(); }

Value JsonPath::first(const Value& object) const { return walk(object, 0); }

Value JsonPath::walk(const Value& value, std::size_t at) const {
  if (at == steps_.size() || value.missing()) return value;
  const Step& step = steps_[at];
  switch (step.kind) {
    case Step::Kind::member:
      return walk(value[step.name], at + 1);
    case Step::Kind::slice:
      return walk_slice(value, at);
    case Step::Kind::each:
    case Step::Kind::filter:
      for (const Value item : value) {
        if (step.kind == Step::Kind::filter && !passes(item, step)) continue;
        if (const Value found = walk(item, at + 1)) return found;
      }
      return {};
    case Step::Kind::descend:
      return descend(value, at + 1);
  }
  return {};
}

// What reaches beyond the list's ends is nothing at all, as upstream has it.
Value JsonPath::walk_slice(const Value& value, std::size_t at) const {
  if (!value.is_array()) return {};
  const Step& step = steps_[at];
  const auto size = static_cast<std::int64_t>(value.size());
  const auto begin = step.begin < 0 ? size + step.begin : step.begin;
  auto end = step.end.value_or(size);
  if (end < 0) end += size;
  if (begin < 0 || begin >= size || end < begin || end > size) return {};
  for (auto index = begin; index < end; index += step.step)
    if (const Value found = walk(value.at(static_cast<std::size_t>(index)), at + 1)) return found;
  return {};
}

Value JsonPath::descend(const Value& value, std::size_t at) const {
  if (const Value found = walk(value, at)) return found;
  for (const Value child : value)
    if (const Value found = descend(child, at)) return found;
  return {};
}

bool JsonPath::passes(const Value& item, const Step& step) {
  const Value left = step.left->first(item), right = step.right.root();
  if (left.missing()) return false;
  const auto ordered = [&](auto compare) {
    if (left.is_number() && right.is_number()) return compare(left.floating(), right.floating());
    if (left.is_string() && right.is_string())
      return compare(static_cast<double>(left.text().compare(right.text())), 0.0);
    return false;
  };
  switch (step.compare) {
    case Compare::exists:
      return true;
    case Compare::equal:
      return left.equals(right);
    case Compare::unequal:
      return !left.equals(right);
    case Compare::less:
      return ordered([](double a, double b) { return a < b; });
    case Compare::less_equal:
      return ordered([](double a, double b) { return a <= b; });
    case Compare::greater:
      return ordered([](double a, double b) { return a > b; });
    case Compare::greater_equal:
      return ordered([](double a, double b) { return a >= b; });
  }
  return false;
}

}  // namespace sublet::apiserver
