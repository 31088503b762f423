#include "net/socket/strangers.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include "net/net_testing.h"

namespace sublet::net {
namespace {

sockaddr_storage address(const char* text) {
  sockaddr_storage storage{};
  auto& four = reinterpret_cast<sockaddr_in&>(storage);
  auto& six = reinterpret_cast<sockaddr_in6&>(storage);
  if (::inet_pton(AF_INET, text, &four.sin_addr) == 1)
    storage.ss_family = AF_INET;
  else if (::inet_pton(AF_INET6, text, &six.sin6_addr) == 1)
    storage.ss_family = AF_INET6;
  return storage;
}

/// A connection of which we see whether it was closed.
class Connection {
 public:
  Connection(Strangers& table, const char* from, bool crowded = false) {
    int pair[2];
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair), 0);
    ours_.reset(pair[0]);
    peers_.reset(pair[1]);
    stranger_ = table.admit(ours_.get(), address(from), crowded);
  }
  bool admitted() const { return stranger_ != nullptr; }
  bool closed() const {
    char byte;
    return ::recv(peers_.get(), &byte, 1, 0) == 0;
  }
  void becomes_known() { stranger_.reset(); }
  void holds(std::size_t bytes) { stranger_->holds(bytes); }

 private:
  Descriptor ours_, peers_;
  std::unique_ptr<Stranger> stranger_;
};

std::shared_ptr<Strangers> table(StrangerLimits limits) { return std::make_shared<Strangers>(limits); }

TEST(Strangers, CountsByAddressAndByPrefix) {
  EXPECT_EQ(peer_address_of(address("10.0.0.1")), peer_address_of(address("::ffff:10.0.0.1")));
  EXPECT_NE(peer_address_of(address("10.0.0.1")), peer_address_of(address("10.0.0.2")));
  EXPECT_EQ(peer_address_of(address("2001:db8::1")), peer_address_of(address("2001:db8::ffff:2")));
  EXPECT_NE(peer_address_of(address("2001:db8::1")), peer_address_of(address("2001:db8:0:1::1")));
}

TEST(Strangers, TheOldestOfTheAddressWithTheMostMakesRoom) {
  const auto all = table({.connections_max = 3});
  const Connection alone(*all, "10.0.0.1"), first(*all, "10.0.0.2"), second(*all, "10.0.0.2");
  const Connection third(*all, "10.0.0.3");
  EXPECT_TRUE(first.closed());
  EXPECT_FALSE(alone.closed());
  EXPECT_FALSE(second.closed());
  EXPECT_FALSE(third.closed());
  EXPECT_EQ(all->count(), 3u);
}

TEST(Strangers, AnAddressHasALimitOfItsOwn) {
  const auto all = table({.connections_max = 100, .connections_per_address_max = 2});
  const Connection other(*all, "10.0.0.1");
  const Connection first(*all, "10.0.0.2"), second(*all, "10.0.0.2"), third(*all, "10.0.0.2");
  EXPECT_TRUE(first.closed());
  EXPECT_FALSE(second.closed());
  EXPECT_FALSE(third.closed());
  EXPECT_FALSE(other.closed());
}

TEST(Strangers, WhoIsKnownIsNotInTheTable) {
  const auto all = table({.connections_max = 1});
  Connection known(*all, "10.0.0.1");
  known.becomes_known();
  EXPECT_EQ(all->count(), 0u);
  const Connection first(*all, "10.0.0.1"), second(*all, "10.0.0.1");
  EXPECT_FALSE(known.closed());
  EXPECT_TRUE(first.closed());
}

TEST(Strangers, WhoHoldsMostGoesWhenAllHoldTooMuch) {
  const auto all = table({.bytes_max = 1000});
  Connection small(*all, "10.0.0.1"), large(*all, "10.0.0.2"), other(*all, "10.0.0.3");
  small.holds(100);
  large.holds(500);
  other.holds(400);
  EXPECT_FALSE(large.closed());  // exactly the limit
  small.holds(101);
  EXPECT_TRUE(large.closed());
  EXPECT_FALSE(small.closed());
  large.holds(5000);  // what a closed one still says counts no more
  EXPECT_FALSE(other.closed());
  { Connection(*all, "10.0.0.4").holds(499); }
  other.holds(800);  // what the one that went held is free
  EXPECT_FALSE(other.closed());
}

TEST(Strangers, AFullServerTakesANewcomerOnlyForAnotherStranger) {
  const auto all = table({});
  EXPECT_FALSE(Connection(*all, "10.0.0.1", true).admitted());
  EXPECT_FALSE(all->close_one());
  const Connection first(*all, "10.0.0.1");
  const Connection second(*all, "10.0.0.2", true);
  EXPECT_TRUE(second.admitted());
  EXPECT_TRUE(first.closed());
  EXPECT_TRUE(all->close_one());
  EXPECT_TRUE(second.closed());
}

}  // namespace
}  // namespace sublet::net
