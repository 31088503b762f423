// What every namespace is given: the `default` ServiceAccount and the CA that its pods trust.

#include "controllers/runtime/calls.h"
#include "controllers/runtime/kinds.h"
#include "sublet/apiserver/bootstrap.h"
#include "sublet/controllers/controller.h"
#include "sublet/controllers/controllers.h"

namespace sublet::controllers {
namespace {

constexpr std::string_view kDefaultAccount = "default";
constexpr std::string_view kRootAuthority = "kube-root-ca.crt";

class DefaultsController final : public Controller {
 public:
  explicit DefaultsController(Context& context)
      : context_(context),
        namespaces_(context.lister(kNamespaces)),
        accounts_(context.lister(kServiceAccounts)),
        authorities_(context.lister(kConfigMaps)) {}

  void start() override {
    context_.on_change(kNamespaces, [this](const Change& change) {
      if (change.after) context_.enqueue(std::string(name_of(*change.after)));
    });
    watch(kServiceAccounts, kDefaultAccount);
    watch(kConfigMaps, kRootAuthority);
  }

  Outcome reconcile(const std::string& key) override {
    auto found = namespaces_.get("", key);
    if (!found || is_ending(*found)) return {};
    if (!accounts_.get(key, kDefaultAccount))
      if (auto outcome = create(apiserver::default_service_account(key)); !outcome) return outcome;
    return publish_authority(key);
  }

 private:
  void watch(const kube::Resource& resource, std::string_view name) {
    context_.on_change(resource, [this, name](const Change& change) {
      // An addition is mostly our own; whatever else happens to them is looked at.
      if (change.before && name_of(change.object()) == name)
        context_.enqueue(std::string(namespace_of(change.object())));
    });
  }

  Outcome create(const apiserver::BootstrapObject& wanted) {
    kube::Resource resource{std::string(wanted.group), std::string(wanted.version), std::string(wanted.resource)};
    return ensure_created(context_.client(), resource, wanted.namespace_name, wanted.object.root());
  }

  Outcome publish_authority(const std::string& namespace_name) {
    const auto& pem = context_.options().cluster.ca_certificate_pem;
    if (pem.empty()) return {};
    auto wanted = apiserver::root_ca_config_map(namespace_name, pem);
    auto stored = authorities_.get(namespace_name, kRootAuthority);
    if (!stored) return create(wanted);
    auto current = document_of(*stored);
    if (current["data"]["ca.crt"].text() == pem) return {};
    current.root().put("data", wanted.object["data"]);
    return settled(context_.client().update(kConfigMaps, namespace_name, kRootAuthority, current.root()));
  }

  Context& context_;
  const Lister namespaces_, accounts_, authorities_;
};

}  // namespace

std::unique_ptr<Controller> make_defaults_controller(Context& context) {
  return std::make_unique<DefaultsController>(context);
}

}  // namespace sublet::controllers
