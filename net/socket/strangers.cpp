#include "net/socket/strangers.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "sublet/base/metrics.h"

namespace sublet::net {
namespace {

metrics::Counter& closed_strangers() {
  static auto& counter = metrics::counter("sublet_http_strangers_closed_total",
                                          "Connections closed for others, whose peers had not shown who they are.");
  return counter;
}

}  // namespace

PeerAddress peer_address_of(const sockaddr_storage& address) {
  PeerAddress key{};
  if (address.ss_family == AF_INET) {
    key[0] = 4;
    std::memcpy(&key[1], &reinterpret_cast<const sockaddr_in&>(address).sin_addr, 4);
  } else if (address.ss_family == AF_INET6) {
    const auto& bytes = reinterpret_cast<const sockaddr_in6&>(address).sin6_addr;
    if (IN6_IS_ADDR_V4MAPPED(&bytes)) {
      key[0] = 4;
      std::memcpy(&key[1], &bytes.s6_addr[12], 4);
    } else {
      key[0] = 6;
      std::memcpy(&key[1], bytes.s6_addr, 8);
    }
  }
  return key;
}

Stranger::~Stranger() { table_->leave(*this); }

void Stranger::holds(std::size_t bytes) { table_->hold(*this, bytes); }

std::unique_ptr<Stranger> Strangers::admit(int fd, const sockaddr_storage& address, bool crowded) {
  std::unique_ptr<Stranger> stranger(new Stranger(shared_from_this(), fd, peer_address_of(address)));
  const MutexLock lock(mutex_);
  if (crowded && !close_oldest_of_most()) return nullptr;
  auto& same = by_address_[stranger->from_];
  if (!same.empty() && same.size() >= limits_.connections_per_address_max)
    close(*same.front());
  else if (count_ > 0 && count_ >= limits_.connections_max)
    close_oldest_of_most();
  auto& own = by_address_[stranger->from_];  // the one that went may have been its address's last
  own.push_back(stranger.get());
  stranger->place_ = std::prev(own.end());
  stranger->listed_ = true;
  ++count_;
  return stranger;
}

bool Strangers::close_one() {
  const MutexLock lock(mutex_);
  return close_oldest_of_most();
}

std::size_t Strangers::count() const {
  const MutexLock lock(mutex_);
  return count_;
}

void Strangers::leave(Stranger& stranger) {
  const MutexLock lock(mutex_);
  unlist(stranger);
}

void Strangers::hold(Stranger& stranger, std::size_t bytes) {
  const MutexLock lock(mutex_);
  if (!stranger.listed_) return;
  bytes_ = bytes_ - std::exchange(stranger.bytes_, bytes) + bytes;
  if (bytes_ > limits_.bytes_max) close_holders();
}

void Strangers::unlist(Stranger& stranger) {
  if (!std::exchange(stranger.listed_, false)) return;
  const auto same = by_address_.find(stranger.from_);
  same->second.erase(stranger.place_);
  if (same->second.empty()) by_address_.erase(same);
  --count_;
  bytes_ -= stranger.bytes_;
}

void Strangers::close(Stranger& stranger) {
  unlist(stranger);
  ::shutdown(stranger.fd_, SHUT_RDWR);
  closed_strangers().add();
}

bool Strangers::close_oldest_of_most() {
  const auto most = std::ranges::max_element(by_address_, {}, [](const auto& entry) { return entry.second.size(); });
  if (most == by_address_.end() || most->second.empty()) return false;
  close(*most->second.front());
  return true;
}

/// Looked for one by one: it happens only when somebody holds much.
void Strangers::close_holders() {
  while (bytes_ > limits_.bytes_max) {
    Stranger* most = nullptr;
    for (const auto& [address, same] : by_address_)
      for (auto* one : same)
        if (!most || one->bytes_ > most->bytes_) most = one;
    if (!most) return;
    close(*most);
  }
}

}  // namespace sublet::net
