// Creating: a new one, or what an earlier create of that name made.
#include "cluster/lifecycle/first_objects.h"
#include "cluster/lifecycle/prepare_host.h"
#include "cluster/lifecycle/sweep.h"
#include "cluster/local/address.h"
#include "cluster/local/cluster_lock.h"
#include "cluster/local/daemon.h"
#include "cluster/local/host_token.h"
#include "cluster/local/local_driver.h"
#include "cluster/objects/exported_access.h"
#include "cluster/objects/identity.h"
#include "sublet/base/files.h"
#include "sublet/base/host_port.h"

namespace sublet::cluster {
namespace {

using std::chrono::steady_clock;

constexpr std::chrono::seconds kUndoPatience{20};

// Returns the metrics of a running API server; "" when it does not answer.
std::string metrics_of(const LocalLayout& layout) {
  const auto access = kube::load_kubeconfig(layout.admin_kubeconfig_path());
  if (!access || !daemon_runs(layout.daemon_lock_path())) return "";
  net::LoopThread loop("quota");
  auto transport = kube::connect(loop.loop(), *access);
  if (!transport) return "";
  const auto answer = kube::Client(*transport, {.timeout = std::chrono::seconds(5)}).raw("GET", "/metrics");
  return answer && answer->code == 200 ? answer->body : "";
}

std::optional<std::int64_t> value_of(const std::string& metrics, const std::string& name) {
  const auto at = metrics.find("\n" + name + " ");
  if (at == std::string::npos) return std::nullopt;
  return static_cast<std::int64_t>(std::strtod(metrics.c_str() + at + name.size() + 2, nullptr));
}

// Refuses a limit below what the store of a running one holds: nothing could be added, not even the status of a pod.
Outcome check_quota(const Quota& wanted, const LocalCluster& existing) {
  struct Limit {
    const char *flag, *metric, *unit;
    std::optional<std::int64_t> value;
  };
  if (wanted.objects.value_or(0) == 0 && wanted.bytes.value_or(0) == 0) return {};
  const std::string metrics = metrics_of(existing.layout);
  for (const Limit& limit : {Limit{"--quota-objects", "sublet_store_objects", " objects", wanted.objects},
                             Limit{"--quota-bytes", "sublet_store_bytes", " bytes", wanted.bytes}}) {
    if (limit.value.value_or(0) == 0) continue;
    const auto used = value_of(metrics, limit.metric);
    if (used && *used > *limit.value)
      return bad_request(std::string(limit.flag) + " " + std::to_string(*limit.value) +
                         ": the store of virtual cluster " + existing.record.name + " holds " + std::to_string(*used) +
                         limit.unit + "; give more, or delete objects first");
  }
  return {};
}

// Before anything is stopped or stored: daemons cannot listen on an address of another machine.
Outcome check_pod_access(const PodAccess& access) {
  if (!access.given() || is_local_address(access.listen)) return {};
  const bool same = access.listen == access.address;
  return bad_request((same ? "--pod-address " : "--pod-listen ") + access.listen +
                     " is not an address of this machine, so nothing can listen on it; `ip address` shows its "
                     "addresses" +
                     (same ? ". If " + access.address + " leads to this machine (NAT, a load balancer), name the " +
                                 "address on which to listen with --pod-listen"
                           : ""));
}

// For pods the API server listens on the port that it has on loopback; the DNS server's port is chosen the same way.
Outcome choose_dns_port(PodAccess& access) {
  if (!access.given() || access.dns_port != 0) return {};
  const auto address = choose_address();
  if (!address) return fail(address.error());
  access.dns_port = parse_port(split_host_port(*address).port.value_or("")).value_or(0);
  return {};
}

Outcome write_folder(VirtualCluster& cluster, const LocalLayout& layout, const Host& host) {
  if (auto made = make_private_folder(layout.api_folder()); !made) return made;
  if (auto written = layout.save_template(cluster); !written) return written;
  if (auto made = make_private_folder(layout.syncer_folder()); !made) return made;
  if (auto written =
          write_private_file(layout.host_kubeconfig_path(), kube::render_kubeconfig(without_credentials(host.access)));
      !written)
    return written;
  auto address = choose_address();  // for the life of the virtual cluster: kubeconfigs outlive restarts
  if (!address) return fail(address.error());
  cluster.listen = *address;
  if (auto chosen = choose_dns_port(cluster.pod_access); !chosen) return chosen;
  cluster.host_context = host.context;
  cluster.host_kubeconfig = host.kubeconfig;
  cluster.embedded_host = host.embedded;
  return layout.save(cluster);
}

}  // namespace

// A failed create leaves nothing but its message.
void LocalDriver::undo(const Host& host, const LocalCluster& cluster, bool host_prepared, Progress& progress) {
  (void)stop_daemons(cluster.layout);
  const auto swept = sweep_host(host, cluster.record, !others_in_namespace(cluster.record), kUndoPatience, progress);
  // Where nothing was made the host refuses for the reason that the call returns.
  if (!swept && host_prepared) progress.warn(swept.error().message);
  // The lock removes the folder when it ends, because the record is gone.
  if (auto emptied = empty_cluster_folder(cluster.layout); !emptied) progress.warn(emptied.error().message);
}

Result<Host> LocalDriver::chosen_host(const HostChoice& choice, std::chrono::seconds patience, Progress& progress) {
  return choice.given() ? host_from_kubeconfig(connect_host_, choice.kubeconfig, choice.context)
                        : embedded(choice.shape, patience, progress);
}

Result<Created> LocalDriver::make(const Plan& plan, const HostChoice& choice, std::chrono::seconds patience,
                                  Progress& progress) {
  LocalCluster cluster = local(plan.cluster);
  VirtualCluster& record = cluster.record;
  if (plan.needs_pod_access && !record.pod_access.given())
    return bad_request(
        "controlPlane.service, ingress and tlsRoute of the template lead people through the host to the API server, "
        "which has to have an address there: give --pod-address");
  const auto deadline = steady_clock::now() + patience;
  if (auto local_address = check_pod_access(record.pod_access); !local_address) return fail(local_address.error());
  // Until the record exists, a delete of the host's last virtual cluster must not take the host away.
  auto host_in_use = choice.given() ? Result<Descriptor>(Descriptor()) : embedded_host_.lock(EmbeddedHost::Use::shared);
  if (!host_in_use) return fail(host_in_use.error());
  progress.begin(choice.given() ? "reach host" : "start embedded host");
  auto host = chosen_host(choice, patience, progress);
  if (!host) return fail(host.error());
  warn_if_unverified(*host, progress);
  bool host_prepared = false;
  const auto give_up = [&](const Status& status) {
    progress.failed();
    undo(*host, cluster, host_prepared, progress);
    return fail(status);
  };
  // The record first: from here on remove() and a repeated create() know what exists.
  progress.begin("make keys and record");
  if (auto written = write_folder(record, cluster.layout, *host); !written) return give_up(written.error());
  host_in_use->reset();
  progress.recorded(record);
  progress.begin("prepare host namespace " + record.host_namespace);
  if (auto prepared = prepare_host(*host, record, cluster.layout.folder(), deadline, progress); !prepared)
    return give_up(prepared.error());
  host_prepared = true;
  if (auto saved = cluster.layout.save(record); !saved) return give_up(saved.error());
  if (auto known = renew_token(*host, cluster); !known) return give_up(known.error());
  if (auto started = start_daemons(cluster, progress, deadline); !started) return give_up(started.error());
  const auto admin = kube::load_kubeconfig(cluster.layout.admin_kubeconfig_path());
  if (!admin) return give_up(admin.error());
  if (auto applied = apply_first_objects(record, *admin, deadline); !applied) return give_up(applied.error());
  if (auto exported = export_access(*host, record, *admin); !exported) return give_up(exported.error());
  return Created{Created::How::created, record};
}

// Stores a quota that differs and stops the daemons, which read it when they start.
Outcome LocalDriver::take_quota(const Quota& wanted, LocalCluster& existing) {
  Quota quota = existing.record.quota;
  if (wanted.objects) quota.objects = wanted.objects;
  if (wanted.bytes) quota.bytes = wanted.bytes;
  if (quota == existing.record.quota) return {};
  if (auto enough = check_quota(wanted, existing); !enough) return enough;
  existing.record.quota = quota;
  if (auto saved = existing.layout.save(existing.record); !saved) return saved;
  return stop_daemons(existing.layout);
}

// The same for another address for pods. Pods that run keep the address that they got.
Outcome LocalDriver::take_pod_access(const PodAccess& wanted, LocalCluster& existing) {
  PodAccess& access = existing.record.pod_access;
  if (!wanted.given() || (wanted.address == access.address && wanted.listen == access.listen)) return {};
  access.address = wanted.address;
  access.listen = wanted.listen;
  if (auto chosen = choose_dns_port(access); !chosen) return chosen;
  if (auto saved = existing.layout.save(existing.record); !saved) return saved;
  return stop_daemons(existing.layout);
}

// The virtual cluster exists: it runs, or is started again.
Result<Created> LocalDriver::go_on_with(const Plan& plan, LocalCluster existing, const HostChoice& choice,
                                        std::chrono::seconds patience, Progress& progress) {
  const VirtualCluster& record = existing.record;
  if (record.deleting) return fail(being_deleted(record));
  if ((!plan.cluster.template_file.empty() && record.template_text != plan.cluster.template_text) ||
      (!plan.cluster.parameters.empty() && record.parameters != plan.cluster.parameters))
    return fail(exists_with(record,
                            "another template or other parameters; delete it first, or leave -f and --set out to "
                            "keep it as it is"));
  progress.recorded(record);
  if (auto good = check_pod_access(plan.cluster.pod_access); !good) return fail(good.error());
  if (auto taken = take_quota(plan.cluster.quota, existing); !taken) return fail(taken.error());
  if (auto taken = take_pod_access(plan.cluster.pod_access, existing); !taken) return fail(taken.error());
  const auto started = start_local(existing, choice, patience, progress);
  if (!started) return fail(started.error());
  return Created{*started ? Created::How::started : Created::How::unchanged, std::move(existing.record)};
}

Result<Created> LocalDriver::create(const Plan& plan, const HostChoice& choice, std::chrono::seconds patience,
                                    Progress& progress) {
  if (auto own = check_own_folder(); !own) return fail(own.error());
  const LocalLayout layout = local(plan.cluster).layout;
  const auto lock = ClusterLock::take(layout, patience);
  if (!lock) return fail(lock.error());
  const auto existing = layout.load();
  if (existing) return go_on_with(plan, {*existing, layout}, choice, patience, progress);
  if (!existing.error().is(Reason::not_found)) return fail(existing.error());
  return make(plan, choice, patience, progress);
}

}  // namespace sublet::cluster
