#include "cluster/objects/api_access.h"

#include "cluster/host/host_manifest.h"
#include "cluster/objects/exported_access.h"
#include "sublet/syncer/translate.h"

namespace sublet::cluster {
namespace {

using patches::ApiValue;
using schema::Document;
using schema::Value;

constexpr std::string_view kServes = "sublet.dev/serves";  // on Services, for the selector of a ServiceMonitor
const kube::Resource kMonitors{"monitoring.coreos.com", "v1", "servicemonitors"};

std::string name_of(const VirtualCluster& cluster) { return "sublet-" + cluster.name + "-api"; }

Document service(const VirtualCluster& cluster, const patches::SyncConfig& config) {
  const patches::ServiceSettings& wanted = config.control_plane.service;
  Document object = host_manifest(cluster, "v1", "Service", name_of(cluster), with_global(config, wanted.metadata));
  object.root()["metadata"].object("labels").put(kServes, "api");
  Value spec = object.root().object("spec");
  put_api_value(spec, wanted.spec);
  Value port = spec.array("ports").push_object();
  port.put("name", "https");
  port.put("protocol", "TCP");
  port.put("port", kHttpsPort);
  port.put("targetPort", cluster.listen_port());
  if (wanted.https_node_port != 0) port.put("nodePort", wanted.https_node_port);
  return object;
}

// Scrapes the tenant's API server, with an account of the tenant that may only read its metrics.
Document service_monitor(const VirtualCluster& cluster, const patches::SyncConfig& config) {
  Document object = host_manifest(cluster, kMonitors.group + "/" + kMonitors.version, "ServiceMonitor",
                                  name_of(cluster), with_global(config, config.control_plane.monitor.metadata));
  Value spec = object.root().object("spec");
  Value selected = spec.object("selector").object("matchLabels");
  selected.put(syncer::kLabelTenantUid, cluster.uid);
  selected.put(kServes, "api");
  Value endpoint = spec.array("endpoints").push_object();
  endpoint.put("port", "https");
  endpoint.put("scheme", "https");
  endpoint.put("path", "/metrics");
  const std::string secret = metrics_secret_name(cluster);
  const auto from_secret = [&](Value place, std::string_view key) {
    place.put("name", secret);
    place.put("key", key);
  };
  from_secret(endpoint.object("authorization").object("credentials"), "token");
  Value tls = endpoint.object("tlsConfig");
  tls.put("serverName", "kubernetes.default.svc");
  from_secret(tls.object("ca").object("secret"), "certificate-authority");
  return object;
}

Document slice(const VirtualCluster& cluster, const patches::SyncConfig& config) {
  Document object =
      host_manifest(cluster, "discovery.k8s.io/v1", "EndpointSlice", name_of(cluster), with_global(config, {}));
  Value labels = object.root()["metadata"]["labels"];
  labels.put("kubernetes.io/service-name", name_of(cluster));
  labels.put("endpointslice.kubernetes.io/managed-by", "sublet.dev");
  const std::string& address = cluster.pod_access.address;
  object.root().put("addressType", address.find(':') == std::string::npos ? "IPv4" : "IPv6");
  Value endpoint = object.root().array("endpoints").push_object();
  endpoint.array("addresses").push(address);
  endpoint.object("conditions").put("ready", true);
  Value port = object.root().array("ports").push_object();
  port.put("name", "https");
  port.put("protocol", "TCP");
  port.put("port", cluster.listen_port());
  return object;
}

// Members that the template gives stay; the others lead to the Service.
Document ingress(const VirtualCluster& cluster, const patches::SyncConfig& config) {
  const patches::IngressSettings& wanted = config.control_plane.ingress;
  Document object =
      host_manifest(cluster, "networking.k8s.io/v1", "Ingress", name_of(cluster), with_global(config, wanted.metadata));
  Value spec = object.root().object("spec");
  put_api_value(spec, wanted.spec);
  if (spec.has("rules")) return object;
  Value rule = spec.array("rules").push_object();
  if (!wanted.host.empty()) rule.put("host", wanted.host);
  Value path = rule.object("http").array("paths").push_object();
  path.put("path", "/");
  path.put("pathType", wanted.path_type);
  Value backend = path.object("backend").object("service");
  backend.put("name", name_of(cluster));
  backend.object("port").put("name", "https");
  return object;
}

Document tls_route(const VirtualCluster& cluster, const patches::SyncConfig& config) {
  const patches::RouteSettings& wanted = config.control_plane.route;
  Document object =
      host_manifest(cluster, wanted.api_version, "TLSRoute", name_of(cluster), with_global(config, wanted.metadata));
  Value spec = object.root().object("spec");
  put_api_value(spec, wanted.spec);
  if (const auto parents = Document::parse_json(wanted.parents); parents && !spec.has("parentRefs"))
    spec.put("parentRefs", parents->root());
  if (!spec.has("hostnames")) spec.array("hostnames").push(wanted.host);
  if (spec.has("rules")) return object;
  Value backend = spec.array("rules").push_object().array("backendRefs").push_object();
  backend.put("name", name_of(cluster));
  backend.put("port", kHttpsPort);
  return object;
}

kube::Resource routes_of(const patches::RouteSettings& route) {
  const auto slash = route.api_version.find('/');
  return {route.api_version.substr(0, slash), route.api_version.substr(slash + 1), "tlsroutes"};
}

}  // namespace

std::vector<ApiAccessObject> api_access_objects(const VirtualCluster& cluster, const patches::SyncConfig& config) {
  std::vector<ApiAccessObject> objects;
  const patches::ControlPlane& wanted = config.control_plane;
  if (!wanted.leads_people_in() || !cluster.pod_access.given()) return objects;
  objects.push_back({{"", "v1", "services"}, service(cluster, config)});
  objects.push_back({{"discovery.k8s.io", "v1", "endpointslices"}, slice(cluster, config)});
  if (wanted.ingress.enabled) objects.push_back({{"networking.k8s.io", "v1", "ingresses"}, ingress(cluster, config)});
  if (wanted.route.enabled) objects.push_back({routes_of(wanted.route), tls_route(cluster, config)});
  if (wanted.monitor.enabled) objects.push_back({kMonitors, service_monitor(cluster, config)});
  return objects;
}

Outcome keep_api_access(const Host& host, const VirtualCluster& cluster, const patches::SyncConfig& config) {
  for (const ApiAccessObject& one : api_access_objects(cluster, config)) {
    const auto kept = keep_manifest(host, cluster, one.resource, one.object.root());
    if (kept) continue;
    Status status = kept.error();
    if (one.resource.resource == "tlsroutes" && status.is(Reason::not_found))
      status.message = "controlPlane.tlsRoute: the host does not serve TLSRoutes of " +
                       config.control_plane.route.api_version +
                       "; install the Gateway API there, or name the version "
                       "that it has in controlPlane.tlsRoute.apiVersion";
    if (one.resource == kMonitors && status.is(Reason::not_found))
      status.message =
          "controlPlane.serviceMonitor: the host does not serve ServiceMonitors of monitoring.coreos.com/v1; install "
          "the Prometheus operator there, or switch it off";
    return fail(std::move(status));
  }
  return {};
}

std::vector<kube::Resource> api_access_resources(const patches::SyncConfig& config) {
  const patches::ControlPlane& wanted = config.control_plane;
  std::vector<kube::Resource> resources;
  if (!wanted.leads_people_in()) return resources;
  resources.push_back({"", "v1", "services"});
  resources.push_back({"discovery.k8s.io", "v1", "endpointslices"});
  if (wanted.ingress.enabled) resources.push_back({"networking.k8s.io", "v1", "ingresses"});
  if (wanted.route.enabled) resources.push_back(routes_of(wanted.route));
  if (wanted.monitor.enabled) resources.push_back(kMonitors);
  return resources;
}

}  // namespace sublet::cluster
