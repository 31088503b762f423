// A PersistentVolume that is bound outlives its deletion.
// Source: pkg/controller/volume/pvprotection of Kubernetes.

#include "controllers/runtime/kinds.h"
#include "controllers/storage/protection.h"

namespace sublet::controllers {
namespace {

constexpr std::string_view kVolumeFinalizer = "kubernetes.io/pv-protection";

class VolumeProtectionController final : public Controller {
 public:
  explicit VolumeProtectionController(Context& context) : context_(context), volumes_(context.lister(kVolumes)) {}

  void start() override {
    context_.on_change(kVolumes, [this](const Change& change) {
      if (change.after && (is_ending(*change.after) || !has_finalizer(*change.after, kVolumeFinalizer)))
        context_.enqueue(std::string(name_of(*change.after)));
    });
  }

  Outcome reconcile(const std::string& key) override {
    const auto volume = volumes_.get("", key);
    if (!volume) return {};
    const bool has = has_finalizer(*volume, kVolumeFinalizer),
               bound = raw_of(*volume, {"status", "phase"}) == "\"Bound\"";
    if (!is_ending(*volume))
      return has ? Outcome() : add_finalizer(context_.client(), kVolumes, *volume, kVolumeFinalizer);
    return has && !bound ? remove_finalizer(context_.client(), kVolumes, *volume, kVolumeFinalizer) : Outcome();
  }

 private:
  Context& context_;
  const Lister volumes_;
};

}  // namespace

std::unique_ptr<Controller> make_volume_protection_controller(Context& context) {
  return std::make_unique<VolumeProtectionController>(context);
}

}  // namespace sublet::controllers
