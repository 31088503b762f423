#include <algorithm>
#include <array>

#include "apiserver/admission/plugins.h"

namespace sublet::apiserver {
namespace {

using schema::Value;

// A pod of megabytes can be wrong in a hundred thousand places, and the answer would be ten times its size.
constexpr std::size_t kReasonsMax = 50;

// A status and a binding may carry metadata as well; a spec is never theirs, but for the node.
bool leaves_the_spec(std::string_view subresource) { return subresource == "status" || subresource == "binding"; }

bool changes_what_crosses(const Attempt& attempt) {
  constexpr std::array kCrossing = {std::string_view("labels"), std::string_view("annotations")};
  const Value before = attempt.old["metadata"], after = attempt.object["metadata"];
  const auto differs = [&](std::string_view field) { return !before[field].equals(after[field]); };
  if (std::ranges::any_of(kCrossing, differs)) return true;
  return !leaves_the_spec(attempt.context.subresource) && !attempt.old["spec"].equals(attempt.object["spec"]);
}

// The kind by which the border is asked; empty: it is not. Pods always are: a host itself may have rules for them.
std::string_view judged_kind(const WriteContext& context) {
  const auto& resource = context.resource;
  if (resource.group.empty() && resource.resource == "pods") return "Pod";
  const CarriedKind* const carried = find_carried(context.options, resource.group, resource.resource);
  if (carried && carried->judged) return carried->kind;
  return {};
}

// Two kinds of writes are judged only by what they change: those of subresources, most of which only report what
// happened, and those to a pod that is going, off which somebody must still be able to take the finalizers when a
// stricter template would now refuse it.
bool is_judged_whole(const Attempt& attempt) {
  return attempt.context.subresource.empty() && !attempt.object["metadata"].has("deletionTimestamp");
}

}  // namespace

/// What the syncer could not carry to the host is refused here, with the syncer's own reasons; whatever the endpoint.
Outcome border(const Attempt& attempt) {
  auto& context = attempt.context;
  if (!context.options.border) return {};
  const std::string_view kind = judged_kind(context);
  if (kind.empty()) return {};
  if (!is_judged_whole(attempt) && !changes_what_crosses(attempt)) return {};
  auto verdict = context.options.border(kind, attempt.object, attempt.old);
  for (auto& warning : verdict.warnings) context.warnings.push_back(std::move(warning));
  if (verdict.denials.empty()) return {};
  const std::size_t all = verdict.denials.size();
  verdict.denials.resize(std::min(all, kReasonsMax));
  std::string why;
  for (const auto& cause : verdict.denials) {
    if (!why.empty()) why += "; ";
    if (!cause.field.empty()) why += cause.field + ": ";
    why += cause.message;
  }
  if (all > kReasonsMax) why += "; and " + std::to_string(all - kReasonsMax) + " more";
  // The profile that kubectl takes by default, "general", adds a capability.
  if (context.subresource == "ephemeralcontainers" && why.find("apabilit") != std::string::npos)
    why += "; `kubectl debug --profile=baseline` adds a container without capabilities";
  auto refusal = attempt.forbid(why);
  refusal.value().causes = std::move(verdict.denials);
  return refusal;
}

}  // namespace sublet::apiserver
