// Route: per served resource what every request of it needs, looked up once and not per request. Routes: all of them,
// in the order of the table's resources; made above (filters/routes.h), where strategies and conversions are known.
//
// Immutable; any thread. A Route lives as long as its Routes, these as long as the process.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sublet/schema/registry.h"

namespace sublet::apiserver {

struct Conversion;  // conversion/conversion.h
struct Strategy;    // strategies/strategy.h

struct Route {
  const schema::ResourceFacts* served = nullptr;
  const schema::ResourceFacts* storage = nullptr;
  const Strategy* strategy = nullptr;
  const Conversion* conversion = nullptr;  // null: served as stored
  std::string type_prefix;                 // {"kind":"Pod","apiVersion":"v1",
  std::string group_resource;              // "pods", "deployments.apps": messages
  std::string storage_resource;            // the same in storage form: keys

  schema::Type type() const { return served->type; }
  schema::Type storage_type() const { return storage->type; }
};

class Routes {
 public:
  /// One per resource of the table, in its order.
  Routes(const schema::Registry& table, std::vector<Route> routes) : table_(table), routes_(std::move(routes)) {}
  /// Null: no such resource.
  const Route* find(std::string_view group, std::string_view version, std::string_view resource) const;

 private:
  const schema::Registry& table_;
  std::vector<Route> routes_;
};

/// Whether the resource's table lists this verb ("list"); for a subresource its own verbs.
bool allows_verb(const Route& route, std::string_view subresource, std::string_view verb);
const schema::SubresourceFacts* find_subresource(const Route& route, std::string_view name);

}  // namespace sublet::apiserver
