// The pod figures: pods are created in one place and followed through watches on both sides of the border.
#include <poll.h>

#include <atomic>
#include <chrono>
#include <random>
#include <thread>
#include <unordered_map>

#include "bench/connection.h"
#include "bench/figures.h"
#include "sublet/base/mutex.h"

namespace sublet::bench {
namespace {

using Clock = std::chrono::steady_clock;
constexpr auto kPatience = std::chrono::seconds(180);  // bounds every run

struct PodTimes {
  Clock::time_point sent, answered, on_host, running;
  bool gone = false;
};

std::string_view value_of(std::string_view frame, std::string_view key) {
  const std::size_t at = frame.find(key);
  if (at == std::string_view::npos) return {};
  frame.remove_prefix(at + key.size());
  return frame.substr(0, frame.find('"'));
}

/// What a watch is asked for, and which of a pod's times it tells.
struct Watch {
  std::string namespace_name;
  bool host = false, tenant = false;
  int seconds = 0;  // after which the server is asked to end it
};

/// The times of all pods of one run, filled by the writers and both watches.
class Ledger {
 public:
  explicit Ledger(std::string prefix) : prefix_(std::move(prefix)) {}

  std::string name(int index) const { return prefix_ + std::to_string(index); }
  void sent(const std::string& name, Clock::time_point at) { set(name, &PodTimes::sent, at); }
  void answered(const std::string& name) { set(name, &PodTimes::answered, Clock::now()); }

  /// One watch frame: the first name in it is metadata.name, on the host with what the syncer appends.
  void seen(std::string_view frame, bool host, bool tenant) {
    const auto now = Clock::now();
    std::string_view name = value_of(frame, "\"name\":\"");
    name = name.substr(0, name.find("-x-"));
    if (!name.starts_with(prefix_)) return;
    const MutexLock lock(mutex_);
    PodTimes& times = pods_[std::string(name)];
    if (host && times.on_host == Clock::time_point{}) times.on_host = now;
    if (tenant && times.running == Clock::time_point{} &&
        frame.find("\"phase\":\"Running\"") != std::string_view::npos) {
      times.running = now;
      ++running_;
    }
    if (host && value_of(frame, "\"type\":\"") == "DELETED" && !times.gone) {
      times.gone = true;
      ++gone_;
    }
    changed_.notify_all();
  }

  bool await_running(int count) { return await(running_, count); }
  bool await_gone(int count) { return await(gone_, count); }
  std::unordered_map<std::string, PodTimes> pods() {
    const MutexLock lock(mutex_);
    return pods_;
  }
  int running() const { return running_; }
  void count_resume() { ++resumes_; }
  int resumes() const { return resumes_; }

 private:
  void set(const std::string& name, Clock::time_point PodTimes::*field, Clock::time_point at) {
    const MutexLock lock(mutex_);
    pods_[name].*field = at;
  }
  bool await(const std::atomic<int>& counter, int count) {
    MutexLock lock(mutex_);
    return changed_.wait_for(lock, kPatience, [&]() SUBLET_REQUIRES(mutex_) { return counter >= count; });
  }

  const std::string prefix_;
  Mutex mutex_;
  CondVar changed_;
  std::unordered_map<std::string, PodTimes> pods_ SUBLET_GUARDED_BY(mutex_);
  std::atomic<int> running_ = 0, gone_ = 0, resumes_ = 0;
};

std::string pods_path(const std::string& namespace_name) { return "/api/v1/namespaces/" + namespace_name + "/pods"; }

/// One connection's worth of a watch: until the server ends it, or `stop`. Moves `revision` to the last event's.
void follow_once(const ClientTls& tls, const Watch& watch, std::string& revision, Ledger& ledger,
                 const std::atomic<bool>& stop) {
  Connection connection(tls);
  connection.start_stream(pods_path(watch.namespace_name) + "?watch=1&timeoutSeconds=" + std::to_string(watch.seconds) +
                          "&resourceVersion=" + revision);
  connection.set_nonblocking();
  constexpr int kStopCheckMilliseconds = 200;
  pollfd descriptor{connection.descriptor(), POLLIN, 0};
  ChunkDecoder decoder;
  std::string text;
  while (!stop) {
    for (std::string_view bytes = connection.read_raw(); !bytes.empty(); bytes = connection.read_raw()) {
      const bool ended = decoder.feed(bytes, text);
      std::size_t begin = 0;
      for (std::size_t end; (end = text.find('\n', begin)) != std::string::npos; begin = end + 1) {
        const std::string_view frame = std::string_view(text).substr(begin, end - begin);
        if (value_of(frame, "\"type\":\"") == "ERROR") die("a watch of pods failed: " + std::string(frame));
        ledger.seen(frame, watch.host, watch.tenant);
        revision = value_of(frame, "\"resourceVersion\":\"");
      }
      text.erase(0, begin);
      if (ended) return;
    }
    poll(&descriptor, 1, kStopCheckMilliseconds);
  }
}

/// Follows a watch until `stop`. A server may end one at any time (kube-apiserver ends those whose reader falls behind
/// by more than its buffer, as in a burst); like every client this one goes on from the last event it has seen.
void follow(const ClientTls& tls, const Watch& watch, std::string revision, Ledger& ledger,
            const std::atomic<bool>& stop) {
  while (true) {
    follow_once(tls, watch, revision, ledger, stop);
    if (stop) return;
    ledger.count_resume();
  }
}

std::string list_revision(const ClientTls& tls, const std::string& namespace_name) {
  const std::string body = Connection(tls).expect({.path = pods_path(namespace_name) + "?limit=1"}).body;
  const std::string_view key = "\"resourceVersion\":\"";
  const std::size_t begin = body.find(key) + key.size();
  return body.substr(begin, body.find('"', begin) - begin);
}

void write_pods(const PodRun& run, const ClientTls& tls, Ledger& ledger) {
  std::atomic<int> next = 0;
  const auto start = Clock::now();
  std::vector<std::thread> writers;
  for (int w = 0; w < run.writers; ++w) {
    writers.emplace_back([&] {
      Connection connection(tls);
      for (int index; (index = next++) < run.count;) {
        if (run.rate > 0) {
          std::this_thread::sleep_until(start + std::chrono::microseconds(static_cast<long>(index * 1e6 / run.rate)));
        }
        const std::string name = ledger.name(index);
        ledger.sent(name, Clock::now());
        connection.expect({.method = "POST",
                           .path = pods_path(run.tenant_namespace),
                           .body = R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":")" + name +
                                   R"(","labels":{"app":"bench"}},"spec":{"terminationGracePeriodSeconds":0,)"
                                   R"("containers":[{"name":"main","image":"busybox"}]}})"});
        ledger.answered(name);
      }
    });
  }
  for (std::thread& writer : writers) writer.join();
}

void add_quantiles(const std::string& name, const std::vector<double>& milliseconds, Figures& figures) {
  figures.emplace_back(name + "_p50_ms", quantile(milliseconds, 0.5));
  figures.emplace_back(name + "_p99_ms", quantile(milliseconds, 0.99));
}

Figures summarize(Ledger& ledger) {
  std::vector<double> answered, on_host, running;
  Clock::time_point first = Clock::time_point::max(), last_on_host{}, last_running{};
  const auto pods = ledger.pods();
  for (const auto& [name, times] : pods) {
    const auto since_sent = [&](Clock::time_point at) {
      return std::chrono::duration<double, std::milli>(at - times.sent).count();
    };
    answered.push_back(since_sent(times.answered));
    on_host.push_back(since_sent(times.on_host));
    running.push_back(since_sent(times.running));
    first = std::min(first, times.sent);
    last_on_host = std::max(last_on_host, times.on_host);
    last_running = std::max(last_running, times.running);
  }
  Figures figures;
  add_quantiles("answer", answered, figures);
  add_quantiles("host_create", on_host, figures);
  add_quantiles("running", running, figures);
  const double reach = std::chrono::duration<double>(last_on_host - first).count();
  const double all = std::chrono::duration<double>(last_running - first).count();
  figures.emplace_back("reaching_host_per_s", static_cast<double>(pods.size()) / reach);
  figures.emplace_back("all_running_s", all);
  figures.emplace_back("running_per_s", static_cast<double>(pods.size()) / all);
  return figures;
}

}  // namespace

Figures measure_pods(const PodRun& run) {
  const ClientTls tenant_tls(run.tenant), host_tls(run.host);
  const bool direct = run.tenant.server == run.host.server;
  Ledger ledger("p" + std::to_string(std::random_device{}() % 1'000'000) + "-");
  std::atomic<bool> stop = false;
  std::vector<std::thread> watches;
  const Watch on_host{
      .namespace_name = run.host_namespace, .host = true, .tenant = direct, .seconds = run.watch_seconds};
  const Watch in_tenant{.namespace_name = run.tenant_namespace, .tenant = true, .seconds = run.watch_seconds};
  watches.emplace_back(follow, std::cref(host_tls), on_host, list_revision(host_tls, run.host_namespace),
                       std::ref(ledger), std::cref(stop));
  if (!direct) {
    watches.emplace_back(follow, std::cref(tenant_tls), in_tenant, list_revision(tenant_tls, run.tenant_namespace),
                         std::ref(ledger), std::cref(stop));
  }
  write_pods(run, tenant_tls, ledger);
  if (!ledger.await_running(run.count)) {
    die("only " + std::to_string(ledger.running()) + " of " + std::to_string(run.count) + " pods became Running");
  }
  Figures figures = summarize(ledger);
  figures.emplace_back("watch_resumes", ledger.resumes());
  if (!run.keep) {
    Connection(tenant_tls)
        .expect({.method = "DELETE",
                 .path = pods_path(run.tenant_namespace) + "?labelSelector=app%3Dbench&gracePeriodSeconds=0"});
    if (!ledger.await_gone(run.count)) die("the pods were measured, but deleting them did not empty the host");
  }
  stop = true;
  for (std::thread& watch : watches) watch.join();
  return figures;
}

}  // namespace sublet::bench
