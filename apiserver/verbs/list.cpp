#include "apiserver/codec/object_filter.h"
#include "apiserver/request/object_key.h"
#include "apiserver/verbs/list_source.h"
#include "apiserver/verbs/read_steps.h"

namespace sublet::apiserver {
namespace {

void answer_list(const ContextPtr& context, const ListRequest& request, const ObjectFilter& filter) {
  auto snapshot = snapshot_of_list(*context->core, request);
  if (!snapshot) return reply_status(*context, snapshot.error());
  const ObjectWriter writer(*context->route, context->output);
  if (auto fits = writer.check_list(); !fits) return reply_status(*context, fits.error());
  const ListMeta meta{.revision = snapshot->revision(), .continue_token = {}, .remaining = std::nullopt};
  Selection selection(std::move(*snapshot), key_prefix(context->storage(), context->info.namespace_name),
                      request.start_after, filter, request.limit);
  if (context->moved_to == Place::conversions) return reply_converted(context, writer, meta, std::move(selection));
  reply_in_steps(context, writer.content_type(),
                 std::make_unique<ListSource>(context, writer, meta, std::move(selection)));
}

}  // namespace

void list_objects(const ContextPtr& context) {
  auto request = read_list_request(context->query);
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
