#include "sublet/kube/pod_connect.h"

#include "apiserver/authz/authorizer.h"
#include "apiserver/authz/request_attributes.h"
#include "apiserver/authz/standing_rights.h"
#include "apiserver/codec/object_bytes.h"
#include "apiserver/verbs/connect_admission.h"
#include "apiserver/verbs/pod_container.h"
#include "apiserver/verbs/read_steps.h"
#include "sublet/net/duplex.h"

namespace sublet::apiserver {
namespace {

using schema::Value;

// A WebSocket begins with GET, which is a reading verb. Running commands in a pod needs the right to create, whatever
// the method (upstream's AuthorizePodWebsocketUpgradeCreatePermission).
Attributes right_to_create(const RequestContext& context) {
  Attributes attributes = attributes_of(context);
  attributes.verb = "create";
  return attributes;
}

// Ends the connection as soon as the right on which it rests is gone.
void end_with_right(const RequestContext& context, const Attributes& right) {
  context.core->standing_rights.add(right, context.sink, [weak = std::weak_ptr(context.sink)](const Status&) {
    if (const auto sink = weak.lock()) sink->abort();
  });
}

Outcome check_connect(const RequestContext& context, const Value& pod, std::string& query) {
  const std::string& subresource = context.info.subresource;
  if (subresource != "portforward") {
    const std::string asked(Query(query).get("container"));
    const auto container = container_of(pod, asked);
    if (!container) return fail(container.error());
    if (asked.empty())
      query.append(query.empty() ? "" : "&").append("container=").append(net::percent_encode(*container));
  }
  if (pod["spec"]["nodeName"].text().empty())
    return bad_request("pod " + context.info.name + " does not have a host assigned");
  if (!kube::asks_for_upgrade(context.request.headers) || !net::upgradable(*context.sink))
    return bad_request("Upgrade request required");
  return {};
}

// `query`: as the client has sent it, or as admission has changed it.
void connect_to(const ContextPtr& context, const Attributes& right, std::string_view query) {
  const std::string& method = context->request.method;
  const auto pod = find_stored(*context, context->core->store.snapshot());
  if (!pod) return reply_status(*context, pod.error());
  const auto document = stored_document(**pod);
  if (!document) return reply_status(*context, document.error());
  kube::PodConnectRequest request{context->info.namespace_name,
                                  context->info.name,
                                  document->root()["metadata"]["uid"].string(),
                                  context->info.subresource,
                                  method,
                                  kube::allowed_connect_query(context->info.subresource, query),
                                  kube::allowed_upgrade_headers(context->request.headers),
                                  context->user.name,
                                  context->audit_id};
  if (const auto fits = check_connect(*context, document->root(), request.query); !fits)
    return reply_status(*context, fits.error());
  const kube::PodConnections& connections = context->core->options.pod_connections;
  if (!connections) {
    Status status;
    status.code = 501;
    status.message =
        context->info.subresource + " is not available: nothing that runs pods is connected to this API server";
    return reply_status(*context, status);
  }
  end_with_right(*context, right);
  if (method == "GET") end_with_right(*context, attributes_of(*context));
  connections(request, context->sink);
}

}  // namespace

void pod_connect(const ContextPtr& context) {
  const std::string& method = context->request.method;
  if (method != "GET" && method != "POST") return reply_status(*context, method_not_allowed_status());
  const Attributes right = right_to_create(*context);
  if (const auto allowed = context->core->authorizer.check(right); !allowed)
    return reply_status(*context, allowed.error());
  admit_connect(context, [context](const Value& changed) {
    const std::string query = changed ? query_of_options(changed) : std::string(context->request.query());
    connect_to(context, right_to_create(*context), query);
  });
}

}  // namespace sublet::apiserver
