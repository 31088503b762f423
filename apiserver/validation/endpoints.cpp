#include "apiserver/validation/endpoints.h"

#include <algorithm>

#include "apiserver/validation/names.h"

namespace sublet::apiserver {
namespace {

bool is_unspecified(const IpAddress& ip) {
  auto first = ip.v6 ? ip.bytes : ip.bytes + 12;
  return std::all_of(first, ip.bytes + 16, [](unsigned char byte) { return byte == 0; });
}

bool is_loopback(const IpAddress& ip) {
  if (!ip.v6) return ip.bytes[12] == 127;
  return std::all_of(ip.bytes, ip.bytes + 15, [](unsigned char byte) { return byte == 0; }) && ip.bytes[15] == 1;
}

/// An IPv4 address that is written as an IPv6 one: ::ffff:127.0.0.1.
bool is_mapped_address(const IpAddress& ip) {
  static constexpr unsigned char kPrefix[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
  return ip.v6 && std::equal(std::begin(kPrefix), std::end(kPrefix), ip.bytes);
}

bool is_link_local(const IpAddress& ip) {
  if (!ip.v6) return ip.bytes[12] == 169 && ip.bytes[13] == 254;
  return ip.bytes[0] == 0xfe && (ip.bytes[1] & 0xc0) == 0x80;
}

bool is_link_local_multicast(const IpAddress& ip) {
  if (!ip.v6) return ip.bytes[12] == 224 && ip.bytes[13] == 0 && ip.bytes[14] == 0;
  return ip.bytes[0] == 0xff && (ip.bytes[1] & 0x0f) == 2;
}

struct AddressRule {
  bool (*matches)(const IpAddress&);
  std::string_view message;
};
constexpr AddressRule kAddressRules[] = {
    {is_loopback, "may not be in the loopback range (127.0.0.0/8, ::1/128)"},
    {is_link_local, "may not be in the link-local range (169.254.0.0/16, fe80::/10)"},
    {is_link_local_multicast, "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)"}};

}  // namespace

void validate_endpoint_ip(Causes& causes, const std::string& path, std::string_view ip) {
  auto address = parse_ip(ip);
  if (!address) return invalid_each(causes, path, ip, ip_address(ip));
  if (is_mapped_address(*address)) return invalid(causes, path, ip, "must not be an IPv4-mapped IPv6 address");
  if (is_unspecified(*address)) invalid(causes, path, ip, "may not be unspecified (" + std::string(ip) + ")");
  for (const auto& rule : kAddressRules)
    if (rule.matches(*address)) invalid(causes, path, ip, rule.message);
}

bool is_server_endpoint(const schema::Value& metadata) {
  return metadata["namespace"].text() == "default" && metadata["name"].text() == "kubernetes";
}

}  // namespace sublet::apiserver
