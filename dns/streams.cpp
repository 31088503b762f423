#include "dns/streams.h"

#include <sys/epoll.h>

#include <array>
#include <cerrno>

namespace sublet::dns {
namespace {

constexpr int kUnansweredMax = 16;              // of a connection; more are not read yet
constexpr std::size_t kOutMax = 4 * 1024 * 64;  // a client that does not read is closed

std::size_t length_of(const std::string& in) {
  return static_cast<std::size_t>(static_cast<unsigned char>(in[0])) << 8 | static_cast<unsigned char>(in[1]);
}
bool has_message(const std::string& in) { return in.size() >= 2 && in.size() >= 2 + length_of(in); }

}  // namespace

Streams::Streams(net::Loop& loop, const NameServerLimits& limits, Handler handler)
    : loop_(loop), limits_(limits), handler_(std::move(handler)), self_(std::make_shared<Streams*>(this)) {}

Streams::~Streams() {
  *self_ = nullptr;
  for (const Descriptor& listener : listeners_) loop_.forget_fd(listener.get());
  while (!connections_.empty()) close(connections_.begin()->first);
}

void Streams::listen(Descriptor listener) {
  const int fd = listener.get();
  listeners_.push_back(std::move(listener));
  loop_.watch_fd(fd, EPOLLIN, [this, fd](std::uint32_t) { accept(fd); });
}

void Streams::accept(int listener) {
  sockaddr_storage storage{};
  socklen_t size = sizeof storage;
  Descriptor fd(::accept4(listener, reinterpret_cast<sockaddr*>(&storage), &size, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!fd) return;
  const Address client = Endpoint::from(storage).address;
  if (static_cast<int>(connections_.size()) >= limits_.connections_max) return;
  const auto known = of_clients_.find(client);
  if (known != of_clients_.end() && known->second >= limits_.client_connections_max) return;
  ++of_clients_[client];
  const std::uint64_t id = ++last_id_;
  Connection& connection = connections_[id];
  connection.fd = std::move(fd);
  connection.client = client;
  connection.watched = EPOLLIN;
  loop_.watch_fd(connection.fd.get(), EPOLLIN, [this, id](std::uint32_t events) { on_ready(id, events); });
  connection.timer = loop_.after(limits_.idle_timeout, [this, id] { look_for_idleness(id); });
}

void Streams::look_for_idleness(std::uint64_t id) {
  Connection& connection = connections_.at(id);
  connection.timer = 0;
  if (!connection.used && connection.unanswered == 0) return close(id);
  connection.used = false;
  connection.timer = loop_.after(limits_.idle_timeout, [this, id] { look_for_idleness(id); });
}

void Streams::close(std::uint64_t id) {
  const auto found = connections_.find(id);
  Connection& connection = found->second;
  loop_.forget_fd(connection.fd.get());
  if (connection.timer) loop_.cancel(connection.timer);
  if (const auto of_client = of_clients_.find(connection.client); --of_client->second == 0)
    of_clients_.erase(of_client);
  connections_.erase(found);
}

void Streams::on_ready(std::uint64_t id, std::uint32_t events) {
  Connection& connection = connections_.at(id);
  if ((events & EPOLLOUT) != 0 && !write(connection)) return close(id);
  if ((events & ~static_cast<std::uint32_t>(EPOLLOUT)) != 0 && !read(connection)) return close(id);
  take_messages(id);
}

bool Streams::read(Connection& connection) {
  std::array<char, 16 * 1024> buffer{};
  const auto size = ::recv(connection.fd.get(), buffer.data(), buffer.size(), 0);
  if (size < 0) return errno == EAGAIN || errno == EINTR;
  if (size == 0) return false;
  connection.in.append(buffer.data(), static_cast<std::size_t>(size));
  return true;
}

void Streams::take_messages(std::uint64_t id) {
  for (;;) {
    const auto found = connections_.find(id);
    if (found == connections_.end()) return;
    Connection& connection = found->second;
    if (connection.unanswered >= kUnansweredMax || !has_message(connection.in)) return watch(connection);
    const std::string message = connection.in.substr(2, length_of(connection.in));
    connection.in.erase(0, 2 + message.size());
    ++connection.unanswered;
    // Only whole messages count: a byte now and then keeps nobody's place.
    connection.used = true;
    handler_(message, connection.client, [self = self_, id](const std::string& answer) {
      if (*self) (*self)->reply(id, answer);
    });
  }
}

// "" is no answer: the connection goes, so that the client need not wait.
void Streams::reply(std::uint64_t id, const std::string& message) {
  const auto found = connections_.find(id);
  if (found == connections_.end()) return;
  Connection& connection = found->second;
  --connection.unanswered;
  if (message.empty() || connection.out.size() > kOutMax) return close(id);
  connection.out += static_cast<char>(message.size() >> 8);
  connection.out += static_cast<char>(message.size() & 0xff);
  connection.out += message;
  if (!write(connection)) return close(id);
  watch(connection);
  // What waited for a place, on a turn of its own: an answer may come from within the handler.
  if (has_message(connection.in))
    loop_.post([self = self_, id] {
      if (*self) (*self)->take_messages(id);
    });
}

bool Streams::write(Connection& connection) {
  while (!connection.out.empty()) {
    const auto size = ::send(connection.fd.get(), connection.out.data(), connection.out.size(), MSG_NOSIGNAL);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return errno == EAGAIN;
    connection.out.erase(0, static_cast<std::size_t>(size));
  }
  return true;
}

void Streams::watch(Connection& connection) {
  const std::uint32_t events = (connection.unanswered < kUnansweredMax ? EPOLLIN : 0u) |
                               (connection.out.empty() ? 0u : static_cast<std::uint32_t>(EPOLLOUT));
  if (events == connection.watched) return;
  connection.watched = events;
  loop_.change_fd(connection.fd.get(), events);
}

}  // namespace sublet::dns
