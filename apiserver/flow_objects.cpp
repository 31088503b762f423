#include "sublet/apiserver/flow_objects.h"

namespace sublet::apiserver {
namespace {

using schema::Document;
using schema::Value;

constexpr std::string_view kFlowAutoUpdate = "apf.kubernetes.io/autoupdate-spec";

// Levels
// ---------------------------------------------------------------------------------------------------------------

struct LevelRow {
  std::string_view name;
  bool mandatory;
  int shares, lendable;
  int queues, hand;  // 0: what finds no seat is refused; without shares: exempt
};
constexpr int kLength = 50;
constexpr LevelRow kLevels[] = {
    {"catch-all", true, 5, 0, 0, 0},          {"exempt", true, 0, 0, 0, 0},
    {"system", false, 30, 33, 64, 6},         {"node-high", false, 40, 25, 64, 6},
    {"leader-election", false, 10, 0, 16, 4}, {"workload-high", false, 40, 50, 128, 6},
    {"workload-low", false, 100, 90, 128, 6}, {"global-default", false, 20, 50, 128, 6},
};

void put_level(Value spec, const LevelRow& row) {
  const bool exempt = row.shares == 0;
  spec.put("type", exempt ? "Exempt" : "Limited");
  Value form = spec.object(exempt ? "exempt" : "limited");
  form.put("nominalConcurrencyShares", row.shares);
  form.put("lendablePercent", row.lendable);
  if (exempt) return;
  Value response = form.object("limitResponse");
  response.put("type", row.queues > 0 ? "Queue" : "Reject");
  if (row.queues == 0) return;
  Value queuing = response.object("queuing");
  queuing.put("queues", row.queues);
  queuing.put("handSize", row.hand);
  queuing.put("queueLengthLimit", kLength);
}

// Schemas
// --------------------------------------------------------------------------------------------------------------

/// Whom a schema is about; and what of theirs: everything unless a row says less.
enum class Who { masters, everybody, nodes, kube_system, electors, controller_manager, scheduler, accounts };
enum class What { everything, probes, node_objects, leases };

struct SchemaRow {
  std::string_view name, level;
  bool mandatory;
  int precedence;
  std::string_view distinguisher;
  Who who;
  What what;
};
constexpr SchemaRow kSchemas[] = {
    {"exempt", "exempt", true, 1, "", Who::masters, What::everything},
    {"catch-all", "catch-all", true, 10000, "ByUser", Who::everybody, What::everything},
    {"system-nodes", "system", false, 500, "ByUser", Who::nodes, What::everything},
    {"system-node-high", "node-high", false, 400, "ByUser", Who::nodes, What::node_objects},
    {"probes", "exempt", false, 2, "", Who::everybody, What::probes},
    {"system-leader-election", "leader-election", false, 100, "ByUser", Who::electors, What::leases},
    {"kube-controller-manager", "workload-high", false, 800, "ByNamespace", Who::controller_manager, What::everything},
    {"kube-scheduler", "workload-high", false, 800, "ByNamespace", Who::scheduler, What::everything},
    {"kube-system-service-accounts", "workload-high", false, 900, "ByNamespace", Who::kube_system, What::everything},
    {"service-accounts", "workload-low", false, 9000, "ByUser", Who::accounts, What::everything},
    {"global-default", "global-default", false, 9900, "ByUser", Who::everybody, What::everything},
};

struct SubjectRow {
  Who who;
  std::string_view kind, name;
};
constexpr SubjectRow kFlowSubjects[] = {
    {Who::masters, "Group", "system:masters"},
    {Who::everybody, "Group", "system:unauthenticated"},
    {Who::everybody, "Group", "system:authenticated"},
    {Who::nodes, "Group", "system:nodes"},
    {Who::kube_system, "ServiceAccount", "*"},
    {Who::electors, "User", "system:kube-controller-manager"},
    {Who::electors, "User", "system:kube-scheduler"},
    {Who::electors, "ServiceAccount", "*"},
    {Who::controller_manager, "User", "system:kube-controller-manager"},
    {Who::scheduler, "User", "system:kube-scheduler"},
    {Who::accounts, "Group", "system:serviceaccounts"},
};

void put_flow_subject(Value subject, const SubjectRow& row) {
  const bool account = row.kind == "ServiceAccount";
  subject.put("kind", row.kind);
  Value form = subject.object(account ? "serviceAccount" : row.kind == "User" ? "user" : "group");
  if (account) form.put("namespace", "kube-system");
  form.put("name", row.name);
}

struct RuleRow {
  What what;
  std::vector<std::string_view> verbs;
  std::string_view group;
  std::vector<std::string_view> resources;  // or
  std::vector<std::string_view> paths;
  bool cluster_scope;
};
const RuleRow kFlowRules[] = {
    {What::everything, {"*"}, "*", {"*"}, {}, true},
    {What::everything, {"*"}, "", {}, {"*"}, false},
    {What::probes, {"get"}, "", {}, {"/healthz", "/readyz", "/livez"}, false},
    {What::node_objects, {"*"}, "", {"nodes", "nodes/status"}, {}, true},
    {What::node_objects, {"*"}, "coordination.k8s.io", {"leases"}, {}, false},
    {What::leases, {"get", "create", "update"}, "coordination.k8s.io", {"leases"}, {}, false},
};

void put_all(Value list, const std::vector<std::string_view>& entries) {
  for (const auto entry : entries) list.push(entry);
}

void put_rule(Value rules, const RuleRow& row) {
  const bool of_paths = !row.paths.empty();
  Value rule = rules.array(of_paths ? "nonResourceRules" : "resourceRules").push_object();
  put_all(rule.array("verbs"), row.verbs);
  if (of_paths) return put_all(rule.array("nonResourceURLs"), row.paths);
  rule.array("apiGroups").push(row.group);
  put_all(rule.array("resources"), row.resources);
  if (row.cluster_scope) rule.put("clusterScope", true);
  rule.array("namespaces").push("*");
}

void put_schema(Value spec, const SchemaRow& row) {
  spec.object("priorityLevelConfiguration").put("name", row.level);
  spec.put("matchingPrecedence", row.precedence);
  if (!row.distinguisher.empty()) spec.object("distinguisherMethod").put("type", row.distinguisher);
  Value rules = spec.array("rules").push_object();
  for (const auto& subject : kFlowSubjects)
    if (subject.who == row.who) put_flow_subject(rules.array("subjects").push_object(), subject);
  for (const auto& rule : kFlowRules)
    if (rule.what == row.what) put_rule(rules, rule);
}

FlowObject make_flow_object(std::string_view resource, std::string_view kind, std::string_view name, bool mandatory) {
  FlowObject made{resource, std::string(name), mandatory, Document::object()};
  Value root = made.object.root();
  root.put("apiVersion", std::string(kFlowControlGroup) + "/" + std::string(kFlowControlVersion));
  root.put("kind", kind);
  Value metadata = root.object("metadata");
  metadata.put("name", name);
  metadata.object("annotations").put(kFlowAutoUpdate, "true");
  return made;
}

bool wants_our_spec(const Value& stored, const FlowObject& wanted) {
  if (wanted.mandatory) return true;
  const auto said = stored["metadata"]["annotations"][kFlowAutoUpdate].text();
  return said == "true" || (said.empty() && stored["metadata"]["generation"].integer() == 1);
}

}  // namespace

std::vector<FlowObject> flow_objects() {
  std::vector<FlowObject> all;
  for (const auto& row : kLevels) {
    all.push_back(make_flow_object(kPriorityLevels, "PriorityLevelConfiguration", row.name, row.mandatory));
    put_level(all.back().object.root().object("spec"), row);
  }
  for (const auto& row : kSchemas) {
    all.push_back(make_flow_object(kFlowSchemas, "FlowSchema", row.name, row.mandatory));
    put_schema(all.back().object.root().object("spec"), row);
  }
  return all;
}

bool restore_flow_object(Value stored, const FlowObject& wanted) {
  const bool ours = wants_our_spec(stored, wanted);
  const std::string_view says = ours ? "true" : "false";
  Value annotations = stored.object("metadata").object("annotations");
  const bool annotated = annotations[kFlowAutoUpdate].text() == says;
  if (!annotated) annotations.put(kFlowAutoUpdate, says);
  const Value spec = wanted.object["spec"];
  if (!ours || stored["spec"].equals(spec)) return !annotated;
  stored.put("spec", spec);
  return true;
}

}  // namespace sublet::apiserver
