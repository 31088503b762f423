#include "cluster/local/address.h"

#include <gtest/gtest.h>

#include <set>

namespace sublet::cluster {
namespace {

int port_of(const std::string& address) { return std::stoi(address.substr(address.find(':') + 1)); }

// e2e.controllers failed once beside another test: a port of the kernel's own choice may be a connection's before the
// server listens on it, and again at each later start.
TEST(Address, IsNotOneThatTheKernelGivesToConnections) {
  const auto [first, last] = connection_ports();
  std::set<int> ports;
  for (int i = 0; i < 20; ++i) {
    const auto address = choose_address();
    ASSERT_TRUE(address);
    EXPECT_TRUE(address_is_free(*address));
    ports.insert(port_of(*address));
  }
  const bool room = first >= 30'000 || last < 20'000;  // elsewhere any port may be a connection's
  for (const int port : ports) EXPECT_TRUE(!room || port < first || port > last) << port;
  EXPECT_GT(ports.size(), 15u) << "two that choose at once choose the same";
}

TEST(Address, OfNoPortOrAnotherMachineIsNotFree) {
  EXPECT_FALSE(address_is_free("127.0.0.1:0"));
  EXPECT_FALSE(address_is_free("somewhere:80"));
}

}  // namespace
}  // namespace sublet::cluster
