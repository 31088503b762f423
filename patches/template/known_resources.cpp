#include "patches/template/known_resources.h"

namespace sublet::patches {
namespace {

constexpr const char* kGatewayApi = "gateway.networking.k8s.io";
constexpr const char* kSnapshots = "snapshot.storage.k8s.io";
constexpr const char* kCertManager = "cert-manager.io";
constexpr const char* kExternalSecrets = "external-secrets.io";

CustomResource custom_resource(const char* plural, const char* group, bool to_host) {
  CustomResource made;
  name_custom_resource(std::string(plural) + "." + group, made);
  made.to_host = to_host;
  return made;
}

CustomResource class_of_host(const char* plural, const char* group) {
  CustomResource made = custom_resource(plural, group, false);
  made.namespaced = false;
  return made;
}

/// "{kind, name}" at a path, with one of these kinds; without a kind the first.
void refers(CustomResource& resource, std::string_view path, std::initializer_list<const char*> kinds) {
  for (const char* kind : kinds)
    resource.references.push_back({parse_place(path), {"name"}, {"kind"}, {}, kind, false, false});
}

void refuse_places(CustomResource& resource, std::initializer_list<const char*> places) {
  for (const char* place : places) resource.refused.push_back(parse_place(place));
}
void close_places(CustomResource& resource, std::initializer_list<const char*> places) {
  for (const char* place : places) resource.closed.push_back(parse_place(place));
}
/// The name of an object of that kind itself, or below `name`.
CustomReference& names(CustomResource& resource, std::string_view path, const char* kind, Place name = {}) {
  return resource.references.emplace_back(
      CustomReference{parse_place(path), std::move(name), {}, {}, kind, false, false});
}
/// One that the host shows, beside those of the tenant.
void shows(CustomResource& resource, std::string_view path, const char* kind) {
  resource.references.push_back({parse_place(path), {"name"}, {"kind"}, {}, kind, true, false});
}

CustomResource http_routes() {
  CustomResource routes = custom_resource("httproutes", kGatewayApi, true);
  refers(routes, "spec.parentRefs[*]", {"Gateway", "Service"});
  refers(routes, "spec.rules[*].backendRefs[*]", {"Service"});
  refers(routes, "spec.rules[*].filters[*].requestMirror.backendRef", {"Service"});
  refers(routes, "spec.rules[*].backendRefs[*].filters[*].requestMirror.backendRef", {"Service"});
  refuse_places(routes, {"spec.rules[*].filters[*].extensionRef", "spec.rules[*].filters[*].externalAuth",
                         "spec.rules[*].backendRefs[*].filters[*].extensionRef",
                         "spec.rules[*].backendRefs[*].filters[*].externalAuth"});
  return routes;
}

CustomResource tls_routes() {
  CustomResource routes = custom_resource("tlsroutes", kGatewayApi, true);
  refers(routes, "spec.parentRefs[*]", {"Gateway", "Service"});
  refers(routes, "spec.rules[*].backendRefs[*]", {"Service"});
  return routes;
}

// On the host all routes of a virtual cluster stand in the gateway's namespace, and others' stand elsewhere.
CustomResource gateways() {
  CustomResource gateways = custom_resource("gateways", kGatewayApi, true);
  refers(gateways, "spec.listeners[*].tls.certificateRefs[*]", {"Secret"});
  gateways.fixed.push_back({parse_place("spec.listeners[*].allowedRoutes.namespaces"), R"({"from":"Same"})"});
  refuse_places(gateways, {"spec.addresses", "spec.infrastructure", "spec.tls", "spec.backendTLS",
                           "spec.allowedListeners", "spec.listeners[*].tls.frontendValidation"});
  return gateways;
}

CustomResource backend_tls_policies() {
  CustomResource policies = custom_resource("backendtlspolicies", kGatewayApi, true);
  refers(policies, "spec.targetRefs[*]", {"Service"});
  refers(policies, "spec.validation.caCertificateRefs[*]", {"ConfigMap", "Secret"});
  return policies;
}

CustomResource gateway_classes() {
  CustomResource classes = class_of_host("gatewayclasses", kGatewayApi);
  classes.left_out.push_back(parse_place("spec.parametersRef"));
  return classes;
}

CustomResource snapshots() {
  CustomResource snapshots = custom_resource("volumesnapshots", kSnapshots, true);
  snapshots.references.push_back(
      {parse_place("spec.source.persistentVolumeClaimName"), {}, {}, {}, "PersistentVolumeClaim", false, false});
  snapshots.refused.push_back(parse_place("spec.source.volumeSnapshotContentName"));
  return snapshots;
}

CustomResource snapshot_classes() {
  CustomResource classes = class_of_host("volumesnapshotclasses", kSnapshots);
  classes.left_out.push_back(parse_place("parameters"));
  return classes;
}

// cert-manager writes the Secret on the host, and says there what it is for.
CustomResource certificates() {
  CustomResource certificates = custom_resource("certificates", kCertManager, true);
  names(certificates, "spec.secretName", "Secret").made_there = true;
  certificates.made_metadata = parse_place("spec.secretTemplate");
  refers(certificates, "spec.issuerRef", {"Issuer"});
  shows(certificates, "spec.issuerRef", "ClusterIssuer");
  names(certificates, "spec.keystores.*.*SecretRef", "Secret", {"name"});
  refuse_places(certificates, {"spec.secretTemplate"});
  close_places(certificates, {"spec"});
  return certificates;
}

CustomResource issuers() {
  CustomResource issuers = custom_resource("issuers", kCertManager, true);
  names(issuers, "spec.ca.secretName", "Secret");
  names(issuers, "spec.acme.privateKeySecretRef", "Secret", {"name"}).made_there = true;
  names(issuers, "spec.**.*SecretRef", "Secret", {"name"});
  names(issuers, "spec.venafi.*.credentialsRef", "Secret", {"name"});
  // Pods, routes and whatever a webhook reads there would be the host's.
  refuse_places(issuers,
                {"spec.acme.solvers[*].http01.ingress.podTemplate", "spec.acme.solvers[*].http01.gatewayHTTPRoute",
                 "spec.acme.solvers[*].http01.ingress.ingressTemplate", "spec.acme.solvers[*].dns01.webhook"});
  close_places(issuers, {"spec"});
  return issuers;
}

CustomResource external_secrets() {
  CustomResource secrets = custom_resource("externalsecrets", kExternalSecrets, true);
  names(secrets, "spec.target.name", "Secret").made_there = true;
  secrets.made_metadata = parse_place("spec.target.template.metadata");
  for (const char* path :
       {"spec.secretStoreRef", "spec.data[*].sourceRef.storeRef", "spec.dataFrom[*].sourceRef.storeRef"}) {
    refers(secrets, path, {"SecretStore"});
    shows(secrets, path, "ClusterSecretStore");
  }
  names(secrets, "spec.target.template.templateFrom[*].secret", "Secret", {"name"});
  names(secrets, "spec.target.template.templateFrom[*].configMap", "ConfigMap", {"name"});
  refuse_places(secrets, {"spec.target.template.metadata", "spec.target.manifest"});
  close_places(secrets, {"spec.data", "spec.dataFrom", "spec.target.template.templateFrom"});
  return secrets;
}

// Of its many providers it is known that Secrets are named below "...SecretRef"; another name is refused.
CustomResource secret_stores() {
  CustomResource stores = custom_resource("secretstores", kExternalSecrets, true);
  names(stores, "spec.provider.**.*SecretRef", "Secret", {"name"});
  names(stores, "spec.provider.**.*SecretRef.*", "Secret", {"name"});
  for (const char* kind : {"Secret", "ConfigMap"})
    stores.references.push_back(
        {parse_place("spec.provider.**.caProvider"), {"name"}, {"type"}, {}, kind, false, false});
  refuse_places(stores, {"spec.provider.kubernetes"});
  close_places(stores, {"spec"});
  return stores;
}

}  // namespace

std::span<const KnownResource> known_resources() {
  static const KnownResource known[] = {
      {&SyncConfig::http_routes_to_host, http_routes(), &SyncConfig::gateway_api_to_host},
      {&SyncConfig::tls_routes_to_host, tls_routes()},
      {&SyncConfig::gateways_to_host, gateways(), &SyncConfig::gateway_api_to_host},
      {&SyncConfig::backend_tls_to_host, backend_tls_policies()},
      {&SyncConfig::gateways_from_host, custom_resource("gateways", kGatewayApi, false), nullptr, nullptr,
       &SyncConfig::gateways_selector},
      {&SyncConfig::gateway_classes_from_host, gateway_classes(), &SyncConfig::gateway_api_to_host, nullptr,
       &SyncConfig::gateway_classes_selector},
      {&SyncConfig::certificates_to_host, certificates(), nullptr, &SyncConfig::cert_manager},
      {&SyncConfig::issuers_to_host, issuers(), nullptr, &SyncConfig::cert_manager},
      {&SyncConfig::cluster_issuers_from_host, class_of_host("clusterissuers", kCertManager), nullptr,
       &SyncConfig::cert_manager, &SyncConfig::cluster_issuers_selector},
      {&SyncConfig::external_secrets, external_secrets(), nullptr, nullptr, &SyncConfig::external_secrets_selector},
      {&SyncConfig::secret_stores_to_host, secret_stores(), nullptr, &SyncConfig::external_secrets,
       &SyncConfig::secret_stores_selector},
      {&SyncConfig::cluster_stores_from_host, class_of_host("clustersecretstores", kExternalSecrets), nullptr,
       &SyncConfig::external_secrets, &SyncConfig::cluster_stores_selector},
      {&SyncConfig::snapshots_to_host, snapshots()},
      {&SyncConfig::snapshot_classes_from_host, snapshot_classes(), nullptr, nullptr,
       &SyncConfig::snapshot_classes_selector},
  };
  return known;
}

}  // namespace sublet::patches
