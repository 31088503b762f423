#include "apiserver/strategies/rows.h"
#include "apiserver/validation/names.h"
#include "apiserver/validation/pod_spec.h"
#include "apiserver/validation/resources.h"

namespace sublet::apiserver {
namespace {

using schema::Value;

void defaults(Value object) {
  auto spec = object.object("spec");
  default_pod_spec(spec);
  default_pod_only(spec);
  default_text(object.object("status"), "phase", "Pending");
}

void add_gated_condition(Value status, WallTime now) {
  auto condition = status.array("conditions").push_object();
  condition.put("type", "PodScheduled");
  condition.put("status", "False");
  condition.put("lastTransitionTime", format_time(now));
  condition.put("reason", "SchedulingGated");
  condition.put("message", "Scheduling is blocked due to non-empty scheduling gates");
}

void warn_about_name(WriteContext& context, std::string_view name) {
  auto messages = dns1123_label(name);
  if (messages.empty() || !dns1123_subdomain(name).empty()) return;
  std::string list;
  for (const auto& message : messages) list += (list.empty() ? "" : " ") + message;
  context.warnings.push_back(
      "metadata.name: this is used in the Pod's hostname, which can result in surprising behavior; a DNS label is "
      "recommended: [" +
      list + "]");
}

/// Rules for new pods only, which validate() cannot tell from updates.
Outcome check_create(const Value& object) {
  Causes causes;
  auto spec = object["spec"];
  if (!spec["ephemeralContainers"].empty()) forbidden(causes, "spec.ephemeralContainers", "cannot be set on create");
  if (!spec["nodeName"].text().empty() && !spec["schedulingGates"].empty())
    forbidden(causes, "spec.nodeName", "cannot be set until all schedulingGates have been cleared");
  if (causes.empty()) return {};
  return fail(invalid_status("", "Pod", object["metadata"]["name"].text(), std::move(causes)));
}

Outcome prepare_create(WriteContext& context, Value object) {
  auto status = object.object("status");
  status.clear();
  status.put("phase", "Pending");
  if (!object["spec"]["schedulingGates"].empty()) add_gated_condition(status, context.clock.now());
  status.put("qosClass", qos_class(object["spec"]));
  warn_about_name(context, object["metadata"]["name"].text());
  return check_create(object);
}

Outcome prepare_update(WriteContext&, Value object, const Value& old) {
  copy_field(object, old, "status");
  return {};
}

Outcome prepare_status_update(WriteContext&, Value object, const Value& old) {
  copy_field(object, old, "spec");
  copy_field(object.object("metadata"), old["metadata"], "ownerReferences");
  auto status = object.object("status");
  if (status["qosClass"].text().empty()) copy_field(status, old["status"], "qosClass");
  if (status["observedGeneration"].integer() == 0) copy_field(status, old["status"], "observedGeneration");
  return {};
}

Outcome prepare_ephemeral_containers(WriteContext&, Value object, const Value& old) {
  const auto sent = schema::Document::copy_of(object["spec"]);
  copy_field(object, old, "spec");
  copy_field(object, old, "status");
  keep_own_metadata(object, old);
  copy_field(object.object("spec"), sent.root(), "ephemeralContainers");
  return {};
}

// Resources and resize policies by the containers' places. Containers that came, went or moved stay as they were sent,
// for validation to refuse.
bool take_resources(Value containers, const Value& sent) {
  if (containers.size() != sent.size()) return false;
  for (std::size_t i = 0; i < sent.size(); ++i)
    if (!containers.at(i)["name"].equals(sent.at(i)["name"])) return false;
  for (std::size_t i = 0; i < sent.size(); ++i)
    for (const auto field : {"resources", "resizePolicy"}) copy_field(containers.at(i), sent.at(i), field);
  return true;
}

Outcome prepare_resize(WriteContext&, Value object, const Value& old) {
  const Value sent = object["spec"];
  auto kept = schema::Document::copy_of(old["spec"]);
  for (const auto list : {"containers", "initContainers"})
    if (!take_resources(kept[list], sent[list])) return {};
  copy_field(kept.root(), sent, "resources");
  object.put("spec", kept.root());
  copy_field(object, old, "status");
  keep_own_metadata(object, old);
  return {};
}

void validate_ephemeral_containers(const Value& object, const Value& old, Causes& causes) {
  validate_ephemeral_containers_update(causes, "spec", object["spec"], old["spec"]);
}

void validate_resize(const Value& object, const Value& old, Causes& causes) {
  validate_pod_resize(causes, object, old);
}

void validate(const Value& object, Causes& causes) { validate_pod_spec(causes, "spec", object["spec"], true); }

void validate_update(const Value& object, const Value& old, Causes& causes) {
  validate_pod_spec_update(causes, "spec", object["spec"], old["spec"]);
}

std::int64_t grace_seconds(const Value& object, std::optional<std::int64_t> requested) {
  auto phase = object["status"]["phase"].text();
  if (object["spec"]["nodeName"].text().empty() || phase == "Failed" || phase == "Succeeded") return 0;
  auto grace = requested.value_or(object["spec"]["terminationGracePeriodSeconds"].integer(0));
  return grace < 0 ? 1 : grace;
}

}  // namespace

Strategy pod_strategy() {
  Strategy row;
  row.resource = "pods";
  row.generation = true;
  row.delete_returns_object = true;
  row.defaults = defaults;
  row.prepare_create = prepare_create;
  row.prepare_update = prepare_update;
  row.prepare_status_update = prepare_status_update;
  row.validate = validate;
  row.validate_update = validate_update;
  row.views = {{"ephemeralcontainers", prepare_ephemeral_containers, validate_ephemeral_containers, true},
               {"resize", prepare_resize, validate_resize, true}};
  row.grace_seconds = grace_seconds;
  row.selectable_fields = {{"spec.nodeName", "spec.nodeName"},
                           {"spec.host", "spec.nodeName"},
                           {"spec.restartPolicy", "spec.restartPolicy"},
                           {"spec.schedulerName", "spec.schedulerName"},
                           {"spec.serviceAccountName", "spec.serviceAccountName"},
                           {"spec.hostNetwork", "spec.hostNetwork", "false"},
                           {"status.phase", "status.phase"},
                           {"status.podIP", "status.podIP"},
                           {"status.nominatedNodeName", "status.nominatedNodeName"}};
  return row;
}

}  // namespace sublet::apiserver
