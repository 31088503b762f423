// Escalation: a user may grant only rights that the user has, unless allowed to `escalate` the role or `bind` it.
//
// The checks of a write to a Role, ClusterRole, RoleBinding or ClusterRoleBinding, in upstream's words. Pure; any
// thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "apiserver/authz/authorizer.h"
#include "sublet/schema/document.h"

namespace sublet::apiserver {

/// A role or binding about to be written.
struct RightsWrite {
  const Authorizer& authorizer;
  const User& user;
  std::string_view resource;        // "clusterroles"
  std::string_view namespace_name;  // of the request
  std::string_view request_name;    // of the URL: "" for a POST
  schema::Value object, old;        // missing `old`: there was none
};

Outcome check_role_write(const RightsWrite& write);
Outcome check_binding_write(const RightsWrite& write);

/// Everything that the user's roles say in the cluster and in the namespace. Valid while `policy` is held.
struct HeldRules {
  std::vector<RuleWords> rules;
  std::vector<std::string> errors;  // roles that are missing
};
HeldRules held_rules(const Policy& policy, const User& user, std::string_view namespace_name);

}  // namespace sublet::apiserver
