#include "subletd/api_host.h"

#include <algorithm>
#include <filesystem>
#include <thread>

#include "sublet/apiserver/configured_authentication.h"
#include "sublet/apiserver/last_writers.h"
#include "sublet/base/files.h"
#include "sublet/base/host_port.h"
#include "sublet/base/log.h"
#include "sublet/base/status_json.h"
#include "sublet/cluster/certificates.h"
#include "sublet/kube/kubeconfig.h"
#include "sublet/store/log_engines.h"
#include "subletd/lockdown.h"
#include "subletd/role.h"

namespace sublet::subletd {
namespace {

constexpr std::chrono::milliseconds kServerStopGrace{2000};
constexpr int kControllerWorkers = 8;  // they mostly wait for writes, which share an fsync; idle ones end
constexpr std::size_t kServingLoopsMax = 4;
constexpr std::chrono::hours kRereadEvery{1};

struct ListenAddress {
  std::string host;
  int port = 0;
};

Result<ListenAddress> split_address(const std::string& address) {
  const HostPort parts = split_host_port(address);
  if (!parts.port) return bad_request("--listen " + address + ": expected ADDRESS:PORT");
  const auto port = parse_port(*parts.port);
  if (!port) return bad_request("--listen " + address + ": the port must be a number from 0 to 65535");
  return ListenAddress{std::string(parts.host), *port};
}

Result<store::StoreQuota> quota_of(const ApiHostConfig& config) {
  if (config.quota_objects != 0 && config.quota_objects < cluster::kQuotaObjectsMin)
    return bad_request("--quota-objects " + std::to_string(config.quota_objects) +
                       ": must be 0 (no limit) or at least " + std::to_string(cluster::kQuotaObjectsMin));
  const auto bytes = cluster::bytes_of(config.quota_bytes);
  if (!bytes) return bad_request("--quota-bytes " + bytes.error().message);
  return store::StoreQuota{static_cast<std::size_t>(config.quota_objects), static_cast<std::size_t>(*bytes)};
}

net::StrangerLimits strangers_of(const ApiHostConfig& config) {
  net::StrangerLimits limits;
  limits.connections_max = static_cast<std::size_t>(config.strangers);
  limits.connections_per_address_max = static_cast<std::size_t>(config.strangers_per_address);
  limits.bytes_max = static_cast<std::size_t>(config.stranger_kib) * 1024;
  return limits;
}

Outcome check_strangers(const ApiHostConfig& config) {
  const std::pair<const char*, int> given[] = {
      {"--unauthenticated-connections", config.strangers},
      {"--unauthenticated-connections-per-address", config.strangers_per_address},
      {"--unauthenticated-kib", config.stranger_kib}};
  for (const auto& [flag, value] : given)
    if (value < 1) return bad_request(std::string(flag) + " " + std::to_string(value) + ": must be at least 1");
  return {};
}

std::vector<std::string> certificate_names(const std::string& host, const std::vector<std::string>& extra) {
  std::vector<std::string> names = {"localhost",
                                    "kubernetes",
                                    "kubernetes.default",
                                    "kubernetes.default.svc",
                                    "kubernetes.default.svc.cluster.local",
                                    "127.0.0.1",
                                    "::1",
                                    std::string(apiserver::kDefaultServiceAddress)};
  const bool any = host == "0.0.0.0" || host == "::" || host.empty();
  if (!any && std::find(names.begin(), names.end(), host) == names.end()) names.push_back(host);
  for (const auto& name : extra)
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  return names;
}

Outcome read_ranges(std::string_view flag, std::string_view list, net::AddressRules& rules,
                    void (net::AddressRules::*add)(net::AddressRange)) {
  while (!list.empty()) {
    const auto comma = list.find(',');
    auto range = net::AddressRange::parse(list.substr(0, comma));
    if (!range) return bad_request(std::string(flag) + ": " + range.error().message);
    (rules.*add)(*range);
    list.remove_prefix(comma == std::string_view::npos ? list.size() : comma + 1);
  }
  return {};
}

Outcome read_authentication(ApiHostConfig& config) {
  if (config.authentication_config.empty()) return {};
  auto text = read_file(config.authentication_config);
  if (!text)
    return bad_request("--authentication-config: failed to load authentication configuration from file \"" +
                       config.authentication_config + "\": " + text.error().message);
  config.authentication_text = std::move(*text);
  return {};
}

}  // namespace

Outcome confine_api_host(ApiHostConfig& config) {
  const auto parts = split_address(config.listen);
  if (!parts) return fail(parts.error());
  if (auto made = make_private_folder(config.data_dir); !made) return made;
  if (auto read = read_authentication(config); !read) return read;
  if (!config.unix_socket.empty()) {
    auto bound = net::HttpServer::bind_unix(config.unix_socket);
    if (!bound) return fail(bound.error());
    config.bound_socket = std::make_shared<Descriptor>(std::move(*bound));
  }
  Confinement confinement{.own = {config.data_dir},
                          .readable = system_files(),
                          .listened = {static_cast<std::uint16_t>(parts->port)},
                          .connected = {}};
  const std::filesystem::path kubeconfig = config.admin_kubeconfig;
  // In a virtual cluster that is the same folder.
  if (!kubeconfig.empty()) confinement.own.push_back(std::filesystem::absolute(kubeconfig).parent_path());
  confinement.connects_anywhere = config.calls_out;
  confine_daemon(confinement);
  return {};
}

void drop_calls_of_api_host(const ApiHostConfig& config) {
  drop_calls_of_daemon(config.calls_out ? Outward::allowed : Outward::refused);
}

void take_template(ApiHostConfig& config, const patches::SyncConfig& from_template) {
  config.controllers = from_template.controllers;
  if (from_template.pod_groups_to_host) config.also_served = "scheduling.k8s.io/v1alpha2";
  const auto take = [](int& into, int given) {
    if (given > 0) into = given;
  };
  take(config.strangers, from_template.unauthenticated_connections);
  take(config.strangers_per_address, from_template.unauthenticated_connections_per_address);
  take(config.stranger_kib, from_template.unauthenticated_kib);
  if (from_template.cluster_domain != patches::SyncConfig().cluster_domain)
    config.extra_names.push_back("kubernetes.default.svc." + from_template.cluster_domain);
  for (std::string& name : patches::names_of(from_template.control_plane))
    config.extra_names.push_back(std::move(name));
}

void declare_api_host_flags(Flags& flags, ApiHostConfig& config) {
  flags.text("--data", config.data_dir, "folder for the store and the keys, created with mode 0700");
  flags.text("--listen", config.listen, "ADDRESS:PORT for TLS; port 0 picks one");
  flags.text("--admin-kubeconfig", config.admin_kubeconfig, "file to write an administrator's kubeconfig to");
  flags.number("--quota-objects", config.quota_objects, "how many objects the store may hold; 0: no limit");
  flags.text("--quota-bytes", config.quota_bytes, "how much they may take, e.g. 500Mi; 0: no limit");
  flags.text("--outbound-allow", config.outbound_allow,
             "ranges of addresses, with commas between them, that webhooks may have although they are this machine's, "
             "link-local and the like");
  flags.text("--outbound-deny", config.outbound_deny, "ranges of addresses that no webhook may have");
  flags.text("--controllers", config.controllers,
             "who runs workloads: builtin, upstream (a kube-controller-manager beside it) or none");
  flags.text("--also-serve", config.also_served,
             "alpha group versions of Kubernetes to serve too, with commas between them: scheduling.k8s.io/v1alpha2 "
             "(PodGroups and Workloads), which upstream has behind a feature gate");
  flags.number("--unauthenticated-connections", config.strangers,
               "how many connections there may be whose peers have not shown who they are; the oldest makes room");
  flags.number("--unauthenticated-connections-per-address", config.strangers_per_address,
               "how many of these from one address (a load balancer is one address)");
  flags.number("--unauthenticated-kib", config.stranger_kib, "how much of what they sent is kept for all of them");
}

Result<std::unique_ptr<ApiHost>> ApiHost::open(ApiHostConfig config) {
  if (config.data_dir.empty()) return bad_request("--data is required: the folder for the store and the keys");
  auto parts = split_address(config.listen);
  if (!parts) return fail(parts.error());
  if (auto checked = check_strangers(config); !checked) return fail(checked.error());
  if (auto made = make_private_folder(config.data_dir); !made) return fail(made.error());
  std::unique_ptr<ApiHost> host(new ApiHost(std::move(config)));
  std::vector<std::string> names = host->config_.extra_names;
  for (const auto& name : {host->config_.pod_listen, host->config_.advertise_address, host->config_.service_address})
    if (!name.empty()) names.push_back(name);
  auto certificates = ServedCertificates::open(
      {host->config_.data_dir, certificate_names(parts->host, names), !host->config_.controllers_kubeconfig.empty()},
      Clock::system());
  if (!certificates) return fail(certificates.error());
  host->certificates_ = std::move(*certificates);
  using Step = Outcome (ApiHost::*)();
  for (const Step step : {&ApiHost::open_store, &ApiHost::listen, &ApiHost::start_server, &ApiHost::start_controllers})
    if (auto done = (host.get()->*step)(); !done) return fail(done.error());
  if (host->config_.before_ready)
    if (auto done = host->config_.before_ready(*host); !done) return fail(done.error());
  if (auto written = host->write_dns_access(); !written) return fail(written.error());
  if (auto written = host->write_kubeconfig(); !written) return fail(written.error());
  host->reread_later();
  log::info("apiserver.started", {{"address", host->address_}, {"data", host->config_.data_dir}});
  return host;
}

Outcome ApiHost::open_store() {
  const auto quota = quota_of(config_);
  if (!quota) return fail(quota.error());
  auto log = store::open_log({.folder = config_.data_dir});
  if (!log) return fail(log.error());
  store::StoreOptions store_options;
  store_options.compact_interval = std::chrono::seconds(config_.compaction_seconds);
  store_options.quota = *quota;
  store_options.on_poisoned = [](const std::string& why) {
    log::error("store.poisoned", {{"why", why}});
    request_stop();
  };
  auto store = store::Store::open(std::move(*log), std::move(store_options));
  if (!store) return fail(store.error());
  store_ = std::move(*store);
  return {};
}

// The port is known only after listening, and clients may come at once: until the server runs they get 503.
Outcome ApiHost::listen() {
  auto context = certificates_->tls();
  if (!context) return fail(context.error());
  net::HttpServerLimits limits;
  limits.heads_first = true;
  limits.strangers = strangers_of(config_);
  limits.loops_max = std::clamp<std::size_t>(std::thread::hardware_concurrency(), 1, kServingLoopsMax);
  http_ = std::make_unique<net::HttpServer>(
      loop_.loop(),
      [this](net::Request request, std::shared_ptr<net::ResponseSink> sink) {
        serve(std::move(request), std::move(sink));
      },
      limits);
  auto address = http_->listen_tls(config_.listen, *context);
  if (!address) return fail(address.error());
  address_ = std::move(*address);
  if (config_.pod_listen.empty()) return {};
  const std::string port = address_.substr(address_.rfind(':'));
  const bool v6 = config_.pod_listen.find(':') != std::string::npos;
  auto for_pods =
      http_->listen_tls((v6 ? "[" + config_.pod_listen + "]" : config_.pod_listen) + port, std::move(*context));
  return for_pods ? Outcome() : fail(for_pods.error());
}

void ApiHost::serve(net::Request request, std::shared_ptr<net::ResponseSink> sink) {
  if (!serving_) return sink->respond(503, {{"Retry-After", "1"}}, "the API server is starting\n");
  if (certificates_->refuses(request.peer)) {
    const Status refused = fail(Reason::unauthorized, "Unauthorized").value();
    return sink->respond(401, {{"Content-Type", "application/json"}}, status_json(refused));
  }
  // Users that may open the socket may also write the files.
  if (request.peer.kind == net::PeerIdentity::Kind::unix_socket && request.method == "POST" &&
      request.path() == cluster::kRereadCertificates)
    return reread_for(std::move(sink));
  handler_(std::move(request), std::move(sink));
}

void ApiHost::reread_for(std::shared_ptr<net::ResponseSink> sink) {
  controllers_loop_->loop().post([this, sink = std::move(sink)] {
    const auto reread = reread_certificates();
    const Status status = reread ? Status{} : reread.error();
    sink->respond(reread ? 200 : 500, {{"Content-Type", "application/json"}}, reread ? "{}" : status_json(status));
  });
}

void ApiHost::reread_later() {
  controllers_loop_->loop().after(kRereadEvery, [this] {
    if (const auto reread = reread_certificates(); !reread)
      log::error("certificates.not_renewed", {{"why", reread.error().message}});
    reread_later();
  });
}

// On the controllers' loop.
Outcome ApiHost::reread_certificates() {
  const auto changes = certificates_->reread();
  if (!changes) return fail(changes.error());
  if (auto written = write_dns_access(); !written) return written;
  if (changes->server) {
    auto context = certificates_->tls();
    if (!context) return fail(context.error());
    http_->use_tls(*context);
  }
  if (changes->revoked)
    http_->close_peers([this](const net::PeerIdentity& peer) { return certificates_->refuses(peer); });
  if (changes->admin)
    if (auto written = write_kubeconfig(); !written) return written;
  if (changes->server || changes->admin || changes->revoked)
    log::info("certificates.renewed",
              {{"server", changes->server}, {"admin", changes->admin}, {"revoked", changes->revoked}});
  return {};
}

// Only those of which sublet knows more than the types.
Outcome ApiHost::serve_also() {
  constexpr std::string_view kKnown[] = {"scheduling.k8s.io/v1alpha2"};
  std::vector<std::string> wanted;
  std::string_view rest = config_.also_served;
  while (!rest.empty()) {
    const std::size_t comma = rest.find(',');
    wanted.emplace_back(rest.substr(0, comma));
    rest = comma == std::string_view::npos ? std::string_view() : rest.substr(comma + 1);
    if (std::ranges::find(kKnown, wanted.back()) == std::end(kKnown))
      return bad_request("--also-serve: \"" + wanted.back() + "\" is not one of scheduling.k8s.io/v1alpha2");
  }
  if (wanted.empty()) return {};
  auto kinds = schema::Registry::with({}, std::move(wanted));
  if (!kinds) return fail(kinds.error());
  config_.server.kinds = std::move(*kinds);
  return {};
}

Outcome ApiHost::start_server() {
  if (auto served = serve_also(); !served) return served;
  controllers_loop_ = std::make_unique<net::LoopThread>("controllers-io");
  const Pki pki = certificates_->pki();
  auto parts = split_address(address_);
  if (!parts) return fail(parts.error());
  config_.server.outbound.calls_out = config_.calls_out;
  auto& rules = config_.server.outbound.rules;
  if (auto read = read_ranges("--outbound-allow", config_.outbound_allow, rules, &net::AddressRules::allow); !read)
    return read;
  if (auto read = read_ranges("--outbound-deny", config_.outbound_deny, rules, &net::AddressRules::deny); !read)
    return read;
  if (!config_.authentication_config.empty()) {
    auto configured = apiserver::ConfiguredAuthentication::read(
        config_.authentication_text, config_.server.service_account_issuer, loop_.loop(), rules, Clock::system());
    if (!configured)
      return bad_request("--authentication-config " + config_.authentication_config + ": " +
                         configured.error().message);
    config_.server.authentication = std::move(*configured);
  }
  config_.server.ca_certificate_pem = pki.ca.certificate_pem;
  config_.server.front_proxy_ca_pem = pki.front_proxy_ca_pem;
  config_.server.outbound.front_proxy_certificate_pem = pki.front_proxy.certificate_pem;
  config_.server.outbound.front_proxy_key_pem = pki.front_proxy.key_pem;
  config_.server.service_account_key_pem = pki.service_account_key_pem;
  for (const auto& old : pki.old_service_account_keys_pem) config_.server.service_account_key_pem += old;
  config_.server.advertise_address = config_.advertise_address.empty() ? parts->host : config_.advertise_address;
  // A range of that one address: the others are the host's to give.
  if (const std::string& own = config_.service_address; !own.empty())
    config_.server.service_cidr = own + (own.find(':') == std::string::npos ? "/32" : "/128");
  config_.server.advertise_port = parts->port;
  if (!config_.unix_socket.empty()) {
    tunnel_ = std::make_unique<apiserver::Tunnel>(loop_.loop());
    config_.server.last_writers = std::make_shared<apiserver::LastWriters>();
    if (!config_.server.pod_logs) config_.server.pod_logs = tunnel_->pod_logs();
    if (!config_.server.pod_connections) config_.server.pod_connections = tunnel_->pod_connections();
    if (!config_.server.host_openapi) config_.server.host_openapi = tunnel_->host_openapi();
    if (!config_.server.metrics) {
      config_.server.metrics = tunnel_->metrics();
      config_.check_metrics = tunnel_->metrics_check();
    }
    // Addresses in a tenant's EndpointSlices are the tenant's word: whose pod it is, the syncer finds out.
    if (!config_.server.outbound.services) {
      config_.server.outbound.services = tunnel_->service_calls();
      config_.server.outbound.relay = tunnel_->service_relay();
    }
  }
  server_ = std::make_unique<apiserver::Server>(*store_, loop_.loop(), config_.server);
  if (auto started = server_->start(); !started) return started;
  handler_ = server_->handler();
  if (tunnel_) handler_ = config_.server.last_writers->wrap(tunnel_->wrap(std::move(handler_)));
  serving_ = true;
  // Only now: an earlier syncer would get 503 and wait a second.
  if (config_.bound_socket) return http_->listen_unix(std::move(*config_.bound_socket), config_.unix_socket);
  return config_.unix_socket.empty() ? Outcome() : http_->listen_unix(config_.unix_socket);
}

// All share one thread. Without groups a user in this process may do everything.
std::unique_ptr<kube::Client> ApiHost::controller_client(const std::string& user,
                                                         std::vector<std::string> groups) const {
  net::PeerIdentity identity;
  identity.kind = net::PeerIdentity::Kind::in_process;
  identity.common_name = user;
  identity.organizations = std::move(groups);
  return std::make_unique<kube::Client>(
      net::make_in_process_transport(server_->handler(), identity, &controllers_loop_->loop()),
      kube::ClientOptions{.user_agent = "sublet-controllers"});
}

Outcome ApiHost::start_controllers() {
  const auto managed_by = controllers::managed_by(config_.controllers);
  if (!managed_by) return fail(managed_by.error());
  controllers_client_ = controller_client("system:sublet:controllers", {});
  executor_ = controllers::make_pool_executor(loop_.loop(), kControllerWorkers);
  controllers::ControllersOptions options;
  options.managed_by = *managed_by;
  options.cluster = config_.server;
  options.authority = certificates_->pki().ca;
  for (const apiserver::CarriedKind& kind : config_.server.carried_to_host)
    options.carried_to_host.push_back(kind.resource);
  for (const apiserver::MirroredKind& kind : config_.server.mirrored_from_host)
    if (kind.group.empty() && kind.resource == "resourcequotas") options.platform_quotas = kind.label;
  options.kinds = [server = server_.get()] { return server->kinds(); };
  options.check_api_service = server_->check_api_service();
  options.check_metrics = config_.check_metrics;
  options.client_as = [this](const std::string& user) {
    if (user.empty()) return controller_client({}, {});
    return controller_client(user, {"system:serviceaccounts", "system:serviceaccounts:kube-system"});
  };
  controllers_ =
      std::make_unique<controllers::Controllers>(*store_, *controllers_client_, *executor_, std::move(options));
  controllers_->start();
  return {};
}

Outcome ApiHost::write_kubeconfig() const {
  const Pki pki = certificates_->pki();
  if (pki.controllers)
    if (auto written = write_access(config_.controllers_kubeconfig, "kubernetes-controllers", *pki.controllers);
        !written)
      return written;
  if (config_.admin_kubeconfig.empty()) return {};
  return write_access(config_.admin_kubeconfig, config_.context_name + "-admin", pki.admin);
}

// Also when the old one is about to end, or has been taken away.
Outcome ApiHost::write_dns_access() {
  if (config_.dns_kubeconfig.empty()) return {};
  const auto dns = load_or_make_client(config_.data_dir, "dns", kDnsUser, certificates_->pki().ca, Clock::system());
  if (!dns) return fail(dns.error());
  if (dns->certificate_pem == dns_certificate_) return {};
  const auto folder = std::filesystem::path(config_.dns_kubeconfig).parent_path();
  if (auto made = make_private_folder(folder); !made) return made;
  if (auto written = write_access(config_.dns_kubeconfig, kDnsUser, *dns); !written) return written;
  dns_certificate_ = dns->certificate_pem;
  return {};
}

Outcome ApiHost::write_access(const std::string& path, const std::string& user, const net::KeyPair& identity) const {
  kube::ClusterAccess access;
  access.context_name = access.cluster_name = config_.context_name;
  access.user_name = user;
  access.server = "https://" + address_;
  access.ca_pem = certificates_->pki().ca.certificate_pem;
  access.client_certificate_pem = identity.certificate_pem;
  access.client_key_pem = identity.key_pem;
  return write_private_file(path, kube::render_kubeconfig(access));
}

std::shared_ptr<net::Transport> ApiHost::in_process_transport(const std::string& user) const {
  net::PeerIdentity identity;
  identity.kind = net::PeerIdentity::Kind::in_process;
  identity.common_name = user;
  return net::make_in_process_transport(server_->handler(), identity);
}

void ApiHost::stop() {
  if (std::exchange(stopped_, true)) return;
  if (controllers_) controllers_->stop();
  if (server_) server_->stop();
  if (config_.server.authentication) config_.server.authentication->stop();
  if (http_) http_->stop(kServerStopGrace);
  // Commit callbacks post to the loop, so the store drains while the loop still runs.
  if (store_) store_->close();
  log::info("apiserver.stopped", {{"address", address_}});
}

ApiHost::~ApiHost() { stop(); }

}  // namespace sublet::subletd
