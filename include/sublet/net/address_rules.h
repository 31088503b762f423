// AddressRules: to which addresses a process may connect on somebody else's word (a tenant's webhook, for one).
//
// Without further rules nothing may be reached that is not a host of its own out there: not this machine (loopback, its
// own addresses), no link-local address, where clouds keep their metadata, none of the other addresses at which they
// do, no multicast or unspecified one. Who starts the process may allow ranges nevertheless, and deny others. A value;
// any thread.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "sublet/base/status.h"

struct sockaddr;

namespace sublet::net {

/// Addresses of one family whose first `bits` are equal; IPv4 stands as IPv6 does with ::ffff: before it.
struct AddressRange {
  std::array<unsigned char, 16> address{};
  int bits = 0;
  bool has(const std::array<unsigned char, 16>& other) const;
  /// "10.0.0.0/8", "fd00::/8", or one address.
  static Result<AddressRange> parse(std::string_view text);
};

class AddressRules {
 public:
  /// The addresses of this machine's interfaces are asked for once, here.
  AddressRules();
  /// Both have priority over what is refused by itself; of two, the denied range counts.
  void allow(AddressRange range) { allowed_.push_back(range); }
  void deny(AddressRange range) { denied_.push_back({range, "is denied by --outbound-deny"}); }

  /// Why not; empty: it may.
  std::string_view refusal(const sockaddr& address) const;

 private:
  struct Refused {
    AddressRange range;
    std::string_view why;
  };
  std::vector<AddressRange> allowed_;
  std::vector<Refused> denied_, by_itself_;
};

}  // namespace sublet::net
