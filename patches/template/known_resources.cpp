#include "patches/template/known_resources.h"

namespace sublet::patches {
namespace {

constexpr const char* kGatewayApi = "gateway.networking.k8s.io";
constexpr const char* kSnapshots = "snapshot.storage.k8s.io";

CustomResource resource(const char* plural, const char* group, bool to_host) {
  CustomResource made;
  name_custom_resource(std::string(plural) + "." + group, made);
  made.to_host = to_host;
  return made;
}

/// "{kind, name}" at a path, with one of these kinds; without a kind the first.
void refers(CustomResource& resource, std::string_view path, std::initializer_list<const char*> kinds) {
  for (const char* kind : kinds)
    resource.references.push_back({parse_place(path), {"name"}, {"kind"}, {}, kind, false});
}

CustomResource http_routes() {
  CustomResource routes = resource("httproutes", kGatewayApi, true);
  refers(routes, "spec.parentRefs[*]", {"Gateway", "Service"});
  refers(routes, "spec.rules[*].backendRefs[*]", {"Service"});
  refers(routes, "spec.rules[*].filters[*].requestMirror.backendRef", {"Service"});
  refers(routes, "spec.rules[*].backendRefs[*].filters[*].requestMirror.backendRef", {"Service"});
  for (const char* place :
       {"spec.rules[*].filters[*].extensionRef", "spec.rules[*].filters[*].externalAuth",
        "spec.rules[*].backendRefs[*].filters[*].extensionRef", "spec.rules[*].backendRefs[*].filters[*].externalAuth"})
    routes.refused.push_back(parse_place(place));
  return routes;
}

CustomResource tls_routes() {
  CustomResource routes = resource("tlsroutes", kGatewayApi, true);
  refers(routes, "spec.parentRefs[*]", {"Gateway", "Service"});
  refers(routes, "spec.rules[*].backendRefs[*]", {"Service"});
  return routes;
}

// On the host all routes of a virtual cluster stand in the gateway's namespace, and others' stand elsewhere.
CustomResource gateways() {
  CustomResource gateways = resource("gateways", kGatewayApi, true);
  refers(gateways, "spec.listeners[*].tls.certificateRefs[*]", {"Secret"});
  gateways.fixed.push_back({parse_place("spec.listeners[*].allowedRoutes.namespaces"), R"({"from":"Same"})"});
  for (const char* place : {"spec.addresses", "spec.infrastructure", "spec.tls", "spec.backendTLS",
                            "spec.allowedListeners", "spec.listeners[*].tls.frontendValidation"})
    gateways.refused.push_back(parse_place(place));
  return gateways;
}

CustomResource backend_tls_policies() {
  CustomResource policies = resource("backendtlspolicies", kGatewayApi, true);
  refers(policies, "spec.targetRefs[*]", {"Service"});
  refers(policies, "spec.validation.caCertificateRefs[*]", {"ConfigMap", "Secret"});
  return policies;
}

CustomResource gateway_classes() {
  CustomResource classes = resource("gatewayclasses", kGatewayApi, false);
  classes.left_out.push_back(parse_place("spec.parametersRef"));
  return classes;
}

CustomResource snapshots() {
  CustomResource snapshots = resource("volumesnapshots", kSnapshots, true);
  snapshots.references.push_back(
      {parse_place("spec.source.persistentVolumeClaimName"), {}, {}, {}, "PersistentVolumeClaim", false});
  snapshots.refused.push_back(parse_place("spec.source.volumeSnapshotContentName"));
  return snapshots;
}

CustomResource snapshot_classes() {
  CustomResource classes = resource("volumesnapshotclasses", kSnapshots, false);
  classes.left_out.push_back(parse_place("parameters"));
  return classes;
}

}  // namespace

std::span<const KnownResource> known_resources() {
  static const KnownResource known[] = {
      {&SyncConfig::http_routes_to_host, &SyncConfig::gateway_api_to_host, nullptr, http_routes()},
      {&SyncConfig::tls_routes_to_host, nullptr, nullptr, tls_routes()},
      {&SyncConfig::gateways_to_host, &SyncConfig::gateway_api_to_host, nullptr, gateways()},
      {&SyncConfig::backend_tls_to_host, nullptr, nullptr, backend_tls_policies()},
      {&SyncConfig::gateway_classes_from_host, &SyncConfig::gateway_api_to_host, &SyncConfig::gateway_classes_selector,
       gateway_classes()},
      {&SyncConfig::snapshots_to_host, nullptr, nullptr, snapshots()},
      {&SyncConfig::snapshot_classes_from_host, nullptr, &SyncConfig::snapshot_classes_selector, snapshot_classes()},
  };
  return known;
}

}  // namespace sublet::patches
