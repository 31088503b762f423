// An event on a bound claim that grows names what it waits for: volumes are expanded outside, by a resizer of
// their driver. Of drivers that once were in Kubernetes itself the claim names the resizer.
// Source: pkg/controller/volume/expand of Kubernetes.

#include "controllers/runtime/calls.h"
#include "controllers/runtime/event_recorder.h"
#include "controllers/runtime/kinds.h"
#include "controllers/runtime/object_ref.h"
#include "sublet/controllers/controller.h"
#include "sublet/kube/json_scan.h"
#include "sublet/schema/engine.h"

namespace sublet::controllers {
namespace {

using schema::Value;

constexpr std::string_view kResizer = "volume.kubernetes.io/storage-resizer";

/// Sources of volumes whose plugin has become a driver (k8s.io/csi-translation-lib).
struct Moved {
  std::string_view source, plugin, driver;
};
constexpr Moved kMoved[] = {{"gcePersistentDisk", "kubernetes.io/gce-pd", "pd.csi.storage.gke.io"},
                            {"awsElasticBlockStore", "kubernetes.io/aws-ebs", "ebs.csi.aws.com"},
                            {"cinder", "kubernetes.io/cinder", "cinder.csi.openstack.org"},
                            {"azureDisk", "kubernetes.io/azure-disk", "disk.csi.azure.com"},
                            {"azureFile", "kubernetes.io/azure-file", "file.csi.azure.com"},
                            {"vsphereVolume", "kubernetes.io/vsphere-volume", "csi.vsphere.vmware.com"},
                            {"portworxVolume", "kubernetes.io/portworx-volume", "pxd.portworx.com"}};

const Moved* moved(const Value& volume_spec) {
  for (const auto& row : kMoved)
    if (volume_spec[row.source].is_object()) return &row;
  return nullptr;
}

std::string_view requested(const store::Object& claim) {
  return raw_of(claim, {"spec", "resources", "requests", "storage"});
}
std::string_view given(const store::Object& claim) { return raw_of(claim, {"status", "capacity", "storage"}); }
bool is_bound(const store::Object& claim) { return raw_of(claim, {"status", "phase"}) == "\"Bound\""; }

/// Of JSON text; nothing, or what is no quantity, is 0.
__int128 nanos_of_quantity(std::string_view quantity) {
  return schema::quantity_nanos(kube::json_unquote(quantity)).value_or(0);
}

class VolumeExpanderController final : public Controller {
 public:
  explicit VolumeExpanderController(Context& context)
      : context_(context), claims_(context.lister(kVolumeClaimKind.resource)), volumes_(context.lister(kVolumes)) {}

  void start() override {
    context_.on_change(kVolumeClaimKind.resource, [this](const Change& change) {
      if (!change.after || !is_bound(*change.after)) return;
      if (change.before && requested(*change.before) == requested(*change.after) &&
          given(*change.before) == given(*change.after))
        return;
      context_.enqueue(key_of(*change.after));
    });
  }

  Outcome reconcile(const std::string& key) override {
    const auto parts = parts_of(key);
    const auto claim = claims_.get(parts.namespace_name, parts.name);
    if (!claim || !is_bound(*claim) || nanos_of_quantity(requested(*claim)) <= nanos_of_quantity(given(*claim)))
      return {};
    const auto name = kube::json_unquote(raw_of(*claim, {"spec", "volumeName"}));
    const auto stored = volumes_.get("", name);
    if (!stored) return fail(Reason::not_found, "persistentvolume \"" + name + "\" not found");
    const auto volume = document_of(*stored);
    if (volume["spec"]["claimRef"]["uid"].text() != claim->index.uid)
      return fail(Reason::conflict, "persistentvolume \"" + name + "\" is not bound to " + key);
    if (const Moved* row = moved(volume["spec"])) return name_resizer(*claim, *row);
    record_event(*claim, "waiting for an external controller to expand this PVC");
    return {};
  }

 private:
  void record_event(const store::Object& claim, std::string message) {
    context_.events().normal(ref_of(kVolumeClaimKind, claim), "ExternalExpanding", std::move(message));
  }

  Outcome name_resizer(const store::Object& claim, const Moved& row) {
    record_event(claim, "CSI migration enabled for " + std::string(row.plugin) +
                            "; waiting for external resizer to expand the pvc");
    if (kube::json_unquote(raw_of(claim, {"metadata", "annotations", kResizer})) == row.driver) return {};
    auto patch = schema::Document::object();
    patch.root().object("metadata").object("annotations").put(kResizer, row.driver);
    return settled(context_.client().patch(kVolumeClaimKind.resource, namespace_of(claim), name_of(claim),
                                           kube::PatchType::merge, patch.to_json(), "status"));
  }

  Context& context_;
  const Lister claims_, volumes_;
};

}  // namespace

std::unique_ptr<Controller> make_volume_expander_controller(Context& context) {
  return std::make_unique<VolumeExpanderController>(context);
}

}  // namespace sublet::controllers
