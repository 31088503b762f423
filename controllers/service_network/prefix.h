// Prefix: a range of addresses in CIDR notation. A value; pure.
#pragma once

#include <array>
#include <optional>
#include <string_view>

namespace sublet::controllers {

struct Address {
  std::array<unsigned char, 16> bytes{};
  bool v6 = false;
};
std::optional<Address> parse_address(std::string_view text);

struct Prefix {
  Address base;
  int bits = 0;
  bool contains(const Address& address) const;
  /// The same, or a part of this.
  bool contains(const Prefix& other) const { return other.bits >= bits && contains(other.base); }
};
std::optional<Prefix> parse_prefix(std::string_view text);

}  // namespace sublet::controllers
