// Functions on strings: the standard ones and the strings extension that Kubernetes enables. Positions count code
// points.
#include <re2/re2.h>

#include <algorithm>
#include <cmath>

#include "patches/cel/functions.h"
#include "patches/cel/text.h"

namespace sublet::patches::cel {

namespace {

using Arguments = std::span<const Value>;

void charge_text(Meter& meter, std::string_view text) { meter.charge(1 + text.size() / 10); }

Value contains(Arguments a, Meter& meter) {
  charge_text(meter, a[0].as_text());
  return Value::boolean(a[0].as_text().find(a[1].as_text()) != std::string_view::npos);
}
Value starts_with(Arguments a, Meter&) { return Value::boolean(a[0].as_text().starts_with(a[1].as_text())); }
Value ends_with(Arguments a, Meter&) { return Value::boolean(a[0].as_text().ends_with(a[1].as_text())); }

Value matches(Arguments a, Meter& meter) {
  RE2::Options options;
  options.set_log_errors(false);
  options.set_max_mem(1 << 20);
  const auto text = a[0].as_text();
  const auto pattern = a[1].as_text();
  meter.charge(10 + (text.size() + pattern.size()) * (1 + pattern.size() / 10) / 10);
  if (meter.exhausted()) return {};
  const RE2 expression(re2::StringPiece(pattern.data(), pattern.size()), options);
  if (!expression.ok()) return Value::error("invalid regular expression: " + expression.error());
  return Value::boolean(RE2::PartialMatch(re2::StringPiece(text.data(), text.size()), expression));
}

template <char From, char To, int Shift>
Value change_case(Arguments a, Meter& meter) {
  std::string text(a[0].as_text());
  charge_text(meter, text);
  for (char& c : text)
    if (c >= From && c <= To) c = static_cast<char>(c + Shift);
  return Value::string(std::move(text));
}

// Unicode's White_Space.
constexpr std::string_view kBlanks[] = {" ",      "\t",     "\n",     "\v",     "\f",     "\r",     "\u0085",
                                        "\u00a0", "\u1680", "\u2000", "\u2001", "\u2002", "\u2003", "\u2004",
                                        "\u2005", "\u2006", "\u2007", "\u2008", "\u2009", "\u200a", "\u2028",
                                        "\u2029", "\u202f", "\u205f", "\u3000"};

Value trim(Arguments a, Meter& meter) {
  std::string_view text = a[0].as_text();
  charge_text(meter, text);
  const auto strip = [&](auto has, auto remove) {
    for (bool again = true; again && !text.empty();) {
      again = false;
      for (const std::string_view blank : kBlanks)
        if (has(blank)) {
          remove(blank.size());
          again = true;
          break;
        }
    }
  };
  strip([&](std::string_view b) { return text.starts_with(b); }, [&](std::size_t n) { text.remove_prefix(n); });
  strip([&](std::string_view b) { return text.ends_with(b); }, [&](std::size_t n) { text.remove_suffix(n); });
  return Value::string(std::string(text));
}

Value replace_some(std::string_view text, std::string_view from, std::string_view to, std::int64_t limit,
                   Meter& meter) {
  charge_text(meter, text);
  if (limit < 0) limit = INT64_MAX;
  std::string out;
  std::size_t at = 0;
  while (limit > 0 && !meter.exhausted()) {
    const std::size_t found = from.empty() ? at : text.find(from, at);
    if (found == std::string_view::npos) break;
    out.append(text, at, found - at);
    out += to;
    meter.charge(1 + to.size() / 10);
    --limit;
    at = found + from.size();
    if (from.empty()) {  // between all characters, as in Go
      if (at >= text.size()) return Value::string(std::move(out));
      const auto next = code_points(text.substr(at, 4))[1];
      out.append(text, at, next);
      at += next;
    }
  }
  out.append(text, at);
  return Value::string(std::move(out));
}

Value replace(Arguments a, Meter& meter) {
  return replace_some(a[0].as_text(), a[1].as_text(), a[2].as_text(), -1, meter);
}
Value replace_limited(Arguments a, Meter& meter) {
  return replace_some(a[0].as_text(), a[1].as_text(), a[2].as_text(), a[3].as_int(), meter);
}

Value split_some(std::string_view text, std::string_view separator, std::int64_t limit, Meter& meter) {
  charge_text(meter, text);
  List parts;
  if (limit == 0) return Value::list({});
  if (limit < 0) limit = INT64_MAX;
  if (separator.empty()) {
    const auto offsets = code_points(text);
    meter.charge(offsets.size());
    for (std::size_t i = 0; i + 1 < offsets.size() && !meter.exhausted(); ++i) {
      const bool last = static_cast<std::int64_t>(parts.size()) + 1 >= limit;
      const std::size_t end = last ? text.size() : offsets[i + 1];
      parts.push_back(Value::string(std::string(text.substr(offsets[i], end - offsets[i]))));
      if (last) break;
    }
    return Value::list(std::move(parts));
  }
  while (static_cast<std::int64_t>(parts.size()) + 1 < limit && !meter.exhausted()) {
    const std::size_t found = text.find(separator);
    if (found == std::string_view::npos) break;
    parts.push_back(Value::string(std::string(text.substr(0, found))));
    text.remove_prefix(found + separator.size());
    meter.charge(1);
  }
  parts.push_back(Value::string(std::string(text)));
  return Value::list(std::move(parts));
}

Value split(Arguments a, Meter& meter) { return split_some(a[0].as_text(), a[1].as_text(), -1, meter); }
Value split_limited(Arguments a, Meter& meter) {
  return split_some(a[0].as_text(), a[1].as_text(), a[2].as_int(), meter);
}

Value join_with(const Value& list, std::string_view separator, Meter& meter) {
  std::string text;
  bool first = true;
  Value failure;
  list.each_item([&](const Value& item) {
    if (!item.is(Kind::string)) {
      failure = Value::error("join() needs a list of strings, found " + std::string(kind_name(item.kind())));
      return false;
    }
    if (!first) text += separator;
    first = false;
    text += item.as_text();
    meter.charge(1 + (item.as_text().size() + separator.size()) / 10);
    return !meter.exhausted();
  });
  return failure.is_error() ? failure : Value::string(std::move(text));
}

Value join(Arguments a, Meter& meter) { return join_with(a[0], "", meter); }
Value join_separated(Arguments a, Meter& meter) { return join_with(a[0], a[1].as_text(), meter); }

Value cut(std::string_view text, std::int64_t from, std::optional<std::int64_t> to, Meter& meter) {
  charge_text(meter, text);
  const auto offsets = code_points(text);
  const auto count = static_cast<std::int64_t>(offsets.size()) - 1;
  const std::int64_t end = to.value_or(count);
  if (from < 0 || from > count || end < from || end > count)
    return Value::error("substring range [" + std::to_string(from) + ", " + std::to_string(end) +
                        ") is out of the string's " + std::to_string(count) + " characters");
  const std::size_t start = offsets[static_cast<std::size_t>(from)];
  return Value::string(std::string(text.substr(start, offsets[static_cast<std::size_t>(end)] - start)));
}

Value substring(Arguments a, Meter& meter) { return cut(a[0].as_text(), a[1].as_int(), std::nullopt, meter); }
Value substring_range(Arguments a, Meter& meter) { return cut(a[0].as_text(), a[1].as_int(), a[2].as_int(), meter); }

Value char_at(Arguments a, Meter& meter) {
  const auto count = static_cast<std::int64_t>(code_points(a[0].as_text()).size()) - 1;
  if (a[1].as_int() == count) return Value::borrowed("");
  return a[1].as_int() < 0 || a[1].as_int() > count
             ? Value::error("index " + std::to_string(a[1].as_int()) + " is out of the string")
             : cut(a[0].as_text(), a[1].as_int(), a[1].as_int() + 1, meter);
}

// The character index of a byte offset; -1 for npos.
Value character_index(std::string_view text, std::size_t offset) {
  if (offset == std::string_view::npos) return Value::integer(-1);
  return Value::integer(static_cast<std::int64_t>(code_points(text.substr(0, offset)).size()) - 1);
}

Value index_of(Arguments a, Meter& meter) {
  charge_text(meter, a[0].as_text());
  return character_index(a[0].as_text(), a[0].as_text().find(a[1].as_text()));
}
Value last_index_of(Arguments a, Meter& meter) {
  charge_text(meter, a[0].as_text());
  return character_index(a[0].as_text(), a[0].as_text().rfind(a[1].as_text()));
}

// The byte offset of a character; nullopt: the string is shorter.
std::optional<std::size_t> byte_offset(std::string_view text, std::int64_t character) {
  const auto offsets = code_points(text);
  if (character < 0 || static_cast<std::size_t>(character) >= offsets.size()) return std::nullopt;
  return offsets[static_cast<std::size_t>(character)];
}

template <bool Last>
Value index_of_from(Arguments a, Meter& meter) {
  charge_text(meter, a[0].as_text());
  const auto from = byte_offset(a[0].as_text(), a[2].as_int());
  if (!from) return Value::error("index " + std::to_string(a[2].as_int()) + " is out of the string");
  return character_index(
      a[0].as_text(), Last ? a[0].as_text().rfind(a[1].as_text(), *from) : a[0].as_text().find(a[1].as_text(), *from));
}

// As a literal in double quotes.
Value quote(Arguments a, Meter& meter) {
  static constexpr std::pair<char, std::string_view> kEscapes[] = {{'\a', "\\a"}, {'\b', "\\b"},  {'\f', "\\f"},
                                                                   {'\n', "\\n"}, {'\r', "\\r"},  {'\t', "\\t"},
                                                                   {'\v', "\\v"}, {'\\', "\\\\"}, {'"', "\\\""}};
  charge_text(meter, a[0].as_text());
  std::string out = "\"";
  for (const char c : a[0].as_text()) {
    const auto* found =
        std::find_if(std::begin(kEscapes), std::end(kEscapes), [&](const auto& e) { return e.first == c; });
    if (found == std::end(kEscapes))
      out += c;
    else
      out += found->second;
  }
  return Value::string(out + '"');
}

Value reverse(Arguments a, Meter& meter) {
  const std::string_view text = a[0].as_text();
  charge_text(meter, text);
  const auto offsets = code_points(text);
  std::string out;
  for (std::size_t i = offsets.size() - 1; i > 0; --i) out += text.substr(offsets[i - 1], offsets[i] - offsets[i - 1]);
  return Value::string(std::move(out));
}

// A value as %s writes it: text and bytes bare, lists and maps of such in brackets.
void append_plain(std::string& out, const Value& value) {
  const char* separator = "";
  switch (value.kind()) {
    case Kind::string:
    case Kind::bytes:
    case Kind::type:
      out += value.as_text();
      return;
    case Kind::floating:
      out += std::isinf(value.as_double()) ? (value.as_double() > 0 ? "Infinity" : "-Infinity")
                                           : double_text(value.as_double());
      return;
    case Kind::list:
      out += '[';
      value.each_item([&](const Value& item) {
        out += separator;
        append_plain(out, item);
        separator = ", ";
        return true;
      });
      out += ']';
      return;
    case Kind::map: {
      std::vector<std::string> entries;
      value.each_entry([&](const Value& key, const Value& entry) {
        append_plain(entries.emplace_back(), key);
        entries.back() += ": ";
        append_plain(entries.back(), entry);
        return true;
      });
      std::sort(entries.begin(), entries.end());
      out += '{';
      for (const std::string& entry : entries) {
        out += separator + entry;
        separator = ", ";
      }
      out += '}';
      return;
    }
    default:
      out += debug_text(value);
  }
}

std::string plain_text(const Value& value) {
  std::string out;
  append_plain(out, value);
  return out;
}

// Digits of a whole number to the base of %x, %X, %o or %b.
std::string digits(char verb, const Value& value) {
  const bool negative = value.is(Kind::integer) && value.as_int() < 0;
  std::uint64_t rest = value.is(Kind::uinteger) ? value.as_uint() : static_cast<std::uint64_t>(value.as_int());
  if (negative) rest = ~rest + 1;
  const unsigned base = verb == 'b' ? 2 : (verb == 'o' ? 8 : 16);
  const std::string_view alphabet = verb == 'X' ? "0123456789ABCDEF" : "0123456789abcdef";
  std::string reversed;
  for (; rest != 0 || reversed.empty(); rest /= base) reversed.push_back(alphabet[rest % base]);
  if (negative) reversed.push_back('-');
  return {reversed.rbegin(), reversed.rend()};
}

std::string hex_bytes(char verb, std::string_view bytes) {
  const char* alphabet = verb == 'X' ? "0123456789ABCDEF" : "0123456789abcdef";
  std::string out;
  for (const char c : bytes) {
    out += alphabet[static_cast<unsigned char>(c) >> 4];
    out += alphabet[static_cast<unsigned char>(c) & 15];
  }
  return out;
}

// Empty: the verb cannot write such a value (only %s may write an empty text).
std::string format_one(char verb, int precision, const Value& value) {
  const bool whole = value.is(Kind::integer) || value.is(Kind::uinteger);
  const bool finite = !value.is(Kind::floating) || std::isfinite(value.as_double());
  switch (verb) {
    case 's':
      return plain_text(value);
    case 'd':
      if (value.is(Kind::integer)) return std::to_string(value.as_int());
      if (value.is(Kind::uinteger)) return std::to_string(value.as_uint());
      return value.is(Kind::floating) && !finite ? plain_text(value) : std::string();
    case 'f':
    case 'e': {
      if (!value.is_numeric()) return {};
      if (!finite) return plain_text(value);
      const double number = value.is(Kind::floating)  ? value.as_double()
                            : value.is(Kind::integer) ? static_cast<double>(value.as_int())
                                                      : static_cast<double>(value.as_uint());
      char buffer[512];
      std::snprintf(buffer, sizeof buffer, verb == 'f' ? "%.*f" : "%.*e", precision, number);
      return buffer;
    }
    case 'x':
    case 'X':
      if (value.is(Kind::string) || value.is(Kind::bytes)) return hex_bytes(verb, value.as_text());
      return whole ? digits(verb, value) : std::string();
    case 'b':
      if (value.is(Kind::boolean)) return value.as_bool() ? "1" : "0";
      return whole ? digits(verb, value) : std::string();
    case 'o':
      return whole ? digits(verb, value) : std::string();
    default:
      return {};
  }
}

// 'text %s and %d'.format([...]): %s %d %f %e %x %X %o %b, a precision for %f and %e, %% for itself.
Value format(Arguments a, Meter& meter) {
  const std::string_view form = a[0].as_text();
  charge_text(meter, form);
  std::string out;
  std::size_t next = 0;
  for (std::size_t i = 0; i < form.size(); ++i) {
    if (form[i] != '%') {
      out += form[i];
      continue;
    }
    int precision = 6;
    ++i;
    if (i < form.size() && form[i] == '.') {
      precision = 0;
      for (++i; i < form.size() && form[i] >= '0' && form[i] <= '9' && precision < 100; ++i)
        precision = precision * 10 + (form[i] - '0');
    }
    if (i >= form.size()) return Value::error("format() found an unfinished % at the end");
    if (form[i] == '%') {
      out += '%';
      continue;
    }
    if (next >= a[1].size()) return Value::error("format() found more verbs than values");
    const Value value = a[1].item(next++);
    const std::string text = format_one(form[i], std::min(precision, 100), value);
    if (text.empty() && !(form[i] == 's'))
      return Value::error(std::string("format() cannot write a ") + std::string(kind_name(value.kind())) + " with %" +
                          form[i]);
    out += text;
    charge_text(meter, text);
  }
  return Value::string(std::move(out));
}

constexpr Kind B = Kind::boolean, I = Kind::integer, S = Kind::string, L = Kind::list;
constexpr Style F = Style::function, M = Style::method;

constexpr Overload kTable[] = {
    {"contains", M, {S, S}, 2, B, contains},
    {"startsWith", M, {S, S}, 2, B, starts_with},
    {"endsWith", M, {S, S}, 2, B, ends_with},
    {"matches", M, {S, S}, 2, B, matches},
    {"matches", F, {S, S}, 2, B, matches},
    {"lowerAscii", M, {S}, 1, S, change_case<'A', 'Z', 'a' - 'A'>},
    {"upperAscii", M, {S}, 1, S, change_case<'a', 'z', 'A' - 'a'>},
    {"trim", M, {S}, 1, S, trim},
    {"replace", M, {S, S, S}, 3, S, replace},
    {"replace", M, {S, S, S, I}, 4, S, replace_limited},
    {"split", M, {S, S}, 2, L, split},
    {"split", M, {S, S, I}, 3, L, split_limited},
    {"join", M, {L}, 1, S, join},
    {"join", M, {L, S}, 2, S, join_separated},
    {"substring", M, {S, I}, 2, S, substring},
    {"substring", M, {S, I, I}, 3, S, substring_range},
    {"charAt", M, {S, I}, 2, S, char_at},
    {"indexOf", M, {S, S}, 2, I, index_of},
    {"lastIndexOf", M, {S, S}, 2, I, last_index_of},
    {"indexOf", M, {S, S, I}, 3, I, index_of_from<false>},
    {"lastIndexOf", M, {S, S, I}, 3, I, index_of_from<true>},
    {"strings.quote", F, {S}, 1, S, quote},
    {"reverse", M, {S}, 1, S, reverse},
    {"format", M, {S, L}, 2, S, format},
};

}  // namespace

std::span<const Overload> string_table() { return kTable; }

}  // namespace sublet::patches::cel
