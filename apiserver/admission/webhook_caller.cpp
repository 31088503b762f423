#include "apiserver/admission/webhook_caller.h"

#include "apiserver/admission/relayed_answer.h"
#include "apiserver/admission/webhook_review.h"
#include "apiserver/authz/attributes.h"
#include "apiserver/codec/object_bytes.h"
#include "sublet/base/go_quoted.h"
#include "sublet/base/host_port.h"

namespace sublet::apiserver {
namespace {

using schema::Document;
using schema::Value;

/// Who is to be asked.
struct WebhookTarget {
  net::OutboundPeer peer;
  std::string authority, path;
  std::string pod_namespace, pod_name, pod_uid;  // of a Service; empty: the endpoint is not a pod
  bool is_service = false;
};

struct ServiceEndpoint {
  std::string address;
  int port = 0;
  std::string pod_namespace, pod_name, pod_uid;
};

tl::unexpected<Status> unreachable(std::string why) { return fail(Reason::service_unavailable, std::move(why)); }

void add_endpoints(const Value& slice, std::string_view port_name, std::vector<ServiceEndpoint>& found) {
  int port = 0;
  for (const Value entry : slice["ports"])
    if (entry["name"].text() == port_name) port = static_cast<int>(entry["port"].integer());
  if (port == 0) return;
  for (const Value endpoint : slice["endpoints"]) {
    if (!endpoint["conditions"]["ready"].boolean(true) || endpoint["addresses"].empty()) continue;
    const Value pod = endpoint["targetRef"];
    ServiceEndpoint made{(*endpoint["addresses"].begin()).string(), port, {}, {}, {}};
    if (pod["kind"].text() == "Pod") {
      made.pod_namespace = pod["namespace"].string();
      made.pod_name = pod["name"].string();
      made.pod_uid = pod["uid"].string();
    }
    found.push_back(std::move(made));
  }
}

std::vector<ServiceEndpoint> endpoints_of(const store::Snapshot& state, const WebhookClient& client,
                                          std::string_view port_name) {
  std::vector<ServiceEndpoint> found;
  state.scan("endpointslices.discovery.k8s.io/" + client.service_namespace + "/", {},
             [&](const store::ObjectPtr& object) {
               for (const auto& [name, value] : object->index.labels.all())
                 if (name == "kubernetes.io/service-name" && value == client.service_name)
                   if (auto slice = Document::parse_json(object->json()))
                     add_endpoints(slice->root(), port_name, found);
               return true;
             });
  return found;
}

Result<WebhookTarget> webhook_service_target(const WebhookClient& client, const store::Snapshot& state,
                                             std::size_t turn) {
  const std::string name = go_quoted(client.service_name);
  const auto service = read_stored(state, "services/" + client.service_namespace + "/" + client.service_name);
  if (!service) return unreachable("service " + name + " not found");
  WebhookTarget target;
  target.is_service = true;
  target.peer.server_name = client.service_name + "." + client.service_namespace + ".svc";
  target.peer.ca_pem = client.ca_pem;
  target.authority = target.peer.server_name + ":" + std::to_string(client.port);
  target.path = client.path.empty() ? "/" : client.path;
  const Value spec = (*service)["spec"];
  if (spec["type"].text() == "ExternalName") {
    target.is_service = false;
    target.peer.host = spec["externalName"].string();
    target.peer.port = client.port;
    return target;
  }
  Value port;
  for (const Value entry : spec["ports"])
    if (entry["port"].integer() == client.port) port = entry;
  if (!port) return unreachable("no service port " + std::to_string(client.port) + " found for service " + name);
  const auto endpoints = endpoints_of(state, client, port["name"].text());
  if (endpoints.empty()) return unreachable("no endpoints available for service " + name);
  const ServiceEndpoint& chosen = endpoints[turn % endpoints.size()];
  target.peer.host = chosen.address;
  target.peer.port = chosen.port;
  target.pod_namespace = chosen.pod_namespace;
  target.pod_name = chosen.pod_name;
  target.pod_uid = chosen.pod_uid;
  return target;
}

// What a URL must be was checked when it was written.
Result<WebhookTarget> target_of_url(const WebhookClient& client) {
  constexpr std::string_view kScheme = "https://";
  std::string_view rest = client.url;
  if (!rest.starts_with(kScheme)) return unreachable("'https' is the only allowed URL scheme");
  rest.remove_prefix(kScheme.size());
  const auto slash = rest.find('/');
  const std::string_view authority = rest.substr(0, slash);
  WebhookTarget target;
  target.authority = authority;
  target.path = slash == std::string_view::npos ? "/" : rest.substr(slash);
  target.peer.ca_pem = client.ca_pem;
  const HostPort parts = split_host_port(authority);
  target.peer.host = parts.host;
  if (!parts.port) return target;
  target.peer.port = parse_port(*parts.port).value_or(0);
  if (target.peer.port == 0) return unreachable("invalid port " + go_quoted(*parts.port));
  return target;
}

// In the words of Go's http.Client where clients know them.
std::string way_failed(const Status& status) {
  if (status.is(Reason::timeout)) return "context deadline exceeded";
  return status.message;
}

Result<std::string> judged(const std::string& url, Result<net::Response> response) {
  if (!response)
    return fail(Reason::service_unavailable, "Post " + go_quoted(url) + ": " + way_failed(response.error()));
  if (response->code < 200 || response->code > 206)
    return fail(Reason::service_unavailable, unexpected_answer(response->code, response->body));
  return std::move(response->body);
}

net::Request request_of(const WebhookTarget& target, const std::string& query, std::string body) {
  net::Request request;
  request.method = "POST";
  request.target = target.path + query;
  request.headers = {{"Host", target.authority},
                     {"Content-Type", "application/json"},
                     {"Accept", "application/json, */*"},
                     {"User-Agent", "kube-apiserver-admission"}};
  request.body = std::move(body);
  return request;
}

}  // namespace

WebhookCaller::WebhookCaller(net::Loop& loop, OutboundOptions options)
    : loop_(loop),
      services_(std::move(options.services)),
      relay_(std::move(options.relay)),
      calls_out_(options.calls_out),
      front_proxy_certificate_pem_(std::move(options.front_proxy_certificate_pem)),
      front_proxy_key_pem_(std::move(options.front_proxy_key_pem)),
      outbound_(loop, std::move(options.rules)) {}

std::shared_ptr<void> WebhookCaller::call(const WebhookClient& client, const store::Snapshot& state, std::string body,
                                          std::chrono::milliseconds timeout, Answered answered) {
  const auto seconds = std::chrono::ceil<std::chrono::seconds>(timeout).count();
  const std::string query = "?timeout=" + std::to_string(seconds) + "s", url = client.address() + query;
  auto target = client.url.empty() ? webhook_service_target(client, state, turn_++) : target_of_url(client);
  const bool through_hook = target && target->is_service && services_;
  if (through_hook && target->pod_name.empty())
    target = unreachable("what stands behind service " + go_quoted(client.service_name) +
                         " is no pod of this virtual cluster: only pods can be called");
  if (target && !through_hook && !calls_out_)
    target = unreachable("this API server connects to nobody by itself: name a Service whose pods answer");
  auto done = [url, answered = std::move(answered)](Result<net::Response> response) {
    answered(judged(url, std::move(response)));
  };
  if (!target) {
    auto waited_for = std::make_shared<std::function<void(Result<net::Response>)>>(std::move(done));
    loop_.post([weak = std::weak_ptr(waited_for), status = target.error()] {
      if (const auto heard = weak.lock()) (*heard)(fail(status));
    });
    return waited_for;
  }
  net::Request request = request_of(*target, query, std::move(body));
  if (through_hook)
    return services_({target->pod_namespace, target->pod_name, target->pod_uid, target->peer.port,
                      target->peer.server_name, target->peer.ca_pem, std::move(request), timeout},
                     std::move(done));
  return outbound_.call(target->peer, {std::move(request), timeout}, std::move(done));
}

// To API servers of the tenant's own
// -----------------------------------------------------------------------------

/// Through the hook the call counts, else the peer.
struct WebhookCaller::Way {
  net::OutboundPeer peer;
  ServiceCall call;
};

Result<WebhookCaller::Way> WebhookCaller::way_to(const ServicePeer& asked, const store::Snapshot& state) {
  WebhookClient client;
  client.service_namespace = asked.service_namespace;
  client.service_name = asked.service_name;
  client.port = asked.port;
  client.ca_pem = asked.ca_pem;
  auto target = webhook_service_target(client, state, turn_++);
  if (!target) return fail(target.error());
  if (services_ && !relay_) return unreachable("nothing that runs pods is connected to this API server");
  if (services_ && target->pod_name.empty())
    return unreachable("what stands behind service " + go_quoted(asked.service_name) +
                       " is no pod of this virtual cluster: only pods can be called");
  if (!services_ && !calls_out_) return unreachable("this API server connects to nobody by itself");
  Way way;
  way.peer = std::move(target->peer);
  way.peer.server_name = asked.service_name + "." + asked.service_namespace + ".svc";
  way.peer.any_certificate = asked.any_certificate;
  way.peer.certificate_pem = front_proxy_certificate_pem_;
  way.peer.key_pem = front_proxy_key_pem_;
  way.call.pod_namespace = target->pod_namespace;
  way.call.pod_name = target->pod_name;
  way.call.pod_uid = target->pod_uid;
  way.call.port = way.peer.port;
  way.call.server_name = way.peer.server_name;
  way.call.ca_pem = asked.ca_pem;
  way.call.any_certificate = asked.any_certificate;
  way.call.certificate_pem = front_proxy_certificate_pem_;
  way.call.key_pem = front_proxy_key_pem_;
  return way;
}

std::shared_ptr<void> WebhookCaller::ask(const ServicePeer& peer, const store::Snapshot& state, net::Request request,
                                         std::chrono::milliseconds timeout,
                                         std::function<void(Result<net::Response>)> answered) {
  auto way = way_to(peer, state);
  if (!way) {
    auto waited_for = std::make_shared<std::function<void(Result<net::Response>)>>(std::move(answered));
    loop_.post([weak = std::weak_ptr(waited_for), status = way.error()] {
      if (const auto heard = weak.lock()) (*heard)(fail(status));
    });
    return waited_for;
  }
  request.headers.set("Host", way->peer.server_name);
  if (!services_) return outbound_.call(way->peer, {std::move(request), timeout}, std::move(answered));
  way->call.request = std::move(request);
  way->call.timeout = timeout;
  return services_(std::move(way->call), std::move(answered));
}

void WebhookCaller::relay(const ServicePeer& peer, const store::Snapshot& state, net::Request request,
                          std::shared_ptr<net::ResponseSink> sink) {
  auto way = way_to(peer, state);
  if (!way) return answer_unreached(*sink, way.error().message);
  request.headers.set("Host", way->peer.server_name);
  if (services_) {
    way->call.request = std::move(request);
    way->call.timeout = std::chrono::milliseconds(0);
    return relay_(std::move(way->call), std::move(sink));
  }
  const auto transport = outbound_.transport_to(way->peer);
  if (!transport) return answer_unreached(*sink, transport.error().message);
  RelayedAnswer::start(**transport, std::move(request), std::move(sink));
}

}  // namespace sublet::apiserver
