#include "subletd/role.h"

namespace sublet::subletd {
namespace {

constexpr Role kRoles[] = {
    {"apiserver", "one virtual cluster's Kubernetes API server", make_apiserver_role},
    {"syncer", "one virtual cluster's syncer", make_syncer_role},
    {"dns", "one virtual cluster's DNS server", make_dns_role},
    {"run", "one virtual cluster: supervises its API server and its syncer", make_run_role},
    {"controllers", "one virtual cluster's kube-controller-manager, where its template wants upstream's",
     make_controllers_role},
    {"simhost", "a host with simulated nodes, scheduler and kubelet", make_simhost_role},
};

}  // namespace

std::span<const Role> roles() { return kRoles; }

}  // namespace sublet::subletd
