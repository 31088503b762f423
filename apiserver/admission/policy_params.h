// Policy parameters: the objects that a binding's paramRef names, as its policy's expressions read them. Internal to
// admission/.
#pragma once

#include <string>
#include <vector>

#include "apiserver/admission/policy.h"

namespace sublet::apiserver {

/// One evaluation for each; a null document where there are no parameters. An error is the configuration's.
Result<std::vector<schema::Document>> collect_params(const AdmissionRequest& request, const AdmissionPolicy& policy,
                                                     const PolicyBinding& binding);
/// Whether there is such a kind; the error says so as upstream does.
Outcome check_param_kind(const AdmissionRequest& request, const AdmissionPolicy& policy);

}  // namespace sublet::apiserver
