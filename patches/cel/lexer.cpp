#include "patches/cel/lexer.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <optional>

#include "patches/cel/text.h"

namespace sublet::patches::cel {

namespace {

bool is_word_start(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_word(char c) { return is_word_start(c) || is_digit(c); }

// Longest first.
constexpr std::string_view kSymbols[] = {"&&", "||", "==", "!=", "<=", ">=", "[", "]", "{", "}", "(", ")",
                                         ".",  ",",  "-",  "!",  "?",  ":",  "+", "*", "/", "%", "<", ">"};

constexpr std::pair<char, char> kEscapes[] = {{'a', '\a'}, {'b', '\b'}, {'f', '\f'},  {'n', '\n'},
                                              {'r', '\r'}, {'t', '\t'}, {'v', '\v'},  {'\\', '\\'},
                                              {'?', '?'},  {'"', '"'},  {'\'', '\''}, {'`', '`'}};

class Lexer {
 public:
  explicit Lexer(std::string_view source) : source_(source) {}

  Tokens run() {
    while (true) {
      skip_blanks();
      if (at_ >= source_.size()) break;
      next();
    }
    tokens_.push_back(
        {.kind = TokenKind::end, .text = {}, .raw = {}, .literal = {}, .offset = static_cast<int>(source_.size())});
    return {std::move(tokens_), std::move(problems_)};
  }

 private:
  char peek(std::size_t ahead = 0) const { return at_ + ahead < source_.size() ? source_[at_ + ahead] : '\0'; }
  void fail(std::size_t offset, std::string message) {
    problems_.push_back({static_cast<int>(offset), std::move(message)});
  }
  void push(TokenKind kind, std::size_t start, Value literal = {}) {
    const std::string_view text = source_.substr(start, at_ - start);
    tokens_.push_back({kind, text, text, std::move(literal), static_cast<int>(start)});
  }

  // Where a literal begins that a minus may stand before.
  std::size_t signed_start(std::size_t start) const {
    return !tokens_.empty() && tokens_.back().is("-") ? static_cast<std::size_t>(tokens_.back().offset) : start;
  }
  // What cannot be read as a token, from `start` to where reading stopped: ANTLR's words.
  void unrecognized(std::size_t start) {
    at_ = std::min(at_, source_.size());
    fail(start, "Syntax error: token recognition error at: '" + std::string(source_.substr(start, at_ - start)) + "'");
  }
  // In a string, at the character that cannot stand there.
  bool bad_escape() {
    if (at_ < source_.size()) at_ += code_points(source_.substr(at_, 4))[1];
    unrecognized(token_);
    return false;
  }

  bool hexadecimal() const {
    const char digit = peek(2);
    return peek() == '0' && peek(1) == 'x' &&
           (is_digit(digit) || (digit >= 'a' && digit <= 'f') || (digit >= 'A' && digit <= 'F'));
  }
  bool has_exponent(std::size_t at) const {
    if (at >= source_.size() || (source_[at] != 'e' && source_[at] != 'E')) return false;
    const std::size_t sign = at + 1 < source_.size() && (source_[at + 1] == '+' || source_[at + 1] == '-') ? 1 : 0;
    return at + 1 + sign < source_.size() && is_digit(source_[at + 1 + sign]);
  }

  void skip_blanks();
  void next();
  void word();
  void quoted_identifier();
  void number();
  void real(std::size_t start);
  void whole(std::size_t start);
  bool string_start();
  void string();
  bool escape(std::string& out, bool bytes);
  bool code_point(std::string& out, int digits, bool bytes);

  std::string_view source_;
  std::size_t at_ = 0;
  std::size_t token_ = 0;  // where the string at hand begins
  std::vector<Token> tokens_;
  std::vector<Problem> problems_;
};

void Lexer::skip_blanks() {
  while (at_ < source_.size()) {
    const char c = source_[at_];
    if (c == '/' && peek(1) == '/')
      at_ = std::min(source_.find('\n', at_), source_.size());
    else if (c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f')
      ++at_;
    else
      return;
  }
}

void Lexer::next() {
  const char c = peek();
  if (string_start()) return string();
  if (is_word_start(c)) return word();
  if (c == '`') return quoted_identifier();
  if (is_digit(c) || (c == '.' && is_digit(peek(1)))) return number();
  for (const std::string_view symbol : kSymbols)
    if (source_.substr(at_).starts_with(symbol)) {
      at_ += symbol.size();
      return push(TokenKind::symbol, at_ - symbol.size());
    }
  const std::size_t start = at_;
  at_ += code_points(source_.substr(at_, 4))[1];
  unrecognized(start);
}

void Lexer::word() {
  const std::size_t start = at_;
  while (is_word(peek())) ++at_;
  const std::string_view text = source_.substr(start, at_ - start);
  if (text == "true" || text == "false") return push(TokenKind::literal, start, Value::boolean(text == "true"));
  if (text == "null") return push(TokenKind::literal, start);
  push(text == "in" ? TokenKind::symbol : TokenKind::identifier, start);
}

void Lexer::quoted_identifier() {
  const std::size_t start = ++at_;
  at_ = std::min(source_.find('`', start), source_.size());
  if (at_ == source_.size() || at_ == start) return unrecognized(start - 1);
  push(TokenKind::quoted_identifier, start);
  ++at_;
}

void Lexer::number() {
  const std::size_t start = at_;
  if (hexadecimal()) return whole(start);
  std::size_t end = at_;
  while (end < source_.size() && is_digit(source_[end])) ++end;
  const bool fraction = end + 1 < source_.size() && source_[end] == '.' && is_digit(source_[end + 1]);
  if (fraction || has_exponent(end)) return real(start);
  whole(start);
}

void Lexer::real(std::size_t start) {
  while (is_digit(peek())) ++at_;
  if (peek() == '.' && is_digit(peek(1))) {
    ++at_;
    while (is_digit(peek())) ++at_;
  }
  if (has_exponent(at_)) {
    at_ += 2;
    while (is_digit(peek())) ++at_;
  }
  std::string text(source_.substr(start, at_ - start));
  if (text.front() == '.') text.insert(0, 1, '0');
  double value = 0;
  const auto result = std::from_chars(text.data(), text.data() + text.size(), value);
  // Out of range: too small is 0, too large is an error.
  const bool tiny = result.ec == std::errc::result_out_of_range && std::fabs(std::strtod(text.c_str(), nullptr)) < 1;
  if (tiny) value = 0;
  if (result.ec != std::errc() && !tiny) fail(signed_start(start), "invalid double literal");
  push(TokenKind::literal, start, Value::floating(value));
}

// The sign is not part of the token; the parser folds it, so that the smallest int can be written. Until then a whole
// number is kept as it stands: an int literal as uint without suffix.
void Lexer::whole(std::size_t start) {
  const bool hex = hexadecimal();
  if (hex) at_ += 2;
  const char* first = source_.data() + at_;
  std::uint64_t value = 0;
  const auto result = std::from_chars(first, source_.data() + source_.size(), value, hex ? 16 : 10);
  at_ += static_cast<std::size_t>(result.ptr - first);
  const bool is_unsigned = peek() == 'u' || peek() == 'U';
  if (is_unsigned) ++at_;
  if (result.ec != std::errc()) {
    fail(is_unsigned ? start : signed_start(start), is_unsigned ? "invalid uint literal" : "invalid int literal");
    value = 0;
  }
  if (is_unsigned) return push(TokenKind::literal, start, Value::uinteger(value));
  constexpr std::uint64_t kSmallest = std::uint64_t{1} << 63;
  const bool negated = !tokens_.empty() && tokens_.back().is("-");
  if (value > kSmallest || (value == kSmallest && !negated)) {
    fail(signed_start(start), "invalid int literal");
    value = 0;
  }
  push(TokenKind::literal, start, Value::integer(static_cast<std::int64_t>(value)));
}

// Is there a string here, with its prefixes?
bool Lexer::string_start() {
  std::size_t i = 0;
  if (peek(i) == 'b' || peek(i) == 'B') ++i;
  if (peek(i) == 'r' || peek(i) == 'R') ++i;
  return peek(i) == '"' || peek(i) == '\'';
}

void Lexer::string() {
  const std::size_t start = at_;
  token_ = start;
  const bool bytes = peek() == 'b' || peek() == 'B';
  if (bytes) ++at_;
  const bool raw = peek() == 'r' || peek() == 'R';
  if (raw) ++at_;
  const char quote = peek();
  const bool triple = peek(1) == quote && peek(2) == quote;
  const std::string closing(triple ? 3 : 1, quote);
  at_ += closing.size();
  std::string text;
  while (true) {
    if (at_ >= source_.size() || (!triple && (peek() == '\n' || peek() == '\r'))) {
      ++at_;
      return unrecognized(start);
    }
    if (source_.substr(at_).starts_with(closing)) break;
    if (peek() != '\\' || raw) {
      text += source_[at_++];
      continue;
    }
    if (!escape(text, bytes)) return;
  }
  at_ += closing.size();
  push(TokenKind::literal, start, bytes ? Value::bytes(std::move(text)) : Value::string(std::move(text)));
}

bool Lexer::escape(std::string& out, bool bytes) {
  ++at_;
  const char c = peek();
  for (const auto& [name, value] : kEscapes)
    if (c == name) {
      ++at_;
      out += value;
      return true;
    }
  if (c >= '0' && c <= '3') {
    std::uint32_t code = 0;
    for (int i = 0; i < 3; ++i, ++at_) {
      if (peek() < '0' || peek() > '7') {
        return bad_escape();
      }
      code = code * 8 + static_cast<std::uint32_t>(peek() - '0');
    }
    if (bytes)
      out += static_cast<char>(code);
    else
      append_utf8(out, code);
    return true;
  }
  const int digits = c == 'x' || c == 'X' ? 2 : (c == 'u' && !bytes ? 4 : (c == 'U' && !bytes ? 8 : 0));
  if (digits == 0) return bad_escape();
  ++at_;
  return code_point(out, digits, bytes);
}

bool Lexer::code_point(std::string& out, int digits, bool bytes) {
  std::uint32_t code = 0;
  const std::size_t left = std::min(source_.size() - at_, static_cast<std::size_t>(digits));
  const char* first = source_.data() + at_;
  const auto result = std::from_chars(first, first + left, code, 16);
  if (result.ec != std::errc() || result.ptr != first + digits) {
    at_ += static_cast<std::size_t>(result.ptr - first);
    return bad_escape();
  }
  at_ += static_cast<std::size_t>(digits);
  if (bytes) {
    out += static_cast<char>(code);
    return true;
  }
  if (code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff)) {
    fail(token_, "unable to unescape string");
    return true;
  }
  append_utf8(out, code);
  return true;
}

}  // namespace

Tokens tokenize(std::string_view source) { return Lexer(source).run(); }

}  // namespace sublet::patches::cel
