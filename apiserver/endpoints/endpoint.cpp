#include "apiserver/endpoints/endpoint.h"

#include <algorithm>
#include <cstdio>

#include "apiserver/codec/negotiation.h"
#include "apiserver/verbs/verb.h"
#include "apiserver/watch/watch_hub.h"
#include "sublet/base/metrics.h"
#include "sublet/schema/registry.h"

namespace sublet::apiserver {
namespace {

constexpr Endpoint kEndpoints[] = {
    {.path = "/", .serve = serve_paths},
    {.path = "/.well-known/openid-configuration", .serve = serve_openid_configuration},
    {.path = "/api", .prefix = true, .serve = serve_discovery},
    {.path = "/apis", .prefix = true, .serve = serve_discovery},
    {.path = "/healthz", .prefix = true, .serve = serve_health},
    {.path = "/livez", .prefix = true, .serve = serve_health},
    {.path = "/metrics", .serve = serve_metrics},
    {.path = "/openapi/v2", .serve = serve_openapi_v2},
    {.path = "/openapi/v3", .prefix = true, .serve = serve_openapi_v3},
    {.path = "/openid/v1/jwks", .serve = serve_key_set},
    {.path = "/readyz", .prefix = true, .serve = serve_health},
    {.path = "/version", .serve = serve_version},
};

std::int64_t resident_bytes() {
  long pages = 0, resident = 0;
  if (std::FILE* file = std::fopen("/proc/self/statm", "r")) {
    if (std::fscanf(file, "%ld %ld", &pages, &resident) != 2) resident = 0;
    std::fclose(file);
  }
  return std::int64_t{resident} * 4096;
}

// "v1.36.3" -> "36".
std::string minor_version_of(std::string_view version) {
  const auto first = version.find('.');
  const auto second = version.find('.', first + 1);
  return first == std::string_view::npos ? "0" : std::string(version.substr(first + 1, second - first - 1));
}

}  // namespace

const Endpoint* find_endpoint(std::string_view path) {
  while (path.size() > 1 && path.back() == '/') path.remove_suffix(1);
  for (const auto& endpoint : kEndpoints) {
    if (path == endpoint.path) return &endpoint;
    if (endpoint.prefix && path.starts_with(endpoint.path) && path[endpoint.path.size()] == '/') return &endpoint;
  }
  return nullptr;
}

void serve_version(const ContextPtr& context) {
  const std::string& version = context->core->options.version;
  const std::string minor = minor_version_of(version);
  schema::Document body = schema::Document::object();
  const std::pair<std::string_view, std::string> members[] = {{"major", "1"},
                                                              {"minor", minor},
                                                              {"emulationMajor", "1"},
                                                              {"emulationMinor", minor},
                                                              {"minCompatibilityMajor", "1"},
                                                              {"minCompatibilityMinor", minor},
                                                              {"gitVersion", version},
                                                              {"gitCommit", ""},
                                                              {"gitTreeState", "clean"},
                                                              {"buildDate", "1970-01-01T00:00:00Z"},
                                                              {"goVersion", ""},
                                                              {"compiler", "gcc"},
                                                              {"platform", "linux/amd64"}};
  for (const auto& [key, value] : members) body.root().put(key, value);
  reply_text(*context, 200, kJsonType, body.root().to_pretty_json());
}

void serve_metrics(const ContextPtr& context) {
  const auto stats = context->core->store.stats();
  metrics::gauge("apiserver_storage_objects", "Objects stored.").set(static_cast<std::int64_t>(stats.objects));
  metrics::gauge("apiserver_longrunning_requests", "Watches that run.")
      .set(static_cast<std::int64_t>(context->core->watches.size()));
  constexpr std::string_view kInFlight = "apiserver_current_inflight_requests",
                             kInFlightHelp = "Requests that run, without watches and sessions, by kind.";
  metrics::gauge(kInFlight, kInFlightHelp, {{"request_kind", "mutating"}}).set(context->core->writes_in_flight.load());
  metrics::gauge(kInFlight, kInFlightHelp, {{"request_kind", "readOnly"}}).set(context->core->reads_in_flight.load());
  metrics::gauge("process_resident_memory_bytes", "Resident memory.").set(resident_bytes());
  reply_text(*context, 200, "text/plain; version=0.0.4; charset=utf-8", metrics::exposition());
}

void serve_paths(const ContextPtr& context) {
  std::vector<std::string> paths;
  for (const auto& endpoint : kEndpoints) paths.emplace_back(endpoint.path);
  for (const auto& group : context->kinds->groups()) {
    if (group.served.empty()) continue;
    const std::string root = group.name.empty() ? "/api" : "/apis/" + std::string(group.name);
    if (!group.name.empty()) paths.push_back(root);
    for (const auto version : group.served) paths.push_back(root + "/" + std::string(version));
  }
  std::sort(paths.begin(), paths.end());
  schema::Document body = schema::Document::object();
  auto list = body.root().array("paths");
  for (const auto& path : paths) list.push(path);
  reply_text(*context, 200, kJsonType, body.root().to_pretty_json());
}

}  // namespace sublet::apiserver
