#include "apiserver/codec/object_filter.h"
#include "apiserver/request/object_key.h"
#include "apiserver/verbs/list_source.h"
#include "apiserver/verbs/read_steps.h"

namespace sublet::apiserver {
namespace {

constexpr std::string_view kTokenTooOld =
    "The provided continue parameter is too old to display a consistent list result. You can start a new list without "
    "the continue parameter, or use the continue token in this response to retrieve the remainder of the results. "
    "Continuing with the provided token results in an inconsistent list - objects that were created, modified, or "
    "deleted between the time the first chunk was returned and now may show up in the list.";
constexpr std::string_view kVersionTooOld = "The resourceVersion for the provided list is too old.";

Status expired_status(const ListRequest& request) {
  Status status;
  status.reason = Reason::expired;
  status.message = request.continued ? kTokenTooOld : kVersionTooOld;
  if (request.continued) status.continue_token = encode_continue({-1, request.start_after});
  return status;
}

Result<store::Snapshot> snapshot_for(const ServerCore& core, const ListRequest& request) {
  if (!request.exact) return core.store.snapshot();
  auto snapshot = core.store.snapshot_at(request.revision);
  if (!snapshot && snapshot.error().is(Reason::expired)) return fail(expired_status(request));
  return snapshot;
}

void answer_list(const ContextPtr& context, const ListRequest& request, const ObjectFilter& filter) {
  auto snapshot = snapshot_for(*context->core, request);
  if (!snapshot) return reply_status(*context, snapshot.error());
  const ObjectWriter writer(*context->route, context->output);
  if (auto fits = writer.check_list(); !fits) return reply_status(*context, fits.error());
  const ListMeta meta{.revision = snapshot->revision(), .continue_token = {}, .remaining = std::nullopt};
  Selection selection(std::move(*snapshot), key_prefix(context->storage(), context->info.namespace_name),
                      request.start_after, filter, request.limit);
  if (context->aside) return reply_converted(context, writer, meta, std::move(selection));
  reply_in_steps(context, writer.content_type(),
                 std::make_unique<ListSource>(context, writer, meta, std::move(selection)));
}

}  // namespace

void list_objects(const ContextPtr& context) {
  if (auto causes = check_list_options(context->query, false); !causes.empty())
    return reply_status(*context, invalid_status("meta.k8s.io", "ListOptions", "", std::move(causes)));
  auto request = parse_list_request(context->query);
  if (!request) return reply_status(*context, request.error());
  auto filter = ObjectFilter::parse(*context->route, context->query);
  if (!filter) return reply_status(*context, filter.error());
  when_revision_reached(context, request->revision,
                        [context, request = *request, filter = *filter](const Outcome& reached) {
                          if (!reached) return reply_status(*context, reached.error());
                          answer_list(context, request, filter);
                        });
}

}  // namespace sublet::apiserver
