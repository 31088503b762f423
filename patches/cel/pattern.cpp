#include "patches/cel/pattern.h"

#include <re2/re2.h>

#include <algorithm>

#include "patches/cel/text.h"

namespace sublet::patches::cel {

namespace {

re2::StringPiece piece(std::string_view text) { return {text.data(), text.size()}; }

std::string go_words(const RE2& pattern) {
  const auto code = pattern.error_code();
  std::string words = RE2::ErrorMissingBracket == code      ? "missing closing ]"
                      : RE2::ErrorMissingParen == code      ? "missing closing )"
                      : RE2::ErrorUnexpectedParen == code   ? "unexpected )"
                      : RE2::ErrorRepeatArgument == code    ? "missing argument to repetition operator"
                      : RE2::ErrorRepeatOp == code          ? "invalid nested repetition operator"
                      : RE2::ErrorRepeatSize == code        ? "invalid repeat count"
                      : RE2::ErrorBadEscape == code         ? "invalid escape sequence"
                      : RE2::ErrorTrailingBackslash == code ? "trailing backslash at end of expression"
                      : RE2::ErrorBadCharRange == code      ? "invalid character class range"
                      : RE2::ErrorBadCharClass == code      ? "invalid character class"
                      : RE2::ErrorBadNamedCapture == code   ? "invalid named capture"
                      : RE2::ErrorBadUTF8 == code           ? "invalid UTF-8"
                      : RE2::ErrorPatternTooLarge == code   ? "expression too large"
                                                            : pattern.error();
  return "error parsing regexp: " + words + ": `" + pattern.error_arg() + "`";
}

}  // namespace

std::shared_ptr<const RE2> compile_pattern(std::string_view pattern, std::string& problem) {
  RE2::Options options;
  options.set_log_errors(false);
  options.set_max_mem(1 << 20);
  auto compiled = std::make_shared<const RE2>(piece(pattern), options);
  if (compiled->ok()) return compiled;
  problem = go_words(*compiled);
  return nullptr;
}

Value pattern_matches(const RE2& pattern, std::string_view text, Meter& meter) {
  meter.work(text.size());
  return Value::boolean(RE2::PartialMatch(piece(text), pattern));
}

Value pattern_find(const RE2& pattern, std::string_view text, Meter& meter) {
  meter.work(text.size());
  re2::StringPiece found;
  if (!pattern.Match(piece(text), 0, text.size(), RE2::UNANCHORED, &found, 1)) return Value::borrowed("");
  return Value::string(std::string(found.data(), found.size()));
}

// As Go's FindAllString: an empty match right behind another one does not count.
Value pattern_find_all(const RE2& pattern, std::string_view text, std::int64_t limit, Meter& meter) {
  List found;
  std::size_t at = 0;
  std::ptrdiff_t last_end = -1;
  while (at <= text.size() && (limit < 0 || static_cast<std::int64_t>(found.size()) < limit)) {
    re2::StringPiece match;
    meter.work(8 + (text.size() - at) / 16);
    if (meter.exhausted() || !pattern.Match(piece(text), at, text.size(), RE2::UNANCHORED, &match, 1)) break;
    const auto start = match.data() - text.data();
    const auto end = start + static_cast<std::ptrdiff_t>(match.size());
    if (match.size() > 0 || start != last_end) found.push_back(Value::string(std::string(match.data(), match.size())));
    last_end = end;
    at = static_cast<std::size_t>(end);
    if (match.size() == 0) at += at < text.size() ? code_points(text.substr(at, 4))[1] : 1;
  }
  return Value::list(std::move(found));
}

}  // namespace sublet::patches::cel
