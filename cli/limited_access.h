// LimitedAccess: access to a virtual cluster that expires and may have fewer rights than the administrator's: a token
// of a service account that is bound to one of the cluster roles view, edit, admin and cluster-admin.
//
// The account (kube-system/sublet-ROLE) and its binding (sublet:ROLE) are created when they are missing. Deleting one
// of them revokes everything that was issued for the role.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "sublet/kube/kubeconfig.h"

namespace sublet::cli {

/// "90m", "8h", "7d"; bad_request for anything else, below ten minutes and above a year.
Result<std::chrono::seconds> parse_lifetime(std::string_view text);
/// `admin` with the token in place of its certificate. Asks the API server; blocks.
Result<kube::ClusterAccess> limited_access(const kube::ClusterAccess& admin, const std::string& role,
                                           std::chrono::seconds lifetime);

}  // namespace sublet::cli
