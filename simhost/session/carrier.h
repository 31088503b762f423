// Carrier: what a session is spoken over: the upgraded connection with its protocol chosen and answered. Sessions run
// on the kubelet's loop; connections on the server's: what comes is posted, what goes is written from here.
//
// Lifecycle: accept() answers the request; the session that it makes is kept by the connection until that is over.
// Threads: accept() on any; everything else on the loop that it is given.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "sublet/base/status.h"
#include "sublet/kube/pod_connect.h"
#include "sublet/net/duplex.h"
#include "sublet/net/loop.h"

namespace sublet::simhost::session {

/// How bytes are framed on a connection.
struct Protocol {
  enum class Kind { spdy, channels_v4, channels_v5, spdy_over_websocket } kind = Kind::spdy;
  bool is_websocket() const { return kind != Kind::spdy; }
  net::Headers answer;  // with 101
};

/// What the client offers, chosen for the subresource; bad_request when none of it is spoken here.
Result<Protocol> negotiate(const kube::PodConnectRequest& request);

/// The way out for a session.
class Out {
 public:
  explicit Out(std::shared_ptr<net::Duplex> connection) : connection_(std::move(connection)) {}
  void send(std::string bytes);
  /// Behind what was sent.
  void end() { connection_->end(); }
  void close() { connection_->close(); }

 private:
  static constexpr std::size_t kBacklogMax = 16 * 1024 * 1024;  // a client that does not read
  const std::shared_ptr<net::Duplex> connection_;
};

/// What hears a connection.
class Session {
 public:
  virtual ~Session() = default;
  virtual void put(std::string_view bytes) = 0;
  virtual void over() = 0;
};

/// Answers 101 and begins `make`'s session on `loop`; where that is null, the connection is closed.
void accept(net::Loop& loop, const Protocol& protocol, const std::shared_ptr<net::ResponseSink>& sink,
            std::function<std::shared_ptr<Session>(std::shared_ptr<Out>)> make);

}  // namespace sublet::simhost::session
