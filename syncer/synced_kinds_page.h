// SyncedKindsPage: docs/synced-kinds.md, made of the table of synced kinds and of the field rows. Pure.
#pragma once

#include <string>

namespace sublet::syncer {

std::string synced_kinds_page();

}  // namespace sublet::syncer
