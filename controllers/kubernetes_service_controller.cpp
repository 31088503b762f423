// The Service `kubernetes` in `default` with its endpoints: made at start, restored when somebody deletes or bends
// them.

#include "controllers/controller.h"
#include "sublet/apiserver/bootstrap.h"

namespace sublet::controllers {
namespace {

using schema::Value;

constexpr std::string_view kName = "kubernetes-service";
constexpr std::string_view kObject = "kubernetes";

/// The members that must stand as they are given; a Service's spec is the users' to extend.
struct Watched {
  std::string_view resource;
  std::vector<std::string_view> exact;
};
const Watched kWatched[] = {
    {"services", {}}, {"endpoints", {"subsets"}}, {"endpointslices", {"addressType", "endpoints", "ports"}}};

class KubernetesServiceController final : public Controller {
 public:
  explicit KubernetesServiceController(const Hub& hub) : hub_(hub) {
    for (auto& object : apiserver::kubernetes_service_objects(hub.options.server)) {
      kube::Resource resource{std::string(object.group), std::string(object.version), std::string(object.resource)};
      informers_.push_back(informer_of_name(hub, resource, object.namespace_name, std::string(kObject)));
    }
  }

  std::string_view name() const override { return kName; }

  void start() override {
    for (auto& informer : informers_) {
      informer->add_handler([this](const kube::CachedPtr& before, const kube::CachedPtr&) {
        if (before) hub_.enqueue(kName, std::string(kObject));
      });
      informer->start();
    }
    hub_.enqueue(kName, std::string(kObject));
  }

  Outcome reconcile(const std::string&) override {
    std::size_t index = 0;
    for (auto& wanted : apiserver::kubernetes_service_objects(hub_.options.server)) {
      const auto& informer = *informers_[index++];
      if (!informer.synced()) return fail(Reason::service_unavailable, "not synced yet");
      if (auto outcome = ensure(wanted, informer); !outcome) return outcome;
    }
    return {};
  }

 private:
  Outcome ensure(const apiserver::BootstrapObject& wanted, const kube::Informer& informer) {
    const auto& resource = informer.options().resource;
    auto cached = informer.get(wanted.namespace_name, wanted.name);
    if (!cached) return ensure_created(hub_.client, resource, wanted.namespace_name, wanted.object.root());
    auto current = cached->document();
    bool changed = false;
    for (const auto& watched : kWatched) {
      if (watched.resource != wanted.resource) continue;
      for (auto member : watched.exact) changed |= restore(current.root(), wanted.object.root(), member);
    }
    if (!changed) return {};
    auto updated = hub_.client.update(resource, wanted.namespace_name, wanted.name, current.root());
    if (updated || updated.error().is(Reason::not_found)) return {};
    return fail(updated.error());
  }

  static bool contains(const Value& value, const Value& wanted) {
    if (wanted.is_object()) {
      for (auto member : wanted)
        if (!contains(value[member.key()], member)) return false;
      return value.is_object();
    }
    if (!wanted.is_array()) return value.equals(wanted);
    if (value.size() != wanted.size()) return false;
    for (std::size_t i = 0; i < wanted.size(); ++i)
      if (!contains(value.at(i), wanted.at(i))) return false;
    return true;
  }

  static bool restore(Value current, const Value& wanted, std::string_view member) {
    if (contains(current[member], wanted[member])) return false;
    current.put(member, wanted[member]);
    return true;
  }

  const Hub& hub_;
  std::vector<std::unique_ptr<kube::Informer>> informers_;
};

}  // namespace

std::unique_ptr<Controller> make_kubernetes_service_controller(const Hub& hub) {
  return std::make_unique<KubernetesServiceController>(hub);
}

}  // namespace sublet::controllers
