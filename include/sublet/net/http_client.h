// HttpClient: a Transport over TLS, plain TCP (tests) or a unix socket, with connection reuse.
//
// Runs on a loop that must outlive it. Idle connections are kept up to `idle_connections_max` and reused, newest first;
// a request that fails on a reused connection before any byte of the answer is retried once on a new one when the
// connection was closed by the peer (idle race); it is never sent twice once an answer began. POST and PATCH are
// retried only when nothing of them was sent: they may have had an effect. Streams (watches) hold a connection of their
// own. Thread-safe.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "sublet/net/endpoint.h"
#include "sublet/net/http.h"
#include "sublet/net/loop.h"

struct sockaddr;

namespace sublet::net {

struct HttpClientOptions {
  std::size_t connections_max = 64;       // streams included; further requests wait in a queue
  std::size_t idle_connections_max = 32;  // as many as a syncer at full load has calls in flight
  std::chrono::milliseconds connect_timeout{10'000};
  std::chrono::milliseconds idle_timeout{90'000};
  /// Called before each connection to an address of the endpoint's name. Returns why it is refused; empty: allowed.
  /// Null: all addresses are allowed.
  std::function<std::string_view(const sockaddr& address)> may_connect = {};
};

std::shared_ptr<Transport> make_http_client(Loop& loop, Endpoint endpoint, HttpClientOptions options = {});

}  // namespace sublet::net
