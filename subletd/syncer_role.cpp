// Role syncer: one virtual cluster's syncer; knows the host's credentials, listens on nothing.
#include <sched.h>

#include <charconv>
#include <cstdio>

#include "sublet/base/files.h"
#include "sublet/base/log.h"
#include "sublet/base/log_level.h"
#include "sublet/cluster/local_layout.h"
#include "sublet/kube/account_token.h"
#include "sublet/kube/kubeconfig.h"
#include "sublet/net/http_client.h"
#include "sublet/syncer/custom_kinds.h"
#include "sublet/syncer/host_audit.h"
#include "sublet/syncer/host_gateway.h"
#include "sublet/syncer/node_names.h"
#include "sublet/syncer/syncer.h"
#include "subletd/lockdown.h"
#include "subletd/role.h"

namespace sublet::subletd {
namespace {

// Connections of the gateway that carry no log: its poll, a refusal, a question.
constexpr std::size_t kAnswersBesideStreams = 16;

// A thread that is woken does not push aside the one that runs: in a burst answers and changes gather meanwhile and are
// taken together, a sixth of the syncer's processor time less; an idle processor takes it at once as ever. Of all
// threads that begin after this. Who has chosen a policy for the process keeps it.
void wake_without_preempting() {
  const sched_param none{};
  if (::sched_getscheduler(0) == SCHED_OTHER) (void)::sched_setscheduler(0, SCHED_BATCH, &none);
}

class SyncerRole final : public RoleProgram {
 public:
  void declare(Flags& flags) override {
    flags.text("--dir", folder_, "the virtual cluster's folder, as `sublet create` made it", true);
    flags.number("--workers", workers_, "calls in flight to the host and the tenant, at most");
  }

  Outcome run() override {
    const cluster::LocalLayout layout(folder_);
    auto cluster = layout.load();
    if (!cluster) return fail(cluster.error());
    auto context = cluster::translate_context(*cluster);
    if (!context) return fail(context.error());
    log::set_encoding(syncer::config_of(*context).log_encoding);
    auto access = kube::load_kubeconfig(layout.host_kubeconfig_path());
    if (!access) return fail(access.error());
    if (auto made = make_private_folder(layout.syncer_folder()); !made) return made;
    const auto token = host_token(*cluster, layout);
    if (!token) return fail(token.error());
    if (syncer::config_of(*context).pseudo_node_names) {
      auto key = layout.node_names_key();
      if (!key) return fail(key.error());
      context->node_names = std::make_shared<syncer::NodeNames>(std::move(*key));
    }
    wake_without_preempting();
    confine_daemon({.own = {layout.syncer_folder()},
                    .readable = system_files(),
                    .listened = {},
                    .connected = {},
                    .connects_anywhere = true});  // webhooks: pods, at ports of their own

    net::LoopThread loop("syncer");
    auto host_transport = kube::connect(loop.loop(), *access);
    if (!host_transport) return fail(host_transport.error());
    net::Endpoint socket;
    socket.unix_path = layout.socket_path();
    auto tenant_transport = net::make_http_client(loop.loop(), socket);
    syncer::HostAuditOptions written{layout.audit_folder(), cluster->name, cluster->uid,
                                     cluster::syncer_user(*cluster)};
    written.writers = syncer::ask_tenant(tenant_transport);
    auto audit = syncer::HostAudit::open(std::move(written));
    if (!audit) return fail(audit.error());
    const auto recorded = (*audit)->record(*host_transport);
    kube::TokenKeeper known_by(recorded, *token, layout.host_token_path(), cluster->host_namespace,
                               cluster::syncer_account(*cluster));
    known_by.start();
    kube::Client tenant(tenant_transport, {.user_agent = "sublet-syncer"});
    kube::Client host(known_by.authorize(recorded), {.user_agent = "sublet-syncer/" + cluster->name});

    if (auto learnt = syncer::learn_served_kinds(host, *context); !learnt) return learnt;
    syncer::SyncerOptions options;
    options.context = *context;
    options.health_path = layout.syncer_folder() + "/health.json";
    options.kinds_changed = request_stop;  // the supervisor restarts it
    net::HttpClientOptions streams;
    streams.connections_max = syncer::kGatewayStreamsMax + kAnswersBesideStreams;
    auto host_streams = kube::connect(loop.loop(), *access, streams);
    if (!host_streams) return fail(host_streams.error());
    const auto workers = syncer::make_worker_pool(workers_);
    syncer::Syncer syncer(loop.loop(), *workers, std::move(tenant), std::move(host), std::move(options));
    syncer::HostGateway gateway(loop.loop(), net::make_http_client(loop.loop(), socket, streams),
                                known_by.authorize((*audit)->record(*host_streams)),
                                gateway_options(*cluster, *context, syncer));
    gateway.start();
    if (auto started = syncer.start(); !started) return started;
    // For `sublet create`: from here on what a tenant makes is carried.
    if (std::FILE* mark = std::fopen(layout.syncer_ready_path().c_str(), "w")) std::fclose(mark);
    drop_calls_of_daemon(Outward::allowed);
    log::info("syncer.started", {{"virtual_cluster", cluster->name}, {"host_namespace", cluster->host_namespace}});
    wait_for_stop_signal();
    syncer.stop();
    return {};
  }

 private:
  static syncer::HostGatewayOptions gateway_options(const cluster::VirtualCluster& cluster,
                                                    const syncer::TranslateContext& context, syncer::Syncer& syncer) {
    syncer::HostGatewayOptions options{cluster.uid, context.host_namespace, {}, {}};
    options.host_name = [name = cluster.name](const std::string& tenant_namespace, const std::string& tenant_pod) {
      return syncer::host_name(tenant_pod, tenant_namespace, name);
    };
    options.node_names = context.node_names;
    const patches::SyncConfig& config = syncer::config_of(context);
    if (config.metrics && config.pod_metrics)
      options.measured_pod = [&syncer](const std::string& host_pod) { return syncer.measured_pod(host_pod); };
    if (config.metrics && config.node_metrics)
      options.measured_node = [&syncer](const std::string& host_node) { return syncer.measured_node(host_node); };
    return options;
  }

  static Result<kube::AccountToken> host_token(const cluster::VirtualCluster& cluster,
                                               const cluster::LocalLayout& layout) {
    auto token = kube::load_account_token(layout.host_token_path());
    if (token && token->holds_at(Clock::system().now())) return token;
    const std::string what = !token ? "has no token of its host" : "has a token of its host that has ended";
    return fail(Reason::unauthorized, "virtual cluster " + cluster.name + " " + what +
                                          "; its operator gives another: sublet create " + cluster.name + " -n " +
                                          cluster.host_namespace + ", with the host's kubeconfig");
  }

  std::string folder_;
  int workers_ = syncer::kWorkersMax;
};

}  // namespace

std::unique_ptr<RoleProgram> make_syncer_role() { return std::make_unique<SyncerRole>(); }

}  // namespace sublet::subletd
