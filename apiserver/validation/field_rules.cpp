#include "apiserver/validation/field_rules.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <optional>
#include <set>

#include "apiserver/validation/resources.h"

namespace sublet::apiserver {
namespace {

using schema::Value;

void check_rule(Causes& causes, const std::string& at, const Value& object, std::string_view path,
                const FieldRule& rule) {
  const auto dot = path.find('.');
  auto segment = path.substr(0, dot);
  const bool each = segment.ends_with("[]"), entries = segment.ends_with("{}");
  if (each || entries) segment.remove_suffix(2);
  const auto field = child(at, segment);
  const auto value = object[segment];
  const bool last = dot == std::string_view::npos;
  const auto descend = [&](const std::string& where, const Value& inner) {
    if (last)
      rule.check(causes, where, inner, rule);
    else if (inner.is_object())
      check_rule(causes, where, inner, path.substr(dot + 1), rule);
  };
  if (!each && !entries) return descend(field, value);
  std::size_t index = 0;
  for (auto inner : value) descend(each ? item(field, index++) : keyed(field, inner.key()), inner);
}

bool is_missing(const Value& value) { return value.missing() || value.is_null(); }

/// An address and how many of its bits are the network's.
struct ParsedNetwork {
  IpAddress address = {};
  int bits = 0;
  int width() const { return address.v6 ? 128 : 32; }
};

// Without what inet_pton refuses and upstream's strict rules refuse too: leading zeros.
std::optional<ParsedNetwork> parse_network(std::string_view text) {
  const auto slash = text.find('/');
  if (slash == std::string_view::npos) return std::nullopt;
  ParsedNetwork network;
  const auto address = parse_ip(text.substr(0, slash));
  const auto digits = text.substr(slash + 1);
  const auto [end, problem] = std::from_chars(digits.data(), digits.data() + digits.size(), network.bits);
  if (!address || problem != std::errc() || end != digits.data() + digits.size() || digits.front() == '-')
    return std::nullopt;
  network.address = *address;
  if (network.bits > network.width()) return std::nullopt;
  return network;
}

IpAddress masked(const ParsedNetwork& network) {
  IpAddress address = network.address;
  for (int bit = network.bits + (address.v6 ? 0 : 96); bit < 128; ++bit)
    address.bytes[bit / 8] = static_cast<unsigned char>(address.bytes[bit / 8] & ~(0x80 >> (bit % 8)));
  return address;
}

bool is_written_mapped(std::string_view text, const ParsedNetwork& network) {
  static constexpr unsigned char kPrefix[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
  return text.find(':') != std::string_view::npos && std::memcmp(network.address.bytes, kPrefix, sizeof(kPrefix)) == 0;
}

/// "01.2.3.4/08" as the sloppy parser of old took it: with the zeros gone; "" when there are none to take away.
std::string without_leading_zeros(std::string_view text) {
  if (text.find(':') != std::string_view::npos) return "";
  std::string plain;
  bool changed = false, fresh = true;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool more_digits = i + 1 < text.size() && text[i + 1] >= '0' && text[i + 1] <= '9';
    if (fresh && text[i] == '0' && more_digits) {
      changed = true;
      continue;
    }
    fresh = text[i] == '.' || text[i] == '/';
    plain += text[i];
  }
  return changed ? plain : "";
}

Messages condition_reason(std::string_view reason) {
  const auto is_letter = [](char c) { return (c | 32) >= 'a' && (c | 32) <= 'z'; };
  const auto is_word = [&](char c) { return is_letter(c) || (c >= '0' && c <= '9') || c == '_'; };
  const bool fits = is_letter(reason.front()) && is_word(reason.back()) &&
                    std::ranges::all_of(reason, [&](char c) { return is_word(c) || c == ',' || c == ':'; });
  if (fits) return {};
  return {
      "a condition reason must start with alphabetic character, optionally followed by a string of alphanumeric "
      "characters or '_,:', and must end with an alphanumeric character or '_' (e.g. 'my_name',  or 'MY_NAME',  or "
      "'MyName',  or 'ReasonA,ReasonB',  or 'ReasonA:ReasonB', regex used for validation is "
      "'[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?')"};
}

}  // namespace

void check_rules(Causes& causes, const std::string& at, const Value& object, std::span<const FieldRule> rules) {
  for (const auto& rule : rules) check_rule(causes, at, object, rule.path, rule);
}

void check_kept(Causes& causes, const Value& object, const Value& old, std::span<const std::string_view> paths) {
  for (const auto path : paths) immutable(causes, std::string(path), object.path(path), old.path(path));
}

void must_be_set(Causes& causes, const std::string& field, const Value& value, const FieldRule& rule) {
  if (is_missing(value) || (value.is_string() && value.text().empty())) required(causes, field, rule.words);
}

void must_have_items(Causes& causes, const std::string& field, const Value& value, const FieldRule& rule) {
  if (value.empty()) required(causes, field, rule.words);
}

void must_be_named(Causes& causes, const std::string& field, const Value& value, const FieldRule& rule) {
  if (value.text().empty())
    required(causes, field, rule.words);
  else
    invalid_each(causes, field, value.text(), rule.names(value.text()));
}

void is_named(Causes& causes, const std::string& field, const Value& value, const FieldRule& rule) {
  if (!value.text().empty()) invalid_each(causes, field, value.text(), rule.names(value.text()));
}

void is_named_even_empty(Causes& causes, const std::string& field, const Value& value, const FieldRule& rule) {
  if (!is_missing(value)) invalid_each(causes, field, value.text(), rule.names(value.text()));
}

void is_nonnegative(Causes& causes, const std::string& field, const Value& value, const FieldRule&) {
  nonnegative(causes, field, value.integer());
}

void is_positive(Causes& causes, const std::string& field, const Value& value, const FieldRule&) {
  if (!is_missing(value)) positive(causes, field, value.integer());
}

void is_between(Causes& causes, const std::string& field, const Value& value, const FieldRule& rule) {
  if (!is_missing(value) && (value.integer() < rule.low || value.integer() > rule.high))
    invalid(causes, field, value.integer(), rule.words);
}

void is_one_of(Causes& causes, const std::string& field, const Value& value, const FieldRule& rule) {
  if (!is_missing(value) && std::ranges::find(rule.choices, value.text()) == rule.choices.end())
    not_supported(causes, field, value.text(), rule.choices);
}

void is_selector(Causes& causes, const std::string& field, const Value& value, const FieldRule&) {
  validate_label_selector(causes, field, value);
}

void is_nonnegative_quantity(Causes& causes, const std::string& field, const Value& value, const FieldRule&) {
  if (quantity_nanos_of(value) < 0) invalid(causes, field, value, "must be greater than or equal to 0");
}

void is_short(Causes& causes, const std::string& field, const Value& value, const FieldRule& rule) {
  if (value.text().size() > static_cast<std::size_t>(rule.high)) too_long(causes, field, static_cast<int>(rule.high));
}

void validate_int_or_percent(Causes& causes, const std::string& field, const Value& value) {
  if (value.is_string())
    invalid_each(causes, field, value.text(), percent(value.text()));
  else
    nonnegative(causes, field, value.integer());
}

void validate_at_most_all(Causes& causes, const std::string& field, const Value& value) {
  if (value.is_string() && percent(value.text()).empty() && int_or_percent(value) > 100)
    invalid(causes, field, value, "must not be greater than 100%");
}

std::int64_t int_or_percent(const Value& value) {
  if (!value.is_string()) return value.integer();
  auto text = value.text();
  if (percent(text).empty()) text.remove_suffix(1);  // else a number in a text still counts
  std::int64_t number = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  return problem == std::errc() && end == text.data() + text.size() ? number : 0;
}

Messages cidr(std::string_view value) {
  auto network = parse_network(value);
  if (!network) {
    if (const auto plain = without_leading_zeros(value); !plain.empty() && parse_network(plain))
      return {"must not have leading 0s in IP or prefix length"};
    return {"must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"};
  }
  const auto length = value.substr(value.find('/') + 1);
  if (length.size() > 1 && length.front() == '0') return {"must not have leading 0s in IP or prefix length"};
  if (is_written_mapped(value, *network)) return {"must not have an IPv4-mapped IPv6 address"};
  if (!(masked(*network) == network->address)) return {"must not have bits set beyond the prefix length"};
  return {};
}

Messages canonical_cidr(std::string_view value) {
  if (auto messages = cidr(value); !messages.empty()) return messages;
  const auto network = parse_network(value);
  const auto text = ip_text(masked(*network)) + "/" + std::to_string(network->bits);
  if (text == value) return {};
  return {"must be in canonical form (\"" + text + "\")"};
}

Messages interface_address(std::string_view value) {
  auto network = parse_network(value);
  if (!network) {
    if (const auto plain = without_leading_zeros(value); !plain.empty()) network = parse_network(plain);
    if (!network) return {"must be a valid address in CIDR form, (e.g. 10.9.8.7/24 or 2001:db8::1/64)"};
  }
  auto address = network->address;
  auto bits = network->bits;
  if (is_written_mapped(value, *network)) {
    address.v6 = false;
    if (bits > 32) bits -= 96;
  }
  const auto text = ip_text(address) + "/" + std::to_string(bits);
  if (text == value) return {};
  return {"must be in canonical form (\"" + text + "\")"};
}

void validate_conditions(Causes& causes, const std::string& path, const Value& conditions) {
  constexpr static std::string_view kStatuses[] = {"False", "True", "Unknown"};
  constexpr int kReasonMax = 1024, kMessageMax = 32 * 1024;
  std::set<std::string> types;
  std::size_t index = 0;
  for (auto condition : conditions) {
    const auto at = item(path, index++);
    const auto type = condition["type"].text(), reason = condition["reason"].text();
    if (!types.insert(std::string(type)).second) duplicate(causes, child(at, "type"), type);
    invalid_each(causes, child(at, "type"), type, qualified_name(type));
    if (std::ranges::find(kStatuses, condition["status"].text()) == std::end(kStatuses))
      not_supported(causes, child(at, "status"), condition["status"].text(), kStatuses);
    if (condition["observedGeneration"].integer() < 0)
      invalid(causes, child(at, "observedGeneration"), condition["observedGeneration"],
              "must be greater than or equal to zero");
    if (condition["lastTransitionTime"].text().empty()) required(causes, child(at, "lastTransitionTime"));
    if (reason.empty())
      required(causes, child(at, "reason"));
    else
      invalid_each(causes, child(at, "reason"), reason, condition_reason(reason));
    if (reason.size() > static_cast<std::size_t>(kReasonMax)) too_long(causes, child(at, "reason"), kReasonMax);
    if (condition["message"].text().size() > static_cast<std::size_t>(kMessageMax))
      too_long(causes, child(at, "message"), kMessageMax);
  }
}

void validate_domain_path(Causes& causes, const std::string& field, std::string_view value) {
  if (value.empty()) return required(causes, field);
  const auto slash = value.find('/');
  if (slash == std::string_view::npos || slash == 0 || slash + 1 == value.size())
    return invalid(causes, field, value, "must be a domain-prefixed path (such as \"acme.io/foo\")");
  const auto host = value.substr(0, slash), path = value.substr(slash + 1);
  invalid_each(causes, field, host, dns1123_subdomain(host));
  if (path.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/-._~%!$&'()*+,;=:") !=
      std::string_view::npos)
    invalid(causes, field, path, "Invalid path (regex used for validation is '[A-Za-z0-9/\\-._~%!$&'()*+,;=:]+')");
}

}  // namespace sublet::apiserver
