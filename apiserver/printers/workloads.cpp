// Controllers of pods, and what scales and guards them.
#include <cctype>

#include "apiserver/printers/cells.h"
#include "apiserver/printers/families.h"
#include "sublet/kube/conditions.h"
#include "sublet/kube/selector_text.h"

namespace sublet::apiserver {
namespace {

using schema::Value;

std::string fraction(std::int64_t part, std::int64_t whole) {
  return std::to_string(part) + "/" + std::to_string(whole);
}

constexpr Column kDeploymentColumns[] = {
    kNameColumn,
    {"Ready", "string", "", "Pods that are ready, of those wanted"},
    {"Up-to-date", "string", "", "Pods of the newest template"},
    {"Available", "string", "", "Pods that have been ready for long enough"},
    kAgeColumn,
    kContainersColumn,
    kImagesColumn,
    kSelectorColumn,
};

void deployment_cells(const Value& object, WallTime now, Value row) {
  Value spec = object["spec"], status = object["status"];
  Cells cells(object, now, row);
  cells.name().text(fraction(status["readyReplicas"].integer(), spec["replicas"].integer()));
  cells.number(status["updatedReplicas"].integer()).number(status["availableReplicas"].integer()).age();
  cells.containers(spec.path("template.spec.containers")).text(kube::selector_text(spec["selector"]));
}

constexpr Column kReplicaSetColumns[] = {
    kNameColumn,
    {"Desired", "integer", "", "Pods that are wanted"},
    {"Current", "integer", "", "Pods that exist"},
    {"Ready", "integer", "", "Pods that are ready"},
    kAgeColumn,
    kContainersColumn,
    kImagesColumn,
    kSelectorColumn,
};

void replica_set_start(Cells& cells, const Value& object) {
  Value spec = object["spec"], status = object["status"];
  cells.name().number(spec["replicas"].integer()).number(status["replicas"].integer());
  cells.number(status["readyReplicas"].integer()).age().containers(spec.path("template.spec.containers"));
}

void replica_set_cells(const Value& object, WallTime now, Value row) {
  Cells cells(object, now, row);
  replica_set_start(cells, object);
  cells.text(selector_or_none(object["spec"]["selector"]));
}

void replication_controller_cells(const Value& object, WallTime now, Value row) {
  Cells cells(object, now, row);
  replica_set_start(cells, object);
  cells.text(labels_text(object["spec"]["selector"]));
}

constexpr Column kStatefulSetColumns[] = {
    kNameColumn,   {"Ready", "string", "", "Pods that are ready, of those wanted"}, kAgeColumn, kContainersColumn,
    kImagesColumn,
};

void stateful_set_cells(const Value& object, WallTime now, Value row) {
  Value spec = object["spec"];
  Cells cells(object, now, row);
  cells.name().text(fraction(object["status"]["readyReplicas"].integer(), spec["replicas"].integer())).age();
  cells.containers(spec.path("template.spec.containers"));
}

constexpr Column kDaemonSetColumns[] = {
    kNameColumn,
    {"Desired", "integer", "", "Nodes that should run the pod"},
    {"Current", "integer", "", "Nodes that run it and should"},
    {"Ready", "integer", "", "Nodes where it is ready"},
    {"Up-to-date", "integer", "", "Nodes that run the newest template"},
    {"Available", "integer", "", "Nodes where it has been ready for long enough"},
    {"Node Selector", "string", "", "Labels of the nodes that should run it"},
    kAgeColumn,
    kContainersColumn,
    kImagesColumn,
    kSelectorColumn,
};

void daemon_set_cells(const Value& object, WallTime now, Value row) {
  Value spec = object["spec"], status = object["status"];
  Cells cells(object, now, row);
  cells.name();
  for (std::string_view count :
       {"desiredNumberScheduled", "currentNumberScheduled", "numberReady", "updatedNumberScheduled", "numberAvailable"})
    cells.number(status[count].integer());
  cells.text(labels_text(spec.path("template.spec.nodeSelector"))).age();
  cells.containers(spec.path("template.spec.containers")).text(selector_or_none(spec["selector"]));
}

constexpr Column kJobColumns[] = {
    kNameColumn,
    {"Status", "string", "", "Whether it runs, is suspended, or how it ended"},
    {"Completions", "string", "", "Pods that succeeded, of those wanted"},
    {"Duration", "string", "", "Time that it took, or takes so far"},
    kAgeColumn,
    kContainersColumn,
    kImagesColumn,
    kSelectorColumn,
};

/// Conditions and what they are called, first match first; deletion comes between the final ones and the rest.
struct JobStateText {
  std::string_view condition, text;
};
constexpr JobStateText kJobEnds[] = {{"Complete", "Complete"}, {"Failed", "Failed"}};
constexpr JobStateText kJobStates[] = {
    {"Suspended", "Suspended"}, {"FailureTarget", "FailureTarget"}, {"SuccessCriteriaMet", "SuccessCriteriaMet"}};

std::string_view job_state(const Value& object) {
  Value conditions = object["status"]["conditions"];
  auto holds = [&](std::string_view type) { return kube::find_condition(conditions, type)["status"].text() == "True"; };
  for (const JobStateText& state : kJobEnds)
    if (holds(state.condition)) return state.text;
  if (!object["metadata"]["deletionTimestamp"].text().empty()) return "Terminating";
  for (const JobStateText& state : kJobStates)
    if (holds(state.condition)) return state.text;
  return "Running";
}

std::string job_completions(const Value& object) {
  std::int64_t succeeded = object["status"]["succeeded"].integer();
  Value spec = object["spec"];
  if (spec["completions"].is_integer()) return fraction(succeeded, spec["completions"].integer());
  std::int64_t parallelism = spec["parallelism"].integer();
  return fraction(succeeded, 1) + (parallelism > 1 ? " of " + std::to_string(parallelism) : "");
}

std::string job_duration(const Value& status, WallTime now) {
  auto start = parse_time(status["startTime"].text());
  if (!start) return "";
  auto end = parse_time(status["completionTime"].text());
  return human_duration(std::chrono::duration_cast<std::chrono::seconds>(end.value_or(now) - *start));
}

void job_cells(const Value& object, WallTime now, Value row) {
  Cells cells(object, now, row);
  cells.name().text(job_state(object)).text(job_completions(object)).text(job_duration(object["status"], now)).age();
  cells.containers(object.path("spec.template.spec.containers")).text(selector_or_none(object["spec"]["selector"]));
}

constexpr Column kCronJobColumns[] = {
    kNameColumn,
    {"Schedule", "string", "", "When jobs are made, as cron writes it"},
    {"Timezone", "string", "", "Time zone of the schedule"},
    {"Suspend", "boolean", "", "Whether it makes no jobs for now"},
    {"Active", "integer", "", "Jobs that run now"},
    {"Last Schedule", "string", "", "Time since the last job was made"},
    kAgeColumn,
    kContainersColumn,
    kImagesColumn,
    kSelectorColumn,
};

std::string_view optional_flag(const Value& flag) {
  if (!flag.is_boolean()) return kUnset;
  return flag.boolean() ? "True" : "False";
}

void cron_job_cells(const Value& object, WallTime now, Value row) {
  Value spec = object["spec"], status = object["status"];
  Cells cells(object, now, row);
  cells.name().text(spec["schedule"].text()).text(spec["timeZone"].text(kNone)).text(optional_flag(spec["suspend"]));
  cells.number(static_cast<std::int64_t>(status["active"].size()));
  if (status["lastScheduleTime"].is_string())
    cells.since(status["lastScheduleTime"]);
  else
    cells.text(kNone);
  Value job = spec["jobTemplate"]["spec"];
  cells.age().containers(job.path("template.spec.containers")).text(selector_or_none(job["selector"]));
}

constexpr Column kAutoscalerColumns[] = {
    kNameColumn,
    {"Reference", "string", "", "What it scales"},
    {"Targets", "string", "", "Measured and wanted values"},
    {"MinPods", "string", "", "Fewest pods"},
    {"MaxPods", "string", "", "Most pods"},
    {"Replicas", "string", "", "Pods now"},
    kAgeColumn,
};

/// How one type of metric is shown.
struct MetricForm {
  std::string_view type, member;
  bool named = false;         // "cpu: " before the values, and percentages
  bool average_only = false;  // there is no other target
};
constexpr MetricForm kMetricForms[] = {
    {.type = "External", .member = "external"},
    {.type = "Pods", .member = "pods", .average_only = true},
    {.type = "Object", .member = "object"},
    {.type = "Resource", .member = "resource", .named = true},
    {.type = "ContainerResource", .member = "containerResource", .named = true},
};

std::string percentage(const Value& value, std::string_view otherwise) {
  return value.is_integer() ? std::to_string(value.integer()) + "%" : std::string(otherwise);
}

std::string metric_values(const MetricForm& form, const Value& target, const Value& current) {
  bool average = form.average_only || target.has("averageValue");
  if (average) {
    std::string suffix = form.named || form.average_only ? "" : " (avg)";
    return current["averageValue"].string(kUnknown) + "/" + target["averageValue"].string("0") + suffix;
  }
  if (form.named)
    return percentage(current["averageUtilization"], kUnknown) + "/" +
           percentage(target["averageUtilization"], "<auto>");
  return current["value"].string(kUnknown) + "/" + target["value"].string("0");
}

std::string metric_text(const Value& metric, const Value& status) {
  for (const MetricForm& form : kMetricForms) {
    if (metric["type"].text() != form.type) continue;
    Value source = metric[form.member];
    std::string values = metric_values(form, source["target"], status[form.member]["current"]);
    return (form.named ? source["name"].string() + ": " : "") + values;
  }
  return "<unknown type>";
}

std::string metrics_text(const Value& object) {
  std::vector<std::string> parts;
  Value statuses = object["status"]["currentMetrics"];
  for (Value metric : object["spec"]["metrics"]) parts.push_back(metric_text(metric, statuses.at(parts.size())));
  return parts.empty() ? std::string(kNone) : clipped(parts, 2, ", ");
}

void autoscaler_cells(const Value& object, WallTime now, Value row) {
  Value spec = object["spec"], target = spec["scaleTargetRef"];
  Cells cells(object, now, row);
  cells.name().text(target["kind"].string() + "/" + target["name"].string()).text(metrics_text(object));
  cells.text(spec["minReplicas"].is_integer() ? scalar_text(spec["minReplicas"]) : std::string(kUnset));
  cells.number(spec["maxReplicas"].integer()).number(object["status"]["currentReplicas"].integer()).age();
}

constexpr Column kBudgetColumns[] = {
    kNameColumn,
    {"Min Available", "string", "", "Pods that must stay"},
    {"Max Unavailable", "string", "", "Pods that may be away"},
    {"Allowed Disruptions", "integer", "", "Pods that may be evicted now"},
    kAgeColumn,
};

std::string limit_text(const Value& limit) {
  return limit.is_string() || limit.is_integer() ? scalar_text(limit) : "N/A";
}

void budget_cells(const Value& object, WallTime now, Value row) {
  Value spec = object["spec"];
  Cells cells(object, now, row);
  cells.name().text(limit_text(spec["minAvailable"])).text(limit_text(spec["maxUnavailable"]));
  cells.number(object["status"]["disruptionsAllowed"].integer()).age();
}

constexpr Column kRevisionColumns[] = {
    kNameColumn,
    {"Controller", "string", "", "Owner of the revision"},
    {"Revision", "string", "", "Number of the revision"},
    kAgeColumn,
};

/// "daemonset.apps/name" of the owner that is the controller.
std::string controller_text(const Value& object) {
  for (Value owner : object["metadata"]["ownerReferences"]) {
    if (!owner["controller"].boolean()) continue;
    std::string version = owner["apiVersion"].string(), kind = owner["kind"].string();
    std::size_t slash = version.find('/');
    if (slash != std::string::npos) kind += "." + version.substr(0, slash);
    for (char& c : kind) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return kind + "/" + owner["name"].string();
  }
  return std::string(kNone);
}

void revision_cells(const Value& object, WallTime now, Value row) {
  Cells(object, now, row).name().text(controller_text(object)).number(object["revision"].integer()).age();
}

constexpr Column kScaleColumns[] = {
    {"Name", "string", "", "Name of the object that is scaled"},
    {"Desired", "integer", "", "Pods that are wanted"},
    {"Available", "integer", "", "Pods that exist"},
    kAgeColumn,
};

void scale_cells(const Value& object, WallTime now, Value row) {
  Cells cells(object, now, row);
  cells.name().number(object["spec"]["replicas"].integer()).number(object["status"]["replicas"].integer()).age();
}

constexpr Printer kWorkloadPrinters[] = {
    {"apps", "deployments", kDeploymentColumns, deployment_cells},
    {"apps", "replicasets", kReplicaSetColumns, replica_set_cells},
    {"", "replicationcontrollers", kReplicaSetColumns, replication_controller_cells},
    {"apps", "statefulsets", kStatefulSetColumns, stateful_set_cells},
    {"apps", "daemonsets", kDaemonSetColumns, daemon_set_cells},
    {"apps", "controllerrevisions", kRevisionColumns, revision_cells},
    {"batch", "jobs", kJobColumns, job_cells},
    {"batch", "cronjobs", kCronJobColumns, cron_job_cells},
    {"autoscaling", "horizontalpodautoscalers", kAutoscalerColumns, autoscaler_cells},
    {"autoscaling", "scales", kScaleColumns, scale_cells},
    {"policy", "poddisruptionbudgets", kBudgetColumns, budget_cells},
};

}  // namespace

std::span<const Printer> workload_printers() { return kWorkloadPrinters; }

}  // namespace sublet::apiserver
