// Pods, whose one-word status is drawn from phase, conditions and all container states; and pod templates.
#include <cstdint>
#include <optional>

#include "apiserver/printers/cells.h"
#include "apiserver/printers/families.h"
#include "sublet/kube/conditions.h"

namespace sublet::apiserver {
namespace {

using schema::Value;

constexpr Column kPodColumns[] = {
    kNameColumn,
    {"Ready", "string", "", "Containers that are ready, of all"},
    {"Status", "string", "", "Summary of the states of the containers"},
    {"Restarts", "string", "", "How often containers were restarted, and when last"},
    kAgeColumn,
    {"IP", "string", "", "First address of the pod", 1},
    {"Node", "string", "", "Node that runs the pod", 1},
    {"Nominated Node", "string", "", "Node that is being freed for the pod", 1},
    {"Readiness Gates", "string", "", "Readiness gates that are met, of all", 1},
};

/// Restarts and the time of the last one.
struct Restarts {
  std::int64_t count = 0;
  std::optional<WallTime> last;

  void add(const Value& status) {
    count += status["restartCount"].integer();
    auto finished = parse_time(status.path("lastState.terminated.finishedAt").text());
    if (finished && (!last || *last < *finished)) last = finished;
  }
  std::string text(WallTime now) const {
    std::string made = std::to_string(count);
    if (count == 0 || !last) return made;
    return made + " (" + human_duration(std::chrono::duration_cast<std::chrono::seconds>(now - *last)) + " ago)";
  }
};

/// Why a container ended: its reason, else its signal or exit code.
std::string end_reason(const Value& terminated) {
  if (!terminated["reason"].text().empty()) return terminated["reason"].string();
  if (std::int64_t signal = terminated["signal"].integer(); signal != 0) return "Signal:" + std::to_string(signal);
  return "ExitCode:" + std::to_string(terminated["exitCode"].integer());
}

/// Walks over a pod once and gathers what its row shows.
class PodSummary {
 public:
  explicit PodSummary(const Value& pod) : pod_(pod), spec_(pod["spec"]), status_(pod["status"]) {
    total_ = static_cast<std::int64_t>(spec_["containers"].size());
    for (Value container : spec_["initContainers"]) total_ += restartable(container);
    start_with_phase();
    bool initializing = read_init_containers();
    if (!initializing || is_true("Initialized")) read_containers();
    note_deletion();
  }

  std::string ready() const { return std::to_string(ready_) + "/" + std::to_string(total_); }
  const std::string& reason() const { return reason_; }
  const Restarts& restarts() const { return restarts_; }

 private:
  /// A sidecar: an init container that keeps running.
  static bool restartable(const Value& container) { return container["restartPolicy"].text() == "Always"; }

  bool is_true(std::string_view condition) const {
    return kube::find_condition(status_["conditions"], condition)["status"].text() == "True";
  }

  void start_with_phase() {
    reason_ = status_["phase"].string();
    if (!status_["reason"].text().empty()) reason_ = status_["reason"].string();
    for (Value condition : status_["conditions"])
      if (condition["type"].text() == "PodScheduled" && condition["reason"].text() == "SchedulingGated")
        reason_ = "SchedulingGated";
  }

  Value init_container(std::string_view name) const {
    Value found;
    for (Value container : spec_["initContainers"])
      if (container["name"].text() == name) found = container;
    return found;
  }

  /// True when an init container is not through yet: then it gives the reason.
  bool read_init_containers() {
    std::size_t index = 0;
    for (Value status : status_["initContainerStatuses"]) {
      restarts_.add(status);
      bool sidecar = restartable(init_container(status["name"].text()));
      if (sidecar) sidecar_restarts_.add(status);
      Value terminated = status["state"]["terminated"];
      bool done = terminated && terminated["exitCode"].integer() == 0;
      bool started = sidecar && status["started"].boolean();
      if (!done && !started) {
        reason_ = init_reason(status, index);
        return true;
      }
      if (!done && status["ready"].boolean()) ++ready_;
      ++index;
    }
    return false;
  }

  std::string init_reason(const Value& status, std::size_t index) const {
    Value terminated = status["state"]["terminated"];
    if (terminated) return "Init:" + end_reason(terminated);
    std::string waiting = status["state"]["waiting"]["reason"].string();
    if (!waiting.empty() && waiting != "PodInitializing") return "Init:" + waiting;
    return "Init:" + std::to_string(index) + "/" + std::to_string(spec_["initContainers"].size());
  }

  void read_containers() {
    restarts_ = sidecar_restarts_;
    std::string error;
    bool running = false;
    std::vector<Value> statuses;
    for (Value status : status_["containerStatuses"]) statuses.push_back(status);
    // From the last to the first, so that the first container has the last word.
    for (auto status = statuses.rbegin(); status != statuses.rend(); ++status) {
      restarts_.add(*status);
      Value state = (*status)["state"];
      if (!state["waiting"]["reason"].text().empty()) {
        reason_ = state["waiting"]["reason"].string();
      } else if (state["terminated"]) {
        reason_ = end_reason(state["terminated"]);
        if (state["terminated"]["exitCode"].integer() != 0) error = reason_;
      } else if ((*status)["ready"].boolean() && state["running"]) {
        running = true;
        ++ready_;
      }
    }
    if (reason_ == "Completed") soften_completed(running, error);
  }

  /// One container has completed, but the pod may be running, failed or unready for the others.
  void soften_completed(bool running, const std::string& error) {
    if (running && is_true("Ready"))
      reason_ = "Running";
    else if (!error.empty())
      reason_ = error;
    else if (running)
      reason_ = "NotReady";
  }

  void note_deletion() {
    if (pod_["metadata"]["deletionTimestamp"].text().empty()) return;
    std::string_view phase = status_["phase"].text();
    if (status_["reason"].text() == "NodeLost")
      reason_ = "Unknown";
    else if (phase != "Succeeded" && phase != "Failed")
      reason_ = "Terminating";
  }

  Value pod_, spec_, status_;
  std::string reason_;
  std::int64_t ready_ = 0, total_ = 0;
  Restarts restarts_, sidecar_restarts_;
};

std::string readiness_gates(const Value& pod) {
  Value gates = pod["spec"]["readinessGates"];
  if (gates.empty()) return std::string(kNone);
  std::size_t met = 0;
  for (Value gate : gates)
    met += kube::find_condition(pod["status"]["conditions"], gate["conditionType"].text())["status"].text() == "True";
  return std::to_string(met) + "/" + std::to_string(gates.size());
}

void pod_cells(const Value& pod, WallTime now, Value row) {
  PodSummary summary(pod);
  Cells cells(pod, now, row);
  cells.name().text(summary.ready()).text(summary.reason()).text(summary.restarts().text(now)).age();
  std::string_view address = pod["status"]["podIP"].text();  // the older field wins where both are set
  if (address.empty()) address = pod["status"]["podIPs"].at(0)["ip"].text();
  cells.text_or(address, kNone);
  cells.text_or(pod["spec"]["nodeName"].text(), kNone);
  cells.text_or(pod["status"]["nominatedNodeName"].text(), kNone).text(readiness_gates(pod));
}

void pod_conditions(const Value& pod, Value conditions) {
  std::string_view phase = pod["status"]["phase"].text();
  if (phase != "Succeeded" && phase != "Failed") return;
  Value completed = conditions.push_object();
  completed.put("type", "Completed");
  completed.put("status", "True");
  completed.put("reason", phase);
  completed.put("message", phase == "Failed" ? "The pod failed." : "The pod has completed successfully.");
}

constexpr Column kPodTemplateColumns[] = {
    kNameColumn,
    {"Containers", "string", "", "Names of the template's containers"},
    {"Images", "string", "", "Images of the template's containers"},
    {"Pod Labels", "string", "", "Labels that the template gives"},
};

void pod_template_cells(const Value& object, WallTime now, Value row) {
  Value pod = object["template"];
  Cells(object, now, row).name().containers(pod["spec"]["containers"]).text(labels_text(pod["metadata"]["labels"]));
}

constexpr Printer kPodPrinters[] = {
    {"", "pods", kPodColumns, pod_cells, pod_conditions},
    {"", "podtemplates", kPodTemplateColumns, pod_template_cells},
};

}  // namespace

std::span<const Printer> pod_printers() { return kPodPrinters; }

}  // namespace sublet::apiserver
