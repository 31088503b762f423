// TenantRights: what a syncer must be allowed to do in its virtual cluster, and no more. Read off the table of synced
// kinds (syncer/synced_kinds.cpp). Pure.
#pragma once

#include <string>

#include "sublet/syncer/translate.h"

namespace sublet::syncer {

/// The rules of a ClusterRole, as JSON. Also for kinds that a template switches off: what is there of them is watched
/// all the same, and put in order; and for the template's custom resources.
std::string tenant_rights(const TranslateContext& context);

}  // namespace sublet::syncer
