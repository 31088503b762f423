#include <algorithm>

#include "apiserver/admission/plugins.h"
#include "apiserver/authn/authenticator.h"

namespace sublet::apiserver {
namespace {

template <class Kind>
const Kind* find_kind(const std::vector<Kind>& kinds, std::string_view group, std::string_view resource) {
  const auto found =
      std::ranges::find_if(kinds, [&](const Kind& kind) { return kind.resource == resource && kind.group == group; });
  return found == kinds.end() ? nullptr : &*found;
}

// Objects of a namespace are removed with it.
bool goes_with_its_namespace(const Attempt& attempt) {
  if (attempt.verb != WriteVerb::remove || attempt.context.namespace_name.empty()) return false;
  const auto stored = attempt.context.pending.get("namespaces/" + std::string(attempt.context.namespace_name));
  if (!stored) return false;
  const auto space = schema::Document::parse_json(stored->json());
  return space && (*space)["metadata"].has("deletionTimestamp");
}

bool bears(const schema::Value& object, std::string_view label) { return object["metadata"]["labels"].has(label); }

}  // namespace

const MirroredKind* find_mirrored(const ServerOptions& options, std::string_view group, std::string_view resource) {
  return find_kind(options.mirrored_from_host, group, resource);
}
const CarriedKind* find_carried(const ServerOptions& options, std::string_view group, std::string_view resource) {
  return find_kind(options.carried_to_host, group, resource);
}

/// Refuses writes to objects that the syncer brings from the host: it would soon undo them. The syncer's name is
/// reserved (filters/pipeline.cpp).
Outcome from_host(const Attempt& attempt) {
  // By the resource alone: what /status of it stores is the host's too.
  const auto& resource = attempt.context.resource;
  const MirroredKind* const kind = find_mirrored(attempt.context.options, resource.group, resource.resource);
  const std::string& user = attempt.context.user.name;
  if (!kind || user == attempt.context.options.unix_socket_user || user == kInProcessUser)
    return {};  // ourselves: a definition's status says that it is served, a quota's what is used of it
  if (bears(attempt.old, kind->label) && goes_with_its_namespace(attempt)) return {};
  if (bears(attempt.old, kind->label))
    return attempt.forbid("it comes from the host cluster, and only there it can be changed: " + kind->next_step);
  // The syncer would take it for its own, and remove it.
  if (bears(attempt.object, kind->label))
    return attempt.forbid("the label " + kind->label +
                          " marks what comes from the host cluster, and only the syncer sets it: leave it out");
  return {};
}

}  // namespace sublet::apiserver
