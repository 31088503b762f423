// Foreign: group versions of other API servers, as this server's discovery and OpenAPI show them.
//
// Foreign versions come after this server's own versions of the group, foreign groups after its groups. Values, pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "apiserver/discovery/json_writer.h"

namespace sublet::apiserver {

/// One group version of another server.
struct ForeignApi {
  std::string group, version;
  std::string resources;    // its APIResourceList, JSON; empty: not known
  std::string openapi_url;  // of its OpenAPI v3 document; empty: it has none
  bool available = false;   // else its documents may be out of date
};
/// Versions of a group stand together, the preferred one first.
using ForeignApis = std::vector<ForeignApi>;

/// Paths and definitions of other servers' OpenAPI v2, as JSON.
struct ForeignOpenApi {
  std::vector<std::pair<std::string, std::string>> paths, definitions;
  /// Takes what a server says of these group versions (".../apis/GROUP/VERSION" is their path): their paths and all
  /// definitions. False: it is no OpenAPI v2 document.
  bool add(std::string_view document, const std::vector<std::string>& api_paths);
};

std::vector<std::string_view> foreign_versions(const ForeignApis& others, std::string_view group);
/// Each once, in the order of `others`.
std::vector<std::string_view> foreign_groups(const ForeignApis& others);
/// Its entry in an APIGroupDiscovery.
void write_foreign_version(JsonWriter& json, const ForeignApi& api);

}  // namespace sublet::apiserver
