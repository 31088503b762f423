#include "subletd/border_admission.h"

#include <algorithm>

#include "sublet/syncer/carried_kinds.h"
#include "sublet/syncer/mirrored_kinds.h"

namespace sublet::subletd {
namespace {

using schema::Value;

// What a patch freezes after creation cannot be judged by translating the new object alone.
std::vector<Cause> frozen_changes(const syncer::TranslateContext& context, std::string_view kind, const Value& object,
                                  const Value& old) {
  std::vector<Cause> causes;
  if (!old || !context.resolved_template) return causes;
  const patches::PatchContext patch_context{context.virtual_cluster, object["metadata"]["namespace"].string(),
                                            context.host_namespace};
  for (auto& why : context.resolved_template->check_update(kind, old, object, patch_context))
    causes.push_back({"FieldValueForbidden", std::move(why), ""});
  return causes;
}

// A custom resource that crosses both ways: what came is read-only to the tenant (mirrored_kinds.h).
bool comes_too(const syncer::TranslateContext& context, std::string_view kind) {
  return std::ranges::any_of(syncer::config_of(context).custom_resources,
                             [&](const patches::CustomResource& one) { return !one.to_host && one.name == kind; });
}

}  // namespace

apiserver::BorderAdmission border_admission(syncer::TranslateContext context) {
  return [context = std::move(context)](std::string_view kind, const Value& object, const Value& old) {
    apiserver::AdmissionVerdict verdict;
    const Value metadata = object["metadata"];
    if (comes_too(context, kind) && metadata["labels"].has(syncer::kLabelFromHost)) return verdict;  // not carried back
    if (kind == "Service" && metadata["namespace"].text() == "default" && metadata["name"].text() == "kubernetes")
      return verdict;  // the API server's own, which does not cross
    auto translated =
        syncer::translate(context, kind, object, old ? syncer::Operation::update : syncer::Operation::create);
    if (translated)
      verdict.warnings = std::move(translated->warnings);
    else
      verdict.denials = std::move(translated.error().causes);
    for (auto& cause : frozen_changes(context, kind, object, old)) verdict.denials.push_back(std::move(cause));
    if (kind == "Service")
      for (auto& cause : syncer::chosen_addresses(object, old)) verdict.denials.push_back(std::move(cause));
    return verdict;
  };
}

std::vector<apiserver::CarriedKind> carried_to_host(const syncer::TranslateContext& context) {
  std::vector<apiserver::CarriedKind> kinds;
  for (auto& [resource, kind, judged] : syncer::carried_kinds(context))
    kinds.push_back({resource.group, resource.resource, std::move(kind), judged});
  return kinds;
}

std::vector<apiserver::MirroredKind> mirrored_from_host(const syncer::TranslateContext& context) {
  std::vector<apiserver::MirroredKind> kinds;
  for (auto& [resource, next_step] : syncer::mirrored_kinds(context))
    kinds.push_back({resource.group, resource.resource, std::string(syncer::kLabelFromHost), std::move(next_step)});
  return kinds;
}

}  // namespace sublet::subletd
