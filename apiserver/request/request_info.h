// RequestInfo: verb, resource and names of a request, from its method and path.
//
// parse_request_info() is pure: it knows the URL grammar (k8s.io/apiserver/pkg/endpoints/request), not which resources
// exist.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sublet/net/http.h"

namespace sublet::apiserver {

enum class Verb { get, list, watch, create, update, patch, remove, remove_collection, other };

std::string_view verb_name(Verb verb);

/// Decoded query parameters in order; the first of a name counts.
class Query {
 public:
  explicit Query(std::string_view query = {}) : fields_(net::parse_query(query)) {}
  std::optional<std::string_view> find(std::string_view name) const;
  std::string_view get(std::string_view name) const { return find(name).value_or(std::string_view()); }
  std::vector<std::string_view> all(std::string_view name) const;
  /// A boolean parameter (kube::query_flag()); false when it is absent.
  bool flag(std::string_view name) const;

 private:
  std::vector<std::pair<std::string, std::string>> fields_;
};

struct RequestInfo {
  bool is_resource = false;
  Verb verb = Verb::other;
  std::string path;  // decoded, without query
  std::string group, version, resource, subresource, namespace_name, name;
  bool has_namespace = false;  // the path says namespaces/<ns>/...
};

RequestInfo parse_request_info(const net::Request& request, const Query& query);

}  // namespace sublet::apiserver
