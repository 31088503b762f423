#include "subletd/role.h"

namespace sublet::subletd {
namespace {

constexpr Role kRoles[] = {
    {"apiserver", "one virtual cluster's Kubernetes API server", make_apiserver_role},
};

}  // namespace

std::span<const Role> roles() { return kRoles; }

}  // namespace sublet::subletd
