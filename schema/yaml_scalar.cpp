#include "sublet/schema/yaml_scalar.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>

#include "schema/text_scan.h"

namespace sublet::schema {

namespace {

using Kind = YamlScalar::Kind;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNotANumber = std::numeric_limits<double>::quiet_NaN();

struct Word {
  std::string_view text;
  YamlScalar value;
};

constexpr YamlScalar kTrue{Kind::boolean, 1, 0}, kFalse{Kind::boolean, 0, 0}, kNull{Kind::null, 0, 0};
constexpr YamlScalar kNan{Kind::floating, 0, kNotANumber}, kInf{Kind::floating, 0, kInfinity},
    kMinusInf{Kind::floating, 0, -kInfinity};

constexpr std::array kWords{
    Word{"", kNull},          Word{"~", kNull},         Word{"null", kNull},      Word{"Null", kNull},
    Word{"NULL", kNull},      Word{"true", kTrue},      Word{"True", kTrue},      Word{"TRUE", kTrue},
    Word{"yes", kTrue},       Word{"Yes", kTrue},       Word{"YES", kTrue},       Word{"on", kTrue},
    Word{"On", kTrue},        Word{"ON", kTrue},        Word{"y", kTrue},         Word{"Y", kTrue},
    Word{"false", kFalse},    Word{"False", kFalse},    Word{"FALSE", kFalse},    Word{"no", kFalse},
    Word{"No", kFalse},       Word{"NO", kFalse},       Word{"off", kFalse},      Word{"Off", kFalse},
    Word{"OFF", kFalse},      Word{"n", kFalse},        Word{"N", kFalse},        Word{".nan", kNan},
    Word{".NaN", kNan},       Word{".NAN", kNan},       Word{".inf", kInf},       Word{".Inf", kInf},
    Word{".INF", kInf},       Word{"+.inf", kInf},      Word{"+.Inf", kInf},      Word{"+.INF", kInf},
    Word{"-.inf", kMinusInf}, Word{"-.Inf", kMinusInf}, Word{"-.INF", kMinusInf},
};
constexpr std::size_t kLongestWord = 5;

int base_of_prefix(std::string_view& digits) {
  if (digits.size() < 2 || digits[0] != '0') return 10;
  const char letter = static_cast<char>(digits[1] | 0x20);
  const int base = letter == 'x' ? 16 : letter == 'b' ? 2 : 8;
  digits.remove_prefix(letter == 'x' || letter == 'b' || letter == 'o' ? 2 : 1);
  return base;
}

/// strconv.ParseInt and ParseUint with base 0: an int64, or a uint64 as float.
std::optional<YamlScalar> parse_integer(std::string_view text) {
  const bool sign = text[0] == '-' || text[0] == '+';
  const bool negative = text[0] == '-';
  std::string_view digits = sign ? text.substr(1) : text;
  const int base = base_of_prefix(digits);
  std::uint64_t magnitude = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), magnitude, base);
  if (error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  constexpr std::uint64_t kMax = std::numeric_limits<std::int64_t>::max();
  if (magnitude <= kMax + (negative ? 1u : 0u))
    return YamlScalar{Kind::integer, static_cast<std::int64_t>(negative ? 0 - magnitude : magnitude), 0};
  if (sign) return std::nullopt;
  return YamlScalar{Kind::floating, 0, static_cast<double>(magnitude)};
}

/// Digits with at most one point and an exponent: what go-yaml takes for a float.
bool looks_like_float(std::string_view text) {
  if (!text.empty() && (text[0] == '-' || text[0] == '+')) text.remove_prefix(1);
  std::size_t digits = 0;
  bool point = false;
  while (!text.empty() && (is_digit(text[0]) || (text[0] == '.' && !point))) {
    if (text[0] == '.')
      point = true;
    else
      ++digits;
    text.remove_prefix(1);
  }
  if (digits == 0) return false;
  if (text.empty()) return true;
  if (text[0] != 'e' && text[0] != 'E') return false;
  text.remove_prefix(1);
  if (!text.empty() && (text[0] == '-' || text[0] == '+')) text.remove_prefix(1);
  return !text.empty() && std::all_of(text.begin(), text.end(), is_digit);
}

std::optional<YamlScalar> parse_float(std::string_view text) {
  if (!looks_like_float(text)) return std::nullopt;
  std::string_view unsigned_text = text[0] == '+' ? text.substr(1) : text;
  double value = 0;
  const auto result = std::from_chars(unsigned_text.data(), unsigned_text.data() + unsigned_text.size(), value);
  if (result.ec == std::errc::result_out_of_range) {
    // Too small is zero to Go, too large is no number.
    const auto e = text.find_first_of("eE");
    if (e == std::string_view::npos || text[e + 1] != '-') return std::nullopt;
    value = 0;
  }
  return YamlScalar{Kind::floating, 0, value};
}

}  // namespace

YamlScalar resolve_yaml_scalar(std::string_view text) {
  if (text.size() <= kLongestWord)
    for (const Word& word : kWords)
      if (word.text == text) return word.value;
  const char first = text[0];
  if (first == '.') return parse_float(text).value_or(YamlScalar{});
  if (first != '+' && first != '-' && !is_digit(first)) return {};
  std::string plain(text);
  std::erase(plain, '_');
  if (plain.size() == 1 && !is_digit(plain[0])) return {};
  if (const auto integer = parse_integer(plain)) return *integer;
  return parse_float(plain).value_or(YamlScalar{});
}

std::string format_go_float(double value, int bits) {
  if (bits == 32) value = static_cast<float>(value);  // which may be beyond a float's range
  if (std::isnan(value)) return ".nan";
  if (std::isinf(value)) return value > 0 ? ".inf" : "-.inf";
  constexpr int kExponentMax = 6;  // from 1e6 on Go prefers the e form when it may choose the digits
  char buffer[512];
  const auto write = [&](std::chars_format format) {
    char* end = bits == 32 ? std::to_chars(buffer, buffer + sizeof buffer, static_cast<float>(value), format).ptr
                           : std::to_chars(buffer, buffer + sizeof buffer, value, format).ptr;
    return std::string(buffer, end);
  };
  const std::string scientific = write(std::chars_format::scientific);
  const auto e = scientific.find('e');
  int exponent = 0;
  const char* first = scientific.data() + e + 1;
  std::from_chars(*first == '+' ? first + 1 : first, scientific.data() + scientific.size(), exponent);
  return exponent < -4 || exponent >= kExponentMax ? scientific : write(std::chars_format::fixed);
}

}  // namespace sublet::schema
