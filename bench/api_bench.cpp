// The API figures: closed loops of many writers and readers, and one epoll loop for many watchers.
#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <random>
#include <thread>

#include "bench/api_steps.h"
#include "bench/closed_loop.h"
#include "bench/connection.h"
#include "bench/figures.h"

namespace sublet::bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kListSize = 500;
constexpr int kPayloadBytes = 1024;
constexpr double kGetsPerSecond = 200;     // of the client beside another one's lists
constexpr int kIdleConnectionsSettle = 1;  // a first watcher is opened before memory is read, so that pools exist

std::string payload(std::minstd_rand& random) {
  static constexpr std::string_view kLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  std::string text(kPayloadBytes, ' ');
  for (char& c : text) c = kLetters[(random() >> 8) % kLetters.size()];
  return text;
}

std::string config_map(const std::string& name, std::minstd_rand& random) {
  return R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":")" + name + R"("},"data":{"payload":")" +
         payload(random) + "\"}}";
}

/// Deletes all ConfigMaps there, so that a scenario leaves no load for the next.
void empty_namespace(Connection& connection, const std::string& namespace_name) {
  connection.expect({.method = "DELETE", .path = config_maps_path(namespace_name)});
}

MakeRequest creator(const std::string& namespace_name, const std::string& stem) {
  return [=](int worker, int turn, std::minstd_rand& random) {
    const std::string name = stem + "-" + std::to_string(worker) + "-" + std::to_string(turn);
    return Request{.method = "POST", .path = config_maps_path(namespace_name), .body = config_map(name, random)};
  };
}

/// Many watches on one epoll descriptor; counts events by the end of each frame.
class Watchers {
 public:
  Watchers() : epoll_(epoll_create1(EPOLL_CLOEXEC)) {}
  ~Watchers() { ::close(epoll_); }
  Watchers(const Watchers&) = delete;
  Watchers& operator=(const Watchers&) = delete;

  void add(const ClientTls& tls, const std::string& path) {
    auto connection = std::make_unique<Connection>(tls);
    connection->start_stream(path);
    connection->set_nonblocking();
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.u64 = watchers_.size();
    epoll_ctl(epoll_, EPOLL_CTL_ADD, connection->descriptor(), &event);
    watchers_.push_back({std::move(connection), 0});
  }

  /// Reads until every watcher got one more event; appends each one's latency since `start`.
  void await_one_each(Clock::time_point start, std::vector<double>& latencies) {
    constexpr int kMilliseconds = 60'000;
    std::array<epoll_event, 256> ready{};
    std::size_t missing = watchers_.size();
    while (missing > 0) {
      const int count = epoll_wait(epoll_, ready.data(), ready.size(), kMilliseconds);
      if (count == 0) die(std::to_string(missing) + " watchers got no event within a minute");
      for (int i = 0; i < count; ++i) {
        const std::size_t events = read_events(watchers_[ready[i].data.u64]);
        latencies.insert(latencies.end(), events, microseconds_since(start));
        missing -= std::min(missing, events);
      }
    }
  }

 private:
  struct Watcher {
    std::unique_ptr<Connection> connection;
    char last = 0;
  };

  /// A frame ends with "}\n", and JSON has no line break of its own inside.
  static std::size_t read_events(Watcher& watcher) {
    std::size_t events = 0;
    for (std::string_view bytes = watcher.connection->read_raw(); !bytes.empty();
         bytes = watcher.connection->read_raw()) {
      for (char c : bytes) {
        if (c == '\n' && watcher.last == '}') ++events;
        watcher.last = c;
      }
    }
    return events;
  }

  int epoll_;
  std::vector<Watcher> watchers_;
};

/// GETs at `rate`, each due at its own time, whether the one before was answered or not: a wait that holds up the next
/// ones counts for each of them. Appends their latencies.
void get_at_rate(const ClientTls& tls, const std::string& path, double rate, double seconds,
                 std::vector<double>& latencies) {
  Connection connection(tls);
  connection.expect({.path = path});
  const auto start = Clock::now();
  for (int turn = 0; turn < rate * seconds; ++turn) {
    const auto due = start + std::chrono::microseconds(static_cast<long>(turn * 1e6 / rate));
    std::this_thread::sleep_until(due);  // the pace is what is measured
    connection.expect({.path = path});
    latencies.push_back(microseconds_since(due));
  }
}

/// The GETs' latencies while another connection lists without pause.
void measure_beside(const std::string& name, const ClientTls& tls, const std::string& object, const Request& list,
                    double seconds, Figures& figures) {
  std::atomic<bool> over{false};
  std::atomic<int> lists{0};
  std::thread lister([&] {
    Connection connection(tls);
    for (; !over; ++lists) connection.expect(list);
  });
  while (lists == 0) std::this_thread::yield();
  const int before = lists;
  std::vector<double> latencies;
  get_at_rate(tls, object, kGetsPerSecond, seconds, latencies);
  figures.emplace_back(name + "_lists_per_s", (lists - before) / seconds);
  over = true;
  lister.join();
  figures.emplace_back(name + "_p50_ms", quantile(latencies, 0.5) / 1e3);
  figures.emplace_back(name + "_p99_ms", quantile(latencies, 0.99) / 1e3);
}

/// The configuration of a pod, of 3 KB; `turn` is what changes from one apply to the next.
std::string pod_to_apply(int worker, int turn) {
  constexpr int kVariables = 32;
  const std::string name = "pod-" + std::to_string(worker);
  std::string env;
  for (int i = 0; i < kVariables; ++i)
    env += std::string(i == 0 ? "" : ",") + R"({"name":"VARIABLE_)" + std::to_string(i) + R"(","value":")" +
           std::string(48, static_cast<char>('a' + i % 26)) + "\"}";
  return R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":")" + name + R"(","labels":{"app":"bench","turn":"t)" +
         std::to_string(turn) +
         R"("}},"spec":{"automountServiceAccountToken":false,"containers":[{"name":"main","image":"example/main:1",)" +
         R"("ports":[{"name":"http","containerPort":8080}],"resources":{"requests":{"cpu":"10m","memory":"16Mi"}},"env":[)" +
         env + R"(]},{"name":"side","image":"example/side:1","args":["--one","--two"]}]}})";
}

Request apply_of_pod(const std::string& namespace_name, int worker, int turn) {
  return {.method = "PATCH",
          .path = "/api/v1/namespaces/" + namespace_name + "/pods/pod-" + std::to_string(worker) +
                  "?fieldManager=bench&force=true",
          .body = pod_to_apply(worker, turn),
          .content_type = "application/apply-patch+yaml"};
}

/// PUTs, and applies of pods that exist: all of them change managedFields.
void measure_changes(Connection& connection, const ClientTls& tls, const ProcessUsage& server, double seconds,
                     const std::string& objects, Figures& figures) {
  run_closed_loop(
      "update_16", tls, server, {.workers = 16, .seconds = seconds},
      [&](int worker, int, std::minstd_rand& dice) {
        const std::string name = "cm-" + std::to_string(worker);
        return Request{.method = "PUT", .path = config_maps_path(objects) + "/" + name, .body = config_map(name, dice)};
      },
      figures);
  // Pods want a service account; where a controller makes it, it may be there already.
  (void)connection.call({.method = "POST",
                         .path = "/api/v1/namespaces/" + objects + "/serviceaccounts",
                         .body = R"({"apiVersion":"v1","kind":"ServiceAccount","metadata":{"name":"default"}})"});
  for (int worker = 0; worker < 16; ++worker) connection.expect(apply_of_pod(objects, worker, -1));
  for (const bool changes : {true, false}) {
    run_closed_loop(
        changes ? "apply_16" : "apply_same_16", tls, server, {.workers = 16, .seconds = seconds},
        [&](int worker, int turn, std::minstd_rand&) { return apply_of_pod(objects, worker, changes ? turn : -1); },
        figures);
    for (int worker = 0; changes && worker < 16; ++worker) connection.expect(apply_of_pod(objects, worker, -1));
  }
  connection.expect({.method = "DELETE", .path = "/api/v1/namespaces/" + objects + "/pods?gracePeriodSeconds=0"});
}

void make_config_maps(Connection& connection, const std::string& namespace_name) {
  std::minstd_rand random(1);
  for (int i = 0; i < kListSize; ++i) {
    const std::string name = "cm-" + std::to_string(i);
    connection.expect({.method = "POST", .path = config_maps_path(namespace_name), .body = config_map(name, random)});
  }
}

}  // namespace

Figures measure_api(const kube::ClusterAccess& access, const ProcessUsage& server, double seconds) {
  const ClientTls tls(access);
  Connection connection(tls);
  Figures figures;
  for (int writers : {1, 16, 64}) {
    const std::string name = "create_" + std::to_string(writers);
    const std::string namespace_name = make_namespace(connection, "bench-create-" + std::to_string(writers));
    run_closed_loop(name, tls, server, {.workers = writers, .seconds = seconds}, creator(namespace_name, "cm"),
                    figures);
    empty_namespace(connection, namespace_name);
  }
  const std::string objects = make_namespace(connection, "bench-objects");
  make_config_maps(connection, objects);
  // The namespace also has kube-root-ca.crt where a controller makes it: the limit keeps the list at exactly 500.
  const std::string list = config_maps_path(objects) + "?limit=" + std::to_string(kListSize);
  run_closed_loop(
      "get_16", tls, server, {.workers = 16, .seconds = seconds},
      [&](int, int, std::minstd_rand& dice) {
        return Request{.path = config_maps_path(objects) + "/cm-" + std::to_string(dice() % kListSize)};
      },
      figures);
  for (bool gzip : {false, true}) {
    run_closed_loop(
        gzip ? "list_gzip_4" : "list_4", tls, server, {.workers = 4, .seconds = seconds},
        [&](int, int, std::minstd_rand&) { return Request{.path = list, .gzip = gzip}; }, figures);
  }
  run_closed_loop(
      "patch_16", tls, server, {.workers = 16, .seconds = seconds},
      [&](int worker, int turn, std::minstd_rand&) {
        return Request{.method = "PATCH",
                       .path = config_maps_path(objects) + "/cm-" + std::to_string(worker),
                       .body = R"({"data":{"turn":")" + std::to_string(turn) + "\"}}",
                       .content_type = "application/merge-patch+json"};
      },
      figures);
  measure_changes(connection, tls, server, seconds, objects, figures);
  empty_namespace(connection, objects);
  return figures;
}

Figures measure_changes(const kube::ClusterAccess& access, const ProcessUsage& server, double seconds) {
  const ClientTls tls(access);
  Connection connection(tls);
  Figures figures;
  const std::string objects = make_namespace(connection, "bench-changes");
  make_config_maps(connection, objects);
  measure_changes(connection, tls, server, seconds, objects, figures);
  empty_namespace(connection, objects);
  return figures;
}

Figures measure_watches(const kube::ClusterAccess& access, const ProcessUsage& server, int count, int events) {
  const ClientTls tls(access);
  Connection connection(tls);
  const std::string path = config_maps_path(make_namespace(connection, "bench-watch"));
  // Settled: the controllers' own ConfigMap is there before anyone watches.
  std::minstd_rand random(1);
  connection.expect({.method = "POST", .path = path, .body = config_map("first", random)});
  const std::string revision = resource_version(connection.expect({.path = path}).body);
  // A selector that only our own objects match: what the controllers make there is not counted.
  const std::string watch =
      path + "?watch=1&labelSelector=bench%3Devent&timeoutSeconds=600&resourceVersion=" + revision;

  Figures figures;
  Watchers watchers;
  for (int i = 0; i < kIdleConnectionsSettle; ++i) watchers.add(tls, watch);
  const double before = server.pss_kib();
  for (int i = kIdleConnectionsSettle; i < count; ++i) watchers.add(tls, watch);
  figures.emplace_back("watch_idle_kib", (server.pss_kib() - before) / (count - kIdleConnectionsSettle));

  std::vector<double> latencies;
  const double cpu = server.cpu_us();
  for (int i = 0; i < events; ++i) {
    const std::string body = R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"event-)" + std::to_string(i) +
                             R"(","labels":{"bench":"event"}},"data":{"payload":")" + payload(random) + "\"}}";
    const auto start = Clock::now();
    connection.expect({.method = "POST", .path = path, .body = body});
    watchers.await_one_each(start, latencies);
  }
  const double deliveries = static_cast<double>(latencies.size());
  figures.emplace_back("delivery_cpu_us", (server.cpu_us() - cpu) / deliveries);
  figures.emplace_back("delivery_p50_ms", quantile(latencies, 0.5) / 1e3);
  figures.emplace_back("delivery_p99_ms", quantile(latencies, 0.99) / 1e3);
  return figures;
}

Figures measure_neighbours(const kube::ClusterAccess& access, const ProcessUsage& server, double seconds, int count) {
  const ClientTls tls(access);
  Connection connection(tls);
  const std::string namespace_name = make_namespace(connection, "bench-neighbours");
  const std::string path = config_maps_path(namespace_name);
  Figures figures, unused;
  run_closed_loop("", tls, server, {.workers = 16, .operations = count}, creator(namespace_name, "cm"), unused);
  std::minstd_rand random(1);
  connection.expect({.method = "POST", .path = path, .body = config_map("read", random)});
  std::vector<double> alone;
  get_at_rate(tls, path + "/read", kGetsPerSecond, seconds, alone);
  figures.emplace_back("get_alone_p50_ms", quantile(alone, 0.5) / 1e3);
  figures.emplace_back("get_alone_p99_ms", quantile(alone, 0.99) / 1e3);
  measure_beside("get_beside_list", tls, path + "/read", {.path = path}, seconds, figures);
  measure_beside("get_beside_list_gzip", tls, path + "/read", {.path = path, .gzip = true}, seconds, figures);
  return figures;
}

Figures measure_objects(const kube::ClusterAccess& access, const ProcessUsage& server, int count) {
  const ClientTls tls(access);
  Connection connection(tls);
  const std::string namespace_name = make_namespace(connection, "bench-memory");
  const double before = server.pss_kib();
  Figures figures, unused;
  run_closed_loop("", tls, server, {.workers = 16, .operations = count}, creator(namespace_name, "cm"), unused);
  figures.emplace_back("objects_added_kib", server.pss_kib() - before);
  return figures;
}

}  // namespace sublet::bench
