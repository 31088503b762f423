// HostToken: the file with the token by which a virtual cluster's syncer is known to its host. Commands renew it with
// the operator's rights, the syncer by itself.
#pragma once

#include "cluster/host/host.h"
#include "cluster/local/records.h"

namespace sublet::cluster {

/// Requests a new token when the stored one is missing or due. True when the stored one was missing or had expired.
/// Blocking.
Result<bool> renew_token(const Host& host, const LocalCluster& cluster);
/// False when the stored token has expired; true also when there is none.
bool token_is_valid(const LocalLayout& layout);

}  // namespace sublet::cluster
