// Source of the rules and messages: pkg/scheduler/framework/plugins/volumebinding and dynamicresources of Kubernetes.
#include "simhost/pod_claims.h"

#include "sublet/base/text.h"
#include "sublet/kube/volume_match.h"

namespace sublet::simhost {
namespace {

using schema::Value;

constexpr std::string_view kSelectedNode = "volume.kubernetes.io/selected-node";

bool waits_for_node(const Value& claim, const kube::Informer* classes) {
  const auto known = classes ? classes->get("", claim["spec"]["storageClassName"].text()) : kube::CachedPtr();
  return known && known->document()["volumeBindingMode"].text() == "WaitForFirstConsumer";
}

/// Why this claim lets the pod go nowhere; adds to `out` what is to be bound.
std::string judge_volume(const Value& pod, const Value& volume, const std::string& name, const SchedulerInputs& inputs,
                         ClaimVerdict& out) {
  const Value metadata = pod["metadata"];
  const kube::CachedPtr object = inputs.volume_claims->get(metadata["namespace"].text(), name);
  if (!object)
    return volume["ephemeral"]
               ? "waiting for ephemeral volume controller to create the persistentvolumeclaim " + double_quoted(name)
               : "persistentvolumeclaim " + double_quoted(name) + " not found";
  const schema::Document claim = object->document();
  const std::string_view phase = claim["status"]["phase"].text();
  if (phase == "Lost")
    return "persistentvolumeclaim " + double_quoted(name) + " bound to non-existent persistentvolume " +
           double_quoted(claim["spec"]["volumeName"].text());
  if (claim["metadata"].has("deletionTimestamp"))
    return "persistentvolumeclaim " + double_quoted(name) + " is being deleted";
  if (volume["ephemeral"] && !kube::is_claim_of_pod(claim.root(), metadata["uid"].text())) {
    const std::string place = metadata["namespace"].string() + "/";
    return "PVC " + place + name + " was not created for pod " + place + metadata["name"].string() +
           " (pod is not owner)";
  }
  if (phase == "Bound") return {};
  if (!waits_for_node(claim.root(), inputs.storage_classes)) return "pod has unbound immediate PersistentVolumeClaims";
  out.waits = true;
  if (claim["metadata"]["annotations"][kSelectedNode].text().empty()) out.to_bind.push_back(name);
  return {};
}

/// The name of a device claim of the pod; "" while it is not made yet, nullopt when the pod needs none.
std::optional<std::string> device_claim_name(const Value& pod, const Value& entry) {
  if (entry.has("resourceClaimName")) return entry["resourceClaimName"].string();
  for (const Value known : pod["status"]["resourceClaimStatuses"])
    if (known["name"].text() == entry["name"].text())
      return known.has("resourceClaimName") ? std::optional(known["resourceClaimName"].string()) : std::nullopt;
  return std::string();
}

std::string judge_device(const Value& pod, const Value& entry, const SchedulerInputs& inputs, ClaimVerdict& out) {
  const auto name = device_claim_name(pod, entry);
  if (!name) return {};
  const Value metadata = pod["metadata"];
  const std::string who = double_quoted(metadata["namespace"].string() + "/" + metadata["name"].string());
  if (name->empty()) return "pod " + who + ": ResourceClaim not created yet";
  const kube::CachedPtr claim = inputs.device_claims->get(metadata["namespace"].text(), *name);
  if (!claim) return "resourceclaim " + double_quoted(*name) + " not found";
  if (claim->document()["status"]["allocation"]) return {};
  out.is_devices = true;
  return "cannot allocate all claims";
}

}  // namespace

std::optional<std::string> volume_claim_name(const Value& pod, const Value& volume) {
  if (const Value claim = volume["persistentVolumeClaim"]) return claim["claimName"].string();
  if (volume["ephemeral"]) return pod["metadata"]["name"].string() + "-" + volume["name"].string();
  return std::nullopt;
}

bool has_claims(const Value& pod) {
  for (const Value volume : pod["spec"]["volumes"])
    if (volume_claim_name(pod, volume)) return true;
  return !pod["spec"]["resourceClaims"].empty();
}

ClaimVerdict judge_claims(const Value& pod, const SchedulerInputs& inputs) {
  ClaimVerdict out;
  for (const Value volume : pod["spec"]["volumes"])
    if (const auto name = volume_claim_name(pod, volume); name && out.refusal.empty())
      out.refusal = judge_volume(pod, volume, *name, inputs, out);
  for (const Value entry : pod["spec"]["resourceClaims"])
    if (out.refusal.empty()) out.refusal = judge_device(pod, entry, inputs, out);
  return out;
}

}  // namespace sublet::simhost
