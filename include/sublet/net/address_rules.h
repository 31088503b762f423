// AddressRules: the addresses to which a process may connect when a tenant names the target (a webhook, for example).
//
// The default refuses this machine (loopback, its own addresses), link-local addresses and the other addresses of cloud
// metadata services, multicast and unspecified addresses. The operator may allow some of these ranges and deny others.
// A value. Threads: any.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "sublet/base/status.h"

struct sockaddr;

namespace sublet::net {

/// Addresses of one family whose first `bits` are equal; IPv4 is stored as IPv6 after ::ffff:.
struct AddressRange {
  std::array<unsigned char, 16> address{};
  int bits = 0;
  bool has(const std::array<unsigned char, 16>& other) const;
  /// "10.0.0.0/8", "fd00::/8", or one address.
  static Result<AddressRange> parse(std::string_view text);
};

class AddressRules {
 public:
  /// Reads the addresses of this machine's interfaces once, here.
  AddressRules();
  /// Both override the default refusals; where both match, the address is denied.
  void allow(AddressRange range) { allowed_.push_back(range); }
  void deny(AddressRange range) { denied_.push_back({range, "is denied by --outbound-deny"}); }

  /// Returns why the address is refused; empty: it is allowed.
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
