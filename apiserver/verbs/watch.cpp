#include "apiserver/verbs/read_steps.h"
#include "apiserver/verbs/websocket_stream.h"
#include "apiserver/watch/watch_stream.h"

namespace sublet::apiserver {
namespace {

constexpr std::int64_t kTimeoutMin = 1800, kTimeoutSpan = 1800;  // seconds: uniform in [30, 60) minutes
constexpr std::int64_t kTimeoutMax = 365 * 24 * 3600;            // upstream knows none

Result<std::chrono::milliseconds> watch_timeout(const RequestContext& context) {
  std::int64_t seconds = 0;
  if (const auto text = context.query.find("timeoutSeconds")) {
    const auto number = parse_query_integer(*text);
    if (!number) return fail(number.error());
    seconds = *number;
  }
  if (seconds <= 0)
    seconds = kTimeoutMin + static_cast<std::int64_t>(context.core->random.next() % std::uint64_t{kTimeoutSpan});
  return std::chrono::seconds(std::min(seconds, kTimeoutMax));
}

Result<WatchRequest> parse_watch_request(const RequestContext& context) {
  if (auto causes = check_list_options(context.query, true); !causes.empty())
    return fail(invalid_status("meta.k8s.io", "ListOptions", "", std::move(causes)));
  WatchRequest request;
  auto revision = parse_resource_version(context.query.get("resourceVersion"), "resourceVersion");
  if (!revision) return fail(revision.error());
  request.revision = *revision;
  request.bookmarks = context.query.flag("allowWatchBookmarks");
  request.initial_events = *revision == 0;
  if (context.query.find("sendInitialEvents")) {
    request.initial_events = context.query.flag("sendInitialEvents");
    request.initial_events_end = request.initial_events && request.bookmarks;
  }
  auto timeout = watch_timeout(context);
  if (!timeout) return fail(timeout.error());
  request.timeout = *timeout;
  return request;
}

// A watch answers errors of its revision inside the stream, as upstream does.
void answer_in_stream(const RequestContext& context, const Status& status) {
  const ObjectWriter writer(*context.route, context.output);
  context.sink->start(200, context.headers(writer.stream_content_type()));
  context.sink->write(std::make_shared<const std::string>(writer.error_frame(status)));
  context.sink->end();
}

}  // namespace

void watch_objects(const ContextPtr& context) {
  auto request = parse_watch_request(*context);
  if (!request) return reply_status(*context, request.error());
  auto filter = ObjectFilter::parse(*context->route, context->query, context->info.name);
  if (!filter) return reply_status(*context, filter.error());
  stream_watch_to_websocket(*context);
  when_revision_reached(context, request->revision,
                        [context, request = *request, filter = *filter](const Outcome& reached) {
                          if (!reached) return answer_in_stream(*context, reached.error());
                          std::make_shared<WatchStream>(*context, request, filter)->start(*context);
                        });
}

}  // namespace sublet::apiserver
