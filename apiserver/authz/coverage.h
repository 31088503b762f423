// Coverage: decides whether some rules grant everything that other rules grant. Pure; any thread.
#pragma once

#include <string_view>
#include <vector>

#include "apiserver/authz/role_rules.h"

namespace sublet::apiserver {

/// A rule of one verb, and one resource (perhaps with one name) or one path: a single other rule covers it, or none.
struct Right {
  std::string_view verb, group, resource, name, url;
  bool has_name = false, is_resource = false;
};

/// The rights of `wanted` that no rule of `held` covers, in the order of the rules. They point into `wanted`.
std::vector<Right> not_covered(const std::vector<RuleWords>& held, const RoleRules& wanted);
void append_rules(std::vector<RuleWords>& to, const RoleRules& rules);

}  // namespace sublet::apiserver
