// Gangs: groups of pods that are scheduled together, and the workloads that they are made of.
#include "apiserver/printers/cells.h"
#include "apiserver/printers/families.h"
#include "apiserver/request/api_groups.h"

namespace sublet::apiserver {
namespace {

using schema::Value;

constexpr Column kGroupColumns[] = {
    kNameColumn,
    {"Policy", "string", "", "Whether its pods are scheduled all or none"},
    {"Workload", "string", "", "Workload that it was made of"},
    {"Status", "string", "", "Whether it is scheduled"},
    kAgeColumn,
};

std::string group_state(const Value& group) {
  std::string state = "Pending", disrupted;
  for (const Value condition : group["status"]["conditions"]) {
    if (condition["type"].text() == "PodGroupScheduled")
      state = condition["status"].text() == "True" ? "Scheduled" : "Unschedulable";
    if (condition["type"].text() == "DisruptionTarget") disrupted = condition["reason"].string();
  }
  return disrupted.empty() ? state : disrupted;
}

void group_cells(const Value& object, WallTime now, Value row) {
  const Value spec = object["spec"];
  const auto workload = spec["podGroupTemplateRef"]["workload"]["workloadName"].text();
  Cells(object, now, row)
      .name()
      .text(spec["schedulingPolicy"]["gang"].is_object() ? "Gang" : "Basic")
      .text(workload.empty() ? kNone : workload)
      .text(group_state(object))
      .age();
}

constexpr Printer kGroupPrinters[] = {
    {kSchedulingGroup, "podgroups", kGroupColumns, group_cells},
    {kSchedulingGroup, "workloads", kNameAndAgeColumns, name_and_age_cells},
};

}  // namespace

std::span<const Printer> group_printers() { return kGroupPrinters; }

}  // namespace sublet::apiserver
