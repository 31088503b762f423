// Discovery and OpenAPI documents of one snapshot of kinds: legacy and aggregated discovery (v2, v2beta1), OpenAPI v3
// for each group version with the parameters that kubectl needs, OpenAPI v2 as JSON and as gnostic protobuf.
//
// Built on first use and cached with the snapshot by the caller, so an idle virtual cluster does not hold them. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "apiserver/discovery/foreign.h"
#include "apiserver/discovery/host_texts.h"
#include "sublet/schema/registry.h"

namespace sublet::apiserver {

/// Body of /api, /apis, /api/v1, /apis/g, /apis/g/v (legacy JSON); nullopt: no such group or version.
std::optional<std::string> legacy_discovery(const schema::Registry& kinds, std::string_view path,
                                            std::string_view server_address, const ForeignApis& others = {});
/// Aggregated discovery for "/api" or "/apis"; `version` "v2" or "v2beta1".
std::string aggregated_discovery(const schema::Registry& kinds, std::string_view path, std::string_view version,
                                 const ForeignApis& others = {});

/// {"paths": {"api/v1": {"serverRelativeURL": "/openapi/v3/api/v1?hash=..."}, ...}}.
/// Where a host has descriptions for a document, its hash goes into ours.
std::string openapi_v3_index(const schema::Registry& kinds, const ForeignApis& others = {},
                             const HostHashes& host = {});
/// Document of "api/v1" or "apis/apps/v1", with a host's descriptions; nullopt: unknown.
std::optional<std::string> openapi_v3(const schema::Registry& kinds, std::string_view group_version_path,
                                      const HostTexts* host = nullptr);
/// The hash that the index gives for it: without the host's the one of the document without descriptions.
std::string openapi_v3_hash(const schema::Registry& kinds, std::string_view group_version_path,
                            const HostHashes& host = {});
std::string openapi_v2_json(const schema::Registry& kinds, const ForeignOpenApi& others = {});
/// gnostic's openapi.v2 Document message.
std::string openapi_v2_protobuf(const schema::Registry& kinds, const ForeignOpenApi& others = {});

}  // namespace sublet::apiserver
