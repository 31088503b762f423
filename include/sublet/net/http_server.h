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
#include "sublet/net/server_limits.h"
#include "sublet/net/tls_context.h"

namespace sublet::net {

class HttpServer {
 public:
  HttpServer(Loop& loop, Handler handler, HttpServerLimits limits = {});
  ~HttpServer();

  /// "127.0.0.1:6443", "[::1]:0"; port 0 picks one. Returns the bound "host:port".
  Result<std::string> listen_tls(const std::string& address, std::shared_ptr<TlsContext> tls);
  /// Removes a stale socket file; mode 0600. The peer is PeerIdentity::unix_socket.
  Outcome listen_unix(const std::string& path);
  /// The same in two steps, for a process that may create no file there when it serves. A peer that connects in between
  /// is refused.
  static Result<Descriptor> bind_unix(const std::string& path);
  Outcome listen_unix(Descriptor bound, const std::string& path);
  /// Replaces the TLS context of connections accepted from now on, on every TLS address. Existing connections keep
  /// theirs. Any thread.
  void use_tls(const std::shared_ptr<TlsContext>& tls);
  /// Closes every connection to such a peer soon, including watches and upgraded connections. `meant` is called on the
  /// loops' threads. Any thread.
  void close_peers(const std::function<bool(const PeerIdentity&)>& meant);
  std::size_t connections() const;
  /// Returns how many loops serve now.
  std::size_t loops() const;
  void stop(std::chrono::milliseconds grace);

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace sublet::net
