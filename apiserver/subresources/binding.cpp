#include "apiserver/subresources/functions.h"
#include "apiserver/validation/field_errors.h"

namespace sublet::apiserver {
namespace {

using schema::Value;

Outcome check_binding(const Value& pod, const Value& binding) {
  constexpr std::string_view kTargetKinds[] = {"Node", "<empty>"};
  Causes causes;
  auto kind = binding["target"]["kind"].text();
  if (!kind.empty() && kind != "Node") not_supported(causes, "target.kind", kind, kTargetKinds);
  if (binding["target"]["name"].text().empty()) required(causes, "target.name");
  if (causes.empty()) return {};
  return fail(invalid_status("", "Binding", pod["metadata"]["name"].text(), std::move(causes)));
}

std::string why_not_bindable(const Value& pod) {
  auto name = pod["metadata"]["name"].string();
  if (pod["metadata"].has("deletionTimestamp"))
    return "pod " + name + " is being deleted, cannot be assigned to a host";
  if (auto node = pod["spec"]["nodeName"].string(); !node.empty())
    return "pod " + name + " is already assigned to node \"" + node + "\"";
  if (!pod["spec"]["schedulingGates"].empty()) return "pod " + name + " has non-empty .spec.schedulingGates";
  return {};
}

/// A binding may say which incarnation of the pod it means.
std::string why_another_pod(const Value& pod, const Value& binding) {
  for (auto [field, what] : {std::pair{"uid", "UID"}, std::pair{"resourceVersion", "ResourceVersion"}}) {
    auto wanted = binding["metadata"][field].string(), actual = pod["metadata"][field].string();
    if (!wanted.empty() && wanted != actual)
      return std::string("Precondition failed: ") + what + " in precondition: " + wanted + ", " + what +
             " in object meta: " + actual;
  }
  return {};
}

void copy_map(Value metadata, const Value& source, std::string_view field) {
  for (auto entry : source["metadata"][field]) metadata.object(field).put(entry.key(), entry);
  if (metadata.has(field)) metadata[field].sort_keys();
}

}  // namespace

Result<SubresourceAnswer> bind_pod(WriteContext& context, Value pod, const Value& binding) {
  if (auto outcome = check_binding(pod, binding); !outcome) return fail(outcome.error());
  auto name = pod["metadata"]["name"].text();
  if (auto why = why_another_pod(pod, binding); !why.empty()) return fail(conflict_status("", "pods", name, why));
  if (auto why = why_not_bindable(pod); !why.empty()) return fail(conflict_status("", "pods/binding", name, why));
  pod.object("spec").put("nodeName", binding["target"]["name"].text());
  auto status = pod.object("status");
  status.erase("nominatedNodeName");
  for (auto field : {"annotations", "labels"}) copy_map(pod["metadata"], binding, field);
  set_condition(status, "PodScheduled", "True", {}, {}, context.clock.now());
  SubresourceAnswer answer;
  answer.body = success_document();
  answer.store_parent = true;
  return answer;
}

}  // namespace sublet::apiserver
