// Approved requests to Kubernetes' own signers get their certificate, of the virtual cluster's CA; one that the
// signer's rules forbid fails. Source: pkg/controller/certificates/signer and authority of Kubernetes.

#include "controllers/certificates/requests.h"
#include "controllers/runtime/calls.h"
#include "sublet/controllers/controller.h"
#include "sublet/controllers/controllers.h"
#include "sublet/schema/engine.h"

namespace sublet::controllers {
namespace {

using schema::Value;
using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

// Upstream's --cluster-signing-duration. A signed certificate cannot be revoked, so it is a month here, not a year.
constexpr seconds kLongestCertificate = hours(24 * 30), kShortestCertificate = minutes(10);
constexpr minutes kBackdated{5};  // for clocks that are behind
constexpr hours kShort{8};        // what lives shorter is not cut by that

seconds lifetime_of(const Value& request) {
  const auto asked = request["spec"]["expirationSeconds"];
  return asked ? std::clamp(seconds(asked.integer()), kShortestCertificate, kLongestCertificate) : kLongestCertificate;
}

class CertificateSigningController final : public Controller {
 public:
  explicit CertificateSigningController(Context& context)
      : context_(context), requests_(context.lister(kCertificateRequests)) {}

  void start() override {
    if (context_.options().authority.key_pem.empty()) return;  // nothing to sign with
    context_.on_change(kCertificateRequests, [this](const Change& change) {
      if (change.after) context_.enqueue(std::string(name_of(*change.after)));
    });
  }

  Outcome reconcile(const std::string& key) override {
    const auto stored = requests_.get("", key);
    if (!stored) return {};
    auto request = document_of(*stored);
    if (!has_condition(request.root(), "Approved") || has_condition(request.root(), "Denied") ||
        has_condition(request.root(), "Failed") || !request["status"]["certificate"].text().empty())
      return {};
    const auto rule = rule_of_signer(request["spec"]["signerName"].text());
    if (!rule) return {};  // of another signer
    const auto asked = asked_by(request.root());
    if (!asked) return fail(asked.error());
    if (const auto wrong = rule(*asked, usages_of(request.root())); !wrong.empty()) {
      put_failure(request.root(), wrong);
    } else {
      auto certificate = sign(request.root());
      if (!certificate) return fail(certificate.error());
      request.root().object("status").put("certificate", schema::base64_encode(*certificate));
    }
    request["metadata"].put("resourceVersion", std::to_string(stored->revision));
    return settled(context_.client().update(kCertificateRequests, "", key, request.root(), "status"));
  }

 private:
  void put_failure(Value request, const std::string& why) const {
    auto condition = request.object("status").array("conditions").push_object();
    condition.put("type", "Failed");
    condition.put("status", "True");
    condition.put("reason", "SignerValidationFailure");
    condition.put("message", why);
    condition.put("lastUpdateTime", format_time(context_.clock().now()));
  }

  Result<std::string> sign(const Value& request) const {
    const auto now = context_.clock().now();
    const auto lifetime = lifetime_of(request);
    net::SigningTerms terms;
    for (auto usage : request["spec"]["usages"]) terms.usages.push_back(usage.string());
    terms.not_before = now - kBackdated;
    terms.not_after = lifetime < kShort ? now + lifetime : now + lifetime - kBackdated;
    return net::sign_request(schema::base64_decode(request["spec"]["request"].text()).value_or(""),
                             context_.options().authority, terms);
  }

  Context& context_;
  const Lister requests_;
};

}  // namespace

std::unique_ptr<Controller> make_certificate_signing_controller(Context& context) {
  return std::make_unique<CertificateSigningController>(context);
}

}  // namespace sublet::controllers
