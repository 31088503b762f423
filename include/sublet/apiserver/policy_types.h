// PolicyTypes: type checks of the expressions of a ValidatingAdmissionPolicy against the kinds that the policy names.
// When a policy is written its `object` may be anything; here it has the type of each kind.
//
// Pure; any thread. Costs milliseconds per kind (the whole schema is walked), so it does not run on the server's loop.
#pragma once

#include <string>
#include <vector>

#include "sublet/schema/document.h"
#include "sublet/schema/registry.h"

namespace sublet::apiserver {

struct ExpressionWarning {
  std::string field;    // "spec.validations[0].expression"
  std::string warning;  // per kind a paragraph: "apps/v1, Kind=Deployment: ERROR: <input>:1:8: undefined field ..."
};
/// Returns the warnings that kube-controller-manager finds, in validations and their messageExpressions, for at most
/// ten kinds; rules with wildcards name none.
std::vector<ExpressionWarning> check_policy_types(const schema::Value& policy, const schema::Registry& kinds);

}  // namespace sublet::apiserver
