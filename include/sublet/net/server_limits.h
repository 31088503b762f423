// server_limits: sizes, counts and times that an HttpServer enforces. A value; see http_server.h.
#pragma once

#include <chrono>
#include <cstddef>

namespace sublet::net {

/// What unauthenticated peers ("strangers") may hold together. A peer is authenticated by a verified certificate or by
/// the handler (ResponseSink::peer_is_known()). Above a limit a stranger is closed: the oldest of the address that has
/// the most. Peers on the unix socket are never strangers.
struct StrangerLimits {
  std::size_t connections_max = 1024;
  std::size_t connections_per_address_max = 1024;  // an IPv4 address or an IPv6 /64; a load balancer is one address
  std::size_t bytes_max = 16 * 1024 * 1024;        // heads and bodies that are not complete
};

struct HttpServerLimits {
  std::size_t header_bytes_max = 64 * 1024;
  std::size_t body_bytes_max = 3 * 1024 * 1024 + 64 * 1024;  // above it: 413 with a Status body
  std::size_t connections_max = 8192;  // above it a stranger is closed, or else the new connection
  StrangerLimits strangers = {};
  bool heads_first = false;   // the handler is called before a body has come, and asks for it (Request::body_follows)
  std::size_t loops_max = 1;  // above one, the handler is called on several threads
  std::chrono::milliseconds idle_loop_time{10'000};  // a further loop ends after one to two of these without use
  std::chrono::milliseconds header_timeout{10'000};  // TLS handshake and request head
  std::chrono::milliseconds body_timeout{60'000};
  std::chrono::milliseconds idle_timeout{180'000};  // between requests of a kept connection
  // How long a peer may read nothing while a backlog waits. A receiver at 1 KiB/s that opens its window 64 KiB at a
  // time takes one minute.
  std::chrono::milliseconds stalled_write_timeout{150'000};
};

}  // namespace sublet::net
