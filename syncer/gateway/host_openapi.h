// HostOpenApi: what of the host's OpenAPI v3 may be read through the tunnel: the documents of group versions that are
// Kubernetes' own, for their descriptions. Which others the host serves is not the tenant's business. Pure.
#pragma once

#include <string>
#include <string_view>

namespace sublet::syncer {

/// "api/v1" or "apis/apps/v1", of the group versions that this program knows; not even the name of another is asked
/// for.
bool is_known_document(std::string_view path);
/// Of the host's /openapi/v3: {"apis/apps/v1":"HASH"} of the known ones. An index without hashes gives none.
std::string known_hashes(std::string_view index);

}  // namespace sublet::syncer
