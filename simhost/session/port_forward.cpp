#include "simhost/session/port_forward.h"

#include <map>
#include <optional>

#include "simhost/session/spdy.h"
#include "sublet/net/websocket.h"

namespace sublet::simhost::session {
namespace {

constexpr std::size_t kHeadMax = 64 * 1024;

std::string header(const Spdy::Headers& headers, const std::string& name) {
  const auto found = headers.find(name);
  return found == headers.end() ? "" : found->second;
}

class PortForward final : public Session {
 public:
  PortForward(Protocol::Kind protocol, std::string pod, std::shared_ptr<Out> out)
      : pod_(std::move(pod)),
        out_(std::move(out)),
        spdy_({[this](std::uint32_t stream, const Spdy::Headers& headers) { opened(stream, headers); },
               [this](std::uint32_t stream, std::string_view bytes) { hear(stream, bytes); },
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
  /// One forwarded connection has two streams: its bytes, and what went wrong with it.
  struct Forwarded {
    std::string id, port, heard;
    bool echoes = false;
  };

  void send(std::string bytes) { socket_ ? socket_->send(bytes) : out_->send(std::move(bytes)); }

  void opened(std::uint32_t stream, const Spdy::Headers& headers) {
    const std::string id = header(headers, "requestid"), type = header(headers, "streamtype");
    if (type == "error") errors_[id] = stream;
    if (type == "data") connections_[stream] = {id, header(headers, "port"), {}, false};
  }

  void hear(std::uint32_t stream, std::string_view bytes) {
    const auto found = connections_.find(stream);
    if (found == connections_.end()) return;
    Forwarded& connection = found->second;
    if (connection.echoes) return spdy_.write(stream, bytes);
    connection.heard.append(bytes);
    const auto line_end = connection.heard.find("\r\n");
    const bool http =
        line_end != std::string::npos && connection.heard.rfind(" HTTP/1.", line_end) != std::string::npos;
    if (line_end != std::string::npos && !http) {
      connection.echoes = true;
      return spdy_.write(stream, std::exchange(connection.heard, {}));
    }
    if (connection.heard.size() > kHeadMax) return end(stream);
    if (!http || connection.heard.find("\r\n\r\n") == std::string::npos) return;
    const std::string asked = connection.heard.substr(0, connection.heard.find(" HTTP/1."));
    const std::string body = "simhost: pod " + pod_ + " port " + connection.port + ": " + asked + "\n";
    spdy_.write(stream, "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nConnection: close\r\nContent-Length: " +
                            std::to_string(body.size()) + "\r\n\r\n" + body);
    end(stream);
  }

  void ended(std::uint32_t stream) {
    const auto found = connections_.find(stream);
    if (found == connections_.end()) return;
    if (!found->second.heard.empty()) spdy_.write(stream, found->second.heard);
    end(stream);
  }

  void end(std::uint32_t stream) {
    const auto found = connections_.find(stream);
    if (found == connections_.end()) return;
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
  std::map<std::uint32_t, Forwarded> connections_;
  std::map<std::string, std::uint32_t> errors_;  // by request id
};

}  // namespace

std::shared_ptr<Session> make_port_forward(Protocol::Kind protocol, std::string pod, std::shared_ptr<Out> out) {
  return std::make_shared<PortForward>(protocol, std::move(pod), std::move(out));
}

}  // namespace sublet::simhost::session
