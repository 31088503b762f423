// Names: the API's syntax rules for names, labels, keys and ports. Each function gives the messages for what is wrong
// with a value, in upstream's wording; an empty vector means valid. Pure.
// Source of the rules: k8s.io/apimachinery/pkg/util/validation.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "apiserver/validation/field_errors.h"

namespace sublet::apiserver {

using Messages = std::vector<std::string>;

/// ASCII only, whatever the locale is.
constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }
constexpr bool is_alnum(char c) { return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

Messages dns1123_label(std::string_view value);
Messages dns1123_subdomain(std::string_view value);
/// As in DNS search paths.
Messages dns1123_subdomain_with_underscores(std::string_view value);
Messages dns1035_label(std::string_view value);
Messages wildcard_dns1123_subdomain(std::string_view value);
/// Names of RBAC objects and the like: anything that is one segment of a path.
Messages path_segment_name(std::string_view value);
/// "name" or "prefix/name", as label keys, resource names and finalizers are written.
Messages qualified_name(std::string_view value);
Messages label_value(std::string_view value);
Messages config_map_key(std::string_view value);
Messages env_var_name(std::string_view value);
Messages c_identifier(std::string_view value);
Messages port_number(std::int64_t value);
Messages port_name(std::string_view value);
Messages http_header_name(std::string_view value);
/// Segments as in a DNS name, but with underscores too, divided by dots or slashes.
bool is_sysctl_name(std::string_view value);
Messages percent(std::string_view value);
/// "TCP", "UDP" or "SCTP"; anything else is not_supported.
void validate_protocol(Causes& causes, const std::string& path, std::string_view protocol);
Messages in_range(std::int64_t value, std::int64_t low, std::int64_t high);

/// An IP address as 16 bytes (IPv4 mapped); nullopt when it is none.
struct IpAddress {
  unsigned char bytes[16] = {};
  bool v6 = false;
  bool operator==(const IpAddress&) const = default;
};
std::optional<IpAddress> parse_ip(std::string_view text);
Messages ip_address(std::string_view value);
/// An IP address in the one form that its kind's names have: no leading zeros, IPv6 compressed and in lower case.
Messages canonical_ip(std::string_view value);
std::string ip_text(const IpAddress& address);

// Whole fields.
void validate_labels(Causes& causes, const std::string& path, const schema::Value& labels);
void validate_annotations(Causes& causes, const std::string& path, const schema::Value& annotations);
/// metav1.LabelSelector (matchLabels, matchExpressions).
void validate_label_selector(Causes& causes, const std::string& path, const schema::Value& selector);

}  // namespace sublet::apiserver
