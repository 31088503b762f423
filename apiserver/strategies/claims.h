// Claims: values that only one object may hold (cluster IPs, node ports), kept as hidden keys of the store.
//
// A claim is a key like "~clusterips/10.96.0.5", written in the Txn of the Service that holds it and guarded by "must
// not exist": two creates of one address cannot both commit, and the loser's verb runs again. A dry run claims nothing.
// Hidden keys start with '~', which no resource does, so lists and watches never show them.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "apiserver/strategies/strategy.h"
#include "apiserver/validation/names.h"

namespace sublet::apiserver {

inline constexpr std::string_view kClusterIpClaims = "~clusterips/";
inline constexpr std::string_view kNodePortClaims = "~nodeports/";

bool is_claimed(const WriteContext& context, std::string_view prefix, std::string_view value);
/// `owner`: "services/ns/name", for people who look into the store.
void claim(WriteContext& context, std::string_view prefix, std::string_view value, std::string_view owner);
/// Nothing happens when the claim does not exist or has another owner.
void release(WriteContext& context, std::string_view prefix, std::string_view value, std::string_view owner);

/// The service network.
class AddressRange {
 public:
  static std::optional<AddressRange> parse(std::string_view cidr);
  bool contains(const IpAddress& address) const;
  bool v6() const { return base_.v6; }
  /// Usable addresses; at most 2^24, which no tenant outgrows.
  std::uint64_t size() const { return size_; }
  /// The address at `offset` from the network's own, which is offset 0.
  IpAddress at(std::uint64_t offset) const;

 private:
  IpAddress base_;
  int prefix_bits_ = 0;
  std::uint64_t size_ = 0;
};

/// A free address; the low end of the range is left to explicit wishes as long as possible. "" when all are taken.
std::string free_cluster_ip(const WriteContext& context, const AddressRange& range);
inline constexpr int kNodePortFirst = 30000, kNodePortLast = 32767;
/// 0 when all are taken.
int free_node_port(const WriteContext& context);

}  // namespace sublet::apiserver
