// Strangers: the connections of one server whose peers have not shown who they are, and what these may hold together.
//
// A newcomer is always let in; where that passes a limit, another stranger is closed: of the address with the most of
// them the oldest, or when it is about bytes the one that holds most. So a mass of connections drives out itself,
// and a peer that shows who it is within the time that its own address leaves it is never in the way.
// Closing is a shutdown() of the socket: its connection reads the end and goes the usual way.
// Lifecycle: a Stranger must not outlive its descriptor, and leaves the table when it is destroyed. Threads: any.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <memory>

#include "sublet/base/mutex.h"
#include "sublet/net/server_limits.h"

struct sockaddr_storage;

namespace sublet::net {

/// Whom one counts as one: an IPv4 address, or the /64 of an IPv6 address.
using PeerAddress = std::array<std::uint8_t, 9>;
PeerAddress peer_address_of(const sockaddr_storage& address);

class Strangers;

/// One connection's place among the strangers, until it goes.
class Stranger {
 public:
  ~Stranger();
  Stranger(const Stranger&) = delete;
  Stranger& operator=(const Stranger&) = delete;
  /// What the connection keeps of what its peer sent.
  void holds(std::size_t bytes);

 private:
  friend class Strangers;
  Stranger(std::shared_ptr<Strangers> table, int fd, const PeerAddress& from)
      : table_(std::move(table)), fd_(fd), from_(from) {}

  const std::shared_ptr<Strangers> table_;
  const int fd_;
  const PeerAddress from_;
  // guarded by the table's lock
  std::list<Stranger*>::iterator place_;
  bool listed_ = false;
  std::size_t bytes_ = 0;
};

class Strangers : public std::enable_shared_from_this<Strangers> {
 public:
  explicit Strangers(StrangerLimits limits) : limits_(limits) {}
  /// A newcomer. `crowded`: the server has no places left, so one of the others goes in any case.
  std::unique_ptr<Stranger> admit(int fd, const sockaddr_storage& address, bool crowded);
  /// Closes one, when there is one.
  bool close_one();
  std::size_t count() const;

 private:
  friend class Stranger;
  void leave(Stranger& stranger);
  void hold(Stranger& stranger, std::size_t bytes);
  void unlist(Stranger& stranger) SUBLET_REQUIRES(mutex_);
  void close(Stranger& stranger) SUBLET_REQUIRES(mutex_);
  bool close_oldest_of_most() SUBLET_REQUIRES(mutex_);
  void close_holders() SUBLET_REQUIRES(mutex_);

  const StrangerLimits limits_;
  mutable Mutex mutex_;
  std::map<PeerAddress, std::list<Stranger*>> by_address_ SUBLET_GUARDED_BY(mutex_);  // each in order of arrival
  std::size_t count_ SUBLET_GUARDED_BY(mutex_) = 0;
  std::size_t bytes_ SUBLET_GUARDED_BY(mutex_) = 0;
};

}  // namespace sublet::net
