// to_yaml(): a value as sigs.k8s.io/yaml prints it, byte for byte: keys in go-yaml's order, its choice of quotes, long
// lines folded after column 80.
#include <algorithm>
#include <charconv>
#include <chrono>
#include <vector>

#include "schema/text_scan.h"
#include "sublet/schema/engine.h"
#include "sublet/schema/yaml_scalar.h"

namespace sublet::schema {

namespace {

constexpr std::size_t kWidth = 80;
constexpr std::size_t kSimpleKeyMax = 128;

/// One UTF-8 character of valid text.
struct Rune {
  char32_t value;
  std::size_t size;
};

Rune rune_at(std::string_view text, std::size_t i) {
  const auto lead = static_cast<unsigned char>(text[i]);
  const std::size_t size = lead < 0x80 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
  if (i + size > text.size()) return {0xfffd, 1};
  char32_t value = size == 1 ? lead : lead & (0xffu >> (size + 1));
  for (std::size_t k = 1; k < size; ++k) value = value << 6 | (static_cast<unsigned char>(text[i + k]) & 0x3fu);
  return {value, size};
}

struct RuneRange {
  char32_t first, last;
};

/// Signs, spaces and pictures beyond ASCII; what is in none of the ranges is taken for a letter, which is right for the
/// scripts that people write in (go-yaml asks the full Unicode tables, only to order keys).
constexpr RuneRange kNoLetters[] = {
    {0x80, 0xa9},     {0xab, 0xb4},     {0xb6, 0xb9},     {0xbb, 0xbf},     {0xd7, 0xd7},     {0xf7, 0xf7},
    {0x2000, 0x2070}, {0x2072, 0x207e}, {0x2080, 0x208f}, {0x20a0, 0x20ff}, {0x2190, 0x2bff}, {0x3000, 0x3004},
    {0x3007, 0x3030}, {0xe000, 0xf8ff}, {0xfe00, 0xfe6f}, {0xfeff, 0xff20}, {0xfff0, 0xffff}, {0x1f000, 0x1faff}};

bool is_letter(char32_t c) {
  if (c < 0x80) return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  return std::none_of(std::begin(kNoLetters), std::end(kNoLetters),
                      [c](const RuneRange& range) { return c >= range.first && c <= range.last; });
}

/// Where the first character differs; both texts are valid UTF-8.
std::size_t common_prefix(std::string_view a, std::string_view b) {
  std::size_t i = 0;
  while (i < a.size() && i < b.size() && a[i] == b[i]) ++i;
  while (i > 0 && i < a.size() && (static_cast<unsigned char>(a[i]) & 0xc0) == 0x80) --i;
  return i;
}

/// The run of digits at `i` as a number, after `start`.
std::pair<std::uint64_t, std::size_t> number_at(std::string_view text, std::size_t i, std::uint64_t start) {
  while (i < text.size() && is_digit(text[i])) start = start * 10 + static_cast<std::uint64_t>(text[i++] - '0');
  return {start, i};
}

/// go-yaml's order of keys: letters by code point, other characters before letters, numbers by value.
bool key_less(std::string_view a, std::string_view b) {
  const std::size_t i = common_prefix(a, b);
  if (i == a.size() || i == b.size()) return a.size() < b.size();
  const char32_t a_rune = rune_at(a, i).value, b_rune = rune_at(b, i).value;
  const bool a_letter = is_letter(a_rune), b_letter = is_letter(b_rune);
  if (a_letter && b_letter) return a_rune < b_rune;
  if (a_letter || b_letter) return b_letter;
  std::uint64_t start = 0;
  if (a[i] == '0' || b[i] == '0')
    for (std::size_t j = i; j > 0 && is_digit(a[j - 1]) && start == 0; --j) start = a[j - 1] != '0' ? 1 : 0;
  const auto [a_number, a_end] = number_at(a, i, start);
  const auto [b_number, b_end] = number_at(b, i, start);
  if (a_number != b_number) return static_cast<std::int64_t>(a_number) < static_cast<std::int64_t>(b_number);
  if (a_end != b_end) return a_end < b_end;
  return a_rune < b_rune;
}

/// [-+]?[0-9][0-9_]*(:[0-5]?[0-9])+(\.[0-9_]*)? : YAML 1.1's base 60, which other parsers would read as a number.
bool is_base60(std::string_view text) {
  if (!text.empty() && (text[0] == '-' || text[0] == '+')) text.remove_prefix(1);
  if (text.empty() || !is_digit(text[0])) return false;
  while (!text.empty() && (is_digit(text[0]) || text[0] == '_')) text.remove_prefix(1);
  std::size_t groups = 0;
  for (; !text.empty() && text[0] == ':'; ++groups) {
    text.remove_prefix(1);
    if (text.size() >= 2 && text[0] >= '0' && text[0] <= '5' && is_digit(text[1]))
      text.remove_prefix(2);
    else if (!text.empty() && is_digit(text[0]))
      text.remove_prefix(1);
    else
      return false;
  }
  if (groups == 0) return false;
  if (!text.empty() && text[0] == '.') {
    text.remove_prefix(1);
    while (!text.empty() && (is_digit(text[0]) || text[0] == '_')) text.remove_prefix(1);
  }
  return text.empty();
}

/// Takes one or two digits.
bool take_number(std::string_view& text, int low, int high, int& number) {
  if (text.empty() || !is_digit(text[0])) return false;
  number = text[0] - '0';
  text.remove_prefix(1);
  if (!text.empty() && is_digit(text[0])) {
    number = number * 10 + (text[0] - '0');
    text.remove_prefix(1);
  }
  return number >= low && number <= high;
}

bool take_char(std::string_view& text, char c) {
  if (text.empty() || text[0] != c) return false;
  text.remove_prefix(1);
  return true;
}

bool is_zone(std::string_view text) {
  if (text == "Z") return true;
  return text.size() == 6 && (text[0] == '+' || text[0] == '-') && is_digit(text[1]) && is_digit(text[2]) &&
         text[3] == ':' && is_digit(text[4]) && is_digit(text[5]);
}

/// "2006-1-2", "2006-1-2 15:4:5.9" or "2006-1-2T15:4:5.9Z": a YAML 1.1 timestamp, which must be quoted to stay text.
bool is_timestamp(std::string_view text) {
  if (text.size() < 8 || text[4] != '-' || !std::all_of(text.begin(), text.begin() + 4, is_digit)) return false;
  int year = 0, month = 0, day = 0, part = 0;
  std::from_chars(text.data(), text.data() + 4, year);
  text.remove_prefix(5);
  if (!take_number(text, 1, 12, month) || !take_char(text, '-') || !take_number(text, 1, 31, day)) return false;
  if (!(std::chrono::year(year) / month / day).ok()) return false;
  if (text.empty()) return true;
  const bool zoned = text[0] == 'T' || text[0] == 't';
  if (!zoned && text[0] != ' ') return false;
  text.remove_prefix(1);
  if (!zoned) text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  if (!take_number(text, 0, 23, part) || !take_char(text, ':') || !take_number(text, 0, 59, part) ||
      !take_char(text, ':') || !take_number(text, 0, 59, part))
    return false;
  if (text.size() >= 2 && (text[0] == '.' || text[0] == ',') && is_digit(text[1])) {
    text.remove_prefix(1);
    while (!text.empty() && is_digit(text[0])) text.remove_prefix(1);
  }
  return zoned ? is_zone(text) : text.empty();
}

bool is_break(char32_t c) { return c == '\n' || c == '\r' || c == 0x85 || c == 0x2028 || c == 0x2029; }

bool is_printable(char32_t c) {
  return c == '\n' || (c >= 0x20 && c <= 0x7e) || (c >= 0xa0 && c <= 0xd7ff) ||
         (c >= 0xe000 && c <= 0xfffd && c != 0xfeff);
}

enum class Style : std::uint8_t { plain, single_quoted, double_quoted, literal };

/// What the characters of a text allow.
struct Traits {
  bool multiline = false;
  bool plain = true;
  bool single_quoted = true;
  bool literal = true;
};

bool is_blank_or_break(std::string_view text, std::size_t i) {
  if (i >= text.size()) return true;
  const char32_t c = rune_at(text, i).value;
  return c == ' ' || c == '\t' || is_break(c);
}

bool starts_with_indicator(std::string_view text) {
  if (text.starts_with("---") || text.starts_with("...")) return true;
  constexpr std::string_view kAlways = "#,[]{}&*!|>'\"%@`";
  if (kAlways.find(text[0]) != std::string_view::npos) return true;
  const bool blank_follows = is_blank_or_break(text, 1);
  return (text[0] == '?' || text[0] == ':' || text[0] == '-') && blank_follows;
}

Traits analyze(std::string_view text) {
  Traits traits;
  if (text.empty()) {
    traits.literal = false;
    return traits;
  }
  bool indicators = starts_with_indicator(text);
  bool special = false, break_space = false, space_break = false, blank_ends = false;
  char32_t previous = 'x';
  for (std::size_t i = 0; i < text.size();) {
    const Rune rune = rune_at(text, i);
    const char32_t c = rune.value;
    const bool edge = i == 0 || i + rune.size == text.size();
    if (i > 0 && c == ':') indicators = indicators || is_blank_or_break(text, i + 1);
    if (i > 0 && c == '#') indicators = indicators || previous == ' ' || previous == '\t' || is_break(previous);
    // U+2028 and U+2029 break lines in YAML 1.1 and do not in 1.2: go-yaml writes them as they are, which only 1.1
    // reads back; escaped they are safe everywhere.
    special = special || !is_printable(c) || (c != '\n' && is_break(c));
    blank_ends = blank_ends || (edge && (c == ' ' || is_break(c)));
    traits.multiline = traits.multiline || is_break(c);
    space_break = space_break || (is_break(c) && previous == ' ');
    break_space = break_space || (c == ' ' && is_break(previous));
    previous = c;
    i += rune.size;
  }
  traits.plain = !(indicators || blank_ends || break_space || space_break || special || traits.multiline);
  traits.single_quoted = !(break_space || space_break || special);
  traits.literal = !(text.back() == ' ' || space_break || special);
  return traits;
}

class Writer {
 public:
  std::string run(const Value& value) {
    if (is_block(value))
      block(value, 0, false);
    else
      scalar(value, 2);
    end_line();
    return std::move(out_);
  }

 private:
  static bool is_block(const Value& value) { return (value.is_object() || value.is_array()) && value.size() > 0; }

  void end_line() {
    if (!out_.empty() && out_.back() != '\n') out_ += '\n';
  }

  void start_line(std::size_t indent) {
    end_line();
    out_.append(indent, ' ');
  }

  /// Characters since the line's start.
  std::size_t column() const {
    std::size_t count = 0;
    for (auto c = out_.rbegin(); c != out_.rend() && *c != '\n'; ++c)
      if ((static_cast<unsigned char>(*c) & 0xc0) != 0x80) ++count;
    return count;
  }

  /// A mapping or sequence with members. `inlined`: its first line goes on behind "- " or "? ".
  void block(const Value& value, std::size_t indent, bool inlined) {
    value.is_object() ? mapping(value, indent, inlined) : sequence(value, indent, inlined);
  }

  void sequence(const Value& list, std::size_t indent, bool inlined) {
    for (const Value item : list) {
      if (!inlined) start_line(indent);
      inlined = false;
      out_ += '-';
      after_indicator(item, indent);
    }
  }

  /// A value behind "-", "?" or ":" that opens a level of its own.
  void after_indicator(const Value& value, std::size_t indent) {
    out_ += ' ';
    if (is_block(value))
      block(value, indent + 2, true);
    else
      scalar(value, indent + 2);
  }

  void mapping(const Value& map, std::size_t indent, bool inlined) {
    std::vector<Value> members;
    members.reserve(map.size());
    for (const Value member : map) members.push_back(member);
    std::stable_sort(members.begin(), members.end(),
                     [](const Value& a, const Value& b) { return key_less(a.key(), b.key()); });
    for (const Value& member : members) {
      if (!inlined) start_line(indent);
      inlined = false;
      const std::string_view key = member.key();
      if (key.size() > kSimpleKeyMax || analyze(key).multiline) {
        out_ += "? ";
        text(key, indent + 2, false);
        start_line(indent);
        out_ += ':';
        after_indicator(member, indent);
        continue;
      }
      text(key, indent, true);
      out_ += ':';
      if (!is_block(member)) {
        out_ += ' ';
        scalar(member, indent + 2);
      } else {
        // Sequences stand at their key's own column.
        block(member, member.is_array() ? indent : indent + 2, false);
      }
    }
  }

  void scalar(const Value& value, std::size_t indent) {
    switch (value.kind()) {
      case NodeKind::object:
        out_ += "{}";
        return;
      case NodeKind::array:
        out_ += "[]";
        return;
      case NodeKind::string:
        return text(value.text(), indent, false);
      case NodeKind::floating:
        return floating(value.floating());
      default:
        return value.append_json(out_);
    }
  }

  /// By way of JSON, where 3.0 is 3.
  void floating(double value) {
    std::string json;
    append_json_float(json, value);
    const YamlScalar read = resolve_yaml_scalar(json);
    out_ += read.kind == YamlScalar::Kind::integer ? json : format_go_float(value, 64);
  }

  void text(std::string_view value, std::size_t indent, bool simple_key) {
    switch (choose_style(value, simple_key)) {
      case Style::plain:
        return folded(value, indent, simple_key, '\0');
      case Style::single_quoted:
        return folded(value, indent, simple_key, '\'');
      case Style::double_quoted:
        return double_quoted(value, indent, simple_key);
      case Style::literal:
        return literal(value, indent);
    }
  }

  static Style choose_style(std::string_view value, bool simple_key) {
    const Traits traits = analyze(value);
    // go-yaml leaves the key << plain, and would read it back as a merge.
    if (simple_key && (traits.multiline || value == "<<")) return Style::double_quoted;
    if (value.find('\n') != std::string_view::npos)
      return traits.literal && !simple_key ? Style::literal : Style::double_quoted;
    const bool means_text = resolve_yaml_scalar(value).kind == YamlScalar::Kind::string;
    if (!means_text || is_base60(value) || is_timestamp(value)) return Style::double_quoted;
    if (traits.plain) return Style::plain;
    return traits.single_quoted ? Style::single_quoted : Style::double_quoted;
  }

  /// Plain (`quote` 0) or single-quoted text; a single blank beyond the width becomes a line break.
  void folded(std::string_view value, std::size_t indent, bool simple_key, char quote) {
    if (quote) out_ += quote;
    std::size_t at = column();
    bool spaces = false;
    for (std::size_t i = 0; i < value.size(); ++i) {
      const char c = value[i];
      const bool inside = !quote || (i > 0 && i + 1 < value.size());
      const bool next_blank = i + 1 < value.size() && value[i + 1] == ' ';
      if (c == ' ' && !simple_key && !spaces && at > kWidth && inside && !next_blank) {
        start_line(indent);
        at = indent;
      } else {
        const std::size_t copies = quote && c == quote ? 2 : 1;
        out_.append(copies, c);
        if ((static_cast<unsigned char>(c) & 0xc0) != 0x80) at += copies;
      }
      spaces = c == ' ';
    }
    if (quote) out_ += quote;
  }

  void double_quoted(std::string_view value, std::size_t indent, bool simple_key) {
    out_ += '"';
    std::size_t at = column();
    bool spaces = false;
    for (std::size_t i = 0; i < value.size();) {
      const Rune rune = rune_at(value, i);
      const bool escaped = !is_printable(rune.value) || is_break(rune.value) || rune.value == '"' || rune.value == '\\';
      if (escaped) {
        const std::size_t before = out_.size();
        append_escape(rune.value);
        at += out_.size() - before;
      } else if (rune.value == ' ' && !simple_key && !spaces && at > kWidth && i > 0 && i + 1 < value.size()) {
        start_line(indent);
        at = indent;
        if (value[i + 1] == ' ') {
          out_ += '\\';
          ++at;
        }
      } else {
        out_.append(value, i, rune.size);
        ++at;
      }
      spaces = !escaped && rune.value == ' ';
      i += rune.size;
    }
    out_ += '"';
  }

  void append_escape(char32_t c) {
    struct Named {
      char32_t value;
      char letter;
    };
    static constexpr Named kNamed[] = {{0x00, '0'},  {0x07, 'a'}, {0x08, 'b'}, {0x09, 't'},   {0x0a, 'n'},
                                       {0x0b, 'v'},  {0x0c, 'f'}, {0x0d, 'r'}, {0x1b, 'e'},   {0x22, '"'},
                                       {0x5c, '\\'}, {0x85, 'N'}, {0xa0, '_'}, {0x2028, 'L'}, {0x2029, 'P'}};
    out_ += '\\';
    for (const Named& named : kNamed)
      if (named.value == c) {
        out_ += named.letter;
        return;
      }
    const int digits = c <= 0xff ? 2 : c <= 0xffff ? 4 : 8;
    out_ += digits == 2 ? 'x' : digits == 4 ? 'u' : 'U';
    for (int shift = (digits - 1) * 4; shift >= 0; shift -= 4) out_ += "0123456789ABCDEF"[c >> shift & 15];
  }

  void literal(std::string_view value, std::size_t indent) {
    out_ += '|';
    if (value.front() == ' ' || value.front() == '\n') out_ += '2';  // the width of one level
    if (value.back() != '\n')
      out_ += '-';
    else if (value.size() == 1 || value[value.size() - 2] == '\n')
      out_ += '+';
    out_ += '\n';
    bool fresh = true;
    for (const char c : value) {
      if (fresh && c != '\n') out_.append(indent, ' ');
      out_ += c;
      fresh = c == '\n';
    }
  }

  std::string out_;
};

}  // namespace

std::string to_yaml(const Value& value) { return Writer().run(value); }

}  // namespace sublet::schema
