// Kubelets' requests for client certificates are approved by themselves, where the sender may ask for such a one: their
// own (selfnodeclient) or another node's (nodeclient).
// Source: pkg/controller/certificates/approver of Kubernetes.

#include "controllers/certificates/requests.h"
#include "controllers/runtime/calls.h"
#include "sublet/base/log.h"
#include "sublet/controllers/controller.h"

namespace sublet::controllers {
namespace {

using schema::Document;
using schema::Value;

const kube::Resource kReviews{"authorization.k8s.io", "v1", "subjectaccessreviews"};

struct Recognizer {
  std::string_view subresource;  // what its sender must be allowed to create
  bool own;                      // only where the sender asks for its own name
  std::string_view message;
};
constexpr Recognizer kRecognizers[] = {
    {"selfnodeclient", true, "Auto approving self kubelet client certificate after SubjectAccessReview."},
    {"nodeclient", false, "Auto approving kubelet client certificate after SubjectAccessReview."},
};

class CertificateApprovingController final : public Controller {
 public:
  explicit CertificateApprovingController(Context& context)
      : context_(context), requests_(context.lister(kCertificateRequests)) {}

  void start() override {
    context_.on_change(kCertificateRequests, [this](const Change& change) {
      if (change.after) context_.enqueue(std::string(name_of(*change.after)));
    });
  }

  Outcome reconcile(const std::string& key) override {
    const auto stored = requests_.get("", key);
    if (!stored) return {};
    auto request = document_of(*stored);
    if (!request["status"]["certificate"].text().empty() || has_condition(request.root(), "Approved") ||
        has_condition(request.root(), "Denied") || request["spec"]["signerName"].text() != kKubeletClientSigner)
      return {};
    const auto asked = asked_by(request.root());
    if (!asked) return fail(asked.error());
    if (!rule_of_signer(kKubeletClientSigner)(*asked, usages_of(request.root())).empty()) return {};
    for (const auto& recognizer : kRecognizers) {
      if (recognizer.own && request["spec"]["username"].text() != asked->common_name) continue;
      const auto allowed = may_create(request["spec"], recognizer.subresource);
      if (!allowed) return fail(allowed.error());
      if (*allowed) return approve(*stored, request.root(), recognizer);
    }
    log::info("certificates.not_approved", {{"request", key}, {"why", "its sender has no right to ask for it"}});
    return {};
  }

 private:
  Result<bool> may_create(const Value& asker, std::string_view subresource) {
    auto review = Document::object();
    auto spec = review.root().object("spec");
    spec.put("user", asker["username"].text());
    if (asker.has("uid")) spec.put("uid", asker["uid"].text());
    if (asker.has("groups")) spec.put("groups", asker["groups"]);
    if (asker.has("extra")) spec.put("extra", asker["extra"]);
    auto attributes = spec.object("resourceAttributes");
    attributes.put("group", kCertificateRequests.group);
    attributes.put("version", "*");
    attributes.put("resource", kCertificateRequests.resource);
    attributes.put("subresource", subresource);
    attributes.put("verb", "create");
    auto answer = context_.client().create(kReviews, "", review.root());
    if (!answer) return fail(answer.error());
    return (*answer)["status"]["allowed"].boolean();
  }

  Outcome approve(const store::Object& stored, Value request, const Recognizer& recognizer) {
    request["metadata"].put("resourceVersion", std::to_string(stored.revision));
    auto condition = request.object("status").array("conditions").push_object();
    condition.put("type", "Approved");
    condition.put("status", "True");
    condition.put("reason", "AutoApproved");
    condition.put("message", recognizer.message);
    return settled(context_.client().update(kCertificateRequests, "", name_of(stored), request, "approval"));
  }

  Context& context_;
  const Lister requests_;
};

}  // namespace

std::unique_ptr<Controller> make_certificate_approving_controller(Context& context) {
  return std::make_unique<CertificateApprovingController>(context);
}

}  // namespace sublet::controllers
