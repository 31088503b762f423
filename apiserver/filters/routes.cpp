#include "apiserver/filters/routes.h"

#include "apiserver/codec/object_bytes.h"

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

const std::vector<Route>& routes() {
  static const std::vector<Route> all = [] {
    std::vector<Route> made;
    for (const auto& facts : schema::Table::builtin().resources()) made.push_back(make_route(facts));
    return made;
  }();
  return all;
}

}  // namespace

const Route* find_route(std::string_view group, std::string_view version, std::string_view resource) {
  const auto& table = schema::Table::builtin();
  const auto* facts = table.find_resource(group, version, resource);
  if (!facts || !facts->served) return nullptr;
  return &routes()[static_cast<std::size_t>(facts - table.resources().data())];
}

const schema::SubresourceFacts* find_subresource(const Route& route, std::string_view name) {
  for (const auto& sub : route.served->subresources)
    if (sub.name == name) return &sub;
  return nullptr;
}

bool allows_verb(const Route& route, std::string_view subresource, std::string_view verb) {
  auto verbs = route.served->verbs;
  if (!subresource.empty()) {
    const auto* sub = find_subresource(route, subresource);
    if (!sub) return false;
    verbs = sub->verbs;
  }
  return verbs.contains(verb);
}

}  // namespace sublet::apiserver
