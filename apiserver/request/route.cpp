#include "apiserver/request/route.h"

namespace sublet::apiserver {

const Route* Routes::find(std::string_view group, std::string_view version, std::string_view resource) const {
  const auto* facts = table_.find_resource(group, version, resource);
  if (!facts || !facts->served) return nullptr;
  return &routes_[static_cast<std::size_t>(facts - table_.resources().data())];
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
