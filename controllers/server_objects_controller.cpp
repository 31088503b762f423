// Objects that describe the API server (the Service `kubernetes` with its endpoints, the ServiceCIDR `kubernetes`, the
// ConfigMap extension-apiserver-authentication): created at start, restored after a deletion or change.

#include "controllers/runtime/calls.h"
#include "sublet/apiserver/bootstrap.h"
#include "sublet/controllers/controller.h"
#include "sublet/controllers/controllers.h"

namespace sublet::controllers {
namespace {

using schema::Value;

constexpr std::string_view kAll = "all";

/// The members that must have the given values; users may extend a Service's spec.
struct Watched {
  std::string_view resource;
  std::vector<std::string_view> exact;
};
const Watched kWatched[] = {{"services", {}},
                            {"endpoints", {"subsets"}},
                            {"endpointslices", {"addressType", "endpoints", "ports"}},
                            {"servicecidrs", {}},
                            {"configmaps", {"data"}}};

class ServerObjectsController final : public Controller {
 public:
  explicit ServerObjectsController(Context& context)
      : context_(context), objects_(apiserver::server_objects(context.options().cluster)) {}

  void start() override {
    for (const auto& wanted : objects_) {
      context_.on_change(resource_of(wanted), [this, &wanted](const Change& change) {
        const auto& object = change.object();
        if (change.before && name_of(object) == wanted.name && namespace_of(object) == wanted.namespace_name)
          context_.enqueue(std::string(kAll));
      });
    }
    context_.enqueue(std::string(kAll));
  }

  Outcome reconcile(const std::string&) override {
    for (const auto& wanted : objects_)
      if (auto outcome = ensure(wanted); !outcome) return outcome;
    return {};
  }

 private:
  static kube::Resource resource_of(const apiserver::BootstrapObject& object) {
    return {std::string(object.group), std::string(object.version), std::string(object.resource)};
  }

  Outcome ensure(const apiserver::BootstrapObject& wanted) {
    const auto resource = resource_of(wanted);
    auto stored = context_.lister(resource).get(wanted.namespace_name, wanted.name);
    if (!stored) return ensure_created(context_.client(), resource, wanted.namespace_name, wanted.object.root());
    auto current = document_of(*stored);
    if (has_another_address(current.root(), wanted)) return replace(*stored, wanted);
    bool changed = false;
    for (const auto& watched : kWatched) {
      if (watched.resource != wanted.resource) continue;
      for (auto member : watched.exact) changed |= restore(current.root(), wanted.object.root(), member);
    }
    if (!changed) return {};
    return settled(context_.client().update(resource, wanted.namespace_name, wanted.name, current.root()));
  }

  // What the host gave may change between two starts (pods got a way to this server, a Service was lost), and no update
  // may change a cluster IP.
  static bool has_another_address(const Value& service, const apiserver::BootstrapObject& wanted) {
    const Value address = wanted.object.root()["spec"]["clusterIP"];
    return wanted.resource == "services" && !address.text().empty() &&
           service["spec"]["clusterIP"].text() != address.text();
  }

  Outcome replace(const store::Object& stored, const apiserver::BootstrapObject& wanted) {
    kube::DeleteOptions exactly;
    exactly.uid = document_of(stored).root()["metadata"]["uid"].string();
    const auto removed = context_.client().remove(resource_of(wanted), wanted.namespace_name, wanted.name, exactly);
    if (!removed && !removed.error().is(Reason::not_found)) return fail(removed.error());
    return ensure_created(context_.client(), resource_of(wanted), wanted.namespace_name, wanted.object.root());
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

  Context& context_;
  const std::vector<apiserver::BootstrapObject> objects_;
};

}  // namespace

std::unique_ptr<Controller> make_server_objects_controller(Context& context) {
  return std::make_unique<ServerObjectsController>(context);
}

}  // namespace sublet::controllers
