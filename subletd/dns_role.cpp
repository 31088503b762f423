// Role dns: one virtual cluster's DNS server: what its pods ask. Knows the tenant's Services and endpoints by name, by
// a user that may read those and nothing else; has no key of the host's, no store, and no file of anybody's.
#include <filesystem>
#include <thread>

#include "sublet/base/files.h"
#include "sublet/base/log.h"
#include "sublet/base/log_level.h"
#include "sublet/cluster/virtual_cluster.h"
#include "sublet/dns/name_server.h"
#include "sublet/kube/kubeconfig.h"
#include "subletd/lockdown.h"
#include "subletd/role.h"

namespace sublet::subletd {
namespace {

constexpr const char* kResolvConf = "/etc/resolv.conf";
constexpr std::chrono::seconds kFirstStart{60};
constexpr std::chrono::milliseconds kLookAgain{20};
constexpr std::chrono::minutes kLookForAccess{1};
constexpr std::uint16_t kDnsPort = 53;

// The API server writes it when it first is up; both are started at once.
Result<kube::ClusterAccess> wait_for_access(const std::string& path) {
  const auto deadline = std::chrono::steady_clock::now() + kFirstStart;
  while (!std::filesystem::exists(path)) {
    if (std::chrono::steady_clock::now() > deadline)
      return fail(Reason::timeout,
                  path + ", which the API server writes when it is up, is not there; its log says why");
    std::this_thread::sleep_for(kLookAgain);
  }
  return kube::load_kubeconfig(path);
}

// The API server renews the certificate well before it expires. The supervisor restarts this process, which then shows
// the new one; that takes less than resolvers wait before they ask again.
void watch_access(net::Loop& loop, std::string path, std::string certificate) {
  loop.after(kLookForAccess, [&loop, path = std::move(path), certificate = std::move(certificate)]() mutable {
    const auto access = kube::load_kubeconfig(path);
    if (!access || access->client_certificate_pem == certificate)
      return watch_access(loop, std::move(path), std::move(certificate));
    log::info("dns.certificate_changed", {{"kubeconfig", path}});
    request_stop();
  });
}

std::string with_port(const std::string& address, int port) {
  const bool v6 = address.find(':') != std::string::npos;
  return (v6 ? "[" + address + "]" : address) + ":" + std::to_string(port);
}

class DnsRole final : public RoleProgram {
 public:
  void declare(Flags& flags) override {
    flags.text("--virtual-cluster", folder_, "the virtual cluster's folder, as `sublet create` made it", true);
  }

  Outcome run() override {
    const auto cluster = cluster::VirtualCluster::load(folder_);
    if (!cluster) return fail(cluster.error());
    const cluster::PodAccess& pods = cluster->pod_access;
    if (!pods.given())
      return bad_request("virtual cluster " + cluster->name + " has no address for pods; give one: sublet create " +
                         cluster->name + " --pod-address ADDRESS");
    const auto context = cluster::translate_context(*cluster);
    if (!context) return fail(context.error());
    log::set_encoding(syncer::config_of(*context).log_encoding);
    const auto access = wait_for_access(cluster->dns_kubeconfig_path());
    if (!access) return fail(access.error());
    const dns::Resolvers resolvers = dns::parse_resolv_conf(read_file(kResolvConf).value_or(""));
    const auto port = static_cast<std::uint16_t>(pods.dns_port);
    auto readable = system_files();
    readable.push_back(cluster->dns_folder());
    confine_daemon({.own = {},
                    .readable = std::move(readable),
                    .listened = {port},
                    .connected = {kDnsPort, static_cast<std::uint16_t>(cluster->listen_port())}});

    net::LoopThread loop("dns");
    const auto transport = kube::connect(loop.loop(), *access);
    if (!transport) return fail(transport.error());
    dns::NameServerOptions options;
    options.own_address = pods.service_address;
    options.domain = syncer::config_of(*context).cluster_domain;
    options.upstreams = resolvers.servers;
    options.hidden = resolvers.cluster_domains;
    dns::NameServer server(loop.loop(), kube::Client(*transport, {.user_agent = "sublet-dns"}), options);
    const auto address = server.listen(with_port(pods.listen, port));
    if (!address) return fail(address.error());
    drop_calls_of_daemon(Outward::allowed);  // each question to a resolver has a socket of its own
    server.start();
    watch_access(loop.loop(), cluster->dns_kubeconfig_path(), access->client_certificate_pem);
    log::info("dns.started", {{"virtual_cluster", cluster->name}, {"address", *address}});
    wait_for_stop_signal();
    const dns::NameServerStats stats = server.stats();
    log::info("dns.stopped", {{"answered", std::to_string(stats.answered)},
                              {"forwarded", std::to_string(stats.forwarded)},
                              {"dropped", std::to_string(stats.dropped)}});
    return {};
  }

 private:
  std::string folder_;
};

}  // namespace

std::unique_ptr<RoleProgram> make_dns_role() { return std::make_unique<DnsRole>(); }

}  // namespace sublet::subletd
