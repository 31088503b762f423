#include "sublet/net/address_rules.h"
#include "sublet/patches/policies.h"

namespace sublet::patches {

bool covers(std::string_view whole, std::string_view part) {
  const auto outer = net::AddressRange::parse(whole), inner = net::AddressRange::parse(part);
  return outer && inner && outer->bits <= inner->bits && outer->has(inner->address);
}

}  // namespace sublet::patches
