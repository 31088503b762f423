// Volumes, claims, storage classes and what CSI adds.
#include "apiserver/printers/cells.h"
#include "apiserver/printers/families.h"
#include "apiserver/request/api_groups.h"

namespace sublet::apiserver {
namespace {

using schema::Value;

/// Access modes and their short forms, in the order in which kubectl shows them.
struct AccessMode {
  std::string_view name, text;
};
constexpr AccessMode kAccessModeTexts[] = {
    {"ReadWriteOnce", "RWO"}, {"ReadOnlyMany", "ROX"}, {"ReadWriteMany", "RWX"}, {"ReadWriteOncePod", "RWOP"}};

std::string access_modes(const Value& modes) {
  std::vector<std::string> parts;
  for (const AccessMode& mode : kAccessModeTexts)
    for (Value item : modes)
      if (item.text() == mode.name) {
        parts.emplace_back(mode.text);
        break;
      }
  return join(parts, ",");
}

/// The class of a volume or claim: an annotation from before the field was there has the first word.
std::string storage_class(const Value& object) {
  Value old = annotation(object, "volume.beta.kubernetes.io/storage-class");
  return old.is_string() ? old.string() : object["spec"]["storageClassName"].string();
}

std::string_view phase_or_terminating(const Value& object) {
  return object["metadata"]["deletionTimestamp"].text().empty() ? object["status"]["phase"].text() : "Terminating";
}

constexpr Column kVolumeColumns[] = {
    kNameColumn,
    {"Capacity", "string", "", "Size of the volume"},
    {"Access Modes", "string", "", "How it can be mounted"},
    {"Reclaim Policy", "string", "", "What happens to it when its claim is gone"},
    {"Status", "string", "", "Whether it is free or bound"},
    {"Claim", "string", "", "Claim that it is bound to"},
    {"StorageClass", "string", "", "Storage class of the volume"},
    {"VolumeAttributesClass", "string", "", "Attributes class of the volume"},
    {"Reason", "string", "", "Why it failed"},
    kAgeColumn,
    {"VolumeMode", "string", "", "Filesystem or Block", 1},
};

void volume_cells(const Value& object, WallTime now, Value row) {
  Value spec = object["spec"], claim = spec["claimRef"];
  Cells cells(object, now, row);
  cells.name().text(spec["capacity"]["storage"].text("0")).text(access_modes(spec["accessModes"]));
  cells.text(spec["persistentVolumeReclaimPolicy"].text()).text(phase_or_terminating(object));
  cells.text(claim.is_object() ? claim["namespace"].string() + "/" + claim["name"].string() : "");
  cells.text(storage_class(object)).text(spec["volumeAttributesClassName"].text(kUnset));
  cells.text(object["status"]["reason"].text()).age().text(spec["volumeMode"].text(kUnset));
}

constexpr Column kVolumeClaimColumns[] = {
    kNameColumn,
    {"Status", "string", "", "Whether the claim is bound"},
    {"Volume", "string", "", "Volume that it is bound to"},
    {"Capacity", "string", "", "Size of the volume"},
    {"Access Modes", "string", "", "How the volume can be mounted"},
    {"StorageClass", "string", "", "Storage class of the claim"},
    {"VolumeAttributesClass", "string", "", "Attributes class of the claim"},
    kAgeColumn,
    {"VolumeMode", "string", "", "Filesystem or Block", 1},
};

void volume_claim_cells(const Value& object, WallTime now, Value row) {
  Value spec = object["spec"], status = object["status"];
  bool bound = !spec["volumeName"].text().empty();
  Cells cells(object, now, row);
  cells.name().text(phase_or_terminating(object)).text(spec["volumeName"].text());
  cells.text(bound ? status["capacity"]["storage"].text("0") : "");
  cells.text(bound ? access_modes(status["accessModes"]) : "").text(storage_class(object));
  cells.text(spec["volumeAttributesClassName"].text(kUnset)).age().text(spec["volumeMode"].text(kUnset));
}

constexpr Column kClassColumns[] = {
    kNameColumn,
    {"Provisioner", "string", "", "Driver that makes the volumes"},
    {"ReclaimPolicy", "string", "", "What happens to a volume when its claim is gone"},
    {"VolumeBindingMode", "string", "", "When volumes are made and bound"},
    {"AllowVolumeExpansion", "string", "", "Whether claims may grow"},
    kAgeColumn,
};

bool is_default_class(const Value& object) {
  return annotation(object, "storageclass.kubernetes.io/is-default-class").text() == "true" ||
         annotation(object, "storageclass.beta.kubernetes.io/is-default-class").text() == "true";
}

void class_cells(const Value& object, WallTime now, Value row) {
  Cells cells(object, now, row);
  cells.text(object["metadata"]["name"].string() + (is_default_class(object) ? " (default)" : ""));
  cells.text(object["provisioner"].text()).text(object["reclaimPolicy"].text("Delete"));
  cells.text(object["volumeBindingMode"].text("Immediate")).flag(object["allowVolumeExpansion"].boolean()).age();
}

constexpr Column kAttributesClassColumns[] = {kNameColumn, {"DriverName", "string", "", "CSI driver"}, kAgeColumn};

void attributes_class_cells(const Value& object, WallTime now, Value row) {
  Cells(object, now, row).name().text(object["driverName"].text()).age();
}

constexpr Column kAttachmentColumns[] = {
    kNameColumn,
    {"Attacher", "string", "name", "Driver that attaches"},
    {"PV", "string", "", "Volume that is attached"},
    {"Node", "string", "", "Node that it is attached to"},
    {"Attached", "boolean", "", "Whether it is attached"},
    kAgeColumn,
};

void attachment_cells(const Value& object, WallTime now, Value row) {
  Value spec = object["spec"];
  Cells cells(object, now, row);
  cells.name().text(spec["attacher"].text()).text(spec["source"]["persistentVolumeName"].text());
  cells.text(spec["nodeName"].text()).flag(object["status"]["attached"].boolean()).age();
}

constexpr Column kCsiNodeColumns[] = {
    kNameColumn, {"Drivers", "integer", "", "Number of CSI drivers on the node"}, kAgeColumn};

void csi_node_cells(const Value& object, WallTime now, Value row) {
  Cells(object, now, row).name().number(static_cast<std::int64_t>(object["spec"]["drivers"].size())).age();
}

constexpr Column kCsiDriverColumns[] = {
    kNameColumn,
    {"AttachRequired", "boolean", "", "Whether volumes must be attached"},
    {"PodInfoOnMount", "boolean", "", "Whether the driver is told about the pod"},
    {"StorageCapacity", "boolean", "", "Whether the driver tells how much room there is"},
    {"TokenRequests", "string", "", "Audiences of the tokens that the driver gets"},
    {"RequiresRepublish", "boolean", "", "Whether mounts are renewed now and then"},
    {"Modes", "string", "", "Lifecycles of its volumes"},
    kAgeColumn,
};

std::string token_audiences(const Value& requests) {
  if (!requests.is_array()) return std::string(kUnset);
  std::vector<std::string> audiences;
  for (Value request : requests) audiences.push_back(request["audience"].string());
  return join(audiences, ",");
}

void csi_driver_cells(const Value& object, WallTime now, Value row) {
  Value spec = object["spec"];
  Cells cells(object, now, row);
  cells.name().flag(spec["attachRequired"].boolean(true)).flag(spec["podInfoOnMount"].boolean());
  cells.flag(spec["storageCapacity"].boolean()).text(token_audiences(spec["tokenRequests"]));
  cells.flag(spec["requiresRepublish"].boolean());
  cells.text_or(join(texts_of(spec["volumeLifecycleModes"]), ","), kNone).age();
}

constexpr Column kCapacityColumns[] = {
    kNameColumn,
    {"StorageClassName", "string", "", "Storage class of the room"},
    {"Capacity", "string", "", "Room that there is"},
};

void capacity_cells(const Value& object, WallTime now, Value row) {
  Cells(object, now, row).name().text(object["storageClassName"].text()).text(object["capacity"].text(kUnset));
}

constexpr Printer kStoragePrinters[] = {
    {"", "persistentvolumes", kVolumeColumns, volume_cells},
    {"", "persistentvolumeclaims", kVolumeClaimColumns, volume_claim_cells},
    {kStorageGroup, "storageclasses", kClassColumns, class_cells},
    {kStorageGroup, "volumeattributesclasses", kAttributesClassColumns, attributes_class_cells},
    {kStorageGroup, "volumeattachments", kAttachmentColumns, attachment_cells},
    {kStorageGroup, "csinodes", kCsiNodeColumns, csi_node_cells},
    {kStorageGroup, "csidrivers", kCsiDriverColumns, csi_driver_cells},
    {kStorageGroup, "csistoragecapacities", kCapacityColumns, capacity_cells},
};

}  // namespace

std::span<const Printer> storage_printers() { return kStoragePrinters; }

}  // namespace sublet::apiserver
