#include "net/socket/output_queue.h"

#include <gtest/gtest.h>

#include <random>

namespace sublet::net {
namespace {

/// Takes as much as it is told to, and keeps it.
class Sip final : public Stream {
 public:
  Sip() : Stream(Descriptor()) {}
  Done read(char*, std::size_t) override { return {Io::want_read}; }
  Done write(const char* bytes, std::size_t size, bool) override {
    if (room == 0) return {Io::want_write};
    const std::size_t taken = std::min(room, size);
    room -= taken;
    got.append(bytes, taken);
    return {Io::ok, taken};
  }
  std::size_t write_size_max() const override { return 16 * 1024; }
  PeerIdentity take_peer() override { return {}; }
  std::size_t room = 0;
  std::string got;
};

TEST(OutputQueue, WhateverThePeerTakesAtATimeItGetsEveryByteOnceAndInOrder) {
  for (unsigned seed = 1; seed <= 20; ++seed) {
    std::mt19937 random(seed);
    Sip stream;
    OutputQueue queue;
    std::string expected;
    std::size_t sent = 0, counted = 0;
    // A peer that is always a little behind: the queue never empties, and what is gone has to go.
    for (int i = 0; i < 2000; ++i) {
      const std::string text = std::to_string(i) + std::string(random() % 50 == 0 ? 40'000 : random() % 30, 'x');
      const bool chunked = random() % 2 == 0;
      if (chunked) {
        char size[20];
        std::snprintf(size, sizeof size, "%zx\r\n", text.size());
        expected += size;
      }
      expected += text + (chunked ? "\r\n" : "");
      counted += text.size();
      queue.push({std::make_shared<const std::string>(text), chunked, true});
      stream.room = expected.size() - stream.got.size() > 100'000 ? 60'000 : random() % 40;
      EXPECT_NE(queue.flush(stream, sent), Io::failed);
    }
    stream.room = expected.size();
    EXPECT_EQ(queue.flush(stream, sent), Io::ok);
    EXPECT_TRUE(queue.empty());
    ASSERT_EQ(stream.got.size(), expected.size()) << "seed " << seed;
    EXPECT_TRUE(stream.got == expected) << "seed " << seed;
    EXPECT_EQ(sent, counted);
  }
}

}  // namespace
}  // namespace sublet::net
