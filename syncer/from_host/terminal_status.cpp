#include "syncer/from_host/terminal_status.h"

namespace sublet::syncer {
namespace {

using schema::Document;
using schema::Value;

void terminate_container(Value container) {
  container.put("ready", false);
  if (container.has("started")) container.put("started", false);
  Value state = container.object("state");
  if (state.has("terminated")) return;
  state.clear();
  Value terminated = state.object("terminated");
  terminated.put("exitCode", 137);
  terminated.put("reason", "ContainerStatusUnknown");
  terminated.put("message", "The container could not be located when the pod was terminated");
}

}  // namespace

Document terminal_status(const Value& pod, WallTime now) {
  Document status = Document::copy_of(pod["status"]);
  Value root = status.root();
  if (!root.is_object()) root.make_object();
  const std::string_view phase = root["phase"].text();
  if (phase != "Failed" && phase != "Succeeded") root.put("phase", "Failed");
  for (const char* list : {"containerStatuses", "ephemeralContainerStatuses"})
    for (const Value container : root[list]) terminate_container(container);
  for (const Value container : root["initContainerStatuses"])
    if (container["state"].has("running")) terminate_container(container);
  for (Value condition : root["conditions"]) {
    const std::string_view type = condition["type"].text();
    if ((type != "Ready" && type != "ContainersReady") || condition["status"].text() == "False") continue;
    condition.put("status", "False");
    condition.put("reason", "PodFailed");
    condition.erase("message");
    condition.put("lastTransitionTime", format_time(now));
  }
  return status;
}

}  // namespace sublet::syncer
