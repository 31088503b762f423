// Sessions against a client's end written here: what each WebSocket protocol carries for exec, attach and port-forward.
#include <gtest/gtest.h>

#include <chrono>
#include <map>
#include <string>
#include <vector>

#include "simhost/session/container_session.h"
#include "simhost/session/port_forward.h"
#include "sublet/base/mutex.h"
#include "sublet/base/random.h"
#include "sublet/schema/engine.h"

namespace sublet::simhost::session {
namespace {

constexpr std::chrono::seconds kPatience{30};

/// A connection that keeps the WebSocket messages that were written to it.
class RecordingConnection final : public net::Duplex {
 public:
  void start(std::shared_ptr<Observer>) override {}
  void write(std::string bytes) override {
    const MutexLock lock(mutex_);
    received_ += bytes;
    while (take_frame()) {
    }
    changed_.notify_all();
  }
  void end() override {
    const MutexLock lock(mutex_);
    ended_ = true;
    changed_.notify_all();
  }
  void close() override { end(); }
  void pause(bool) override {}
  std::size_t backlog() const override { return 0; }
  const std::shared_ptr<net::Courier>& courier() const override { return courier_; }

  /// All bytes of a channel, once `done` holds for them.
  std::string wait_for(char channel, const std::function<bool(const std::string&)>& done) {
    MutexLock lock(mutex_);
    EXPECT_TRUE(changed_.wait_for(lock, kPatience, [&]() SUBLET_REQUIRES(mutex_) { return done(channels_[channel]); }))
        << "channel " << static_cast<int>(channel) << " has " << testing::PrintToString(channels_[channel]);
    return channels_[channel];
  }
  std::string wait_for_end(char channel) {
    MutexLock lock(mutex_);
    EXPECT_TRUE(changed_.wait_for(lock, kPatience, [&]() SUBLET_REQUIRES(mutex_) { return ended_; }));
    return channels_[channel];
  }
  std::vector<std::string> messages() {
    const MutexLock lock(mutex_);
    return messages_;
  }

 private:
  bool take_frame() SUBLET_REQUIRES(mutex_) {
    if (received_.size() < 2) return false;
    std::size_t size = static_cast<unsigned char>(received_[1]), head = 2;
    if (size == 126) {
      if (received_.size() < 4) return false;
      size = static_cast<unsigned char>(received_[2]) * 256u + static_cast<unsigned char>(received_[3]);
      head = 4;
    }
    if (received_.size() < head + size) return false;
    const bool is_data = (received_[0] & 0x0f) < 8;
    const std::string message = received_.substr(head, size);
    received_.erase(0, head + size);
    if (!is_data || message.empty()) return true;
    messages_.push_back(message);
    channels_[message[0]] += message.substr(1);
    return true;
  }

  Mutex mutex_;
  CondVar changed_;
  std::string received_ SUBLET_GUARDED_BY(mutex_);
  std::map<char, std::string> channels_ SUBLET_GUARDED_BY(mutex_);
  std::vector<std::string> messages_ SUBLET_GUARDED_BY(mutex_);
  bool ended_ SUBLET_GUARDED_BY(mutex_) = false;
  std::shared_ptr<net::Courier> courier_;
};

std::string client_frame(std::string_view payload, unsigned char first = 0x82) {
  std::string frame(1, static_cast<char>(first));
  frame += static_cast<char>(0x80 | payload.size());
  return frame.append(4, '\0').append(payload);  // masked with zeroes
}

Protocol negotiated(const std::string& subresource, const std::string& protocols, const std::string& query = "") {
  kube::PodConnectRequest request;
  request.subresource = subresource;
  request.query = query;
  request.headers = {{"Upgrade", "websocket"}, {"Sec-WebSocket-Key", "key"}};
  if (!protocols.empty()) request.headers.add("Sec-WebSocket-Protocol", protocols);
  const auto out = negotiate(request);
  EXPECT_TRUE(out) << protocols << (out ? "" : ": " + out.error().message);
  return out.value_or(Protocol());
}

class SessionTest : public testing::Test {
 protected:
  SessionTest() : loop_("session") { world_.random = &random_; }
  ~SessionTest() override {
    loop_.loop().run_sync([this] { session_.reset(); });
  }
  void exec(const std::string& protocols, shell::Words command, WantedChannels wanted, MainProcessCalls calls = {}) {
    const Protocol protocol = negotiated("exec", protocols);
    loop_.loop().run_sync([&] {
      session_ = make_exec({loop_.loop(), Clock::system(), protocol, wanted}, std::move(command), world_,
                           std::make_shared<Out>(connection_), std::move(calls));
    });
  }
  void send(std::string frame) {
    loop_.loop().run_sync([&] { session_->put(frame); });
  }

  net::LoopThread loop_;
  SeededRandom random_{1};
  shell::World world_;
  std::shared_ptr<RecordingConnection> connection_ = std::make_shared<RecordingConnection>();
  std::shared_ptr<Session> session_;
};

constexpr WantedChannels kOutputs{.output = true, .errors = true};
constexpr WantedChannels kAll{.input = true, .output = true, .errors = true};

TEST(Negotiation, TakesTheClientsFirstKnownProtocol) {
  EXPECT_EQ(negotiated("exec", "x, v4.channel.k8s.io, v5.channel.k8s.io").answer.get("Sec-WebSocket-Protocol"),
            "v4.channel.k8s.io");
  EXPECT_TRUE(negotiated("exec", "v5.channel.k8s.io").closes_input);
  EXPECT_TRUE(negotiated("exec", "base64.channel.k8s.io").base64);
  EXPECT_TRUE(negotiated("exec", "").plain_status);
  EXPECT_FALSE(negotiated("exec", "").answer.has("Sec-WebSocket-Protocol"));
  EXPECT_EQ(negotiated("portforward", "SPDY/3.1+portforward.k8s.io").kind, Protocol::Kind::spdy_over_websocket);
  const Protocol ports = negotiated("portforward", "v4.channel.k8s.io", "ports=80&ports=443,8080");
  EXPECT_EQ(ports.kind, Protocol::Kind::channels);
  EXPECT_EQ(ports.ports, (std::vector<std::uint16_t>{80, 443, 8080}));
}

TEST(Negotiation, RefusesWhatItDoesNotKnow) {
  kube::PodConnectRequest request;
  request.subresource = "portforward";
  request.headers = {{"Upgrade", "websocket"}, {"Sec-WebSocket-Key", "key"}, {"Sec-WebSocket-Protocol", "other"}};
  EXPECT_EQ(negotiate(request).error().message,
            "unable to upgrade: unable to negotiate protocol: server supports [SPDY/3.1+portforward.k8s.io "
            "v4.channel.k8s.io v4.base64.channel.k8s.io]");
  request.headers.set("Sec-WebSocket-Protocol", "v4.channel.k8s.io");
  EXPECT_EQ(negotiate(request).error().message, "query parameter \"port\" is required");
  for (const char* query : {"ports=", "ports=0", "ports=x", "ports=70000", "ports=80,"}) {
    request.query = query;
    EXPECT_FALSE(negotiate(request)) << query;
  }
}

TEST_F(SessionTest, ErrorsHaveTheirOwnChannel) {
  exec("v4.channel.k8s.io", {"sh", "-c", "echo out; echo err >&2; exit 3"}, kOutputs);
  EXPECT_NE(connection_->wait_for_end(3).find("NonZeroExitCode"), std::string::npos);
  EXPECT_EQ(connection_->wait_for_end(1), "out\n");
  EXPECT_EQ(connection_->wait_for_end(2), "err\n");
  EXPECT_EQ(connection_->messages().front(), "\x01") << "an empty message first, as the kubelet's";
}

TEST_F(SessionTest, AChannelThatIsNotWantedStaysSilent) {
  exec("v4.channel.k8s.io", {"sh", "-c", "echo out; echo err >&2"}, {.output = true});
  EXPECT_EQ(connection_->wait_for_end(1), "out\n");
  EXPECT_EQ(connection_->wait_for_end(2), "");
}

TEST_F(SessionTest, OnATerminalErrorsComeWithTheOutput) {
  exec("v4.channel.k8s.io", {"sh", "-c", "echo err >&2"}, {.output = true, .tty = true});
  EXPECT_EQ(connection_->wait_for_end(1), "err\r\n");
  EXPECT_EQ(connection_->wait_for_end(2), "");
}

TEST_F(SessionTest, AnOldClientLearnsTheStatusAsText) {
  exec("channel.k8s.io", {"false"}, kOutputs);
  EXPECT_EQ(connection_->wait_for_end(3), "command terminated with non-zero exit code: exit status 1");
}

TEST_F(SessionTest, Base64IsSpokenBothWays) {
  exec("v4.base64.channel.k8s.io", {"sh", "-c", "read x; echo got $x"}, kAll);
  send(client_frame("0" + schema::base64_encode("hi\n"), 0x81));
  EXPECT_EQ(schema::base64_decode(connection_->wait_for_end('1')), "got hi\n");
}

TEST_F(SessionTest, InputIsReadAsItArrives) {
  exec("v5.channel.k8s.io", {"sh", "-c", "while read x; do echo got $x; done; echo end; exit 5"}, kAll);
  const auto has = [](const char* text) { return [text](const std::string& all) { return all.ends_with(text); }; };
  send(client_frame(std::string("\0one\nt", 6)));
  connection_->wait_for(1, has("got one\n"));
  send(client_frame(std::string("\0wo\n", 4)));
  connection_->wait_for(1, has("got two\n"));
  send(client_frame(std::string("\xff\0", 2)));  // the end of channel 0
  EXPECT_EQ(connection_->wait_for_end(1), "got one\ngot two\nend\n");
  EXPECT_NE(connection_->wait_for_end(3).find("exit status 5"), std::string::npos);
}

TEST_F(SessionTest, FilesOfACommandWithInputAreWrittenOnce) {
  exec("v5.channel.k8s.io", {"sh", "-c", "while read x; do echo $x >> /log; done"}, kAll);
  for (const char* line : {"a\n", "b\n", "c\n"}) send(client_frame(std::string(1, '\0') + line));
  send(client_frame(std::string("\xff\0", 2)));
  connection_->wait_for_end(3);
  EXPECT_EQ(world_.files.read("/log", Clock::system().now()), "a\nb\nc\n");
}

TEST_F(SessionTest, ATerminalEchoesAndEndsTheInputWithControlD) {
  exec("v4.channel.k8s.io", {"cat"}, {.input = true, .output = true, .tty = true});
  send(client_frame(std::string("\0hi\r", 4)));
  connection_->wait_for(1, [](const std::string& all) { return all == "hi\r\nhi\r\n"; });
  send(client_frame(std::string("\0\x04", 2)));
  EXPECT_NE(connection_->wait_for_end(3).find("Success"), std::string::npos);
}

TEST_F(SessionTest, TheOwnerOfAMainProcessSeesItsOutputAndItsEnd) {
  Mutex mutex;
  std::string printed;
  std::vector<int> ends;
  MainProcessCalls calls;
  calls.printed = [&](const Play::Piece& piece) {
    const MutexLock lock(mutex);
    printed += piece.bytes;
  };
  calls.ended = [&](int exit_code) {
    const MutexLock lock(mutex);
    ends.push_back(exit_code);
  };
  exec("v4.channel.k8s.io", {"sh"}, kAll, calls);
  send(client_frame(std::string("\0echo a; exit 4\n", 16)));
  EXPECT_NE(connection_->wait_for_end(3).find("Success"), std::string::npos) << "attach reports no exit code";
  loop_.loop().run_sync([this] { session_->over(); });
  const MutexLock lock(mutex);
  EXPECT_EQ(printed, "a\n");
  EXPECT_EQ(ends, std::vector<int>{4});
}

TEST_F(SessionTest, PortsAreForwardedOverChannels) {
  const Protocol protocol = negotiated("portforward", "v4.channel.k8s.io", "ports=80&ports=8080");
  loop_.loop().run_sync([&] { session_ = make_port_forward(protocol, "ns/web", std::make_shared<Out>(connection_)); });
  const std::string first = connection_->wait_for(0, [](const std::string& all) { return all.size() == 2; });
  EXPECT_EQ(first, std::string("\x50\x00", 2)) << "the port, little-endian";
  EXPECT_EQ(connection_->wait_for(3, [](const std::string& all) { return all.size() == 2; }), std::string("\x90\x1f"));
  send(client_frame(std::string(1, '\0') + "GET /path HTTP/1.1\r\nHost: x\r\n\r\n"));
  const std::string answer = connection_->wait_for(0, [](const std::string& all) { return all.ends_with("\n"); });
  EXPECT_NE(answer.find("simhost: pod ns/web port 80: GET /path\n"), std::string::npos) << answer;
  send(client_frame("\x02no http\r\n"));
  EXPECT_EQ(connection_->wait_for(2, [](const std::string& all) { return all.ends_with("\n"); }).substr(2),
            "no http\r\n");
}

}  // namespace
}  // namespace sublet::simhost::session
