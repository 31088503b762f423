#include "apiserver/strategies/claims.h"

#include <arpa/inet.h>

#include <algorithm>
#include <charconv>

namespace sublet::apiserver {
namespace {

constexpr int kHostBitsMax = 24;
constexpr int kRandomTries = 64;

std::string claim_key(std::string_view prefix, std::string_view value) { return std::string(prefix).append(value); }

std::string claim_bytes(std::string_view owner) {
  std::string bytes = "{\"owner\":";
  schema::append_json_string(bytes, owner);
  return bytes + "}";
}

/// Tries random values of [first, last], then all in order, so that a nearly full range still yields its last value.
template <class Free>
std::optional<std::uint64_t> pick(Random& random, std::uint64_t first, std::uint64_t last, Free free) {
  if (first > last) return std::nullopt;
  std::uint64_t count = last - first + 1;
  for (int i = 0; i < kRandomTries; ++i) {
    auto candidate = first + random.next() % count;
    if (free(candidate)) return candidate;
  }
  for (auto candidate = first; candidate <= last; ++candidate)
    if (free(candidate)) return candidate;
  return std::nullopt;
}

}  // namespace

bool is_claimed(const WriteContext& context, std::string_view prefix, std::string_view value) {
  auto key = claim_key(prefix, value);
  for (const auto& op : context.txn.ops)
    if (op.key == key) return op.put.has_value();
  return context.pending.get(key) != nullptr;
}

void claim(WriteContext& context, std::string_view prefix, std::string_view value, std::string_view owner) {
  if (context.dry_run) return;
  auto key = claim_key(prefix, value);
  context.txn.guards.push_back({key, 0});
  store::Put put;
  put.bytes = claim_bytes(owner);
  store::Op op;
  op.key = std::move(key);
  op.put = std::move(put);
  context.txn.ops.push_back(std::move(op));
}

void release(WriteContext& context, std::string_view prefix, std::string_view value, std::string_view owner) {
  if (context.dry_run) return;
  auto key = claim_key(prefix, value);
  auto stored = context.pending.get(key);
  if (!stored || stored->bytes != claim_bytes(owner)) return;
  context.txn.guards.push_back({key, stored->revision});
  store::Op op;
  op.key = std::move(key);
  context.txn.ops.push_back(std::move(op));
}

std::optional<AddressRange> AddressRange::parse(std::string_view cidr) {
  auto slash = cidr.find('/');
  if (slash == std::string_view::npos) return std::nullopt;
  auto address = parse_ip(cidr.substr(0, slash));
  int bits = 0;
  auto text = cidr.substr(slash + 1);
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), bits);
  if (!address || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  int width = address->v6 ? 128 : 32;
  if (bits < 0 || bits > width) return std::nullopt;
  AddressRange range;
  range.prefix_bits_ = bits + (128 - width);
  range.base_ = *address;
  for (int bit = range.prefix_bits_; bit < 128; ++bit)
    range.base_.bytes[bit / 8] = static_cast<unsigned char>(range.base_.bytes[bit / 8] & ~(0x80 >> (bit % 8)));
  range.size_ = std::uint64_t{1} << std::min(width - bits, kHostBitsMax);
  return range;
}

bool AddressRange::contains(const IpAddress& address) const {
  if (address.v6 != base_.v6) return false;
  for (int bit = 0; bit < prefix_bits_; ++bit) {
    int mask = 0x80 >> (bit % 8);
    if ((address.bytes[bit / 8] & mask) != (base_.bytes[bit / 8] & mask)) return false;
  }
  return true;
}

IpAddress AddressRange::at(std::uint64_t offset) const {
  IpAddress address = base_;
  for (int byte = 15; byte >= 12; --byte) {
    address.bytes[byte] = static_cast<unsigned char>(address.bytes[byte] | (offset & 0xff));
    offset >>= 8;
  }
  return address;
}

std::string free_cluster_ip(const WriteContext& context, const AddressRange& range) {
  if (range.size() < 4) return "";
  auto last = range.size() - 2;  // without the network's and the broadcast address
  auto band = std::min<std::uint64_t>(std::max<std::uint64_t>(16, range.size() / 16), 256);
  if (band >= last) band = 1;
  auto is_free = [&](std::uint64_t offset) {
    return !is_claimed(context, kClusterIpClaims, ip_text(range.at(offset)));
  };
  auto offset = pick(context.random, band, last, is_free);
  if (!offset) offset = pick(context.random, 1, band - 1, is_free);
  return offset ? ip_text(range.at(*offset)) : "";
}

int free_node_port(const WriteContext& context) {
  auto is_free = [&](std::uint64_t port) { return !is_claimed(context, kNodePortClaims, std::to_string(port)); };
  return static_cast<int>(pick(context.random, kNodePortFirst, kNodePortLast, is_free).value_or(0));
}

}  // namespace sublet::apiserver
