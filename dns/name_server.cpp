// Map of this file: what is said to a message; UDP; the server.
#include "sublet/dns/name_server.h"

#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>

#include "dns/endpoint.h"
#include "dns/feed.h"
#include "dns/forwarder.h"
#include "dns/rates.h"
#include "dns/streams.h"
#include "dns/zone.h"

namespace sublet::dns {
namespace {

constexpr std::size_t kBatch = 32;            // datagrams of one call
constexpr std::size_t kQueryBytesMax = 4096;  // a longer one is cut, and then not understood
constexpr std::chrono::milliseconds kPause{10};

bool is_below(const std::string& name, const std::string& domain) {
  return name == domain ||
         (name.size() > domain.size() && name.ends_with(domain) && name[name.size() - domain.size() - 1] == '.');
}

// Networks that mean something else everywhere (RFC 6303): who has an address there is the host's own matter.
bool is_private(const Address& address) {
  const auto& byte = address.bytes;
  if (address.size == 16)
    return (byte[0] & 0xfe) == 0xfc || (byte[0] == 0xfe && (byte[1] & 0xc0) == 0x80) || byte[0] == 0;
  return byte[0] == 10 || byte[0] == 127 || byte[0] == 0 || (byte[0] == 100 && (byte[1] & 0xc0) == 64) ||
         (byte[0] == 169 && byte[1] == 254) || (byte[0] == 172 && (byte[1] & 0xf0) == 16) ||
         (byte[0] == 192 && byte[1] == 168);
}

bool is_reverse_of_private(const std::string& name) {
  // The zones themselves too, or part of an address would tell who is there.
  for (const std::string_view zone : {"10.in-addr.arpa", "168.192.in-addr.arpa", "254.169.in-addr.arpa"})
    if (is_below(name, std::string(zone))) return true;
  const auto address = reverse_address(name);
  return address && is_private(*address);
}

/// A query that outlives the buffer that it came in.
struct KeptQuery {
  explicit KeptQuery(const Query& other)
      : query(other), question(other.question_bytes.begin(), other.question_bytes.end()) {
    query.question_bytes = question;
  }
  Query query;
  const std::vector<std::uint8_t> question;
};

}  // namespace

// What is said to a message
// ---------------------------------------------------------------------------------------------

struct NameServer::Impl {
  using Reply = std::function<void(std::string)>;
  struct Socket {
    Descriptor fd;
  };

  net::Loop& loop;
  const NameServerOptions options;
  const NameServerLimits& limits = options.limits;
  Zone zone;
  std::unique_ptr<Feed> feed;
  Rates rates, forward_rates;
  std::unique_ptr<Forwarder> forwarder;
  std::unique_ptr<Streams> streams;
  std::vector<std::unique_ptr<Socket>> sockets;
  Answer answer;  // kept, for its memory
  std::size_t rotation = 0;
  double budget;  // of reading
  SteadyTime budget_filled{};
  net::Loop::TimerId pause = 0;
  std::atomic<std::uint64_t> answered{0}, forwarded{0}, dropped{0};

  Impl(net::Loop& its_loop, kube::Client tenant, NameServerOptions its_options);
  ~Impl();

  /// The answer, or "": `later` makes a reply that is called when there is one, or none comes at all.
  std::string handle(Bytes message, const Address& client, bool by_tcp, const std::function<Reply()>& later);
  std::string handle_query(const Query& query, const Address& client, bool by_tcp, const std::function<Reply()>& later);
  std::string forward(const Query& query, const std::string& outside, const Address& client, bool by_tcp,
                      const std::function<Reply()>& later);
  std::string pass_on(const Query& query, const std::string& message, bool by_tcp) const;
  std::string pass_on_addresses(const Query& query, Answer chain, const std::string& message, bool by_tcp) const;
  static std::size_t bytes_max(const Query& query, bool by_tcp) { return by_tcp ? kTcpBytesMax : query.udp_bytes; }
  bool is_hidden(const std::string& name) const {
    return is_reverse_of_private(name) ||
           std::ranges::any_of(options.hidden, [&](const std::string& domain) { return is_below(name, domain); });
  }
  std::string say(const Query& query, Code code) {
    ++answered;
    return write_bare(query, code);
  }

  void read_datagrams(Socket& socket);
  std::size_t take_budget();
  void pause_reading();
  Result<std::string> listen(const std::string& address);
};

std::string NameServer::Impl::handle(Bytes message, const Address& client, bool by_tcp,
                                     const std::function<Reply()>& later) {
  const SteadyTime now = Clock::system().steady_now();
  const ParsedQuery parsed = rates.take(client, now) ? parse_query(message) : ParsedQuery{.query = {}, .drop = true};
  if (parsed.drop) {
    ++dropped;
    return {};
  }
  if (!parsed.good) return say(parsed.query, parsed.error);
  return handle_query(parsed.query, client, by_tcp, later);
}

std::string NameServer::Impl::handle_query(const Query& query, const Address& client, bool by_tcp,
                                           const std::function<Reply()>& later) {
  const Question& question = query.question;
  if (question.class_number != 1 || question.type == Type::axfr || question.type == Type::ixfr)
    return say(query, Code::refused);
  if (!feed->ready()) return say(query, Code::server_failure);
  answer.clear();
  std::string outside;
  switch (zone.answer(question, answer, outside)) {
    case Zone::Said::here:
      ++answered;
      return write_answer(query, answer, bytes_max(query, by_tcp), rotation++);
    case Zone::Said::outside:
      return forward(query, outside, client, by_tcp, later);
    default:
      return forward(query, "", client, by_tcp, later);
  }
}

// `outside`: where this zone's CNAMEs in `answer` lead to; else it is the question itself.
std::string NameServer::Impl::forward(const Query& query, const std::string& outside, const Address& client,
                                      bool by_tcp, const std::function<Reply()>& later) {
  const std::string& name = outside.empty() ? query.question.name : outside;
  if (is_hidden(name)) {
    answer.code = Code::no_such_name;
    answer.authoritative = !outside.empty();
    ++answered;
    return write_answer(query, answer, bytes_max(query, by_tcp));
  }
  if (!query.recursion_desired) return say(query, Code::refused);
  if (!forward_rates.take(client, Clock::system().steady_now())) return say(query, Code::refused);
  const auto kept = std::make_shared<const KeptQuery>(query);
  const auto chain = outside.empty() ? nullptr : std::make_shared<const Answer>(answer);
  auto reply = std::make_shared<Reply>();
  const bool asked =
      forwarder->ask(query, outside, client, by_tcp, [this, kept, chain, reply, by_tcp](const std::string& message) {
        ++answered;
        (*reply)(message.empty() ? write_bare(kept->query, Code::server_failure)
                 : chain         ? pass_on_addresses(kept->query, *chain, message, by_tcp)
                                 : pass_on(kept->query, message, by_tcp));
      });
  if (!asked) return say(query, options.upstreams.empty() ? Code::refused : Code::server_failure);
  ++forwarded;
  *reply = later();
  return {};
}

// As it came, under the client's id.
std::string NameServer::Impl::pass_on(const Query& query, const std::string& message, bool by_tcp) const {
  if (message.size() > bytes_max(query, by_tcp)) return write_bare(query, Code::ok, true);
  std::string text = message;
  text[0] = static_cast<char>(query.id >> 8);
  text[1] = static_cast<char>(query.id & 0xff);
  return text;
}

std::string NameServer::Impl::pass_on_addresses(const Query& query, Answer chain, const std::string& message,
                                                bool by_tcp) const {
  auto found = read_addresses(bytes_of(message));
  if (!found) return write_bare(query, Code::server_failure);
  chain.code = found->code;
  chain.authoritative = false;
  std::move(found->answers.begin(), found->answers.end(), std::back_inserter(chain.answers));
  return write_answer(query, chain, bytes_max(query, by_tcp));
}

// UDP
// ------------------------------------------------------------------------------------------------------------------

namespace {

/// Datagrams of one call of the kernel, and where they came from.
struct Batch {
  std::array<std::array<std::uint8_t, kQueryBytesMax>, kBatch> bytes;
  std::array<sockaddr_storage, kBatch> from;
  std::array<iovec, kBatch> parts;
  std::array<mmsghdr, kBatch> messages;
  std::array<std::string, kBatch> answers;

  int receive(int fd, std::size_t most) {
    for (std::size_t i = 0; i < most; ++i) {
      parts[i] = {bytes[i].data(), bytes[i].size()};
      messages[i] = {};
      messages[i].msg_hdr.msg_name = &from[i];
      messages[i].msg_hdr.msg_namelen = sizeof from[i];
      messages[i].msg_hdr.msg_iov = &parts[i];
      messages[i].msg_hdr.msg_iovlen = 1;
    }
    return ::recvmmsg(fd, messages.data(), static_cast<unsigned>(most), MSG_DONTWAIT, nullptr);
  }
  // What the kernel does not take is lost, as datagrams are.
  void send(int fd, std::size_t count) {
    std::size_t ready = 0;
    for (std::size_t i = 0; i < count; ++i) {
      if (answers[i].empty()) continue;
      parts[ready] = {answers[i].data(), answers[i].size()};
      mmsghdr& message = messages[ready];
      const socklen_t size = messages[i].msg_hdr.msg_namelen;
      message = {};
      message.msg_hdr.msg_name = &from[i];
      message.msg_hdr.msg_namelen = size;
      message.msg_hdr.msg_iov = &parts[ready++];
      message.msg_hdr.msg_iovlen = 1;
    }
    for (std::size_t sent = 0; sent < ready;) {
      const int done = ::sendmmsg(fd, messages.data() + sent, static_cast<unsigned>(ready - sent), MSG_NOSIGNAL);
      sent += done > 0 ? static_cast<std::size_t>(done) : 1;  // the first of them cannot be sent: on with the next
    }
  }
};

}  // namespace

// How many datagrams may be read now.
std::size_t NameServer::Impl::take_budget() {
  const SteadyTime now = Clock::system().steady_now();
  const std::chrono::duration<double> gone = now - budget_filled;
  budget_filled = now;
  const double most = std::max(limits.queries_per_second / 10.0, 1.0);
  budget = std::min(most, budget + gone.count() * limits.queries_per_second);
  return std::min(kBatch, static_cast<std::size_t>(budget));
}

// The kernel keeps some, and drops what is more: that costs nearly nothing.
void NameServer::Impl::pause_reading() {
  for (const auto& socket : sockets) loop.change_fd(socket->fd.get(), 0);
  if (pause) return;
  pause = loop.after(kPause, [this] {
    pause = 0;
    for (const auto& socket : sockets) loop.change_fd(socket->fd.get(), EPOLLIN);
  });
}

void NameServer::Impl::read_datagrams(Socket& socket) {
  static thread_local const auto batch = std::make_unique<Batch>();
  const std::size_t most = take_budget();
  if (most == 0) return pause_reading();
  const int received = batch->receive(socket.fd.get(), most);
  if (received <= 0) return;
  const auto count = static_cast<std::size_t>(received);
  budget -= received;
  for (std::size_t i = 0; i < count; ++i) {
    const Endpoint client = Endpoint::from(batch->from[i]);
    const auto later = [&]() -> Reply {
      return [&socket, client](const std::string& message) {
        sockaddr_storage to{};
        const socklen_t size = client.fill(to);
        ::sendto(socket.fd.get(), message.data(), message.size(), MSG_NOSIGNAL, reinterpret_cast<const sockaddr*>(&to),
                 size);
      };
    };
    batch->answers[i] = handle(Bytes(batch->bytes[i]).first(batch->messages[i].msg_len), client.address, false, later);
  }
  batch->send(socket.fd.get(), count);
}

// The server
// -----------------------------------------------------------------------------------------------------------

NameServer::Impl::Impl(net::Loop& its_loop, kube::Client tenant, NameServerOptions its_options)
    : loop(its_loop),
      options(std::move(its_options)),
      zone(options.domain, Address::parse(options.own_address)),
      feed(std::make_unique<Feed>(loop, std::move(tenant), zone)),
      rates(limits.client_queries_per_second),
      forward_rates(limits.client_forwards_per_second),
      budget(0) {
  std::vector<Endpoint> upstreams;
  for (const auto& text : options.upstreams)
    if (const auto endpoint = Endpoint::parse(text)) upstreams.push_back(*endpoint);
  forwarder = std::make_unique<Forwarder>(loop, std::move(upstreams), limits, *options.random);
  streams = std::make_unique<Streams>(loop, limits,
                                      [this](const std::string& message, const Address& client, Streams::Reply reply) {
                                        bool waits = false;
                                        std::string text = handle(bytes_of(message), client, true, [&]() -> Reply {
                                          waits = true;
                                          return reply;
                                        });
                                        if (!waits) reply(std::move(text));
                                      });
}

NameServer::Impl::~Impl() {
  loop.run_sync([this] {
    if (pause) loop.cancel(pause);
    for (const auto& socket : sockets) loop.forget_fd(socket->fd.get());
    streams.reset();
    forwarder.reset();
  });
  feed.reset();  // its informers' handlers run on the loop until here
}

Result<std::string> NameServer::Impl::listen(const std::string& text) {
  auto endpoint = Endpoint::parse(text);
  if (!endpoint) return fail(endpoint.error());
  if (std::ranges::all_of(endpoint->address.bytes, [](std::uint8_t byte) { return byte == 0; }))
    return bad_request(text + ": a DNS server must answer from the address that it is asked at: name one");
  const bool any_port = endpoint->port == 0;
  constexpr int kTries = 20;  // the port that UDP got may be taken for TCP
  for (int i = 0;; ++i) {
    if (any_port) endpoint->port = 0;
    auto datagrams = bind_socket(*endpoint, SOCK_DGRAM);
    if (!datagrams) return fail(datagrams.error());
    auto listener = bind_socket(*endpoint, SOCK_STREAM);
    if (!listener && any_port && i < kTries) continue;
    if (!listener) return fail(listener.error());
    loop.run_sync([&] {
      sockets.push_back(std::make_unique<Socket>());
      Socket& socket = *sockets.back();
      socket.fd = std::move(*datagrams);
      loop.watch_fd(socket.fd.get(), EPOLLIN, [this, &socket](std::uint32_t) { read_datagrams(socket); });
      streams->listen(std::move(*listener));
    });
    return endpoint->text();
  }
}

NameServer::NameServer(net::Loop& loop, kube::Client tenant, NameServerOptions options)
    : impl_(std::make_unique<Impl>(loop, std::move(tenant), std::move(options))) {}
NameServer::~NameServer() = default;

Result<std::string> NameServer::listen(const std::string& address) { return impl_->listen(address); }
void NameServer::start() { impl_->feed->start(); }
bool NameServer::wait_ready(std::chrono::milliseconds timeout) const { return impl_->feed->wait_ready(timeout); }
NameServerStats NameServer::stats() const {
  return {impl_->answered.load(), impl_->forwarded.load(), impl_->dropped.load()};
}

}  // namespace sublet::dns
