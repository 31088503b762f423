#include "apiserver/admission/admission.h"

#include "apiserver/admission/plugins.h"

namespace sublet::apiserver {
namespace {

using Plugin = Outcome (*)(const Attempt&);

constexpr Plugin kMutatingPlugins[] = {namespace_lifecycle,      limit_defaults,     service_account,
                                       taint_nodes_by_condition, priority,           default_toleration_seconds,
                                       default_storage_class,    storage_protection, runtime_class,
                                       default_ingress_class,    pod_topology_labels};
// The border comes last: it sees the object as it would be stored. After these, and after the tenant's policies and
// webhooks, only quotas are charged (in plan).
constexpr Plugin kValidatingPlugins[] = {
    from_host,           limit_bounds,         pod_security,        single_default_priority_class,
    claim_resize,        certificate_approval, certificate_signing, trust_bundle_attest,
    certificate_subject, class_of_host,        group_workload,      border};
// A removal has nothing to mutate, so it meets only these, in the validating pass.
constexpr Plugin kRemoving[] = {namespace_lifecycle, from_host};

template <std::size_t N>
Outcome run_plugins(const Plugin (&plugins)[N], const Attempt& attempt) {
  for (auto plugin : plugins)
    if (auto outcome = plugin(attempt); !outcome) return outcome;
  return {};
}

Outcome run_validating(const Attempt& attempt) {
  switch (attempt.verb) {
    case WriteVerb::remove:
      return run_plugins(kRemoving, attempt);
    case WriteVerb::subresource:  // which judges by itself
    case WriteVerb::connect:
      return {};
    case WriteVerb::create:
    case WriteVerb::update:
      break;
  }
  return run_plugins(kValidatingPlugins, attempt);
}

}  // namespace

std::string Attempt::name() const {
  auto metadata = object ? object["metadata"] : old["metadata"];
  for (auto field : {"name", "generateName"})
    if (!metadata[field].text().empty()) return metadata[field].string();
  return old["metadata"]["name"].string("Unknown");
}

tl::unexpected<Status> Attempt::forbid(std::string_view why) const {
  return fail(sublet::forbidden_status(context.resource.group, context.resource.resource, name(), why));
}

Outcome admit_mutating(WriteContext& context, WriteVerb verb, schema::Value object, const schema::Value& old,
                       Reinvocation* rounds) {
  if (verb == WriteVerb::remove) return {};
  const Attempt attempt{context, verb, object, old, rounds};
  if (!has_own_body(verb))
    if (auto admitted = run_plugins(kMutatingPlugins, attempt); !admitted) return admitted;
  return mutating_policies(attempt);
}

Outcome admit_again(WriteContext& context, WriteVerb verb, const schema::Value& object, const schema::Value& old) {
  const Attempt attempt{context, verb, object, old};
  if (auto alive = namespace_lifecycle(attempt); !alive) return alive;
  return run_validating(attempt);
}

Outcome admit_validating(WriteContext& context, WriteVerb verb, const schema::Value& object, const schema::Value& old) {
  const Attempt attempt{context, verb, object, old};
  if (auto admitted = run_validating(attempt); !admitted) return admitted;
  return validating_policies(attempt);
}

}  // namespace sublet::apiserver
