// A VolumeAttributesClass that a claim or a volume names outlives its deletion.
// Source: pkg/controller/volume/vacprotection of Kubernetes.
#include <algorithm>

#include "controllers/runtime/kinds.h"
#include "controllers/storage/protection.h"

namespace sublet::controllers {
namespace {

const kube::Resource kAttributesClasses{"storage.k8s.io", "v1", "volumeattributesclasses"};
constexpr std::string_view kAttributesClassFinalizer = "kubernetes.io/vac-protection";

/// What the object names, at one of the places where claims and volumes name such a class.
std::vector<std::string> classes_of(const store::Object& object) {
  std::vector<std::string> names;
  for (const auto named : {raw_of(object, {"spec", "volumeAttributesClassName"}),
                           raw_of(object, {"status", "currentVolumeAttributesClassName"}),
                           raw_of(object, {"status", "modifyVolumeStatus", "targetVolumeAttributesClassName"})})
    if (named.size() > 2) names.emplace_back(named.substr(1, named.size() - 2));  // names need no escapes
  return names;
}

class AttributesClassProtectionController final : public Controller {
 public:
  explicit AttributesClassProtectionController(Context& context)
      : context_(context),
        classes_(context.lister(kAttributesClasses)),
        claims_(context.lister(kVolumeClaims)),
        volumes_(context.lister(kVolumes)) {}

  void start() override {
    context_.on_change(kAttributesClasses, [this](const Change& change) {
      if (change.after && (is_ending(*change.after) || !has_finalizer(*change.after, kAttributesClassFinalizer)))
        context_.enqueue(std::string(name_of(*change.after)));
    });
    const auto wake = [this](const Change& change) {
      if (!change.before) return;
      for (const auto& name : classes_of(*change.before)) context_.enqueue(name);
    };
    context_.on_change(kVolumeClaims, wake);
    context_.on_change(kVolumes, wake);
  }

  Outcome reconcile(const std::string& key) override {
    const auto found = classes_.get("", key);
    if (!found) return {};
    const bool has = has_finalizer(*found, kAttributesClassFinalizer);
    if (!is_ending(*found))
      return has ? Outcome() : add_finalizer(context_.client(), kAttributesClasses, *found, kAttributesClassFinalizer);
    return has && !is_used(key)
               ? remove_finalizer(context_.client(), kAttributesClasses, *found, kAttributesClassFinalizer)
               : Outcome();
  }

 private:
  bool is_used(const std::string& name) const {
    const auto names_it = [&](const store::ObjectPtr& object) {
      const auto names = classes_of(*object);
      return std::find(names.begin(), names.end(), name) != names.end();
    };
    return std::ranges::any_of(claims_.list(), names_it) || std::ranges::any_of(volumes_.list(), names_it);
  }

  Context& context_;
  const Lister classes_, claims_, volumes_;
};

}  // namespace

std::unique_ptr<Controller> make_attributes_class_protection_controller(Context& context) {
  return std::make_unique<AttributesClassProtectionController>(context);
}

}  // namespace sublet::controllers
