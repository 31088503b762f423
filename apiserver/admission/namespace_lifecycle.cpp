#include <algorithm>

#include "apiserver/admission/plugins.h"

namespace sublet::apiserver {
namespace {

constexpr std::string_view kImmortal[] = {"default", "kube-system", "kube-public"};

/// The phase is a selectable field, so the index usually knows it without parsing the namespace.
std::string phase_of(const store::Object& stored) {
  for (const auto& [path, value] : stored.index.fields)
    if (path == "status.phase") return value;
  auto document = schema::Document::parse_json(stored.json());
  return document ? (*document)["status"]["phase"].string() : "";
}

tl::unexpected<Status> terminating(const Attempt& attempt, const std::string& namespace_name) {
  auto refusal =
      attempt.forbid("unable to create new content in namespace " + namespace_name + " because it is being terminated");
  refusal.value().causes.push_back(
      {"NamespaceTerminating", "namespace " + namespace_name + " is being terminated", "metadata.namespace"});
  return refusal;
}

}  // namespace

Outcome namespace_lifecycle(const Attempt& attempt) {
  auto& context = attempt.context;
  if (attempt.verb == WriteVerb::remove) {
    bool immortal = attempt.is("", "namespaces") &&
                    std::find(std::begin(kImmortal), std::end(kImmortal), attempt.name()) != std::end(kImmortal);
    if (immortal) return attempt.forbid("this namespace may not be deleted");
    return {};
  }
  if (context.namespace_name.empty() || context.resource.resource == "namespaces") return {};
  std::string namespace_name(context.namespace_name);
  auto key = "namespaces/" + namespace_name;
  auto stored = context.pending.get(key);
  if (!stored) return fail(not_found_status("", "namespaces", namespace_name));
  if (attempt.verb == WriteVerb::update) return {};
  if (phase_of(*stored) == "Terminating") return terminating(attempt, namespace_name);
  return {};
}

void guard_namespace(WriteContext& context) {
  if (context.namespace_name.empty() || context.dry_run) return;
  auto key = "namespaces/" + std::string(context.namespace_name);
  const auto stored = context.pending.get(key);
  const store::Revision seen = stored ? stored->revision : 0;
  context.txn.guards.push_back({std::move(key), seen});
}

}  // namespace sublet::apiserver
