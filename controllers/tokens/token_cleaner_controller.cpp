// Bootstrap tokens go when their time has come.
// Source: pkg/controller/bootstrap/tokencleaner.go of Kubernetes.

#include "controllers/runtime/calls.h"
#include "controllers/runtime/kinds.h"
#include "controllers/tokens/bootstrap_token.h"
#include "sublet/controllers/controller.h"

namespace sublet::controllers {
namespace {

using std::chrono::milliseconds;

class TokenCleanerController final : public Controller {
 public:
  explicit TokenCleanerController(Context& context) : context_(context), secrets_(context.lister(kSecrets)) {}

  void start() override {
    context_.on_change(kSecrets, [this](const Change& change) {
      if (change.after && is_bootstrap_token(*change.after)) context_.enqueue(std::string(name_of(*change.after)));
    });
  }

  Outcome reconcile(const std::string& key) override {
    const auto stored = secrets_.get(kTokenNamespace, key);
    if (!stored || !is_bootstrap_token(*stored)) return {};
    const auto now = context_.clock().now();
    const auto token = read_bootstrap_token(key, document_of(*stored).root(), now);
    if (token.ends) context_.enqueue_after(key, std::chrono::ceil<milliseconds>(*token.ends - now));
    if (!token.ended) return {};
    kube::DeleteOptions options;
    options.uid = stored->index.uid;
    return settled(context_.client().remove(kSecrets, kTokenNamespace, key, options),
                   {Reason::not_found, Reason::conflict});
  }

 private:
  Context& context_;
  const Lister secrets_;
};

}  // namespace

std::unique_ptr<Controller> make_token_cleaner_controller(Context& context) {
  return std::make_unique<TokenCleanerController>(context);
}

}  // namespace sublet::controllers
