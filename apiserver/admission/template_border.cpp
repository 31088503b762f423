// Warns of pod templates whose pods could never be carried to the host: a Deployment is accepted, but each of its pods
// would be refused by the border (border.cpp), and only its ReplicaSet's events would say so.
#include "apiserver/admission/plugins.h"
#include "apiserver/admission/pod_templates.h"

namespace sublet::apiserver {
namespace {

using schema::Document;
using schema::Value;

constexpr std::size_t kTemplateReasonsMax = 10;

/// A pod as the template's controller would create it.
Document pod_of_template(const Attempt& attempt, const Value& made) {
  Document document = Document::object();
  Value pod = document.root();
  Value metadata = pod.object("metadata");
  metadata.put("name", attempt.name() + "-x");
  metadata.put("namespace", attempt.context.namespace_name);
  metadata.put("uid", "00000000-0000-0000-0000-000000000000");
  for (const std::string_view field : {"labels", "annotations"})
    if (made["metadata"].has(field)) metadata.put(field, made["metadata"][field]);
  Value spec = pod.put("spec", made["spec"]);
  if (spec.is_object() && spec["serviceAccountName"].text().empty()) spec.put("serviceAccountName", "default");
  return document;
}

}  // namespace

Outcome template_border(const Attempt& attempt) {
  auto& context = attempt.context;
  const PodMaker* const maker = pod_maker_of(context.resource);
  if (!context.options.border || !maker) return {};
  const Value made = attempt.object.path(maker->template_path);
  if (!made.is_object() || made.equals(attempt.old.path(maker->template_path))) return {};
  const Document pod = pod_of_template(attempt, made);
  const auto verdict = context.options.border("Pod", pod.root(), Value());
  std::size_t count = 0;
  for (const Cause& cause : verdict.denials) {
    if (++count > kTemplateReasonsMax) break;
    const std::string field = std::string(maker->template_path) + (cause.field.empty() ? "" : "." + cause.field);
    context.warnings.push_back(field + ": pods of this template will be refused: " + cause.message);
  }
  return {};
}

}  // namespace sublet::apiserver
