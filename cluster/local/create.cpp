// Creating: a new one, or what an earlier create of that name made.
#include "cluster/exported_access.h"
#include "cluster/first_objects.h"
#include "cluster/identity.h"
#include "cluster/local/address.h"
#include "cluster/local/create_claim.h"
#include "cluster/local/local_driver.h"
#include "cluster/local/records.h"
#include "cluster/sweep.h"
#include "sublet/base/files.h"
#include "sublet/base/host_port.h"

namespace sublet::cluster {
namespace {

using std::chrono::steady_clock;

constexpr std::chrono::seconds kUndoPatience{20};

// The API server takes for pods the port that it has on loopback; the DNS server's is chosen as that one was.
Outcome choose_dns_port(PodAccess& access) {
  if (!access.given() || access.dns_port != 0) return {};
  const auto address = choose_address();
  if (!address) return fail(address.error());
  access.dns_port = parse_port(split_host_port(*address).port.value_or("")).value_or(0);
  return {};
}

Outcome write_folder(Plan& plan, const Host& host) {
  VirtualCluster& cluster = plan.cluster;
  if (auto made = make_private_folder(cluster.api_folder()); !made) return made;
  if (auto written = write_private_file(cluster.template_path(), plan.template_text); !written) return written;
  if (auto made = make_private_folder(cluster.syncer_folder()); !made) return made;
  if (auto written =
          write_private_file(cluster.host_kubeconfig_path(), kube::render_kubeconfig(without_credentials(host.access)));
      !written)
    return written;
  auto address = choose_address();  // for the life of the virtual cluster: kubeconfigs outlive restarts
  if (!address) return fail(address.error());
  cluster.listen = *address;
  if (auto chosen = choose_dns_port(cluster.pod_access); !chosen) return chosen;
  cluster.host_context = host.context;
  cluster.host_kubeconfig = host.kubeconfig;
  cluster.embedded_host = host.embedded;
  return cluster.save();
}

}  // namespace

// A create that failed half-way leaves nothing but its message.
void LocalDriver::undo(const Host& host, const VirtualCluster& cluster, bool host_prepared, Progress& progress) {
  (void)stop_daemons(cluster.folder);
  const auto swept = sweep_host(host, cluster, !others_in_namespace(cluster), kUndoPatience, progress);
  // Where nothing was made the host refuses for the reason that the call returns.
  if (!swept && host_prepared) progress.warn(swept.error().message);
  // With the record goes the folder, when the claim ends.
  if (auto emptied = empty_cluster_folder(cluster.folder); !emptied) progress.warn(emptied.error().message);
}

Result<Host> LocalDriver::chosen_host(const HostChoice& choice, std::chrono::seconds patience, Progress& progress) {
  return choice.given() ? host_from_kubeconfig(connect_host_, choice.kubeconfig, choice.context)
                        : embedded(choice.shape, patience, progress);
}

Result<Created> LocalDriver::make(Plan plan, const HostChoice& choice, std::chrono::seconds patience,
                                  Progress& progress) {
  VirtualCluster& cluster = plan.cluster;
  if (plan.leads_people_in && !cluster.pod_access.given())
    return bad_request(
        "controlPlane.service, ingress and tlsRoute of the template lead people through the host to the API server, "
        "which has to have an address there: give --pod-address");
  const auto deadline = steady_clock::now() + patience;
  progress.begin(choice.given() ? "reach host" : "start embedded host");
  auto host = chosen_host(choice, patience, progress);
  if (!host) return fail(host.error());
  tell_of_unverified(*host, progress);
  bool host_prepared = false;
  const auto give_up = [&](const Status& status) {
    progress.failed();
    undo(*host, cluster, host_prepared, progress);
    return fail(status);
  };
  // The record first: from here on remove() knows what there is, and create() can go on.
  progress.begin("make keys and record");
  if (auto written = write_folder(plan, *host); !written) return give_up(written.error());
  progress.recorded(cluster);
  progress.begin("prepare host namespace " + cluster.host_namespace);
  if (auto prepared = prepare_host(*host, cluster, deadline, progress); !prepared) return give_up(prepared.error());
  host_prepared = true;
  if (auto known = renew_token(*host, cluster); !known) return give_up(known.error());
  if (auto started = start_daemons(cluster, progress, deadline); !started) return give_up(started.error());
  if (auto applied = apply_first_objects(cluster, deadline); !applied) return give_up(applied.error());
  if (auto exported = export_access(*host, cluster); !exported) return give_up(exported.error());
  return Created{Created::How::created, cluster};
}

// Another quota than it has is written down, and its daemons, which read it when they start, are stopped.
Outcome LocalDriver::take_quota(const Quota& wanted, VirtualCluster& existing) {
  Quota quota = existing.quota;
  if (wanted.objects) quota.objects = wanted.objects;
  if (wanted.bytes) quota.bytes = wanted.bytes;
  if (quota == existing.quota) return {};
  existing.quota = quota;
  if (auto saved = existing.save(); !saved) return saved;
  return stop(existing);
}

// So is another way for its pods; those that run keep what they were told.
Outcome LocalDriver::take_pod_access(const PodAccess& wanted, VirtualCluster& existing) {
  if (!wanted.given() || (wanted.address == existing.pod_access.address && wanted.listen == existing.pod_access.listen))
    return {};
  existing.pod_access.address = wanted.address;
  existing.pod_access.listen = wanted.listen;
  if (auto chosen = choose_dns_port(existing.pod_access); !chosen) return chosen;
  if (auto saved = existing.save(); !saved) return saved;
  return stop(existing);
}

// One of that name is there: running, or to be started again.
Result<Created> LocalDriver::go_on_with(const Plan& plan, VirtualCluster existing, const HostChoice& choice,
                                        std::chrono::seconds patience, Progress& progress) {
  const auto stored = read_file(existing.template_path());
  if ((!plan.cluster.template_file.empty() && stored && *stored != plan.template_text) ||
      (!plan.cluster.parameters.empty() && existing.parameters != plan.cluster.parameters))
    return fail(exists_with(existing,
                            "another template or other parameters; delete it first, or leave -f and --set out to "
                            "keep it as it is"));
  progress.recorded(existing);
  if (auto taken = take_quota(plan.cluster.quota, existing); !taken) return fail(taken.error());
  if (auto taken = take_pod_access(plan.cluster.pod_access, existing); !taken) return fail(taken.error());
  const auto started = start(existing, choice, patience, progress);
  if (!started) return fail(started.error());
  return Created{*started ? Created::How::started : Created::How::unchanged, std::move(existing)};
}

Result<Created> LocalDriver::create(const Plan& wanted, const HostChoice& choice, std::chrono::seconds patience,
                                    Progress& progress) {
  if (auto own = check_state_folder(state_folder_); !own) return fail(own.error());
  Plan plan = wanted;
  plan.cluster.folder = cluster_folder(state_folder_, plan.cluster.host_namespace, plan.cluster.name);
  const auto claim = CreateClaim::take(plan.cluster.folder, patience);
  if (!claim) return fail(claim.error());
  const auto existing = VirtualCluster::load(plan.cluster.folder);
  if (existing) return go_on_with(plan, *existing, choice, patience, progress);
  if (!existing.error().is(Reason::not_found)) return fail(existing.error());
  return make(std::move(plan), choice, patience, progress);
}

}  // namespace sublet::cluster
