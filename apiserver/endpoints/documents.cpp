// Discovery and OpenAPI over HTTP: negotiation, ETags, hashes, compression. The bodies come from apiserver/discovery.
#include "apiserver/aggregation/foreign_documents.h"
#include "apiserver/codec/gzip.h"
#include "apiserver/codec/negotiation.h"
#include "apiserver/discovery/discovery.h"
#include "apiserver/endpoints/document_cache.h"
#include "apiserver/endpoints/endpoint.h"
#include "apiserver/endpoints/host_descriptions.h"
#include "apiserver/verbs/verb.h"
#include "sublet/net/courier.h"

namespace sublet::apiserver {
namespace {

constexpr std::string_view kOpenApiV3 = "/openapi/v3";
constexpr std::string_view kV2Protobuf = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf";

Status no_such_path() {
  Status status;
  status.reason = Reason::not_found;
  status.message = "the server could not find the requested resource";
  return status;
}

// Answers with a cached body: 304 when the client has it, compressed when it may be.
void serve_cached(RequestContext& context, const CachedDocument& document, std::string_view content_type,
                  std::string_view cache_control) {
  const auto known = context.request.headers.get("If-None-Match");
  const bool unchanged = !known.empty() && known.find(document.etag) != std::string_view::npos;
  // No Content-Type for a body that is not sent.
  net::Headers headers = context.headers(unchanged ? std::string_view{} : content_type);
  headers.add("ETag", document.etag);
  headers.add("Vary", "Accept");
  headers.add("Vary", "Accept-Encoding");
  if (!cache_control.empty()) headers.set("Cache-Control", std::string(cache_control));
  if (unchanged) {
    context.record(304);
    return context.sink->respond(304, std::move(headers), {});
  }
  std::string body = document.body;
  if (document.gzipped) {
    if (accepts_gzip(context.request.headers.get("Accept-Encoding")))
      headers.add("Content-Encoding", "gzip");
    else
      body = gunzip(body);
  }
  context.record(200);
  context.sink->respond(200, std::move(headers), std::move(body));
}

/// Calls `serve` with the document: at once when it is in the cache, else when the pool has made it.
void with_document(const ContextPtr& context, const std::string& key, const std::function<std::string()>& make,
                   const std::function<void(const CachedDocument&)>& serve) {
  auto& cache = context->kinds->part<DocumentCache>();
  if (const auto known = cache.find(key)) return serve(*known);
  const bool taken = context->core->large_answers.submit([context, &cache, key, make, serve] {
    context->sink->courier()->post([serve, document = cache.get(key, make)] { serve(*document); });
  });
  if (!taken) serve(*cache.get(key, make));
}

// "v2" or "v2beta1" when the best clause that we can serve asks for aggregated discovery; "" for the legacy form.
std::string_view aggregated_version(std::string_view accept) {
  for (const auto& clause : parse_accept(accept)) {
    const auto as = clause.parameter("as");
    if (as.empty()) return {};
    const auto version = clause.parameter("v");
    if (as == "APIGroupDiscoveryList" && clause.parameter("g") == "apidiscovery.k8s.io" &&
        (version == "v2" || version == "v2beta1"))
      return version;
  }
  return {};
}

std::string server_address(const ServerOptions& options) {
  return options.advertise_address + ":" + std::to_string(options.advertise_port);
}

std::string_view without_slash(std::string_view path) {
  while (path.size() > 1 && path.back() == '/') path.remove_suffix(1);
  return path;
}

// Without what the host could say of it: the document is right, but not what the index has promised under its hash.
void serve_without_texts(const ContextPtr& context, const std::string& path, const std::string& name) {
  with_document(
      context, path + "?hash=" + openapi_v3_hash(*context->kinds, name),
      [context, name] { return openapi_v3(*context->kinds, name).value_or("{}"); },
      [context](const CachedDocument& document) { serve_cached(*context, document, kJsonType, "no-cache"); });
}

// "/openapi/v3/NAME": the document of one group version.
void serve_group_version(const ContextPtr& context, const std::string& path, const HostHashes& host) {
  const std::string name = path.substr(kOpenApiV3.size() + 1);
  const std::string hash = openapi_v3_hash(*context->kinds, name, host);
  if (hash.empty()) return reply_status(*context, no_such_path());
  const auto asked = context->query.find("hash");
  if (asked && *asked != hash) {
    net::Headers headers = context->headers({});
    headers.add("Location", path + "?hash=" + hash);
    context->record(301);
    return context->sink->respond(301, std::move(headers), {});
  }
  const std::string key = path + "?hash=" + hash;
  const auto serve = [context, cache_control = asked ? "public, immutable" : ""](const CachedDocument& document) {
    serve_cached(*context, document, kJsonType, cache_control);
  };
  if (hash == openapi_v3_hash(*context->kinds, name))
    return with_document(
        context, key, [context, name] { return openapi_v3(*context->kinds, name).value_or("{}"); }, serve);
  if (const auto known = context->kinds->part<DocumentCache>().find(key)) return serve(*known);
  const auto go_on = [context, path, name, key, serve](const std::shared_ptr<const std::string>& said) {
    if (!said) return serve_without_texts(context, path, name);
    with_document(
        context, key,
        [context, name, said] {
          const HostTexts texts(said);
          return openapi_v3(*context->kinds, name, &texts).value_or("{}");
        },
        serve);
  };
  context->core->host_descriptions.with_document(name, [context, go_on](std::shared_ptr<const std::string> said) {
    context->sink->courier()->post([go_on, said = std::move(said)] { go_on(said); });
  });
}

}  // namespace

void serve_discovery(const ContextPtr& context) {
  const std::string path(without_slash(context->info.path));
  const auto others = std::make_shared<const ForeignDocuments>(foreign_documents(*context));
  if (path == "/api" || path == "/apis") {
    const std::string version(aggregated_version(context->request.headers.get("Accept")));
    if (!version.empty())
      return with_document(
          context, "discovery:" + version + path + others->key,
          [context, path, version, others] {
            return aggregated_discovery(*context->kinds, path, version, others->apis);
          },
          [context, type = "application/json;g=apidiscovery.k8s.io;v=" + version + ";as=APIGroupDiscoveryList"](
              const CachedDocument& document) { serve_cached(*context, document, type, "public"); });
  }
  auto body = legacy_discovery(*context->kinds, path, server_address(context->core->options), others->apis);
  if (!body) return reply_status(*context, no_such_path());
  auto output = negotiate(context->request.headers.get("Accept"), {});
  if (!output) return reply_status(*context, output.error());
  context->output = *output;
  context->output.pretty = context->output.media == Media::json &&
                           wants_pretty(context->query.find("pretty"), context->request.headers.get("User-Agent"));
  reply_json(*context, 200, std::move(*body));
}

void serve_openapi_v2(const ContextPtr& context) {
  const auto accept = context->request.headers.get("Accept");
  const bool protobuf = accept.find("proto-openapi.spec.v2") != std::string_view::npos;
  const std::string key = std::string("openapi/v2.") + (protobuf ? "pb" : "json") + foreign_documents(*context).key;
  const auto answer = [context, protobuf](const CachedDocument& document) {
    serve_cached(*context, document, protobuf ? kV2Protobuf : kJsonType, "");
  };
  if (const auto known = context->kinds->part<DocumentCache>().find(key)) return answer(*known);
  with_foreign_openapi(context, [context, protobuf, key, answer](const ForeignOpenApi& others) {
    with_document(
        context, key,
        [context, protobuf, others] {
          return protobuf ? openapi_v2_protobuf(*context->kinds, others) : openapi_v2_json(*context->kinds, others);
        },
        answer);
  });
}

void serve_openapi_v3(const ContextPtr& context) {
  const std::string path(without_slash(context->info.path));
  const auto others = std::make_shared<const ForeignDocuments>(foreign_documents(*context));
  const auto go_on = [context, path, others](const std::shared_ptr<const HostHashes>& host) {
    // The hashes are made with the index, and nothing can be said of a document without its hash.
    with_document(
        context, "openapi/v3" + others->key + "|" + host->key,
        [context, others, host] { return openapi_v3_index(*context->kinds, others->apis, *host); },
        [context, path, host](const CachedDocument& index) {
          if (path == kOpenApiV3) return serve_cached(*context, index, kJsonType, "");
          serve_group_version(context, path, *host);
        });
  };
  context->core->host_descriptions.with_hashes([context, go_on](std::shared_ptr<const HostHashes> host) {
    if (context->sink->courier()->in_loop_thread()) return go_on(host);
    context->sink->courier()->post([go_on, host = std::move(host)] { go_on(host); });
  });
}

}  // namespace sublet::apiserver
