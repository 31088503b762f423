// Kubernetes' named formats, with the complaints of k8s.io/apimachinery.
#include <re2/re2.h>

#include <algorithm>

#include "patches/cel/functions.h"
#include "patches/cel/named_format.h"
#include "patches/cel/text.h"
#include "patches/cel/url.h"
#include "sublet/schema/engine.h"

namespace sublet::patches::cel {

namespace {

using Complaints = std::vector<std::string>;

#define SUBLET_LABEL "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
#define SUBLET_NAME "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
constexpr const char* kLabel = SUBLET_LABEL;
constexpr const char* kSubdomain = SUBLET_LABEL "(\\." SUBLET_LABEL ")*";
constexpr const char* kLabel1035 = "[a-z]([-a-z0-9]*[a-z0-9])?";
constexpr const char* kName = SUBLET_NAME;
constexpr const char* kLabelValue = "(" SUBLET_NAME ")?";
#undef SUBLET_LABEL
#undef SUBLET_NAME

bool matches_fully(std::string_view text, const RE2& pattern) {
  return RE2::FullMatch(re2::StringPiece(text.data(), text.size()), pattern);
}
bool matches_subdomain(std::string_view text) {
  static const RE2 kPattern(kSubdomain);
  return matches_fully(text, kPattern);
}

std::string pattern_complaint(std::string_view what, std::string_view pattern,
                              std::initializer_list<std::string_view> examples) {
  std::string text = std::string(what) + " (e.g. ";
  const char* between = "";
  for (const std::string_view example : examples) {
    text += between;
    text += "'" + std::string(example) + "', ";
    between = " or ";
  }
  return text + "regex used for validation is '" + std::string(pattern) + "')";
}

std::string too_long(std::size_t most, const char* unit) {
  return "must be no more than " + std::to_string(most) + " " + unit;
}

std::string without_trailing_dash(std::string_view text) {
  if (text.size() > 1 && text.ends_with('-')) return std::string(text.substr(0, text.size() - 2)) + 'a';
  return std::string(text);
}

Complaints dns_label(std::string_view text) {
  static const RE2 kPattern(kLabel);
  Complaints all;
  if (text.size() > 63) all.push_back(too_long(63, "characters"));
  if (matches_fully(text, kPattern)) return all;
  if (matches_subdomain(text))
    all.emplace_back("must not contain dots");
  else
    all.push_back(pattern_complaint(
        "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end "
        "with an alphanumeric character",
        kLabel, {"my-name", "123-abc"}));
  return all;
}

Complaints subdomain(std::string_view text, const char* unit) {
  Complaints all;
  if (text.size() > 253) all.push_back(too_long(253, unit));
  if (!matches_subdomain(text))
    all.push_back(pattern_complaint(
        "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start "
        "and end with an alphanumeric character",
        kSubdomain, {"example.com"}));
  return all;
}
Complaints dns_subdomain(std::string_view text) { return subdomain(text, "characters"); }

Complaints dns_1035_label(std::string_view text) {
  static const RE2 kPattern(kLabel1035);
  Complaints all;
  if (text.size() > 63) all.push_back(too_long(63, "characters"));
  if (!matches_fully(text, kPattern))
    all.push_back(pattern_complaint(
        "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic "
        "character, and end with an alphanumeric character",
        kLabel1035, {"my-name", "abc-123"}));
  return all;
}

template <Complaints (*Whole)(std::string_view)>
Complaints prefix_of(std::string_view text) {
  return Whole(without_trailing_dash(text));
}

Complaints qualified_name(std::string_view text) {
  static const RE2 kPattern(kName);
  const std::string complaint = pattern_complaint(
      "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character",
      kName, {"MyName", "my.name", "123-abc"});
  Complaints all;
  const auto slashes = std::count(text.begin(), text.end(), '/');
  if (slashes > 1)
    return {"a valid label key " + complaint +
            " with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"};
  std::string_view name = text;
  if (slashes == 1) {
    const std::string_view prefix = text.substr(0, text.find('/'));
    name = text.substr(prefix.size() + 1);
    if (prefix.empty()) all.emplace_back("prefix part must be non-empty");
    if (!prefix.empty())
      for (const std::string& part : subdomain(prefix, "bytes")) all.push_back("prefix part " + part);
  }
  if (name.empty())
    all.emplace_back("name part must be non-empty");
  else if (name.size() > 63)
    all.push_back("name part " + too_long(63, "bytes"));
  if (!matches_fully(name, kPattern)) all.push_back("name part " + complaint);
  return all;
}

Complaints label_value(std::string_view text) {
  static const RE2 kPattern(kLabelValue);
  Complaints all;
  if (text.size() > 63) all.push_back(too_long(63, "bytes"));
  if (!matches_fully(text, kPattern))
    all.push_back(pattern_complaint(
        "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start "
        "and end with an alphanumeric character",
        kLabelValue, {"MyValue", "my_value", "12345"}));
  return all;
}

Complaints uri_format(std::string_view text) {
  std::string problem;
  if (Url::parse(text, problem)) return {};
  return {"parse " + go_quote(text) + ": " + problem};
}

Complaints uuid_format(std::string_view text) {
  static const RE2 kPattern("(?i)[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}");
  if (matches_fully(text, kPattern)) return {};
  return {"does not match the UUID format"};
}

Complaints byte_format(std::string_view text) {
  if (!text.empty() && schema::base64_decode(text)) return {};
  return {"invalid base64"};
}

Complaints date_format(std::string_view text) {
  if (text.size() == 10 && parse_timestamp(std::string(text) + "T00:00:00Z")) return {};
  return {"invalid date"};
}

Complaints datetime_format(std::string_view text) {
  std::string upper(text);
  std::transform(upper.begin(), upper.end(), upper.begin(),
                 [](char c) { return c == 't' || c == 'z' ? static_cast<char>(c & ~0x20) : c; });
  const bool two_digits = upper.size() > 13 && upper[13] == ':';  // of the hour: Go's time.Parse alone takes one, too
  if (two_digits && parse_timestamp(upper)) return {};
  return {"invalid datetime"};
}

struct FormatFacts {
  std::string_view name;
  std::uint64_t pattern_size;
  Complaints (*complain)(std::string_view);
};

constexpr FormatFacts kNamedFormats[] = {
    {"dns1123Label", 30, dns_label},
    {"dns1123Subdomain", 60, dns_subdomain},
    {"dns1035Label", 30, dns_1035_label},
    {"qualifiedName", 60, qualified_name},
    {"dns1123LabelPrefix", 30, prefix_of<dns_label>},
    {"dns1123SubdomainPrefix", 60, prefix_of<dns_subdomain>},
    {"dns1035LabelPrefix", 30, prefix_of<dns_1035_label>},
    {"labelValue", 40, label_value},
    {"uri", 1103, uri_format},
    {"uuid", 70, uuid_format},
    {"byte", 84, byte_format},
    {"date", 71, date_format},
    {"datetime", 71, datetime_format},
};

class KnownFormat final : public NamedFormat {
 public:
  explicit KnownFormat(const FormatFacts& known) : known_(known) {}
  bool equals(const Opaque& other) const override { return &known_ == &static_cast<const KnownFormat&>(other).known_; }
  std::string text() const override { return std::string(known_.name); }
  std::uint64_t pattern_size() const override { return known_.pattern_size; }
  Complaints complain(std::string_view text) const { return known_.complain(text); }

 private:
  const FormatFacts& known_;
};

template <std::size_t Index>
Value constant(Arguments, Meter&) {
  return Value::opaque(std::make_shared<const KnownFormat>(kNamedFormats[Index]));
}

Value format_named(Arguments a, Meter&) {
  for (const FormatFacts& known : kNamedFormats)
    if (known.name == a[0].as_text())
      return Value::optional_of(Value::opaque(std::make_shared<const KnownFormat>(known)));
  return Value::optional_none();
}

Value validate_format(Arguments a, Meter& meter) {
  meter.work(a[1].as_text().size() * 4);
  List items;
  for (std::string& text : static_cast<const KnownFormat&>(a[0].as_opaque()).complain(a[1].as_text()))
    items.push_back(Value::string(std::move(text)));
  return items.empty() ? Value::optional_none() : Value::optional_of(Value::list(std::move(items)));
}

constexpr Set F = Set::format;

constexpr Overload kFormatOverloads[] = {
    {"format.named", "format-named", "(string) -> optional(format)", format_named, F},
    {"validate", "format-validate", "format.(string) -> optional(list(string))", validate_format, F},
    {"format.dns1123Label", "format.dns1123Label", "() -> format", constant<0>, F},
    {"format.dns1123Subdomain", "format.dns1123Subdomain", "() -> format", constant<1>, F},
    {"format.dns1035Label", "format.dns1035Label", "() -> format", constant<2>, F},
    {"format.qualifiedName", "format.qualifiedName", "() -> format", constant<3>, F},
    {"format.dns1123LabelPrefix", "format.dns1123LabelPrefix", "() -> format", constant<4>, F},
    {"format.dns1123SubdomainPrefix", "format.dns1123SubdomainPrefix", "() -> format", constant<5>, F},
    {"format.dns1035LabelPrefix", "format.dns1035LabelPrefix", "() -> format", constant<6>, F},
    {"format.labelValue", "format.labelValue", "() -> format", constant<7>, F},
    {"format.uri", "format.uri", "() -> format", constant<8>, F},
    {"format.uuid", "format.uuid", "() -> format", constant<9>, F},
    {"format.byte", "format.byte", "() -> format", constant<10>, F},
    {"format.date", "format.date", "() -> format", constant<11>, F},
    {"format.datetime", "format.datetime", "() -> format", constant<12>, F},
};

}  // namespace

std::span<const Overload> format_table() { return kFormatOverloads; }

}  // namespace sublet::patches::cel
