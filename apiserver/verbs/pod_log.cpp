#include "apiserver/verbs/read_steps.h"

namespace sublet::apiserver {

void pod_log(const ContextPtr& context) {
  auto pod = find_stored(*context, context->core->store.snapshot());
  if (!pod) return reply_status(*context, pod.error());
  const PodLogs& logs = context->core->options.pod_logs;
  if (!logs) {
    Status status;
    status.code = 501;
    status.message = "logs are not available: nothing that runs pods is connected to this API server";
    return reply_status(*context, status);
  }
  logs(context->info.namespace_name, context->info.name, std::string(context->request.query()), context->sink);
}

}  // namespace sublet::apiserver
