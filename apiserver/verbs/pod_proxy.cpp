#include "apiserver/verbs/pod_proxy.h"

#include <algorithm>
#include <charconv>

#include "apiserver/authz/request_attributes.h"
#include "apiserver/authz/standing_rights.h"
#include "apiserver/codec/object_bytes.h"
#include "apiserver/verbs/connect_admission.h"
#include "sublet/base/random.h"
#include "sublet/kube/pod_proxy.h"
#include "sublet/net/duplex.h"

namespace sublet::apiserver {
namespace {

using kube::ProxyName;
using schema::Document;
using schema::Value;

constexpr std::string_view kForwardedMethods[] = {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"};
constexpr std::size_t kSegmentsToProxy = 7;  // api, v1, namespaces, NAMESPACE, pods, NAME, proxy

Result<Document> stored(const RequestContext& context, const store::Snapshot& snapshot, const std::string& resource,
                        const std::string& name) {
  const auto object = snapshot.get(resource + "/" + context.info.namespace_name + "/" + name);
  // In upstream's words it is what the request names that is not there, also when only its endpoints are not.
  if (!object) return fail(not_found_status("", context.served().resource, name));
  return stored_document(*object);
}

tl::unexpected<Status> backend_unavailable(std::string message) {
  return fail(Reason::service_unavailable, std::move(message));
}

/// Which pod it is, and where it listens.
struct ProxyTarget {
  Document pod;
  std::string port;
};

// As upstream has it, only an address that is a pod's of the namespace counts: an endpoint may say what it likes.
std::optional<ProxyTarget> pod_of_address(const RequestContext& context, const store::Snapshot& snapshot,
                                          const Value& address) {
  const Value target = address["targetRef"];
  const auto space = target["namespace"].text();
  if (target["kind"].text() != "Pod" || (!space.empty() && space != context.info.namespace_name)) return std::nullopt;
  auto pod = stored(context, snapshot, "pods", target["name"].string());
  if (!pod) return std::nullopt;
  for (const Value ip : (*pod)["status"]["podIPs"])
    if (ip["ip"].text() == address["ip"].text()) return ProxyTarget{std::move(*pod), ""};
  if ((*pod)["status"]["podIP"].text() == address["ip"].text()) return ProxyTarget{std::move(*pod), ""};
  return std::nullopt;
}

// A port of a Service by number or name: the name that its endpoints have it under.
Result<std::string> service_port_name(const RequestContext& context, const store::Snapshot& snapshot,
                                      const ProxyName& asked) {
  std::int64_t number = 0;
  const char* end = asked.port.data() + asked.port.size();
  if (const auto read = std::from_chars(asked.port.data(), end, number); read.ec != std::errc() || read.ptr != end)
    return asked.port;
  const auto service = stored(context, snapshot, "services", asked.name);
  if (!service) return fail(service.error());
  for (const Value port : (*service)["spec"]["ports"])
    if (port["port"].integer() == number) return port["name"].string();
  return backend_unavailable("no service port " + asked.port + " found for service \"" + asked.name + "\"");
}

Result<ProxyTarget> proxy_service_target(const RequestContext& context, const store::Snapshot& snapshot,
                                         const ProxyName& asked) {
  const auto name = service_port_name(context, snapshot, asked);
  if (!name) return fail(name.error());
  const auto endpoints = stored(context, snapshot, "endpoints", asked.name);
  if (!endpoints) return fail(endpoints.error());
  const Value subsets = (*endpoints)["subsets"];
  if (subsets.empty()) return backend_unavailable("no endpoints available for service \"" + asked.name + "\"");
  const auto seed = static_cast<std::size_t>(context.core->random.next());
  for (std::size_t i = 0; i < subsets.size(); ++i) {
    const Value subset = subsets.at((seed + i) % subsets.size()), addresses = subset["addresses"];
    for (const Value port : subset["ports"])
      for (std::size_t j = 0; port["name"].text() == *name && j < addresses.size(); ++j)
        if (auto found = pod_of_address(context, snapshot, addresses.at((seed + j) % addresses.size()))) {
          found->port = std::to_string(port["port"].integer());
          return std::move(*found);
        }
  }
  return backend_unavailable("no endpoints available for service \"" + context.info.name + "\"");
}

Result<ProxyTarget> target_of(const RequestContext& context, const ProxyName& asked) {
  const auto snapshot = context.core->store.snapshot();
  if (context.served().resource == "services") return proxy_service_target(context, snapshot, asked);
  auto pod = stored(context, snapshot, "pods", asked.name);
  if (!pod) return fail(pod.error());
  if ((*pod)["status"]["podIP"].text().empty()) return bad_request("address not allowed");
  return ProxyTarget{std::move(*pod), asked.port};
}

void reply_not_served(RequestContext& context, std::string message) {
  Status status;
  status.code = 501;
  status.message = std::move(message);
  reply_status(context, status);
}

// `path`: of the pod, as the client has it or as admission has changed it.
void proxy_to(const ContextPtr& context, std::string_view prefix, std::string_view path) {
  const net::Request& request = context->request;
  const std::string resource(context->served().resource);
  const auto asked = kube::parse_proxy_name(context->info.name);
  if (!asked)
    return reply_status(*context, bad_request("invalid " + std::string(resource == "pods" ? "pod" : "service") +
                                              " request \"" + context->info.name + "\"")
                                      .value());
  const auto target = target_of(*context, *asked);
  if (!target) return reply_status(*context, target.error());
  const std::string query(request.query());
  const bool upgrades = kube::asks_for_upgrade(request.headers) && net::upgradable(*context->sink) != nullptr;
  // Links in what the pod's "/" says are relative to it; what is not a page is passed on as it is.
  if (path.empty() && !upgrades && (request.method == "GET" || request.method == "HEAD"))
    return context->sink->respond(301, {{"Location", std::string(prefix) + "/" + (query.empty() ? "" : "?" + query)}},
                                  "");
  const kube::PodConnections& connections = context->core->options.pod_connections;
  if (!connections)
    return reply_not_served(*context, "proxy is not available: nothing that runs pods is connected to this API server");
  const Value metadata = target->pod["metadata"];
  kube::PodProxyRequest proxied;
  proxied.namespace_name = context->info.namespace_name;
  proxied.pod_name = metadata["name"].string();
  proxied.pod_uid = metadata["uid"].string();
  proxied.subresource = kube::kProxySubresource;
  proxied.method = request.method;
  proxied.query = query;
  proxied.user = context->user.name;
  proxied.request_id = context->audit_id;
  proxied.headers = kube::proxied_request_headers(request.headers, upgrades);
  proxied.scheme = asked->scheme;
  proxied.port = target->port;
  proxied.path = kube::clean_proxy_path(path);
  proxied.prefix = prefix;
  proxied.body = request.body;
  context->core->standing_rights.add(attributes_of(*context), context->sink,
                                     [weak = std::weak_ptr(context->sink)](const Status&) {
                                       if (const auto sink = weak.lock()) sink->abort();
                                     });
  connections(proxied, context->sink);
}

}  // namespace

std::pair<std::string_view, std::string_view> split_at_proxy(std::string_view path) {
  std::size_t at = 0;
  for (std::size_t segments = 0; segments < kSegmentsToProxy; ++segments)
    at = std::min(path.find('/', path.find_first_not_of('/', at)), path.size());
  return {path.substr(0, at), path.substr(at)};
}

void pod_proxy(const ContextPtr& context) {
  if (context->served().resource == "nodes")
    return reply_not_served(*context, "nodes/proxy leads to kubelets, which are the host's");
  if (std::ranges::find(kForwardedMethods, context->request.method) == std::end(kForwardedMethods))
    return reply_status(*context, method_not_allowed_status());
  admit_connect(context, [context](const Value& changed) {
    const auto [prefix, path] = split_at_proxy(context->request.path());
    if (!changed) return proxy_to(context, prefix, path);
    proxy_to(context, prefix, net::percent_encode(changed["path"].text()));
  });
}

}  // namespace sublet::apiserver
