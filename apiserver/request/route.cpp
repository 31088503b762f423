#include "apiserver/request/route.h"

#include "apiserver/request/object_key.h"

namespace sublet::apiserver {
namespace {

Route make_route(const schema::Registry& kinds, const schema::ResourceFacts& served) {
  Route route;
  route.kinds = &kinds;
  route.served = &served;
  route.storage = &kinds.storage_of(served);
  route.type_prefix = type_meta_prefix(served.group, served.version, served.kind);
  route.group_resource = group_resource(served.group, served.resource);
  route.storage_resource = group_resource(route.storage->group, route.storage->resource);
  return route;
}

}  // namespace

Routes::Routes(const schema::Registry& kinds) : kinds_(kinds) {
  routes_.reserve(kinds.resources().size());
  for (const auto& served : kinds.resources()) routes_.push_back(make_route(kinds, served));
}

const Route* Routes::find(std::string_view group, std::string_view version, std::string_view resource) const {
  const auto* facts = kinds_.find_resource(group, version, resource);
  if (!facts || !facts->served) return nullptr;
  return &routes_[kinds_.place_of(*facts)];
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

std::string type_meta_prefix(std::string_view group, std::string_view version, std::string_view kind) {
  std::string text = "{\"kind\":\"";
  text.append(kind).append("\",\"apiVersion\":\"").append(api_version(group, version)).append("\",");
  return text;
}

}  // namespace sublet::apiserver
