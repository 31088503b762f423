#include "patches/cel/formatting.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>

#include "patches/cel/text.h"

namespace sublet::patches::cel {

namespace {

using Written = tl::expected<std::string, std::string>;

// %s, %.3f ...: what stands after a %.
struct Clause {
  char verb = 's';
  int precision = 6;
};

// Of lists in lists, and of texts in them: as literals.
Written literal_text(const Value& value, bool newer);

Written list_text(const Value& value, bool newer) {
  std::string out = "[";
  std::string problem;
  const char* separator = "";
  value.each_item([&](const Value& item) {
    const Written text = literal_text(item, newer);
    if (!text) problem = text.error();
    out += separator + text.value_or("");
    separator = ", ";
    return problem.empty();
  });
  if (!problem.empty()) return tl::unexpected(problem);
  return out + ']';
}

Written map_text(const Value& value, bool newer) {
  std::vector<std::pair<std::string, std::string>> entries;
  std::string problem;
  value.each_entry([&](const Value& key, const Value& entry) {
    const Written name = literal_text(key, newer);
    const Written text = literal_text(entry, newer);
    if (!name || !text) problem = !name ? name.error() : text.error();
    entries.emplace_back(name.value_or(""), text.value_or(""));
    return problem.empty();
  });
  if (!problem.empty()) return tl::unexpected(problem);
  std::sort(entries.begin(), entries.end());
  std::string out = "{";
  for (std::size_t i = 0; i < entries.size(); ++i)
    out += (i ? ", " : "") + entries[i].first + (newer ? ": " : ":") + entries[i].second;
  return out + '}';
}

std::string fixed(double value, int precision, char verb) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "Infinity" : "-Infinity";
  char buffer[1024];
  const char form[] = {'%', '.', '*', verb, '\0'};
  std::snprintf(buffer, sizeof buffer, form, precision, value);
  return buffer;
}

// As Go's printer for English writes numbers: 1,234.5 and 1.2345×10⁰³.
std::string for_readers(std::string text, double value, char verb) {
  static constexpr std::string_view kRaised[] = {"\u2070", "\u00b9", "\u00b2", "\u00b3", "\u2074",
                                                 "\u2075", "\u2076", "\u2077", "\u2078", "\u2079"};
  if (std::isinf(value)) return value < 0 ? "-\u221e" : "\u221e";
  if (std::isnan(value)) return text;
  if (verb == 'f') {
    const std::size_t first = text.starts_with('-') ? 1 : 0;
    for (std::size_t at = std::min(text.find('.'), text.size()); at > first + 3; at -= 3) text.insert(at - 3, 1, ',');
    return text;
  }
  const std::size_t e = text.find('e');
  std::string out = text.substr(0, e) + "\u00d710";
  if (text[e + 1] == '-') out += "\u207b";
  for (const char digit : text.substr(e + 2)) out += kRaised[digit - '0'];
  return out;
}

std::string string_problem(const Value& value) {
  return "string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, durations, and "
         "timestamps, was given " +
         std::string(kind_name(value.kind()));
}

// What %s writes.
Written plain_text(const Value& value, bool newer) {
  switch (value.kind()) {
    case Kind::list:
      return list_text(value, newer);
    case Kind::map:
      return map_text(value, newer);
    case Kind::null:
      return "null";
    case Kind::boolean:
      return value.as_bool() ? "true" : "false";
    case Kind::string:
    case Kind::bytes:
    case Kind::type:
      return std::string(value.as_text());
    case Kind::integer:
      return std::to_string(value.as_int());
    case Kind::uinteger:
      return std::to_string(value.as_uint());
    case Kind::floating:
      if (std::isinf(value.as_double()))
        return value.as_double() > 0 ? (newer ? "Infinity" : "+Inf") : (newer ? "-Infinity" : "-Inf");
      return newer ? double_text(value.as_double()) : go_double_text(value.as_double());
    case Kind::timestamp:
      return timestamp_text(value.as_timestamp());
    case Kind::duration:
      return duration_text(value.as_duration());
    case Kind::quantity:
      if (newer) return go_text(value);
      [[fallthrough]];
    default:
      return tl::unexpected(string_problem(value));
  }
}

Written literal_text(const Value& value, bool newer) {
  if (newer) return plain_text(value, true);
  switch (value.kind()) {
    case Kind::string:
      return go_quote(value.as_text());
    case Kind::bytes:
      return "b" + go_quote(value.as_text());
    case Kind::floating:
      if (!std::isfinite(value.as_double())) return go_quote(double_text(value.as_double()));
      return fixed(value.as_double(), 6, 'f');
    case Kind::timestamp:
      return "timestamp(" + go_quote(timestamp_text(value.as_timestamp())) + ")";
    case Kind::duration:
      return "duration(" + go_quote(duration_text(value.as_duration())) + ")";
    case Kind::list:
    case Kind::map:
    case Kind::null:
    case Kind::boolean:
    case Kind::integer:
    case Kind::uinteger:
    case Kind::type:
      return plain_text(value, false);
    default:
      return tl::unexpected("no formatting function for " + std::string(kind_name(value.kind())));
  }
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

struct VerbRule {
  char verb;
  std::string_view complaint;  // and the type's name
  std::vector<Kind> kinds;
};

const std::vector<VerbRule>& verb_rules() {
  static const std::vector<VerbRule> kRules = {
      {'d', "decimal clause can only be used on integers, was given ", {Kind::integer, Kind::uinteger}},
      {'f', "fixed-point clause can only be used on doubles, was given ", {Kind::floating, Kind::string}},
      {'e', "scientific clause can only be used on doubles, was given ", {Kind::floating, Kind::string}},
      {'b',
       "only integers and bools can be formatted as binary, was given ",
       {Kind::integer, Kind::uinteger, Kind::boolean}},
      {'x',
       "only integers, byte buffers, and strings can be formatted as hex, was given ",
       {Kind::integer, Kind::uinteger, Kind::string, Kind::bytes}},
      {'o', "octal clause can only be used on integers, was given ", {Kind::integer, Kind::uinteger}},
  };
  return kRules;
}

const VerbRule* rule_of(char verb) {
  for (const VerbRule& rule : verb_rules())
    if (rule.verb == (verb == 'X' ? 'x' : verb)) return &rule;
  return nullptr;
}

std::optional<double> as_double(const Value& value) {
  if (value.is(Kind::floating)) return value.as_double();
  const std::string_view text = value.as_text();
  if (text == "NaN") return std::nan("");
  if (text == "Infinity") return HUGE_VAL;
  if (text == "-Infinity") return -HUGE_VAL;
  return std::nullopt;
}

Written write_clause(const Clause& clause, Value value, bool newer) {
  if (clause.verb == 's') return plain_text(value, newer);
  const bool real = clause.verb == 'f' || clause.verb == 'e';
  if (newer && real && value.is(Kind::integer)) value = Value::floating(static_cast<double>(value.as_int()));
  if (newer && real && value.is(Kind::uinteger)) value = Value::floating(static_cast<double>(value.as_uint()));
  if (newer && clause.verb == 'd' && value.is(Kind::floating) && !std::isfinite(value.as_double()))
    return plain_text(value, true);
  const VerbRule& rule = *rule_of(clause.verb);
  const bool known = std::find(rule.kinds.begin(), rule.kinds.end(), value.kind()) != rule.kinds.end();
  if (!known || (real && !as_double(value)))
    return tl::unexpected(std::string(rule.complaint) + std::string(kind_name(value.kind())));
  if (real) {
    // In the older form %.3e is a width.
    const bool width = !newer && clause.verb == 'e';
    std::string text = fixed(*as_double(value), width ? 6 : std::min(clause.precision, 400), clause.verb);
    return newer ? text : for_readers(std::move(text), *as_double(value), clause.verb);
  }
  if (value.is(Kind::boolean)) return value.as_bool() ? "1" : "0";
  if (value.is(Kind::string) || value.is(Kind::bytes)) return hex_bytes(clause.verb, value.as_text());
  return clause.verb == 'd' ? plain_text(value, newer) : Written(digits(clause.verb, value));
}

// Reads the clause behind a % at `at`, and moves `at` behind it.
tl::expected<Clause, std::string> read_clause(std::string_view form, std::size_t& at) {
  constexpr std::string_view kWhere = "could not parse formatting clause: ";
  Clause clause;
  if (form[at] == '.') {
    const std::size_t start = ++at;
    while (at < form.size() && form[at] >= '0' && form[at] <= '9') ++at;
    if (at >= form.size())
      return tl::unexpected(std::string(kWhere) +
                            "error while parsing precision: could not find end of precision specifier");
    const std::string_view number = form.substr(start, at - start);
    if (number.empty())
      return tl::unexpected(std::string(kWhere) +
                            "error while parsing precision: error while converting precision to integer: strconv.Atoi: "
                            "parsing \"\": invalid syntax");
    clause.precision = number.size() > 6 ? 1'000'000 : std::atoi(std::string(number).c_str());
  }
  clause.verb = form[at++];
  if (clause.verb != 's' && !rule_of(clause.verb))
    return tl::unexpected(std::string(kWhere) + "unrecognized formatting clause \"" + clause.verb + "\"");
  return clause;
}

// Calls write(clause, index) for each clause; the text, or what is wrong.
using Writer = std::function<Written(const Clause&, std::size_t)>;
Written walk(std::string_view form, std::size_t items, const Writer& write) {
  std::string out;
  std::size_t next = 0;
  for (std::size_t at = 0; at < form.size();) {
    if (form[at] != '%') {
      out += form[at++];
      continue;
    }
    if (form.substr(at + 1).starts_with('%')) {
      out += '%';
      at += 2;
      continue;
    }
    if (next >= items) return tl::unexpected("index " + std::to_string(next) + " out of range");
    if (++at >= form.size()) return tl::unexpected(std::string("unexpected end of string"));
    const auto clause = read_clause(form, at);
    if (!clause) return tl::unexpected(clause.error());
    const Written text = write(*clause, next++);
    if (!text) return tl::unexpected("error during formatting: " + text.error());
    out += *text;
  }
  return out;
}

// Could the type be written by the verb?
bool may_fit(const Type& type, char verb) {
  if (type.kind == Kind::dyn) return true;
  if (verb != 's') {
    const auto& kinds = rule_of(verb)->kinds;
    return std::find(kinds.begin(), kinds.end(), type.kind) != kinds.end();
  }
  switch (type.kind) {
    case Kind::list:
    case Kind::map:
    case Kind::integer:
    case Kind::uinteger:
    case Kind::floating:
    case Kind::boolean:
    case Kind::string:
    case Kind::timestamp:
    case Kind::bytes:
    case Kind::duration:
    case Kind::type:
    case Kind::null:
      return true;
    default:
      return false;
  }
}

// The part of a literal that %s cannot write; null: none.
const Node* misfit(const Node& node, char verb) {
  if (!may_fit(*node.type, verb)) return &node;
  if (verb != 's' || (node.op != Op::list && node.op != Op::map)) return nullptr;
  for (const NodePtr& child : node.children)
    if (const Node* found = misfit(*child, verb)) return found;
  return nullptr;
}

std::string static_name(const Type& type) {
  return type.kind == Kind::object ? type.name : std::string(kind_name(type.kind));
}

}  // namespace

Value format_text(std::string_view form, const List& items, Meter& meter) {
  // cel-go has two forms; Kubernetes is at the older one.
  const bool newer = meter.library() != Library::kubernetes;
  meter.work(form.size() + items.size());
  const Written text = walk(form, items.size(), [&](const Clause& clause, std::size_t index) {
    Written written = write_clause(clause, items[index], newer);
    if (written) meter.work(written->size());
    return meter.exhausted() ? Written(std::string()) : written;
  });
  return text ? Value::string(*text) : Value::error(text.error());
}

std::vector<Problem> check_format(const Node& call) {
  const Node& form = *call.children[0];
  const Node& items = *call.children[1];
  std::size_t seen = 0;
  int offset = call.offset;
  const Written text =
      walk(form.literal.as_text(), items.children.size(), [&](const Clause& clause, std::size_t index) {
        seen = index + 1;
        const Node* bad = misfit(*items.children[index], clause.verb);
        if (!bad) return Written(std::string());
        offset = bad->offset;
        const std::string name = static_name(*bad->type);
        if (clause.verb != 's') return Written(tl::unexpected(std::string(rule_of(clause.verb)->complaint) + name));
        const std::string complaint = string_problem(Value());
        return Written(tl::unexpected(complaint.substr(0, complaint.rfind(' ') + 1) + name));
      });
  if (!text) return {{offset, text.error()}};
  if (items.children.size() <= seen) return {};
  return {{call.offset, "too many arguments supplied to string.format (expected " + std::to_string(seen) + ", got " +
                            std::to_string(items.children.size()) + ")"}};
}

}  // namespace sublet::patches::cel
