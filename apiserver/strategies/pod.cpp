#include "apiserver/strategies/rows.h"
#include "apiserver/validation/names.h"
#include "apiserver/validation/pod_spec.h"
#include "apiserver/validation/resources.h"

namespace sublet::apiserver {
namespace {

using schema::Value;

void default_pod(Value object) {
  auto spec = object.object("spec");
  default_pod_spec(spec);
  default_pod_only(spec);
}

void add_gated_condition(Value status, WallTime now) {
  auto condition = status.array("conditions").push_object();
  condition.put("type", "PodScheduled");
  condition.put("status", "False");
  condition.put("lastTransitionTime", format_time(now));
  condition.put("reason", "SchedulingGated");
  condition.put("message", "Scheduling is blocked due to non-empty scheduling gates");
}

/// The profile that an annotation of old asks for; missing: none, or one that is none.
schema::Document app_armor_profile_of(std::string_view annotation) {
  constexpr std::string_view kLocalhost = "localhost/";
  auto made = schema::Document::object();
  auto profile = made.root();
  if (annotation == "unconfined")
    profile.put("type", "Unconfined");
  else if (annotation == "runtime/default")
    profile.put("type", "RuntimeDefault");
  else if (annotation.starts_with(kLocalhost)) {
    profile.put("type", "Localhost");
    profile.put("localhostProfile", annotation.substr(kLocalhost.size()));
  }
  Causes causes;
  validate_app_armor_profile(causes, "", profile);
  if (!causes.empty()) profile.clear();
  return made;
}

/// AppArmor profiles stood in annotations once: they become those of the containers that have none.
void take_app_armor_annotations(WriteContext& context, Value object) {
  constexpr std::string_view kPrefix = "container.apparmor.security.beta.kubernetes.io/";
  const auto annotations = object["metadata"]["annotations"];
  auto spec = object["spec"];
  if (annotations.empty() || spec["os"]["name"].text() == "windows") return;
  for (auto list : {"initContainers", "containers", "ephemeralContainers"}) {
    for (auto container : spec[list]) {
      const auto key = std::string(kPrefix) + container["name"].string();
      const auto annotation = annotations[key];
      if (!annotation || container["securityContext"].has("appArmorProfile")) continue;
      const auto profile = app_armor_profile_of(annotation.text());
      const bool taken =
          !profile.root().empty() && !semantically_equal(profile.root(), spec["securityContext"]["appArmorProfile"]);
      if (taken) container.object("securityContext").put("appArmorProfile", profile.root());
      if (taken || profile.root().empty())
        context.warnings.push_back("metadata.annotations[" + key +
                                   "]: deprecated since v1.30; use the \"appArmorProfile\" field instead");
    }
  }
}

/// Rules for new pods only, which validate_pod() cannot tell from updates.
Outcome check_create(const Value& object) {
  Causes causes;
  auto spec = object["spec"];
  if (!spec["ephemeralContainers"].empty()) forbidden(causes, "spec.ephemeralContainers", "cannot be set on create");
  if (!spec["nodeName"].text().empty() && !spec["schedulingGates"].empty())
    forbidden(causes, "spec.nodeName", "cannot be set until all schedulingGates have been cleared");
  if (causes.empty()) return {};
  return fail(invalid_status("", "Pod", object["metadata"]["name"].text(), std::move(causes)));
}

Outcome prepare_pod_create(WriteContext& context, Value object) {
  auto status = object.object("status");
  status.clear();
  status.put("phase", "Pending");
  if (!object["spec"]["schedulingGates"].empty()) add_gated_condition(status, context.clock.now());
  status.put("qosClass", qos_class(object["spec"]));
  take_app_armor_annotations(context, object);
  return check_create(object);
}

Outcome prepare_pod_update(WriteContext&, Value object, const Value& old) {
  copy_field(object, old, "status");
  return {};
}

Outcome prepare_pod_status(WriteContext&, Value object, const Value& old) {
  copy_field(object, old, "spec");
  copy_field(object.object("metadata"), old["metadata"], "ownerReferences");
  auto status = object.object("status");
  status.erase("nodeAllocatableResourceClaimStatuses");  // behind a gate that is off
  // The one address and the list are one fact in two fields; who says only the one, or another one, means it.
  if (const auto ip = status["podIP"].string(); !ip.empty() && status["podIPs"].at(0)["ip"].text() != ip) {
    auto ips = status.array("podIPs");
    ips.clear();
    ips.push_object().put("ip", ip);
  }
  if (status["podIP"].text().empty() && !status["podIPs"].empty())
    status.put("podIP", status["podIPs"].at(0)["ip"].text());
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

void validate_pod(const Value& object, Causes& causes) {
  const auto metadata = object["metadata"];
  validate_pod_annotations(causes, "metadata.annotations", metadata["annotations"], object["spec"]);
  validate_pod_spec(causes, "spec", object["spec"], metadata);
}

void validate_pod_create(const Value& object, Causes& causes) {
  validate_profiles_agree(causes, "spec", object["metadata"]["annotations"], object["spec"]);
}

void validate_pod_status(const Value& object, const Value& old, Causes& causes) {
  const auto annotations = object["metadata"]["annotations"];
  validate_pod_annotations_update(causes, "metadata.annotations", annotations, old["metadata"]["annotations"]);
  validate_pod_annotations(causes, "metadata.annotations", annotations, object["spec"]);
  validate_pod_status_update(causes, object, old);
}

void validate_pod_update(const Value& object, const Value& old, Causes& causes) {
  validate_pod_annotations_update(causes, "metadata.annotations", object["metadata"]["annotations"],
                                  old["metadata"]["annotations"]);
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
  row.defaults = default_pod;
  row.prepare_create = prepare_pod_create;
  row.prepare_update = prepare_pod_update;
  row.prepare_status_update = prepare_pod_status;
  row.validate = validate_pod;
  row.validate_create = validate_pod_create;
  row.validate_update = validate_pod_update;
  row.validate_status_update = validate_pod_status;
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
