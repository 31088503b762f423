// What net/ costs: server CPU per GET and per 500 KB LIST over TLS keep-alive, per delivery of one 1.3 KB event to
// 1,000 TLS watchers, and memory per idle mTLS watch.
//
// The server runs in this process, a client in a forked one, so that CPU (getrusage) and memory (PSS) are the server's
// alone. The client reads watches without decrypting them: it must cost little.
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "bench/own_usage.h"
#include "sublet/base/mutex.h"
#include "sublet/net/http_server.h"
#include "sublet/net/openssl_ptr.h"

namespace {

using namespace sublet;
using namespace sublet::net;
using namespace sublet::bench;
using Steady = std::chrono::steady_clock;

constexpr int kWatches = 2000;
constexpr int kWatchers = 1000;
constexpr int kRounds = 200;
constexpr int kConnections = 16;
constexpr int kGets = 40'000;
constexpr int kLists = 1'000;
constexpr std::size_t kEventSize = 1300;
constexpr std::size_t kObjectSize = 1100;
constexpr std::size_t kListSize = 500'000;

// The client's process ------------------------------------------------------------------------------------------------

struct Connection {
  int fd;
  SslPtr ssl;
};

Connection open_connection(SSL_CTX* context, int port) {
  Connection connection{::socket(AF_INET, SOCK_STREAM, 0), SslPtr(SSL_new(context))};
  const int on = 1;
  ::setsockopt(connection.fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::connect(connection.fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0) std::abort();
  SSL_set_fd(connection.ssl.get(), connection.fd);
  if (SSL_connect(connection.ssl.get()) != 1) std::abort();
  return connection;
}

void send_text(Connection& connection, const std::string& text) {
  if (SSL_write(connection.ssl.get(), text.data(), static_cast<int>(text.size())) <= 0) std::abort();
}

std::size_t read_at_least(Connection& connection, std::size_t size, std::string& buffer) {
  std::size_t total = 0;
  while (total < size) {
    const int got = SSL_read(connection.ssl.get(), buffer.data(), static_cast<int>(buffer.size()));
    if (got <= 0) std::abort();
    total += static_cast<std::size_t>(got);
  }
  return total;
}

void ask_in_turn(std::vector<Connection>& connections, const std::string& request, int count, std::size_t answer_size) {
  std::string buffer(65536, 0);
  for (int sent = 0; sent < count; sent += static_cast<int>(connections.size())) {
    for (auto& connection : connections) send_text(connection, request);
    for (auto& connection : connections) read_at_least(connection, answer_size, buffer);
  }
}

/// Takes bytes from all watches until the parent closes the pipe.
void swallow(const std::vector<Connection>& watches, int stop_fd) {
  const int epoll = ::epoll_create1(0);
  const auto add = [&](int fd) {
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.fd = fd;
    ::epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event);
  };
  for (const auto& watch : watches) add(watch.fd);
  add(stop_fd);
  std::vector<epoll_event> events(512);
  std::string buffer(65536, 0);
  for (;;) {
    const int ready = ::epoll_wait(epoll, events.data(), static_cast<int>(events.size()), -1);
    for (int i = 0; i < ready; ++i) {
      const int fd = events[static_cast<std::size_t>(i)].data.fd;
      if (fd == stop_fd) return;
      [[maybe_unused]] const auto got = ::recv(fd, buffer.data(), buffer.size(), 0);
    }
  }
}

struct Pipes {
  int commands[2], answers[2];
};

char await(int fd) {
  char c = 0;
  return ::read(fd, &c, 1) == 1 ? c : '\0';
}

void tell(int fd, char c) {
  if (::write(fd, &c, 1) != 1) std::abort();
}

[[noreturn]] void run_client(const Pipes& pipes, const TlsClientConfig& config) {
  ::close(pipes.commands[1]);
  int port = 0;
  if (::read(pipes.commands[0], &port, sizeof(port)) != sizeof(port)) std::abort();
  const auto tls = TlsContext::client(config).value();
  std::vector<Connection> connections, watches;
  for (char command; (command = await(pipes.commands[0])) != '\0';) {
    if (command == 'c')
      for (int i = 0; i < kConnections; ++i) connections.push_back(open_connection(tls->native(), port));
    if (command == 'g')
      ask_in_turn(connections,
                  "GET /o HTTP/1.1\r\nHost: x\r\nAccept: application/json\r\nUser-Agent: kubectl/v1.33.0 (linux/amd64) "
                  "kubernetes/0000000\r\nAccept-Encoding: gzip\r\n\r\n",
                  kGets, kObjectSize);
    if (command == 'l') ask_in_turn(connections, "GET /l HTTP/1.1\r\nHost: x\r\n\r\n", kLists, kListSize);
    if (command == 'w')
      for (int i = 0; i < kWatches; ++i) {
        watches.push_back(open_connection(tls->native(), port));
        send_text(watches.back(), "GET /w HTTP/1.1\r\nHost: x\r\nAccept: application/json\r\n\r\n");
      }
    tell(pipes.answers[1], command);
    if (command == 's') swallow(watches, pipes.commands[0]);
  }
  std::_Exit(0);
}

// The server's process ------------------------------------------------------------------------------------------------

class Bench {
 public:
  Bench(const Pipes& pipes, std::shared_ptr<TlsContext> tls)
      : pipes_(pipes), loop_("server"), server_(loop_.loop(), handler()) {
    const auto address = server_.listen_tls("127.0.0.1:0", std::move(tls)).value();
    const int port = std::stoi(address.substr(address.rfind(':') + 1));
    if (::write(pipes_.commands[1], &port, sizeof(port)) != sizeof(port)) std::abort();
  }

  void run() {
    std::printf("idle server: PSS %.0f KiB\n", pss_kib());
    command('c');
    measure("GET of 1.1 KB, 16 TLS connections", 'g', kGets);
    measure("LIST of 500 KB, 16 TLS connections", 'l', kLists);
    watches();
    fan_out();
  }

 private:
  Handler handler() {
    return [this](Request request, std::shared_ptr<ResponseSink> sink) {
      if (request.target == "/o") return sink->respond(200, {{"Content-Type", "application/json"}}, object_);
      if (request.target == "/l") return sink->respond(200, {{"Content-Type", "application/json"}}, list_);
      sink->start(200, {{"Content-Type", "application/json"}});
      const MutexLock lock(mutex_);
      sinks_.push_back(std::move(sink));
    };
  }

  void command(char c) {
    tell(pipes_.commands[1], c);
    if (await(pipes_.answers[0]) != c) std::abort();
  }

  void measure(const char* what, char c, int count) {
    const auto cpu = cpu_seconds();
    const auto start = Steady::now();
    command(c);
    const auto wall = std::chrono::duration<double>(Steady::now() - start).count();
    std::printf("%-40s %8.0f/s  server CPU %7.1f us each\n", what, count / wall, (cpu_seconds() - cpu) / count * 1e6);
  }

  std::size_t sinks() {
    const MutexLock lock(mutex_);
    return sinks_.size();
  }

  void watches() {
    idle_pss_ = pss_kib();
    const auto cpu = cpu_seconds();
    const auto start = Steady::now();
    command('w');
    while (sinks() < kWatches) std::this_thread::yield();
    const auto wall = std::chrono::duration<double>(Steady::now() - start).count();
    std::printf("%-40s %8.0f/s  server CPU %7.1f us each\n", "mTLS handshake and watch", kWatches / wall,
                (cpu_seconds() - cpu) / kWatches * 1e6);
    std::printf("%-40s %8.1f KiB each (PSS %.0f -> %.0f KiB, %d watches)\n", "idle mTLS watch",
                (pss_kib() - idle_pss_) / kWatches, idle_pss_, pss_kib(), kWatches);
  }

  bool drained(std::size_t count) {
    return std::all_of(sinks_.begin(), sinks_.begin() + static_cast<std::ptrdiff_t>(count),
                       [](const auto& sink) { return sink->backlog() == 0; });
  }

  void fan_out() {
    tell(pipes_.commands[1], 's');
    await(pipes_.answers[0]);
    const auto event = std::make_shared<const std::string>(kEventSize, 'e');
    const auto cpu = cpu_seconds();
    const auto start = Steady::now();
    for (int round = 0; round < kRounds; ++round) {
      for (int i = 0; i < kWatchers; ++i) sinks_[static_cast<std::size_t>(i)]->write(event);
      while (!drained(kWatchers)) std::this_thread::sleep_for(std::chrono::microseconds(500));
    }
    const auto wall = std::chrono::duration<double>(Steady::now() - start).count();
    std::printf("%-40s %8.0f/s  server CPU %7.1f us each\n", "1.3 KB event to 1,000 TLS watchers",
                kRounds * kWatchers / wall, (cpu_seconds() - cpu) / (kRounds * kWatchers) * 1e6);
    std::printf("%-40s %8.1f KiB each\n", "watch after events", (pss_kib() - idle_pss_) / kWatches);
  }

  const Pipes& pipes_;
  double idle_pss_ = 0;
  const std::string object_ = std::string(kObjectSize, 'o');
  const std::string list_ = std::string(kListSize, 'l');
  Mutex mutex_;
  std::vector<std::shared_ptr<ResponseSink>> sinks_ SUBLET_GUARDED_BY(mutex_);
  LoopThread loop_;
  HttpServer server_;
};

KeyPair certificate(const char* name, const KeyPair* issuer) {
  CertificateRequest request;
  request.common_name = name;
  request.organizations = {"system:masters"};
  request.is_ca = issuer == nullptr;
  request.server_auth = request.client_auth = issuer != nullptr;
  request.ip_addresses = {"127.0.0.1"};
  return make_certificate(request, issuer).value();
}

}  // namespace

int main() {
  rlimit files{16384, 16384};
  ::setrlimit(RLIMIT_NOFILE, &files);
  const auto authority = certificate("ca", nullptr);
  const auto server = certificate("server", &authority), client = certificate("admin", &authority);
  Pipes pipes{};
  if (::pipe(pipes.commands) != 0 || ::pipe(pipes.answers) != 0) return 1;
  if (::fork() == 0)
    run_client(pipes, {.ca_pem = authority.certificate_pem,
                       .certificate_pem = client.certificate_pem,
                       .key_pem = client.key_pem,
                       .server_name = "127.0.0.1"});
  ::close(pipes.commands[0]);
  {
    Bench bench(pipes, TlsContext::server({.certificate_pem = server.certificate_pem,
                                           .key_pem = server.key_pem,
                                           .client_ca_pem = authority.certificate_pem})
                           .value());
    bench.run();
    ::close(pipes.commands[1]);  // ends the client
  }
  ::wait(nullptr);
  return 0;
}
