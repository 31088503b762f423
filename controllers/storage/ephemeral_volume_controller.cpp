// Creates the claims of pods' ephemeral volumes, owned by the pod, and creates them again after a deletion.
// Source: pkg/controller/volume/ephemeral of Kubernetes.

#include "controllers/runtime/calls.h"
#include "controllers/runtime/event_recorder.h"
#include "controllers/runtime/kinds.h"
#include "controllers/storage/claim_use.h"
#include "sublet/controllers/controller.h"

namespace sublet::controllers {
namespace {

using schema::Document;
using schema::Value;

class EphemeralVolumeController final : public Controller {
 public:
  explicit EphemeralVolumeController(Context& context)
      : context_(context), pods_(context.lister(kPodKind.resource)), claims_(context.lister(kVolumeClaims)) {}

  // A pod's volumes never change.
  void start() override {
    context_.on_change(kPodKind.resource, [this](const Change& change) {
      if (change.before || is_ending(*change.after)) return;
      for (const auto& claim : claims_of_pod(*change.after))
        if (claim.ephemeral) return context_.enqueue(key_of(*change.after));
    });
    context_.on_change(kVolumeClaims, [this](const Change& change) {
      if (change.after) return;
      if (const auto owner = controller_of(*change.before); owner && owner->kind == "Pod")
        context_.enqueue(key_of(namespace_of(*change.before), owner->name));
    });
  }

  Outcome reconcile(const std::string& key) override {
    const auto parts = parts_of(key);
    const auto stored = pods_.get(parts.namespace_name, parts.name);
    if (!stored || is_ending(*stored)) return {};
    const auto pod = document_of(*stored);
    for (auto volume : pod["spec"]["volumes"]) {
      if (!volume.has("ephemeral")) continue;
      auto made = ensure(*stored, volume);
      if (made || is_namespace_ending(made.error())) continue;
      context_.events().warning(ref_of(kPodKind, *stored), "FailedBinding",
                                "ephemeral volume " + volume["name"].string() + ": " + made.error().message);
      return made;
    }
    return {};
  }

 private:
  Outcome ensure(const store::Object& pod, const Value& volume) {
    const auto name = ephemeral_claim_name(name_of(pod), volume["name"].text());
    if (const auto claim = claims_.get(namespace_of(pod), name)) {
      if (is_claim_of(*claim, pod)) return {};
      return fail(Reason::conflict,
                  "PVC " + key_of(*claim) + " was not created for pod " + key_of(pod) + " (pod is not owner)");
    }
    const auto wanted = volume["ephemeral"]["volumeClaimTemplate"];
    auto claim = Document::object();
    auto metadata = claim.root().object("metadata");
    metadata.put("name", name);
    for (auto member : {"annotations", "labels"})
      if (wanted["metadata"].has(member)) metadata.put(member, wanted["metadata"][member]);
    put_controller_ref(metadata, ref_of(kPodKind, pod));
    claim.root().put("spec", wanted["spec"]);
    auto made = context_.client().create(kVolumeClaims, namespace_of(pod), claim.root());
    if (made || made.error().is(Reason::already_exists)) return {};
    return fail(made.error().reason, "create PVC " + name + ": " + made.error().message);
  }

  Context& context_;
  const Lister pods_, claims_;
};

}  // namespace

std::unique_ptr<Controller> make_ephemeral_volume_controller(Context& context) {
  return std::make_unique<EphemeralVolumeController>(context);
}

}  // namespace sublet::controllers
