// The query syntax of label selectors (a small lexer and recursive descent) and of field selectors.
#include <algorithm>
#include <charconv>

#include "sublet/base/text.h"
#include "sublet/kube/selectors.h"

namespace sublet::kube {
namespace {

enum class Token { end, identifier, comma, open, close, bang, equals, double_equals, not_equals, greater, less };

struct Lexeme {
  Token token = Token::end;
  std::string_view text;
};

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }
constexpr std::string_view kSpecial = "=!(),><";

class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text) { next(); }
  const Lexeme& peek() const { return current_; }
  Lexeme take() {
    const Lexeme taken = current_;
    next();
    return taken;
  }
  bool accept(Token token) {
    if (current_.token != token) return false;
    next();
    return true;
  }

 private:
  void next() {
    while (at_ < text_.size() && is_space(text_[at_])) ++at_;
    const std::size_t start = at_;
    if (at_ == text_.size()) {
      current_ = {};
      return;
    }
    while (at_ < text_.size() && !is_space(text_[at_]) && kSpecial.find(text_[at_]) == std::string_view::npos) ++at_;
    if (at_ > start) {
      current_ = {Token::identifier, text_.substr(start, at_ - start)};
      return;
    }
    current_ = symbol();
    at_ += current_.text.size();
  }

  Lexeme symbol() const {
    struct Symbol {
      std::string_view text;
      Token token;
    };
    static constexpr Symbol kSymbols[] = {
        {"==", Token::double_equals}, {"!=", Token::not_equals}, {"=", Token::equals},
        {"!", Token::bang},           {"(", Token::open},        {")", Token::close},
        {",", Token::comma},          {">", Token::greater},     {"<", Token::less},
    };
    for (const Symbol& symbol : kSymbols)
      if (text_.substr(at_).starts_with(symbol.text)) return {symbol.token, text_.substr(at_, symbol.text.size())};
    return {};
  }

  std::string_view text_;
  std::size_t at_ = 0;
  Lexeme current_;
};

tl::unexpected<Status> unexpected_lexeme(const Lexeme& found, std::string_view expected) {
  return bad_request("unable to parse requirement: found " + single_quoted(found.text) +
                     ", expected: " + std::string(expected));
}

/// The values of `in (...)`: identifiers between commas; nothing between two commas is the empty value.
Result<std::vector<std::string>> parse_values(Lexer& lexer) {
  if (!lexer.accept(Token::open)) return unexpected_lexeme(lexer.peek(), "'('");
  std::vector<std::string> values;
  for (;;) {
    std::string value;
    if (lexer.peek().token == Token::identifier) value = lexer.take().text;
    if (std::ranges::find(values, value) == values.end()) values.push_back(std::move(value));
    if (lexer.accept(Token::close)) return values;
    if (!lexer.accept(Token::comma)) return unexpected_lexeme(lexer.peek(), "',', or ')'");
  }
}

/// One value after '=' and the like; nothing there is the empty value.
Result<std::vector<std::string>> parse_exact_value(Lexer& lexer) {
  const Token token = lexer.peek().token;
  if (token == Token::identifier) return std::vector<std::string>{std::string(lexer.take().text)};
  if (token == Token::end || token == Token::comma) return std::vector<std::string>{""};
  return unexpected_lexeme(lexer.peek(), "identifier");
}

Outcome check(const SelectorRequirement& requirement) {
  if (const std::string why = check_label_key(requirement.key); !why.empty())
    return bad_request("unable to parse requirement: <nil>: Invalid value: \"" + requirement.key + "\": " + why);
  const bool numeric = requirement.op == SelectorOperator::greater || requirement.op == SelectorOperator::less;
  for (const std::string& value : requirement.values) {
    if (const std::string why = check_label_value(value); !why.empty())
      return bad_request("unable to parse requirement: values[0][" + requirement.key + "]: Invalid value: \"" + value +
                         "\": " + why);
    std::int64_t number = 0;
    const char* last = value.data() + value.size();
    if (numeric && (value.empty() || std::from_chars(value.data(), last, number).ptr != last))
      return bad_request("unable to parse requirement: values[0]: Invalid value: \"" + value +
                         "\": for 'Gt', 'Lt' operators, the value must be an integer");
  }
  return {};
}

Result<SelectorRequirement> parse_requirement(Lexer& lexer) {
  SelectorRequirement out;
  const bool negated = lexer.accept(Token::bang);
  if (lexer.peek().token != Token::identifier) return unexpected_lexeme(lexer.peek(), "identifier");
  out.key = lexer.take().text;
  const Lexeme& after = lexer.peek();
  if (negated || after.token == Token::end || after.token == Token::comma) {
    out.op = negated ? SelectorOperator::not_exists : SelectorOperator::exists;
    return out;
  }

  Result<std::vector<std::string>> values;
  const Lexeme op = lexer.take();
  if (op.text == "in" || op.text == "notin") {
    out.op = op.text == "in" ? SelectorOperator::in : SelectorOperator::not_in;
    values = parse_values(lexer);
  } else if (op.token == Token::identifier || op.token == Token::open || op.token == Token::close ||
             op.token == Token::bang) {
    return unexpected_lexeme(op, "in, notin, =, ==, !=, gt, lt");
  } else {
    out.op = op.token == Token::not_equals ? SelectorOperator::not_in
             : op.token == Token::greater  ? SelectorOperator::greater
             : op.token == Token::less     ? SelectorOperator::less
                                           : SelectorOperator::in;
    values = parse_exact_value(lexer);
  }
  if (!values) return fail(values.error());
  out.values = std::move(*values);
  return out;
}

/// Splits at unescaped `separator`; escapes stay.
std::vector<std::string_view> split_escaped(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  std::size_t start = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\') {
      ++i;
    } else if (text[i] == separator) {
      parts.push_back(text.substr(start, i - start));
      start = i + 1;
    }
  }
  parts.push_back(text.substr(start));
  return parts;
}

Result<std::string> unescape_field_value(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\') {
      if (++i == text.size() || std::string_view("\\,=").find(text[i]) == std::string_view::npos)
        return bad_request("invalid field selector: invalid escape sequence in value: \"" + std::string(text) + "\"");
    } else if (text[i] == '=') {
      return bad_request("invalid field selector: unescaped '=' in value: \"" + std::string(text) + "\"");
    }
    out += text[i];
  }
  return out;
}

Result<FieldTerm> parse_field_term(std::string_view text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '=' && !text.substr(i).starts_with("!=")) continue;
    FieldTerm out;
    out.path = text.substr(0, i);
    out.negated = text[i] == '!';
    const std::size_t size = out.negated || text.substr(i).starts_with("==") ? 2 : 1;
    auto value = unescape_field_value(text.substr(i + size));
    if (!value) return fail(value.error());
    out.value = std::move(*value);
    return out;
  }
  return bad_request("invalid selector: '" + std::string(text) + "'; can't understand '" + std::string(text) + "'");
}

}  // namespace

Result<LabelSelector> LabelSelector::parse(std::string_view text) {
  LabelSelector out;
  Lexer lexer(text);
  if (lexer.peek().token == Token::end) return out;
  for (;;) {
    auto requirement = parse_requirement(lexer);
    if (!requirement) return fail(requirement.error());
    if (auto checked = check(*requirement); !checked) return fail(checked.error());
    out.requirements_.push_back(std::move(*requirement));
    if (lexer.peek().token == Token::end) return out;
    if (!lexer.accept(Token::comma)) return unexpected_lexeme(lexer.peek(), "',' or 'end of string'");
    if (lexer.peek().token == Token::end) return unexpected_lexeme(lexer.peek(), "identifier after ','");
  }
}

Result<FieldSelector> FieldSelector::parse(std::string_view text) {
  FieldSelector out;
  for (const std::string_view part : split_escaped(text, ',')) {
    if (part.empty()) continue;  // upstream lets stray commas pass
    auto term = parse_field_term(part);
    if (!term) return fail(term.error());
    out.terms_.push_back(std::move(*term));
  }
  return out;
}

}  // namespace sublet::kube
