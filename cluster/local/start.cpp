// Starting: the host, then the daemons; and stopping.
#include <sys/stat.h>

#include <cstdio>
#include <filesystem>

#include "cluster/host/wait_until.h"
#include "cluster/lifecycle/first_objects.h"
#include "cluster/lifecycle/prepare_host.h"
#include "cluster/local/address.h"
#include "cluster/local/cluster_lock.h"
#include "cluster/local/daemon.h"
#include "cluster/local/host_token.h"
#include "cluster/local/local_driver.h"
#include "cluster/objects/exported_access.h"
#include "cluster/objects/identity.h"
#include "sublet/base/files.h"
#include "sublet/kube/account_token.h"

namespace sublet::cluster {
namespace {

using std::chrono::steady_clock;

constexpr std::chrono::seconds kStopGrace{15};

bool api_ready(const LocalLayout& layout) {
  if (!std::filesystem::exists(layout.admin_kubeconfig_path())) return false;
  const auto access = kube::load_kubeconfig(layout.admin_kubeconfig_path());
  if (!access) return false;
  net::LoopThread loop("probe");
  auto transport = kube::connect(loop.loop(), *access);
  if (!transport) return false;
  const kube::Client client(*transport, {.timeout = std::chrono::seconds(5)});
  const auto answer = client.raw("GET", "/readyz");
  return answer && answer->code == 200;
}

Outcome wait_for_daemon(const LocalLayout& layout, steady_clock::time_point deadline, const char* what,
                        const char* daemon, const std::function<bool()>& condition) {
  const std::string log = layout.log_path(daemon);
  bool died = false;
  const bool good = wait_until(deadline, [&] {
    if (condition()) return true;
    return died = !daemon_runs(layout.daemon_lock_path());
  });
  if (died) {
    // A daemon that did not even start has no log; its supervisor's log has the reason.
    const std::string telling = log_tail(log).empty() ? layout.log_path("run") : log;
    return internal_error(std::string(what) + " ended while starting; " + telling + " ends with:" + log_tail(telling));
  }
  if (!good)
    return fail(Reason::timeout, std::string(what) + " was not ready in time; " + log + " ends with:" + log_tail(log));
  return {};
}

// Keys are readable by their owner alone. One that others could read may have been copied.
void close_keys(const LocalLayout& layout, Progress& progress) {
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(layout.api_folder(), error)) {
    struct stat info {};
    if (entry.path().extension() != ".key" || ::lstat(entry.path().c_str(), &info) != 0 || !S_ISREG(info.st_mode) ||
        (info.st_mode & 077) == 0)
      continue;
    char mode[8];
    std::snprintf(mode, sizeof mode, "%04o", static_cast<unsigned>(info.st_mode & 07777));
    const bool closed = ::chmod(entry.path().c_str(), 0600) == 0;
    progress.warn(entry.path().string() + " was readable by others (mode " + mode + ")" +
                  (closed ? " and is 0600 now" : " and cannot be changed to 0600") +
                  "; if another user could enter its folder, replace the certificates: sublet certs rotate NAME");
  }
}

// Stores how the syncer reaches the host. True when that changed.
Result<bool> renew_access(const LocalLayout& layout, const Host& host) {
  const std::string text = kube::render_kubeconfig(without_credentials(host.access));
  if (read_file(layout.host_kubeconfig_path()).value_or("") == text) return false;
  if (auto written = write_private_file(layout.host_kubeconfig_path(), text); !written) return fail(written.error());
  return true;
}

}  // namespace

Status being_deleted(const VirtualCluster& cluster) {
  return fail(Reason::conflict, "the deletion of virtual cluster " + cluster.name + " in namespace " +
                                    cluster.host_namespace +
                                    " has begun and is not finished; finish it: sublet delete " + cluster.name +
                                    " -n " + cluster.host_namespace)
      .value();
}

Status exists_with(const VirtualCluster& existing, const std::string& difference) {
  return fail(Reason::already_exists, "virtual cluster " + existing.name + " exists in namespace " +
                                          existing.host_namespace + " with " + difference)
      .value();
}

bool all_runs(const LocalLayout& layout) {
  return daemon_runs(layout.daemon_lock_path()) && api_ready(layout) &&
         std::filesystem::exists(layout.syncer_ready_path());
}

Outcome start_daemons(const LocalCluster& cluster, Progress& progress, steady_clock::time_point deadline) {
  const auto& [record, layout] = cluster;
  progress.begin("start API server");
  if (!daemon_runs(layout.daemon_lock_path()) && !address_is_free(record.listen))
    return fail(Reason::conflict, record.listen + ", the address of virtual cluster " + record.name +
                                      ", is taken by another process; end that one (ss -ltnp shows it) and try again");
  std::error_code ignored;
  std::filesystem::remove(layout.syncer_ready_path(), ignored);
  if (auto made = start_daemon(layout.daemon_lock_path(), layout.log_path("run"), {"run", "--dir", layout.folder()});
      !made && !made.error().is(Reason::already_exists))
    return made;
  const auto ready = [&folder = layout] { return api_ready(folder); };
  if (auto up = wait_for_daemon(layout, deadline, "the API server", "apiserver", ready); !up) return up;
  progress.begin("start syncer");
  return wait_for_daemon(layout, deadline, "the syncer", "syncer",
                         [&folder = layout] { return std::filesystem::exists(folder.syncer_ready_path()); });
}

Outcome stop_daemons(const LocalLayout& layout) { return stop_daemon(layout.daemon_lock_path(), kStopGrace); }

Result<Host> LocalDriver::embedded(const EmbeddedHostShape& shape, std::chrono::seconds patience, Progress& progress) {
  auto access = embedded_host_.start(shape, patience, progress);
  return access ? embedded_host(connect_host_, std::move(*access)) : fail(access.error());
}

// True when the embedded host runs at the address that the virtual cluster's syncer uses.
bool LocalDriver::embedded_host_in_place(const LocalCluster& cluster) const {
  const auto access = kube::load_kubeconfig(embedded_host_.kubeconfig_path());
  return embedded_host_.runs() && access &&
         read_file(cluster.layout.host_kubeconfig_path()).value_or("") ==
             kube::render_kubeconfig(without_credentials(*access));
}

// The host other than the embedded one, with its operator's access.
Result<Host> LocalDriver::recorded_host(const LocalCluster& cluster, const HostChoice& choice) const {
  const auto stored = kube::load_kubeconfig(cluster.layout.host_kubeconfig_path());
  if (!stored && !choice.given()) return fail(stored.error());
  return host_of(connect_host_, cluster.record, stored ? *stored : kube::ClusterAccess(), choice);
}

// The host of an existing one. A host that the caller names must be the same, perhaps with renewed credentials.
Result<Host> LocalDriver::host_of_existing(const LocalCluster& existing, const HostChoice& choice,
                                           std::chrono::seconds patience, Progress& progress) {
  const VirtualCluster& record = existing.record;
  if (!choice.given())
    return record.embedded_host ? embedded(choice.shape, patience, progress) : recorded_host(existing, {});
  auto host = host_from_kubeconfig(connect_host_, choice.kubeconfig, choice.context);
  if (host && (record.embedded_host || host->context != record.host_context))
    return fail(exists_with(record, "another host (" + record.host_context +
                                        "); delete it first, or leave --host-kubeconfig and --context out"));
  return host;
}

Result<bool> LocalDriver::start(const VirtualCluster& cluster, const HostChoice& choice, std::chrono::seconds patience,
                                Progress& progress) {
  if (auto own = check_own_folder(); !own) return fail(own.error());
  const LocalLayout layout = local(cluster).layout;
  const auto lock = ClusterLock::take(layout, patience);
  if (!lock) return fail(lock.error());
  auto record = layout.load();  // another command may have changed or deleted it
  if (!record) return fail(record.error());
  if (record->deleting) return fail(being_deleted(*record));
  LocalCluster existing{std::move(*record), layout};
  return start_local(existing, choice, patience, progress);
}

Result<bool> LocalDriver::start_local(LocalCluster& cluster, const HostChoice& choice, std::chrono::seconds patience,
                                      Progress& progress) {
  const auto& [record, layout] = cluster;
  close_keys(layout, progress);
  if (!choice.given() && all_runs(layout) && (!record.embedded_host || embedded_host_in_place(cluster)) &&
      token_is_valid(layout))
    return false;
  const auto deadline = steady_clock::now() + patience;
  progress.begin(record.embedded_host ? "start embedded host" : "reach host");
  auto renewed = renew(cluster, choice, patience, progress);
  if (!renewed) return fail(renewed.error());
  if (*renewed != Renewed::access && all_runs(layout)) return *renewed == Renewed::token;
  if (*renewed == Renewed::access)
    if (auto stopped = stop_daemons(layout); !stopped) return fail(stopped.error());
  if (auto started = start_daemons(cluster, progress, deadline); !started) return fail(started.error());
  const auto admin = kube::load_kubeconfig(layout.admin_kubeconfig_path());
  if (!admin) return fail(admin.error());
  if (auto applied = apply_first_objects(record, *admin, deadline); !applied) progress.warn(applied.error().message);
  // Exported credentials last for years, so an unreachable host is no failure.
  const auto context = translate_context(record);
  if (!context || exports_of(record, syncer::config_of(*context)).empty()) return true;
  if (const auto host = host_of_existing(cluster, choice, patience, progress))
    if (auto exported = export_access(*host, record, *admin); !exported) progress.warn(exported.error().message);
  return true;
}

// Updates the objects on the host with the operator's access, and gives the syncer a token when it needs one.
Result<LocalDriver::Renewed> LocalDriver::renew(LocalCluster& cluster, const HostChoice& choice,
                                                std::chrono::seconds patience, Progress& progress) {
  const auto deadline = steady_clock::now() + patience;
  const LocalLayout& layout = cluster.layout;
  VirtualCluster& record = cluster.record;
  auto host = host_of_existing(cluster, choice, patience, progress);
  if (!host) {
    // The syncer works without the operator while its own token is valid.
    const bool away = host.error().is(Reason::service_unavailable) || host.error().is(Reason::timeout);
    const auto token = kube::load_account_token(layout.host_token_path());
    if (choice.given() || record.embedded_host || away || !token || !token->holds_at(Clock::system().now()))
      return fail(host.error());
    progress.warn(host.error().message + "; going on with the syncer's own token");
    return Renewed::nothing;
  }
  warn_if_unverified(*host, progress);
  progress.begin("prepare host namespace " + record.host_namespace);
  const VirtualCluster before = record;
  if (auto prepared = prepare_host(*host, record, layout.folder(), deadline, progress); !prepared)
    return fail(prepared.error());
  if (!host->kubeconfig.empty()) record.host_kubeconfig = host->kubeconfig;
  // The daemons read the record when they start.
  if (record.to_json() != before.to_json())
    if (auto saved = layout.save(record); !saved) return fail(saved.error());
  if (auto made = make_private_folder(layout.syncer_folder()); !made) return fail(made.error());
  const auto access = renew_access(layout, *host);
  if (!access) return fail(access.error());
  // The stored token is from another host, or for another account of that name: it is useless.
  if (*access) {
    std::error_code ignored;
    std::filesystem::remove(layout.host_token_path(), ignored);
  }
  const auto token = renew_token(*host, cluster);
  if (!token) return fail(token.error());
  if (*access || !(before.pod_access == record.pod_access)) return Renewed::access;
  return *token ? Renewed::token : Renewed::nothing;
}

Outcome LocalDriver::stop(const VirtualCluster& cluster) { return stop_daemons(local(cluster).layout); }

}  // namespace sublet::cluster
