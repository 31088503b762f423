#include <cstdio>
#include <filesystem>

#include "cli/address.h"
#include "cli/commands.h"
#include "cli/create_claim.h"
#include "cli/daemon.h"
#include "cli/embedded_host.h"
#include "cli/exit_code.h"
#include "cli/host.h"
#include "cli/interrupt_hint.h"
#include "cli/state.h"
#include "cli/steps.h"
#include "sublet/base/clock.h"
#include "sublet/base/files.h"
#include "sublet/base/random.h"
#include "sublet/syncer/border_facts.h"

namespace sublet::cli {
namespace {

using std::chrono::steady_clock;
using syncer::VirtualCluster;

constexpr std::chrono::seconds kStopGrace{15};

// Names become parts of host names and of context names; what would make either ambiguous is refused here.
Outcome check_name(const std::string& what, const std::string& name, std::size_t size_max) {
  const auto refuse = [&](const std::string& why) {
    return bad_request(what + " " + name + " cannot be used: " + why);
  };
  if (name.empty()) return bad_request(what + " is empty");
  if (name.size() > size_max) return refuse("at most " + std::to_string(size_max) + " characters");
  for (const char c : name)
    if (!((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-'))
      return refuse("only lower-case letters, digits and '-'");
  if (name.front() == '-' || name.back() == '-') return refuse("it may not start or end with '-'");
  return {};
}

Outcome check_cluster_name(const std::string& name) {
  if (auto good = check_name("name", name, 40); !good) return good;
  if (name.find("-x-") != std::string::npos || name.starts_with("x-") || name.ends_with("-x") || name == "x")
    return bad_request("name " + name + " cannot be used: \"-x-\" separates the parts of host names");
  return {};
}

Result<std::map<std::string, std::string>> parse_settings(const std::vector<std::string>& settings) {
  std::map<std::string, std::string> parameters;
  for (const auto& setting : settings) {
    const auto equals = setting.find('=');
    if (equals == std::string::npos || equals == 0)
      return bad_request("--set " + setting + " is not of the form NAME=VALUE");
    parameters[setting.substr(0, equals)] = setting.substr(equals + 1);
  }
  return parameters;
}

std::string lock_path(const VirtualCluster& cluster) { return cluster.folder + "/daemon.lock"; }
std::string syncer_mark(const VirtualCluster& cluster) { return cluster.folder + "/syncer.ready"; }  // it carries

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
                        const char* log_name, const std::function<bool()>& condition) {
  const std::string log = cluster.folder + "/" + log_name;
  bool died = false;
  const bool good = wait_until(deadline, [&] {
    if (condition()) return true;
    return died = !daemon_runs(lock_path(cluster));
  });
  if (died) return internal_error(std::string(what) + " ended while starting; " + log + " ends with:" + log_tail(log));
  if (!good)
    return fail(Reason::timeout, std::string(what) + " was not ready in time; " + log + " ends with:" + log_tail(log));
  return {};
}

Outcome start_cluster(const VirtualCluster& cluster, Steps& steps, steady_clock::time_point deadline) {
  steps.begin("start API server");
  if (!daemon_runs(lock_path(cluster)) && !address_is_free(cluster.listen))
    return fail(Reason::conflict, cluster.listen + ", the address of virtual cluster " + cluster.name +
                                      ", is taken by another process; end that one (ss -ltnp shows it) and try again");
  std::error_code ignored;
  std::filesystem::remove(syncer_mark(cluster), ignored);
  if (auto made = start_daemon(lock_path(cluster), cluster.folder + "/run.log", {"run", "--dir", cluster.folder});
      !made && !made.error().is(Reason::already_exists))
    return made;
  if (auto up =
          wait_for_daemon(cluster, deadline, "the API server", "apiserver.log", [&] { return api_ready(cluster); });
      !up)
    return up;
  steps.begin("start syncer");
  return wait_for_daemon(cluster, deadline, "the syncer", "syncer.log",
                         [&] { return std::filesystem::exists(syncer_mark(cluster)); });
}

struct Plan {
  std::string template_text;
  VirtualCluster cluster;
};

// Everything that can be checked before anything is started.
Result<Plan> make_plan(const CreateOptions& options) {
  Plan plan;
  VirtualCluster& cluster = plan.cluster;
  if (auto good = check_cluster_name(options.name); !good) return fail(good.error());
  cluster.name = options.name;
  cluster.host_namespace = options.host_namespace.empty() ? "sublet-" + options.name : options.host_namespace;
  if (auto good = check_name("namespace", cluster.host_namespace, 63); !good) return fail(good.error());
  auto parameters = parse_settings(options.set);
  if (!parameters) return fail(parameters.error());
  cluster.parameters = *parameters;
  cluster.template_file = options.template_file;
  if (!options.template_file.empty()) {
    auto text = read_file(options.template_file);
    if (!text) return fail(text.error());
    plan.template_text = *text;
  }
  auto made = plan.template_text.empty()
                  ? Result<patches::Template>(patches::Template::none())
                  : patches::Template::load(plan.template_text, options.template_file, syncer::border_facts());
  if (!made) return fail(made.error());
  if (auto resolved = made->resolve(cluster.parameters, cluster.name, cluster.host_namespace); !resolved)
    return fail(resolved.error());
  cluster.folder = cluster_folder(cluster.host_namespace, cluster.name);
  cluster.host_service_account = "sublet-workload-" + cluster.name;
  cluster.uid = uuid_v4(Random::system());
  cluster.created = format_time(Clock::system().now());
  return plan;
}

Outcome write_folder(Plan& plan, const Host& host) {
  VirtualCluster& cluster = plan.cluster;
  if (auto made = make_private_folder(cluster.api_folder()); !made) return made;
  if (auto written = write_private_file(cluster.template_path(), plan.template_text); !written) return written;
  if (auto written = write_private_file(cluster.host_kubeconfig_path(), kube::render_kubeconfig(host.access)); !written)
    return written;
  auto address = choose_address();  // for the life of the virtual cluster: kubeconfigs outlive restarts
  if (!address) return fail(address.error());
  cluster.listen = *address;
  cluster.host_context = host.context;
  cluster.embedded_host = host.embedded;
  return cluster.save();
}

// A create that failed half-way leaves nothing but its message.
void undo(const Host& host, const VirtualCluster& cluster, bool host_prepared) {
  (void)stop_daemon(lock_path(cluster), kStopGrace);
  const auto swept = sweep_host(host, cluster, std::chrono::seconds(20));
  if (!swept && host_prepared) report(swept.error());  // else the host refuses for the reason that was just said
  std::error_code ignored;
  std::filesystem::remove(cluster.record_path(), ignored);  // and with it goes the folder, when the claim ends
}

std::string how_to_go_on(const VirtualCluster& cluster) {
  const std::string which = cluster.name + " -n " + cluster.host_namespace;
  return "run the same command again to go on, or: sublet delete " + which;
}

bool host_is_given(const CreateOptions& options) {
  return !options.host_kubeconfig.empty() || !options.host_context.empty();
}

Status exists_with(const VirtualCluster& existing, const std::string& what) {
  return fail(Reason::already_exists,
              "virtual cluster " + existing.name + " exists in namespace " + existing.host_namespace + " with " + what)
      .value();
}

int finish(const CreateOptions& options, const VirtualCluster& cluster, Steps& steps, const char* verb) {
  steps.done();
  std::fprintf(stderr, "virtual cluster %s in namespace %s %s in %s; use it: sublet connect %s -n %s\n",
               cluster.name.c_str(), cluster.host_namespace.c_str(), verb, seconds_text(steps.total()).c_str(),
               cluster.name.c_str(), cluster.host_namespace.c_str());
  std::printf("virtualcluster/%s %s\n", cluster.name.c_str(), verb);
  std::fflush(stdout);
  if (!options.connect) return kOk;
  ConnectOptions connect_options;
  connect_options.name = cluster.name;
  connect_options.host_namespace = cluster.host_namespace;
  return connect(connect_options);
}

bool all_runs(const VirtualCluster& cluster) {
  return daemon_runs(lock_path(cluster)) && api_ready(cluster) && std::filesystem::exists(syncer_mark(cluster));
}

// The embedded host runs where the virtual cluster's syncer looks for it.
bool embedded_host_in_place(const VirtualCluster& cluster) {
  const auto access = kube::load_kubeconfig(embedded_host_kubeconfig());
  return embedded_host_runs() && access &&
         read_file(cluster.host_kubeconfig_path()).value_or("") == kube::render_kubeconfig(*access);
}

// The host of one that is there; one that the user names must be the same, perhaps with renewed credentials.
Result<Host> host_of_existing(const CreateOptions& options, const VirtualCluster& existing) {
  if (!host_is_given(options))
    return existing.embedded_host ? embedded_host(options.shape, options.timeout) : host_of(existing);
  auto host = host_from_kubeconfig(options.host_kubeconfig, options.host_context);
  if (host && (existing.embedded_host || host->context != existing.host_context))
    return fail(exists_with(existing, "another host (" + existing.host_context +
                                          "); delete it first, or leave --host-kubeconfig and --context out"));
  return host;
}

// True when what the syncer reaches the host by was another.
Result<bool> renew_access(const VirtualCluster& cluster, const Host& host) {
  const std::string text = kube::render_kubeconfig(host.access);
  if (read_file(cluster.host_kubeconfig_path()).value_or("") == text) return false;
  if (auto written = write_private_file(cluster.host_kubeconfig_path(), text); !written) return fail(written.error());
  return true;
}

// One of that name is there: running, or to be started again.
int go_on_with(const CreateOptions& options, const Plan& plan, const VirtualCluster& existing) {
  const auto stored = read_file(existing.template_path());
  if ((!options.template_file.empty() && stored && *stored != plan.template_text) ||
      (!options.set.empty() && existing.parameters != plan.cluster.parameters))
    return report(exists_with(existing,
                              "another template or other parameters; delete it first, or leave -f and --set out to "
                              "keep it as it is"));
  Steps steps;
  if (!host_is_given(options) && all_runs(existing) && (!existing.embedded_host || embedded_host_in_place(existing)))
    return finish(options, existing, steps, "unchanged");
  const InterruptHint hint(how_to_go_on(existing));
  const auto give_up = [&](const Status& status) {
    steps.failed(status);
    return exit_code_of(status);
  };
  steps.begin(existing.embedded_host ? "start embedded host" : "reach host");
  auto host = host_of_existing(options, existing);
  if (!host) return give_up(host.error());
  steps.begin("prepare host namespace " + existing.host_namespace);
  if (auto prepared = prepare_host(*host, existing); !prepared) return give_up(prepared.error());
  const auto renewed = renew_access(existing, *host);
  if (!renewed) return give_up(renewed.error());
  if (!*renewed && all_runs(existing)) return finish(options, existing, steps, "unchanged");
  if (*renewed)
    if (auto stopped = stop_daemon(lock_path(existing), kStopGrace); !stopped) return give_up(stopped.error());
  if (auto started = start_cluster(existing, steps, steady_clock::now() + options.timeout); !started)
    return give_up(started.error());
  return finish(options, existing, steps, "started");
}

}  // namespace

int create(const CreateOptions& options) {
  auto plan = make_plan(options);
  if (!plan) return report(plan.error());
  VirtualCluster& cluster = plan->cluster;
  const auto claim = CreateClaim::take(cluster.folder, options.timeout);
  if (!claim) return report(claim.error());
  if (std::filesystem::exists(cluster.record_path())) {
    auto existing = VirtualCluster::load(cluster.folder);
    return existing ? go_on_with(options, *plan, *existing) : report(existing.error());
  }
  Steps steps;
  const auto deadline = steady_clock::now() + options.timeout;
  const auto give_up = [&](const Status& status) {
    steps.failed(status);
    return exit_code_of(status);
  };
  steps.begin(host_is_given(options) ? "reach host" : "start embedded host");
  auto host = host_is_given(options) ? host_from_kubeconfig(options.host_kubeconfig, options.host_context)
                                     : embedded_host(options.shape, options.timeout);
  if (!host) return give_up(host.error());
  bool host_prepared = false;
  const auto give_up_and_undo = [&](const Status& status) {
    const int code = give_up(status);
    undo(*host, cluster, host_prepared);
    return code;
  };
  // The record first: from here on delete knows what there is, and create can go on.
  steps.begin("make keys and record");
  if (auto written = write_folder(*plan, *host); !written) return give_up_and_undo(written.error());
  const InterruptHint hint(how_to_go_on(cluster));
  steps.begin("prepare host namespace " + cluster.host_namespace);
  if (auto prepared = prepare_host(*host, cluster); !prepared) return give_up_and_undo(prepared.error());
  host_prepared = true;
  if (auto started = start_cluster(cluster, steps, deadline); !started) return give_up_and_undo(started.error());
  return finish(options, cluster, steps, "created");
}

}  // namespace sublet::cli
