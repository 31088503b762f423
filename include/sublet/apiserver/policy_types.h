// Types of admission policies: what the expressions of a ValidatingAdmissionPolicy get wrong about the objects that the
// policy names. When a policy is written its `object` may be anything; here it is what each of its kinds looks like.
//
// Pure; any thread. Costs milliseconds per kind (the whole schema is walked), so it is not for the server's loop.
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
/// As kube-controller-manager finds them: of validations and their messageExpressions, for at most ten kinds; rules
/// with wildcards name none. Empty: nothing is wrong.
std::vector<ExpressionWarning> check_policy_types(const schema::Value& policy, const schema::Registry& kinds);

}  // namespace sublet::apiserver
