#include "sublet/net/http_server.h"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <map>
#include <utility>

#include "net/server/h1_connection.h"
#include "net/server/serving_loop.h"
#include "net/server/serving_loops.h"
#include "net/socket/resolver.h"
#include "net/socket/stream.h"
#include "sublet/base/descriptor.h"
#include "sublet/base/host_port.h"
#include "sublet/base/log.h"
#include "sublet/base/mutex.h"

namespace sublet::net {
namespace {

constexpr int kAcceptsPerEvent = 64;
constexpr int kListenBacklog = 4096;
constexpr std::chrono::milliseconds kAcceptPause{100};  // when the process has no descriptors left
constexpr std::chrono::milliseconds kAlertTime{1'000};  // for the peer to read why its handshake failed

// Dead peers of idle watches are noticed after about kKeepIdle + kKeepCount * kKeepInterval seconds.
struct SocketOption {
  int level, name, value;
};
constexpr SocketOption kTcpOptions[] = {
    {IPPROTO_TCP, TCP_NODELAY, 1},    {SOL_SOCKET, SO_KEEPALIVE, 1}, {IPPROTO_TCP, TCP_KEEPIDLE, 60},
    {IPPROTO_TCP, TCP_KEEPINTVL, 15}, {IPPROTO_TCP, TCP_KEEPCNT, 4},
};

tl::unexpected<Status> system_failure(const std::string& what) {
  return fail(Reason::service_unavailable, what + ": " + std::strerror(errno));
}

/// "host:port" or "[v6]:port".
Result<std::pair<std::string, std::string>> split_address(const std::string& address) {
  const HostPort parts = split_host_port(address);
  if (!parts.port) return bad_request("listen address " + address + " has no port");
  return std::pair(std::string(parts.host), std::string(*parts.port));
}

std::string bound_address(int fd) {
  sockaddr_storage storage{};
  socklen_t size = sizeof(storage);
  ::getsockname(fd, reinterpret_cast<sockaddr*>(&storage), &size);
  char host[NI_MAXHOST] = {}, port[NI_MAXSERV] = {};
  ::getnameinfo(reinterpret_cast<sockaddr*>(&storage), size, host, sizeof(host), port, sizeof(port),
                NI_NUMERICHOST | NI_NUMERICSERV);
  const std::string name = storage.ss_family == AF_INET6 ? "[" + std::string(host) + "]" : std::string(host);
  return name + ":" + port;
}

Result<Descriptor> bind_tcp(const std::string& address) {
  const auto parts = split_address(address);
  if (!parts) return fail(parts.error());
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE;
  addrinfo* found = nullptr;
  const int code =
      ::getaddrinfo(parts->first.empty() ? nullptr : parts->first.c_str(), parts->second.c_str(), &hints, &found);
  if (code != 0) return bad_request("listen address " + address + ": " + ::gai_strerror(code));
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owner(found, ::freeaddrinfo);
  Descriptor fd(::socket(found->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!fd) return system_failure("socket");
  const int on = 1;
  ::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  if (::bind(fd.get(), found->ai_addr, found->ai_addrlen) != 0 || ::listen(fd.get(), kListenBacklog) != 0)
    return system_failure("cannot listen on " + address);
  return fd;
}

/// True when somebody answers behind the socket file.
bool is_served(const SocketAddress& address) {
  const Descriptor probe(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  return ::connect(probe.get(), address.get(), address.size) == 0;
}

Result<Descriptor> bind_socket_file(const std::string& path) {
  const auto address = unix_address(path);
  if (!address) return fail(address.error());
  struct stat info {};
  if (::lstat(path.c_str(), &info) == 0) {
    if (!S_ISSOCK(info.st_mode)) return bad_request(path + " exists and is not a socket; it is left alone");
    if (is_served(*address)) return fail(Reason::conflict, "another process already serves " + path);
    ::unlink(path.c_str());
  }
  Descriptor fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!fd) return system_failure("socket");
  ::fchmod(fd.get(), 0600);  // the file is made with this mode, so there is no moment in which others may connect
  if (::bind(fd.get(), address->get(), address->size) != 0 || ::chmod(path.c_str(), 0600) != 0)
    return system_failure("cannot listen on " + path);
  return fd;
}

// ALPN chooses the connection class; HTTP/2 becomes a second row.
using StartConnection = void (*)(std::shared_ptr<ServingLoop>, std::unique_ptr<Stream>);
struct Protocol {
  std::string_view alpn;
  StartConnection start;
};
constexpr Protocol kProtocols[] = {{"http/1.1", start_h1_connection}, {"", start_h1_connection}};

void start_connection(const std::shared_ptr<ServingLoop>& core, std::unique_ptr<Stream> stream) {
  for (const auto& protocol : kProtocols)
    if (protocol.alpn == stream->protocol()) return protocol.start(core, std::move(stream));
  log::warning("net.unknown_protocol", {{"alpn", stream->protocol()}});
}

/// An accepted connection during its TLS handshake. A failed one stays open a moment, so that the peer reads the alert.
class PendingHandshake final : public ServerConnection, public std::enable_shared_from_this<PendingHandshake> {
 public:
  PendingHandshake(std::shared_ptr<ServingLoop> core, std::unique_ptr<Stream> stream)
      : core_(std::move(core)), stream_(std::move(stream)) {}

  void start() {
    core_->add(shared_from_this());
    core_->loop.watch_fd(stream_->fd(), EPOLLIN, [this](std::uint32_t) { advance(); });
    limit(core_->limits.header_timeout);
  }
  void finish() override { close(); }
  void close() override { release(); }

 private:
  void advance() {
    const auto self = shared_from_this();
    if (failed_) return drain();
    switch (stream_->handshake()) {
      case Io::ok:
        return start_connection(core_, release());
      case Io::want_read:
        return core_->loop.change_fd(stream_->fd(), EPOLLIN);
      case Io::want_write:
        return core_->loop.change_fd(stream_->fd(), EPOLLOUT);
      case Io::end:
      case Io::failed:
        log::debug("net.handshake_failed", {{"peer", peer_address(stream_->fd())}, {"why", stream_->error()}});
        failed_ = true;
        ::shutdown(stream_->fd(), SHUT_WR);
        core_->loop.change_fd(stream_->fd(), EPOLLIN);
        limit(kAlertTime);
    }
  }

  void drain() {
    char ignored[4096];
    const auto got = ::recv(stream_->fd(), ignored, sizeof(ignored), 0);
    if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) close();
  }

  void limit(std::chrono::milliseconds time) {
    core_->loop.cancel(timer_);
    timer_ = core_->loop.after(time, [weak = weak_from_this()] {
      if (const auto self = weak.lock()) self->close();
    });
  }

  std::unique_ptr<Stream> release() {
    if (!stream_) return nullptr;
    core_->loop.forget_fd(stream_->fd());
    core_->loop.cancel(timer_);
    auto stream = std::move(stream_);
    core_->remove(shared_from_this());
    return stream;
  }

  const std::shared_ptr<ServingLoop> core_;
  std::unique_ptr<Stream> stream_;
  Loop::TimerId timer_ = 0;
  bool failed_ = false;
};

/// The TLS of those who are accepted: another one from one moment to the next.
class TlsInUse {
 public:
  explicit TlsInUse(std::shared_ptr<TlsContext> context) : context_(std::move(context)) {}
  void use(std::shared_ptr<TlsContext> context) {
    const MutexLock lock(mutex_);
    context_.swap(context);
  }
  std::shared_ptr<TlsContext> get() const {
    const MutexLock lock(mutex_);
    return context_;
  }

 private:
  mutable Mutex mutex_;
  std::shared_ptr<TlsContext> context_ SUBLET_GUARDED_BY(mutex_);
};

class Listener : public std::enable_shared_from_this<Listener> {
 public:
  Listener(std::shared_ptr<ServingLoops> loops, Descriptor fd, std::shared_ptr<TlsInUse> tls, std::string unix_path)
      : loops_(std::move(loops)),
        core_(loops_->first()),
        fd_(std::move(fd)),
        tls_(std::move(tls)),
        unix_path_(std::move(unix_path)) {}

  void open() {
    core_->loop.watch_fd(fd_.get(), EPOLLIN, [self = shared_from_this()](std::uint32_t) { self->accept_some(); });
  }

  void close() {
    if (!fd_) return;
    core_->loop.forget_fd(fd_.get());
    fd_.reset();
    if (!unix_path_.empty()) ::unlink(unix_path_.c_str());
  }

 private:
  void accept_some() {
    const auto self = shared_from_this();
    for (int i = 0; i < kAcceptsPerEvent; ++i) {
      sockaddr_storage address{};
      socklen_t size = sizeof(address);
      Descriptor accepted(
          ::accept4(fd_.get(), reinterpret_cast<sockaddr*>(&address), &size, SOCK_NONBLOCK | SOCK_CLOEXEC));
      if (!accepted) {
        if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) pause();
        return;
      }
      auto stream = admit(std::move(accepted), address);
      if (!stream) continue;
      const auto seat = loops_->seat(tls_ != nullptr);
      stream->hold(seat.held);
      if (seat.core == core_) {
        start(seat.core, std::move(stream), tls_ != nullptr);
        continue;
      }
      auto handed = std::make_shared<std::unique_ptr<Stream>>(std::move(stream));
      seat.core->courier->post([core = seat.core, handed, secure = tls_ != nullptr] {
        if (!core->stopping) start(core, std::move(*handed), secure);
      });
    }
  }

  /// Null when there is no place for it.
  std::unique_ptr<Stream> admit(Descriptor fd, const sockaddr_storage& address) {
    const bool full = loops_->full();
    if (!tls_) return full && !loops_->strangers()->close_one() ? nullptr : make_plain_stream(std::move(fd));
    for (const auto& option : kTcpOptions)
      ::setsockopt(fd.get(), option.level, option.name, &option.value, sizeof(option.value));
    auto stranger = loops_->strangers()->admit(fd.get(), address, full);
    if (!stranger) return nullptr;
    auto stream = make_tls_server_stream(std::move(fd), tls_->get());
    stream->count_as(std::move(stranger));
    return stream;
  }

  /// On the core's loop.
  static void start(const std::shared_ptr<ServingLoop>& core, std::unique_ptr<Stream> stream, bool secure) {
    if (!secure) return start_connection(core, std::move(stream));
    std::make_shared<PendingHandshake>(core, std::move(stream))->start();
  }

  /// The waiting connection stays readable; without a pause the loop would spin on it.
  void pause() {
    log::warning("net.accept_paused", {{"why", std::strerror(errno)}});
    loops_->strangers()->close_one();
    core_->loop.change_fd(fd_.get(), 0);
    core_->loop.after(kAcceptPause, [weak = weak_from_this()] {
      const auto self = weak.lock();
      if (self && self->fd_) self->core_->loop.change_fd(self->fd_.get(), EPOLLIN);
    });
  }

  const std::shared_ptr<ServingLoops> loops_;
  const std::shared_ptr<ServingLoop> core_;  // of the loop that accepts
  Descriptor fd_;
  const std::shared_ptr<TlsInUse> tls_;  // null: plain
  const std::string unix_path_;
};

}  // namespace

struct HttpServer::Impl {
  Impl(Loop& loop, Handler handler, HttpServerLimits limits)
      : loops(std::make_shared<ServingLoops>(loop, std::move(handler), limits)), core(loops->first()) {}

  void listen(Descriptor fd, std::shared_ptr<TlsContext> tls, std::string unix_path) {
    auto in_use = tls ? std::make_shared<TlsInUse>(std::move(tls)) : nullptr;
    if (in_use) {
      const MutexLock lock(mutex);
      tls_in_use.push_back(in_use);
    }
    auto listener = std::make_shared<Listener>(loops, std::move(fd), std::move(in_use), std::move(unix_path));
    core->loop.run_sync([&] {
      if (core->stopping) return listener->close();
      listener->open();
      listeners.push_back(std::move(listener));
    });
  }

  const std::shared_ptr<ServingLoops> loops;
  const std::shared_ptr<ServingLoop> core;           // of the first loop
  std::vector<std::shared_ptr<Listener>> listeners;  // the loop's thread only
  Mutex mutex;
  std::vector<std::shared_ptr<TlsInUse>> tls_in_use SUBLET_GUARDED_BY(mutex);  // of each TLS address
  bool stopped = false;                                                        // stop() and the destructor only
};

HttpServer::HttpServer(Loop& loop, Handler handler, HttpServerLimits limits)
    : impl_(std::make_shared<Impl>(loop, std::move(handler), limits)) {}

HttpServer::~HttpServer() { stop(std::chrono::milliseconds::zero()); }

Result<std::string> HttpServer::listen_tls(const std::string& address, std::shared_ptr<TlsContext> tls) {
  auto fd = bind_tcp(address);
  if (!fd) return fail(fd.error());
  auto bound = bound_address(fd->get());
  impl_->listen(std::move(*fd), std::move(tls), {});
  return bound;
}

Outcome HttpServer::listen_unix(const std::string& path) {
  auto fd = bind_unix(path);
  return fd ? listen_unix(std::move(*fd), path) : fail(fd.error());
}

Result<Descriptor> HttpServer::bind_unix(const std::string& path) { return bind_socket_file(path); }

Outcome HttpServer::listen_unix(Descriptor bound, const std::string& path) {
  if (::listen(bound.get(), kListenBacklog) != 0) return system_failure("cannot listen on " + path);
  impl_->listen(std::move(bound), nullptr, path);
  return {};
}

void HttpServer::use_tls(const std::shared_ptr<TlsContext>& tls) {
  const MutexLock lock(impl_->mutex);
  for (const auto& in_use : impl_->tls_in_use) in_use->use(tls);
}

void HttpServer::close_peers(const std::function<bool(const PeerIdentity&)>& meant) {
  for (const auto& core : impl_->loops->cores()) core->courier->post([core, meant] { core->close_peers(meant); });
}

std::size_t HttpServer::connections() const { return impl_->loops->connections(); }

std::size_t HttpServer::loops() const { return impl_->loops->loops(); }

void HttpServer::stop(std::chrono::milliseconds grace) {
  if (std::exchange(impl_->stopped, true)) return;
  impl_->core->loop.run_sync([this] {
    impl_->core->stopping = true;
    for (const auto& listener : impl_->listeners) listener->close();
    impl_->listeners.clear();
  });
  const auto cores = impl_->loops->freeze();
  for (const auto& core : cores) {
    core->stopping = true;
    core->loop.run_sync([&core] { core->finish_all(); });
  }
  const auto end = std::chrono::steady_clock::now() + grace;
  const auto left = [&end] {
    return std::chrono::ceil<std::chrono::milliseconds>(end - std::chrono::steady_clock::now());
  };
  for (const auto& core : cores)
    if (grace.count() > 0 && !core->loop.in_loop_thread()) core->wait_until_empty(left());
  for (const auto& core : cores) {
    core->loop.run_sync([&core] {
      core->close_all();
      core->handler.reset();
    });
    core->forget_loop();
  }
}

}  // namespace sublet::net
