#include "simhost/session/port_forward.h"

#include <algorithm>
#include <map>
#include <optional>
#include <vector>

#include "simhost/session/spdy.h"
#include "sublet/net/websocket.h"

namespace sublet::simhost::session {
namespace {

constexpr std::size_t kHeadMax = 64 * 1024;

std::string header(const Spdy::Headers& headers, const std::string& name) {
  const auto found = headers.find(name);
  return found == headers.end() ? "" : found->second;
}

/// The pod's end of one forwarded connection.
class ForwardedConnection {
 public:
  ForwardedConnection(std::string pod, std::string port) : pod_(std::move(pod)), port_(std::move(port)) {}
  /// Returns the answer to what has come.
  std::string put(std::string_view bytes) {
    if (echoes_) return std::string(bytes);
    received_.append(bytes);
    const auto line_end = received_.find("\r\n");
    const bool http = line_end != std::string::npos && received_.rfind(" HTTP/1.", line_end) != std::string::npos;
    if (line_end != std::string::npos && !http) {
      echoes_ = true;
      return std::exchange(received_, {});
    }
    is_over_ = received_.size() > kHeadMax;
    if (is_over_ || !http || received_.find("\r\n\r\n") == std::string::npos) return {};
    is_over_ = true;
    const std::string asked = received_.substr(0, received_.find(" HTTP/1."));
    const std::string body = "simhost: pod " + pod_ + " port " + port_ + ": " + asked + "\n";
    return "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nConnection: close\r\nContent-Length: " +
           std::to_string(body.size()) + "\r\n\r\n" + body;
  }
  /// Returns what is left to send when the client sends no more.
  std::string end() {
    is_over_ = true;
    return std::exchange(received_, {});
  }
  /// The pod has closed the connection.
  bool is_over() const { return is_over_; }

 private:
  std::string pod_, port_, received_;
  bool echoes_ = false, is_over_ = false;
};

class SpdyForward final : public Session {
 public:
  SpdyForward(Protocol::Kind protocol, std::string pod, std::shared_ptr<Out> out)
      : pod_(std::move(pod)),
        out_(std::move(out)),
        spdy_({[this](std::uint32_t stream, const Spdy::Headers& headers) { opened(stream, headers); },
               [this](std::uint32_t stream, std::string_view bytes) { receive(stream, bytes); },
               [this](std::uint32_t stream) { ended(stream); }, [this](std::string bytes) { send(std::move(bytes)); },
               [this] { out_->close(); }}) {
    if (protocol != Protocol::Kind::spdy_over_websocket) return;
    socket_.emplace(net::WebSocket::Calls{[this](std::string_view message) { spdy_.put(message); },
                                          [this](std::string bytes) { out_->send(std::move(bytes)); },
                                          [this] { out_->end(); }});
  }
  void put(std::string_view bytes) override { socket_ ? socket_->put(bytes) : spdy_.put(bytes); }
  void over() override { out_->close(); }

 private:
  /// A forwarded connection has two streams: its bytes, and its errors.
  struct Streams {
    std::string id;
    ForwardedConnection connection;
  };

  void send(std::string bytes) { socket_ ? socket_->send(bytes) : out_->send(std::move(bytes)); }

  void opened(std::uint32_t stream, const Spdy::Headers& headers) {
    const std::string id = header(headers, "requestid"), type = header(headers, "streamtype");
    if (type == "error") errors_[id] = stream;
    if (type == "data") connections_.emplace(stream, Streams{id, {pod_, header(headers, "port")}});
  }
  void receive(std::uint32_t stream, std::string_view bytes) {
    const auto found = connections_.find(stream);
    if (found == connections_.end()) return;
    spdy_.write(stream, found->second.connection.put(bytes));
    if (found->second.connection.is_over()) end(stream);
  }
  void ended(std::uint32_t stream) {
    const auto found = connections_.find(stream);
    if (found == connections_.end()) return;
    spdy_.write(stream, found->second.connection.end());
    end(stream);
  }
  void end(std::uint32_t stream) {
    const auto found = connections_.find(stream);
    spdy_.end(stream);
    if (const auto error = errors_.find(found->second.id); error != errors_.end()) {
      spdy_.end(error->second);
      errors_.erase(error);
    }
    connections_.erase(found);
  }

  const std::string pod_;
  const std::shared_ptr<Out> out_;
  Spdy spdy_;
  std::optional<net::WebSocket> socket_;
  std::map<std::uint32_t, Streams> connections_;
  std::map<std::string, std::uint32_t> errors_;  // by request id
};

/// Port number I has channel 2 I for its bytes and the next one for its errors; both begin with the port.
class ChannelForward final : public Session {
 public:
  ChannelForward(const Protocol& protocol, const std::string& pod, std::shared_ptr<Out> out)
      : out_(out),
        socket_(protocol, std::move(out),
                {[this](unsigned char channel, std::string_view bytes) { receive(channel, bytes); },
                 [](unsigned char) {}, [] {}}) {
    for (const std::uint16_t port : protocol.ports) connections_.emplace_back(pod, std::to_string(port));
    for (std::size_t channel = 0; channel < 2 * protocol.ports.size(); ++channel) {
      const std::uint16_t port = protocol.ports[channel / 2];
      const char little_endian[] = {static_cast<char>(port & 0xff), static_cast<char>(port >> 8)};
      socket_.write(static_cast<unsigned char>(channel), {little_endian, sizeof(little_endian)});
    }
  }
  void put(std::string_view bytes) override { socket_.put(bytes); }
  void over() override { out_->close(); }

 private:
  void receive(unsigned char channel, std::string_view bytes) {
    if (channel % 2 != 0 || channel / 2 >= connections_.size() || connections_[channel / 2].is_over()) return;
    if (const std::string answer = connections_[channel / 2].put(bytes); !answer.empty())
      socket_.write(channel, answer);
    if (std::ranges::all_of(connections_, &ForwardedConnection::is_over)) socket_.finish();
  }

  const std::shared_ptr<Out> out_;
  std::vector<ForwardedConnection> connections_;
  ChannelSocket socket_;
};

}  // namespace

std::shared_ptr<Session> make_port_forward(const Protocol& protocol, std::string pod, std::shared_ptr<Out> out) {
  if (protocol.kind == Protocol::Kind::channels) return std::make_shared<ChannelForward>(protocol, pod, std::move(out));
  return std::make_shared<SpdyForward>(protocol.kind, std::move(pod), std::move(out));
}

}  // namespace sublet::simhost::session
