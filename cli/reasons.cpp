#include "cli/reasons.h"

#include <algorithm>
#include <functional>

namespace sublet::cli {
namespace {

using schema::Value;

constexpr std::size_t kEventsMax = 5;  // the latest
constexpr std::string_view kStatusLists[] = {"initContainerStatuses", "containerStatuses",
                                             "ephemeralContainerStatuses"};

std::string named(const Value& container) { return "container " + container["name"].string() + ": "; }

std::string with_message(const Value& said) {
  const std::string message = said["message"].string();
  return said["reason"].string() + (message.empty() ? "" : ": " + message);
}

Value condition(const Value& pod, std::string_view type) {
  for (const Value one : pod["status"]["conditions"])
    if (one["type"].text() == type) return one;
  return {};
}

std::string_view last_seen(const Value& event) {
  for (const std::string_view field : {"lastTimestamp", "eventTime"})
    if (const auto text = event[field].text(); !text.empty()) return text;
  return event["metadata"]["creationTimestamp"].text();
}

std::vector<std::string> warnings_of(const Value& events, std::string_view reason,
                                     const std::function<bool(const Value&)>& concerns = nullptr) {
  std::vector<Value> warnings;
  for (const Value event : events)
    if (event["type"].text() == "Warning" && (reason.empty() || event["reason"].text() == reason) &&
        (!concerns || concerns(event)))
      warnings.push_back(event);
  std::ranges::stable_sort(warnings, [](const Value& a, const Value& b) { return last_seen(a) > last_seen(b); });
  std::vector<std::string> out;
  for (const Value& event : warnings) {
    if (out.size() == kEventsMax) break;
    const std::int64_t count = std::max<std::int64_t>(event["count"].integer(1), 1);
    const Value object = event["involvedObject"];
    std::string text = reason.empty() ? "event " : object["kind"].string() + " " + object["name"].string() + ": ";
    text += with_message(event) + (count > 1 ? " (" + std::to_string(count) + " times)" : "");
    if (std::ranges::find(out, text) == out.end()) out.push_back(std::move(text));
  }
  return out;
}

void look_at_containers(const Value& pod, Reasons& out) {
  for (const std::string_view list : kStatusLists)
    for (const Value container : pod["status"][list]) {
      const Value state = container["state"], last = container["lastState"]["terminated"];
      const std::int64_t restarts = container["restartCount"].integer();
      if (state["waiting"]) out.sentences.push_back(named(container) + "waits: " + with_message(state["waiting"]));
      if (const Value ended = state["terminated"]; ended && ended["exitCode"].integer() != 0)
        out.sentences.push_back(named(container) + "ended with code " + std::to_string(ended["exitCode"].integer()) +
                                ": " + with_message(ended));
      if (last && restarts > 0)
        out.sentences.push_back(named(container) + "was started again " + std::to_string(restarts) +
                                " times; it ended with code " + std::to_string(last["exitCode"].integer()) + ": " +
                                with_message(last));
      if (state["running"] && list == "containerStatuses" && !container["ready"].boolean())
        out.sentences.push_back(named(container) + "runs, but is not ready: its probes have not succeeded");
    }
}

}  // namespace

std::string gang_of(const Value& pod, const Value& group, const Value& pods) {
  const std::string name = pod["spec"]["schedulingGroup"]["podGroupName"].string();
  if (name.empty() || !pod["spec"]["nodeName"].text().empty()) return {};
  if (group.missing()) return "it waits for its PodGroup " + name + ", which is not there";
  const std::int64_t wanted = group["spec"]["schedulingPolicy"]["gang"]["minCount"].integer();
  std::int64_t there = 0;
  for (const Value other : pods) {
    const std::string_view phase = other["status"]["phase"].text();
    if (other["spec"]["schedulingGroup"]["podGroupName"].text() == name && phase != "Succeeded" && phase != "Failed")
      ++there;
  }
  if (there < wanted)
    return "it waits for the others of its PodGroup " + name + ": of " + std::to_string(wanted) + " pods there are " +
           std::to_string(there);
  const Value scheduled = condition(group, "PodGroupScheduled");
  if (scheduled["status"].text() != "False") return {};
  return "its PodGroup " + name + " is not scheduled: " + with_message(scheduled);
}

Reasons reasons_of(const Value& pod, const Value& events, const std::string& gang) {
  Reasons out;
  const Value status = pod["status"], metadata = pod["metadata"];
  const std::string phase = status["phase"].string("Pending");
  if (!metadata["deletionTimestamp"].text().empty()) {
    std::string text = "it is being deleted since " + metadata["deletionTimestamp"].string();
    if (!metadata["finalizers"].empty()) text += "; finalizers hold it: " + metadata["finalizers"].to_json();
    out.sentences.push_back(std::move(text));
  } else if (phase == "Succeeded" || (phase == "Running" && condition(pod, "Ready")["status"].text() == "True")) {
    out.well = true;
    out.sentences.push_back(phase == "Running" ? "it runs and is ready" : "it has ended, and well");
    return out;
  }
  if (phase == "Failed")
    out.sentences.push_back("it has failed" + (status["reason"].text().empty() ? "" : ": " + with_message(status)));
  for (const Value gate : pod["spec"]["schedulingGates"])
    out.sentences.push_back("it is held back by the scheduling gate " + gate["name"].string() +
                            ", which whoever set it has to remove");
  if (!gang.empty()) out.sentences.push_back(gang);
  const Value scheduled = condition(pod, "PodScheduled");
  if (scheduled && scheduled["status"].text() == "False" && pod["spec"]["schedulingGates"].empty())
    out.sentences.push_back(
        (scheduled["reason"].text() == "SchedulingGated" ? "it is held back: " : "no node is found for it: ") +
        with_message(scheduled));
  look_at_containers(pod, out);
  if (const Value ready = condition(pod, "Ready"); ready["reason"].text() == "ReadinessGatesNotReady")
    out.sentences.push_back("its containers are ready, it is not: " + ready["message"].string());
  for (std::string& event : warnings_of(events, "")) out.sentences.push_back(std::move(event));
  if (out.sentences.empty())
    out.sentences.push_back(pod["spec"]["nodeName"].text().empty()
                                ? "no scheduler has looked at it yet, or it has not come to the host"
                                : "its node " + pod["spec"]["nodeName"].string() + " has not said anything of it yet");
  return out;
}

bool may_control(std::string_view controller, std::string_view pod) {
  const auto extends = [](std::string_view longer, std::string_view shorter) {
    return longer.size() > shorter.size() && longer.starts_with(shorter) && longer[shorter.size()] == '-';
  };
  return controller == pod || extends(pod, controller) || extends(controller, pod);
}

std::vector<std::string> failed_creations(const Value& events, const std::string& pod_name) {
  return warnings_of(events, "FailedCreate",
                     [&](const Value& event) { return may_control(event["involvedObject"]["name"].text(), pod_name); });
}

}  // namespace sublet::cli
