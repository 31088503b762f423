#include "dns/rates.h"

#include <algorithm>

namespace sublet::dns {
namespace {

constexpr std::chrono::seconds kLookAgain{1};  // made-up addresses must not make every question a walk over all

}  // namespace

void Rates::fill(Bucket& bucket, SteadyTime now) const {
  const std::chrono::duration<double> gone = now - bucket.filled;
  bucket.tokens = std::min<double>(per_second_, bucket.tokens + gone.count() * per_second_);
  bucket.filled = now;
}

Rates::Bucket& Rates::bucket_of(const Address& client, SteadyTime now) {
  const Address shared;  // of no client
  auto found = buckets_.find(client);
  if (found == buckets_.end() && buckets_.size() >= kClientsMax && now - looked_ >= kLookAgain) {
    looked_ = now;
    for (auto entry = buckets_.begin(); entry != buckets_.end();) {  // a full bucket is as good as none
      fill(entry->second, now);
      entry = entry->second.tokens >= per_second_ ? buckets_.erase(entry) : std::next(entry);
    }
  }
  if (found == buckets_.end() && buckets_.size() >= kClientsMax) found = buckets_.find(shared);
  if (found != buckets_.end()) return found->second;
  const Address& key = buckets_.size() >= kClientsMax ? shared : client;
  return buckets_.try_emplace(key, Bucket{static_cast<double>(per_second_), now}).first->second;
}

bool Rates::take(const Address& client, SteadyTime now) {
  Bucket& bucket = bucket_of(client, now);
  fill(bucket, now);
  if (bucket.tokens < 1) return false;
  bucket.tokens -= 1;
  return true;
}

}  // namespace sublet::dns
