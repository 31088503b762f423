// Endpoint: the peer of an HttpClient, as a TCP address or a unix socket. A value.
#pragma once

#include <memory>
#include <string>

#include "sublet/net/tls_context.h"

namespace sublet::net {

struct Endpoint {
  std::string host;  // name or address; empty for unix
  int port = 0;
  std::string unix_path;
  std::shared_ptr<TlsContext> tls;  // null: plain
};

}  // namespace sublet::net
