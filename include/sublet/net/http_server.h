// HttpServer: HTTP/1.1 over TLS or a unix socket, on a loop that the caller owns and, when the limits allow and there
// is more than one TLS connection, on further ones of its own, which end when they are idle.
//
// listen_*() may be called several times before or while the loop runs; connections call the one handler. Streaming
// answers, keep-alive, pipelining (answers in order), Expect: 100-continue, header and body limits, idle and header
// timeouts. Connections whose peers have not shown who they are (strangers) have limits of their own, and the oldest
// makes room for the newest: they cannot take the places of those who have. HTTP/2 will come behind ALPN as a second
// connection class with the same handler. Lifecycle: stop() closes listeners, lets running exchanges finish within
// `grace`, then closes what is left; call it from any thread and keep the loop running until it returns. With several
// loops the server must not be destroyed by its handler.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "sublet/base/descriptor.h"
#include "sublet/net/http.h"
#include "sublet/net/loop.h"
#include "sublet/net/tls_context.h"

namespace sublet::net {

/// What peers may hold together before they have shown who they are: by a verified certificate, or because the handler
/// says so (ResponseSink::peer_is_known()). Whoever is above a limit is closed, the oldest of the address with the most
/// first. Peers on the unix socket are no strangers.
struct StrangerLimits {
  std::size_t connections_max = 1024;
  std::size_t connections_per_address_max = 1024;  // an IPv4 address or an IPv6 /64; a load balancer is one address
  std::size_t bytes_max = 16 * 1024 * 1024;        // heads and bodies that are not complete
};

struct HttpServerLimits {
  std::size_t header_bytes_max = 64 * 1024;
  std::size_t body_bytes_max = 3 * 1024 * 1024 + 64 * 1024;  // above it: 413 with a Status body
  std::size_t connections_max = 8192;  // above it: a stranger makes room, else accepted and closed at once
  StrangerLimits strangers = {};
  bool heads_first = false;   // the handler is called before a body has come, and asks for it (Request::body_follows)
  std::size_t loops_max = 1;  // above one, the handler is called on several threads
  std::chrono::milliseconds idle_loop_time{10'000};  // a further loop ends after one to two of these without use
  std::chrono::milliseconds header_timeout{10'000};  // TLS handshake and request head
  std::chrono::milliseconds body_timeout{60'000};
  std::chrono::milliseconds idle_timeout{180'000};  // between requests of a kept connection
  // The peer takes nothing while a backlog waits. A receiver at 1 KiB/s that opens its window 64 KiB at a time needs
  // one minute to show that it lives.
  std::chrono::milliseconds stalled_write_timeout{150'000};
};

class HttpServer {
 public:
  HttpServer(Loop& loop, Handler handler, HttpServerLimits limits = {});
  ~HttpServer();

  /// "127.0.0.1:6443", "[::1]:0"; port 0 picks one. Returns the bound "host:port".
  Result<std::string> listen_tls(const std::string& address, std::shared_ptr<TlsContext> tls);
  /// Removes a stale socket file; mode 0600. The peer is PeerIdentity::unix_socket.
  Outcome listen_unix(const std::string& path);
  /// The same in two steps, for a process that may make no file there any more when it serves: whoever connects in
  /// between is refused.
  static Result<Descriptor> bind_unix(const std::string& path);
  Outcome listen_unix(Descriptor bound, const std::string& path);
  /// The material of connections that are accepted from now on, on every TLS address; those that stand keep theirs. Any
  /// thread.
  void use_tls(const std::shared_ptr<TlsContext>& tls);
  /// Soon ends every connection to such a peer, whatever it is in the midst of: watches, and what has been upgraded.
  /// `meant` is called on the loops' threads. Any thread.
  void close_peers(const std::function<bool(const PeerIdentity&)>& meant);
  std::size_t connections() const;
  /// How many loops serve now.
  std::size_t loops() const;
  void stop(std::chrono::milliseconds grace);

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace sublet::net
