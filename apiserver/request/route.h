// Route: per served resource what every request of it needs, looked up once and not per request. Routes: all of them,
// in the order of the snapshot's resources; a part of it.
//
// The entries of higher layers for a resource (strategy, printer, conversion) are columns of the snapshot, looked up
// by the route. Immutable; any thread. A Route lives as long as its snapshot, which its holder must hold too.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sublet/schema/registry.h"

namespace sublet::apiserver {

struct Route {
  const schema::Registry* kinds = nullptr;
  const schema::ResourceFacts* served = nullptr;
  const schema::ResourceFacts* storage = nullptr;
  std::string type_prefix;       // {"kind":"Pod","apiVersion":"v1",
  std::string group_resource;    // "pods", "deployments.apps": messages
  std::string storage_resource;  // the same in storage form: keys

  schema::Type type() const { return served->type; }
  schema::Type storage_type() const { return storage->type; }
};

class Routes {
 public:
  explicit Routes(const schema::Registry& kinds);
  /// Null: no such resource.
  const Route* find(std::string_view group, std::string_view version, std::string_view resource) const;

 private:
  const schema::Registry& kinds_;
  std::vector<Route> routes_;
};

/// Whether the resource's facts list this verb ("list"); for a subresource its own verbs.
bool allows_verb(const Route& route, std::string_view subresource, std::string_view verb);
const schema::SubresourceFacts* find_subresource(const Route& route, std::string_view name);

/// `{"kind":"Pod","apiVersion":"v1",`: the prefix of the stored bytes (without their brace).
std::string type_meta_prefix(std::string_view group, std::string_view version, std::string_view kind);

}  // namespace sublet::apiserver
