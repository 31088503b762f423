#include "cluster/local/status.h"

#include <latch>
#include <memory>

#include "cluster/local/daemon.h"
#include "sublet/net/http_client.h"
#include "sublet/schema/document.h"

namespace sublet::cluster {
namespace {

// Takes the answer to GET /version of one of them.
class VersionAnswer final : public net::ResponseObserver {
 public:
  VersionAnswer(ClusterStatus& status, std::latch& all) : status_(status), all_(all) {}
  void on_head(int code, const net::Headers&) override { code_ = code; }
  void on_body(std::string_view chunk) override { body_.append(chunk); }
  void on_end(Outcome outcome) override {
    if (outcome && code_ == 200) take();
    all_.count_down();
  }

 private:
  void take() {
    status_.status = "Running";
    if (const auto version = schema::Document::parse_json(body_))
      status_.version = version->root()["gitVersion"].string("-");
  }

  ClusterStatus& status_;
  std::latch& all_;
  int code_ = 0;
  std::string body_;
};

net::Request version_request() {
  net::Request request;
  request.method = "GET";
  request.target = "/version";
  request.headers.add("Accept", "application/json");
  return request;
}

}  // namespace

std::vector<ClusterStatus> ask_all(std::span<const VirtualCluster> clusters, bool host_runs,
                                   std::chrono::milliseconds patience) {
  std::vector<ClusterStatus> out(clusters.size());
  std::vector<std::size_t> alive;
  for (std::size_t i = 0; i < clusters.size(); ++i)
    if (daemon_runs(clusters[i].daemon_lock_path())) alive.push_back(i);
  std::latch all(static_cast<std::ptrdiff_t>(alive.size()));
  net::LoopThread loop("status");
  std::vector<std::shared_ptr<net::Transport>> transports;
  std::vector<std::unique_ptr<net::Exchange>> exchanges;
  for (const std::size_t i : alive) {
    out[i].status = "Starting";
    net::Endpoint socket;
    socket.unix_path = clusters[i].socket_path();
    transports.push_back(net::make_http_client(loop.loop(), std::move(socket)));
    exchanges.push_back(
        transports.back()->start(version_request(), std::make_shared<VersionAnswer>(out[i], all), patience));
  }
  all.wait();
  for (const std::size_t i : alive)
    if (out[i].status == "Running" && clusters[i].embedded_host && !host_runs) out[i].status = "HostDown";
  return out;
}

}  // namespace sublet::cluster
