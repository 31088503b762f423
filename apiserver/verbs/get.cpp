#include <charconv>

#include "apiserver/verbs/read_steps.h"

namespace sublet::apiserver {

void get_object(const ContextPtr& context) {
  auto wanted = parse_resource_version(context->query.get("resourceVersion"), "resourceVersion");
  if (!wanted) return reply_status(*context, wanted.error());
  when_revision_reached(context, *wanted, [context](const Outcome& reached) {
    if (!reached) return reply_status(*context, reached.error());
    auto current = find_stored(*context, context->core->store.snapshot());
    if (!current) return reply_status(*context, current.error());
    reply(*context, {.code = 200, .object = std::move(*current), .json = {}, .op = std::nullopt});
  });
}

}  // namespace sublet::apiserver
