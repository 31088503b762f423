// The two framings, against a client's end written here: masked frames, compressed header blocks.
#include <gtest/gtest.h>
#include <zlib.h>

#include "simhost/session/container_session.h"
#include "simhost/session/spdy.h"
#include "simhost/session/spdy_dictionary.h"
#include "sublet/net/websocket.h"
#include "sublet/schema/document.h"

namespace sublet::simhost::session {
namespace {

std::string masked(unsigned char first, std::string_view payload, bool mask = true) {
  std::string frame(1, static_cast<char>(first));
  const unsigned char bit = mask ? 0x80 : 0;
  if (payload.size() < 126) {
    frame += static_cast<char>(bit | payload.size());
  } else {
    frame += static_cast<char>(bit | 126);
    frame += static_cast<char>(payload.size() >> 8);
    frame += static_cast<char>(payload.size() & 0xff);
  }
  if (!mask) return frame.append(payload);
  const std::string key = "\x11\x22\x33\x44";
  frame += key;
  for (std::size_t i = 0; i < payload.size(); ++i) frame += static_cast<char>(payload[i] ^ key[i % 4]);
  return frame;
}

class WebSocketTest : public testing::Test {
 protected:
  std::vector<std::string> messages_;
  std::string sent_;
  int over_ = 0;
  net::WebSocket socket_{{[this](std::string_view message) { messages_.emplace_back(message); },
                          [this](std::string bytes) { sent_ += bytes; }, [this] { ++over_; }}};
};

TEST_F(WebSocketTest, TheHandshakeIsRfc6455s) {
  EXPECT_EQ(net::websocket_accept("dGhlIHNhbXBsZSBub25jZQ=="), "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
}

TEST_F(WebSocketTest, MessagesComeInAnyPieces) {
  const std::string long_one(40'000, 'x');
  const std::string all = masked(0x82, "one") + masked(0x02, "tw") + masked(0x80, "o") + masked(0x82, long_one);
  for (const char c : all) socket_.put({&c, 1});
  EXPECT_EQ(messages_, (std::vector<std::string>{"one", "two", long_one}));
  EXPECT_EQ(over_, 0);
}

TEST_F(WebSocketTest, APingIsAnsweredAndACloseToo) {
  socket_.put(masked(0x89, "hello"));
  EXPECT_EQ(sent_, std::string("\x8a\x05hello"));
  sent_.clear();
  socket_.put(masked(0x88, "\x03\xe8"));
  EXPECT_EQ(sent_, std::string("\x88\x02\x03\xe8"));
  EXPECT_EQ(over_, 1);
  socket_.send("nobody hears this");
  EXPECT_EQ(sent_, std::string("\x88\x02\x03\xe8"));
}

TEST_F(WebSocketTest, WhatIsNoClientsFrameEndsIt) {
  const std::string huge("\x82\xff\x7f\xff\xff\xff\xff\xff\xff\xff", 10);
  for (const std::string& bad : {masked(0x82, "x", false), masked(0xc2, "x"), masked(0x80, "x"),
                                 masked(0x89, std::string(126, 'x')), huge, masked(0x83, "x")}) {
    int over = 0;
    net::WebSocket socket({[](std::string_view) { ADD_FAILURE(); }, [](const std::string&) {}, [&] { ++over; }});
    socket.put(bad);
    EXPECT_EQ(over, 1) << testing::PrintToString(bad);
  }
}

TEST_F(WebSocketTest, LongMessagesHaveLongLengths) {
  socket_.send(std::string(70'000, 'y'));
  EXPECT_EQ(sent_.substr(0, 10), std::string("\x82\x7f\0\0\0\0\0\x01\x11\x70", 10));
  EXPECT_EQ(sent_.size(), 70'010u);
}

/// A client's SPDY.
class SpdyTest : public testing::Test {
 protected:
  SpdyTest() {
    ::deflateInit(&deflate_, Z_BEST_COMPRESSION);
    ::deflateSetDictionary(&deflate_, kSpdyDictionary, sizeof(kSpdyDictionary));
  }
  ~SpdyTest() override { ::deflateEnd(&deflate_); }
  static void number(std::string& out, std::uint32_t value, int bytes) {
    for (int i = bytes - 1; i >= 0; --i) out += static_cast<char>(value >> (8 * i) & 0xff);
  }
  static std::string control(unsigned type, unsigned char flags, const std::string& payload) {
    std::string frame;
    number(frame, 0x8003, 2);
    number(frame, type, 2);
    frame += static_cast<char>(flags);
    number(frame, static_cast<std::uint32_t>(payload.size()), 3);
    return frame + payload;
  }
  std::string open(std::uint32_t id, const Spdy::Headers& headers, unsigned char flags = 0) {
    std::string block;
    number(block, static_cast<std::uint32_t>(headers.size()), 4);
    for (const auto& [name, value] : headers)
      for (const std::string& text : {name, value}) {
        number(block, static_cast<std::uint32_t>(text.size()), 4);
        block += text;
      }
    std::string packed(1024, '\0');
    deflate_.next_in = reinterpret_cast<Bytef*>(block.data());
    deflate_.avail_in = static_cast<uInt>(block.size());
    deflate_.next_out = reinterpret_cast<Bytef*>(packed.data());
    deflate_.avail_out = static_cast<uInt>(packed.size());
    ::deflate(&deflate_, Z_SYNC_FLUSH);
    packed.resize(packed.size() - deflate_.avail_out);
    std::string payload;
    number(payload, id, 4);
    number(payload, 0, 4);
    number(payload, 0, 2);
    return control(1, flags, payload + packed);
  }
  static std::string data(std::uint32_t id, const std::string& bytes, unsigned char flags = 0) {
    std::string frame;
    number(frame, id, 4);
    frame += static_cast<char>(flags);
    number(frame, static_cast<std::uint32_t>(bytes.size()), 3);
    return frame + bytes;
  }

  z_stream deflate_{};
  std::string heard_, sent_;
  int over_ = 0;
  Spdy spdy_{{[this](std::uint32_t id, const Spdy::Headers& headers) {
                heard_ += "open " + std::to_string(id);
                for (const auto& [name, value] : headers) heard_ += " " + name + "=" + value;
                heard_ += "; ";
              },
              [this](std::uint32_t id, std::string_view bytes) {
                heard_ += std::to_string(id) + ": " + std::string(bytes) + "; ";
              },
              [this](std::uint32_t id) { heard_ += "end " + std::to_string(id) + "; "; },
              [this](std::string bytes) { sent_ += bytes; }, [this] { ++over_; }}};
};

TEST_F(SpdyTest, StreamsOpenSpeakAndEnd) {
  std::string all = open(1, {{"streamtype", "error"}});  // one after another: they share a compressor
  all += open(3, {{"port", "80"}, {"streamtype", "data"}});
  all += data(3, "hello") + data(3, "", 1) + data(9, "nobody's");
  for (const char c : all) spdy_.put({&c, 1});
  EXPECT_EQ(heard_, "open 1 streamtype=error; open 3 port=80 streamtype=data; 3: hello; end 3; ");
  sent_.clear();
  spdy_.write(3, "answer");
  spdy_.end(3);
  spdy_.write(3, "too late");
  EXPECT_EQ(sent_, data(3, "answer") + data(3, "", 1));
  EXPECT_EQ(over_, 0);
}

TEST_F(SpdyTest, APingComesBack) {
  const std::string ping = control(6, 0, std::string("\0\0\0\x07", 4));
  spdy_.put(ping);
  EXPECT_EQ(sent_, ping);
}

TEST_F(SpdyTest, WhatBreaksTheRulesEndsIt) {
  std::string even = open(2, {});
  spdy_.put(even);
  EXPECT_EQ(over_, 1);
  for (const std::string& bad :
       {std::string("\x80\x02\x00\x01\x00\x00\x00\x00", 8), control(1, 0, "short"), control(1, 0, std::string(40, 'x')),
        std::string("\x00\x00\x00\x01\x00\xff\xff\xff", 8)}) {
    int over = 0;
    Spdy spdy({[](std::uint32_t, const Spdy::Headers&) { ADD_FAILURE(); }, {}, {}, {}, [&] { ++over; }});
    spdy.put(bad);
    EXPECT_EQ(over, 1) << testing::PrintToString(bad);
  }
}

TEST_F(SpdyTest, StreamsAreLimited) {
  for (std::uint32_t id = 1; id <= 2 * Spdy::kStreamsMax; id += 2) spdy_.put(open(id, {}));
  sent_.clear();
  spdy_.put(open(2 * Spdy::kStreamsMax + 1, {}));
  EXPECT_EQ(sent_.substr(0, 4), std::string("\x80\x03\x00\x03", 4));  // RST_STREAM
  EXPECT_EQ(over_, 0);
}

TEST(ExitStatus, IsTheKubelets) {
  EXPECT_EQ(exit_status(0), R"({"metadata":{},"status":"Success"})");
  const auto failed = schema::Document::parse_json(exit_status(3));
  ASSERT_TRUE(failed);
  EXPECT_EQ(failed->root()["reason"].text(), "NonZeroExitCode");
  EXPECT_EQ(failed->root()["details"]["causes"].at(0)["reason"].text(), "ExitCode");
  EXPECT_EQ(failed->root()["details"]["causes"].at(0)["message"].text(), "3");
}

}  // namespace
}  // namespace sublet::simhost::session
