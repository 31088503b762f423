// Functions on strings: the standard ones, the strings extension, Kubernetes' regex library.
#include <re2/re2.h>

#include <algorithm>

#include "patches/cel/formatting.h"
#include "patches/cel/functions.h"
#include "patches/cel/pattern.h"
#include "patches/cel/text.h"

namespace sublet::patches::cel {

namespace {

Value string_contains(Arguments a, Meter& meter) {
  meter.work(a[0].as_text().size());
  return Value::boolean(a[0].as_text().find(a[1].as_text()) != std::string_view::npos);
}
Value starts_with(Arguments a, Meter&) { return Value::boolean(a[0].as_text().starts_with(a[1].as_text())); }
Value ends_with(Arguments a, Meter&) { return Value::boolean(a[0].as_text().ends_with(a[1].as_text())); }

// A pattern that is known only now; compiling one costs what its length says.
template <class Use>
Value with_pattern(std::string_view pattern, const char* prefix, Meter& meter, Use use) {
  meter.work(1000 + pattern.size() * 100);
  if (meter.exhausted()) return {};
  std::string problem;
  const auto compiled = compile_pattern(pattern, problem);
  return compiled ? use(*compiled) : Value::error(prefix + problem);
}

Value string_matches(Arguments a, Meter& meter) {
  return with_pattern(a[1].as_text(), "", meter,
                      [&](const RE2& pattern) { return pattern_matches(pattern, a[0].as_text(), meter); });
}
Value string_find(Arguments a, Meter& meter) {
  return with_pattern(a[1].as_text(), "Illegal regex: ", meter,
                      [&](const RE2& pattern) { return pattern_find(pattern, a[0].as_text(), meter); });
}
Value find_all(Arguments a, Meter& meter) {
  const std::int64_t limit = a.size() > 2 ? a[2].as_int() : -1;
  return with_pattern(a[1].as_text(), "Illegal regex: ", meter,
                      [&](const RE2& pattern) { return pattern_find_all(pattern, a[0].as_text(), limit, meter); });
}

template <char From, char To, int Shift>
Value change_case(Arguments a, Meter& meter) {
  std::string text(a[0].as_text());
  meter.work(text.size());
  for (char& c : text)
    if (c >= From && c <= To) c = static_cast<char>(c + Shift);
  return Value::string(std::move(text));
}

// Unicode's White_Space.
constexpr std::string_view kUnicodeBlanks[] = {" ",      "\t",     "\n",     "\v",     "\f",     "\r",     "\u0085",
                                               "\u00a0", "\u1680", "\u2000", "\u2001", "\u2002", "\u2003", "\u2004",
                                               "\u2005", "\u2006", "\u2007", "\u2008", "\u2009", "\u200a", "\u2028",
                                               "\u2029", "\u202f", "\u205f", "\u3000"};

Value trim(Arguments a, Meter& meter) {
  std::string_view text = a[0].as_text();
  meter.work(text.size());
  const auto strip = [&](auto has, auto remove) {
    for (bool again = true; again && !text.empty();) {
      again = false;
      for (const std::string_view blank : kUnicodeBlanks)
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
  meter.work(text.size());
  if (limit < 0) limit = INT64_MAX;
  std::string out;
  std::size_t at = 0;
  while (limit > 0 && !meter.exhausted()) {
    const std::size_t found = from.empty() ? at : text.find(from, at);
    if (found == std::string_view::npos) break;
    out.append(text, at, found - at);
    out += to;
    meter.work(1 + to.size());
    if (!meter.affords(out.size() / 64)) return {};
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

Value replace_string(Arguments a, Meter& meter) {
  return replace_some(a[0].as_text(), a[1].as_text(), a[2].as_text(), -1, meter);
}
Value replace_limited(Arguments a, Meter& meter) {
  return replace_some(a[0].as_text(), a[1].as_text(), a[2].as_text(), a[3].as_int(), meter);
}

Value split_some(std::string_view text, std::string_view separator, std::int64_t limit, Meter& meter) {
  meter.work(text.size());
  List parts;
  if (limit == 0) return Value::list({});
  if (limit < 0) limit = INT64_MAX;
  if (separator.empty()) {
    const auto offsets = code_points(text);
    meter.work(offsets.size());
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
    meter.work(1);
  }
  parts.push_back(Value::string(std::string(text)));
  return Value::list(std::move(parts));
}

Value split_string(Arguments a, Meter& meter) { return split_some(a[0].as_text(), a[1].as_text(), -1, meter); }
Value split_limited(Arguments a, Meter& meter) {
  return split_some(a[0].as_text(), a[1].as_text(), a[2].as_int(), meter);
}

Value join_with(const Value& list, std::string_view separator, Meter& meter) {
  std::string text;
  bool first = true;
  Value failure;
  list.each_item([&](const Value& item) {
    if (!item.is(Kind::string)) {
      failure = Value::error("join: invalid input: " + go_text(item));
      return false;
    }
    if (!first) text += separator;
    first = false;
    text += item.as_text();
    meter.work(1 + item.as_text().size() + separator.size());
    return meter.affords(text.size() / 64);
  });
  return failure.is_error() ? failure : Value::string(std::move(text));
}

Value join_strings(Arguments a, Meter& meter) { return join_with(a[0], "", meter); }
Value join_separated(Arguments a, Meter& meter) { return join_with(a[0], a[1].as_text(), meter); }

Value out_of_range(std::int64_t index) { return Value::error("index out of range: " + std::to_string(index)); }

Value substring_between(std::string_view text, std::int64_t from, std::optional<std::int64_t> to, Meter& meter) {
  meter.work(text.size());
  const auto offsets = code_points(text);
  const auto count = static_cast<std::int64_t>(offsets.size()) - 1;
  if (to && from > *to)
    return Value::error("invalid substring range. start: " + std::to_string(from) + ", end: " + std::to_string(*to));
  if (from < 0 || from > count) return out_of_range(from);
  const std::int64_t end = to.value_or(count);
  if (end > count) return out_of_range(end);
  const std::size_t start = offsets[static_cast<std::size_t>(from)];
  return Value::string(std::string(text.substr(start, offsets[static_cast<std::size_t>(end)] - start)));
}

Value substring(Arguments a, Meter& meter) {
  return substring_between(a[0].as_text(), a[1].as_int(), std::nullopt, meter);
}
Value substring_range(Arguments a, Meter& meter) {
  return substring_between(a[0].as_text(), a[1].as_int(), a[2].as_int(), meter);
}

Value char_at(Arguments a, Meter& meter) {
  const auto count = static_cast<std::int64_t>(character_count(a[0].as_text()));
  if (a[1].as_int() == count) return Value::borrowed("");
  return a[1].as_int() < 0 || a[1].as_int() > count
             ? out_of_range(a[1].as_int())
             : substring_between(a[0].as_text(), a[1].as_int(), a[1].as_int() + 1, meter);
}

// The character index of a byte offset; -1 for npos.
Value character_index(std::string_view text, std::size_t offset) {
  if (offset == std::string_view::npos) return Value::integer(-1);
  return Value::integer(static_cast<std::int64_t>(character_count(text.substr(0, offset))));
}

// Where nothing is to be found any more: cel-go before its fifth version of the extension says so, the specification
// refuses.
Value behind_end(std::int64_t from, std::size_t size, const Meter& meter) {
  const bool refused = meter.library() != Library::kubernetes && static_cast<std::size_t>(from) > size;
  return refused ? out_of_range(from) : Value::integer(-1);
}

Value index_from(std::string_view text, std::string_view part, std::int64_t from, Meter& meter) {
  meter.work(text.size());
  if (part.empty()) return Value::integer(from);
  if (from < 0) return out_of_range(from);
  const auto offsets = code_points(text);
  if (static_cast<std::size_t>(from) + 1 >= offsets.size()) return behind_end(from, offsets.size() - 1, meter);
  return character_index(text, text.find(part, offsets[static_cast<std::size_t>(from)]));
}

Value last_index_from(std::string_view text, std::string_view part, std::int64_t from, Meter& meter) {
  meter.work(text.size());
  if (part.empty()) return Value::integer(from);
  if (from < 0) return out_of_range(from);
  const auto offsets = code_points(text);
  if (static_cast<std::size_t>(from) + 1 >= offsets.size()) return behind_end(from, offsets.size() - 1, meter);
  return character_index(text, text.rfind(part, offsets[static_cast<std::size_t>(from)]));
}

Value string_index_of(Arguments a, Meter& meter) { return index_from(a[0].as_text(), a[1].as_text(), 0, meter); }
Value index_of_from(Arguments a, Meter& meter) {
  return index_from(a[0].as_text(), a[1].as_text(), a[2].as_int(), meter);
}
Value last_index_of(Arguments a, Meter& meter) {
  const auto count = static_cast<std::int64_t>(character_count(a[0].as_text()));
  if (a[1].as_text().empty()) return Value::integer(count);
  if (a[0].as_text().size() < a[1].as_text().size()) return Value::integer(-1);
  return last_index_from(a[0].as_text(), a[1].as_text(), count - 1, meter);
}
Value last_index_of_from(Arguments a, Meter& meter) {
  return last_index_from(a[0].as_text(), a[1].as_text(), a[2].as_int(), meter);
}

// As a literal in double quotes.
Value quote(Arguments a, Meter& meter) {
  static constexpr std::pair<char, std::string_view> kEscapes[] = {{'\a', "\\a"}, {'\b', "\\b"},  {'\f', "\\f"},
                                                                   {'\n', "\\n"}, {'\r', "\\r"},  {'\t', "\\t"},
                                                                   {'\v', "\\v"}, {'\\', "\\\\"}, {'"', "\\\""}};
  meter.work(a[0].as_text().size());
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

Value string_reverse(Arguments a, Meter& meter) {
  const std::string_view text = a[0].as_text();
  meter.work(text.size());
  const auto offsets = code_points(text);
  std::string out;
  for (std::size_t i = offsets.size() - 1; i > 0; --i) out += text.substr(offsets[i - 1], offsets[i] - offsets[i - 1]);
  return Value::string(std::move(out));
}

Value format(Arguments a, Meter& meter) {
  List items;
  a[1].each_item([&](const Value& item) {
    items.push_back(item);
    return true;
  });
  return format_text(a[0].as_text(), items, meter);
}

constexpr Set T = Set::strings;

constexpr Overload kStringOverloads[] = {
    {"contains", "contains_string", "string.(string) -> bool", string_contains},
    {"endsWith", "ends_with_string", "string.(string) -> bool", ends_with},
    {"startsWith", "starts_with_string", "string.(string) -> bool", starts_with},
    {"matches", "matches", "(string, string) -> bool", string_matches},
    {"matches", "matches_string", "string.(string) -> bool", string_matches},
    {"find", "string_find_string", "string.(string) -> string", string_find, Set::kubernetes},
    {"findAll", "string_find_all_string", "string.(string) -> list(string)", find_all, Set::kubernetes},
    {"findAll", "string_find_all_string_int", "string.(string, int) -> list(string)", find_all, Set::kubernetes},
    {"lowerAscii", "string_lower_ascii", "string.() -> string", change_case<'A', 'Z', 'a' - 'A'>, T},
    {"upperAscii", "string_upper_ascii", "string.() -> string", change_case<'a', 'z', 'A' - 'a'>, T},
    {"trim", "string_trim", "string.() -> string", trim, T},
    {"replace", "string_replace_string_string", "string.(string, string) -> string", replace_string, T},
    {"replace", "string_replace_string_string_int", "string.(string, string, int) -> string", replace_limited, T},
    {"split", "string_split_string", "string.(string) -> list(string)", split_string, T},
    {"split", "string_split_string_int", "string.(string, int) -> list(string)", split_limited, T},
    {"join", "list_join", "list(string).() -> string", join_strings, T},
    {"join", "list_join_string", "list(string).(string) -> string", join_separated, T},
    {"substring", "string_substring_int", "string.(int) -> string", substring, T},
    {"substring", "string_substring_int_int", "string.(int, int) -> string", substring_range, T},
    {"charAt", "string_char_at_int", "string.(int) -> string", char_at, T},
    {"indexOf", "string_index_of_string", "string.(string) -> int", string_index_of, T},
    {"indexOf", "string_index_of_string_int", "string.(string, int) -> int", index_of_from, T},
    {"lastIndexOf", "string_last_index_of_string", "string.(string) -> int", last_index_of, T},
    {"lastIndexOf", "string_last_index_of_string_int", "string.(string, int) -> int", last_index_of_from, T},
    {"strings.quote", "strings_quote", "(string) -> string", quote, T},
    {"format", "string_format", "string.(list(dyn)) -> string", format, T},
    {"reverse", "string_reverse", "string.() -> string", string_reverse, Set::strings_more},
};

}  // namespace

std::span<const Overload> string_table() { return kStringOverloads; }

}  // namespace sublet::patches::cel
