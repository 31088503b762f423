#include "sublet/base/log_level.h"
#include "sublet/cluster/virtual_cluster.h"
#include "sublet/syncer/tenant_rights.h"
#include "subletd/api_host.h"
#include "subletd/border_admission.h"
#include "subletd/role.h"

namespace sublet::subletd {
namespace {

class ApiServerRole final : public RoleProgram {
 public:
  void declare(Flags& flags) override {
    declare_api_host_flags(flags, config_);
    flags.text("--virtual-cluster", folder_, "serve the virtual cluster of this folder: says all of the other flags");
    flags.text("--unix-socket", config_.unix_socket, "path of a socket on which the syncer connects");
    flags.text("--context-name", config_.context_name, "context's name in that file");
    flags.text("--advertise-address", config_.advertise_address,
               "where pods reach it, when that is not where it listens; one of the certificate's names");
    flags.list("--tls-san", config_.extra_names, "further name or address of the server's certificate");
    flags.text("--authentication-config", config_.authentication_config,
               "file of issuers whose tokens are good (OpenID Connect): an AuthenticationConfiguration of "
               "apiserver.config.k8s.io; --outbound-allow where their addresses are this machine's");
    flags.number("--compaction-interval", config_.compaction_seconds,
                 "seconds for which history is kept at least, for watches that resume and lists read in pages");
  }

  Outcome run() override {
    // One of a virtual cluster holds a tenant's secrets beside a platform's network: its webhooks are Services of its
    // own, and the syncer calls them.
    config_.calls_out = folder_.empty();
    if (!folder_.empty() && !config_.authentication_config.empty())
      return bad_request(
          "--authentication-config: the API server of a virtual cluster connects to nobody, and so asks no issuer for "
          "its keys; leave the flag out, or use a `subletd apiserver` without --virtual-cluster");
    if (!folder_.empty())
      if (auto taken = take_virtual_cluster(); !taken) return taken;
    if (!config_.unix_socket.empty() && config_.server.component_rights.empty()) serve_a_syncer({});
    if (config_.compaction_seconds < 1)
      return bad_request("--compaction-interval " + std::to_string(config_.compaction_seconds) +
                         ": must be at least 1 second");
    if (config_.data_dir.empty()) return bad_request("--data is required: the folder for the store and the keys");
    if (auto confined = confine_api_host(config_); !confined) return confined;
    auto host = ApiHost::open(config_);
    if (!host) return fail(host.error());
    drop_calls_of_api_host(config_);
    wait_for_stop_signal();
    (*host)->stop();
    if ((*host)->poisoned()) return internal_error("the store failed; restart to recover what is durable");
    return {};
  }

 private:
  Outcome take_virtual_cluster() {
    auto cluster = cluster::VirtualCluster::load(folder_);
    if (!cluster) return fail(cluster.error());
    auto context = cluster::translate_context(*cluster);
    if (!context) return fail(context.error());
    log::set_encoding(syncer::config_of(*context).log_encoding);
    config_.data_dir = cluster->api_folder();
    config_.listen = cluster->listen;
    config_.unix_socket = cluster->socket_path();
    config_.admin_kubeconfig = cluster->admin_kubeconfig_path();
    config_.context_name = cluster->name;
    if (cluster->quota.objects) config_.quota_objects = static_cast<int>(*cluster->quota.objects);
    if (cluster->quota.bytes) config_.quota_bytes = std::to_string(*cluster->quota.bytes);
    if (context->resolved_template) take_template(config_, context->resolved_template->config());
    if (config_.controllers == "upstream") config_.controllers_kubeconfig = cluster->controllers_kubeconfig_path();
    config_.server.mirrored_from_host = mirrored_from_host(*context);
    config_.server.carried_to_host = carried_to_host(*context);
    if (cluster->pod_access.given()) serve_pods(*cluster);
    serve_a_syncer(*context);
    config_.server.border = border_admission(std::move(*context));
    return {};
  }

  void serve_pods(const cluster::VirtualCluster& cluster) {
    config_.pod_listen = cluster.pod_access.listen;
    config_.advertise_address = cluster.pod_access.address;
    config_.service_address = cluster.pod_access.service_address;
    config_.dns_kubeconfig = cluster.dns_kubeconfig_path();
    config_.server.component_rights.push_back(
        {kDnsUser, R"([{"apiGroups":[""],"resources":["services","namespaces"],"verbs":["list","watch"]},)"
                   R"({"apiGroups":["discovery.k8s.io"],"resources":["endpointslices"],"verbs":["list","watch"]}])"});
  }

  // Who connects on the socket is one, with a host behind it.
  void serve_a_syncer(const syncer::TranslateContext& context) {
    config_.server.runtime_classes_of_host = true;
    config_.server.service_addresses_of_host = syncer::config_of(context).services_to_host;
    config_.server.component_rights.push_back({config_.server.unix_socket_user, syncer::tenant_rights(context)});
  }

  std::string folder_;
  ApiHostConfig config_;
};

}  // namespace

std::unique_ptr<RoleProgram> make_apiserver_role() { return std::make_unique<ApiServerRole>(); }

}  // namespace sublet::subletd
