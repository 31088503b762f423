// Endpoints: everything that is not a resource: version, health, metrics, discovery, OpenAPI, the list of paths.
#pragma once

#include "apiserver/request/request_context.h"

namespace sublet::apiserver {

struct Endpoint {
  std::string_view path;
  bool prefix = false;  // also everything below path + "/"
  void (*serve)(const ContextPtr& context) = nullptr;
};

/// Null: nothing there.
const Endpoint* find_endpoint(std::string_view path);

// Each in a file of its own.
void serve_version(const ContextPtr& context);
void serve_health(const ContextPtr& context);
void serve_metrics(const ContextPtr& context);
void serve_paths(const ContextPtr& context);
void serve_discovery(const ContextPtr& context);
void serve_openapi_v2(const ContextPtr& context);
void serve_openapi_v3(const ContextPtr& context);
void serve_openid_configuration(const ContextPtr& context);
void serve_key_set(const ContextPtr& context);

}  // namespace sublet::apiserver
