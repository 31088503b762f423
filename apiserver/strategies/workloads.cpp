// Workload kinds (apps, batch, ReplicationController).

#include <algorithm>
#include <charconv>
#include <set>
#include <utility>

#include "apiserver/strategies/default_facts.h"
#include "apiserver/strategies/rows.h"
#include "apiserver/validation/field_rules.h"
#include "apiserver/validation/jobs.h"
#include "apiserver/validation/names.h"
#include "apiserver/validation/pod_spec.h"
#include "apiserver/validation/volume_sources.h"
#include "sublet/base/random.h"
#include "sublet/schema/engine.h"

namespace sublet::apiserver {
namespace {

using schema::Value;

constexpr DefaultFact kDeployment[] = {
    {"spec.replicas", "1"},
    {"spec.strategy.type", "\"RollingUpdate\""},
    {"spec.strategy.rollingUpdate.maxUnavailable", "\"25%\"", "spec.strategy.type", "RollingUpdate", false, true},
    {"spec.strategy.rollingUpdate.maxSurge", "\"25%\"", "spec.strategy.type", "RollingUpdate", false, true},
    {"spec.revisionHistoryLimit", "10"},
    {"spec.progressDeadlineSeconds", "600"}};
constexpr DefaultFact kReplicaSet[] = {{"spec.replicas", "1"}};
constexpr DefaultFact kStatefulSet[] = {
    {"spec.podManagementPolicy", "\"OrderedReady\""},
    {"spec.updateStrategy.rollingUpdate?.partition", "0", "spec.updateStrategy.type", "RollingUpdate"},
    {"spec.persistentVolumeClaimRetentionPolicy.whenDeleted", "\"Retain\""},
    {"spec.persistentVolumeClaimRetentionPolicy.whenScaled", "\"Retain\""},
    {"spec.replicas", "1"},
    {"spec.revisionHistoryLimit", "10"},
    {"spec.volumeClaimTemplates[].spec.volumeMode", "\"Filesystem\""},
    {"spec.volumeClaimTemplates[].status.phase", "\"Pending\""}};
constexpr DefaultFact kDaemonSet[] = {
    {"spec.updateStrategy.type", "\"RollingUpdate\""},
    {"spec.updateStrategy.rollingUpdate.maxUnavailable", "1", "spec.updateStrategy.type", "RollingUpdate", false, true},
    {"spec.updateStrategy.rollingUpdate.maxSurge", "0", "spec.updateStrategy.type", "RollingUpdate", false, true},
    {"spec.updateStrategy.rollingUpdate?.maxUnavailable", "0", {}, {}, false, true},
    {"spec.updateStrategy.rollingUpdate?.maxSurge", "0", {}, {}, false, true},
    {"spec.revisionHistoryLimit", "10"}};
constexpr DefaultFact kJob[] = {{"spec.parallelism", "1"},
                                {"spec.backoffLimit", "6"},
                                {"spec.completionMode", "\"NonIndexed\""},
                                {"spec.suspend", "false"},
                                {"spec.podReplacementPolicy", "\"TerminatingOrFailed\""},
                                {"spec.manualSelector", "false"},
                                {"spec.podFailurePolicy?.rules[].onPodConditions[].status", "\"True\""}};
constexpr DefaultFact kCronJob[] = {
    {"spec.concurrencyPolicy", "\"Allow\""},
    {"spec.suspend", "false"},
    {"spec.successfulJobsHistoryLimit", "3"},
    {"spec.failedJobsHistoryLimit", "1"},
    {"spec.jobTemplate?.spec?.podFailurePolicy?.rules[].onPodConditions[].status", "\"True\""}};

void default_template(Value holder) {
  if (auto pod_template = holder["template"]) default_pod_spec(pod_template.object("spec"));
}

template <const auto& Facts>
void workload_defaults(Value object) {
  defaults_from<Facts>(object);
  default_template(object["spec"]);
}

/// Claim templates are of one kind, whatever they say.
void stateful_set_defaults(Value object) {
  for (auto claim : object["spec"]["volumeClaimTemplates"]) {
    claim.put("kind", "PersistentVolumeClaim");
    claim.put("apiVersion", "v1");
  }
  // Who names no way to update gets one with all that belongs to it.
  if (auto strategy = object.object("spec").object("updateStrategy"); strategy["type"].text().empty()) {
    strategy.put("type", "RollingUpdate");
    strategy.object("rollingUpdate");
  }
  workload_defaults<kStatefulSet>(object);
}

void copy_template_labels(Value object) {
  auto labels = object["spec"]["template"]["metadata"]["labels"];
  if (!labels.empty() && object["metadata"]["labels"].empty()) object.object("metadata").put("labels", labels);
}

void job_defaults(Value object) {
  auto spec = object.object("spec");
  if (spec["completions"].missing() && spec["parallelism"].missing()) spec.put("completions", 1);
  if (spec["backoffLimit"].missing() && spec.has("backoffLimitPerIndex")) spec.put("backoffLimit", 2147483647);
  if (spec["podReplacementPolicy"].missing() && spec.has("podFailurePolicy"))
    spec.put("podReplacementPolicy", "Failed");
  copy_template_labels(object);
  workload_defaults<kJob>(object);
}

void cron_job_defaults(Value object) {
  defaults_from<kCronJob>(object);
  default_template(object["spec"]["jobTemplate"]["spec"]);
}

void replication_controller_defaults(Value object) {
  auto labels = object["spec"]["template"]["metadata"]["labels"];
  if (!labels.empty() && object["spec"]["selector"].empty()) object.object("spec").put("selector", labels);
  copy_template_labels(object);
  workload_defaults<kReplicaSet>(object);
}

void pod_template_defaults(Value object) { default_template(object); }

bool expression_matches(const Value& expression, const Value& labels) {
  auto label = labels[expression["key"].text()];
  auto op = expression["operator"].text();
  bool listed = false;
  for (auto value : expression["values"]) listed |= label && value.text() == label.text();
  if (op == "In") return listed;
  if (op == "NotIn") return !listed;
  if (op == "Exists") return bool(label);
  return !label;
}

bool selector_matches(const Value& selector, const Value& labels) {
  for (auto label : selector["matchLabels"])
    if (!labels.has(label.key()) || labels[label.key()].text() != label.text()) return false;
  for (auto expression : selector["matchExpressions"])
    if (!expression_matches(expression, labels)) return false;
  return true;
}

void validate_counts(Causes& causes, const Value& spec) {
  for (auto field : {"replicas", "minReadySeconds", "revisionHistoryLimit", "progressDeadlineSeconds"})
    if (auto value = spec[field]) nonnegative(causes, child("spec", field), value.integer());
}

/// Whether Go's LabelSelectorAsSelector makes a selector of it; it takes some values that validation refuses.
bool is_readable_selector(const Value& selector) {
  Causes causes;
  for (auto label : selector["matchLabels"]) {
    if (!qualified_name(label.key()).empty() || !label_value(label.text()).empty()) return false;
  }
  auto expressions = schema::Document::object();
  expressions.root().put("matchExpressions", selector["matchExpressions"]);
  if (selector.has("matchExpressions")) validate_label_selector(causes, "", expressions.root());
  return causes.empty();
}

/// false: upstream does not look at the template then.
bool validate_selector(Causes& causes, const Value& object, std::string_view kind) {
  auto selector = object["spec"]["selector"];
  auto labels = object["spec"]["template"]["metadata"]["labels"];
  if (!selector.is_object()) {
    if (kind != "daemonset") required(causes, "spec.selector");
    invalid(causes, "spec.template.metadata.labels", labels, "`selector` does not match template `labels`");
    return true;
  }
  const auto before = causes.size();
  validate_label_selector(causes, "spec.selector", selector);
  // What cannot be read as a selector matches nothing, and the workload says so again in words of its own.
  if (causes.size() != before && !is_readable_selector(selector)) {
    const bool said = kind == "daemonset" || kind == "job";
    if (!said) invalid(causes, "spec.selector", selector, kind == "statefulset" ? "" : "invalid label selector");
    return said;
  }
  if (kind != "job" && selector["matchLabels"].empty() && selector["matchExpressions"].empty()) {
    invalid(causes, "spec.selector", selector, "empty selector is invalid for " + std::string(kind));
    return true;
  }
  if (!selector_matches(selector, labels))
    invalid(causes, "spec.template.metadata.labels", labels, "`selector` does not match template `labels`");
  return true;
}

// A StatefulSet's pods as its controller makes them: with a volume for each claim template, in the place of one of the
// same name, and with names that the controller gives.
schema::Document template_of_set(const Value& spec) {
  auto pod_template = schema::Document::copy_of(spec["template"]);
  auto pod_spec = pod_template.root().object("spec");
  for (auto field : {"hostname", "subdomain"}) pod_spec.erase(field);
  if (spec["volumeClaimTemplates"].empty()) return pod_template;
  // Those of the claims come first.
  const auto own = schema::Document::copy_of(pod_spec.array("volumes"));
  auto volumes = pod_spec.array("volumes");
  volumes.clear();
  std::set<std::string> claimed;
  for (auto claim : spec["volumeClaimTemplates"]) {
    const auto name = claim["metadata"]["name"].string();
    if (!claimed.insert(name).second) continue;
    auto volume = volumes.push_object();
    volume.put("name", name);
    volume.object("persistentVolumeClaim").put("claimName", name);
  }
  for (auto volume : own.root())
    if (!claimed.contains(volume["name"].string())) volumes.push(volume);
  return pod_template;
}

void validate_running_template(Causes& causes, const Value& object, std::string_view kind) {
  constexpr std::string_view kAlways[] = {"Always"};
  const auto own = object["spec"]["template"]["spec"];
  if (kind == "StatefulSet" &&
      (!object["spec"]["volumeClaimTemplates"].empty() || own.has("hostname") || own.has("subdomain")))
    validate_pod_template(causes, "spec.template", template_of_set(object["spec"]).root());
  else
    validate_pod_template(causes, "spec.template", object["spec"]["template"]);
  auto policy = object["spec"]["template"]["spec"]["restartPolicy"].text();
  if (policy != "Always") not_supported(causes, "spec.template.spec.restartPolicy", policy, kAlways);
  if (object["spec"]["template"]["spec"].has("activeDeadlineSeconds"))
    forbidden(causes, "spec.template.spec.activeDeadlineSeconds",
              "activeDeadlineSeconds in " + std::string(kind) + " is not Supported");
}

void validate_deployment_strategy(Causes& causes, const Value& spec) {
  constexpr static std::string_view kTypes[] = {"Recreate", "RollingUpdate"};
  const auto strategy = spec["strategy"], rolling = strategy["rollingUpdate"];
  const auto type = strategy["type"].text();
  const std::string at = "spec.strategy.rollingUpdate";
  if (type == "Recreate") {
    if (rolling) forbidden(causes, at, "may not be specified when strategy `type` is 'Recreate'");
  } else if (type != "RollingUpdate") {
    not_supported(causes, "spec.strategy", strategy, kTypes);
  } else {
    const auto unavailable = rolling["maxUnavailable"], surge = rolling["maxSurge"];
    validate_int_or_percent(causes, child(at, "maxUnavailable"), unavailable);
    validate_int_or_percent(causes, child(at, "maxSurge"), surge);
    if (int_or_percent(unavailable) == 0 && int_or_percent(surge) == 0)
      invalid(causes, child(at, "maxUnavailable"), unavailable, "may not be 0 when `maxSurge` is 0");
    validate_at_most_all(causes, child(at, "maxUnavailable"), unavailable);
  }
}

void validate_daemon_set_strategy(Causes& causes, const Value& spec) {
  constexpr static std::string_view kTypes[] = {"RollingUpdate", "OnDelete"};
  const auto strategy = spec["updateStrategy"], rolling = strategy["rollingUpdate"];
  const auto type = strategy["type"].text();
  if (type == "OnDelete") return;
  if (type != "RollingUpdate") return not_supported(causes, "spec.updateStrategy", strategy, kTypes);
  const std::string at = "spec.updateStrategy.rollingUpdate";
  for (auto field : {"maxUnavailable", "maxSurge"}) {
    validate_int_or_percent(causes, child(at, field), rolling[field]);
    validate_at_most_all(causes, child(at, field), rolling[field]);
  }
  const bool unavailable = int_or_percent(rolling["maxUnavailable"]) != 0,
             surge = int_or_percent(rolling["maxSurge"]) != 0;
  if (unavailable && surge)
    invalid(causes, child(at, "maxSurge"), rolling["maxSurge"], "may not be set when maxUnavailable is non-zero");
  if (!unavailable && !surge) required(causes, child(at, "maxUnavailable"), "cannot be 0 when maxSurge is 0");
}

void validate_stateful_set_strategy(Causes& causes, const Value& spec) {
  const auto strategy = spec["updateStrategy"], rolling = strategy["rollingUpdate"];
  const auto type = strategy["type"].text();
  const std::string at = "spec.updateStrategy.rollingUpdate";
  if (type == "OnDelete") {
    if (rolling) invalid(causes, at, rolling, "only allowed for updateStrategy 'RollingUpdate'");
  } else if (type != "RollingUpdate") {
    invalid(causes, "spec.updateStrategy", strategy, "must be 'RollingUpdate' or 'OnDelete'");
  } else {
    nonnegative(causes, child(at, "partition"), rolling["partition"].integer());
    const auto unavailable = rolling["maxUnavailable"];
    if (!unavailable) return;
    validate_int_or_percent(causes, child(at, "maxUnavailable"), unavailable);
    if (int_or_percent(unavailable) == 0) invalid(causes, child(at, "maxUnavailable"), unavailable, "cannot be 0");
    validate_at_most_all(causes, child(at, "maxUnavailable"), unavailable);
  }
}

// What extensions/v1beta1 had as spec.rollbackTo.
void validate_rollback(Causes& causes, std::string_view revision) {
  std::int64_t number = 0;
  std::from_chars(revision.data(), revision.data() + revision.size(), number);
  nonnegative(causes, "spec.rollback.version", number);
}

void validate_deployment(const Value& object, Causes& causes) {
  const auto spec = object["spec"];
  validate_counts(causes, spec);
  const bool judged = validate_selector(causes, object, "deployment");
  if (judged) validate_running_template(causes, object, "ReplicaSet");
  validate_deployment_strategy(causes, spec);
  validate_rollback(causes, object["metadata"]["annotations"]["deprecated.deployment.rollback.to"].text());
  if (const auto deadline = spec["progressDeadlineSeconds"];
      deadline && deadline.integer() <= spec["minReadySeconds"].integer())
    invalid(causes, "spec.progressDeadlineSeconds", deadline, "must be greater than minReadySeconds");
}

void validate_replica_set(const Value& object, Causes& causes) {
  validate_counts(causes, object["spec"]);
  if (validate_selector(causes, object, "deployment")) validate_running_template(causes, object, "ReplicaSet");
}

void validate_daemon_set(const Value& object, Causes& causes) {
  validate_counts(causes, object["spec"]);
  validate_selector(causes, object, "daemonset");
  validate_running_template(causes, object, "DaemonSet");
  validate_daemon_set_strategy(causes, object["spec"]);
}

constexpr std::string_view kRetentions[] = {"Retain", "Delete"};
constexpr FieldRule kStatefulSetRules[] = {
    {"spec.ordinals.start", is_nonnegative},
    choice_of("spec.persistentVolumeClaimRetentionPolicy.whenDeleted", kRetentions),
    choice_of("spec.persistentVolumeClaimRetentionPolicy.whenScaled", kRetentions)};

void validate_stateful_set(const Value& object, Causes& causes) {
  const auto spec = object["spec"];
  for (auto field : {"replicas", "minReadySeconds"}) nonnegative(causes, child("spec", field), spec[field].integer());
  if (const auto management = spec["podManagementPolicy"]; management.text().empty())
    required(causes, "spec.podManagementPolicy");
  else if (management.text() != "OrderedReady" && management.text() != "Parallel")
    invalid(causes, "spec.podManagementPolicy", management, "must be 'OrderedReady' or 'Parallel'");
  validate_stateful_set_strategy(causes, spec);
  check_rules(causes, "", object, kStatefulSetRules);
  if (validate_selector(causes, object, "statefulset")) validate_running_template(causes, object, "StatefulSet");
}

/// What no update can change, and so is judged once.
void validate_stateful_set_create(const Value& object, Causes& causes) {
  const auto spec = object["spec"];
  std::size_t index = 0;
  for (auto claim : spec["volumeClaimTemplates"])
    validate_claim_spec(causes, child(item("spec.volumeClaimTemplates", index++), "spec"), claim["spec"]);
  if (const auto service = spec["serviceName"].text(); !service.empty())
    invalid_each(causes, "spec.serviceName", service, dns1123_label(service));
}

// --- status ---

/// A count of a status that may not be greater than another.
struct CountOrder {
  std::string_view smaller, larger, words;
};
struct StatusFacts {
  std::string_view resource;
  std::span<const std::string_view> counts;  // not negative
  std::span<const CountOrder> orders;
};
constexpr std::string_view kOfReplicas = "cannot be greater than status.replicas";
constexpr std::string_view kDeploymentCounts[] = {"observedGeneration",  "replicas",          "updatedReplicas",
                                                  "readyReplicas",       "availableReplicas", "unavailableReplicas",
                                                  "terminatingReplicas", "collisionCount"};
constexpr CountOrder kDeploymentOrders[] = {
    {"updatedReplicas", "replicas", kOfReplicas},
    {"readyReplicas", "replicas", kOfReplicas},
    {"availableReplicas", "replicas", kOfReplicas},
    {"availableReplicas", "readyReplicas", "cannot be greater than readyReplicas"}};
constexpr std::string_view kReplicaSetCounts[] = {"replicas",          "fullyLabeledReplicas", "readyReplicas",
                                                  "availableReplicas", "observedGeneration",   "terminatingReplicas"};
constexpr CountOrder kReplicaSetOrders[] = {
    {"fullyLabeledReplicas", "replicas", kOfReplicas},
    {"readyReplicas", "replicas", kOfReplicas},
    {"availableReplicas", "replicas", kOfReplicas},
    {"availableReplicas", "readyReplicas", "cannot be greater than readyReplicas"}};
constexpr std::string_view kStatefulSetCounts[] = {"replicas",        "readyReplicas",     "currentReplicas",
                                                   "updatedReplicas", "availableReplicas", "observedGeneration",
                                                   "collisionCount"};
constexpr CountOrder kStatefulSetOrders[] = {
    {"readyReplicas", "replicas", kOfReplicas},
    {"currentReplicas", "replicas", kOfReplicas},
    {"updatedReplicas", "replicas", kOfReplicas},
    {"availableReplicas", "replicas", kOfReplicas},
    {"availableReplicas", "readyReplicas", "cannot be greater than status.readyReplicas"}};
constexpr std::string_view kDaemonSetCounts[] = {
    "currentNumberScheduled", "numberMisscheduled", "desiredNumberScheduled", "numberReady",   "observedGeneration",
    "updatedNumberScheduled", "numberAvailable",    "numberUnavailable",      "collisionCount"};
constexpr StatusFacts kStatusFacts[] = {{"deployments", kDeploymentCounts, kDeploymentOrders},
                                        {"replicasets", kReplicaSetCounts, kReplicaSetOrders},
                                        {"replicationcontrollers", kReplicaSetCounts, kReplicaSetOrders},
                                        {"statefulsets", kStatefulSetCounts, kStatefulSetOrders},
                                        {"daemonsets", kDaemonSetCounts, {}}};

template <std::size_t Row>
void validate_workload_status(const Value& object, const Value& old, Causes& causes) {
  const StatusFacts& facts = kStatusFacts[Row];
  const auto status = object["status"];
  for (auto field : facts.counts) nonnegative(causes, child("status", field), status[field].integer());
  for (const auto& order : facts.orders)
    if (status[order.smaller].integer() > status[order.larger].integer())
      invalid(causes, child("status", order.smaller), status[order.smaller].integer(), order.words);
  if (old["status"].has("collisionCount") &&
      status["collisionCount"].integer() < old["status"]["collisionCount"].integer())
    invalid(causes, "status.collisionCount", status["collisionCount"].integer(), "cannot be decremented");
}

void validate_job_template(Causes& causes, const std::string& path, const Value& pod_template) {
  constexpr static std::string_view kJobPolicies[] = {"OnFailure", "Never"};
  validate_pod_template(causes, path, pod_template);
  auto policy = pod_template["spec"]["restartPolicy"].text();
  if (policy.empty() || policy == "Always")
    required(causes, child(path, "spec.restartPolicy"), "valid values: \"OnFailure\", \"Never\"");
  else if (policy != kJobPolicies[0] && policy != kJobPolicies[1])
    not_supported(causes, child(path, "spec.restartPolicy"), policy, kJobPolicies);
}

constexpr std::string_view kJobNameLabels[] = {"batch.kubernetes.io/job-name", "job-name"};
constexpr std::string_view kJobUidLabels[] = {"batch.kubernetes.io/controller-uid", "controller-uid"};

/// A job whose selector was made for it keeps the labels that were made with it.
void validate_made_labels(Causes& causes, const Value& object) {
  const auto spec = object["spec"], metadata = object["metadata"];
  if (spec["manualSelector"].boolean() || !spec.has("selector")) return;
  const auto labels = spec["template"]["metadata"]["labels"];
  const std::string at = "spec.template.metadata.labels";
  auto expected = schema::Document::object();
  const auto expect = [&](std::string_view label, std::string_view wanted) {
    expected.root().put(label, wanted);
    if (!labels.has(label))
      required(causes, keyed(at, label), "must be '" + std::string(wanted) + "'");
    else if (labels[label].text() != wanted)
      invalid(causes, keyed(at, label), labels, "must be '" + std::string(wanted) + "'");
  };
  for (auto label : kJobUidLabels) expect(label, metadata["uid"].text());
  for (auto label : kJobNameLabels) expect(label, metadata["name"].text());
  if (is_readable_selector(spec["selector"]) && !selector_matches(spec["selector"], expected.root()))
    invalid(causes, "spec.selector", spec["selector"], "`selector` not auto-generated");
}

void validate_job(const Value& object, Causes& causes) {
  validate_made_labels(causes, object);
  validate_job_spec(causes, "spec", object["spec"]);
  validate_selector(causes, object, "job");
  validate_job_template(causes, "spec.template", object["spec"]["template"]);
}

void validate_cron_job(const Value& object, Causes& causes) {
  auto spec = object["spec"], job = spec["jobTemplate"]["spec"];
  validate_schedule(causes, spec);
  validate_job_spec(causes, "spec.jobTemplate.spec", job);
  if (job.has("selector"))
    invalid(causes, "spec.jobTemplate.spec.selector", job["selector"], "`selector` will be auto-generated");
  constexpr static std::string_view kManual[] = {"nil", "false"};
  if (job["manualSelector"].boolean())
    not_supported(causes, "spec.jobTemplate.spec.manualSelector", BadValue::raw("true"), kManual);
  validate_job_template(causes, "spec.jobTemplate.spec.template", job["template"]);
  if (object["metadata"]["name"].text().size() > 52)
    invalid(causes, "metadata.name", object["metadata"]["name"], "must be no more than 52 characters");
}

void validate_selector_kept(const Value& object, const Value& old, Causes& causes) {
  immutable(causes, "spec.selector", object["spec"]["selector"], old["spec"]["selector"]);
}

constexpr std::string_view kStatefulSetChangeable[] = {"replicas",
                                                       "ordinals",
                                                       "template",
                                                       "updateStrategy",
                                                       "revisionHistoryLimit",
                                                       "minReadySeconds",
                                                       "persistentVolumeClaimRetentionPolicy"};

void validate_stateful_set_update(const Value& object, const Value& old, Causes& causes) {
  auto copy = schema::Document::copy_of(object["spec"]);
  for (auto field : kStatefulSetChangeable) copy_field(copy.root(), old["spec"], field);
  if (!semantically_equal(copy.root(), old["spec"]))
    forbidden(causes, "spec",
              "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', "
              "'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden");
}

/// The pod spec of a suspended job with what may change put back: what its containers ask for and, before it first
/// started, where its pods go.
schema::Document fixed_pod_spec(const Value& spec, const Value& old, bool never_started) {
  auto fixed = schema::Document::copy_of(spec);
  for (auto list : {"containers", "initContainers"}) {
    std::size_t index = 0;
    for (auto container : fixed.root()[list]) copy_field(container, old[list].at(index++), "resources");
  }
  if (!never_started) return fixed;
  for (auto field : {"nodeSelector", "tolerations", "schedulingGates"}) copy_field(fixed.root(), old, field);
  if (fixed.root().has("affinity") || old.has("affinity")) {
    copy_field(fixed.root().object("affinity"), old["affinity"], "nodeAffinity");
    if (fixed["affinity"].empty()) fixed.root().erase("affinity");
  }
  return fixed;
}

void validate_job_update(const Value& object, const Value& old, Causes& causes) {
  for (auto field :
       {"selector", "completionMode", "podFailurePolicy", "backoffLimitPerIndex", "managedBy", "successPolicy"})
    immutable(causes, child("spec", field), object["spec"][field], old["spec"][field]);
  validate_completions_kept(causes, object["spec"], old["spec"]);
  const auto now = object["spec"]["template"], before = old["spec"]["template"];
  if (!old["spec"]["suspend"].boolean())
    immutable(causes, "spec.template", now, before);
  else if (!semantically_equal(fixed_pod_spec(now["spec"], before["spec"], !old["status"].has("startTime")).root(),
                               before["spec"]))
    invalid(causes, "spec.template.spec", now["spec"], kImmutable);
}

/// Whether the client sent labels, in whatever form: they have been defaulted since.
bool sends_labels(const WriteContext& context) {
  const auto has_labels = [](const Value& object) { return !object["metadata"]["labels"].empty(); };
  if (const auto envelope = schema::open_protobuf(context.request_body)) {
    const auto sent = schema::decode_protobuf(envelope->raw, context.resource.type);
    return sent && has_labels(sent->root());
  }
  auto sent = schema::Document::parse_json(context.request_body);
  if (!sent) sent = schema::parse_yaml(context.request_body);
  return sent && has_labels(sent->root());
}

/// Selector and labels that identify the pods of a job.
Outcome prepare_job_create(WriteContext& context, Value object) {
  drop_status(context, object);
  auto spec = object.object("spec");
  if (spec["manualSelector"].boolean()) return {};
  auto metadata = object.object("metadata");
  // A job that was sent without labels is labelled like its pods: its labels are its template's by default.
  const bool has_labels_of_template =
      semantically_equal(metadata["labels"], spec["template"]["metadata"]["labels"]) || metadata["labels"].empty();
  const bool labelled_like_pods = has_labels_of_template && !sends_labels(context);
  if (metadata["uid"].text().empty()) metadata.put("uid", uuid_v4(context.random));
  auto labels = spec.object("template").object("metadata").object("labels");
  for (auto label : kJobNameLabels) default_text(labels, label, metadata["name"].text());
  for (auto label : kJobUidLabels) default_text(labels, label, metadata["uid"].text());
  labels.sort_keys();
  if (labelled_like_pods) metadata.put("labels", labels);
  default_text(spec.object("selector").object("matchLabels"), kJobUidLabels[0], metadata["uid"].text());
  return {};
}

/// A Deployment's labels, unlike its annotations, are not for a writer of /status.
Outcome keep_members_and_labels(WriteContext& context, Value object, const Value& old) {
  copy_field(object.object("metadata"), old["metadata"], "labels");
  return keep_other_members(context, object, old);
}

constexpr std::string_view kTemplateGeneration = "deprecated.daemonset.template.generation";

void set_template_generation(Value object, std::int64_t generation) {
  auto annotations = object.object("metadata").object("annotations");
  annotations.put(kTemplateGeneration, std::to_string(generation));
  annotations.sort_keys();
}

std::int64_t template_generation(const Value& object) {
  const auto text = object["metadata"]["annotations"][kTemplateGeneration].text();
  std::int64_t generation = 0;
  std::from_chars(text.data(), text.data() + text.size(), generation);
  return std::max<std::int64_t>(generation, 1);
}

/// A DaemonSet counts the changes of its template in an annotation, for clients of its first API versions. Who leaves
/// it out has set it to 0, as upstream's conversion has it.
void daemon_set_defaults(Value object) {
  workload_defaults<kDaemonSet>(object);
  auto annotations = object.object("metadata").object("annotations");
  default_text(annotations, kTemplateGeneration, "0");
  annotations.sort_keys();
}

Outcome prepare_daemon_set_create(WriteContext& context, Value object) {
  set_template_generation(object, template_generation(object));
  return drop_status(context, object);
}

Outcome prepare_daemon_set_update(WriteContext& context, Value object, const Value& old) {
  const bool same = semantically_equal(object["spec"]["template"], old["spec"]["template"]);
  set_template_generation(object, template_generation(old) + (same ? 0 : 1));
  return keep_status(context, object, old);
}

Outcome prepare_daemon_set_status(WriteContext& context, Value object, const Value& old) {
  set_template_generation(object, template_generation(old));
  return keep_other_members(context, object, old);
}

/// Annotations count too: they are copied to the replica sets.
Outcome prepare_deployment_update(WriteContext& context, Value object, const Value& old) {
  if (!semantically_equal(object["metadata"]["annotations"], old["metadata"]["annotations"]))
    object["metadata"].put("generation", old["metadata"]["generation"].integer() + 1);
  return keep_status(context, object, old);
}

/// The last pod of an Indexed job gets a host name that is made of the job's.
void validate_job_create(const Value& object, Causes& causes) {
  const auto spec = object["spec"];
  const auto completions = spec["completions"].integer();
  if (spec["completionMode"].text() != "Indexed" || completions <= 0) return;
  const auto name = object["metadata"]["name"];
  const std::string host = name.string() + "-" + std::to_string(completions - 1);
  if (!dns1123_label(host).empty())
    invalid(causes, "metadata.name", name.text(), "will not able to create pod with invalid DNS label: " + host);
}

Strategy workload(std::string_view group, std::string_view resource, void (*defaults)(Value),
                  void (*validate)(const Value&, Causes&),
                  void (*validate_update)(const Value&, const Value&, Causes&)) {
  Strategy row;
  row.group = group;
  row.resource = resource;
  if (resource == "statefulsets") row.name_rule = NameRule::dns_label;
  row.generation = true;
  row.defaults = defaults;
  row.prepare_create = drop_status;
  row.prepare_update = keep_status;
  row.prepare_status_update = keep_other_members;
  row.validate = validate;
  row.validate_update = validate_update;
  return row;
}

void validate_replication_controller(const Value& object, Causes& causes) {
  const auto selector = object["spec"]["selector"], pod_template = object["spec"]["template"];
  validate_counts(causes, object["spec"]);
  if (selector.empty()) required(causes, "spec.selector");
  if (!pod_template) return required(causes, "spec.template");
  const auto labels = pod_template["metadata"]["labels"];
  const bool matches = std::all_of(selector.begin(), selector.end(), [&](const Value& label) {
    return labels.has(label.key()) && labels[label.key()].text() == label.text();
  });
  if (!matches)
    invalid(causes, "spec.template.metadata.labels", labels ? BadValue(labels) : BadValue::raw("null"),
            "`selector` does not match template `labels`");
  validate_running_template(causes, object, "ReplicationController");
}

void validate_plain_template(const Value& object, Causes& causes) {
  validate_pod_template(causes, "template", object["template"]);
}

void validate_job_status(const Value& object, const Value& old, Causes& causes) {
  validate_job_status_update(causes, object, old);
}

/// Who selects in a way that cannot be read is not asked for the template; a DaemonSet need not select.
bool skips_template(const Value& object, std::string_view field) {
  const auto selector = object["spec"]["selector"];
  return field.starts_with("spec.template") && selector.is_object() && !is_readable_selector(selector);
}
bool skips_selector(const Value&, std::string_view field) { return field == "spec.selector"; }

template <std::size_t... Rows>
void set_status_rules(Strategy& row, std::index_sequence<Rows...>) {
  ((row.resource == kStatusFacts[Rows].resource ? void(row.validate_status_update = validate_workload_status<Rows>)
                                                : void()),
   ...);
}

constexpr std::string_view kJobOrphans =
    "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove them or set "
    "propagationPolicy=Orphan to suppress this warning";

}  // namespace

std::vector<Strategy> workload_strategies() {
  std::vector<Strategy> rows = {
      workload("apps", "deployments", workload_defaults<kDeployment>, validate_deployment, validate_selector_kept),
      workload("apps", "replicasets", workload_defaults<kReplicaSet>, validate_replica_set, validate_selector_kept),
      workload("apps", "statefulsets", stateful_set_defaults, validate_stateful_set, validate_stateful_set_update),
      workload("apps", "daemonsets", daemon_set_defaults, validate_daemon_set, validate_selector_kept),
      workload("batch", "jobs", job_defaults, validate_job, validate_job_update),
      workload("batch", "cronjobs", cron_job_defaults, validate_cron_job, nullptr),
      workload("", "replicationcontrollers", replication_controller_defaults, validate_replication_controller, nullptr),
      workload("", "podtemplates", pod_template_defaults, validate_plain_template, nullptr)};
  for (auto& row : rows) {
    if (row.resource == "deployments") {
      row.prepare_update = prepare_deployment_update;
      row.prepare_status_update = keep_members_and_labels;
    }
    if (row.resource == "statefulsets") row.validate_create = validate_stateful_set_create;
    if (row.resource == "deployments" || row.resource == "replicasets" || row.resource == "statefulsets")
      row.is_skipped = skips_template;
    if (row.resource == "daemonsets") row.is_skipped = skips_selector;
    set_status_rules(row, std::make_index_sequence<std::size(kStatusFacts)>());
    if (row.resource == "daemonsets") {
      row.prepare_create = prepare_daemon_set_create;
      row.prepare_update = prepare_daemon_set_update;
      row.prepare_status_update = prepare_daemon_set_status;
    }
    if (row.resource == "jobs") {
      row.prepare_create = prepare_job_create;
      row.validate_create = validate_job_create;
      row.validate_status_update = validate_job_status;
      row.selectable_fields = {{"status.successful", "status.succeeded", "0"}};
    }
    if (row.resource == "replicationcontrollers") row.selectable_fields = {{"status.replicas", "status.replicas", "0"}};
    // As their first API versions did, when clients cleaned up by themselves.
    row.orphans_by_default = row.resource == "replicationcontrollers" || row.resource == "jobs";
    if (row.resource == "jobs") row.orphan_warning = kJobOrphans;
    if (row.resource == "podtemplates") row.delete_returns_object = true;
  }
  return rows;
}

}  // namespace sublet::apiserver
