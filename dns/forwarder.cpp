#include "dns/forwarder.h"

#include <sys/epoll.h>

#include <algorithm>
#include <array>
#include <cerrno>

namespace sublet::dns {
namespace {

constexpr int kRounds = 2;    // over all upstreams
constexpr int kTriesMax = 4;  // a stub resolver gives up after five seconds

bool cut(const std::string& message) { return message.size() > 2 && (message[2] & 0x02) != 0; }
Code code_of(const std::string& message) { return static_cast<Code>(message[3] & 0xf); }

}  // namespace

struct Forwarder::Asked {
  Place place{};
  std::string message;  // as it is sent
  Question question;
  std::uint16_t id = 0;
  Address client;
  bool by_tcp = false, is_other = false;
  Done done;
  Descriptor fd;
  int tries = 0;
  net::Loop::TimerId timer = 0;
  std::string out, in;   // of a stream
  std::string last_bad;  // an answer that says that the upstream could not
};

Forwarder::Forwarder(net::Loop& loop, std::vector<Endpoint> upstreams, const NameServerLimits& limits, Random& random)
    : loop_(loop), upstreams_(std::move(upstreams)), limits_(limits), random_(random) {}

Forwarder::~Forwarder() {
  for (const auto& asked : asked_) close_socket(*asked);
}

bool Forwarder::ask(const Query& query, const std::string& other_name, const Address& client, bool by_tcp, Done done) {
  if (upstreams_.empty() || static_cast<int>(asked_.size()) >= limits_.forwards_max) return false;
  const auto known = of_clients_.find(client);
  if (known != of_clients_.end() && known->second >= limits_.client_forwards_max) return false;
  ++of_clients_[client];
  auto made = std::make_unique<Asked>();
  Asked& asked = *made;
  asked.place = asked_.insert(asked_.end(), std::move(made));
  asked.id = static_cast<std::uint16_t>(random_.next());
  asked.message = write_query(query, asked.id, other_name);
  asked.question = query.question;
  asked.is_other = !other_name.empty();
  if (asked.is_other) asked.question = {other_name, query.question.type, 1};
  asked.client = client;
  asked.by_tcp = by_tcp;
  asked.done = std::move(done);
  // Never from within: the caller may not stand yet.
  asked.timer = loop_.after(std::chrono::milliseconds(0), [this, &asked] {
    asked.timer = 0;
    try_next(asked);
  });
  return true;
}

void Forwarder::close_socket(Asked& asked) {
  if (asked.fd) loop_.forget_fd(asked.fd.get());
  asked.fd.reset();
  if (asked.timer) loop_.cancel(asked.timer);
  asked.timer = 0;
}

void Forwarder::finish(Asked& asked, const std::string& message) {
  close_socket(asked);
  if (const auto of_client = of_clients_.find(asked.client); --of_client->second == 0) of_clients_.erase(of_client);
  const Done done = std::move(asked.done);
  asked_.erase(asked.place);
  done(message);
}

void Forwarder::try_next(Asked& asked) {
  const int tries_max = std::min(kTriesMax, kRounds * static_cast<int>(upstreams_.size()));
  do {
    close_socket(asked);
    if (asked.tries++ >= tries_max) return finish(asked, std::string(asked.last_bad));
  } while (!send(asked));
  asked.timer = loop_.after(limits_.forward_timeout, [this, &asked] {
    asked.timer = 0;
    try_next(asked);
  });
}

bool Forwarder::send(Asked& asked) {
  const Endpoint& upstream = upstreams_[static_cast<std::size_t>(asked.tries - 1) % upstreams_.size()];
  asked.fd = open_socket(upstream, asked.by_tcp ? SOCK_STREAM : SOCK_DGRAM);
  sockaddr_storage storage{};
  const socklen_t size = upstream.fill(storage);
  if (!asked.fd ||
      (::connect(asked.fd.get(), reinterpret_cast<const sockaddr*>(&storage), size) != 0 && errno != EINPROGRESS)) {
    asked.fd.reset();
    return false;
  }
  asked.in.clear();
  if (asked.by_tcp) {
    asked.out = {static_cast<char>(asked.message.size() >> 8), static_cast<char>(asked.message.size() & 0xff)};
    asked.out += asked.message;
  } else if (::send(asked.fd.get(), asked.message.data(), asked.message.size(), MSG_NOSIGNAL) < 0) {
    asked.fd.reset();
    return false;
  }
  loop_.watch_fd(asked.fd.get(), asked.by_tcp ? EPOLLOUT : EPOLLIN,
                 [this, &asked](std::uint32_t events) { on_ready(asked, events); });
  return true;
}

void Forwarder::on_ready(Asked& asked, std::uint32_t events) {
  if (!asked.by_tcp) return read_datagrams(asked);
  if ((events & EPOLLOUT) != 0) return write_stream(asked);
  read_stream(asked);
}

// Others may send what looks like an answer: what does not fit is passed over.
void Forwarder::read_datagrams(Asked& asked) {
  std::array<char, 4096> buffer{};
  for (;;) {
    const auto size = ::recv(asked.fd.get(), buffer.data(), buffer.size(), 0);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return errno == EAGAIN ? void() : try_next(asked);
    std::string message(buffer.data(), static_cast<std::size_t>(size));
    if (answers(bytes_of(message), asked.id, asked.question)) return take(asked, std::move(message));
  }
}

void Forwarder::write_stream(Asked& asked) {
  const auto size = ::send(asked.fd.get(), asked.out.data(), asked.out.size(), MSG_NOSIGNAL);
  if (size < 0) return errno == EAGAIN || errno == EINTR ? void() : try_next(asked);
  asked.out.erase(0, static_cast<std::size_t>(size));
  if (asked.out.empty()) loop_.change_fd(asked.fd.get(), EPOLLIN);
}

void Forwarder::read_stream(Asked& asked) {
  std::array<char, 4096> buffer{};
  const auto size = ::recv(asked.fd.get(), buffer.data(), buffer.size(), 0);
  if (size < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (size <= 0) return try_next(asked);
  asked.in.append(buffer.data(), static_cast<std::size_t>(size));
  if (asked.in.size() < 2) return;
  const std::size_t length =
      static_cast<std::size_t>(static_cast<unsigned char>(asked.in[0])) << 8 | static_cast<unsigned char>(asked.in[1]);
  if (asked.in.size() < 2 + length) return;
  std::string message = asked.in.substr(2, length);
  if (!answers(bytes_of(message), asked.id, asked.question)) return try_next(asked);
  take(asked, std::move(message));
}

void Forwarder::take(Asked& asked, std::string message) {
  const Code code = code_of(message);
  if (code == Code::ok || code == Code::no_such_name) {
    // What is read here must be whole; a client that is told of the cut asks again by itself.
    if (!asked.by_tcp && asked.is_other && cut(message)) {
      asked.by_tcp = true;
      return try_next(asked);
    }
    return finish(asked, message);
  }
  asked.last_bad = std::move(message);
  try_next(asked);
}

}  // namespace sublet::dns
