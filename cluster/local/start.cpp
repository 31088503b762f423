// Starting and stopping what is there: the host that it stands on, then its daemons.
#include <filesystem>

#include "cluster/exported_access.h"
#include "cluster/first_objects.h"
#include "cluster/identity.h"
#include "cluster/local/address.h"
#include "cluster/local/daemon.h"
#include "cluster/local/local_driver.h"
#include "cluster/wait_until.h"
#include "sublet/base/files.h"
#include "sublet/kube/account_token.h"

namespace sublet::cluster {
namespace {

using std::chrono::steady_clock;

constexpr std::chrono::seconds kStopGrace{15};

bool api_ready(const VirtualCluster& cluster) {
  if (!std::filesystem::exists(cluster.admin_kubeconfig_path())) return false;
  const auto access = kube::load_kubeconfig(cluster.admin_kubeconfig_path());
  if (!access) return false;
  net::LoopThread loop("probe");
  auto transport = kube::connect(loop.loop(), *access);
  if (!transport) return false;
  const kube::Client client(*transport, {.timeout = std::chrono::seconds(5)});
  const auto answer = client.raw("GET", "/readyz");
  return answer && answer->code == 200;
}

Outcome wait_for_daemon(const VirtualCluster& cluster, steady_clock::time_point deadline, const char* what,
                        const char* daemon, const std::function<bool()>& condition) {
  const std::string log = cluster.log_path(daemon);
  bool died = false;
  const bool good = wait_until(deadline, [&] {
    if (condition()) return true;
    return died = !daemon_runs(cluster.daemon_lock_path());
  });
  if (died) {
    // One that was not even begun has said nothing; its supervisor has.
    const std::string said = log_tail(log).empty() ? cluster.log_path("run") : log;
    return internal_error(std::string(what) + " ended while starting; " + said + " ends with:" + log_tail(said));
  }
  if (!good)
    return fail(Reason::timeout, std::string(what) + " was not ready in time; " + log + " ends with:" + log_tail(log));
  return {};
}

// True when the syncer reached the host in another way.
Result<bool> renew_access(const VirtualCluster& cluster, const Host& host) {
  if (!host.kubeconfig.empty() && host.kubeconfig != cluster.host_kubeconfig) {
    VirtualCluster moved = cluster;
    moved.host_kubeconfig = host.kubeconfig;
    if (auto saved = moved.save(); !saved) return fail(saved.error());
  }
  const std::string text = kube::render_kubeconfig(without_credentials(host.access));
  if (read_file(cluster.host_kubeconfig_path()).value_or("") == text) return false;
  if (auto written = write_private_file(cluster.host_kubeconfig_path(), text); !written) return fail(written.error());
  return true;
}

}  // namespace

Status exists_with(const VirtualCluster& existing, const std::string& what) {
  return fail(Reason::already_exists,
              "virtual cluster " + existing.name + " exists in namespace " + existing.host_namespace + " with " + what)
      .value();
}

bool all_runs(const VirtualCluster& cluster) {
  return daemon_runs(cluster.daemon_lock_path()) && api_ready(cluster) &&
         std::filesystem::exists(cluster.syncer_ready_path());
}

Outcome start_daemons(const VirtualCluster& cluster, Progress& progress, steady_clock::time_point deadline) {
  progress.begin("start API server");
  if (!daemon_runs(cluster.daemon_lock_path()) && !address_is_free(cluster.listen))
    return fail(Reason::conflict, cluster.listen + ", the address of virtual cluster " + cluster.name +
                                      ", is taken by another process; end that one (ss -ltnp shows it) and try again");
  std::error_code ignored;
  std::filesystem::remove(cluster.syncer_ready_path(), ignored);
  if (auto made = start_daemon(cluster.daemon_lock_path(), cluster.log_path("run"), {"run", "--dir", cluster.folder});
      !made && !made.error().is(Reason::already_exists))
    return made;
  if (auto up = wait_for_daemon(cluster, deadline, "the API server", "apiserver", [&] { return api_ready(cluster); });
      !up)
    return up;
  progress.begin("start syncer");
  return wait_for_daemon(cluster, deadline, "the syncer", "syncer",
                         [&] { return std::filesystem::exists(cluster.syncer_ready_path()); });
}

Outcome stop_daemons(const std::string& cluster_folder) {
  return stop_daemon(VirtualCluster::daemon_lock_path_in(cluster_folder), kStopGrace);
}

Result<Host> LocalDriver::embedded(const EmbeddedHostShape& shape, std::chrono::seconds patience, Progress& progress) {
  auto access = embedded_host_.start(shape, patience, progress);
  return access ? embedded_host(connect_host_, std::move(*access)) : fail(access.error());
}

// The embedded host runs where the virtual cluster's syncer looks for it.
bool LocalDriver::embedded_host_in_place(const VirtualCluster& cluster) const {
  const auto access = kube::load_kubeconfig(embedded_host_.kubeconfig_path());
  return embedded_host_.runs() && access &&
         read_file(cluster.host_kubeconfig_path()).value_or("") ==
             kube::render_kubeconfig(without_credentials(*access));
}

// The host of one that is there; one that the caller names must be the same, perhaps with renewed credentials.
Result<Host> LocalDriver::host_of_existing(const VirtualCluster& existing, const HostChoice& choice,
                                           std::chrono::seconds patience, Progress& progress) {
  if (!choice.given())
    return existing.embedded_host ? embedded(choice.shape, patience, progress) : host_of(connect_host_, existing, {});
  auto host = host_from_kubeconfig(connect_host_, choice.kubeconfig, choice.context);
  if (host && (existing.embedded_host || host->context != existing.host_context))
    return fail(exists_with(existing, "another host (" + existing.host_context +
                                          "); delete it first, or leave --host-kubeconfig and --context out"));
  return host;
}

Result<bool> LocalDriver::start(const VirtualCluster& cluster, const HostChoice& choice, std::chrono::seconds patience,
                                Progress& progress) {
  if (!choice.given() && all_runs(cluster) && (!cluster.embedded_host || embedded_host_in_place(cluster)) &&
      token_holds(cluster))
    return false;
  const auto deadline = steady_clock::now() + patience;
  progress.begin(cluster.embedded_host ? "start embedded host" : "reach host");
  auto renewed = renew(cluster, choice, patience, progress);
  if (!renewed) return fail(renewed.error());
  if (*renewed != Renewed::access && all_runs(cluster)) return *renewed == Renewed::token;
  if (*renewed == Renewed::access)
    if (auto stopped = stop(cluster); !stopped) return fail(stopped.error());
  if (auto started = start_daemons(cluster, progress, deadline); !started) return fail(started.error());
  if (auto applied = apply_first_objects(cluster, deadline); !applied) progress.warn(applied.error().message);
  // Of a host that is away nothing is asked: what was written there holds for years.
  const auto context = translate_context(cluster);
  if (!context || exports_of(cluster, syncer::config_of(*context)).empty()) return true;
  if (const auto host = host_of_existing(cluster, choice, patience, progress))
    if (auto exported = export_access(*host, cluster); !exported) progress.warn(exported.error().message);
  return true;
}

// With the operator's access: what stands on the host is put in order, and the syncer gets a token when it needs one.
Result<LocalDriver::Renewed> LocalDriver::renew(const VirtualCluster& cluster, const HostChoice& choice,
                                                std::chrono::seconds patience, Progress& progress) {
  const auto deadline = steady_clock::now() + patience;
  auto host = host_of_existing(cluster, choice, patience, progress);
  if (!host) {
    // The syncer does without the operator for as long as its own token is good.
    const bool away = host.error().is(Reason::service_unavailable) || host.error().is(Reason::timeout);
    const auto token = kube::load_account_token(cluster.host_token_path());
    if (choice.given() || cluster.embedded_host || away || !token || !token->holds_at(Clock::system().now()))
      return fail(host.error());
    progress.warn(host.error().message + "; going on with the syncer's own token");
    return Renewed::nothing;
  }
  tell_of_unverified(*host, progress);
  progress.begin("prepare host namespace " + cluster.host_namespace);
  VirtualCluster there = cluster;
  if (auto prepared = prepare_host(*host, there, deadline, progress); !prepared) return fail(prepared.error());
  if (auto made = make_private_folder(cluster.syncer_folder()); !made) return fail(made.error());
  const auto access = renew_access(cluster, *host);
  if (!access) return fail(access.error());
  // Made by another host, or for another account of that name: the one that is there is worth nothing.
  if (*access) {
    std::error_code ignored;
    std::filesystem::remove(cluster.host_token_path(), ignored);
  }
  const auto token = renew_token(*host, cluster);
  if (!token) return fail(token.error());
  // Daemons read what pods are told when they start.
  if (*access || !(there.pod_access == cluster.pod_access)) return Renewed::access;
  return *token ? Renewed::token : Renewed::nothing;
}

Outcome LocalDriver::stop(const VirtualCluster& cluster) { return stop_daemons(cluster.folder); }

}  // namespace sublet::cluster
