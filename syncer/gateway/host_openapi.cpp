#include "syncer/gateway/host_openapi.h"

#include <algorithm>

#include "sublet/net/http.h"
#include "sublet/schema/document.h"
#include "sublet/schema/registry.h"

namespace sublet::syncer {

bool is_known_document(std::string_view path) {
  for (const schema::GroupFacts& group : schema::Registry::builtin()->groups())
    for (const std::string_view version : group.versions) {
      const std::string root = group.name.empty() ? "api/" : "apis/" + std::string(group.name) + "/";
      if (path.starts_with(root) && path.substr(root.size()) == version) return true;
    }
  return false;
}

std::string known_hashes(std::string_view index) {
  schema::Document hashes = schema::Document::object();
  const auto document = schema::Document::parse_json(index);
  if (!document) return hashes.to_json();
  for (const schema::Value entry : document->root()["paths"]) {
    if (!is_known_document(entry.key())) continue;
    const std::string url = entry["serverRelativeURL"].string();
    const auto query = url.find('?');
    if (query == std::string::npos) continue;
    for (const auto& [key, value] : net::parse_query(std::string_view(url).substr(query + 1)))
      if (key == "hash") hashes.root().put(entry.key(), value);
  }
  return hashes.to_json();
}

}  // namespace sublet::syncer
