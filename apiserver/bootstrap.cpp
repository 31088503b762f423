#include "sublet/apiserver/bootstrap.h"

#include "apiserver/strategies/claims.h"
#include "apiserver/strategies/priority_classes.h"
#include "apiserver/validation/names.h"

namespace sublet::apiserver {
namespace {

using schema::Document;

constexpr std::string_view kSystemNamespaces[] = {"default", "kube-system", "kube-public", "kube-node-lease"};
constexpr int kHttps = 443;

BootstrapObject make_bootstrap_object(std::string_view group, std::string_view version, std::string_view resource,
                                      std::string_view kind, std::string_view namespace_name, std::string_view name) {
  BootstrapObject made{group, version, resource, std::string(namespace_name), std::string(name), Document::object()};
  auto root = made.object.root();
  root.put("apiVersion", group.empty() ? std::string(version) : std::string(group) + "/" + std::string(version));
  root.put("kind", kind);
  auto metadata = root.object("metadata");
  metadata.put("name", name);
  if (!namespace_name.empty()) metadata.put("namespace", namespace_name);
  return made;
}

BootstrapObject priority_class(const SystemPriorityClass& facts) {
  auto made = make_bootstrap_object("scheduling.k8s.io", "v1", "priorityclasses", "PriorityClass", {}, facts.name);
  made.object.root().put("value", facts.value);
  made.object.root().put("description", facts.description);
  return made;
}

BootstrapObject service(const ClusterFacts& cluster) {
  auto made = make_bootstrap_object("", "v1", "services", "Service", "default", "kubernetes");
  auto labels = made.object["metadata"].object("labels");
  labels.put("component", "apiserver");
  labels.put("provider", "kubernetes");
  auto spec = made.object.root().object("spec");
  spec.put("clusterIP", kubernetes_service_ip(cluster));
  auto port = spec.array("ports").push_object();
  port.put("name", "https");
  port.put("port", kHttps);
  port.put("protocol", "TCP");
  port.put("targetPort", cluster.advertise_port);
  return made;
}

BootstrapObject endpoints(const ClusterFacts& cluster) {
  auto made = make_bootstrap_object("", "v1", "endpoints", "Endpoints", "default", "kubernetes");
  // The mirroring controller leaves it alone: the slice below says the same.
  made.object["metadata"].object("labels").put("endpointslice.kubernetes.io/skip-mirror", "true");
  auto subset = made.object.root().array("subsets").push_object();
  subset.array("addresses").push_object().put("ip", cluster.advertise_address);
  auto port = subset.array("ports").push_object();
  port.put("name", "https");
  port.put("port", cluster.advertise_port);
  port.put("protocol", "TCP");
  return made;
}

BootstrapObject endpoint_slice(const ClusterFacts& cluster) {
  auto made =
      make_bootstrap_object("discovery.k8s.io", "v1", "endpointslices", "EndpointSlice", "default", "kubernetes");
  made.object["metadata"].object("labels").put("kubernetes.io/service-name", "kubernetes");
  auto root = made.object.root();
  auto address = parse_ip(cluster.advertise_address);
  root.put("addressType", address && address->v6 ? "IPv6" : "IPv4");
  auto endpoint = root.array("endpoints").push_object();
  endpoint.array("addresses").push(cluster.advertise_address);
  endpoint.object("conditions").put("ready", true);
  auto port = root.array("ports").push_object();
  port.put("name", "https");
  port.put("port", cluster.advertise_port);
  port.put("protocol", "TCP");
  return made;
}

BootstrapObject service_range(const ClusterFacts& cluster) {
  auto made = make_bootstrap_object("networking.k8s.io", "v1", "servicecidrs", "ServiceCIDR", {}, "kubernetes");
  made.object.root().object("spec").array("cidrs").push(cluster.service_cidr);
  return made;
}

/// For servers that let this one say who their clients are.
BootstrapObject authentication_config_map(const ClusterFacts& cluster) {
  auto made =
      make_bootstrap_object("", "v1", "configmaps", "ConfigMap", "kube-system", "extension-apiserver-authentication");
  auto data = made.object.root().object("data");
  data.put("client-ca-file", cluster.ca_certificate_pem);
  if (cluster.front_proxy_ca_pem.empty()) return made;
  data.put("requestheader-client-ca-file", cluster.front_proxy_ca_pem);
  data.put("requestheader-allowed-names", "[\"" + std::string(kFrontProxyName) + "\"]");
  data.put("requestheader-username-headers", R"(["X-Remote-User"])");
  data.put("requestheader-uid-headers", R"(["X-Remote-Uid"])");
  data.put("requestheader-group-headers", R"(["X-Remote-Group"])");
  data.put("requestheader-extra-headers-prefix", R"(["X-Remote-Extra-"])");
  return made;
}

}  // namespace

std::string kubernetes_service_ip(const ClusterFacts& cluster) {
  auto range = AddressRange::parse(cluster.service_cidr);
  if (!range) return "";
  return ip_text(range->at(range->size() > 1 ? 1 : 0));  // a range of one address is that one
}

BootstrapObject root_ca_config_map(std::string_view namespace_name, const std::string& ca_certificate_pem) {
  auto made = make_bootstrap_object("", "v1", "configmaps", "ConfigMap", namespace_name, "kube-root-ca.crt");
  made.object["metadata"]
      .object("annotations")
      .put("kubernetes.io/description",
           "Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints such as "
           "the "
           "internal service IP or kubernetes.default.svc. No other usage is guaranteed across distributions of "
           "Kubernetes "
           "clusters.");
  made.object.root().object("data").put("ca.crt", ca_certificate_pem);
  return made;
}

BootstrapObject default_service_account(std::string_view namespace_name) {
  return make_bootstrap_object("", "v1", "serviceaccounts", "ServiceAccount", namespace_name, "default");
}

std::vector<BootstrapObject> server_objects(const ClusterFacts& cluster) {
  std::vector<BootstrapObject> objects;
  objects.push_back(service(cluster));
  objects.push_back(endpoints(cluster));
  objects.push_back(endpoint_slice(cluster));
  objects.push_back(service_range(cluster));
  if (!cluster.ca_certificate_pem.empty()) objects.push_back(authentication_config_map(cluster));
  return objects;
}

std::vector<BootstrapObject> bootstrap_objects(const ClusterFacts& cluster) {
  std::vector<BootstrapObject> objects;
  for (auto name : kSystemNamespaces)
    objects.push_back(make_bootstrap_object("", "v1", "namespaces", "Namespace", {}, name));
  for (const auto& facts : kSystemPriorityClasses) objects.push_back(priority_class(facts));
  for (auto name : kSystemNamespaces) {
    objects.push_back(default_service_account(name));
    objects.push_back(root_ca_config_map(name, cluster.ca_certificate_pem));
  }
  for (auto& object : server_objects(cluster)) objects.push_back(std::move(object));
  return objects;
}

}  // namespace sublet::apiserver
