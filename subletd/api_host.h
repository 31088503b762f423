// ApiHost: one API server as a running process has it: data folder, keys, store, loop, listeners, controllers, admin
// kubeconfig. With a unix socket there is a syncer, so the log tunnel is served on it. The roles apiserver and simhost
// are made of it.
//
// Lifecycle: open() prepares and starts everything; stop() (or the destructor) ends watches, drains connections, and
// closes the store. Threads: open() and stop() from one thread.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "sublet/apiserver/server.h"
#include "sublet/apiserver/tunnel.h"
#include "sublet/base/descriptor.h"
#include "sublet/cluster/plan.h"
#include "sublet/controllers/controllers.h"
#include "sublet/net/http_server.h"
#include "sublet/net/loop.h"
#include "sublet/patches/template.h"
#include "sublet/store/store.h"
#include "subletd/role.h"
#include "subletd/served_certificates.h"

namespace sublet::subletd {

/// The user that a virtual cluster's DNS server is.
inline constexpr const char* kDnsUser = "system:sublet:dns";

struct ApiHostConfig {
  std::string data_dir;
  std::string listen = "127.0.0.1:6443";
  std::string unix_socket;                   // empty: none
  std::shared_ptr<Descriptor> bound_socket;  // that one, bound already: where it lies may be out of reach by then
  std::string admin_kubeconfig;              // file to write; empty: none
  std::string context_name = "sublet";
  std::string pod_listen;                // a second address for the same port; empty: none
  std::string advertise_address;         // where pods reach it; empty: where it listens
  std::string service_address;           // of the Service `kubernetes`; empty: the first of the range
  std::string dns_kubeconfig;            // file to write the DNS server's access to; empty: none
  std::string controllers_kubeconfig;    // the same for upstream's controllers
  std::vector<std::string> extra_names;  // further names of the server's certificate
  /// How long history is kept at least.
  int compaction_seconds = static_cast<int>(store::kDefaultCompactInterval.count());
  int quota_objects = 0;                                  // of the store; 0: no limit
  std::string quota_bytes = cluster::kDefaultQuotaBytes;  // a quantity; "0": no limit
  std::string outbound_allow, outbound_deny;              // ranges of addresses that webhooks may have, or not
  std::string authentication_config;    // file of issuers of tokens; empty: none. confine_api_host() reads it
  std::string authentication_text;      // what it says
  std::string controllers = "builtin";  // or upstream, none: who runs workloads
  std::string also_served;              // built-in group versions beside the default ones, with commas between
  bool calls_out = false;  // whether it may connect to others (webhooks at URLs); else the kernel refuses that
  // Limits of peers that are not authenticated yet: net::StrangerLimits.
  int strangers = static_cast<int>(net::StrangerLimits().connections_max);
  int strangers_per_address = static_cast<int>(net::StrangerLimits().connections_per_address_max);
  int stranger_kib = static_cast<int>(net::StrangerLimits().bytes_max / 1024);
  apiserver::ServerOptions server;        // keys and addresses are filled in by open(), logs by the tunnel when empty
  apiserver::MetricsCheck check_metrics;  // whether server.metrics measures; both are the tunnel's when empty
  /// Called when the server answers in-process, before the admin kubeconfig is written (which tells others that all is
  /// up).
  std::function<Outcome(class ApiHost&)> before_ready;
};

/// What a template says of the API server of its virtual clusters.
void take_template(ApiHostConfig& config, const patches::SyncConfig& from_template);

/// What an API server of this configuration needs of files and ports; makes its folder and binds its socket. Before
/// the first thread.
Outcome confine_api_host(ApiHostConfig& config);
/// Once it is open.
void drop_calls_of_api_host(const ApiHostConfig& config);

/// The flags of every role that is an API server: --data, --listen, --admin-kubeconfig, --quota-objects, --quota-bytes,
/// --controllers.
void declare_api_host_flags(Flags& flags, ApiHostConfig& config);

class ApiHost {
 public:
  static Result<std::unique_ptr<ApiHost>> open(ApiHostConfig config);
  ~ApiHost();
  void stop();

  /// For controllers and simulators that run in this process.
  std::shared_ptr<net::Transport> in_process_transport(const std::string& user) const;
  net::Loop& loop() { return loop_.loop(); }
  store::Store& store() { return *store_; }
  const std::string& address() const { return address_; }  // "127.0.0.1:6443"
  Pki pki() const { return certificates_->pki(); }
  /// Renews and revokes as the files say; also on a request of its socket (cluster/certificates.h), and every hour.
  Outcome reread_certificates();
  /// True when the store failed underneath: the process should end with an error.
  bool poisoned() const { return store_->stats().poisoned; }

 private:
  explicit ApiHost(ApiHostConfig config) : config_(std::move(config)), loop_("api") {}
  Outcome open_store();
  Outcome start_server();
  Outcome serve_also();
  Outcome start_controllers();
  std::unique_ptr<kube::Client> controller_client(const std::string& user, std::vector<std::string> groups) const;
  Outcome listen();
  void serve(net::Request request, std::shared_ptr<net::ResponseSink> sink);
  void reread_for(std::shared_ptr<net::ResponseSink> sink);
  void reread_later();
  Outcome write_kubeconfig() const;
  Outcome write_dns_access();
  Outcome write_access(const std::string& path, const std::string& user, const net::KeyPair& identity) const;

  ApiHostConfig config_;
  std::unique_ptr<ServedCertificates> certificates_;
  std::string address_;
  std::string dns_certificate_;  // in config_.dns_kubeconfig
  std::unique_ptr<store::Store> store_;
  net::LoopThread loop_;
  std::unique_ptr<apiserver::Server> server_;
  net::Handler handler_;  // constant once serving_
  std::atomic<bool> serving_{false};
  std::unique_ptr<net::HttpServer> http_;
  std::unique_ptr<apiserver::Tunnel> tunnel_;
  // Where their requests begin and are answered, and certificates are read again.
  std::unique_ptr<net::LoopThread> controllers_loop_;
  std::unique_ptr<kube::Client> controllers_client_;  // the controllers refer to it
  std::unique_ptr<controllers::Executor> executor_;
  std::unique_ptr<controllers::Controllers> controllers_;
  bool stopped_ = false;
};

}  // namespace sublet::subletd
