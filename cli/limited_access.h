// LimitedAccess: a way into a virtual cluster that ends by itself and may be less than the administrator's: a token of
// a service account that is bound to one of the cluster roles view, edit, admin and cluster-admin.
//
// The account (kube-system/sublet-ROLE) and its binding (sublet:ROLE) are made when they are not there; who deletes one
// of them takes all that was handed out for the role back at once.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "sublet/kube/kubeconfig.h"

namespace sublet::cli {

/// "90m", "8h", "7d"; bad_request for anything else, and below ten minutes, which no token may have.
Result<std::chrono::seconds> parse_lifetime(std::string_view text);
/// `admin` with the token in place of its certificate. Asks the API server; blocks.
Result<kube::ClusterAccess> limited_access(const kube::ClusterAccess& admin, const std::string& role,
                                           std::chrono::seconds lifetime);

}  // namespace sublet::cli
