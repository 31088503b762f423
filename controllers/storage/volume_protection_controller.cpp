// A PersistentVolume that is bound outlives its deletion.
// Source: pkg/controller/volume/pvprotection of Kubernetes.

#include "controllers/storage/protection.h"

namespace sublet::controllers {
namespace {

const kube::Resource kVolumes{"", "v1", "persistentvolumes"};
constexpr std::string_view kFinalizer = "kubernetes.io/pv-protection";

class VolumeProtectionController final : public Controller {
 public:
  explicit VolumeProtectionController(Context& context) : context_(context), volumes_(context.lister(kVolumes)) {}

  void start() override {
    context_.on_change(kVolumes, [this](const Change& change) {
      if (change.after && (is_ending(*change.after) || !has_finalizer(*change.after, kFinalizer)))
        context_.enqueue(std::string(name_of(*change.after)));
    });
  }

  Outcome reconcile(const std::string& key) override {
    const auto volume = volumes_.get("", key);
    if (!volume) return {};
    const bool has = has_finalizer(*volume, kFinalizer), bound = raw_of(*volume, {"status", "phase"}) == "\"Bound\"";
    if (!is_ending(*volume)) return has ? Outcome() : protect(context_.client(), kVolumes, *volume, kFinalizer);
    return has && !bound ? release(context_.client(), kVolumes, *volume, kFinalizer) : Outcome();
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
