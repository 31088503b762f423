// resolve(): names to socket addresses without blocking the loop.
//
// Addresses and "localhost" are answered at once; other names by a thread of their own, as getaddrinfo() blocks. The
// callback runs on the loop's thread, unless the ticket is gone by then.
#pragma once

#include <sys/socket.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "sublet/base/descriptor.h"
#include "sublet/base/status.h"
#include "sublet/net/loop.h"

namespace sublet::net {

struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t size = 0;
  std::shared_ptr<Descriptor> folder;  // through which a long socket path is reached: kept open until it was used
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
};

/// Dropping it cancels.
using ResolveTicket = std::shared_ptr<void>;
using Resolved = std::function<void(Result<std::vector<SocketAddress>>)>;
[[nodiscard]] ResolveTicket resolve(Loop& loop, const std::string& host, int port, Resolved done);

/// For sockets of the file system. The kernel takes 107 bytes; a longer path is reached through its open folder.
Result<SocketAddress> unix_address(const std::string& path);

}  // namespace sublet::net
