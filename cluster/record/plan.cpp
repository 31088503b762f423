#include "sublet/cluster/plan.h"

#include <algorithm>
#include <limits>

#include "sublet/base/clock.h"
#include "sublet/base/files.h"
#include "sublet/base/random.h"
#include "sublet/net/address_rules.h"
#include "sublet/schema/engine.h"
#include "sublet/syncer/border_facts.h"

namespace sublet::cluster {
namespace {

// Names become parts of host names and context names; this refuses those that would make either ambiguous.
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

// Namespaces of the host's own components: deleting a virtual cluster there could remove them.
constexpr std::string_view kHostNamespaces[] = {"default", "kube-system", "kube-public", "kube-node-lease"};

Outcome check_host_namespace(const std::string& name) {
  if (auto good = check_name("namespace", name, 63); !good) return good;
  if (std::ranges::find(kHostNamespaces, name) == std::end(kHostNamespaces)) return {};
  return bad_request("namespace " + name +
                     " cannot be used: it is the host's own; take one for virtual clusters, which is made when it is "
                     "not there");
}

// The template must load and resolve, as in the daemons.
Outcome check_template(Plan& plan) {
  VirtualCluster& cluster = plan.cluster;
  auto made = cluster.template_text.empty()
                  ? Result<patches::Template>(patches::Template::none())
                  : patches::Template::load(cluster.template_text, cluster.template_file, syncer::border_facts(),
                                            cluster.lenient ? &plan.left_out : nullptr);
  if (!made) return fail(made.error());
  auto resolved = made->resolve(cluster.parameters, cluster.name, cluster.host_namespace);
  if (!resolved) return fail(resolved.error());
  const patches::ControlPlane& wanted = (*resolved)->config().control_plane;
  plan.needs_pod_access = wanted.leads_people_in();
  cluster.host_service_account = workload_account_name(cluster.name, (*resolved)->config());
  if (cluster.host_service_account == "default" || cluster.host_service_account.starts_with("sublet-syncer-"))
    return bad_request("controlPlane.advanced.workloadServiceAccount.name: " + cluster.host_service_account +
                       " is another's; tenants' pods would run under it");
  return {};
}

// The address of an endpoint: neither loopback nor a wildcard.
Outcome check_pod_access(const PlanRequest& request) {
  if (request.pod_address.empty() && !request.pod_listen.empty())
    return bad_request("--pod-listen says where to listen for what pods reach at --pod-address: give that one too");
  for (const auto& [flag, address] :
       {std::pair("--pod-address", &request.pod_address), std::pair("--pod-listen", &request.pod_listen)}) {
    if (address->empty()) continue;
    const auto range = net::AddressRange::parse(*address);
    if (!range || address->find('/') != std::string::npos)
      return bad_request(std::string(flag) + " " + *address + " is no address in numbers, as 10.0.0.5 or fd00::5");
    if (*address == "0.0.0.0" || *address == "::")
      return bad_request(std::string(flag) + " " + *address + ": name one address; pods are answered from it");
  }
  if (request.pod_address.starts_with("127.") || request.pod_address == "::1")
    return bad_request("--pod-address " + request.pod_address +
                       " is loopback, which in a pod is the pod; give an address of this machine that the host's "
                       "nodes reach");
  return {};
}

}  // namespace

Result<Plan> make_plan(const PlanRequest& request) {
  Plan plan;
  VirtualCluster& cluster = plan.cluster;
  if (auto good = check_cluster_name(request.name); !good) return fail(good.error());
  cluster.name = request.name;
  cluster.host_namespace = request.host_namespace.empty() ? "sublet-" + request.name : request.host_namespace;
  if (auto good = check_host_namespace(cluster.host_namespace); !good) return fail(good.error());
  cluster.parameters = request.parameters;
  cluster.lenient = request.lenient;
  if (request.quota.objects.value_or(0) < 0 || request.quota.bytes.value_or(0) < 0)
    return bad_request("a quota cannot be less than 0, which is no limit");
  cluster.quota = request.quota;
  if (auto good = check_pod_access(request); !good) return fail(good.error());
  cluster.pod_access.address = request.pod_address;
  cluster.pod_access.listen = request.pod_listen.empty() ? request.pod_address : request.pod_listen;
  cluster.template_file = request.template_file;
  if (!request.template_file.empty()) {
    auto text = read_file(request.template_file);
    if (!text) return fail(text.error());
    cluster.template_text = std::move(*text);
  }
  if (auto good = check_template(plan); !good) return fail(good.error());
  cluster.uid = uuid_v4(Random::system());
  cluster.created = format_time(Clock::system().now());
  return plan;
}

std::string workload_account_name(const std::string& name, const patches::SyncConfig& config) {
  const std::string& asked = config.control_plane.workload_account.name;
  return asked.empty() ? "sublet-workload-" + name : asked;
}

Result<std::int64_t> bytes_of(std::string_view quantity) {
  constexpr std::int64_t kNano = 1'000'000'000;
  const auto nanos = schema::quantity_nanos(quantity);
  if (!nanos || *nanos < 0 || *nanos % kNano != 0 || *nanos / kNano > std::numeric_limits<std::int64_t>::max() / 2)
    return bad_request(std::string(quantity) + " is no number of bytes; 2Gi and 500M are, and 0 is no limit");
  return static_cast<std::int64_t>(*nanos / kNano);
}

}  // namespace sublet::cluster
