// Kubernetes' IP and CIDR libraries: addresses as Go's net/netip reads and writes them.
#include <algorithm>
#include <array>

#include "patches/cel/functions.h"
#include "patches/cel/text.h"

namespace sublet::patches::cel {

namespace {

struct Address {
  std::array<unsigned char, 16> bytes{};  // an IPv4 address stands in the first four
  bool four = false;

  std::size_t size() const { return four ? 4 : 16; }
  bool mapped() const {
    return !four && std::all_of(bytes.begin(), bytes.begin() + 10, [](unsigned char b) { return b == 0; }) &&
           bytes[10] == 0xff && bytes[11] == 0xff;
  }
  bool operator==(const Address& other) const = default;
};

struct Prefix {
  Address address;
  int bits = 0;
};

Address masked(const Prefix& prefix) {
  Address address = prefix.address;
  for (std::size_t i = 0; i < address.size(); ++i) {
    const int kept = std::clamp(prefix.bits - static_cast<int>(i) * 8, 0, 8);
    address.bytes[i] = static_cast<unsigned char>(address.bytes[i] & (0xff00 >> kept));
  }
  return address;
}

std::string address_text(const Address& a) {
  char buffer[16];
  std::string text;
  if (a.four) {
    for (std::size_t i = 0; i < 4; ++i) text += (i ? "." : "") + std::to_string(a.bytes[i]);
    return text;
  }
  const auto group = [&](std::size_t i) { return a.bytes[2 * i] * 256 + a.bytes[2 * i + 1]; };
  std::size_t best = 8, best_size = 1;  // the longest row of zeros, two at least
  for (std::size_t i = 0; i < 8; ++i) {
    std::size_t end = i;
    while (end < 8 && group(end) == 0) ++end;
    if (end - i > best_size) {
      best = i;
      best_size = end - i;
    }
  }
  for (std::size_t i = 0; i < 8; ++i) {
    if (i == best) {
      text += "::";
      i += best_size - 1;
      continue;
    }
    if (!text.empty() && text.back() != ':') text += ':';
    std::snprintf(buffer, sizeof buffer, "%x", group(i));
    text += buffer;
  }
  return text;
}

// Reads an address in Go's way, with Go's complaints.
class AddressReader {
 public:
  explicit AddressReader(std::string_view text) : text_(text) {}

  std::optional<Address> read() {
    for (const char c : text_) {
      if (c == '.') return four(text_, address_.bytes.data()) ? done(true) : std::nullopt;
      if (c == ':') return six() ? done(false) : std::nullopt;
      if (c == '%') return fail("missing IPv6 address") ? done(false) : std::nullopt;
    }
    fail("unable to parse IP");
    return std::nullopt;
  }
  const std::string& problem() const { return problem_; }
  bool zone() const { return zone_; }

 private:
  std::optional<Address> done(bool is_four) {
    address_.four = is_four;
    return address_;
  }
  bool fail(std::string_view what, std::string_view at = {}) {
    problem_ = "ParseAddr(" + go_quote(text_) + "): " + std::string(what);
    if (!at.empty()) problem_ += " (at " + go_quote(at) + ")";
    return false;
  }

  bool four(std::string_view s, unsigned char* out) {
    int value = 0;
    std::size_t position = 0, digits = 0;
    for (std::size_t i = 0; i < s.size(); ++i) {
      if (s[i] >= '0' && s[i] <= '9') {
        if (digits == 1 && value == 0) return fail("IPv4 field has octet with leading zero");
        value = value * 10 + (s[i] - '0');
        ++digits;
        if (value > 255) return fail("IPv4 field has value >255");
      } else if (s[i] == '.') {
        if (i == 0 || i == s.size() - 1 || s[i - 1] == '.')
          return fail("IPv4 field must have at least one digit", s.substr(i));
        if (position == 3) return fail("IPv4 address too long");
        out[position++] = static_cast<unsigned char>(value);
        value = 0;
        digits = 0;
      } else {
        return fail("unexpected character", s.substr(i));
      }
    }
    if (position < 3) return fail("IPv4 address too short");
    out[3] = static_cast<unsigned char>(value);
    return true;
  }

  // Up to four hexadecimal digits at the start of `s`; how many there are, -1 when too many.
  int group(std::string_view s, unsigned& value) {
    std::size_t count = 0;
    for (; count < s.size(); ++count) {
      const char c = s[count];
      const int digit = c >= '0' && c <= '9'   ? c - '0'
                        : c >= 'a' && c <= 'f' ? c - 'a' + 10
                        : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                               : -1;
      if (digit < 0) break;
      if (count > 3) return -1;
      value = value * 16 + static_cast<unsigned>(digit);
    }
    return static_cast<int>(count);
  }

  bool six() {
    std::string_view s = text_;
    if (const std::size_t percent = s.find('%'); percent != std::string_view::npos) {
      if (percent + 1 == s.size()) return fail("zone must be a non-empty string");
      zone_ = true;
      s = s.substr(0, percent);
    }
    auto& bytes = address_.bytes;
    std::size_t at = 0;
    std::optional<std::size_t> gap;
    if (s.starts_with("::")) {
      gap = 0;
      s.remove_prefix(2);
      if (s.empty()) return true;
    }
    while (at < 16) {
      unsigned value = 0;
      const int digits = group(s, value);
      if (digits < 0) return fail("each group must have 4 or less digits", s);
      if (digits == 0) return fail("each colon-separated field must have at least one digit", s);
      const auto end = static_cast<std::size_t>(digits);
      if (end < s.size() && s[end] == '.') {
        if (!gap && at != 12) return fail("embedded IPv4 address must replace the final 2 fields of the address", s);
        if (at + 4 > 16) return fail("too many hex fields to fit an embedded IPv4 at the end of the address", s);
        if (!four(s, bytes.data() + at)) return false;
        s = {};
        at += 4;
        break;
      }
      bytes[at++] = static_cast<unsigned char>(value >> 8);
      bytes[at++] = static_cast<unsigned char>(value);
      s.remove_prefix(end);
      if (s.empty()) break;
      if (s[0] != ':') return fail("unexpected character, want colon", s);
      if (s.size() == 1) return fail("colon must be followed by more characters", s);
      s.remove_prefix(1);
      if (s[0] != ':') continue;
      if (gap) return fail("multiple :: in address", s);
      gap = at;
      s.remove_prefix(1);
      if (s.empty()) break;
    }
    if (!s.empty()) return fail("trailing garbage after address", s);
    return expand(at, gap);
  }

  bool expand(std::size_t at, std::optional<std::size_t> gap) {
    auto& bytes = address_.bytes;
    if (at == 16) return !gap || fail("the :: must expand to at least one field of zeros");
    if (!gap) return fail("address string too short");
    std::copy_backward(bytes.begin() + static_cast<std::ptrdiff_t>(*gap),
                       bytes.begin() + static_cast<std::ptrdiff_t>(at), bytes.end());
    std::fill(bytes.begin() + static_cast<std::ptrdiff_t>(*gap), bytes.end() - static_cast<std::ptrdiff_t>(at - *gap),
              static_cast<unsigned char>(0));
    return true;
  }

  std::string_view text_;
  std::string problem_;
  Address address_;
  bool zone_ = false;
};

class Ip final : public Opaque {
 public:
  explicit Ip(Address address) : address_(address) {}
  Kind kind() const override { return Kind::ip; }
  bool equals(const Opaque& other) const override { return address_ == static_cast<const Ip&>(other).address_; }
  std::string text() const override { return address_text(address_); }
  std::uint64_t size() const override { return address_.size(); }
  const Address& address() const { return address_; }

 private:
  Address address_;
};

class Cidr final : public Opaque {
 public:
  explicit Cidr(Prefix prefix) : prefix_(prefix) {}
  Kind kind() const override { return Kind::cidr; }
  bool equals(const Opaque& other) const override {
    const Prefix& theirs = static_cast<const Cidr&>(other).prefix_;
    return prefix_.address == theirs.address && prefix_.bits == theirs.bits;
  }
  std::string text() const override { return address_text(prefix_.address) + '/' + std::to_string(prefix_.bits); }
  std::uint64_t size() const override { return static_cast<std::uint64_t>(prefix_.bits + 7) / 8; }
  const Prefix& prefix() const { return prefix_; }

 private:
  Prefix prefix_;
};

const Address& address(const Value& value) { return static_cast<const Ip&>(value.as_opaque()).address(); }
const Prefix& prefix(const Value& value) { return static_cast<const Cidr&>(value.as_opaque()).prefix(); }
Value ip_value(const Address& a) { return Value::opaque(std::make_shared<const Ip>(a)); }
Value cidr_value(const Prefix& p) { return Value::opaque(std::make_shared<const Cidr>(p)); }

std::string mapped_problem(std::string_view text) {
  return "IPv4-mapped IPv6 address " + go_quote(text) + " is not allowed";
}

Value parse_ip(std::string_view text) {
  AddressReader reader(text);
  const auto read = reader.read();
  if (!read)
    return Value::error("IP Address " + go_quote(text) +
                        " parse error during conversion from string: " + reader.problem());
  if (reader.zone()) return Value::error("IP address " + go_quote(text) + " with zone value is not allowed");
  return read->mapped() ? Value::error(mapped_problem(text)) : ip_value(*read);
}

Value parse_cidr(std::string_view text) {
  constexpr std::string_view kWhere = "network address parse error during conversion from string: ";
  const auto fail = [&](std::string_view what) {
    return Value::error(std::string(kWhere) + std::string(kWhere) + "netip.ParsePrefix(" + go_quote(text) +
                        "): " + std::string(what));
  };
  const std::size_t slash = text.rfind('/');
  if (slash == std::string_view::npos) return fail("no '/'");
  AddressReader reader(text.substr(0, slash));
  const auto read = reader.read();
  if (!read) return fail(reader.problem());
  if (reader.zone()) return fail("IPv6 zones cannot be present in a prefix");
  const std::string_view digits = text.substr(slash + 1);
  const bool plain = !digits.empty() && digits.size() < 6 &&
                     digits.find_first_not_of("0123456789") == std::string_view::npos &&
                     (digits.size() == 1 || digits[0] != '0');
  if (!plain) return fail("bad bits after slash: " + go_quote(digits));
  const int bits = std::atoi(std::string(digits).c_str());
  if (bits > (read->four ? 32 : 128)) return fail("prefix length out of range");
  if (read->mapped()) return Value::error(std::string(kWhere) + mapped_problem(text));
  return cidr_value({*read, bits});
}

bool prefix_contains(const Prefix& outer, const Address& inner) {
  return outer.address.four == inner.four && masked(outer) == masked({inner, outer.bits});
}

bool starts(const Address& a, std::initializer_list<int> first) {
  std::size_t i = 0;
  return std::all_of(first.begin(), first.end(), [&](int byte) { return a.bytes[i++] == byte; });
}

bool unspecified(const Address& a) { return a == Address{.four = a.four}; }
bool loopback(const Address& a) {
  Address one;
  one.bytes[15] = 1;
  return a.four ? a.bytes[0] == 127 : a == one;
}
bool link_local_multicast(const Address& a) {
  return a.four ? starts(a, {224, 0, 0}) : a.bytes[0] == 0xff && (a.bytes[1] & 0x0f) == 2;
}
bool link_local_unicast(const Address& a) {
  return a.four ? starts(a, {169, 254}) : a.bytes[0] == 0xfe && (a.bytes[1] & 0xc0) == 0x80;
}
bool multicast(const Address& a) { return a.four ? (a.bytes[0] & 0xf0) == 0xe0 : a.bytes[0] == 0xff; }
bool global_unicast(const Address& a) {
  const bool broadcast = a.four && starts(a, {255, 255, 255, 255});
  return !broadcast && !unspecified(a) && !loopback(a) && !multicast(a) && !link_local_unicast(a);
}

template <bool (*Test)(const Address&)>
Value address_test(Arguments a, Meter&) {
  return Value::boolean(Test(address(a[0])));
}

Value ip(Arguments a, Meter&) { return parse_ip(a[0].as_text()); }
Value is_ip(Arguments a, Meter&) { return Value::boolean(!parse_ip(a[0].as_text()).is_error()); }
Value is_canonical(Arguments a, Meter&) {
  const Value parsed = parse_ip(a[0].as_text());
  return parsed.is_error() ? parsed : Value::boolean(parsed.as_opaque().text() == a[0].as_text());
}
Value family(Arguments a, Meter&) { return Value::integer(address(a[0]).four ? 4 : 6); }
Value network_text(Arguments a, Meter&) { return Value::string(a[0].as_opaque().text()); }

Value cidr(Arguments a, Meter&) { return parse_cidr(a[0].as_text()); }
Value is_cidr(Arguments a, Meter&) { return Value::boolean(!parse_cidr(a[0].as_text()).is_error()); }
Value cidr_ip(Arguments a, Meter&) { return ip_value(prefix(a[0]).address); }
Value cidr_masked(Arguments a, Meter&) { return cidr_value({masked(prefix(a[0])), prefix(a[0]).bits}); }
Value prefix_length(Arguments a, Meter&) { return Value::integer(prefix(a[0]).bits); }

Value contains_ip(Arguments a, Meter&) {
  const Value inner = a[1].is(Kind::string) ? parse_ip(a[1].as_text()) : a[1];
  return inner.is_error() ? inner : Value::boolean(prefix_contains(prefix(a[0]), address(inner)));
}
Value contains_cidr(Arguments a, Meter&) {
  Value inner = a[1].is(Kind::string) ? parse_cidr(a[1].as_text()) : a[1];
  if (inner.is_error()) return inner;
  return Value::boolean(prefix(a[0]).bits <= prefix(inner).bits &&
                        prefix_contains(prefix(a[0]), prefix(inner).address));
}

constexpr Set N = Set::network;

constexpr Overload kNetworkOverloads[] = {
    {"ip", "string_to_ip", "(string) -> ip", ip, N},
    {"ip", "cidr_ip", "cidr.() -> ip", cidr_ip, N},
    {"isIP", "is_ip", "(string) -> bool", is_ip, N},
    {"ip.isCanonical", "ip_is_canonical", "(string) -> bool", is_canonical, N},
    {"string", "ip_to_string", "(ip) -> string", network_text, N},
    {"family", "ip_family", "ip.() -> int", family, N},
    {"isUnspecified", "ip_is_unspecified", "ip.() -> bool", address_test<unspecified>, N},
    {"isLoopback", "ip_is_loopback", "ip.() -> bool", address_test<loopback>, N},
    {"isLinkLocalMulticast", "ip_is_link_local_multicast", "ip.() -> bool", address_test<link_local_multicast>, N},
    {"isLinkLocalUnicast", "ip_is_link_local_unicast", "ip.() -> bool", address_test<link_local_unicast>, N},
    {"isGlobalUnicast", "ip_is_global_unicast", "ip.() -> bool", address_test<global_unicast>, N},
    {"cidr", "string_to_cidr", "(string) -> cidr", cidr, N},
    {"isCIDR", "is_cidr", "(string) -> bool", is_cidr, N},
    {"string", "cidr_to_string", "(cidr) -> string", network_text, N},
    {"containsIP", "cidr_contains_ip_string", "cidr.(string) -> bool", contains_ip, N},
    {"containsIP", "cidr_contains_ip_ip", "cidr.(ip) -> bool", contains_ip, N},
    {"containsCIDR", "cidr_contains_cidr_string", "cidr.(string) -> bool", contains_cidr, N},
    {"containsCIDR", "cidr_contains_cidr", "cidr.(cidr) -> bool", contains_cidr, N},
    {"prefixLength", "cidr_prefix_length", "cidr.() -> int", prefix_length, N},
    {"masked", "cidr_masked", "cidr.() -> cidr", cidr_masked, N},
};

}  // namespace

std::span<const Overload> network_table() { return kNetworkOverloads; }

}  // namespace sublet::patches::cel
