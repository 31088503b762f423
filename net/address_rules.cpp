#include "sublet/net/address_rules.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <charconv>
#include <cstring>
#include <memory>
#include <optional>

namespace sublet::net {
namespace {

using Bytes = std::array<unsigned char, 16>;
constexpr int kBitsV4 = 96;  // before an IPv4 address in its IPv6 form

Bytes mapped(const in_addr& address) {
  Bytes bytes{};
  bytes[10] = bytes[11] = 0xff;
  std::memcpy(bytes.data() + 12, &address, 4);
  return bytes;
}

std::optional<Bytes> bytes_of(const sockaddr& address) {
  if (address.sa_family == AF_INET) return mapped(reinterpret_cast<const sockaddr_in&>(address).sin_addr);
  if (address.sa_family != AF_INET6) return std::nullopt;
  Bytes bytes{};
  std::memcpy(bytes.data(), &reinterpret_cast<const sockaddr_in6&>(address).sin6_addr, bytes.size());
  return bytes;
}

struct Fact {
  std::string_view range, why;
};
constexpr std::string_view kLoopback = "is a loopback address", kLinkLocal = "is a link-local address",
                           kMetadata = "is where a cloud keeps its metadata", kMulticast = "is a multicast address",
                           kNowhere = "is no address of a host", kTranslated = "leads to an IPv4 address in disguise";
constexpr Fact kFacts[] = {
    {"127.0.0.0/8", kLoopback},      {"::1", kLoopback},
    {"169.254.169.254", kMetadata},  {"169.254.0.0/16", kLinkLocal},
    {"fe80::/10", kLinkLocal},       {"fd00:ec2::/32", kMetadata},
    {"100.100.100.200", kMetadata},  {"168.63.129.16", kMetadata},
    {"192.0.0.192", kMetadata},      {"224.0.0.0/4", kMulticast},
    {"ff00::/8", kMulticast},        {"0.0.0.0/8", kNowhere},
    {"240.0.0.0/4", kNowhere},       {"::/128", kNowhere},
    {"::/96", kTranslated},          {"64:ff9b::/96", kTranslated},
    {"64:ff9b:1::/48", kTranslated}, {"2002::/16", kTranslated},
};
constexpr std::string_view kOwn = "is an address of the machine that the API server runs on";

}  // namespace

bool AddressRange::has(const Bytes& other) const {
  const auto whole = static_cast<std::size_t>(bits / 8);
  if (std::memcmp(address.data(), other.data(), whole) != 0) return false;
  const int rest = bits % 8;
  return rest == 0 || ((address[whole] ^ other[whole]) >> (8 - rest)) == 0;
}

Result<AddressRange> AddressRange::parse(std::string_view text) {
  const auto wrong = [text] {
    return bad_request("\"" + std::string(text) + "\" is neither an address nor a range of addresses (10.0.0.0/8)");
  };
  const auto slash = text.find('/');
  const std::string host(text.substr(0, slash));
  AddressRange range;
  int family_bits = 128, skipped = 0;
  if (in_addr v4{}; ::inet_pton(AF_INET, host.c_str(), &v4) == 1) {
    range.address = mapped(v4);
    family_bits = 32;
    skipped = kBitsV4;
  } else if (::inet_pton(AF_INET6, host.c_str(), range.address.data()) != 1) {
    return wrong();
  }
  int bits = family_bits;
  if (slash != std::string_view::npos) {
    const std::string_view size = text.substr(slash + 1);
    const auto [end, error] = std::from_chars(size.data(), size.data() + size.size(), bits);
    if (error != std::errc() || end != size.data() + size.size() || bits < 0 || bits > family_bits) return wrong();
  }
  range.bits = skipped + bits;
  return range;
}

AddressRules::AddressRules() {
  for (const Fact& fact : kFacts)
    if (auto range = AddressRange::parse(fact.range)) by_itself_.push_back({*range, fact.why});
  ifaddrs* found = nullptr;
  if (::getifaddrs(&found) != 0) return;
  const std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> owner(found, ::freeifaddrs);
  for (const ifaddrs* entry = found; entry; entry = entry->ifa_next) {
    if (!entry->ifa_addr) continue;
    if (const auto bytes = bytes_of(*entry->ifa_addr)) by_itself_.push_back({{*bytes, 128}, kOwn});
  }
}

std::string_view AddressRules::refusal(const sockaddr& address) const {
  const auto bytes = bytes_of(address);
  if (!bytes) return "is no Internet address";
  for (const Refused& refused : denied_)
    if (refused.range.has(*bytes)) return refused.why;
  for (const AddressRange& range : allowed_)
    if (range.has(*bytes)) return {};
  for (const Refused& refused : by_itself_)
    if (refused.range.has(*bytes)) return refused.why;
  return {};
}

}  // namespace sublet::net
