// What every namespace is given: the `default` ServiceAccount and the CA that its pods trust.

#include "controllers/controller.h"
#include "sublet/apiserver/bootstrap.h"
#include "sublet/base/log.h"

namespace sublet::controllers {
namespace {

constexpr std::string_view kName = "defaults";
const kube::Resource kAccounts{"", "v1", "serviceaccounts"};
const kube::Resource kConfigMaps{"", "v1", "configmaps"};

class DefaultsController final : public Controller {
 public:
  explicit DefaultsController(const Hub& hub)
      : hub_(hub),
        accounts_(informer_of_name(hub, kAccounts, "", "default")),
        authorities_(informer_of_name(hub, kConfigMaps, "", "kube-root-ca.crt")) {}

  std::string_view name() const override { return kName; }

  void start() override {
    auto enqueue_name = [this](const kube::CachedPtr&, const kube::CachedPtr& after) {
      if (after) hub_.enqueue(kName, after->name);
    };
    auto enqueue_namespace = [this](const kube::CachedPtr& before, const kube::CachedPtr& after) {
      // An addition is mostly our own; whatever else happens to them is looked at.
      if (before) hub_.enqueue(kName, (after ? after : before)->namespace_name);
    };
    hub_.namespaces.add_handler(enqueue_name);
    accounts_->add_handler(enqueue_namespace);
    authorities_->add_handler(enqueue_namespace);
    accounts_->start();
    authorities_->start();
  }

  Outcome reconcile(const std::string& key) override {
    auto found = hub_.namespaces.get("", key);
    if (!found || found->json.find("\"deletionTimestamp\"") != std::string::npos) return {};
    if (!accounts_->get(key, "default"))
      if (auto outcome = create(apiserver::default_service_account(key)); !outcome) return outcome;
    return publish_authority(key);
  }

 private:
  Outcome create(const apiserver::BootstrapObject& wanted) {
    kube::Resource resource{std::string(wanted.group), std::string(wanted.version), std::string(wanted.resource)};
    return ensure_created(hub_.client, resource, wanted.namespace_name, wanted.object.root());
  }

  Outcome publish_authority(const std::string& namespace_name) {
    const auto& pem = hub_.options.server.ca_certificate_pem;
    if (pem.empty()) return {};
    auto wanted = apiserver::root_ca_config_map(namespace_name, pem);
    auto cached = authorities_->get(namespace_name, wanted.name);
    if (!cached) return create(wanted);
    auto current = cached->document();
    if (current["data"]["ca.crt"].text() == pem) return {};
    current.root().put("data", wanted.object["data"]);
    auto updated = hub_.client.update(kConfigMaps, namespace_name, wanted.name, current.root());
    if (updated || updated.error().is(Reason::not_found)) return {};
    return fail(updated.error());
  }

  const Hub& hub_;
  std::unique_ptr<kube::Informer> accounts_, authorities_;
};

}  // namespace

std::unique_ptr<Controller> make_defaults_controller(const Hub& hub) {
  return std::make_unique<DefaultsController>(hub);
}

}  // namespace sublet::controllers
