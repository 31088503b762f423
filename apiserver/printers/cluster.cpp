// What the cluster itself consists of: nodes, namespaces, events, leases, classes, flow control.
#include <cctype>
#include <set>

#include "apiserver/printers/cells.h"
#include "apiserver/printers/families.h"
#include "sublet/base/text.h"
#include "sublet/kube/conditions.h"

namespace sublet::apiserver {
namespace {

using schema::Value;

constexpr Column kNodeColumns[] = {
    kNameColumn,
    {"Status", "string", "", "Whether the node is ready and takes pods"},
    {"Roles", "string", "", "Roles of the node, from its labels"},
    kAgeColumn,
    {"Version", "string", "", "Version of the kubelet"},
    {"Internal-IP", "string", "", "Address inside the cluster", 1},
    {"External-IP", "string", "", "Address outside the cluster", 1},
    {"OS-Image", "string", "", "Operating system", 1},
    {"Kernel-Version", "string", "", "Kernel and architecture", 1},
    {"Container-Runtime", "string", "", "Container runtime and its version", 1},
};

std::string node_status(const Value& node) {
  // Conditions are unique by type, but upstream lets the last one win.
  Value ready;
  for (Value condition : node["status"]["conditions"])
    if (condition["type"].text() == "Ready") ready = condition;
  std::string made = "Unknown";
  if (ready) made = ready["status"].text() == "True" ? "Ready" : "NotReady";
  if (node["spec"]["unschedulable"].boolean()) made += ",SchedulingDisabled";
  return made;
}

std::string node_roles(const Value& node) {
  constexpr std::string_view kPrefix = "node-role.kubernetes.io/";
  std::set<std::string> roles;
  for (Value label : node["metadata"]["labels"]) {
    std::string_view key = label.key();
    if (key.starts_with(kPrefix) && key.size() > kPrefix.size()) roles.emplace(key.substr(kPrefix.size()));
    if (key == "kubernetes.io/role" && !label.text().empty()) roles.emplace(label.text());
  }
  return join(roles, ",");
}

std::string node_address(const Value& node, std::string_view type) {
  for (Value address : node["status"]["addresses"])
    if (address["type"].text() == type) return address["address"].string();
  return std::string(kNone);
}

std::string kernel_text(const Value& info) {
  std::string made = info["kernelVersion"].string();
  if (made.empty()) made = kUnknown;
  if (!info["architecture"].text().empty()) made += " (" + info["architecture"].string() + ")";
  return made;
}

void node_cells(const Value& node, WallTime now, Value row) {
  Value info = node["status"]["nodeInfo"];
  Cells cells(node, now, row);
  cells.name().text(node_status(node)).text_or(node_roles(node), kNone).age().text(info["kubeletVersion"].text());
  cells.text(node_address(node, "InternalIP")).text(node_address(node, "ExternalIP"));
  cells.text_or(info["osImage"].text(), kUnknown).text(kernel_text(info));
  cells.text_or(info["containerRuntimeVersion"].text(), kUnknown);
}

constexpr Column kNamespaceColumns[] = {
    kNameColumn, {"Status", "string", "", "Active, or Terminating while it is deleted"}, kAgeColumn};

void namespace_cells(const Value& object, WallTime now, Value row) {
  Cells(object, now, row).name().text(object["status"]["phase"].text()).age();
}

constexpr Column kEventColumns[] = {
    {"Last Seen", "string", "", "Time since it happened last"},
    {"Type", "string", "", "Normal or Warning"},
    {"Reason", "string", "", "Why, in one word"},
    {"Object", "string", "", "What it is about"},
    {"Subobject", "string", "", "Which part of the object", 1},
    {"Source", "string", "", "Component that reports it", 1},
    {"Message", "string", "", "What happened"},
    {"First Seen", "string", "", "Time since it happened first", 1},
    {"Count", "string", "", "How often it happened", 1},
    {"Name", "string", "name", "Name of the event", 1},
};

std::string event_object(const Value& involved) {
  std::string made = involved["kind"].string();
  for (char& c : made) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  if (!involved["name"].text().empty()) made += "/" + involved["name"].string();
  return made;
}

std::string event_source(const Value& event) {
  std::string component = event["source"]["component"].string(), host = event["source"]["host"].string();
  if (component.empty()) component = event["reportingComponent"].string();
  if (host.empty()) host = event["reportingInstance"].string();
  return host.empty() ? component : component + ", " + host;
}

/// The old API counts in the event and has two times; the new one has eventTime and a series.
struct EventTimes {
  std::string first, last;
  std::int64_t count;
};

EventTimes event_times(const Value& event, WallTime now) {
  EventTimes made;
  bool has_first = event["firstTimestamp"].is_string();
  made.first = age_of(has_first ? event["firstTimestamp"].text() : event["eventTime"].text(), now);
  made.last = event["lastTimestamp"].is_string() ? age_of(event["lastTimestamp"].text(), now) : made.first;
  made.count = event["count"].integer();
  if (Value series = event["series"]; series.is_object()) {
    made.last = age_of(series["lastObservedTime"].text(), now);
    made.count = series["count"].integer();
  } else if (made.count == 0) {
    made.count = 1;
  }
  return made;
}

void event_cells(const Value& event, WallTime now, Value row) {
  EventTimes times = event_times(event, now);
  Value involved = event["involvedObject"];
  Cells cells(event, now, row);
  cells.text(times.last).text(event["type"].text()).text(event["reason"].text()).text(event_object(involved));
  cells.text(involved["fieldPath"].text()).text(event_source(event)).text(trimmed(event["message"].text()));
  cells.text(times.first).number(times.count).name();
}

constexpr Column kLeaseColumns[] = {kNameColumn, {"Holder", "string", "", "Who holds the lease"}, kAgeColumn};

void lease_cells(const Value& object, WallTime now, Value row) {
  Cells(object, now, row).name().text(object["spec"]["holderIdentity"].text()).age();
}

constexpr Column kCandidateColumns[] = {
    kNameColumn,
    {"LeaseName", "string", "", "Lease that it could hold"},
    {"BinaryVersion", "string", "", "Version of the candidate"},
    {"EmulationVersion", "string", "", "Version that the candidate emulates"},
    kAgeColumn,
};

void candidate_cells(const Value& object, WallTime now, Value row) {
  Value spec = object["spec"];
  Cells cells(object, now, row);
  cells.name().text(spec["leaseName"].text()).text(spec["binaryVersion"].text());
  cells.text(spec["emulationVersion"].text()).age();
}

constexpr Column kPriorityClassColumns[] = {
    kNameColumn,
    {"Value", "integer", "", "Priority of its pods"},
    {"Global-Default", "boolean", "", "Whether pods without a class get this one"},
    kAgeColumn,
    {"PreemptionPolicy", "string", "", "Whether its pods may push out others"},
};

void priority_class_cells(const Value& object, WallTime now, Value row) {
  Cells cells(object, now, row);
  cells.name().number(object["value"].integer()).flag(object["globalDefault"].boolean()).age();
  cells.text(object["preemptionPolicy"].text());
}

constexpr Column kRuntimeClassColumns[] = {
    kNameColumn, {"Handler", "string", "", "Handler that runs its pods"}, kAgeColumn};

void runtime_class_cells(const Value& object, WallTime now, Value row) {
  Cells(object, now, row).name().text(object["handler"].text()).age();
}

constexpr Column kComponentColumns[] = {
    kNameColumn,
    {"Status", "string", "", "Whether the component is healthy"},
    {"Message", "string", "", "What it says"},
    {"Error", "string", "", "What went wrong"},
};

void component_cells(const Value& object, WallTime now, Value row) {
  Value healthy = kube::find_condition(object["conditions"], "Healthy");
  std::string_view status = "Unknown";
  if (healthy) status = healthy["status"].text() == "True" ? "Healthy" : "Unhealthy";
  Cells(object, now, row).name().text(status).text(healthy["message"].text()).text(healthy["error"].text());
}

constexpr Column kFlowSchemaColumns[] = {
    kNameColumn,
    {"PriorityLevel", "string", "", "Priority level of its requests"},
    {"MatchingPrecedence", "string", "", "Order among the flow schemas, lowest first"},
    {"DistinguisherMethod", "string", "", "What tells flows apart"},
    kAgeColumn,
    {"MissingPL", "string", "", "Whether the priority level does not exist"},
};

void flow_schema_cells(const Value& object, WallTime now, Value row) {
  Value spec = object["spec"];
  Cells cells(object, now, row);
  cells.name().text(spec["priorityLevelConfiguration"]["name"].text()).number(spec["matchingPrecedence"].integer());
  Value method = spec["distinguisherMethod"];
  cells.text(method.is_object() ? method["type"].text() : kNone).age();
  Value dangling = kube::find_condition(object["status"]["conditions"], "Dangling");
  cells.text(dangling ? dangling["status"].text() : "?");
}

constexpr Column kPriorityLevelColumns[] = {
    kNameColumn,
    {"Type", "string", "", "Limited or Exempt"},
    {"NominalConcurrencyShares", "string", "", "Share of the server's seats"},
    {"Queues", "string", "", "Number of queues"},
    {"HandSize", "string", "", "Queues that one flow may use"},
    {"QueueLengthLimit", "string", "", "Most requests in one queue"},
    kAgeColumn,
};

void priority_level_cells(const Value& object, WallTime now, Value row) {
  Value limited = object["spec"]["limited"], queuing = limited["limitResponse"]["queuing"];
  Cells cells(object, now, row);
  auto number_or_none = [&](bool shown, const Value& number) {
    if (shown)
      cells.number(number.integer());
    else
      cells.text(kNone);
  };
  cells.name().text(object["spec"]["type"].text());
  number_or_none(limited.is_object(), limited["nominalConcurrencyShares"]);
  for (std::string_view member : {"queues", "handSize", "queueLengthLimit"})
    number_or_none(queuing.is_object(), queuing[member]);
  cells.age();
}

constexpr Printer kClusterPrinters[] = {
    {"", "nodes", kNodeColumns, node_cells},
    {"", "namespaces", kNamespaceColumns, namespace_cells},
    {"", "events", kEventColumns, event_cells},
    {"", "componentstatuses", kComponentColumns, component_cells},
    {"coordination.k8s.io", "leases", kLeaseColumns, lease_cells},
    {"coordination.k8s.io", "leasecandidates", kCandidateColumns, candidate_cells},
    {"scheduling.k8s.io", "priorityclasses", kPriorityClassColumns, priority_class_cells},
    {"node.k8s.io", "runtimeclasses", kRuntimeClassColumns, runtime_class_cells},
    {"flowcontrol.apiserver.k8s.io", "flowschemas", kFlowSchemaColumns, flow_schema_cells},
    {"flowcontrol.apiserver.k8s.io", "prioritylevelconfigurations", kPriorityLevelColumns, priority_level_cells},
};

}  // namespace

std::span<const Printer> cluster_printers() { return kClusterPrinters; }

}  // namespace sublet::apiserver
