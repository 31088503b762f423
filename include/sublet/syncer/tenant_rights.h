// TenantRights: what a syncer must be allowed to do in its virtual cluster, and no more. Read off the table of synced
// kinds (syncer/synced_kinds.cpp). Pure.
#pragma once

#include <string>

namespace sublet::syncer {

/// The rules of a ClusterRole, as JSON. Also for kinds that a template switches off: what is there of them is watched
/// all the same, and put in order.
std::string tenant_rights();

}  // namespace sublet::syncer
