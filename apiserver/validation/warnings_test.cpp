// Upstream's warnings, one row for each.
#include "apiserver/validation/warnings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "apiserver/kind_testing.h"
#include "sublet/net/tls_context.h"

namespace sublet::apiserver {
namespace {

using testing::ElementsAre;
using testing::ElementsAreArray;
using testing::IsEmpty;

Warnings of(std::string_view group, std::string_view resource, const std::string& object, const std::string& old = "",
            std::string_view subresource = {}) {
  const auto document = parse(object);
  const auto before = old.empty() ? schema::Document() : parse(old);
  return warnings_of(group, resource, subresource, document.root(), old.empty() ? schema::Value() : before.root());
}

struct PodCase {
  std::string spec, annotations;
  std::vector<std::string> warnings;
};

class PodWarning : public testing::TestWithParam<PodCase> {};

TEST_P(PodWarning, IsUpstreams) {
  const PodCase& row = GetParam();
  const std::string members =
      R"("metadata":{"name":"p","annotations":{)" + row.annotations + R"(}},"spec":{)" + row.spec + "}";
  EXPECT_THAT(of("", "pods", "{" + members + "}"), ElementsAreArray(row.warnings));
  // In a template the same, at its path.
  std::vector<std::string> in_template;
  for (const std::string& warning : row.warnings) {
    std::string text = "spec.template." + warning;
    for (std::string_view with : {" with spec."})
      if (const auto at = text.find(with); at != std::string::npos) text.insert(at + 6, "spec.template.");
    in_template.push_back(std::move(text));
  }
  EXPECT_THAT(of("apps", "deployments", R"({"metadata":{"name":"d"},"spec":{"template":{)" + members + "}}}"),
              ElementsAreArray(in_template));
}

std::string container(const std::string& members) {
  return R"("containers":[{"name":"c","image":"i",)" + members + "}]";
}

INSTANTIATE_TEST_SUITE_P(
    All, PodWarning,
    testing::Values(
        PodCase{R"("nodeSelector":{"beta.kubernetes.io/os":"linux","kubernetes.io/os":"linux"})",
                "",
                {"spec.nodeSelector[beta.kubernetes.io/os]: deprecated since v1.14; use \"kubernetes.io/os\" instead"}},
        PodCase{R"("affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[
            {"matchExpressions":[{"key":"beta.kubernetes.io/arch","operator":"Exists"}]}]}}})",
                "",
                {"spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0]."
                 "matchExpressions[0].key: beta.kubernetes.io/arch is deprecated since v1.14; use "
                 "\"kubernetes.io/arch\" instead"}},
        PodCase{R"("topologySpreadConstraints":[{"topologyKey":"failure-domain.beta.kubernetes.io/zone"}])",
                "",
                {"spec.topologySpreadConstraints[0].topologyKey: failure-domain.beta.kubernetes.io/zone is deprecated "
                 "since v1.17; use \"topology.kubernetes.io/zone\" instead",
                 "spec.topologySpreadConstraints[0].labelSelector: a null labelSelector results in matching no pod"}},
        PodCase{"",
                R"("scheduler.alpha.kubernetes.io/critical-pod":"")",
                {"metadata.annotations[scheduler.alpha.kubernetes.io/critical-pod]: non-functional in v1.16+; use the "
                 "\"priorityClassName\" field instead"}},
        PodCase{R"("volumes":[{"name":"g","gitRepo":{"repository":"r"}},{"name":"c","cephfs":{}}])",
                "",
                {"spec.volumes[0].gitRepo: deprecated in v1.11, and disabled by default in v1.33+",
                 "spec.volumes[1].cephfs: deprecated in v1.28, non-functional in v1.31+"}},
        PodCase{
            R"("hostAliases":[{"ip":"1.1.1.1"},{"ip":"1.1.1.1"}],"imagePullSecrets":[{"name":"a"},{"name":"a"},{}])",
            "",
            {"spec.hostAliases[1].ip: duplicate ip \"1.1.1.1\"", "spec.imagePullSecrets[1].name: duplicate name \"a\"",
             "spec.imagePullSecrets[2].name: invalid empty name \"\""}},
        PodCase{container(R"("resources":{"limits":{"memory":"100m"},"requests":{"memory":"1500m","cpu":"1m"}})"),
                "",
                {"spec.containers[0].resources.limits[memory]: fractional byte value \"100m\" is invalid, must be an "
                 "integer",
                 "spec.containers[0].resources.requests[memory]: fractional byte value \"1500m\" is invalid, must be "
                 "an integer"}},
        PodCase{container(R"("env":[{"name":"A","value":"1"},{"name":"A","value":"$(A)2"},{"name":"A","value":"3"}])"),
                "",
                {"spec.containers[0].env[2]: hides previous definition of \"A\", which may be dropped when using "
                 "apply"}},
        PodCase{container(R"("ports":[{"containerPort":80,"protocol":"TCP"},{"containerPort":80,"protocol":"TCP"},
            {"containerPort":80,"protocol":"TCP","hostPort":8080},{"containerPort":80,"protocol":"UDP"}])"),
                "",
                {"spec.containers[0].ports[1]: duplicate port definition with spec.containers[0].ports[0]",
                 "spec.containers[0].ports[2]: overlapping port definition with spec.containers[0].ports[0]",
                 "spec.containers[0].ports[2]: overlapping port definition with spec.containers[0].ports[1]"}},
        PodCase{container(R"("ports":[{"name":"w","containerPort":80,"protocol":"TCP","hostIP":"127.0.0.1"}])"),
                "",
                {"spec.containers[0].ports[0]: hostIP set without hostPort: {Name:w HostPort:0 ContainerPort:80 "
                 "Protocol:TCP HostIP:127.0.0.1}"}},
        PodCase{container(R"("stdin":true)"),
                R"("container.seccomp.security.alpha.kubernetes.io/c":"x")",
                {"metadata.annotations[container.seccomp.security.alpha.kubernetes.io/c]: non-functional in v1.27+; "
                 "use the \"seccompProfile\" field instead"}},
        PodCase{R"("dnsConfig":{"nameservers":["2001:DB8::1"]},"hostAliases":[{"ip":"::ffff:1.2.3.4"}])",
                "",
                {"spec.dnsConfig.nameservers[0]: IPv6 address \"2001:DB8::1\" should be in RFC 5952 canonical format "
                 "(\"2001:db8::1\")",
                 "spec.hostAliases[0].ip: non-standard IP address \"::ffff:1.2.3.4\" is invalid: use \"1.2.3.4\""}},
        PodCase{R"("terminationGracePeriodSeconds":-1)",
                "",
                {"spec.terminationGracePeriodSeconds: must be >= 0; negative values are invalid and will be treated as "
                 "1"}},
        PodCase{R"("affinity":{"podAntiAffinity":{"preferredDuringSchedulingIgnoredDuringExecution":[
            {"weight":1,"podAffinityTerm":{"topologyKey":"k"}}]}})",
                "",
                {"spec.affinity.podAntiAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].podAffinityTerm."
                 "labelSelector: a null labelSelector results in matching no pod"}}));

TEST(Warnings, OfVolumesWhoseFilesOverlap) {
  const auto volumes = [](const std::string& list) {
    return of("", "pods", R"({"metadata":{"name":"p"},"spec":{"volumes":[)" + list + "]}}");
  };
  EXPECT_THAT(volumes(R"({"name":"v","configMap":{"name":"m","items":[{"key":"a","path":"dir/"},{"key":"b","path":"x"},
                  {"key":"c","path":"dir/file"},{"key":"d","path":"directory"},{"key":"e","path":"dir"}]}})"),
              ElementsAre("volume \"v\" (ConfigMap \"m\"): overlapping paths: \"dir/file\" with \"dir\"",
                          "volume \"v\" (ConfigMap \"m\"): overlapping paths: \"dir\" with \"dir\"",
                          "volume \"v\" (ConfigMap \"m\"): overlapping paths: \"dir\" with \"dir/file\""));
  EXPECT_THAT(volumes(R"({"name":"p","projected":{"sources":[{"serviceAccountToken":{"path":"t"}},{},
          {"configMap":{"name":"m","items":[{"key":"k","path":"t"}]}},{"downwardAPI":{"items":[{"path":"u"}]}}]}})"),
              ElementsAre("volume \"p\" (Projected) has no sources provided",
                          "volume \"p\" (Projected): overlapping paths: \"t\" (ConfigMap \"m\") with \"t\" "
                          "(ServiceAccountToken)"));
  std::string items;
  for (int i = 0; i < 20'000; ++i) items += (i > 0 ? "," : "") + std::string(R"({"key":"k","path":"same"})");
  EXPECT_LE(volumes(R"({"name":"v","secret":{"secretName":"s","items":[)" + items + "]}}").size(), 256u);
}

TEST(Warnings, OfPodsComeWithACreateOnly) {
  const std::string pod = R"({"metadata":{"name":"a.b"},"spec":{"terminationGracePeriodSeconds":-1}})";
  EXPECT_THAT(of("", "pods", pod),
              ElementsAre("metadata.name: this is used in the Pod's hostname, which can result in surprising behavior; "
                          "a DNS label is recommended: [must not contain dots]",
                          "spec.terminationGracePeriodSeconds: must be >= 0; negative values are invalid and will be "
                          "treated as 1"));
  EXPECT_THAT(of("", "pods", pod, pod), IsEmpty());
}

TEST(Warnings, OfWorkloadsComeWhenTheirSpecChanges) {
  const auto deployment = [](int generation) {
    return R"({"metadata":{"name":"a.b","generation":)" + std::to_string(generation) +
           R"(},"spec":{"template":{"spec":{"terminationGracePeriodSeconds":-1}}}})";
  };
  EXPECT_EQ(of("apps", "deployments", deployment(1)).size(), 2u);
  EXPECT_THAT(of("apps", "deployments", deployment(1), deployment(1)), IsEmpty());
  EXPECT_EQ(of("apps", "deployments", deployment(2), deployment(1)).size(), 1u);  // its name was new once
}

TEST(Warnings, OfOtherKinds) {
  struct Case {
    std::string_view group, resource;
    std::string object;
    std::vector<std::string> warnings;
  };
  const Case cases[] = {
      {"apps",
       "statefulsets",
       R"({"spec":{"revisionHistoryLimit":-1,"volumeClaimTemplates":[{"spec":{"resources":{"requests":{"storage":"1m"}}}}]}})",
       {"spec.volumeClaimTemplates[0].resources.requests[storage]: fractional byte value \"1m\" is invalid, must be an "
        "integer",
        "spec.revisionHistoryLimit: a negative value retains all historical revisions; a value >= 0 is recommended"}},
      {"batch",
       "jobs",
       R"({"metadata":{"name":"j"},"spec":{"completionMode":"Indexed","completions":100001,"parallelism":10001}})",
       {"spec: In Indexed Jobs with a number of completions higher than 10^5 and a parallelism higher than 10^4, "
        "Kubernetes might not be able to track completedIndexes when a big number of indexes fail"}},
      {"batch",
       "cronjobs",
       R"({"metadata":{"name":"c"},"spec":{"jobTemplate":{"spec":{"template":{"spec":{"terminationGracePeriodSeconds":-1}}}}}})",
       {"spec.jobTemplate.spec.template.spec.terminationGracePeriodSeconds: must be >= 0; negative values are invalid "
        "and will be treated as 1"}},
      {"",
       "persistentvolumeclaims",
       R"({"metadata":{"annotations":{"volume.beta.kubernetes.io/storage-class":"x"}},"spec":{"resources":{"requests":{"storage":"500m"}}}})",
       {"metadata.annotations[volume.beta.kubernetes.io/storage-class]: deprecated since v1.8; use "
        "\"storageClassName\" attribute instead",
        "spec.resources.requests[storage]: fractional byte value \"500m\" is invalid, must be an integer"}},
      {"",
       "persistentvolumes",
       R"({"metadata":{"annotations":{"volume.beta.kubernetes.io/mount-options":"x"}},"spec":{"persistentVolumeReclaimPolicy":"Recycle","rbd":{}}})",
       {"metadata.annotations[volume.beta.kubernetes.io/mount-options]: deprecated since v1.31; use \"mountOptions\" "
        "attribute instead",
        "spec.persistentVolumeReclaimPolicy: The Recycle reclaim policy is deprecated. Instead, the recommended "
        "approach is to use dynamic provisioning.",
        "spec.rbd: deprecated in v1.28, non-functional in v1.31+"}},
      {"",
       "services",
       R"({"spec":{"type":"ClusterIP","clusterIP":"None","sessionAffinity":"ClientIP","externalName":"x"}})",
       {"spec.SessionAffinity is ignored for headless services",
        "spec.externalName is ignored when spec.type is not \"ExternalName\""}},
      {"",
       "services",
       R"({"metadata":{"annotations":{"service.kubernetes.io/topology-aware-hints":"auto"}},"spec":{"type":"LoadBalancer",
           "externalIPs":["2001:DB8::1"],"loadBalancerSourceRanges":["10.0.0.1/8"],"trafficDistribution":"PreferClose"}})",
       {"annotation service.kubernetes.io/topology-aware-hints is deprecated, please use "
        "service.kubernetes.io/topology-mode instead",
        "spec.externalIPs[0]: IPv6 address \"2001:DB8::1\" should be in RFC 5952 canonical format (\"2001:db8::1\")",
        "spec.externalIPs is deprecated and may no longer be implemented in some clusters",
        "spec.loadBalancerSourceRanges[0]: CIDR value \"10.0.0.1/8\" is ambiguous in this context (should be "
        "\"10.0.0.0/8\" or \"10.0.0.1/32\"?)",
        "spec.trafficDistribution: \"PreferClose\" is deprecated; use \"PreferSameZone\""}},
      {"networking.k8s.io",
       "ingresses",
       R"({"metadata":{"annotations":{"kubernetes.io/ingress.class":"nginx"}},"spec":{}})",
       {"annotation \"kubernetes.io/ingress.class\" is deprecated, please use 'spec.ingressClassName' instead"}},
      {"networking.k8s.io",
       "networkpolicies",
       R"({"spec":{"egress":[{"to":[{"ipBlock":{"cidr":"2001:DB8::/64","except":["10.1.2.3/24"]}}]}]}})",
       {"spec.egress[0].to[0].ipBlock.cidr: IPv6 CIDR value \"2001:DB8::/64\" should be in RFC 5952 canonical format "
        "(\"2001:db8::/64\")",
        "spec.egress[0].to[0].ipBlock.except[0]: CIDR value \"10.1.2.3/24\" is ambiguous in this context (should be "
        "\"10.1.2.0/24\" or \"10.1.2.3/32\"?)"}},
      {"storage.k8s.io",
       "csistoragecapacities",
       R"({"nodeTopology":{"matchLabels":{"beta.kubernetes.io/arch":"x"}}})",
       {"nodeTopology.matchLabels.beta.kubernetes.io/arch: deprecated since v1.14; use \"kubernetes.io/arch\" "
        "instead"}},
      {"",
       "nodes",
       R"({"spec":{"externalID":"x"}})",
       {"spec.externalID: this field is deprecated, and is unused by Kubernetes"}},
      {"",
       "serviceaccounts",
       R"({"metadata":{"annotations":{"kubernetes.io/enforce-mountable-secrets":"true"}}})",
       {"metadata.annotations[kubernetes.io/enforce-mountable-secrets]: deprecated in v1.32+; prefer separate "
        "namespaces to isolate access to mounted secrets"}},
      {"",
       "endpoints",
       R"({"subsets":[{"notReadyAddresses":[{"ip":"2001:DB8::1"}]}]})",
       {"subsets[0].notReadyAddresses[0].ip: IPv6 address \"2001:DB8::1\" should be in RFC 5952 canonical format "
        "(\"2001:db8::1\")"}},
      {"discovery.k8s.io",
       "endpointslices",
       R"({"addressType":"FQDN","endpoints":[{"addresses":["a.b"]}]})",
       {"spec.addressType: FQDN endpoints are deprecated"}},
      {"resource.k8s.io",
       "resourceslices",
       R"({"spec":{"driver":"GPU.example.com"}})",
       {"spec.driver: driver names should be lowercase; \"GPU.example.com\" contains uppercase characters"}},
      {"storage.k8s.io",
       "csidrivers",
       R"({"spec":{"tokenRequests":[{"audience":"a"}]}})",
       {"spec.serviceAccountTokenInSecrets is unset; if supported by this CSI driver, set to true to prevent possible "
        "logging of tokens in volume attributes"}},
      {"admissionregistration.k8s.io",
       "validatingadmissionpolicies",
       R"({"metadata":{"name":"x.static.k8s.io"}})",
       {"metadata.name: names ending with \".static.k8s.io\" are reserved for static manifest-based configurations and "
        "cannot be managed via the API"}},
      {"", "configmaps", R"({"data":{"a":"b"}})", {}},
  };
  for (const Case& row : cases)
    EXPECT_THAT(of(row.group, row.resource, row.object), ElementsAreArray(row.warnings)) << row.resource;
}

TEST(Warnings, OfTlsSecretsAreGos) {
  const auto make = [] {
    net::CertificateRequest request;
    request.common_name = "x";
    return net::make_certificate(request, nullptr).value();
  };
  const auto pair = make(), other = make();
  const auto secret = [](const std::string& certificate, const std::string& key, const std::string& type) {
    return of("", "secrets",
              R"({"type":")" + type + R"(","data":{"tls.crt":")" + schema::base64_encode(certificate) +
                  R"(","tls.key":")" + schema::base64_encode(key) + R"("}})");
  };
  const std::string kTls = "kubernetes.io/tls";
  EXPECT_THAT(secret(pair.certificate_pem, pair.key_pem, kTls), IsEmpty());
  EXPECT_THAT(secret("x", "y", "Opaque"), IsEmpty());
  EXPECT_THAT(secret("x", "y", kTls), ElementsAre("tls: failed to find any PEM data in certificate input"));
  EXPECT_THAT(secret(pair.certificate_pem, "y", kTls), ElementsAre("tls: failed to find any PEM data in key input"));
  EXPECT_THAT(secret(pair.key_pem, pair.certificate_pem, kTls),
              ElementsAre("tls: failed to find certificate PEM data in certificate input, but did find a private key; "
                          "PEM inputs may have been switched"));
  EXPECT_THAT(secret(pair.certificate_pem, pair.certificate_pem, kTls),
              ElementsAre("tls: found a certificate rather than a key in the PEM for the private key"));
  EXPECT_THAT(secret(pair.certificate_pem, other.key_pem, kTls),
              ElementsAre("tls: private key does not match public key"));
}

TEST(Warnings, OfAddressesInAStatus) {
  const std::string service = R"({"spec":{"type":"LoadBalancer","externalIPs":["1.2.3.4"]},"status":{"loadBalancer":
      {"ingress":[{"ip":"2001:DB8::1"}]}}})";
  EXPECT_THAT(
      of("", "services", service, service, "status"),
      ElementsAre("status.loadBalancer.ingress[0]: IPv6 address \"2001:DB8::1\" should be in RFC 5952 canonical "
                  "format (\"2001:db8::1\")"));
}

TEST(Warnings, OfPortsThatShareAName) {
  const std::string pod = R"({"metadata":{"name":"p"},"spec":{"initContainers":[{"name":"i","ports":[{"name":"web",
      "containerPort":81,"protocol":"TCP"}]}],"containers":[{"name":"c","ports":[{"name":"web","containerPort":80,
      "protocol":"TCP"}]}]}})";
  EXPECT_THAT(of("", "pods", pod),
              ElementsAre("spec.containers[0].ports[0]: duplicate port name \"web\" with "
                          "spec.initContainers[0].ports[0], services and probes that select ports by name will use "
                          "spec.initContainers[0].ports[0]"));
}

TEST(Warnings, OfAppArmorAnnotationsUnlessThePodsProfileIsTheSame) {
  const auto deployment = [](const std::string& annotation) {
    return R"({"metadata":{"name":"d"},"spec":{"template":{"metadata":{"annotations":{
        "container.apparmor.security.beta.kubernetes.io/c":")" +
           annotation + R"("}},"spec":{"securityContext":{"appArmorProfile":{"type":"RuntimeDefault"}},
        "containers":[{"name":"c"}]}}}})";
  };
  EXPECT_THAT(of("apps", "deployments", deployment("runtime/default")), IsEmpty());
  EXPECT_EQ(of("apps", "deployments", deployment("unconfined")).size(), 1u);
}

// However many ports say the same, each is compared with a few.
TEST(Warnings, CostGrowsWithThePortsAndNotWithTheirSquare) {
  std::string ports;
  constexpr int kPorts = 20'000;
  for (int i = 0; i < kPorts; ++i)
    ports += (i > 0 ? "," : "") + std::string(R"({"containerPort":80,"protocol":"TCP"})");
  const auto warnings =
      of("", "pods", R"({"metadata":{"name":"p"},"spec":{)" + container(R"("ports":[)" + ports + "]") + "}}");
  EXPECT_EQ(warnings.size(), 256u);
}

}  // namespace
}  // namespace sublet::apiserver
