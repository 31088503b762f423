// ServiceFamilies: the IP families of a Service, and whether its fields about them and its addresses agree. Upstream
// validates this first, and reports nothing else when it is wrong. Internal to strategies/.
#pragma once

#include "apiserver/strategies/strategy.h"

namespace sublet::apiserver {

/// Fills ipFamilyPolicy, ipFamilies and clusterIPs; `old`: missing for a new Service. `cidr`: the service network.
Outcome settle_families(schema::Value service, const schema::Value& old, std::string_view cidr);
/// What clusterIP, clusterIPs, ipFamilies and ipFamilyPolicy say of each other.
void validate_cluster_ips(std::vector<Cause>& causes, const schema::Value& spec, const schema::Value& old_spec);
/// What of them may not change.
void validate_cluster_ips_update(std::vector<Cause>& causes, const schema::Value& spec, const schema::Value& old_spec);

}  // namespace sublet::apiserver
