// A PersistentVolumeClaim that a pod on a node uses outlives its deletion.
// Source: pkg/controller/volume/pvcprotection of Kubernetes.

#include "controllers/pods/pod.h"
#include "controllers/runtime/kinds.h"
#include "controllers/storage/claim_use.h"
#include "controllers/storage/protection.h"

namespace sublet::controllers {
namespace {

constexpr std::string_view kVolumeClaimFinalizer = "kubernetes.io/pvc-protection";

/// Its kubelet is done with it, or it was deleted by force.
bool is_shut_down(const store::Object& pod) {
  return is_ending(pod) && raw_of(pod, {"metadata", "deletionGracePeriodSeconds"}) == "0";
}

class ClaimProtectionController final : public Controller {
 public:
  explicit ClaimProtectionController(Context& context)
      : context_(context), pods_(context.lister(kPods)), claims_(context.lister(kVolumeClaims)) {}

  // Of pods only what may set a claim free matters.
  void start() override {
    context_.on_change(kVolumeClaims, [this](const Change& change) {
      if (change.after && (is_ending(*change.after) || !has_finalizer(*change.after, kVolumeClaimFinalizer)))
        context_.enqueue(key_of(*change.after));
    });
    context_.on_change(kPods, [this](const Change& change) {
      const auto& pod = change.object();
      if (change.after && !has_ended(pod) && !is_shut_down(pod)) return;
      for (const auto& claim : claims_of_pod(pod)) context_.enqueue(key_of(namespace_of(pod), claim.name));
    });
  }

  Outcome reconcile(const std::string& key) override {
    const auto parts = parts_of(key);
    const auto claim = claims_.get(parts.namespace_name, parts.name);
    if (!claim) return {};
    const bool has = has_finalizer(*claim, kVolumeClaimFinalizer);
    if (!is_ending(*claim))
      return has ? Outcome() : add_finalizer(context_.client(), kVolumeClaims, *claim, kVolumeClaimFinalizer);
    return has && !is_used(*claim) ? remove_finalizer(context_.client(), kVolumeClaims, *claim, kVolumeClaimFinalizer)
                                   : Outcome();
  }

 private:
  bool is_used(const store::Object& claim) const {
    for (const auto& pod : pods_.list(namespace_of(claim))) {
      if (raw_of(*pod, {"spec", "nodeName"}).size() <= 2) continue;
      for (const auto& used : claims_of_pod(*pod))
        if (used.name == name_of(claim) && (!used.ephemeral || (!is_shut_down(*pod) && is_claim_of(claim, *pod))))
          return true;
    }
    return false;
  }

  Context& context_;
  const Lister pods_, claims_;
};

}  // namespace

std::unique_ptr<Controller> make_claim_protection_controller(Context& context) {
  return std::make_unique<ClaimProtectionController>(context);
}

}  // namespace sublet::controllers
