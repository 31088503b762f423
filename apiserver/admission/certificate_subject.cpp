#include <algorithm>

#include "apiserver/admission/plugins.h"
#include "apiserver/validation/certificates.h"
#include "sublet/schema/engine.h"

namespace sublet::apiserver {

/// CertificateSubjectRestriction: an approver must not create administrators by mistake.
Outcome certificate_subject(const Attempt& attempt) {
  constexpr std::string_view kSigner = "kubernetes.io/kube-apiserver-client", kMasters = "system:masters";
  auto spec = attempt.object["spec"];
  if (spec["signerName"].text() != kSigner) return {};
  const auto groups = request_organizations(schema::base64_decode(spec["request"].text()).value_or(""));
  if (std::find(groups.begin(), groups.end(), kMasters) == groups.end()) return {};
  return attempt.forbid("use of " + std::string(kSigner) + " signer with system:masters group is not allowed");
}

}  // namespace sublet::apiserver
