// Role simhost: our API server in host dress.
#include "sublet/simhost/simhost.h"
#include "subletd/api_host.h"
#include "subletd/role.h"

namespace sublet::subletd {
namespace {

class SimhostRole final : public RoleProgram {
 public:
  void declare(Flags& flags) override {
    declare_api_host_flags(flags, config_);
    flags.number("--nodes", shape_.nodes, "CPU nodes");
    flags.number("--gpu-nodes", shape_.gpu_nodes, "GPU nodes");
    flags.number("--gpus-per-node", shape_.gpus_per_node, "GPUs on each GPU node");
    flags.number("--time-slicing", shape_.time_slicing, "replicas that each GPU is offered as");
    flags.text("--mig", shape_.mig_profile, "cut every GPU into instances of this profile, e.g. 1g.5gb");
    flags.number("--pods-per-node", shape_.pods_per_node, "pods that a node takes");
  }

  Outcome run() override {
    if (config_.data_dir.empty()) return bad_request("--data is required: the folder for the store and the keys");
    if (auto confined = confine_api_host(config_); !confined) return confined;
    net::LoopThread loop("simhost");
    std::unique_ptr<kube::Client> client;  // the simulation refers to it
    std::unique_ptr<simhost::SimHost> simulated;
    config_.context_name = "embedded";
    config_.server.border = simhost::SimHost::admission();
    config_.server.host_openapi = simhost::SimHost::descriptions();
    // The server wants the logs before the simulation, which is a client of the server, can stand.
    config_.server.pod_logs = [&simulated](const apiserver::PodLogRequest& request,
                                           std::shared_ptr<net::ResponseSink> sink) {
      if (simulated) return simulated->pod_logs()(request, std::move(sink));
      sink->respond(503, {{"Retry-After", "1"}}, "the simulated nodes are starting\n");
    };
    config_.server.pod_connections = [&simulated](const kube::PodConnectRequest& request,
                                                  std::shared_ptr<net::ResponseSink> sink) {
      if (simulated) return simulated->pod_connections()(request, std::move(sink));
      sink->respond(503, {{"Retry-After", "1"}}, "the simulated nodes are starting\n");
    };
    config_.server.metrics = [&simulated](const kube::MetricsQuestion& question,
                                          const std::shared_ptr<net::ResponseSink>& sink) {
      if (simulated) return simulated->metrics()(question, sink);
      sink->respond(503, {{"Retry-After", "1"}}, "the simulated nodes are starting\n");
    };
    config_.check_metrics = [&loop](std::function<void(std::optional<bool>)> done) -> std::shared_ptr<void> {
      auto waited_for = std::make_shared<std::function<void(std::optional<bool>)>>(std::move(done));
      loop.loop().post([weak = std::weak_ptr(waited_for)] {
        if (const auto heard = weak.lock()) (*heard)(true);
      });
      return waited_for;
    };
    config_.before_ready = [&](ApiHost& host) -> Outcome {
      client = std::make_unique<kube::Client>(host.in_process_transport("system:sublet:simhost"),
                                              kube::ClientOptions{.user_agent = "simhost"});
      auto made = std::make_unique<simhost::SimHost>(loop.loop(), *client, shape_);
      if (auto started = made->start(); !started) return started;
      host.loop().run_sync([&] { simulated = std::move(made); });
      return {};
    };
    auto host = ApiHost::open(config_);
    if (!host) return fail(host.error());
    drop_calls_of_api_host(config_);
    wait_for_stop_signal();
    std::unique_ptr<simhost::SimHost> ending;
    (*host)->loop().run_sync([&] { ending = std::move(simulated); });
    ending.reset();
    (*host)->stop();
    if ((*host)->poisoned()) return internal_error("the store failed; restart to recover what is durable");
    return {};
  }

 private:
  ApiHostConfig config_;
  simhost::SimHostOptions shape_;
};

}  // namespace

std::unique_ptr<RoleProgram> make_simhost_role() { return std::make_unique<SimhostRole>(); }

}  // namespace sublet::subletd
