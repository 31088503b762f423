#include "sublet/net/websocket_sink.h"

#include <gtest/gtest.h>

#include "net/net_testing.h"
#include "sublet/net/websocket.h"

namespace sublet::net {
namespace {

using namespace std::chrono_literals;

const std::string kWebSocketUpgradeRequest =
    "GET /log HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";

std::shared_ptr<const std::string> piece(std::string text) {
  return std::make_shared<const std::string>(std::move(text));
}

class WebSocketSinkTest : public testing::Test {
 protected:
  WebSocketSinkTest()
      : server_([this](const Request& request, const std::shared_ptr<ResponseSink>& sink) {
          EXPECT_TRUE(asks_for_websocket(request.headers));
          sink->on_close([this] { closed_ = true; });
          auto made = make_websocket_sink(sink, request.headers, shape_);
          made->on_drain([this] { drained_ = true; });
          given_.put(std::move(made));
        }),
        client_(server_.socket()) {}
  std::shared_ptr<ResponseSink> ask() {
    client_.send(kWebSocketUpgradeRequest);
    return given_.wait().value();
  }
  std::string head() { return client_.read_until("\r\n\r\n"); }

  WebSocketShape shape_;
  Box<std::shared_ptr<ResponseSink>> given_;
  std::atomic<bool> closed_{false}, drained_{false};
  TestServer server_;
  RawClient client_;
};

TEST_F(WebSocketSinkTest, AStreamIsMessages) {
  shape_ = {WebSocketMessages::binary, "binary.k8s.io", true};
  const auto sink = ask();
  sink->write(piece("early"));  // nobody has said that writes come after the upgrade
  sink->start(200, {{"Content-Type", "text/plain"}});
  const std::string answer = head();
  EXPECT_NE(answer.find("101 Switching Protocols"), std::string::npos);
  EXPECT_NE(answer.find("Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo="), std::string::npos);
  EXPECT_NE(answer.find("Sec-WebSocket-Protocol: binary.k8s.io"), std::string::npos);
  sink->write(piece("a\nb"));
  EXPECT_EQ(client_.read_until("a\nb"),
            std::string("\x82\x05") + "early" + std::string("\x82\x00", 2) + "\x82\x03" + "a\nb");
  EXPECT_TRUE(eventually([&] { return drained_.load() && sink->backlog() == 0; }));
  client_.send(std::string("\x89\x81\x00\x00\x00\x00!", 7));  // a ping
  EXPECT_EQ(client_.read_until("!"), "\x8a\x01!");
  sink->end();
  EXPECT_EQ(client_.read_until("\x03\xe8"), "\x88\x02\x03\xe8");
  client_.close();
  EXPECT_TRUE(eventually([&] { return closed_.load(); }));
}

TEST_F(WebSocketSinkTest, EventsAreTextsWithoutTheirEnd) {
  shape_.messages = WebSocketMessages::lines;
  const auto sink = ask();
  sink->start(200, {});
  EXPECT_EQ(head().find("Sec-WebSocket-Protocol"), std::string::npos);
  sink->write(piece("{\"a\":1}\n{\"b\":2}\n"));
  EXPECT_EQ(client_.read_until("{\"b\":2}"), "\x81\x07{\"a\":1}\x81\x07{\"b\":2}");
}

TEST_F(WebSocketSinkTest, Base64IsText) {
  shape_.messages = WebSocketMessages::base64;
  const auto sink = ask();
  sink->start(200, {});
  head();
  sink->write(piece(std::string("\0\xff", 2)));
  EXPECT_EQ(client_.read_until("AP8="),
            "\x81\x04"
            "AP8=");
}

TEST_F(WebSocketSinkTest, WhatIsNoStreamIsAnsweredAsEver) {
  const auto sink = ask();
  sink->respond(404, {}, "no such pod");
  EXPECT_NE(client_.read_until("no such pod").find("404"), std::string::npos);
}

TEST_F(WebSocketSinkTest, AClientThatClosesIsAnsweredAndTheStreamIsOver) {
  const auto sink = ask();
  sink->start(200, {});
  head();
  client_.send(std::string("\x88\x82\x00\x00\x00\x00\x03\xe8", 8));
  EXPECT_EQ(client_.read_until("\x03\xe8"), "\x88\x02\x03\xe8");
  client_.close();
  EXPECT_TRUE(eventually([&] { return closed_.load() && sink->closed(); }));
  sink->write(piece("nobody hears this"));
  EXPECT_TRUE(eventually([&] { return sink->backlog() == 0; }));
}

}  // namespace
}  // namespace sublet::net
