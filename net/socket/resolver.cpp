#include "net/socket/resolver.h"

#include <fcntl.h>
#include <netdb.h>
#include <sys/un.h>

#include <cerrno>
#include <cstring>
#include <thread>
#include <utility>

#include "sublet/base/mutex.h"

namespace sublet::net {
namespace {

Result<std::vector<SocketAddress>> look_up(const std::string& host, int port, int flags) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const int code = ::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found);
  if (code != 0) return fail(Reason::service_unavailable, "cannot resolve " + host + ": " + ::gai_strerror(code));
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owner(found, ::freeaddrinfo);
  std::vector<SocketAddress> addresses;
  for (const addrinfo* entry = found; entry; entry = entry->ai_next) {
    auto& address = addresses.emplace_back();
    std::memcpy(&address.storage, entry->ai_addr, entry->ai_addrlen);
    address.size = entry->ai_addrlen;
  }
  return addresses;
}

/// Shared by the ticket's holder and the thread; the loop is touched only while the holder still waits.
struct Lookup {
  explicit Lookup(Loop& waiting_loop) : loop(&waiting_loop) {}
  Mutex mutex;
  Loop* loop SUBLET_GUARDED_BY(mutex);  // null once cancelled
};

}  // namespace

ResolveTicket resolve(Loop& loop, const std::string& host, int port, Resolved done) {
  const auto lookup = std::make_shared<Lookup>(loop);
  // The holder's end: when it goes, so does the way to the loop.
  ResolveTicket ticket(lookup.get(), [lookup](void*) {
    MutexLock lock(lookup->mutex);
    lookup->loop = nullptr;
  });
  const auto deliver = [weak = std::weak_ptr<void>(ticket), done = std::move(done)](auto result) {
    if (const auto waited_for = weak.lock()) done(std::move(result));
  };
  auto quick = look_up(host, port, AI_NUMERICHOST);
  if (!quick && host == "localhost") quick = look_up("127.0.0.1", port, AI_NUMERICHOST);
  if (quick) {
    loop.post([deliver, addresses = std::move(quick)] { deliver(addresses); });
    return ticket;
  }
  std::thread([lookup, deliver, host, port] {
    auto result = look_up(host, port, AI_ADDRCONFIG);
    MutexLock lock(lookup->mutex);
    if (lookup->loop) lookup->loop->post([deliver, addresses = std::move(result)] { deliver(addresses); });
  }).detach();  // getaddrinfo() cannot be interrupted; a late one finds the ticket gone
  return ticket;
}

Result<SocketAddress> unix_address(const std::string& path) {
  SocketAddress address;
  auto& name = reinterpret_cast<sockaddr_un&>(address.storage);
  name.sun_family = AF_UNIX;
  std::string reached = path;
  if (const auto slash = path.rfind('/'); path.size() >= sizeof(name.sun_path) && slash != std::string::npos) {
    address.folder =
        std::make_shared<Descriptor>(::open(path.substr(0, slash + 1).c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!*address.folder) return bad_request("cannot open the folder of socket " + path + ": " + std::strerror(errno));
    reached = "/proc/self/fd/" + std::to_string(address.folder->get()) + path.substr(slash);
  }
  if (reached.empty() || reached.size() >= sizeof(name.sun_path))
    return bad_request("socket path \"" + path + "\" is empty, or its last part is too long");
  reached.copy(name.sun_path, reached.size());
  address.size = sizeof(sockaddr_un);
  return address;
}

}  // namespace sublet::net
