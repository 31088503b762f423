// StoredRelease: a record in the store of the Kubernetes release whose table wrote it, and of the version that each
// built-in kind is stored in.
//
// A later release reads what an earlier one has stored: kinds that are stored in another version by now are converted
// once, at the start. An earlier one refuses, by name, what it does not know and would lose: kinds, versions, fields.
// Blocks for its commits; not from the commit thread. Before anything is served.
#pragma once

#include <string_view>

#include "sublet/base/status.h"
#include "sublet/schema/registry.h"
#include "sublet/store/store.h"

namespace sublet::apiserver {

inline constexpr std::string_view kStoredReleaseKey = "storedreleases.sublet.dev/kubernetes";

/// bad_request: what of the store this release would lose, and what to do.
Outcome accept_stored_release(store::Store& store, const schema::Registry& kinds);

}  // namespace sublet::apiserver
