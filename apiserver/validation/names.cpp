#include "apiserver/validation/names.h"

#include <arpa/inet.h>

#include <algorithm>
#include <cstring>

#include "sublet/base/text.h"

namespace sublet::apiserver {
namespace {

constexpr std::size_t kLabelMax = 63;
constexpr std::size_t kSubdomainMax = 253;
constexpr std::size_t kAnnotationsSizeMax = 256 * 1024;

// The expressions are part of the messages; the matching below is by hand, because names are checked on every write.
constexpr std::string_view kDns1123Label = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";
constexpr std::string_view kDns1123Subdomain = "[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*";
constexpr std::string_view kDns1035Label = "[a-z]([-a-z0-9]*[a-z0-9])?";
constexpr std::string_view kQualifiedName = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]";
constexpr std::string_view kLabelValue = "(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?";

bool is_lower(char c) { return c >= 'a' && c <= 'z'; }
bool is_lower_alnum(char c) { return is_lower(c) || is_digit(c); }

template <class Accepts>
bool consists_of(std::string_view text, Accepts accepts) {
  return std::all_of(text.begin(), text.end(), accepts);
}

bool matches_label(std::string_view value) {
  return !value.empty() && is_lower_alnum(value.front()) && is_lower_alnum(value.back()) &&
         consists_of(value, [](char c) { return is_lower_alnum(c) || c == '-'; });
}

bool matches_subdomain(std::string_view value) {
  while (true) {
    auto dot = value.find('.');
    if (!matches_label(value.substr(0, dot))) return false;
    if (dot == std::string_view::npos) return true;
    value.remove_prefix(dot + 1);
  }
}

bool matches_name_part(std::string_view value) {
  return !value.empty() && is_alnum(value.front()) && is_alnum(value.back()) &&
         consists_of(value, [](char c) { return is_alnum(c) || c == '-' || c == '_' || c == '.'; });
}

std::string too_long_message(std::size_t length) {
  return "must be no more than " + std::to_string(length) + " characters";
}

std::string pattern_message(std::string_view what, std::string_view pattern,
                            std::initializer_list<std::string_view> examples) {
  std::string message(what);
  message += " (e.g. ";
  bool first = true;
  for (auto example : examples) {
    if (!first) message += " or ";
    first = false;
    message.append("'").append(example).append("', ");
  }
  return message.append("regex used for validation is '").append(pattern).append("')");
}

/// Label keys and values are counted in bytes, all else in characters: two packages of upstream's.
std::string too_many_bytes(std::size_t max) { return "must be no more than " + std::to_string(max) + " bytes"; }

void forbid_parent_path(Messages& messages, std::string_view value) {
  if (value == ".")
    messages.push_back("must not be '.'");
  else if (value == "..")
    messages.push_back("must not be '..'");
  else if (value.starts_with(".."))
    messages.push_back("must not start with '..'");
}

constexpr std::string_view kNamePartRule =
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character";

std::string name_part_message(std::string_view lead) {
  return std::string(lead) + pattern_message(kNamePartRule, kQualifiedName, {"MyName", "my.name", "123-abc"});
}

}  // namespace

Messages dns1123_label(std::string_view value) {
  Messages messages;
  if (value.size() > kLabelMax) messages.push_back(too_long_message(kLabelMax));
  if (matches_label(value)) return messages;
  if (matches_subdomain(value))
    messages.push_back("must not contain dots");
  else
    messages.push_back(
        pattern_message("a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and "
                        "must start and end with an alphanumeric character",
                        kDns1123Label, {"my-name", "123-abc"}));
  return messages;
}

Messages dns1123_subdomain(std::string_view value) {
  Messages messages;
  if (value.size() > kSubdomainMax) messages.push_back(too_long_message(kSubdomainMax));
  if (!matches_subdomain(value))
    messages.push_back(
        pattern_message("a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or "
                        "'.', and must start and end with an alphanumeric character",
                        kDns1123Subdomain, {"example.com"}));
  return messages;
}

Messages dns1123_subdomain_with_underscores(std::string_view value) {
  std::string plain(value);
  // An underscore may stand in front of a label and wherever a dash may.
  for (std::size_t i = 0; i < plain.size(); ++i)
    if (plain[i] == '_') plain[i] = (i == 0 || plain[i - 1] == '.') ? 'a' : '-';
  Messages messages;
  if (value.size() > kSubdomainMax) messages.push_back(too_long_message(kSubdomainMax));
  if (!matches_subdomain(plain))
    messages.push_back(pattern_message(
        "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '_', '-' or "
        "'.', and must start and end with an alphanumeric character",
        "_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?(\\._?[a-z0-9]([-_a-z0-9]*[a-z0-9])?)*", {"example.com"}));
  return messages;
}

Messages dns1035_label(std::string_view value) {
  Messages messages;
  if (value.size() > kLabelMax) messages.push_back(too_long_message(kLabelMax));
  if (!matches_label(value) || !is_lower(value.front()))
    messages.push_back(
        pattern_message("a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an "
                        "alphabetic character, and end with an alphanumeric character",
                        kDns1035Label, {"my-name", "abc-123"}));
  return messages;
}

Messages wildcard_dns1123_subdomain(std::string_view value) {
  if (value.starts_with("*.") && value.size() <= kSubdomainMax && matches_subdomain(value.substr(2))) return {};
  return {
      pattern_message("a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which "
                      "must consist of lower case alphanumeric characters, '-' or '.' and end with an alphanumeric "
                      "character",
                      "\\*\\." + std::string(kDns1123Subdomain), {"*.example.com"})};
}

Messages path_segment_name(std::string_view value) {
  if (value == "." || value == "..") return {"may not be '" + std::string(value) + "'"};
  Messages messages;
  for (char bad : {'/', '%'})
    if (value.find(bad) != std::string_view::npos) messages.push_back(std::string("may not contain '") + bad + "'");
  return messages;
}

Messages qualified_name(std::string_view value) {
  Messages messages;
  std::string_view name = value;
  auto slash = value.find('/');
  if (slash != std::string_view::npos) {
    if (value.find('/', slash + 1) != std::string_view::npos)
      return {name_part_message("a valid label key ") +
              " with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"};
    auto prefix = value.substr(0, slash);
    name = value.substr(slash + 1);
    if (prefix.empty()) messages.push_back("prefix part must be non-empty");
    if (!prefix.empty())
      for (auto& message : dns1123_subdomain(prefix))
        messages.push_back("prefix part " +
                           (message == too_long_message(kSubdomainMax) ? too_many_bytes(kSubdomainMax) : message));
  }
  if (name.empty())
    messages.push_back("name part must be non-empty");
  else if (name.size() > kLabelMax)
    messages.push_back("name part " + too_many_bytes(kLabelMax));
  if (!matches_name_part(name)) messages.push_back(name_part_message("name part "));
  return messages;
}

Messages label_value(std::string_view value) {
  Messages messages;
  if (value.size() > kLabelMax) messages.push_back(too_many_bytes(kLabelMax));
  if (!value.empty() && !matches_name_part(value))
    messages.push_back(
        pattern_message("a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or "
                        "'.', and must start and end with an alphanumeric character",
                        kLabelValue, {"MyValue", "my_value", "12345"}));
  return messages;
}

Messages config_map_key(std::string_view value) {
  Messages messages;
  if (value.size() > kSubdomainMax) messages.push_back(too_long_message(kSubdomainMax));
  if (value.empty() || !consists_of(value, [](char c) { return is_alnum(c) || c == '-' || c == '_' || c == '.'; }))
    messages.push_back(pattern_message("a valid config key must consist of alphanumeric characters, '-', '_' or '.'",
                                       "[-._a-zA-Z0-9]+", {"key.name", "KEY_NAME", "key-name"}));
  forbid_parent_path(messages, value);
  return messages;
}

Messages env_var_name(std::string_view value) {
  if (value.empty()) return {"environment variable name must be non-empty"};
  if (consists_of(value, [](char c) { return c >= 0x20 && c < 0x7f && c != '='; })) return {};
  return {"a valid environment variable name must consist only of printable ASCII characters other than '='"};
}

Messages c_identifier(std::string_view value) {
  if (!value.empty() && !is_digit(value.front()) && consists_of(value, [](char c) { return is_alnum(c) || c == '_'; }))
    return {};
  return {
      pattern_message("a valid C identifier must start with alphabetic character or '_', followed by a string of "
                      "alphanumeric characters or '_'",
                      "[A-Za-z_][A-Za-z0-9_]*", {"my_name", "MY_NAME", "MyName"})};
}

Messages in_range(std::int64_t value, std::int64_t low, std::int64_t high) {
  if (value >= low && value <= high) return {};
  return {"must be between " + std::to_string(low) + " and " + std::to_string(high) + ", inclusive"};
}

Messages port_number(std::int64_t value) { return in_range(value, 1, 65535); }

void validate_protocol(Causes& causes, const std::string& path, std::string_view protocol) {
  constexpr std::string_view kProtocols[] = {"SCTP", "TCP", "UDP"};
  if (std::find(std::begin(kProtocols), std::end(kProtocols), protocol) == std::end(kProtocols))
    not_supported(causes, path, protocol, kProtocols);
}

Messages port_name(std::string_view value) {
  Messages messages;
  if (value.size() > 15) messages.push_back(too_long_message(15));
  if (value.empty() || !consists_of(value, [](char c) { return is_lower_alnum(c) || c == '-'; }))
    messages.push_back("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)");
  if (std::none_of(value.begin(), value.end(), is_lower)) messages.push_back("must contain at least one letter (a-z)");
  if (value.find("--") != std::string_view::npos) messages.push_back("must not contain consecutive hyphens");
  if (value.starts_with('-') || value.ends_with('-')) messages.push_back("must not begin or end with a hyphen");
  return messages;
}

Messages http_header_name(std::string_view value) {
  if (!value.empty() && consists_of(value, [](char c) { return is_alnum(c) || c == '-'; })) return {};
  return {pattern_message("a valid HTTP header must consist of alphanumeric characters or '-'", "[-A-Za-z0-9]+",
                          {"X-Header-Name"})};
}

Messages percent(std::string_view value) {
  if (value.size() > 1 && value.ends_with('%') && consists_of(value.substr(0, value.size() - 1), is_digit)) return {};
  return {pattern_message("a valid percent string must be a numeric string followed by an ending '%'", "[0-9]+%",
                          {"1%", "93%"})};
}

std::optional<IpAddress> parse_ip(std::string_view text) {
  char buffer[INET6_ADDRSTRLEN + 1] = {};
  if (text.empty() || text.size() > INET6_ADDRSTRLEN) return std::nullopt;
  std::memcpy(buffer, text.data(), text.size());
  IpAddress address;
  if (inet_pton(AF_INET, buffer, address.bytes + 12) == 1) {
    address.bytes[10] = address.bytes[11] = 0xff;
    return address;
  }
  if (inet_pton(AF_INET6, buffer, address.bytes) != 1) return std::nullopt;
  address.v6 = true;
  return address;
}

Messages ip_address(std::string_view value) {
  if (parse_ip(value)) return {};
  // Upstream once took leading zeros and now says of them what they are.
  std::string plain;
  for (std::size_t i = 0; i < value.size(); ++i) {
    const bool first = i == 0 || value[i - 1] == '.' || (plain.empty() || plain.back() == '.');
    const bool more = i + 1 < value.size() && value[i + 1] >= '0' && value[i + 1] <= '9';
    if (!(first && value[i] == '0' && more)) plain += value[i];
  }
  if (plain.size() != value.size() && value.find(':') == std::string_view::npos && parse_ip(plain))
    return {"must not have leading 0s"};
  return {"must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"};
}

std::string ip_text(const IpAddress& address) {
  char buffer[INET6_ADDRSTRLEN] = {};
  const void* bytes = address.v6 ? address.bytes : address.bytes + 12;
  inet_ntop(address.v6 ? AF_INET6 : AF_INET, bytes, buffer, sizeof(buffer));
  return buffer;
}

bool is_sysctl_name(std::string_view value) {
  std::string plain(value);
  // Inside a segment an underscore is as good as a dash; at its ends neither will do.
  for (auto& c : plain) c = c == '/' ? '.' : c == '_' ? '-' : c;
  return value.size() <= kSubdomainMax && matches_subdomain(plain);
}

Messages canonical_ip(std::string_view value) {
  auto address = parse_ip(value);
  if (!address) return ip_address(value);
  auto text = ip_text(*address);
  if (text == value) return {};
  return {"must be in canonical form (\"" + text + "\")"};
}

void validate_labels(Causes& causes, const std::string& path, const schema::Value& labels) {
  for (auto label : labels) {
    invalid_each(causes, path, label.key(), qualified_name(label.key()));
    invalid_each(causes, path, label.text(), label_value(label.text()));
  }
}

void validate_annotations(Causes& causes, const std::string& path, const schema::Value& annotations) {
  std::size_t total = 0;
  for (auto annotation : annotations) {
    invalid_each(causes, path, annotation.key(), qualified_name(to_lower(annotation.key())));
    total += annotation.key().size() + annotation.text().size();
  }
  if (total > kAnnotationsSizeMax) too_long(causes, path, static_cast<int>(kAnnotationsSizeMax));
}

void validate_label_selector(Causes& causes, const std::string& path, const schema::Value& selector) {
  validate_labels(causes, child(path, "matchLabels"), selector["matchLabels"]);
  std::size_t index = 0;
  for (auto expression : selector["matchExpressions"]) {
    std::string at = item(child(path, "matchExpressions"), index++);
    auto op = expression["operator"].text();
    bool has_values = !expression["values"].empty();
    if ((op == "In" || op == "NotIn") && !has_values)
      required(causes, child(at, "values"), "must be specified when `operator` is 'In' or 'NotIn'");
    else if ((op == "Exists" || op == "DoesNotExist") && has_values)
      forbidden(causes, child(at, "values"), "may not be specified when `operator` is 'Exists' or 'DoesNotExist'");
    else if (op != "In" && op != "NotIn" && op != "Exists" && op != "DoesNotExist")
      invalid(causes, child(at, "operator"), op, "not a valid selector operator");
    invalid_each(causes, child(at, "key"), expression["key"].text(), qualified_name(expression["key"].text()));
    std::size_t value_index = 0;
    for (auto value : expression["values"])
      invalid_each(causes, item(child(at, "values"), value_index++), value.text(), label_value(value.text()));
  }
}

}  // namespace sublet::apiserver
