#include "apiserver/admission/plugins.h"
#include "apiserver/validation/field_errors.h"

namespace sublet::apiserver {
namespace {

using schema::Value;

Outcome set_overhead(const Attempt& attempt, Value spec, const Value& runtime) {
  auto wanted = runtime["overhead"]["podFixed"], given = spec["overhead"];
  if (!runtime.has("overhead")) {
    if (!given.empty())
      return attempt.forbid("pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead");
    return {};
  }
  if (!given.empty() && !semantically_equal(given, wanted))
    return attempt.forbid("pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead");
  if (!wanted.empty()) spec.put("overhead", wanted);
  return {};
}

bool same_toleration(const Value& a, const Value& b) {
  for (auto field : {"key", "operator", "value", "effect"})
    if (a[field].text() != b[field].text()) return false;
  return a["tolerationSeconds"].integer(-1) == b["tolerationSeconds"].integer(-1);
}

Outcome set_scheduling(const Attempt& attempt, Value spec, const Value& scheduling) {
  for (auto entry : scheduling["nodeSelector"]) {
    auto own = spec["nodeSelector"][entry.key()];
    if (own && own.text() != entry.text()) {
      std::string key(entry.key());
      return attempt.forbid("conflict: runtimeClass.scheduling.nodeSelector[" + key + "] = " + entry.string() +
                            "; pod.spec.nodeSelector[" + key + "] = " + own.string());
    }
    spec.object("nodeSelector").put(entry.key(), entry);
  }
  if (!scheduling["nodeSelector"].empty()) spec["nodeSelector"].sort_keys();
  for (auto toleration : scheduling["tolerations"]) {
    bool known = false;
    for (auto own : spec["tolerations"]) known |= same_toleration(own, toleration);
    if (!known) spec.array("tolerations").push(toleration);
  }
  return {};
}

// In a virtual cluster the nodes know the host's classes only. A class of the tenant's own would be taken for one of
// the host's that the tenant is not shown.
Outcome must_be_the_hosts(const Attempt& attempt, const Value& runtime) {
  const ServerOptions& options = attempt.context.options;
  if (!options.runtime_classes_of_host) return {};
  const MirroredKind* const shown = find_mirrored(options, "node.k8s.io", "runtimeclasses");
  if (shown && runtime["metadata"]["labels"].has(shown->label)) return {};
  const std::string next = shown ? "name one that `kubectl get runtimeclasses -l " + shown->label + "` lists"
                                 : "ask whoever runs the host cluster for one";
  return attempt.forbid(
      "pod rejected: RuntimeClass \"" + runtime["metadata"]["name"].string() +
      "\" is none of the host cluster's that this virtual cluster is shown; leave runtimeClassName out, or " + next);
}

}  // namespace

Outcome runtime_class(const Attempt& attempt) {
  auto spec = attempt.spec();
  auto name = spec["runtimeClassName"];
  if (name.missing() || name.is_null()) return set_overhead(attempt, spec, {});
  auto runtime = attempt.context.read("runtimeclasses.node.k8s.io", {}, name.text());
  if (!runtime) return attempt.forbid("pod rejected: RuntimeClass \"" + name.string() + "\" not found");
  if (auto known = must_be_the_hosts(attempt, runtime->root()); !known) return known;
  if (auto outcome = set_overhead(attempt, spec, runtime->root()); !outcome) return outcome;
  return set_scheduling(attempt, spec, (*runtime)["scheduling"]);
}

}  // namespace sublet::apiserver
