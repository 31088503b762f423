// CertificateApproval, CertificateSigning, ClusterTrustBundleAttest: who decides on certificate requests, signs them or
// speaks for a signer needs that right on the signer, beside the one on the object.
#include "apiserver/admission/plugins.h"
#include "apiserver/authz/authorizer.h"
#include "sublet/base/go_quoted.h"

namespace sublet::apiserver {
namespace {

using schema::Value;

/// On the signer itself, or on all of its domain.
bool may_on_signer(const Attempt& attempt, std::string_view verb, std::string_view signer) {
  if (!attempt.context.authorizer) return true;
  Attributes asked;
  asked.user = &attempt.context.user;
  asked.verb = verb;
  asked.group = "certificates.k8s.io";
  asked.resource = "signers";
  asked.name = signer;
  if (attempt.context.authorizer->allows(asked)) return true;
  const auto of_domain = std::string(signer.substr(0, signer.find('/'))) + "/*";
  asked.name = of_domain;
  return attempt.context.authorizer->allows(asked);
}

Outcome need(const Attempt& attempt, std::string_view verb, std::string_view doing, const Value& signer) {
  if (may_on_signer(attempt, verb, signer.text())) return {};
  return attempt.forbid("user not permitted to " + std::string(doing) + " signerName " + go_quoted(signer.text()));
}

bool differ(const Value& a, const Value& b) { return !(a.empty() && b.empty()) && !a.equals(b); }

}  // namespace

Outcome certificate_approval(const Attempt& attempt) {
  return need(attempt, "approve", "approve requests with", attempt.old["spec"]["signerName"]);
}

Outcome certificate_signing(const Attempt& attempt) {
  const Value now = attempt.object["status"], before = attempt.old["status"];
  if (now["certificate"].text() == before["certificate"].text() && !differ(now["conditions"], before["conditions"]))
    return {};
  return need(attempt, "sign", "sign requests with", attempt.old["spec"]["signerName"]);
}

Outcome trust_bundle_attest(const Attempt& attempt) {
  const Value signer = attempt.object["spec"]["signerName"];
  if (signer.text().empty()) return {};
  // Who changes only whom it belongs to (garbage collection) says nothing for the signer.
  if (attempt.verb == WriteVerb::update && attempt.object["spec"].equals(attempt.old["spec"])) return {};
  return need(attempt, "attest", "attest for", signer);
}

}  // namespace sublet::apiserver
