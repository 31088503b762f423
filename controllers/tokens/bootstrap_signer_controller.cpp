// The ConfigMap cluster-info in kube-public, where it exists, carries a signature by every bootstrap token
// that may sign, so that who joins with a token knows that the CA in it is the right one.
// Source: pkg/controller/bootstrap/bootstrapsigner.go of Kubernetes.

#include <map>

#include "controllers/runtime/calls.h"
#include "controllers/runtime/kinds.h"
#include "controllers/tokens/bootstrap_token.h"
#include "sublet/controllers/controller.h"

namespace sublet::controllers {
namespace {

using schema::Value;
using std::chrono::milliseconds;

constexpr std::string_view kPublic = "kube-public", kInfo = "cluster-info", kContent = "kubeconfig",
                           kSignature = "jws-kubeconfig-";

class BootstrapSignerController final : public Controller {
 public:
  explicit BootstrapSignerController(Context& context)
      : context_(context), secrets_(context.lister(kSecrets)), maps_(context.lister(kConfigMaps)) {}

  void start() override {
    context_.on_change(kSecrets, [this](const Change& change) {
      if (is_bootstrap_token(change.object())) context_.enqueue(std::string(kInfo));
    });
    context_.on_change(kConfigMaps, [this](const Change& change) {
      if (change.after && name_of(*change.after) == kInfo && namespace_of(*change.after) == kPublic)
        context_.enqueue(std::string(kInfo));
    });
  }

  Outcome reconcile(const std::string& key) override {
    const auto stored = maps_.get(kPublic, kInfo);
    if (!stored) return {};
    auto info = document_of(*stored);
    auto data = info["data"];
    if (!data.has(kContent)) return {};
    const auto wanted = signatures(key, data[kContent].text());
    std::map<std::string, std::string> have;
    for (auto entry : data)
      if (entry.key().starts_with(kSignature)) have.emplace(entry.key(), entry.text());
    if (have == wanted) return {};
    data.retain([](const Value& entry) { return !entry.key().starts_with(kSignature); });
    for (const auto& [name, signature] : wanted) data.put(name, signature);
    info["metadata"].put("resourceVersion", std::to_string(stored->revision));
    return settled(context_.client().update(kConfigMaps, kPublic, kInfo, info.root()),
                   {Reason::not_found, Reason::conflict});
  }

 private:
  std::map<std::string, std::string> signatures(const std::string& key, std::string_view content) {
    std::map<std::string, std::string> made;
    const auto now = context_.clock().now();
    for (const auto& secret : secrets_.list(kTokenNamespace)) {
      if (!is_bootstrap_token(*secret)) continue;
      const auto token = read_bootstrap_token(name_of(*secret), document_of(*secret).root(), now);
      if (!token.signs) continue;
      made.emplace(std::string(kSignature) + token.id, detached_signature(content, token));
      if (token.ends) context_.enqueue_after(key, std::chrono::ceil<milliseconds>(*token.ends - now));
    }
    return made;
  }

  Context& context_;
  const Lister secrets_, maps_;
};

}  // namespace

std::unique_ptr<Controller> make_bootstrap_signer_controller(Context& context) {
  return std::make_unique<BootstrapSignerController>(context);
}

}  // namespace sublet::controllers
