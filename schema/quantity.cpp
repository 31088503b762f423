#include "schema/quantity.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <optional>

#include "schema/text_scan.h"
#include "sublet/schema/engine.h"

namespace sublet::schema {

namespace {

enum class Form : std::uint8_t { decimal_si, binary_si, decimal_exponent };

struct Suffix {
  std::string_view text;
  Form form;
  int exponent;  // of 10, or of 2 for binary_si
};

constexpr std::array<Suffix, 16> kSuffixes{{
    {"", Form::decimal_si, 0},
    {"m", Form::decimal_si, -3},
    {"Ki", Form::binary_si, 10},
    {"Mi", Form::binary_si, 20},
    {"Gi", Form::binary_si, 30},
    {"k", Form::decimal_si, 3},
    {"M", Form::decimal_si, 6},
    {"G", Form::decimal_si, 9},
    {"u", Form::decimal_si, -6},
    {"n", Form::decimal_si, -9},
    {"T", Form::decimal_si, 12},
    {"P", Form::decimal_si, 15},
    {"E", Form::decimal_si, 18},
    {"Ti", Form::binary_si, 40},
    {"Pi", Form::binary_si, 50},
    {"Ei", Form::binary_si, 60},
}};

constexpr int kNanoExponent = -9;
constexpr std::size_t kInt64Digits = 18;  // digits that always fit an int64
constexpr std::string_view kInt64Max = "9223372036854775807";

/// The text cut into its parts; nothing is copied.
struct Pieces {
  bool negative = false;
  std::string_view whole;     // digits before the point, no leading zeros; "0" when there are none
  std::string_view fraction;  // digits behind the point
  std::string_view suffix;
  bool bare = false;  // no digit at all, as in "Ki" or "-m"
};

/// A parsed quantity: (-1)^negative * digits * 10^exponent. Digits has no leading zero; empty is zero.
struct Amount {
  bool negative = false;
  std::string digits;
  std::int64_t exponent = 0;
  Form form = Form::decimal_si;

  bool zero() const { return digits.empty(); }
};

std::string_view take_digits(std::string_view& text) {
  std::size_t n = 0;
  while (n < text.size() && is_digit(text[n])) ++n;
  const std::string_view taken = text.substr(0, n);
  text.remove_prefix(n);
  return taken;
}

bool cut(std::string_view text, Pieces& pieces) {
  if (!text.empty() && (text[0] == '-' || text[0] == '+')) {
    pieces.negative = text[0] == '-';
    text.remove_prefix(1);
  }
  const std::size_t unstripped = text.size();
  while (!text.empty() && text[0] == '0') text.remove_prefix(1);
  if (text.empty()) {  // zeros, or (upstream lets it pass) nothing
    pieces.whole = "0";
    return true;
  }
  pieces.bare = text.size() == unstripped;
  pieces.whole = take_digits(text);
  pieces.bare = pieces.bare && pieces.whole.empty();
  if (pieces.whole.empty()) pieces.whole = "0";
  if (!text.empty() && text[0] == '.') {
    text.remove_prefix(1);
    pieces.fraction = take_digits(text);
    pieces.bare = pieces.bare && pieces.fraction.empty();
  }
  pieces.suffix = text;
  std::size_t at = text.find_first_not_of("eEinumkKMGTP");
  if (at == std::string_view::npos) return true;
  if (text[at] == '-' || text[at] == '+') ++at;
  return std::all_of(text.begin() + static_cast<std::ptrdiff_t>(at), text.end(), is_digit);
}

/// The suffix's meaning. Exponents wrap to 32 bits as upstream's do.
std::optional<Suffix> interpret(std::string_view text) {
  for (const Suffix& suffix : kSuffixes)
    if (suffix.text == text) return suffix;
  if (text.size() < 2 || (text[0] != 'e' && text[0] != 'E')) return std::nullopt;
  std::string_view number = text.substr(1);
  if (number[0] == '+') number.remove_prefix(1);
  std::int64_t exponent = 0;
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), exponent);
  if (error != std::errc() || end != number.data() + number.size()) return std::nullopt;
  return Suffix{text, Form::decimal_exponent, static_cast<std::int32_t>(exponent)};
}

// --- decimal digits as text ----------------------------------------------------------------------------------------

void strip_leading_zeros(std::string& digits) {
  digits.erase(0, std::min(digits.find_first_not_of('0'), digits.size()));
}

void multiply_by_1024(std::string& digits) {
  unsigned carry = 0;
  for (auto digit = digits.rbegin(); digit != digits.rend(); ++digit) {
    carry += static_cast<unsigned>(*digit - '0') * 1024;
    *digit = static_cast<char>('0' + carry % 10);
    carry /= 10;
  }
  if (carry > 0) digits.insert(0, std::to_string(carry));
}

void increment(std::string& digits) {
  for (auto digit = digits.rbegin(); digit != digits.rend(); ++digit) {
    if (*digit != '9') {
      ++*digit;
      return;
    }
    *digit = '0';
  }
  digits.insert(0, 1, '1');
}

/// Rounds away from zero to whole nanos.
void round_to_nano(Amount& amount) {
  if (amount.zero() || amount.exponent >= kNanoExponent) return;
  const auto drop = static_cast<std::uint64_t>(kNanoExponent - amount.exponent);
  amount.exponent = kNanoExponent;
  if (drop >= amount.digits.size()) {
    amount.digits = "1";
    return;
  }
  const std::size_t keep = amount.digits.size() - static_cast<std::size_t>(drop);
  const bool inexact = amount.digits.find_first_not_of('0', keep) != std::string::npos;
  amount.digits.resize(keep);
  if (inexact) increment(amount.digits);
}

void strip_trailing_zeros(Amount& amount) {
  const auto last = amount.digits.find_last_not_of('0');
  if (last == std::string::npos) return;
  amount.exponent += static_cast<std::int64_t>(amount.digits.size() - last - 1);
  amount.digits.resize(last + 1);
}

/// |amount| against a whole number given as digits: -1, 0 or 1. Trailing zeros must be stripped.
int compare_magnitude(const Amount& amount, std::string_view whole) {
  if (amount.zero()) return whole == "0" ? 0 : -1;
  const std::int64_t places = static_cast<std::int64_t>(amount.digits.size()) + amount.exponent;
  const auto size = static_cast<std::int64_t>(whole.size());
  if (places != size) return places < size ? -1 : 1;
  std::string padded = amount.digits;
  if (padded.size() < whole.size()) padded.resize(whole.size(), '0');
  const int order = std::string_view(padded).substr(0, whole.size()).compare(whole);
  if (order != 0) return order < 0 ? -1 : 1;
  return padded.size() > whole.size() ? 1 : 0;
}

// --- parsing -------------------------------------------------------------------------------------------------------

/// Whether upstream's int64 path takes the number; its big-decimal path never keeps the text.
bool fits_fast_path(const Pieces& pieces, const Suffix& suffix) {
  const std::size_t places = pieces.whole.size() + pieces.fraction.size();
  if (places > kInt64Digits) return false;
  if (suffix.form == Form::binary_si) {
    const int lost = static_cast<int>(static_cast<float>(suffix.exponent) * 3 / 10);
    return pieces.fraction.empty() && 15 - static_cast<int>(places) - lost - 1 >= 0;
  }
  return suffix.exponent - static_cast<std::int64_t>(pieces.fraction.size()) >= kNanoExponent;
}

/// Whether the text is kept as it came, canonical or not.
bool keeps_text(const Pieces& pieces, const Suffix& suffix) {
  if (!fits_fast_path(pieces, suffix)) return false;
  if (suffix.form == Form::binary_si) {
    std::int64_t value = 0;
    std::from_chars(pieces.whole.data(), pieces.whole.data() + pieces.whole.size(), value);
    return (value & 7) != 0;
  }
  const std::int64_t scale = suffix.exponent - static_cast<std::int64_t>(pieces.fraction.size());
  if (scale % 3 != 0) return false;
  const auto digit_from_end = [&](std::size_t i) {
    if (i < pieces.fraction.size()) return pieces.fraction[pieces.fraction.size() - 1 - i];
    i -= pieces.fraction.size();
    return i < pieces.whole.size() ? pieces.whole[pieces.whole.size() - 1 - i] : '1';
  };
  if (digit_from_end(0) == '0' && digit_from_end(1) == '0' && digit_from_end(2) == '0') return false;
  return pieces.whole[0] != '0';
}

QuantityFault cut_and_interpret(std::string_view text, Pieces& pieces, Suffix& suffix) {
  if (text.empty() || !cut(text, pieces)) return QuantityFault::format;
  const auto meaning = interpret(pieces.suffix);
  if (!meaning) return QuantityFault::suffix;
  suffix = *meaning;
  return pieces.bare && !fits_fast_path(pieces, suffix) ? QuantityFault::numeric : QuantityFault::none;
}

Amount build(const Pieces& pieces, const Suffix& suffix) {
  Amount amount;
  amount.negative = pieces.negative;
  amount.form = suffix.form;
  amount.digits.reserve(pieces.whole.size() + pieces.fraction.size());
  amount.digits.append(pieces.whole).append(pieces.fraction);
  strip_leading_zeros(amount.digits);
  amount.exponent = -static_cast<std::int64_t>(pieces.fraction.size());
  if (amount.zero()) return amount;
  if (suffix.form == Form::binary_si) {
    for (int power = 0; power < suffix.exponent; power += 10) multiply_by_1024(amount.digits);
  } else {
    amount.exponent += suffix.exponent;
  }
  round_to_nano(amount);
  strip_trailing_zeros(amount);
  if (suffix.form == Form::binary_si && compare_magnitude(amount, kInt64Max) > 0) {
    amount.digits = kInt64Max;
    amount.exponent = 0;
  }
  return amount;
}

// --- printing ------------------------------------------------------------------------------------------------------

std::string_view suffix_text(Form form, std::int64_t exponent) {
  for (const Suffix& suffix : kSuffixes)
    if (suffix.form == form && suffix.exponent == exponent) return suffix.text;
  return {};  // beyond exa: upstream has no suffix either, and prints none
}

std::string print_decimal(const Amount& amount, Form form) {
  std::string out = amount.negative ? "-" : "";
  out += amount.digits;
  std::int64_t exponent = amount.exponent;
  for (; exponent % 3 != 0; --exponent) out += '0';
  if (form == Form::decimal_si) return out.append(suffix_text(form, exponent));
  if (exponent == 0) return out;
  out += 'e';
  return out += std::to_string(exponent);
}

std::string print_binary(const Amount& amount) {
  // At least 1024, whole, and capped to an int64.
  std::string whole = amount.digits;
  whole.append(static_cast<std::size_t>(amount.exponent), '0');
  std::uint64_t value = 0;
  std::from_chars(whole.data(), whole.data() + whole.size(), value);
  int power = 0;
  for (; value >= 1024 && value % 1024 == 0; value /= 1024) power += 10;
  std::string out = amount.negative ? "-" : "";
  out += std::to_string(value);
  if (power > 0) out += suffix_text(Form::binary_si, power);
  return out;
}

std::string print(const Amount& amount) {
  if (amount.zero()) return "0";
  if (amount.form != Form::binary_si) return print_decimal(amount, amount.form);
  if (compare_magnitude(amount, "1024") < 0 || amount.exponent < 0) return print_decimal(amount, Form::decimal_si);
  return print_binary(amount);
}

std::string to_digits(unsigned __int128 value) {
  std::string digits;
  for (; value > 0; value /= 10) digits += static_cast<char>('0' + static_cast<int>(value % 10));
  std::reverse(digits.begin(), digits.end());
  return digits;
}

constexpr __int128 kInt128Max = static_cast<__int128>((static_cast<unsigned __int128>(1) << 127) - 1);

__int128 to_nanos(const Amount& amount) {
  __int128 nanos = 0;
  const auto push = [&](int digit) {
    if (nanos > (kInt128Max - digit) / 10) return false;
    nanos = nanos * 10 + digit;
    return true;
  };
  bool fits = true;
  for (const char digit : amount.digits) fits = fits && push(digit - '0');
  if (!amount.zero())
    for (std::int64_t i = kNanoExponent; fits && i < amount.exponent; ++i) fits = push(0);
  if (!fits) nanos = kInt128Max;
  return amount.negative ? -nanos : nanos;
}

}  // namespace

std::string_view quantity_fault_message(QuantityFault fault) {
  switch (fault) {
    case QuantityFault::none:
      return {};
    case QuantityFault::format:
      return "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
    case QuantityFault::suffix:
      return "unable to parse quantity's suffix";
    case QuantityFault::numeric:
      return "unable to parse numeric part of quantity";
  }
  return {};
}

QuantityFault canonicalize_quantity(std::string_view text, std::string& out, bool& changed) {
  Pieces pieces;
  Suffix suffix{};
  const QuantityFault fault = cut_and_interpret(text, pieces, suffix);
  if (fault != QuantityFault::none) return fault;
  changed = !(text == "0" || keeps_text(pieces, suffix));
  if (changed) {
    out = print(build(pieces, suffix));
    changed = out != text;
  }
  return QuantityFault::none;
}

std::optional<std::string> canonical_quantity(std::string_view text) {
  std::string out;
  bool changed = false;
  if (canonicalize_quantity(text, out, changed) != QuantityFault::none) return std::nullopt;
  return changed ? out : std::string(text);
}

std::optional<__int128> quantity_nanos(std::string_view text) {
  Pieces pieces;
  Suffix suffix{};
  if (cut_and_interpret(text, pieces, suffix) != QuantityFault::none) return std::nullopt;
  return to_nanos(build(pieces, suffix));
}

std::string quantity_from_nanos(__int128 nanos, std::string_view like) {
  Pieces pieces;
  Suffix suffix{};
  Amount amount;
  if (!like.empty() && cut_and_interpret(like, pieces, suffix) == QuantityFault::none) amount.form = suffix.form;
  amount.negative = nanos < 0;
  const auto magnitude = static_cast<unsigned __int128>(nanos);
  amount.digits = to_digits(amount.negative ? 0 - magnitude : magnitude);
  amount.exponent = kNanoExponent;
  strip_trailing_zeros(amount);
  return print(amount);
}

}  // namespace sublet::schema
