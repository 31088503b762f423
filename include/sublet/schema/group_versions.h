// GroupVersions: which group versions a registry's kinds are served in. Pure. Threads: any.
#pragma once

#include <algorithm>
#include <string_view>

#include "sublet/schema/registry.h"

namespace sublet::schema {

/// Does the server of these kinds serve the group version itself?
inline bool serves(const Registry& kinds, std::string_view group, std::string_view version) {
  const auto groups = kinds.groups();
  const auto found = std::ranges::find(groups, group, &GroupFacts::name);
  return found != groups.end() && std::ranges::find(found->served, version) != found->served.end();
}

}  // namespace sublet::schema
