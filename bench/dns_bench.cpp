// How many answers a second of one core's time the tenant's name server gives over UDP: a client keeps a window of
// questions open, and the processor time of the server's thread is what counts.
//
//   build/release/bin/dns_bench [seconds]
#include <arpa/inet.h>
#include <pthread.h>
#include <sys/socket.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>

#include "dns/wire.h"
#include "sublet/dns/name_server.h"

namespace {

using namespace sublet;

constexpr int kServices = 1000, kPods = 10;
constexpr int kWindow = 64;

// The tenant's API, as the name server reads it: lists, and watches in which nothing happens.
void tenant(net::Request request, std::shared_ptr<net::ResponseSink> sink) {
  static std::shared_ptr<net::ResponseSink> open[3];
  static int opened = 0;
  if (request.target.find("watch=") != std::string::npos) {
    open[opened++ % 3] = sink;
    return sink->start(200, {{"Content-Type", "application/json"}});
  }
  std::string items;
  const auto add = [&](const std::string& json) { items += (items.empty() ? "" : ",") + json; };
  const auto meta = [](const std::string& name, const std::string& more = {}) {
    return R"({"metadata":{"name":")" + name + R"(","namespace":"team","uid":"u","resourceVersion":"1")" + more + "}";
  };
  for (int i = 0; i < kServices; ++i) {
    const std::string name = "s-" + std::to_string(i);
    if (request.target.find("namespaces") != std::string::npos) {
      add(R"({"metadata":{"name":"team","uid":"u","resourceVersion":"1"}})");
      break;
    }
    if (request.target.find("services") != std::string::npos) {
      add(meta(name) + R"(,"spec":{"clusterIP":")" +
          (i % 2 ? "None" : "10.96." + std::to_string(i / 250) + "." + std::to_string(i % 250)) + "\"}}");
      continue;
    }
    std::string endpoints;
    for (int pod = 0; pod < kPods; ++pod)
      endpoints += (pod ? "," : "") + std::string(R"({"addresses":["10.1.2.)") + std::to_string(pod) +
                   R"("],"hostname":"p-)" + std::to_string(pod) + "\"}";
    add(meta(name, R"(,"labels":{"kubernetes.io/service-name":")" + name + "\"}") + R"(,"endpoints":[)" + endpoints +
        "]}");
  }
  sink->respond(200, {{"Content-Type", "application/json"}},
                R"({"kind":"List","apiVersion":"v1","metadata":{"resourceVersion":"1"},"items":[)" + items + "]}");
}

std::string question(const std::string& name) {
  dns::Query query;
  query.edns = true;
  query.question.type = dns::Type::a;
  return dns::write_query(query, 7, name);
}

struct Kind {
  const char* what;
  std::string prefix, suffix;  // around a number
};

double cpu_of(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) / 1e9;
}

void measure(const Kind& kind, int fd, clockid_t server, double seconds) {
  std::array<char, 4096> buffer{};
  long answers = 0, asked = 0;
  const auto send = [&] {
    const std::string text = question(kind.prefix + std::to_string(asked++ % kServices) + kind.suffix);
    if (::send(fd, text.data(), text.size(), 0) < 0) std::perror("send");
  };
  const auto start = std::chrono::steady_clock::now();
  const double cpu = cpu_of(server);
  for (int i = 0; i < kWindow; ++i) send();
  while (std::chrono::steady_clock::now() - start < std::chrono::duration<double>(seconds)) {
    if (::recv(fd, buffer.data(), buffer.size(), 0) > 0) ++answers;
    send();
  }
  const double used = cpu_of(server) - cpu;
  while (::recv(fd, buffer.data(), buffer.size(), MSG_DONTWAIT) > 0) {
  }
  std::printf("%-28s %9.0f answers a second of one core (%.1f us each; %ld in %.1f s)\n", kind.what, answers / used,
              used / static_cast<double>(answers) * 1e6, answers, seconds);
}

}  // namespace

int main(int count, char** arguments) {
  const double seconds = count > 1 ? std::atof(arguments[1]) : 3;
  net::LoopThread loop("dns");
  clockid_t server{};
  loop.loop().run_sync([&] { pthread_getcpuclockid(pthread_self(), &server); });
  dns::NameServerOptions options;
  options.limits.queries_per_second = options.limits.client_queries_per_second = 10'000'000;
  dns::NameServer name_server(loop.loop(), kube::Client(net::make_in_process_transport(tenant, {})), options);
  const auto address = name_server.listen("127.0.0.1:0");
  name_server.start();
  if (!address || !name_server.wait_ready(std::chrono::seconds(10))) return 1;
  const int fd = ::socket(AF_INET, SOCK_DGRAM, 0);
  const timeval patience{0, 100'000};  // what was lost is made up for
  ::setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  to.sin_port = htons(static_cast<std::uint16_t>(std::atoi(address->substr(address->rfind(':') + 1).c_str())));
  if (::connect(fd, reinterpret_cast<const sockaddr*>(&to), sizeof to) != 0) return 1;
  const Kind kinds[] = {{"cluster IP, or headless of 10", "s-", ".team.svc.cluster.local"},
                        {"a pod of a headless Service", "p-3.s-", ".team.svc.cluster.local"},
                        {"a name that is not there", "x-", ".team.svc.cluster.local"}};
  for (const Kind& kind : kinds) measure(kind, fd, server, seconds);
  return 0;
}
