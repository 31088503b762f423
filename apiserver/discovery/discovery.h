// Discovery and OpenAPI documents, made from one snapshot of kinds and cached with it by their
// caller. Pure.
// Spec sections 1.2 and 1.3: legacy and aggregated discovery (v2, v2beta1), OpenAPI v3 per group version with the PATCH
// parameters that kubectl needs, OpenAPI v2 as JSON and as gnostic protobuf. Built on first use, so that an idle
// virtual cluster pays nothing for them.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "sublet/schema/registry.h"

namespace sublet::apiserver {

/// Body of /api, /apis, /api/v1, /apis/g, /apis/g/v (legacy JSON); nullopt: no such group or version.
std::optional<std::string> legacy_discovery(const schema::Registry& kinds, std::string_view path,
                                            std::string_view server_address);
/// Aggregated discovery for "/api" or "/apis"; `version` "v2" or "v2beta1".
std::string aggregated_discovery(const schema::Registry& kinds, std::string_view path, std::string_view version);

/// {"paths": {"api/v1": {"serverRelativeURL": "/openapi/v3/api/v1?hash=..."}, ...}}.
std::string openapi_v3_index(const schema::Registry& kinds);
/// Document of "api/v1" or "apis/apps/v1"; nullopt: unknown.
std::optional<std::string> openapi_v3(const schema::Registry& kinds, std::string_view group_version_path);
/// The hash that the index gives for it.
std::string openapi_v3_hash(const schema::Registry& kinds, std::string_view group_version_path);
std::string openapi_v2_json(const schema::Registry& kinds);
/// gnostic's openapi.v2 Document message.
std::string openapi_v2_protobuf(const schema::Registry& kinds);

}  // namespace sublet::apiserver
