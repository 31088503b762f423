// Dynamic resource allocation: classes of devices, claims on them, and what nodes offer.
#include "apiserver/printers/cells.h"
#include "apiserver/printers/families.h"
#include "apiserver/request/api_groups.h"

namespace sublet::apiserver {
namespace {

using schema::Value;

constexpr Column kDeviceClaimColumns[] = {
    kNameColumn, {"State", "string", "", "Whether it is allocated, reserved or being deleted"}, kAgeColumn};

std::string claim_state(const Value& object) {
  bool deleted = !object["metadata"]["deletionTimestamp"].text().empty();
  Value status = object["status"];
  std::vector<std::string> states;
  if (deleted) states.emplace_back("deleted");
  if (status["allocation"].is_object()) {
    states.emplace_back("allocated");
    if (!status["reservedFor"].empty()) states.emplace_back("reserved");
  } else if (!deleted) {
    states.emplace_back("pending");
  }
  return join(states, ",");
}

void device_claim_cells(const Value& object, WallTime now, Value row) {
  Cells(object, now, row).name().text(claim_state(object)).age();
}

constexpr Column kDeviceSliceColumns[] = {
    kNameColumn,
    {"Node", "string", "", "Node that has the devices"},
    {"Driver", "string", "", "Driver that offers them"},
    {"Pool", "string", "", "Pool that they belong to"},
    kAgeColumn,
};

void device_slice_cells(const Value& object, WallTime now, Value row) {
  Value spec = object["spec"];
  Cells cells(object, now, row);
  cells.name().text(spec["nodeName"].text()).text(spec["driver"].text()).text(spec["pool"]["name"].text()).age();
}

constexpr Printer kDevicePrinters[] = {
    {kResourceApiGroup, "deviceclasses", kNameAndAgeColumns, name_and_age_cells},
    {kResourceApiGroup, "resourceclaims", kDeviceClaimColumns, device_claim_cells},
    {kResourceApiGroup, "resourceclaimtemplates", kNameAndAgeColumns, name_and_age_cells},
    {kResourceApiGroup, "resourceslices", kDeviceSliceColumns, device_slice_cells},
};

}  // namespace

std::span<const Printer> device_printers() { return kDevicePrinters; }

}  // namespace sublet::apiserver
