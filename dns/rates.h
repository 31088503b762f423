// Rates: how much each client may ask: a token bucket an address, of which at most kClientsMax are kept; further
// clients share one. Time is given, so that nothing here waits. One thread.
#pragma once

#include <map>

#include "dns/wire.h"
#include "sublet/base/clock.h"

namespace sublet::dns {

class Rates {
 public:
  static constexpr std::size_t kClientsMax = 4096;

  /// `per_second` tokens come in a second, and as many wait at most.
  explicit Rates(int per_second) : per_second_(per_second) {}
  /// Takes one; false: there is none.
  bool take(const Address& client, SteadyTime now);
  std::size_t clients() const { return buckets_.size(); }

 private:
  struct Bucket {
    double tokens;
    SteadyTime filled;
  };
  void fill(Bucket& bucket, SteadyTime now) const;
  Bucket& bucket_of(const Address& client, SteadyTime now);

  const int per_second_;
  std::map<Address, Bucket> buckets_;
  SteadyTime looked_{};  // for full ones
};

}  // namespace sublet::dns
