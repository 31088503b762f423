#include "apiserver/admission/admission.h"

#include "apiserver/admission/plugin_table.h"

namespace sublet::apiserver {
namespace {

Outcome run_plugins(AdmissionPass pass, const Attempt& attempt) {
  for (const PluginRow& row : plugin_table())
    if (row.pass == pass && row.matches(attempt))
      if (auto outcome = row.run(attempt); !outcome) return outcome;
  return {};
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
  if (auto admitted = run_plugins(AdmissionPass::mutating, attempt); !admitted) return admitted;
  return mutating_policies(attempt);
}

Outcome admit_again(WriteContext& context, WriteVerb verb, const schema::Value& object, const schema::Value& old) {
  const Attempt attempt{context, verb, object, old};
  if (auto alive = namespace_lifecycle(attempt); !alive) return alive;
  return run_plugins(AdmissionPass::validating, attempt);
}

Outcome admit_validating(WriteContext& context, WriteVerb verb, const schema::Value& object, const schema::Value& old) {
  const Attempt attempt{context, verb, object, old};
  if (auto admitted = run_plugins(AdmissionPass::validating, attempt); !admitted) return admitted;
  return validating_policies(attempt);
}

}  // namespace sublet::apiserver
