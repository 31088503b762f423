#include "apiserver/authz/request_attributes.h"
#include "apiserver/authz/standing_rights.h"
#include "apiserver/codec/object_bytes.h"
#include "apiserver/verbs/pod_container.h"
#include "apiserver/verbs/pod_log_options.h"
#include "apiserver/verbs/read_steps.h"
#include "apiserver/verbs/websocket_stream.h"

namespace sublet::apiserver {

void pod_log(const ContextPtr& context) {
  auto options = pod_log_query(context->query, context->info.name);
  if (!options) return reply_status(*context, options.error());
  auto pod = find_stored(*context, context->core->store.snapshot());
  if (!pod) return reply_status(*context, pod.error());
  const PodLogs& logs = context->core->options.pod_logs;
  if (!logs) {
    Status status;
    status.code = 501;
    status.message = "logs are not available: nothing that runs pods is connected to this API server";
    return reply_status(*context, status);
  }
  const auto document = stored_document(**pod);
  if (!document) return reply_status(*context, document.error());
  const auto container = container_of(document->root(), context->query.get("container"));
  if (!container) return reply_status(*context, container.error());
  PodLogRequest request{context->info.namespace_name, context->info.name, document->root()["metadata"]["uid"].string(),
                        std::move(*options)};
  request.query += (request.query.empty() ? "container=" : "&container=") + net::percent_encode(*container);
  if (!stream_log_to_websocket(*context)) return;
  // A followed log ends with its reader's right: a reset, so that it does not look like the log's end.
  if (context->query.flag("follow"))
    context->core->standing_rights.add(attributes_of(*context), context->sink,
                                       [weak = std::weak_ptr(context->sink)](const Status&) {
                                         if (const auto sink = weak.lock()) sink->abort();
                                       });
  logs(request, context->sink);
}

}  // namespace sublet::apiserver
