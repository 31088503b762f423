#include "apiserver/filters/routes.h"

#include "apiserver/codec/object_bytes.h"
#include "apiserver/conversion/conversion.h"
#include "sublet/schema/registry.h"

namespace sublet::apiserver {
namespace {

Route make_route(const schema::ResourceFacts& served) {
  Route route;
  route.served = &served;
  route.storage = &storage_facts(served);
  route.strategy = &strategy_for(route.storage->group, route.storage->resource);
  route.conversion = conversion_of(served);
  route.type_prefix = type_meta_prefix(served.group, served.version, served.kind);
  route.group_resource = group_resource(served.group, served.resource);
  route.storage_resource = group_resource(route.storage->group, route.storage->resource);
  return route;
}

}  // namespace

const Routes& builtin_routes() {
  static const Routes routes = [] {
    const auto& table = *schema::Registry::builtin();
    std::vector<Route> made;
    for (const auto& facts : table.resources()) made.push_back(make_route(facts));
    return Routes(table, std::move(made));
  }();
  return routes;
}

}  // namespace sublet::apiserver
