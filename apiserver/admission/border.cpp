#include "apiserver/admission/plugins.h"

namespace sublet::apiserver {

/// What the syncer could not carry to the host is refused here, with the syncer's own reasons.
Outcome border(const Attempt& attempt) {
  auto& context = attempt.context;
  if (!context.options.border || !attempt.is("", "pods") || attempt.verb == WriteVerb::remove) return {};
  // Somebody must still be able to take the finalizers off a pod that a stricter template would now refuse.
  if (attempt.object["metadata"].has("deletionTimestamp")) return {};
  auto verdict = context.options.border("Pod", attempt.object, attempt.old);
  for (auto& warning : verdict.warnings) context.warnings.push_back(std::move(warning));
  if (verdict.denials.empty()) return {};
  std::string why;
  for (const auto& cause : verdict.denials) {
    if (!why.empty()) why += "; ";
    if (!cause.field.empty()) why += cause.field + ": ";
    why += cause.message;
  }
  auto refusal = attempt.forbid(why);
  refusal.value().causes = std::move(verdict.denials);
  return refusal;
}

}  // namespace sublet::apiserver
