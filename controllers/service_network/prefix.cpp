#include "controllers/service_network/prefix.h"

#include <arpa/inet.h>

#include <charconv>
#include <string>

namespace sublet::controllers {

std::optional<Address> parse_address(std::string_view text) {
  const std::string copy(text);
  Address address;
  if (inet_pton(AF_INET, copy.c_str(), address.bytes.data()) == 1) return address;
  address.v6 = true;
  if (inet_pton(AF_INET6, copy.c_str(), address.bytes.data()) == 1) return address;
  return std::nullopt;
}

bool Prefix::contains(const Address& address) const {
  if (address.v6 != base.v6) return false;
  for (int bit = 0; bit < bits; ++bit) {
    const auto byte = static_cast<std::size_t>(bit / 8);
    if (((address.bytes[byte] ^ base.bytes[byte]) >> (7 - bit % 8)) & 1) return false;
  }
  return true;
}

std::optional<Prefix> parse_prefix(std::string_view text) {
  const auto slash = text.find('/');
  if (slash == std::string_view::npos) return std::nullopt;
  const auto base = parse_address(text.substr(0, slash));
  Prefix prefix;
  const auto* end = text.data() + text.size();
  const auto [read, error] = std::from_chars(text.data() + slash + 1, end, prefix.bits);
  if (!base || error != std::errc() || read != end || prefix.bits < 0 || prefix.bits > (base->v6 ? 128 : 32))
    return std::nullopt;
  prefix.base = *base;
  return prefix;
}

}  // namespace sublet::controllers
