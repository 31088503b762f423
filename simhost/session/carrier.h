// Carrier: the upgraded connection of a session, and the protocol that it speaks. Sessions run on the kubelet's loop
// and connections on the server's: received bytes are posted to the session; a session writes from its own loop.
//
// Lifecycle: accept() answers the request; the connection owns the session that it makes.
// Threads: accept() on any; everything else on the loop that accept() is given.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "sublet/base/status.h"
#include "sublet/kube/pod_connect.h"
#include "sublet/net/duplex.h"
#include "sublet/net/loop.h"
#include "sublet/net/websocket.h"

namespace sublet::simhost::session {

/// How bytes are framed on a connection.
struct Protocol {
  enum class Kind {
    spdy,
    channels,             // WebSocket messages: a channel's number, then bytes
    spdy_over_websocket,  // kubectl port-forward
  } kind = Kind::spdy;
  bool base64 = false;                 // channels: messages are text, the bytes in base64
  bool closes_input = false;           // channels: v5, a client can end its input
  bool plain_status = false;           // channels before v4: a failure is a text, success is silence
  std::vector<std::uint16_t> ports{};  // channels: those to forward
  net::Headers answer{};               // with 101
};

/// Chooses among the protocols that the client offers, in its order; bad_request when none of them is known.
Result<Protocol> negotiate(const kube::PodConnectRequest& request);

/// Sends to the client of a session.
class Out {
 public:
  explicit Out(std::shared_ptr<net::Duplex> connection) : connection_(std::move(connection)) {}
  void send(std::string bytes);
  /// Ends the connection after what was sent.
  void end() { connection_->end(); }
  void close() { connection_->close(); }

 private:
  static constexpr std::size_t kBacklogMax = 16 * 1024 * 1024;  // a client that does not read
  const std::shared_ptr<net::Duplex> connection_;
};

/// Receives from the client of a session.
class Session {
 public:
  virtual ~Session() = default;
  virtual void put(std::string_view bytes) = 0;
  virtual void over() = 0;
};

/// Answers 101 and begins `make`'s session on `loop`; closes the connection if that is null.
void accept(net::Loop& loop, const Protocol& protocol, const std::shared_ptr<net::ResponseSink>& sink,
            std::function<std::shared_ptr<Session>(std::shared_ptr<Out>)> make);

/// Messages of numbered channels over a WebSocket (k8s.io/apimachinery/pkg/util/httpstream/wsstream).
class ChannelSocket {
 public:
  struct Calls {
    std::function<void(unsigned char channel, std::string_view bytes)> bytes;
    std::function<void(unsigned char channel)> ended;
    std::function<void()> over;
  };
  ChannelSocket(const Protocol& protocol, std::shared_ptr<Out> out, Calls calls);
  void put(std::string_view bytes) { socket_.put(bytes); }
  void write(unsigned char channel, std::string_view bytes);
  /// Ends the connection after what was written.
  void finish();

 private:
  void receive(std::string_view message);

  const Calls calls_;
  const std::shared_ptr<Out> out_;
  const bool base64_, closes_input_;
  net::WebSocket socket_;
};

}  // namespace sublet::simhost::session
