#include <algorithm>

#include "apiserver/authz/request_attributes.h"
#include "apiserver/authz/standing_rights.h"
#include "apiserver/codec/object_bytes.h"
#include "apiserver/verbs/read_steps.h"

namespace sublet::apiserver {
namespace {

using schema::Value;

constexpr std::string_view kContainerLists[] = {"containers", "initContainers", "ephemeralContainers"};

bool has_container(const Value& spec, std::string_view name) {
  return std::ranges::any_of(kContainerLists, [&](std::string_view list) {
    for (const Value container : spec[list])
      if (container["name"].text() == name) return true;
    return false;
  });
}

// "[a b]"
std::string names_of(const Value& containers) {
  std::string text = "[";
  for (const Value container : containers) {
    if (text.size() > 1) text += ' ';
    text += container["name"].text();
  }
  return text + "]";
}

// The one that is asked for, or the only one there is: chosen here, by the pod as its owner knows it. The host's pod
// may have containers that webhooks put there, and would name them.
Result<std::string> container_of(const Value& pod, std::string_view asked) {
  const Value spec = pod["spec"];
  const std::string name = pod["metadata"]["name"].string();
  if (!asked.empty()) {
    if (has_container(spec, asked)) return std::string(asked);
    return bad_request("container " + std::string(asked) + " is not valid for pod " + name);
  }
  if (spec["containers"].size() == 1) return spec["containers"].at(0)["name"].string();
  std::string why = "a container name must be specified for pod " + name;
  if (!spec["containers"].empty()) why += ", choose one of: " + names_of(spec["containers"]);
  if (!spec["initContainers"].empty()) why += " or one of the init containers: " + names_of(spec["initContainers"]);
  return bad_request(why);
}

}  // namespace

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
  const auto document = stored_document(**pod);
  if (!document) return reply_status(*context, document.error());
  const auto container = container_of(document->root(), context->query.get("container"));
  if (!container) return reply_status(*context, container.error());
  PodLogRequest request{context->info.namespace_name, context->info.name, document->root()["metadata"]["uid"].string(),
                        std::string(context->request.query())};
  if (context->query.get("container").empty())
    request.query += (request.query.empty() ? "container=" : "&container=") + net::percent_encode(*container);
  // Nobody reads on in a log that he may not read any more: a reset, so that it does not look like the log's end.
  if (context->query.flag("follow"))
    context->core->standing_rights.add(attributes_of(*context), context->sink,
                                       [weak = std::weak_ptr(context->sink)](const Status&) {
                                         if (const auto sink = weak.lock()) sink->abort();
                                       });
  logs(request, context->sink);
}

}  // namespace sublet::apiserver
