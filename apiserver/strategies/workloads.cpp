// Workload kinds (apps, batch, ReplicationController).

#include <algorithm>
#include <array>
#include <charconv>

#include "apiserver/strategies/default_facts.h"
#include "apiserver/strategies/rows.h"
#include "apiserver/validation/jobs.h"
#include "apiserver/validation/names.h"
#include "apiserver/validation/pod_spec.h"
#include "sublet/base/random.h"

namespace sublet::apiserver {
namespace {

using schema::Value;

constexpr DefaultFact kDeployment[] = {
    {"spec.replicas", "1"},
    {"spec.strategy.type", "\"RollingUpdate\""},
    {"spec.strategy.rollingUpdate.maxUnavailable", "\"25%\"", "spec.strategy.type", "RollingUpdate"},
    {"spec.strategy.rollingUpdate.maxSurge", "\"25%\"", "spec.strategy.type", "RollingUpdate"},
    {"spec.revisionHistoryLimit", "10"},
    {"spec.progressDeadlineSeconds", "600"}};
constexpr DefaultFact kReplicaSet[] = {{"spec.replicas", "1"}};
constexpr DefaultFact kStatefulSet[] = {
    {"spec.podManagementPolicy", "\"OrderedReady\""},
    {"spec.updateStrategy.type", "\"RollingUpdate\""},
    {"spec.updateStrategy.rollingUpdate.partition", "0", "spec.updateStrategy.type", "RollingUpdate"},
    {"spec.persistentVolumeClaimRetentionPolicy.whenDeleted", "\"Retain\""},
    {"spec.persistentVolumeClaimRetentionPolicy.whenScaled", "\"Retain\""},
    {"spec.replicas", "1"},
    {"spec.revisionHistoryLimit", "10"},
    {"spec.volumeClaimTemplates[].kind", "\"PersistentVolumeClaim\""},
    {"spec.volumeClaimTemplates[].apiVersion", "\"v1\""},
    {"spec.volumeClaimTemplates[].spec.volumeMode", "\"Filesystem\""},
    {"spec.volumeClaimTemplates[].status.phase", "\"Pending\""}};
constexpr DefaultFact kDaemonSet[] = {
    {"spec.updateStrategy.type", "\"RollingUpdate\""},
    {"spec.updateStrategy.rollingUpdate.maxUnavailable", "1", "spec.updateStrategy.type", "RollingUpdate"},
    {"spec.updateStrategy.rollingUpdate.maxSurge", "0", "spec.updateStrategy.type", "RollingUpdate"},
    {"spec.revisionHistoryLimit", "10"}};
constexpr DefaultFact kJob[] = {{"spec.parallelism", "1"},
                                {"spec.backoffLimit", "6"},
                                {"spec.completionMode", "\"NonIndexed\""},
                                {"spec.suspend", "false"},
                                {"spec.podReplacementPolicy", "\"TerminatingOrFailed\""},
                                {"spec.manualSelector", "false"}};
constexpr DefaultFact kCronJob[] = {{"spec.concurrencyPolicy", "\"Allow\""},
                                    {"spec.suspend", "false"},
                                    {"spec.successfulJobsHistoryLimit", "3"},
                                    {"spec.failedJobsHistoryLimit", "1"}};

void default_template(Value holder) {
  if (auto pod_template = holder["template"]) default_pod_spec(pod_template.object("spec"));
}

template <const auto& Facts>
void workload_defaults(Value object) {
  defaults_from<Facts>(object);
  default_template(object["spec"]);
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
  for (auto field : {"replicas", "minReadySeconds", "revisionHistoryLimit", "progressDeadlineSeconds", "parallelism",
                     "completions", "backoffLimit", "activeDeadlineSeconds", "ttlSecondsAfterFinished"})
    if (auto value = spec[field]) nonnegative(causes, child("spec", field), value.integer());
}

void validate_selector(Causes& causes, const Value& object, std::string_view kind) {
  auto selector = object["spec"]["selector"];
  auto labels = object["spec"]["template"]["metadata"]["labels"];
  if (!selector.is_object()) {
    required(causes, "spec.selector");
    return invalid(causes, "spec.template.metadata.labels", labels, "`selector` does not match template `labels`");
  }
  validate_label_selector(causes, "spec.selector", selector);
  if (selector["matchLabels"].empty() && selector["matchExpressions"].empty())
    return invalid(causes, "spec.selector", selector, "empty selector is invalid for " + std::string(kind));
  if (!selector_matches(selector, labels))
    invalid(causes, "spec.template.metadata.labels", labels, "`selector` does not match template `labels`");
}

// A StatefulSet's pods as its controller makes them: with a volume for each claim template, in the place of one of the
// same name, and with names that the controller gives.
schema::Document template_of_set(const Value& spec) {
  auto pod_template = schema::Document::copy_of(spec["template"]);
  auto pod_spec = pod_template.root().object("spec");
  for (auto field : {"hostname", "subdomain"}) pod_spec.erase(field);
  if (spec["volumeClaimTemplates"].empty()) return pod_template;
  auto volumes = pod_spec.array("volumes");
  for (auto claim : spec["volumeClaimTemplates"]) {
    const auto name = claim["metadata"]["name"].string();
    volumes.retain([&](const Value& volume) { return volume["name"].text() != name; });
    auto volume = volumes.push_object();
    volume.put("name", name);
    volume.object("persistentVolumeClaim").put("claimName", name);
  }
  return pod_template;
}

void validate_running_template(Causes& causes, const Value& object) {
  constexpr std::string_view kAlways[] = {"Always"};
  if (object["spec"].has("volumeClaimTemplates"))
    validate_pod_template(causes, "spec.template", template_of_set(object["spec"]).root());
  else
    validate_pod_template(causes, "spec.template", object["spec"]["template"]);
  auto policy = object["spec"]["template"]["spec"]["restartPolicy"].text();
  if (policy != "Always") not_supported(causes, "spec.template.spec.restartPolicy", policy, kAlways);
}

template <const std::string_view& Kind>
void validate_running(const Value& object, Causes& causes) {
  validate_counts(causes, object["spec"]);
  validate_selector(causes, object, Kind);
  validate_running_template(causes, object);
}

constexpr std::string_view kDeploymentName = "deployment", kStatefulSetName = "statefulset",
                           kDaemonSetName = "daemonset";

void validate_job_template(Causes& causes, const std::string& path, const Value& pod_template) {
  validate_pod_template(causes, path, pod_template);
  auto policy = pod_template["spec"]["restartPolicy"].text();
  if (policy.empty() || policy == "Always")
    required(causes, child(path, "spec.restartPolicy"), "valid values: \"OnFailure\", \"Never\"");
}

void validate_job(const Value& object, Causes& causes) {
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
  if (object["metadata"]["name"].text().size() > 52)
    invalid(causes, "metadata.name", object["metadata"]["name"], "must be no more than 52 characters");
  validate_job_template(causes, "spec.jobTemplate.spec.template", job["template"]);
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

void validate_job_update(const Value& object, const Value& old, Causes& causes) {
  for (auto field :
       {"selector", "completionMode", "podFailurePolicy", "backoffLimitPerIndex", "managedBy", "successPolicy"})
    immutable(causes, child("spec", field), object["spec"][field], old["spec"][field]);
  validate_completions_kept(causes, object["spec"], old["spec"]);
  // A suspended job that never started may still change where its pods go; anyone else's template stands.
  bool never_started = old["spec"]["suspend"].boolean() && !old["status"].has("startTime");
  if (!never_started) immutable(causes, "spec.template", object["spec"]["template"], old["spec"]["template"]);
}

constexpr std::string_view kJobNameLabels[] = {"batch.kubernetes.io/job-name", "job-name"};
constexpr std::string_view kJobUidLabels[] = {"batch.kubernetes.io/controller-uid", "controller-uid"};

/// Selector and labels that make a job's pods its own and nobody else's.
Outcome prepare_job_create(WriteContext& context, Value object) {
  drop_status(context, object);
  auto spec = object.object("spec");
  if (spec["manualSelector"].boolean()) return {};
  auto metadata = object.object("metadata");
  // A job that has no labels of its own, or its template's, is labelled like its pods.
  bool labelled_like_pods =
      semantically_equal(metadata["labels"], spec["template"]["metadata"]["labels"]) || metadata["labels"].empty();
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

Strategy workload(std::string_view group, std::string_view resource, void (*defaults)(Value),
                  void (*validate)(const Value&, Causes&),
                  void (*validate_update)(const Value&, const Value&, Causes&)) {
  Strategy row;
  row.group = group;
  row.resource = resource;
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
  validate_counts(causes, object["spec"]);
  validate_running_template(causes, object);
}

constexpr std::string_view kJobOrphans =
    "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove them or set "
    "propagationPolicy=Orphan to suppress this warning";

}  // namespace

std::vector<Strategy> workload_strategies() {
  std::vector<Strategy> rows = {
      workload("apps", "deployments", workload_defaults<kDeployment>, validate_running<kDeploymentName>,
               validate_selector_kept),
      workload("apps", "replicasets", workload_defaults<kReplicaSet>, validate_running<kDeploymentName>,
               validate_selector_kept),
      workload("apps", "statefulsets", workload_defaults<kStatefulSet>, validate_running<kStatefulSetName>,
               validate_stateful_set_update),
      workload("apps", "daemonsets", daemon_set_defaults, validate_running<kDaemonSetName>, validate_selector_kept),
      workload("batch", "jobs", job_defaults, validate_job, validate_job_update),
      workload("batch", "cronjobs", cron_job_defaults, validate_cron_job, nullptr),
      workload("", "replicationcontrollers", replication_controller_defaults, validate_replication_controller, nullptr),
      workload("", "podtemplates", pod_template_defaults, nullptr, nullptr)};
  for (auto& row : rows) {
    if (row.resource == "deployments") row.prepare_status_update = keep_members_and_labels;
    if (row.resource == "daemonsets") {
      row.prepare_create = prepare_daemon_set_create;
      row.prepare_update = prepare_daemon_set_update;
      row.prepare_status_update = prepare_daemon_set_status;
    }
    if (row.resource == "jobs") {
      row.prepare_create = prepare_job_create;
      row.selectable_fields = {{"status.successful", "status.succeeded", "0"}};
    }
    if (row.resource == "replicasets" || row.resource == "replicationcontrollers")
      row.selectable_fields = {{"status.replicas", "status.replicas", "0"}};
    // As their first API versions did, when clients cleaned up by themselves.
    row.orphans_by_default = row.resource == "replicationcontrollers" || row.resource == "jobs";
    if (row.resource == "jobs") row.orphan_warning = kJobOrphans;
    if (row.resource == "podtemplates") row.delete_returns_object = true;
  }
  return rows;
}

}  // namespace sublet::apiserver
