// PolicyMatches: the admission policies that apply to one request. A policy is evaluated once for each of its bindings
// that match, and for each object that the binding's paramRef names. Internal to admission/.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "apiserver/admission/policy.h"

namespace sublet::apiserver {

struct PolicyMatch {
  const AdmissionPolicy& policy;
  const PolicyBinding& binding;
  MatchedResource matched;
  schema::Document params;  // null where there are none

  schema::Value params_value() const { return params.root().is_null() ? schema::Value() : params.root(); }
};

/// A configuration that cannot be followed, in upstream's words; without a binding it is the policy's own.
using PolicyFault = std::function<void(const AdmissionPolicy&, const PolicyBinding*, const std::string& why)>;

/// Calls `ask` and `fault` in the order of the policies and their bindings.
void for_each_match(const AdmissionRequest& request, const std::vector<BoundPolicy>& policies,
                    const std::function<void(PolicyMatch)>& ask, const PolicyFault& fault);

}  // namespace sublet::apiserver
