#include "apiserver/filters/pipeline.h"

#include <algorithm>

#include "apiserver/aggregation/service_proxy.h"
#include "apiserver/authn/authenticator.h"
#include "apiserver/authz/authorizer.h"
#include "apiserver/authz/request_attributes.h"
#include "apiserver/endpoints/endpoint.h"
#include "apiserver/filters/flow.h"
#include "apiserver/filters/impersonation.h"
#include "apiserver/subresources/subresource.h"
#include "apiserver/verbs/placement.h"
#include "apiserver/verbs/pod_proxy.h"
#include "apiserver/verbs/scale.h"
#include "apiserver/verbs/verb.h"
#include "apiserver/verbs/write_steps.h"
#include "sublet/apiserver/configured_authentication.h"
#include "sublet/net/courier.h"

namespace sublet::apiserver {
namespace {

constexpr std::size_t kBodyMax = 3 * 1024 * 1024;
constexpr int kWritesInFlightMax = 1000;

Status plain_status(Reason reason, std::string message) {
  Status status;
  status.reason = reason;
  status.message = std::move(message);
  return status;
}

Status no_such_resource() {
  return plain_status(Reason::not_found, "the server could not find the requested resource");
}

std::string audit_id_of(const RequestContext& context) {
  constexpr std::size_t kMax = 64;
  const auto sent = context.request.headers.get("Audit-ID");
  return sent.empty() || sent.size() > kMax ? uuid_v4(context.core->random) : std::string(sent);
}

// The names of the socket's peer and of this process may write what the border trusts (objects of the host, a Service's
// addresses), so they are reserved: a tenant's administrator may impersonate any user, and sign any name.
bool may_use_name(std::string_view name, const RequestContext& context) {
  using Kind = net::PeerIdentity::Kind;
  const Kind kind = context.request.peer.kind;
  if (kind == Kind::unix_socket || kind == Kind::in_process) return true;
  return name != context.core->options.unix_socket_user && name != kInProcessUser;
}

bool authenticate_request(RequestContext& context) {
  const ServerCore& core = *context.core;
  auto user = authenticate(
      context.request, core.options, [&core] { return core.store.snapshot(); }, core.clock);
  if (!user) {
    reply_status(context, user.error());
    return false;
  }
  context.user = std::move(*user);
  const bool by_request = context.request.peer.kind == net::PeerIdentity::Kind::anonymous;  // not by the connection
  if (by_request && context.user.name != kAnonymousUser) context.sink->peer_is_known();
  if (auto acting = impersonate(context); !acting) {
    reply_status(context, acting.error());
    return false;
  }
  if (may_use_name(context.user.name, context)) return true;
  reply_status(context, plain_status(Reason::forbidden,
                                     "\"" + context.user.name +
                                         "\" is reserved for a component of this virtual cluster; it cannot be used by "
                                         "certificate, token or impersonation"));
  return false;
}

bool authorize_request(RequestContext& context) {
  const Attributes attributes = attributes_of(context);
  auto allowed = context.core->authorizer.check(attributes);
  if (!allowed) reply_status(context, allowed.error());
  return allowed.has_value();
}

bool is_write(Verb verb) { return verb != Verb::get && verb != Verb::list && verb != Verb::watch; }

void refuse_for_now(RequestContext& context) {
  Status status = plain_status(Reason::too_many_requests, "too many requests, please try again later");
  status.retry_after_seconds = 1;
  reply_status(context, status);
}

// Upstream's long-running requests: watches, sessions and logs.
bool is_long_running(const RequestInfo& info) {
  constexpr std::string_view kSubresources[] = {"attach", "exec", "log", "portforward", "proxy"};
  return info.verb == Verb::watch || std::ranges::find(kSubresources, info.subresource) != std::end(kSubresources);
}

// Counts the request until it ends (apiserver_current_inflight_requests).
void count_in_flight(RequestContext& context) {
  if (is_long_running(context.info)) return;
  const bool mutates = context.info.is_resource && is_write(context.info.verb);
  context.in_flight = mutates ? &context.core->writes_in_flight : &context.core->reads_in_flight;
  context.in_flight->fetch_add(1, std::memory_order_relaxed);
}

// Whether the path's shape fits the resource's scope.
Outcome check_scope(const RequestContext& context) {
  const RequestInfo& info = context.info;
  const bool namespaced = context.served().namespaced;
  if (info.has_namespace && !namespaced) return fail(no_such_resource());
  if (!namespaced || info.has_namespace) return {};
  if (!info.name.empty() && info.verb != Verb::watch) return fail(no_such_resource());
  if (is_write(info.verb)) return fail(method_not_allowed_status());
  return {};
}

struct VerbRow {
  Verb verb;
  void (*run)(const ContextPtr& context);
};
constexpr VerbRow kVerbHandlers[] = {
    {Verb::get, get_object},       {Verb::list, list_objects},
    {Verb::watch, watch_objects},  {Verb::create, create_object},
    {Verb::update, update_object}, {Verb::patch, patch_object},
    {Verb::remove, remove_object}, {Verb::remove_collection, remove_collection},
};

void not_implemented(const ContextPtr& context) {
  Status status;
  status.code = 501;
  status.message = context->served().resource;
  status.message += "/" + context->info.subresource + " is not implemented by this API server yet";
  reply_status(*context, status);
}

// Subresources that stream instead of answering with an object.
struct StreamRow {
  std::string_view subresource;
  void (*run)(const ContextPtr& context);
};
constexpr StreamRow kStreamHandlers[] = {{"log", pod_log},
                                         {"exec", pod_connect},
                                         {"attach", pod_connect},
                                         {"portforward", pod_connect},
                                         {"proxy", pod_proxy}};

constexpr VerbRow kScaleVerbs[] = {{Verb::get, get_object}, {Verb::update, update_scale}, {Verb::patch, patch_scale}};

// Views of the object itself: the generic verbs serve them.
bool is_view(const RequestContext& context) {
  const std::string_view subresource = context.info.subresource;
  return subresource.empty() || subresource == "status" || subresource == "finalize" ||
         find_view(strategy_of(*context.route), subresource);
}

void dispatch_subresource(const ContextPtr& context) {
  if (!find_subresource(*context->route, context->info.subresource)) return reply_status(*context, no_such_resource());
  for (const auto& row : kStreamHandlers)
    if (row.subresource == context->info.subresource) return row.run(context);
  if (!allows_verb(*context->route, context->info.subresource, verb_name(context->info.verb)))
    return reply_status(*context, method_not_allowed_status());
  if (context->info.verb == Verb::create) return post_to_subresource(context);
  if (context->info.subresource == "scale")
    for (const auto& row : kScaleVerbs)
      if (row.verb == context->info.verb) return row.run(context);
  not_implemented(context);
}

// POST .../bindings is the old spelling of pods/<metadata.name>/binding.
void post_binding(const ContextPtr& context) {
  auto body = decode_body({context->request.headers.get("Content-Type"), context->request.body},
                          expected_kind(*context->route), FieldValidation::ignore, context->warnings);
  if (!body) return reply_status(*context, body.error());
  context->route = context->routes().find("", "v1", "pods");
  context->info.resource = "pods";
  context->info.name = (*body)["metadata"]["name"].string();
  context->info.subresource = "binding";
  post_to_subresource(context);
}

void dispatch_verb(const ContextPtr& context) {
  const auto& info = context->info;
  if (!is_view(*context)) return dispatch_subresource(context);
  if (!info.subresource.empty() && !find_subresource(*context->route, info.subresource))
    return reply_status(*context, no_such_resource());
  if (!allows_verb(*context->route, info.subresource, verb_name(info.verb)))
    return reply_status(*context, method_not_allowed_status());
  if (info.verb == Verb::create && !info.name.empty()) return reply_status(*context, method_not_allowed_status());
  if (info.verb == Verb::create && info.group.empty() && info.resource == "bindings") return post_binding(context);
  if (info.verb == Verb::create && review_for(context->storage().group, context->storage().resource))
    return answer_review(context);
  for (const auto& row : kVerbHandlers)
    if (row.verb == info.verb) return row.run(context);
  reply_status(*context, method_not_allowed_status());
}

bool negotiate_output(RequestContext& context) {
  const bool stored = context.served().verbs.contains("get");
  auto output = negotiate(context.request.headers.get("Accept"), {stored, !context.served().custom});
  if (!output) {
    reply_status(context, output.error());
    return false;
  }
  context.output = *output;
  context.output.pretty = context.output.media == Media::json && context.info.verb != Verb::watch &&
                          wants_pretty(context.query.find("pretty"), context.request.headers.get("User-Agent"));
  if (context.output.form != Form::table) return true;
  const auto rows = context.query.get("includeObject");
  if (rows == "Object") context.output.row_object = RowObject::object;
  if (rows == "None") context.output.row_object = RowObject::none;
  if (rows.empty() || rows == "Metadata" || rows == "Object" || rows == "None") return true;
  reply_status(context, plain_status(Reason::bad_request,
                                     "Unable to convert to Table as requested: includeObject: Invalid value: \"" +
                                         std::string(rows) + "\": must be 'Metadata', 'Object', 'None', or empty"));
  return false;
}

void handle_resource(const ContextPtr& context) {
  const RequestInfo& info = context->info;
  context->route = context->routes().find(info.group, info.version, info.resource);
  if (!context->route) return reply_status(*context, no_such_resource());
  if (const auto* warning = context->kinds->entry<VersionWarning>(*context->route->served))
    context->warnings.push_back(warning->text);
  if (!negotiate_output(*context)) return;
  if (auto fits = check_scope(*context); !fits) return reply_status(*context, fits.error());
  if (is_write(context->info.verb)) {
    if (context->request.body.size() > kBodyMax)
      return reply_status(*context, plain_status(Reason::request_entity_too_large,
                                                 "Request entity too large: limit is " + std::to_string(kBodyMax)));
    if (context->core->writes_in_flight.load(std::memory_order_relaxed) > kWritesInFlightMax)
      return refuse_for_now(*context);
  }
  run_verb_placed(context, dispatch_verb);
}

void serve(const ContextPtr& context) {
  if (context->info.is_resource) return handle_resource(context);
  const Endpoint* endpoint = find_endpoint(context->info.path);
  if (!endpoint) return reply_status(*context, no_such_resource());
  if (context->request.method != "GET" && context->request.method != "HEAD")
    return reply_status(*context, method_not_allowed_status());
  endpoint->serve(context);
}

void serve_body(const ContextPtr& context, const ApiServicePtr& elsewhere) {
  if (elsewhere) return hand_over(context, *elsewhere);
  serve(context);
}

void serve_with_seat(const ContextPtr& context) {
  count_in_flight(*context);
  if (!authorize_request(*context)) return;
  auto elsewhere = server_of(*context);
  if (!context->info.is_resource && !elsewhere) return serve(context);
  if (!context->request.body_follows) return serve_body(context, elsewhere);
  context->sink->read_body([context, elsewhere = std::move(elsewhere)](std::string body) {
    context->request.body = std::move(body);
    context->request.body_follows = false;
    serve_body(context, elsewhere);
  });
}

void continue_pipeline(const ContextPtr& context) {
  if (authenticate_request(*context)) with_seat(context, serve_with_seat);
}

// A request whose token needs a key that is being fetched from the issuer waits; other requests do not.
bool waits_for_keys(const ContextPtr& context) {
  const auto& configured = context->core->options.authentication;
  if (!configured) return false;
  const auto token = presented_token(context->request);
  return !token.empty() && configured->wait_for_keys(token, [context] {
    context->sink->courier()->post([context] { continue_pipeline(context); });
  });
}

}  // namespace

void handle_request(const std::shared_ptr<ServerCore>& core, net::Request request,
                    std::shared_ptr<net::ResponseSink> sink) {
  const auto context = std::make_shared<RequestContext>(core, std::move(request), std::move(sink));
  context->received = core->clock.steady_now();
  context->audit_id = audit_id_of(*context);
  context->info = parse_request_info(context->request, context->query);
  if (!waits_for_keys(context)) continue_pipeline(context);
}

}  // namespace sublet::apiserver
