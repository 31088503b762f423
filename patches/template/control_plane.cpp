#include "sublet/patches/control_plane.h"

#include <algorithm>

#include "sublet/schema/document.h"

namespace sublet::patches {

std::vector<std::string> names_of(const ControlPlane& wanted) {
  std::vector<std::string> names = wanted.names;
  const auto add = [&](std::string name) {
    if (!name.empty() && std::ranges::find(names, name) == names.end()) names.push_back(std::move(name));
  };
  if (wanted.ingress.enabled) {
    add(wanted.ingress.host);
    if (const auto spec = schema::Document::parse_json(wanted.ingress.spec))
      for (const schema::Value rule : spec->root()["rules"]) add(rule["host"].string());
  }
  if (wanted.route.enabled) {
    add(wanted.route.host);
    if (const auto spec = schema::Document::parse_json(wanted.route.spec))
      for (const schema::Value name : spec->root()["hostnames"]) add(name.string());
  }
  return names;
}

}  // namespace sublet::patches
