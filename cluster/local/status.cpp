#include "cluster/local/status.h"

#include <map>
#include <memory>

#include "cluster/local/daemon.h"
#include "cluster/local/host_token.h"
#include "sublet/base/files.h"
#include "sublet/base/mutex.h"
#include "sublet/kube/kubeconfig.h"
#include "sublet/net/http_client.h"
#include "sublet/schema/document.h"

namespace sublet::cluster {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

// Counts the answers that are still awaited.
class PendingAnswers {
 public:
  void add() {
    const MutexLock lock(mutex_);
    ++count_;
  }
  void answered() {
    const MutexLock lock(mutex_);
    if (--count_ == 0) none_.notify_all();
  }
  void wait_until(steady_clock::time_point deadline) {
    MutexLock lock(mutex_);
    none_.wait_until(lock, deadline, [&]() SUBLET_REQUIRES(mutex_) { return count_ == 0; });
  }

 private:
  Mutex mutex_;
  CondVar none_;
  int count_ SUBLET_GUARDED_BY(mutex_) = 0;
};

// The answer to GET /version. Written until its exchange is gone, read after that.
class VersionAnswer final : public net::ResponseObserver {
 public:
  explicit VersionAnswer(PendingAnswers& pending) : pending_(pending) { pending_.add(); }
  void on_head(int code, const net::Headers&) override { code_ = code; }
  void on_body(std::string_view chunk) override { body_.append(chunk); }
  void on_end(Outcome outcome) override {
    answered_ = outcome.has_value();
    pending_.answered();
  }

  bool anything() const { return answered_; }
  bool good() const { return answered_ && code_ == 200; }
  std::string version() const {
    const auto version = schema::Document::parse_json(body_);
    return version ? std::string(version->root()["gitVersion"].string("-")) : "-";
  }

 private:
  PendingAnswers& pending_;
  int code_ = 0;
  bool answered_ = false;
  std::string body_;
};

net::Request version_request() {
  net::Request request;
  request.method = "GET";
  request.target = "/version";
  request.headers.add("Accept", "application/json");
  return request;
}

// All requests of one call, and their answers.
class Round {
 public:
  explicit Round(milliseconds patience) : patience_(patience), deadline_(steady_clock::now() + patience) {}

  std::shared_ptr<const VersionAnswer> ask(std::shared_ptr<net::Transport> transport) {
    auto answer = std::make_shared<VersionAnswer>(pending_);
    exchanges_.push_back(transport->start(version_request(), answer, patience_));
    transports_.push_back(std::move(transport));
    return answer;
  }
  net::Loop& loop() { return loop_.loop(); }
  // Gives up what has not answered by the deadline.
  void end() {
    pending_.wait_until(deadline_);
    exchanges_.clear();
  }

 private:
  const milliseconds patience_;
  const steady_clock::time_point deadline_;
  PendingAnswers pending_;
  net::LoopThread loop_{"status"};
  std::vector<std::shared_ptr<net::Transport>> transports_;
  std::vector<std::unique_ptr<net::Exchange>> exchanges_;
};

// The hosts other than the embedded one, each asked once. Virtual clusters of one host have equal kubeconfig files.
class Hosts {
 public:
  Hosts(const HostConnector& connect, Round& round) : connect_(connect), round_(round) {}
  void ask_for(const LocalCluster& cluster) {
    auto text = read_file(cluster.layout.host_kubeconfig_path());
    if (!text) return;
    const auto [host, is_new] = by_kubeconfig_.try_emplace(std::move(*text));
    by_cluster_[cluster.layout.folder()] = &host->second;
    if (is_new) host->second = ask(cluster);
  }
  bool is_away(const LocalCluster& cluster) const {
    const auto found = by_cluster_.find(cluster.layout.folder());
    return found == by_cluster_.end() || !*found->second || !(*found->second)->anything();
  }

 private:
  using AnswerPtr = std::shared_ptr<const VersionAnswer>;  // null: it cannot even be asked
  AnswerPtr ask(const LocalCluster& cluster) {
    const auto access = kube::load_kubeconfig(cluster.layout.host_kubeconfig_path());
    if (!access) return nullptr;
    auto transport = connect_(*access);
    return transport ? round_.ask(std::move(*transport)) : nullptr;
  }

  const HostConnector& connect_;
  Round& round_;
  std::map<std::string, AnswerPtr> by_kubeconfig_;
  std::map<std::string, const AnswerPtr*> by_cluster_;  // by folder
};

}  // namespace

std::vector<ClusterStatus> ask_all(std::span<const LocalCluster> clusters, bool embedded_host_runs,
                                   const HostConnector& connect_host, milliseconds patience) {
  Round round(patience);
  Hosts hosts(connect_host, round);
  std::map<std::size_t, std::shared_ptr<const VersionAnswer>> answers;
  for (std::size_t i = 0; i < clusters.size(); ++i) {
    if (!daemon_runs(clusters[i].layout.daemon_lock_path())) continue;
    net::Endpoint socket;
    socket.unix_path = clusters[i].layout.socket_path();
    answers[i] = round.ask(net::make_http_client(round.loop(), std::move(socket)));
    if (!clusters[i].record.embedded_host) hosts.ask_for(clusters[i]);
  }
  round.end();
  std::vector<ClusterStatus> out(clusters.size());
  for (std::size_t i = 0; i < clusters.size(); ++i)
    if (clusters[i].record.deleting) out[i].status = "Deleting";
  for (const auto& [i, answer] : answers) {
    if (clusters[i].record.deleting) continue;
    out[i].status = "Starting";
    if (!answer->good()) continue;
    const bool away = clusters[i].record.embedded_host ? !embedded_host_runs : hosts.is_away(clusters[i]);
    out[i].status = away ? "HostDown" : token_is_valid(clusters[i].layout) ? "Running" : "TokenExpired";
    out[i].version = answer->version();
  }
  return out;
}

}  // namespace sublet::cluster
