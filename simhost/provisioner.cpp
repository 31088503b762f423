#include "simhost/provisioner.h"

namespace sublet::simhost {
namespace {

using schema::Document;
using schema::Value;

const kube::Resource kVolumesApi{"", "v1", "persistentvolumes"};
const kube::Resource kStorageClassesApi{"storage.k8s.io", "v1", "storageclasses"};
constexpr const char* kAskedOf = "volume.kubernetes.io/storage-provisioner";

Document volume_for(const Value& claim) {
  const Value metadata = claim["metadata"], spec = claim["spec"];
  const std::string name = "pvc-" + metadata["uid"].string();
  Document volume = Document::object();
  Value root = volume.root();
  root.put("kind", "PersistentVolume");
  root.put("apiVersion", "v1");
  root.object("metadata").put("name", name);
  root["metadata"].object("annotations").put("pv.kubernetes.io/provisioned-by", kProvisioner);
  Value wanted = root.object("spec");
  wanted.object("capacity").put("storage", spec["resources"]["requests"]["storage"]);
  wanted.put("accessModes", spec["accessModes"]);
  wanted.put("storageClassName", spec["storageClassName"]);
  if (spec.has("volumeMode")) wanted.put("volumeMode", spec["volumeMode"]);
  wanted.put("persistentVolumeReclaimPolicy", "Delete");
  wanted.object("csi").put("driver", kProvisioner);
  wanted["csi"].put("volumeHandle", name);
  Value reference = wanted.object("claimRef");
  reference.put("apiVersion", "v1");
  reference.put("kind", "PersistentVolumeClaim");
  for (const char* member : {"namespace", "name", "uid"}) reference.put(member, metadata[member]);
  return volume;
}

}  // namespace

Outcome Provisioner::write_class() {
  Document storage = Document::object();
  Value root = storage.root();
  root.put("kind", "StorageClass");
  root.put("apiVersion", "storage.k8s.io/v1");
  root.object("metadata").put("name", "standard");
  root["metadata"].object("annotations").put("storageclass.kubernetes.io/is-default-class", "true");
  root.put("provisioner", kProvisioner);
  root.put("reclaimPolicy", "Delete");
  root.put("volumeBindingMode", "Immediate");
  const auto made = client_.create(kStorageClassesApi, "", root);
  if (made || made.error().is(Reason::already_exists)) return {};
  return fail(made.error());
}

// The volume's name follows from the claim's uid: a second create for the same claim fails harmlessly.
void Provisioner::claim_changed(const Value& claim) {
  const bool ours = claim["metadata"]["annotations"][kAskedOf].text() == kProvisioner;
  if (!ours || !claim["spec"]["volumeName"].text().empty() || claim["metadata"].has("deletionTimestamp")) return;
  pipeline_.send(client_.create_request(kVolumesApi, "", volume_for(claim).root()), {});
}

void Provisioner::volume_changed(const Value& volume) {
  if (volume["spec"]["csi"]["driver"].text() != kProvisioner || volume["status"]["phase"].text() != "Released") return;
  const Value metadata = volume["metadata"];
  kube::DeleteOptions options;
  options.uid = metadata["uid"].string();
  pipeline_.send(client_.remove_request(kVolumesApi, "", metadata["name"].text(), options), {});
}

}  // namespace sublet::simhost
