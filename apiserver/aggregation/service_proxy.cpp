#include "apiserver/aggregation/service_proxy.h"

#include <algorithm>

#include "apiserver/admission/admission_hooks.h"
#include "apiserver/aggregation/aggregated_apis.h"
#include "apiserver/aggregation/own_metrics.h"
#include "apiserver/authz/request_attributes.h"
#include "apiserver/authz/standing_rights.h"
#include "sublet/kube/pod_proxy.h"
#include "sublet/schema/group_versions.h"

namespace sublet::apiserver {
namespace {

constexpr std::string_view kApis = "/apis/", kOpenApi = "/openapi/v3";

struct ProxiedVersion {
  std::string_view group, version;
};

// "/apis/GROUP/VERSION", with or without more, and "/openapi/v3/apis/GROUP/VERSION".
ProxiedVersion asked_for(std::string_view path) {
  if (path.starts_with(kOpenApi)) path.remove_prefix(kOpenApi.size());
  if (!path.starts_with(kApis)) return {};
  path.remove_prefix(kApis.size());
  const auto slash = path.find('/');
  if (slash == std::string_view::npos) return {};
  const auto version = path.substr(slash + 1);
  return {path.substr(0, slash), version.substr(0, version.find('/'))};
}

bool stays_in_a_header(char c) {
  constexpr std::string_view kMarks = "!#$&'*+-.^_`|~";
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
         kMarks.find(c) != std::string_view::npos;
}

// As client-go has it (transport.headerKeyEscape).
std::string header_key(std::string_view key) {
  constexpr char kHex[] = "0123456789ABCDEF";
  std::string out;
  for (const char c : key) {
    if (stays_in_a_header(c)) {
      out += c;
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    out += {'%', kHex[byte >> 4], kHex[byte & 15]};
  }
  return out;
}

// Names come from certificates and tokens: nothing of them begins a header of its own.
void add_line(net::Headers& headers, std::string name, std::string_view value) {
  if (std::ranges::none_of(value, [](unsigned char c) { return c < 0x20 || c == 0x7f; }))
    headers.add(std::move(name), std::string(value));
}

// What the front proxy says of who asks.
void add_identity(net::Headers& headers, const User& user) {
  add_line(headers, "X-Remote-User", user.name);
  if (!user.uid.empty()) add_line(headers, "X-Remote-Uid", user.uid);
  for (const auto& group : user.groups) add_line(headers, "X-Remote-Group", group);
  for (const auto& [key, values] : user.extra)
    for (const auto& value : values) add_line(headers, "X-Remote-Extra-" + header_key(key), value);
}

void respond_unavailable(RequestContext& context) {
  constexpr int kCode = 503;
  context.record(kCode);
  net::Headers headers = context.headers("text/plain; charset=utf-8");
  headers.add("X-Content-Type-Options", "nosniff");
  context.sink->respond(kCode, std::move(headers), "service unavailable\n");
}

}  // namespace

ApiServicePtr server_of(const RequestContext& context) {
  const AggregatedApis& apis = context.core->aggregated;
  if (!apis.any()) return nullptr;
  const ProxiedVersion asked = asked_for(context.info.path);
  if (asked.group.empty() || asked.version.empty() || schema::serves(*context.kinds, asked.group, asked.version))
    return nullptr;
  return apis.find(asked.group, asked.version);
}

net::Request aggregator_get(std::string path, const User& user) {
  net::Request request;
  request.method = "GET";
  request.target = std::move(path);
  request.headers = {{"Accept", "application/json"}, {"User-Agent", "kube-apiserver-aggregator"}};
  add_identity(request.headers, user);
  return request;
}

void hand_over(const ContextPtr& context, const ApiService& service) {
  if (service.local) return answer_metrics(context);
  if (!service.available) return respond_unavailable(*context);
  net::Request request;
  request.method = context->request.method;
  request.target = context->request.target;
  request.headers = kube::proxied_request_headers(context->request.headers, false);
  if (const auto encodings = context->request.headers.get("Accept-Encoding"); !encodings.empty())
    request.headers.set("Accept-Encoding", std::string(encodings));
  request.headers.set("Audit-ID", context->audit_id);
  add_identity(request.headers, context->user);
  request.body = std::move(context->request.body);
  context->core->standing_rights.add(attributes_of(*context), context->sink,
                                     [weak = std::weak_ptr(context->sink)](const Status&) {
                                       if (const auto sink = weak.lock()) sink->abort();
                                     });
  context->core->hooks.caller().relay(service.peer, context->core->store.snapshot(), std::move(request), context->sink);
}

}  // namespace sublet::apiserver
