#include <set>

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
  status.erase("nodeAllocatableResourceClaimStatuses");  // behind a gate that is off
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

/// Addresses that were not there before are judged; of two, one is of each family.
void validate_status_ips(Causes& causes, const std::string& path, const Value& ips, const Value& old) {
  std::size_t index = 0;
  bool v4 = false, v6 = false;
  for (auto entry : ips) {
    const auto at = item(path, index++);
    const auto ip = entry["ip"].text();
    bool known = false;
    for (auto before : old) known |= before["ip"].text() == ip;
    if (!known) invalid_each(causes, at, ip, ip_address(ip));
    (ip.find(':') == std::string_view::npos ? v4 : v6) = true;
  }
  if (ips.size() > 1 && (ips.size() > 2 || !v4 || !v6))
    invalid(causes, path, ips, "may specify no more than one IP for each IP family");
}

void validate_claim_statuses(Causes& causes, const Value& statuses, const Value& claims) {
  std::set<std::string_view> names;
  std::size_t index = 0;
  for (auto entry : statuses) {
    const auto at = child(item("status.resourceClaimStatuses", index++), "name");
    const auto name = entry["name"].text();
    bool known = false;
    for (auto claim : claims) known |= claim["name"].text() == name;
    if (!known) invalid(causes, at, name, "must match the name of an entry in `spec.resourceClaims`");
    if (const auto claim = entry["resourceClaimName"])
      invalid_each(causes, at, claim.text(), dns1123_subdomain(claim.text()));
    if (!names.insert(name).second) duplicate(causes, at, name);
  }
}

void validate_status_update(const Value& object, const Value& old, Causes& causes) {
  const auto status = object["status"], before = old["status"];
  const auto nominated = status["nominatedNodeName"].text(), was = before["nominatedNodeName"].text();
  if (nominated != was && !nominated.empty())
    invalid_each(causes, "status.nominatedNodeName", nominated, dns1123_subdomain(nominated));
  if (status["observedGeneration"].integer() < 0)
    invalid(causes, "status.observedGeneration", status["observedGeneration"], "must be a non-negative integer");
  if (!before["qosClass"].text().empty()) immutable(causes, "status.qosClass", status["qosClass"], before["qosClass"]);
  validate_claim_statuses(causes, status["resourceClaimStatuses"], object["spec"]["resourceClaims"]);
  validate_status_ips(causes, "status.podIPs", status["podIPs"], before["podIPs"]);
  const auto host_ips = status["hostIPs"];
  if (!host_ips.empty() && host_ips.at(0)["ip"].text() != status["hostIP"].text())
    invalid(causes, "status.hostIPs[0].ip", host_ips.at(0)["ip"].text(), "must be equal to `hostIP`");
  validate_status_ips(causes, "status.hostIPs", host_ips, before["hostIPs"]);
}

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
  row.validate_status_update = validate_status_update;
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
