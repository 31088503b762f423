// PersistentVolumes and PersistentVolumeClaims find each other, and part. What is to be provisioned or deleted outside
// is left to who provisions: the claim names it (annotation storage-provisioner), the volume is Released. Unlike
// upstream's, a claim of a class that waits for its first consumer is bound here as soon as a pod that uses it is on a
// node: nothing in a virtual cluster schedules by volumes, and a scheduler that does would have bound it before.
// Source: pkg/controller/volume/persistentvolume of Kubernetes.

#include <algorithm>

#include "controllers/runtime/calls.h"
#include "controllers/runtime/event_recorder.h"
#include "controllers/runtime/kinds.h"
#include "controllers/runtime/object_ref.h"
#include "controllers/storage/claim_use.h"
#include "sublet/controllers/controller.h"
#include "sublet/kube/json_scan.h"
#include "sublet/kube/volume_match.h"

namespace sublet::controllers {
namespace {

using kube::best_volume;
using kube::check_requested;
using kube::class_of;
using kube::has_class;
using kube::is_claimed_by;
using kube::modes_differ;
using schema::Document;
using schema::Value;

const KindFacts kVolumeKind{"v1", "PersistentVolume", {"", "v1", "persistentvolumes"}};
const kube::Resource kStorageClasses{"storage.k8s.io", "v1", "storageclasses"};
constexpr std::string_view kVolumeClaimKey = "claim/", kVolumeKey = "volume/", kPending = "pending";
constexpr std::string_view kBindCompleted = "pv.kubernetes.io/bind-completed",
                           kBoundByController = "pv.kubernetes.io/bound-by-controller",
                           kProvisionedBy = "pv.kubernetes.io/provisioned-by",
                           kSelectedNode = "volume.kubernetes.io/selected-node",
                           kProvisioner = "volume.kubernetes.io/storage-provisioner",
                           kProvisionerBefore = "volume.beta.kubernetes.io/storage-provisioner",
                           kDefaultClass = "storageclass.kubernetes.io/is-default-class",
                           kDefaultClassBefore = "storageclass.beta.kubernetes.io/is-default-class";

/// The stored object as its next version: with its resourceVersion.
Document draft_of(const store::Object& stored) {
  auto document = document_of(stored);
  document["metadata"].put("resourceVersion", std::to_string(stored.revision));
  return document;
}

bool annotated(const Value& object, std::string_view name) { return object["metadata"]["annotations"].has(name); }
void annotate(const Value& object, std::string_view name, std::string_view value) {
  object["metadata"].object("annotations").put(name, value);
}

class VolumeBinderController final : public Controller {
 public:
  explicit VolumeBinderController(Context& context)
      : context_(context),
        claims_(context.lister(kVolumeClaimKind.resource)),
        volumes_(context.lister(kVolumeKind.resource)),
        classes_(context.lister(kStorageClasses)),
        pods_(context.lister(kPods)) {}

  void start() override {
    context_.on_change(kVolumeClaimKind.resource, [this](const Change& change) {
      context_.enqueue(std::string(kVolumeClaimKey) + key_of(change.object()));
      if (const auto volume = raw_of(change.object(), {"spec", "volumeName"}); volume.size() > 2)
        context_.enqueue(std::string(kVolumeKey) + kube::json_unquote(volume));
    });
    context_.on_change(kVolumeKind.resource, [this](const Change& change) {
      context_.enqueue(std::string(kVolumeKey) + std::string(name_of(change.object())));
      const auto claim = raw_of(change.object(), {"spec", "claimRef"});
      if (claim.empty())
        context_.enqueue(std::string(kPending));
      else
        context_.enqueue(std::string(kVolumeClaimKey) +
                         key_of(kube::json_unquote(kube::json_member(claim, "namespace").value_or("")),
                                kube::json_unquote(kube::json_member(claim, "name").value_or(""))));
    });
    context_.on_change(kStorageClasses, [this](const Change&) { context_.enqueue(std::string(kPending)); });
    context_.on_change(kPods, [this](const Change& change) {  // the first consumer
      if (!change.after || !is_placed(*change.after) || (change.before && is_placed(*change.before))) return;
      for (const auto& claim : claims_of_pod(*change.after))
        context_.enqueue(std::string(kVolumeClaimKey) + key_of(namespace_of(*change.after), claim.name));
    });
  }

  Outcome reconcile(const std::string& key) override {
    if (key.starts_with(kVolumeKey)) {
      const auto volume = volumes_.get("", key.substr(kVolumeKey.size()));
      return volume ? sync_volume(*volume) : Outcome();
    }
    if (key.starts_with(kVolumeClaimKey)) {
      const auto parts = parts_of(key.substr(kVolumeClaimKey.size()));
      if (const auto claim = claims_.get(parts.namespace_name, parts.name)) return sync_claim(*claim);
      return release_volumes_of(parts);
    }
    for (const auto& claim : claims_.list())
      if (raw_of(*claim, {"metadata", "annotations", kBindCompleted}).empty())
        context_.enqueue(std::string(kVolumeClaimKey) + key_of(*claim));
    return {};
  }

 private:
  static bool is_placed(const store::Object& pod) { return raw_of(pod, {"spec", "nodeName"}).size() > 2; }

  // --- claims
  // ---------------------------------------------------------------------------------------------------------

  Outcome sync_claim(const store::Object& stored) {
    auto claim = draft_of(stored);
    if (annotated(claim.root(), kBindCompleted)) return sync_bound(stored, std::move(claim));
    if (is_ending(stored)) return {};
    const auto wanted = claim["spec"]["volumeName"].string();
    if (wanted.empty()) return find_volume(stored, std::move(claim));
    const auto volume = volumes_.get("", wanted);
    if (!volume) return say_pending(std::move(claim));
    auto found = draft_of(*volume);
    if (!found["spec"].has("claimRef")) {
      if (const auto wrong = check_requested(found.root(), claim.root()); !wrong.empty()) {
        warn(stored, "VolumeMismatch", "Cannot bind to requested volume \"" + wanted + "\": " + wrong);
        return say_pending(std::move(claim));
      }
      return bind(std::move(found), std::move(claim));
    }
    if (is_claimed_by(found.root(), claim.root())) return bind(std::move(found), std::move(claim));
    warn(stored, "FailedBinding", "volume \"" + wanted + "\" already bound to a different claim.");
    return say_pending(std::move(claim));
  }

  Outcome find_volume(const store::Object& stored, Document claim) {
    std::vector<Document> drafts;
    std::vector<Value> volumes;
    for (const auto& volume : volumes_.list()) drafts.push_back(draft_of(*volume));
    for (const auto& draft : drafts) volumes.push_back(draft.root());
    const bool waits = waits_for_consumer(claim.root());
    const auto pod = waits ? consumer_of(stored) : nullptr;
    const bool delayed = waits && !(pod && is_placed(*pod));
    if (const auto best = best_volume(volumes, claim.root(), delayed))
      return bind(Document::copy_of(best), std::move(claim));
    if (!has_class(claim.root()))
      if (const auto* name = default_class()) {
        claim["spec"].put("storageClassName", *name);
        return settled(update(kVolumeClaimKind, claim));
      }
    if (delayed && !annotated(claim.root(), kSelectedNode)) {
      if (pod)
        record_event(stored, "WaitForPodScheduled",
                     "waiting for pod " + std::string(name_of(*pod)) + " to be scheduled");
      else
        record_event(stored, "WaitForFirstConsumer", "waiting for first consumer to be created before binding");
    } else if (const auto name = class_of(claim.root()); !name.empty()) {
      return ask_for_volume(stored, std::move(claim), name);
    } else {
      record_event(stored, "FailedBinding",
                   "no persistent volumes available for this claim and no storage class is set");
    }
    return say_pending(std::move(claim));
  }

  bool waits_for_consumer(const Value& claim) const {
    const auto name = class_of(claim);
    const auto stored = name.empty() ? nullptr : classes_.get("", name);
    return stored && raw_of(*stored, {"volumeBindingMode"}) == "\"WaitForFirstConsumer\"" &&
           !annotated(claim, kSelectedNode);
  }

  /// A pod that uses the claim, on a node if any is.
  store::ObjectPtr consumer_of(const store::Object& claim) const {
    store::ObjectPtr found;
    for (const auto& pod : pods_.list(namespace_of(claim)))
      for (const auto& used : claims_of_pod(*pod))
        if (used.name == name_of(claim) && !is_ending(*pod) && (!found || is_placed(*pod))) found = pod;
    return found;
  }

  /// The newest of those that say so; among those of one second the first by name.
  const std::string* default_class() {
    std::string latest;
    default_class_.clear();
    for (const auto& stored : classes_.list()) {
      const auto annotation = [&](std::string_view name) {
        return raw_of(*stored, {"metadata", "annotations", name}) == "\"true\"";
      };
      const auto made = raw_of(*stored, {"metadata", "creationTimestamp"});
      if ((!annotation(kDefaultClass) && !annotation(kDefaultClassBefore)) || made <= latest) continue;
      latest = made;
      default_class_ = name_of(*stored);
    }
    return default_class_.empty() ? nullptr : &default_class_;
  }

  /// Who provisions watches for claims that name it.
  Outcome ask_for_volume(const store::Object& stored, Document claim, const std::string& class_name) {
    const auto found = classes_.get("", class_name);
    if (!found) {
      warn(stored, "ProvisioningFailed", "storageclass.storage.k8s.io \"" + class_name + "\" not found");
      return say_pending(std::move(claim));
    }
    const auto provisioner = kube::json_unquote(raw_of(*found, {"provisioner"}));
    if (provisioner.starts_with("kubernetes.io/")) {
      warn(stored, "ProvisioningFailed", "no volume plugin matched name: " + provisioner);
      return say_pending(std::move(claim));
    }
    record_event(stored, "ExternalProvisioning",
                 "Waiting for a volume to be created either by the external provisioner '" + provisioner +
                     "' or manually by the system administrator. If volume creation is delayed, please verify that the "
                     "provisioner is running and correctly registered.");
    if (claim["metadata"]["annotations"][kProvisioner].text() == provisioner) return {};
    annotate(claim.root(), kProvisioner, provisioner);
    annotate(claim.root(), kProvisionerBefore, provisioner);
    return settled(update(kVolumeClaimKind, claim));
  }

  Outcome sync_bound(const store::Object& stored, Document claim) {
    const auto name = claim["spec"]["volumeName"].string();
    if (name.empty())
      return lose(stored, std::move(claim), "ClaimLost",
                  "Bound claim has lost reference to PersistentVolume. Data on the volume is lost!");
    const auto volume = volumes_.get("", name);
    if (!volume)
      return lose(stored, std::move(claim), "ClaimLost",
                  "Bound claim has lost its PersistentVolume. Data on the volume is lost!");
    auto found = draft_of(*volume);
    const auto reference = found["spec"]["claimRef"];
    if (!reference || reference["uid"].text() == stored.index.uid) return bind(std::move(found), std::move(claim));
    return lose(stored, std::move(claim), "ClaimMisbound",
                "Two claims are bound to the same volume, this one is bound incorrectly");
  }

  Outcome lose(const store::Object& stored, Document claim, const char* reason, const char* message) {
    if (claim["status"]["phase"].text() == "Lost") return {};
    auto written = write_claim_status(std::move(claim), "Lost", {});
    if (written) warn(stored, reason, message);
    return written;
  }

  Outcome say_pending(Document claim) { return write_claim_status(std::move(claim), "Pending", {}); }

  /// `volume` missing: it has none.
  Outcome write_claim_status(Document claim, std::string_view phase, const Value& volume) {
    auto status = claim.root().object("status");
    const auto before = Document::copy_of(status);
    const bool becomes = status["phase"].text() != phase;
    status.put("phase", phase);
    if (volume) {
      status.put("accessModes", volume["spec"]["accessModes"]);
      if (becomes) status.put("capacity", volume["spec"]["capacity"]);
      if (const auto attributes = volume["spec"]["volumeAttributesClassName"]; attributes && becomes)
        status.put("currentVolumeAttributesClassName", attributes);
    } else {
      for (auto member : {"accessModes", "capacity", "currentVolumeAttributesClassName"}) status.erase(member);
    }
    if (before.root().equals(status)) return {};
    return settled(update(kVolumeClaimKind, claim, "status"));
  }

  // --- binding
  // --------------------------------------------------------------------------------------------------------

  /// The volume first, so that no other claim gets it. Each step is done once, whichever side began.
  Outcome bind(Document volume, Document claim) {
    const auto metadata = claim["metadata"];
    if (const auto reference = volume["spec"]["claimRef"];
        !is_claimed_by(volume.root(), claim.root()) || reference["uid"].text() != metadata["uid"].text()) {
      if (!is_claimed_by(volume.root(), claim.root())) annotate(volume.root(), kBoundByController, "yes");
      auto fresh = volume["spec"].object("claimRef");
      fresh.clear();
      fresh.put("apiVersion", kVolumeClaimKind.api_version);
      fresh.put("kind", kVolumeClaimKind.kind);
      for (auto member : {"name", "namespace", "resourceVersion", "uid"}) fresh.put(member, metadata[member]);
      auto updated = update(kVolumeKind, volume);
      if (!updated) return settled(updated);
      volume = std::move(*updated);
    }
    if (auto written = write_phase(volume, "Bound"); !written) return written;
    if (claim["spec"]["volumeName"].text() != volume["metadata"]["name"].text() ||
        !annotated(claim.root(), kBindCompleted)) {
      if (claim["spec"]["volumeName"].text() != volume["metadata"]["name"].text()) {
        claim["spec"].put("volumeName", volume["metadata"]["name"]);
        annotate(claim.root(), kBoundByController, "yes");
      }
      annotate(claim.root(), kBindCompleted, "yes");
      auto updated = update(kVolumeClaimKind, claim);
      if (!updated) return settled(updated);
      claim = std::move(*updated);
    }
    return write_claim_status(std::move(claim), "Bound", volume.root());
  }

  // --- volumes
  // --------------------------------------------------------------------------------------------------------

  Outcome sync_volume(const store::Object& stored) {
    auto volume = draft_of(stored);
    const auto reference = volume["spec"]["claimRef"];
    if (!reference || reference["uid"].text().empty()) return write_phase(volume, "Available");
    const auto claim = claims_.get(reference["namespace"].text(), reference["name"].text());
    if (!claim || claim->index.uid != reference["uid"].text()) return reclaim(stored, std::move(volume));
    const auto bound_to = kube::json_unquote(raw_of(*claim, {"spec", "volumeName"}));
    if (bound_to.empty()) {
      if (modes_differ(volume.root(), document_of(*claim).root())) return say_modes_differ(stored, *claim);
      context_.enqueue(std::string(kVolumeClaimKey) + key_of(*claim));
      return {};
    }
    if (bound_to == name_of(stored)) return write_phase(volume, "Bound");
    if (annotated(volume.root(), kProvisionedBy) && deletes(volume.root())) return reclaim(stored, std::move(volume));
    return unbind(std::move(volume));
  }

  Outcome say_modes_differ(const store::Object& volume, const store::Object& claim) {
    context_.events().warning(ref_of(kVolumeKind, volume), "VolumeMismatch",
                              "Cannot bind PersistentVolume to requested PersistentVolumeClaim \"" +
                                  std::string(name_of(claim)) + "\" due to incompatible volumeMode.");
    warn(claim, "VolumeMismatch",
         "Cannot bind PersistentVolume \"" + std::string(name_of(volume)) +
             "\" to requested PersistentVolumeClaim due to incompatible volumeMode.");
    return {};
  }

  Outcome release_volumes_of(const KeyParts& claim) {
    for (const auto& volume : volumes_.list()) {
      const auto reference = document_of(*volume);
      if (reference["spec"]["claimRef"]["name"].text() == claim.name &&
          reference["spec"]["claimRef"]["namespace"].text() == claim.namespace_name)
        if (auto synced = sync_volume(*volume); !synced) return synced;
    }
    return {};
  }

  static bool deletes(const Value& volume) {
    return volume["spec"]["persistentVolumeReclaimPolicy"].text() == "Delete";
  }

  /// Its claim is gone. A provisioner deletes its own volumes; no deleter exists for the others.
  Outcome reclaim(const store::Object& stored, Document volume) {
    const auto phase = volume["status"]["phase"].text();
    if (phase != "Released" && phase != "Failed")
      if (auto written = write_phase(volume, "Released"); !written) return written;
    const auto policy = volume["spec"]["persistentVolumeReclaimPolicy"].text();
    if (policy == "Retain" || (deletes(volume.root()) && annotated(volume.root(), kProvisionedBy)) ||
        phase == "Failed" || is_ending(stored))
      return {};
    const std::string verb = deletes(volume.root()) ? "delet" : "recycl";
    const auto message = "error getting " + verb + "er volume plugin for volume \"" + std::string(name_of(stored)) +
                         "\": no " + (verb == "delet" ? "deletable" : "recyclable") + " volume plugin matched";
    volume["status"].put("message", message);
    auto written = write_phase(volume, "Failed");
    if (written)
      context_.events().warning(ref_of(kVolumeKind, stored),
                                verb == "delet" ? "VolumeFailedDelete" : "VolumeFailedRecycle", message);
    return written;
  }

  /// Its claim has another: what we did is undone, what a person did keeps the name.
  Outcome unbind(Document volume) {
    if (annotated(volume.root(), kBoundByController)) {
      volume["spec"].erase("claimRef");
      volume["metadata"]["annotations"].erase(kBoundByController);
    } else {
      volume["spec"]["claimRef"].erase("uid");
    }
    auto updated = update(kVolumeKind, volume);
    if (!updated) return settled(updated);
    return write_phase(*updated, "Available");
  }

  /// The document becomes what is stored.
  Outcome write_phase(Document& volume, std::string_view phase) {
    auto status = volume.root().object("status");
    if (status["phase"].text() == phase) return {};
    status.put("phase", phase);
    if (phase != "Failed") status.erase("message");
    auto updated = update(kVolumeKind, volume, "status");
    if (!updated) return settled(updated);
    volume = std::move(*updated);
    return {};
  }

  // --- both
  // -----------------------------------------------------------------------------------------------------------

  Result<Document> update(const KindFacts& kind, const Document& object, std::string_view subresource = {}) const {
    const auto metadata = object["metadata"];
    return context_.client().update(kind.resource, metadata["namespace"].text(), metadata["name"].text(), object.root(),
                                    subresource);
  }
  void warn(const store::Object& claim, const char* reason, std::string message) const {
    context_.events().warning(ref_of(kVolumeClaimKind, claim), reason, std::move(message));
  }
  void record_event(const store::Object& claim, const char* reason, std::string message) const {
    context_.events().normal(ref_of(kVolumeClaimKind, claim), reason, std::move(message));
  }

  Context& context_;
  const Lister claims_, volumes_, classes_, pods_;
  std::string default_class_;
};

}  // namespace

std::unique_ptr<Controller> make_volume_binder_controller(Context& context) {
  return std::make_unique<VolumeBinderController>(context);
}

}  // namespace sublet::controllers
