#include <charconv>

#include "apiserver/verbs/read_steps.h"
#include "apiserver/verbs/scale.h"

namespace sublet::apiserver {

void get_object(const ContextPtr& context) {
  auto wanted = parse_resource_version(context->query.get("resourceVersion"), "resourceVersion");
  if (!wanted) return reply_status(*context, wanted.error());
  when_revision_reached(context, *wanted, [context](const Outcome& reached) {
    if (!reached) return reply_status(*context, reached.error());
    auto current = find_stored(*context, context->core->store.snapshot());
    if (!current) return reply_status(*context, current.error());
    const bool scale = context->info.subresource == "scale";
    if (scale)
      if (auto has = check_scale(*context, **current); !has) return reply_status(*context, has.error());
    reply(*context, {.code = 200,
                     .object = std::move(*current),
                     .json = {},
                     .op = std::nullopt,
                     .view = scale ? scale_json : nullptr});
  });
}

}  // namespace sublet::apiserver
