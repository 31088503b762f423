#include "dns/rates.h"

#include <gtest/gtest.h>

namespace sublet::dns {
namespace {

using std::chrono::milliseconds;

Address client(unsigned number) {
  Address address;
  address.size = 4;
  for (unsigned i = 0; i < 4; ++i) address.bytes[i] = static_cast<std::uint8_t>(number >> 8 * i & 0xff);
  return address;
}

int taken(Rates& rates, const Address& who, SteadyTime now, int tries) {
  int count = 0;
  for (int i = 0; i < tries; ++i) count += rates.take(who, now) ? 1 : 0;
  return count;
}

TEST(Rates, OneClientTakesNothingFromAnother) {
  Rates rates(100);
  const SteadyTime start{std::chrono::hours(1)};
  EXPECT_EQ(taken(rates, client(1), start, 1000), 100);
  EXPECT_EQ(taken(rates, client(2), start, 1000), 100);
  EXPECT_EQ(taken(rates, client(1), start + milliseconds(100), 1000), 10);
  EXPECT_EQ(taken(rates, client(1), start + std::chrono::hours(1), 1000), 100) << "no more than a second's";
}

TEST(Rates, ManyMadeUpClientsAreBoundedAndShareOne) {
  Rates rates(10);
  const SteadyTime start{std::chrono::hours(1)};
  EXPECT_EQ(taken(rates, client(0), start, 20), 10);
  for (unsigned i = 1; i < Rates::kClientsMax; ++i) EXPECT_EQ(taken(rates, client(i), start, 20), 10);
  int beyond = 0;
  for (unsigned i = 0; i < 100; ++i) beyond += taken(rates, client(100'000 + i), start, 20);
  EXPECT_EQ(beyond, 10);
  EXPECT_LE(rates.clients(), Rates::kClientsMax + 1);
  // Rested ones make room.
  EXPECT_EQ(taken(rates, client(200'000), start + std::chrono::seconds(2), 20), 10);
  EXPECT_EQ(rates.clients(), 1u);
}

}  // namespace
}  // namespace sublet::dns
