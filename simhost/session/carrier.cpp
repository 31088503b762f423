#include "simhost/session/carrier.h"

#include <algorithm>

#include "sublet/base/host_port.h"
#include "sublet/base/text.h"
#include "sublet/kube/websocket_protocols.h"
#include "sublet/net/header_words.h"
#include "sublet/schema/engine.h"

namespace sublet::simhost::session {
namespace {

using Kind = Protocol::Kind;

struct WebSocketRow {
  std::string_view name;  // "": the client names none
  bool forwards_ports;
  Kind kind = Kind::channels;
  bool base64 = false, closes_input = false, plain_status = false;
};
constexpr WebSocketRow kWebSocketProtocols[] = {
    {"v5.channel.k8s.io", false, Kind::channels, false, true},
    {"v4.channel.k8s.io", false},
    {"v4.base64.channel.k8s.io", false, Kind::channels, true},
    {"channel.k8s.io", false, Kind::channels, false, false, true},
    {"base64.channel.k8s.io", false, Kind::channels, true, false, true},
    {"", false, Kind::channels, false, false, true},
    {"SPDY/3.1+portforward.k8s.io", true, Kind::spdy_over_websocket},
    {"v4.channel.k8s.io", true},
    {"v4.base64.channel.k8s.io", true, Kind::channels, true},
    {"", true},
};
constexpr std::string_view kSpdySession = "v4.channel.k8s.io", kSpdyPortForward = "portforward.k8s.io";
constexpr unsigned char kCloseChannel = 255;  // of v5: the channel that follows is closed

bool offers(const net::Headers& headers, std::string_view header, std::string_view wanted) {
  bool offered = false;
  for (const auto list : headers.all(header))
    net::each_word(list, [&](std::string_view word) { offered = offered || word == wanted; });
  return offered;
}

const WebSocketRow* choose(const net::Headers& headers, bool forwards_ports) {
  std::vector<std::string> offered = kube::websocket_protocols(headers);
  if (offered.empty()) offered.emplace_back();
  for (const std::string& name : offered)
    for (const WebSocketRow& row : kWebSocketProtocols)
      if (row.name == name && row.forwards_ports == forwards_ports) return &row;
  return nullptr;
}

/// The query's ports, each `ports=80,443` or alone.
Result<std::vector<std::uint16_t>> read_ports(const std::string& query) {
  std::vector<std::uint16_t> out;
  for (const auto& [key, value] : net::parse_query(query)) {
    if (key != "ports") continue;
    for (const std::string_view text : split(value, ',')) {
      const auto port = parse_port(text);
      if (port.value_or(0) == 0) return bad_request("unable to parse \"" + value + "\" as a port");
      out.push_back(static_cast<std::uint16_t>(*port));
    }
  }
  if (out.empty()) return bad_request("query parameter \"port\" is required");
  if (out.size() > 100) return bad_request("at most 100 ports can be forwarded over one WebSocket");  // 2 channels each
  return out;
}

/// Posts the bytes of a connection to the session's loop, in their order.
class ConnectionObserver final : public net::Duplex::Observer {
 public:
  ConnectionObserver(net::Loop& loop, std::shared_ptr<Session> session, std::shared_ptr<net::ResponseSink> sink)
      : loop_(loop), session_(std::move(session)), sink_(std::move(sink)) {}
  void on_bytes(std::string_view bytes) override {
    loop_.post([session = session_, text = std::string(bytes)] { session->put(text); });
  }
  void on_drain() override {}
  void on_end() override { on_over(); }  // a client that sends no more has gone
  void on_over() override {
    loop_.post([session = session_] { session->over(); });
  }

 private:
  net::Loop& loop_;
  const std::shared_ptr<Session> session_;
  const std::shared_ptr<net::ResponseSink> sink_;  // keeps the right to the connection revocable
};

Result<Protocol> negotiate_spdy(const kube::PodConnectRequest& request, bool ports) {
  const std::string_view version = ports ? kSpdyPortForward : kSpdySession;
  if (!offers(request.headers, "X-Stream-Protocol-Version", version))
    return fail(Reason::forbidden,
                "unable to upgrade: unable to negotiate protocol: server supports [" + std::string(version) + "]");
  Protocol out;
  out.answer = {
      {"Connection", "Upgrade"}, {"Upgrade", "SPDY/3.1"}, {"X-Stream-Protocol-Version", std::string(version)}};
  return out;
}

}  // namespace

Result<Protocol> negotiate(const kube::PodConnectRequest& request) {
  const bool ports = request.subresource == "portforward";
  const std::string upgrade(request.headers.get("Upgrade"));
  if (upgrade == "SPDY/3.1") return negotiate_spdy(request, ports);
  if (upgrade != "websocket" || request.headers.get("Sec-WebSocket-Key").empty())
    return bad_request("unable to upgrade: the request asks for neither SPDY/3.1 nor a WebSocket");
  const WebSocketRow* row = choose(request.headers, ports);
  if (!row) {
    std::string known;
    for (const WebSocketRow& each : kWebSocketProtocols)
      if (each.forwards_ports == ports && !each.name.empty())
        known += (known.empty() ? "" : " ") + std::string(each.name);
    return bad_request("unable to upgrade: unable to negotiate protocol: server supports [" + known + "]");
  }
  Protocol out{row->kind, row->base64, row->closes_input, row->plain_status, {}, {}};
  out.answer = {{"Connection", "Upgrade"},
                {"Upgrade", upgrade},
                {"Sec-WebSocket-Accept", net::websocket_accept(request.headers.get("Sec-WebSocket-Key"))}};
  if (!row->name.empty()) out.answer.add("Sec-WebSocket-Protocol", std::string(row->name));
  if (!ports || out.kind != Kind::channels) return out;
  auto wanted = read_ports(request.query);
  if (!wanted) return fail(wanted.error());
  out.ports = std::move(*wanted);
  return out;
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
      upgraded->start(std::make_shared<ConnectionObserver>(loop, session, sink));
    });
  });
}

ChannelSocket::ChannelSocket(const Protocol& protocol, std::shared_ptr<Out> out, Calls calls)
    : calls_(std::move(calls)),
      out_(std::move(out)),
      base64_(protocol.base64),
      closes_input_(protocol.closes_input),
      socket_({[this](std::string_view message) { receive(message); },
               [this](std::string bytes) { out_->send(std::move(bytes)); },
               [this] {
                 out_->end();
                 calls_.over();
               }}) {}

void ChannelSocket::receive(std::string_view message) {
  if (message.empty()) return;
  auto channel = static_cast<unsigned char>(message[0]);
  if (base64_) {
    const auto bytes = schema::base64_decode(message.substr(1));
    if (bytes) calls_.bytes(static_cast<unsigned char>(channel - '0'), *bytes);
    return;
  }
  if (closes_input_ && channel == kCloseChannel && message.size() == 2)
    return calls_.ended(static_cast<unsigned char>(message[1]));
  calls_.bytes(channel, message.substr(1));
}

void ChannelSocket::write(unsigned char channel, std::string_view bytes) {
  if (base64_)
    return socket_.send_text(std::string(1, static_cast<char>('0' + channel)) + schema::base64_encode(bytes));
  std::string message(1, static_cast<char>(channel));
  socket_.send(message.append(bytes));
}

void ChannelSocket::finish() {
  socket_.close();
  out_->end();
}

}  // namespace sublet::simhost::session
