#include "simhost/session/carrier.h"

#include <algorithm>
#include <array>
#include <vector>

#include "sublet/net/courier.h"
#include "sublet/net/header_words.h"
#include "sublet/net/websocket.h"

namespace sublet::simhost::session {
namespace {

struct WebSocketRow {
  std::string_view name;
  Protocol::Kind kind;
  bool forwards_ports;
};
constexpr WebSocketRow kWebSocketProtocols[] = {
    {"v5.channel.k8s.io", Protocol::Kind::channels_v5, false},
    {"v4.channel.k8s.io", Protocol::Kind::channels_v4, false},
    {"SPDY/3.1+portforward.k8s.io", Protocol::Kind::spdy_over_websocket, true},
};
constexpr std::string_view kSpdySession = "v4.channel.k8s.io", kSpdyPortForward = "portforward.k8s.io";

bool offers(const net::Headers& headers, std::string_view header, std::string_view wanted) {
  bool offered = false;
  for (const auto list : headers.all(header))
    net::each_word(list, [&](std::string_view word) { offered = offered || word == wanted; });
  return offered;
}

/// Bytes of a connection, brought to the session's loop in their order.
class Ear final : public net::Duplex::Observer {
 public:
  Ear(net::Loop& loop, std::shared_ptr<Session> session, std::shared_ptr<net::ResponseSink> sink)
      : loop_(loop), session_(std::move(session)), sink_(std::move(sink)) {}
  void on_bytes(std::string_view bytes) override {
    loop_.post([session = session_, text = std::string(bytes)] { session->put(text); });
  }
  void on_drain() override {}
  void on_end() override { on_over(); }  // who sends no more has gone
  void on_over() override {
    loop_.post([session = session_] { session->over(); });
  }

 private:
  net::Loop& loop_;
  const std::shared_ptr<Session> session_;
  const std::shared_ptr<net::ResponseSink> sink_;  // as long as the connection: who revokes its right finds it
};

}  // namespace

Result<Protocol> negotiate(const kube::PodConnectRequest& request) {
  const bool ports = request.subresource == "portforward";
  const std::string upgrade(request.headers.get("Upgrade"));
  if (upgrade == "SPDY/3.1") {
    const std::string_view version = ports ? kSpdyPortForward : kSpdySession;
    if (!offers(request.headers, "X-Stream-Protocol-Version", version))
      return fail(Reason::forbidden,
                  "unable to upgrade: unable to negotiate protocol: server supports [" + std::string(version) + "]");
    return Protocol{
        Protocol::Kind::spdy,
        {{"Connection", "Upgrade"}, {"Upgrade", upgrade}, {"X-Stream-Protocol-Version", std::string(version)}}};
  }
  if (upgrade != "websocket" || request.headers.get("Sec-WebSocket-Key").empty())
    return bad_request("unable to upgrade: neither SPDY/3.1 nor a WebSocket is asked for");
  for (const WebSocketRow& row : kWebSocketProtocols) {
    if (row.forwards_ports != ports || !offers(request.headers, "Sec-WebSocket-Protocol", row.name)) continue;
    return Protocol{row.kind,
                    {{"Connection", "Upgrade"},
                     {"Upgrade", upgrade},
                     {"Sec-WebSocket-Accept", net::websocket_accept(request.headers.get("Sec-WebSocket-Key"))},
                     {"Sec-WebSocket-Protocol", std::string(row.name)}}};
  }
  return bad_request("unable to upgrade: no WebSocket protocol that is offered is spoken here");
}

void Out::send(std::string bytes) {
  if (connection_->backlog() > kBacklogMax) return connection_->close();
  connection_->write(std::move(bytes));
}

void accept(net::Loop& loop, const Protocol& protocol, const std::shared_ptr<net::ResponseSink>& sink,
            std::function<std::shared_ptr<Session>(std::shared_ptr<Out>)> make) {
  auto* const connection = net::upgradable(*sink);
  if (!connection) return sink->respond(400, {{"Content-Type", "text/plain"}}, "Upgrade request required");
  connection->upgrade(protocol.answer, [&loop, make = std::move(make), sink](std::shared_ptr<net::Duplex> upgraded) {
    loop.post([&loop, make, sink, upgraded = std::move(upgraded)] {
      const auto session = make(std::make_shared<Out>(upgraded));
      if (!session) return upgraded->close();
      upgraded->start(std::make_shared<Ear>(loop, session, sink));
    });
  });
}

}  // namespace sublet::simhost::session
