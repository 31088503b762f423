// Role syncer: one virtual cluster's syncer; knows the host's credentials, listens on nothing.
#include <charconv>
#include <cstdio>

#include "sublet/base/files.h"
#include "sublet/base/log.h"
#include "sublet/cluster/virtual_cluster.h"
#include "sublet/kube/kubeconfig.h"
#include "sublet/net/http_client.h"
#include "sublet/syncer/log_gateway.h"
#include "sublet/syncer/syncer.h"
#include "subletd/lockdown.h"
#include "subletd/role.h"

namespace sublet::subletd {
namespace {

// Connections of the gateway that carry no log: its poll, a refusal, a question.
constexpr std::size_t kAnswersBesideStreams = 16;

class SyncerRole final : public RoleProgram {
 public:
  void declare(Flags& flags) override {
    flags.text("--dir", folder_, "the virtual cluster's folder, as `sublet create` made it", true);
    flags.number("--workers", workers_, "calls in flight to the host and the tenant, at most");
  }

  Outcome run() override {
    auto cluster = cluster::VirtualCluster::load(folder_);
    if (!cluster) return fail(cluster.error());
    auto context = cluster::translate_context(*cluster);
    if (!context) return fail(context.error());
    auto access = kube::load_kubeconfig(cluster->host_kubeconfig_path());
    if (!access) return fail(access.error());
    if (auto made = make_private_folder(cluster->syncer_folder()); !made) return made;
    confine_daemon({.own = {cluster->syncer_folder()},
                    .readable = system_files(),
                    .listened = {},
                    .connected = {},
                    .connects_anywhere = true});  // webhooks: pods, at ports of their own

    net::LoopThread loop("syncer");
    auto host_transport = kube::connect(loop.loop(), *access);
    if (!host_transport) return fail(host_transport.error());
    net::Endpoint socket;
    socket.unix_path = cluster->socket_path();
    auto tenant_transport = net::make_http_client(loop.loop(), socket);
    kube::Client tenant(tenant_transport, {.user_agent = "sublet-syncer"});
    kube::Client host(*host_transport,
                      {.user_agent = "sublet-syncer/" + cluster->name, .bearer_token = access->bearer_token});

    syncer::SyncerOptions options;
    options.context = *context;
    net::HttpClientOptions streams;
    streams.connections_max = syncer::kLogStreamsMax + kAnswersBesideStreams;
    auto host_streams = kube::connect(loop.loop(), *access, streams);
    if (!host_streams) return fail(host_streams.error());
    syncer::LogGateway gateway(
        loop.loop(), net::make_http_client(loop.loop(), socket, streams), *host_streams,
        {cluster->uid,
         context->host_namespace,
         access->bearer_token,
         [name = cluster->name](const std::string& tenant_namespace, const std::string& tenant_pod) {
           return syncer::host_name(tenant_pod, tenant_namespace, name);
         },
         syncer::kLogStreamsMax,
         {}});
    gateway.start();
    const auto workers = syncer::make_worker_pool(workers_);
    syncer::Syncer syncer(loop.loop(), *workers, std::move(tenant), std::move(host), std::move(options));
    if (auto started = syncer.start(); !started) return started;
    // For `sublet create`: from here on what a tenant makes is carried.
    if (std::FILE* mark = std::fopen(cluster->syncer_ready_path().c_str(), "w")) std::fclose(mark);
    drop_calls_of_daemon(Outward::allowed);
    log::info("syncer.started", {{"virtual_cluster", cluster->name}, {"host_namespace", cluster->host_namespace}});
    wait_for_stop_signal();
    syncer.stop();
    return {};
  }

 private:
  std::string folder_;
  int workers_ = syncer::kWorkersMax;
};

}  // namespace

std::unique_ptr<RoleProgram> make_syncer_role() { return std::make_unique<SyncerRole>(); }

}  // namespace sublet::subletd
