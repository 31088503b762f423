#include "patches/cel/lexer.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <optional>

namespace sublet::patches::cel {

namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_word_start(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_word(char c) { return is_word_start(c) || is_digit(c); }

void append_utf8(std::string& out, std::uint32_t code) {
  if (code < 0x80) {
    out += static_cast<char>(code);
  } else if (code < 0x800) {
    out += static_cast<char>(0xc0 | (code >> 6));
    out += static_cast<char>(0x80 | (code & 0x3f));
  } else if (code < 0x10000) {
    out += static_cast<char>(0xe0 | (code >> 12));
    out += static_cast<char>(0x80 | ((code >> 6) & 0x3f));
    out += static_cast<char>(0x80 | (code & 0x3f));
  } else {
    out += static_cast<char>(0xf0 | (code >> 18));
    out += static_cast<char>(0x80 | ((code >> 12) & 0x3f));
    out += static_cast<char>(0x80 | ((code >> 6) & 0x3f));
    out += static_cast<char>(0x80 | (code & 0x3f));
  }
}

// Longest first.
constexpr std::string_view kSymbols[] = {"&&", "||", "==", "!=", "<=", ">=", "[", "]", "{", "}", "(", ")",
                                         ".",  ",",  "-",  "!",  "?",  ":",  "+", "*", "/", "%", "<", ">"};

constexpr std::pair<char, char> kEscapes[] = {{'a', '\a'}, {'b', '\b'}, {'f', '\f'},  {'n', '\n'},
                                              {'r', '\r'}, {'t', '\t'}, {'v', '\v'},  {'\\', '\\'},
                                              {'?', '?'},  {'"', '"'},  {'\'', '\''}, {'`', '`'}};

class Lexer {
 public:
  explicit Lexer(std::string_view source) : source_(source) {}

  tl::expected<std::vector<Token>, Problem> run() {
    while (!problem_) {
      skip_blanks();
      if (at_ >= source_.size()) break;
      next();
    }
    if (problem_) return tl::unexpected(*problem_);
    tokens_.push_back({.kind = TokenKind::end, .text = {}, .literal = {}, .offset = static_cast<int>(source_.size())});
    return std::move(tokens_);
  }

 private:
  char peek(std::size_t ahead = 0) const { return at_ + ahead < source_.size() ? source_[at_ + ahead] : '\0'; }
  void fail(std::size_t offset, std::string message) {
    if (!problem_) problem_ = Problem{static_cast<int>(offset), std::move(message)};
  }
  void push(TokenKind kind, std::size_t start, Value literal = {}) {
    tokens_.push_back({kind, source_.substr(start, at_ - start), std::move(literal), static_cast<int>(start)});
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
  std::vector<Token> tokens_;
  std::optional<Problem> problem_;
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
  fail(at_, std::string("unexpected character '") + c + "'");
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
  if (at_ == source_.size() || at_ == start) return fail(start - 1, "unfinished or empty quoted identifier");
  push(TokenKind::quoted_identifier, start);
  ++at_;
}

void Lexer::number() {
  const std::size_t start = at_;
  if (peek() == '0' && (peek(1) == 'x' || peek(1) == 'X')) return whole(start);
  std::size_t end = at_;
  while (end < source_.size() && is_digit(source_[end])) ++end;
  const bool fraction = end + 1 < source_.size() && source_[end] == '.' && is_digit(source_[end + 1]);
  const bool exponent = end < source_.size() && (source_[end] == 'e' || source_[end] == 'E');
  if (fraction || exponent) return real(start);
  whole(start);
}

void Lexer::real(std::size_t start) {
  while (is_digit(peek())) ++at_;
  if (peek() == '.' && is_digit(peek(1))) {
    ++at_;
    while (is_digit(peek())) ++at_;
  }
  if (peek() == 'e' || peek() == 'E') {
    ++at_;
    if (peek() == '+' || peek() == '-') ++at_;
    if (!is_digit(peek())) return fail(start, "a number's exponent has no digits");
    while (is_digit(peek())) ++at_;
  }
  std::string text(source_.substr(start, at_ - start));
  if (text.front() == '.') text.insert(0, 1, '0');
  double value = 0;
  const auto result = std::from_chars(text.data(), text.data() + text.size(), value);
  // Out of range: too small is 0, too large is an error.
  const bool tiny = result.ec == std::errc::result_out_of_range && std::fabs(std::strtod(text.c_str(), nullptr)) < 1;
  if (tiny) value = 0;
  if ((result.ec != std::errc() && !tiny) || is_word(peek())) return fail(start, "invalid number");
  push(TokenKind::literal, start, Value::floating(value));
}

// The sign is not part of the token; the parser folds it, so that the smallest int can be written. Until then a whole
// number is kept as it stands: an int literal as uint without suffix.
void Lexer::whole(std::size_t start) {
  const bool hex = peek() == '0' && (peek(1) == 'x' || peek(1) == 'X');
  if (hex) at_ += 2;
  const char* first = source_.data() + at_;
  std::uint64_t value = 0;
  const auto result = std::from_chars(first, source_.data() + source_.size(), value, hex ? 16 : 10);
  if (result.ptr == first) return fail(start, "invalid number");
  at_ += static_cast<std::size_t>(result.ptr - first);
  if (result.ec != std::errc()) return fail(start, "the number is too large");
  const bool is_unsigned = peek() == 'u' || peek() == 'U';
  if (is_unsigned) ++at_;
  if (is_word(peek())) return fail(start, "invalid number");
  if (is_unsigned) return push(TokenKind::literal, start, Value::uinteger(value));
  constexpr std::uint64_t kSmallest = std::uint64_t{1} << 63;
  const bool negated = !tokens_.empty() && tokens_.back().is("-");
  if (value > kSmallest || (value == kSmallest && !negated)) return fail(start, "the number is too large for an int");
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
    if (at_ >= source_.size() || (!triple && (peek() == '\n' || peek() == '\r')))
      return fail(start, "the string is not closed");
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
  const std::size_t start = at_++;
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
        fail(start, "an octal escape has three digits");
        return false;
      }
      code = code * 8 + static_cast<std::uint32_t>(peek() - '0');
    }
    if (bytes)
      out += static_cast<char>(code);
    else
      append_utf8(out, code);
    return true;
  }
  ++at_;
  if (c == 'x' || c == 'X') return code_point(out, 2, bytes);
  if (c == 'u' && !bytes) return code_point(out, 4, false);
  if (c == 'U' && !bytes) return code_point(out, 8, false);
  fail(start, "invalid escape sequence");
  return false;
}

bool Lexer::code_point(std::string& out, int digits, bool bytes) {
  const std::size_t start = at_ - 2;
  std::uint32_t code = 0;
  const std::size_t left = std::min(source_.size() - at_, static_cast<std::size_t>(digits));
  const char* first = source_.data() + at_;
  const auto result = std::from_chars(first, first + left, code, 16);
  if (result.ec != std::errc() || result.ptr != first + digits) {
    fail(start, "an escape sequence needs " + std::to_string(digits) + " hexadecimal digits");
    return false;
  }
  at_ += static_cast<std::size_t>(digits);
  if (bytes) {
    out += static_cast<char>(code);
    return true;
  }
  if (code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff)) {
    fail(start, "the escape sequence is not a Unicode character");
    return false;
  }
  append_utf8(out, code);
  return true;
}

}  // namespace

tl::expected<std::vector<Token>, Problem> tokenize(std::string_view source) { return Lexer(source).run(); }

}  // namespace sublet::patches::cel
