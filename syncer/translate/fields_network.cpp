// Rows of what tenants say of their network beside Services: endpoints that they write themselves, Ingresses,
// NetworkPolicies.
#include "syncer/translate/field_table.h"
#include "syncer/translate/rewrites.h"

namespace sublet::syncer {
namespace {

constexpr std::string_view kHostSaysIt = "the host says it, and it comes back";
constexpr std::string_view kTenantObject = "an object of the tenant's, which the host does not know by that name";
constexpr std::string_view kTopology = "of the tenant's nodes; the host finds out about its own";

std::vector<TypeRows> endpoint_fields() {
  return {
      {"Endpoints", {copy("apiVersion kind"), walk("metadata", "ObjectMeta"), walk("subsets", "EndpointSubset")}},
      {"EndpointSubset", {walk("addresses notReadyAddresses", "EndpointAddress"), walk("ports", "EndpointPort")}},
      {"EndpointAddress", {copy("ip hostname"), drop("nodeName", kTopology), drop("targetRef", kTenantObject)}},
      {"EndpointPort", {copy("name port protocol appProtocol")}},
      {"EndpointSlice",
       {copy("apiVersion kind"), walk("metadata", "ObjectMeta"), copy("addressType"),
        walk("endpoints", "SliceEndpoint"), walk("ports", "SlicePort")},
       "discovery.v1.EndpointSlice"},
      {"SliceEndpoint",
       {copy("addresses"), walk("conditions", "EndpointConditions"), copy("hostname"), drop("targetRef", kTenantObject),
        drop("deprecatedTopology nodeName zone hints", kTopology)},
       "discovery.v1.Endpoint"},
      {"EndpointConditions", {copy("ready serving terminating")}, "discovery.v1.EndpointConditions"},
      {"SlicePort", {copy("name protocol port appProtocol")}, "discovery.v1.EndpointPort"},
  };
}

std::vector<TypeRows> ingress_fields() {
  return {
      {"Ingress",
       {copy("apiVersion kind"), walk("metadata", "ObjectMeta"), walk("spec", "IngressSpec"),
        drop("status", kHostSaysIt)},
       "networking.v1.Ingress"},
      {"IngressSpec",
       {copy("ingressClassName"), walk("defaultBackend", "IngressBackend"), walk("tls", "IngressTLS"),
        walk("rules", "IngressRule")},
       "networking.v1.IngressSpec"},
      {"IngressBackend",
       {walk("service", "IngressServiceBackend"),
        deny("resource", "only Services can be the backend of an Ingress that crosses to the host")},
       "networking.v1.IngressBackend"},
      {"IngressServiceBackend",
       {rewrite("name", rewrite_crossing_name), walk("port", "ServiceBackendPort")},
       "networking.v1.IngressServiceBackend"},
      {"ServiceBackendPort", {copy("name number")}, "networking.v1.ServiceBackendPort"},
      {"IngressTLS", {copy("hosts"), rewrite("secretName", rewrite_secret_name)}, "networking.v1.IngressTLS"},
      {"IngressRule", {copy("host"), walk("http", "HTTPIngressRuleValue")}, "networking.v1.IngressRule"},
      {"HTTPIngressRuleValue", {walk("paths", "HTTPIngressPath")}, "networking.v1.HTTPIngressRuleValue"},
      {"HTTPIngressPath", {copy("path pathType"), walk("backend", "IngressBackend")}, "networking.v1.HTTPIngressPath"},
  };
}

std::vector<TypeRows> network_policy_fields() {
  return {
      {"NetworkPolicy",
       {copy("apiVersion kind"), walk("metadata", "ObjectMeta"), walk("spec", "NetworkPolicySpec")},
       "networking.v1.NetworkPolicy"},
      {"NetworkPolicySpec",
       {rewrite("podSelector", rewrite_own_namespace_selector, "LabelSelector"),
        walk("ingress", "NetworkPolicyIngressRule"), walk("egress", "NetworkPolicyEgressRule"), copy("policyTypes")},
       "networking.v1.NetworkPolicySpec"},
      {"NetworkPolicyIngressRule",
       {walk("ports", "NetworkPolicyPort"), walk("from", "NetworkPolicyPeer")},
       "networking.v1.NetworkPolicyIngressRule"},
      {"NetworkPolicyEgressRule",
       {walk("ports", "NetworkPolicyPort"), walk("to", "NetworkPolicyPeer")},
       "networking.v1.NetworkPolicyEgressRule"},
      {"NetworkPolicyPeer",
       {walk("podSelector", "LabelSelector"),
        force(
            "namespaceSelector",
            "on the host all of a tenant's pods share one namespace: the tenant's is a label, and podSelector asks for "
            "it, by the names of the namespaces that are selected now"),
        walk("ipBlock", "IPBlock")},
       "networking.v1.NetworkPolicyPeer",
       rewrite_policy_peer},
      {"IPBlock", {copy("cidr except")}, "networking.v1.IPBlock"},
      {"NetworkPolicyPort", {copy("protocol port endPort")}, "networking.v1.NetworkPolicyPort"},
  };
}

}  // namespace

std::vector<TypeRows> network_fields() {
  std::vector<TypeRows> all = endpoint_fields();
  for (auto part : {ingress_fields(), network_policy_fields()}) all.insert(all.end(), part.begin(), part.end());
  return all;
}

}  // namespace sublet::syncer
