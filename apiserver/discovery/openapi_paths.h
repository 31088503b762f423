// The HTTP surface of one group version as data: every path with its operations, from which both OpenAPI dialects are
// written. Pure; threads: any.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sublet/schema/registry.h"

namespace sublet::apiserver {

struct ApiParameter {
  std::string_view name, type;  // type: OpenAPI's
  std::string_view description;
};

struct ApiOperation {
  std::string_view method;  // "get", "patch"
  std::string_view action;  // x-kubernetes-action: "list", "patch", "connect"
  std::string id;           // operationId, as upstream names it
  std::string_view group, version, kind;
  std::span<const ApiParameter> parameters;  // in the query
  schema::Type body;                         // missing: none, or any patch when the action is "patch"
  schema::Type answer;                       // missing: text
  std::span<const std::string_view> codes;   // of success
  bool custom = false;                       // of a kind made at run time
};

struct ApiPath {
  std::string path;                               // "/api/v1/namespaces/{namespace}/pods/{name}"
  std::vector<std::string_view> path_parameters;  // "name", "namespace", "path"
  std::vector<ApiOperation> operations;
};

/// All paths of a served group version, in order of path.
std::vector<ApiPath> api_paths(const schema::Registry& kinds, std::string_view group, std::string_view version);

/// "/api/v1" or "/apis/apps/v1".
std::string api_root(std::string_view group, std::string_view version);
/// Tag of the operations: "core_v1", "rbacAuthorization_v1".
std::string api_tag(std::string_view group, std::string_view version);
/// What an answer with this code of success says.
std::string_view code_description(std::string_view code);
/// What each path parameter means.
std::string_view path_parameter_description(std::string_view name);

/// Content types of bodies that the server reads and writes, and of patches.
std::span<const std::string_view> api_media_types(bool custom);
std::span<const std::string_view> api_patch_types(bool custom);

}  // namespace sublet::apiserver
