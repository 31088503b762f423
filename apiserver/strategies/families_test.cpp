// What is wrong with an object of each family, by the words of a real kube-apiserver v1.36 (tests/api/kind_rules.http
// asks one for the same). Each row was stored without a word before its family had rules.
#include <gtest/gtest.h>

#include "apiserver/kind_testing.h"

namespace sublet::apiserver {
namespace {

struct Refusal {
  std::string_view resource, json, causes;
};

constexpr Refusal kCreates[] = {
    {"deployments",
     R"({"metadata":{"name":"a"},"spec":{"selector":{"matchLabels":{"a":"b"}},"strategy":{"rollingUpdate":{"maxSurge":0,"maxUnavailable":"0%"}},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}]}}}})",
     "spec.strategy.rollingUpdate.maxUnavailable: Invalid value: \"0%\": may not be 0 when `maxSurge` is 0"},
    {"daemonsets",
     R"({"metadata":{"name":"a"},"spec":{"selector":{"matchLabels":{"a":"b"}},"updateStrategy":{"rollingUpdate":{"maxSurge":1,"maxUnavailable":1}},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}]}}}})",
     "spec.updateStrategy.rollingUpdate.maxSurge: Invalid value: 1: may not be set when maxUnavailable is non-zero"},
    {"statefulsets",
     R"({"metadata":{"name":"a"},"spec":{"serviceName":"a.b","selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"activeDeadlineSeconds":5,"containers":[{"name":"c","image":"i"}]}},"volumeClaimTemplates":[{"metadata":{"name":"d"},"spec":{"accessModes":["ReadWriteOnce"]}}]}})",
     "spec.template.spec.activeDeadlineSeconds: Forbidden: activeDeadlineSeconds in StatefulSet is not Supported\n"
     "spec.volumeClaimTemplates[0].spec.resources[storage]: Required value\n"
     "spec.serviceName: Invalid value: \"a.b\": must not contain dots"},
    {"replicationcontrollers",
     R"({"metadata":{"name":"a"},"spec":{"selector":{"x":"y"},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}]}}}})",
     "spec.template.metadata.labels: Invalid value: {\"a\":\"b\"}: `selector` does not match template `labels`"},
    {"cronjobs",
     R"({"metadata":{"name":"a"},"spec":{"schedule":"bad","jobTemplate":{"spec":{"template":{"spec":{"restartPolicy":"Never","containers":[{"name":"c","image":"i"}]}}}}}})",
     "spec.schedule: Invalid value: \"bad\": expected exactly 5 fields, found 1: [bad]"},
    {"jobs",
     R"({"metadata":{"name":"a"},"spec":{"template":{"metadata":{"labels":{"job-name":"b"}},"spec":{"restartPolicy":"Never","containers":[{"name":"c","image":"i"}]}}}})",
     "spec.template.metadata.labels[job-name]: Invalid value: "
     "{\"batch.kubernetes.io/controller-uid\":\"created-uid\",\"batch.kubernetes.io/"
     "job-name\":\"a\",\"controller-uid\":"
     "\"created-uid\",\"job-name\":\"b\"}: must be 'a'"},
    {"deviceclasses", R"({"metadata":{"name":"a"},"spec":{"selectors":[{"cel":{"expression":"device.driver"}}]}})",
     "spec.selectors[0].cel.expression: Invalid value: \"device.driver\": must evaluate to bool or the unknown type, "
     "not "
     "string"},
    {"resourceclaimtemplates",
     R"({"metadata":{"name":"a"},"spec":{"metadata":{"finalizers":["a/b"]},"spec":{"devices":{"requests":[{"name":"-","exactly":{"deviceClassName":"c"}}]}}}})",
     "spec.metadata.finalizers: Forbidden: cannot be set\nspec.spec.devices.requests[0].name: Invalid value: \"-\": a "
     "lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with "
     "an "
     "alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is "
     "'[a-z0-9]([-a-z0-9]*[a-z0-9])?')"},
    {"endpointslices", R"({"metadata":{"name":"a"},"addressType":"FQDN","endpoints":[{"addresses":["a"]}]})",
     "endpoints[0].addresses[0]: Invalid value: \"a\": should be a domain with at least two segments separated by "
     "dots"},
    {"mutatingwebhookconfigurations",
     R"({"metadata":{"name":"a"},"webhooks":[{"name":"a.b.c","sideEffects":"None","admissionReviewVersions":["v1"],"clientConfig":{"url":"101%"}}]})",
     "webhooks[0].clientConfig.url: Required value: url must be a valid URL: parse \"101%\": invalid URL escape \"%\"; "
     "desired format: https://host[/path]"},
    {"services",
     R"({"metadata":{"name":"a"},"spec":{"clusterIP":"-a","ipFamilies":["IPv4","IPv4"],"loadBalancerSourceRanges":["x"],"ports":[{"port":1}]}})",
     "spec.clusterIPs[0]: Invalid value: \"-a\": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)\n"
     "spec.ipFamilies[1]: Duplicate value: \"IPv4\"\n"
     "spec.LoadBalancerSourceRanges: Forbidden: may only be used when `type` is 'LoadBalancer'\n"
     "spec.LoadBalancerSourceRanges[0]: Invalid value: \"x\": must be a valid CIDR value, (e.g. 10.9.8.0/24 or "
     "2001:db8::/64)"},
    {"controllerrevisions", R"({"metadata":{"name":"a"},"revision":-1,"data":[]})",
     "revision: Invalid value: -1: must be greater than or equal to 0\n"
     "data: Required value: data must be a valid JSON object"},
    {"horizontalpodautoscalers",
     R"({"metadata":{"name":"a"},"spec":{"minReplicas":3,"maxReplicas":2,"scaleTargetRef":{"kind":"Deployment","name":"d","apiVersion":"v1"}}})",
     "spec.maxReplicas: Invalid value: 2: must be greater than or equal to `minReplicas`\n"
     "spec.scaleTargetRef.apiVersion: Invalid value: \"v1\": apiVersion must specify API group"},
    {"poddisruptionbudgets", R"({"metadata":{"name":"a"},"spec":{"minAvailable":"101%","selector":{}}})",
     "spec.minAvailable: Invalid value: \"101%\": must not be greater than 100%"},
    {"ingresses",
     R"({"metadata":{"name":"a"},"spec":{"rules":[{"host":"1.2.3.4","http":{"paths":[{"path":"x","pathType":"Prefix","backend":{"service":{"name":"s","port":{"number":70000}}}}]}}]}})",
     "spec.rules[0].host: Invalid value: \"1.2.3.4\": must be a DNS name, not an IP address\n"
     "spec.rules[0].http.paths[0].path: Invalid value: \"x\": must be an absolute path\n"
     "spec.rules[0].http.paths[0].backend.service.port.number: Invalid value: 70000: must be between 1 and 65535, "
     "inclusive"},
    {"ingressclasses", R"({"metadata":{"name":"a"},"spec":{"controller":"plain"}})",
     "spec.controller: Invalid value: \"plain\": must be a domain-prefixed path (such as \"acme.io/foo\")"},
    {"networkpolicies",
     R"({"metadata":{"name":"a"},"spec":{"podSelector":{},"ingress":[{"from":[{},{"ipBlock":{"cidr":"10.0.0.0/8","except":["11.0.0.0/16"]}}],"ports":[{"port":9,"endPort":8}]}]}})",
     "spec.ingress[0].ports[0].endPort: Invalid value: 9: must be greater than or equal to `port`\n"
     "spec.ingress[0].from[0]: Required value: must specify a peer\n"
     "spec.ingress[0].from[1].ipBlock.except[0]: Invalid value: \"11.0.0.0/16\": must be a strict subset of `cidr`"},
    {"ipaddresses", R"({"metadata":{"name":"1.2.3.4"},"spec":{"parentRef":{"resource":"a/b","name":"n"}}})",
     "spec.parentRef.resource: Invalid value: \"a/b\": may not contain '/'"},
    {"servicecidrs", R"({"metadata":{"name":"a"},"spec":{"cidrs":["10.0.0.1/8"]}})",
     "spec.cidrs[0]: Invalid value: \"10.0.0.1/8\": must not have bits set beyond the prefix length"},
    {"persistentvolumes",
     R"({"metadata":{"name":"a"},"spec":{"accessModes":["ReadWriteOnce"],"capacity":{"storage":"0"}}})",
     "spec.capacity[storage]: Invalid value: \"0\": must be greater than zero\n"
     "spec: Required value: must specify a volume type"},
    {"persistentvolumeclaims",
     R"({"metadata":{"name":"a"},"spec":{"accessModes":["ReadWriteOnce","ReadWriteOncePod"],"resources":{"requests":{"storage":"-1"}}}})",
     "spec.accessModes: Forbidden: may not use ReadWriteOncePod with other access modes\n"
     "spec.resources[storage]: Invalid value: \"-1\": must be greater than zero"},
    {"storageclasses", R"({"metadata":{"name":"a"},"provisioner":"p","reclaimPolicy":"Recycle"})",
     "reclaimPolicy: Unsupported value: \"Recycle\": supported values: \"Delete\", \"Retain\""},
    {"volumeattachments", R"({"metadata":{"name":"a"},"spec":{"attacher":"x","nodeName":"n","source":{}}})",
     "spec.source: Required value: must specify exactly one of inlineVolumeSpec and persistentVolumeName"},
    {"csidrivers", R"({"metadata":{"name":"a"},"spec":{"tokenRequests":[{"audience":"a","expirationSeconds":5}]}})",
     "spec.tokenRequests[0].expirationSeconds: Invalid value: 5: may not specify a duration less than 10 minutes"},
    {"csinodes", R"({"metadata":{"name":"a"},"spec":{"drivers":[{"name":"A_b","nodeID":"n"}]}})",
     "spec.drivers[0].name: Invalid value: \"A_b\": a lowercase RFC 1123 subdomain must consist of lower case "
     "alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', "
     "regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"},
    {"csistoragecapacities", R"({"metadata":{"name":"a"},"storageClassName":"s","capacity":"-1"})",
     "capacity: Invalid value: \"-1\": must be greater than or equal to 0"},
    {"volumeattributesclasses", R"({"metadata":{"name":"a"},"driverName":"d"})",
     "parameters: Required value: must contain at least one key/value pair"},
    {"flowschemas",
     R"({"metadata":{"name":"a"},"spec":{"matchingPrecedence":1,"priorityLevelConfiguration":{"name":"p"},"rules":[{"subjects":[{"kind":"User"}]}]}})",
     "spec.matchingPrecedence: Invalid value: 1: only the schema named 'exempt' may have matchingPrecedence 1\n"
     "spec.rules[0].subjects[0].user: Required value: user is required when subject kind is 'User'\n"
     "spec.rules[0]: Required value: at least one of resourceRules and nonResourceRules has to be non-empty"},
    {"prioritylevelconfigurations",
     R"({"metadata":{"name":"a"},"spec":{"type":"Limited","limited":{"limitResponse":{"type":"Queue","queuing":{"queues":4,"handSize":5}}}}})",
     "spec.limited.limitResponse.queuing.handSize: Invalid value: 5: should not be greater than queues (4)"},
    {"resourcequotas",
     R"({"metadata":{"name":"a"},"spec":{"hard":{"pods":"1.5","storage":"1"},"scopes":["BestEffort"]}})",
     "spec.hard[pods]: Invalid value: \"1500m\": must be an integer\n"
     "spec.hard[storage]: Invalid value: \"storage\": must be a standard resource for quota"},
    {"resourceclaims",
     R"({"metadata":{"name":"a"},"spec":{"devices":{"requests":[{"name":"r","exactly":{"deviceClassName":"c","allocationMode":"All","count":2}}],"config":[{"requests":["x"],"opaque":{"driver":"d","parameters":{}}}]}}})",
     "spec.devices.requests[0].exactly.count: Invalid value: 2: must not be specified when allocationMode is 'All'\n"
     "spec.devices.config[0].requests[0]: Invalid value: \"x\": must be the name of a request in the claim or the name "
     "of a request and a subrequest separated by '/'"},
    {"deviceclasses", R"({"metadata":{"name":"a"},"spec":{"extendedResourceName":"plain"}})",
     "spec.extendedResourceName: Invalid value: \"plain\": must be a valid extended resource name"},
    {"resourceslices", R"({"metadata":{"name":"a"},"spec":{"driver":"d","pool":{"name":"p","resourceSliceCount":0}}})",
     "spec.pool.resourceSliceCount: Invalid value: 0: must be greater than zero\n"
     "spec: Required value: exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is "
     "required"},
    {"apiservices",
     R"({"metadata":{"name":"a"},"spec":{"version":"v1","group":"g","groupPriorityMinimum":1,"versionPriority":1}})",
     "metadata.name: Invalid value: \"a\": must be `spec.version+\".\"+spec.group`: \"v1.g\""},
};

TEST(Families, SayWhatIsWrongInUpstreamsWords) {
  for (const auto& row : kCreates) {
    KindBench bench;
    const bool namespaced = facts_of(row.resource).namespaced;
    const auto made = bench.create(row.resource, row.json, namespaced ? "default" : "");
    EXPECT_EQ(causes_text(made), row.causes) << row.resource;
  }
}

struct Change {
  std::string_view resource, before, after, causes;
};

constexpr Change kUpdates[] = {
    {"persistentvolumeclaims",
     R"({"metadata":{"name":"a"},"spec":{"accessModes":["ReadWriteOnce"],"volumeMode":"Filesystem","volumeName":"v","resources":{"requests":{"storage":"2Gi"}}}})",
     R"({"metadata":{"name":"a"},"spec":{"accessModes":["ReadWriteMany"],"volumeMode":"Filesystem","volumeName":"v","resources":{"requests":{"storage":"2Gi"}}}})",
     "spec: Forbidden: spec is immutable after creation except resources.requests and volumeAttributesClassName for "
     "bound claims"},
    {"storageclasses",
     R"({"metadata":{"name":"a"},"provisioner":"p","reclaimPolicy":"Delete","volumeBindingMode":"Immediate"})",
     R"({"metadata":{"name":"a"},"provisioner":"q"})", "provisioner: Invalid value: \"q\": field is immutable"},
    {"servicecidrs", R"({"metadata":{"name":"a"},"spec":{"cidrs":["10.0.0.0/8"]}})",
     R"({"metadata":{"name":"a"},"spec":{"cidrs":["11.0.0.0/8"]}})",
     "spec.cidrs[0]: Invalid value: \"11.0.0.0/8\": field is immutable"},
    {"volumeattributesclasses", R"({"metadata":{"name":"a"},"driverName":"d","parameters":{"a":"b"}})",
     R"({"metadata":{"name":"a"},"driverName":"d","parameters":{"a":"c"}})",
     "parameters: Forbidden: updates to parameters are forbidden."},
};

TEST(Families, KeepWhatMayNotChange) {
  for (const auto& row : kUpdates) {
    KindBench bench;
    const bool namespaced = facts_of(row.resource).namespaced;
    const auto made = bench.update(row.resource, row.after, row.before, "", namespaced ? "default" : "");
    EXPECT_EQ(causes_text(made), row.causes) << row.resource;
  }
}

TEST(Families, CountsOfAStatusAgree) {
  KindBench bench;
  constexpr std::string_view kSpec =
      R"("spec":{"replicas":1,"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"restartPolicy":"Always","dnsPolicy":"ClusterFirst","containers":[{"name":"c","image":"i"}]}}})";
  const auto old = R"({"metadata":{"name":"a"},)" + std::string(kSpec) + "}";
  const auto now =
      R"({"metadata":{"name":"a"},)" + std::string(kSpec) + R"(,"status":{"replicas":1,"readyReplicas":2}})";
  EXPECT_EQ(causes_text(bench.update("replicasets", now, old, "status")),
            "status.readyReplicas: Invalid value: 2: cannot be greater than status.replicas");
}

TEST(Families, AnAllocationIsOfWhatWasAskedFor) {
  KindBench bench;
  constexpr std::string_view kSpec =
      R"("spec":{"devices":{"requests":[{"name":"r","exactly":{"deviceClassName":"c","allocationMode":"ExactCount","count":1}}]}})";
  const auto old = R"({"metadata":{"name":"a"},)" + std::string(kSpec) + "}";
  const auto status_of = [&](std::string_view request, std::string_view more) {
    return R"({"metadata":{"name":"a"},)" + std::string(kSpec) + R"(,"status":{"allocation":{"devices":{"results":[)" +
           R"({"request":")" + std::string(request) + R"(","driver":"d.example.com","pool":"p","device":"v"}]}})" +
           std::string(more) + "}}";
  };
  EXPECT_EQ(causes_text(bench.update("resourceclaims", status_of("r", ""), old, "status")), "");
  EXPECT_EQ(causes_text(bench.update("resourceclaims", status_of("x", ""), old, "status")),
            "status.allocation.devices.results[0].request: Invalid value: \"x\": must be the name of a request in the "
            "claim or the name of a request and a subrequest separated by '/'");
  const std::string other = R"(,"devices":[{"driver":"d.example.com","pool":"p","device":"w"}])";
  EXPECT_EQ(causes_text(bench.update("resourceclaims", status_of("r", other), old, "status")),
            "status.devices[0]: Invalid value: {d.example.com/p/w}: must be an allocated device in the claim");
}

TEST(Families, AnExpressionAboutADeviceMayBindNames) {
  KindBench bench;
  auto made = bench.create(
      "deviceclasses",
      R"j({"metadata":{"name":"a"},"spec":{"selectors":[{"cel":{"expression":"cel.bind(d, device.attributes['x'], d.a && d.b == 'c') && device.capacity['x'].m.isGreaterThan(quantity('1Gi'))"}}]}})j");
  EXPECT_TRUE(made) << made.error();
}

TEST(Families, AJobsLabelsStay) {
  KindBench bench;
  auto made = bench.create(
      "jobs",
      R"({"metadata":{"name":"a"},"spec":{"suspend":true,"template":{"spec":{"restartPolicy":"Never","containers":[{"name":"c","image":"i"}]}}}})");
  ASSERT_TRUE(made) << made.error();
  const std::string old = made.root().to_json();
  auto changed = schema::Document::copy_of(made.root());
  changed.root()["spec"]["template"]["metadata"]["labels"].erase("job-name");
  EXPECT_NE(causes_text(bench.update("jobs", changed.root().to_json(), old))
                .find("spec.template.metadata.labels[job-name]: Required value: must be 'a'"),
            std::string::npos);
}

TEST(Families, DataSourcesThatUpstreamOverlooksAreDropped) {
  for (const std::string_view source :
       {R"("dataSource":{"apiGroup":"x.example.com","kind":"Odd","name":"s"})",
        R"("dataSourceRef":{"apiGroup":"x.example.com","kind":"Odd","name":"s","namespace":"other"})"}) {
    KindBench bench;
    auto made = bench.create("persistentvolumeclaims",
                             R"({"metadata":{"name":"a"},"spec":{"accessModes":["ReadWriteOnce"],)" +
                                 std::string(source) + R"(,"resources":{"requests":{"storage":"1Gi"}}}})");
    ASSERT_TRUE(made) << made.error();
    EXPECT_FALSE(made.root()["spec"].has("dataSource")) << source;
    EXPECT_FALSE(made.root()["spec"].has("dataSourceRef")) << source;
  }
}

TEST(Families, AStatefulSetThatNamesItsWayToUpdateGetsNoMoreOfIt) {
  constexpr std::string_view kRest =
      R"("selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}]}}}})";
  KindBench bench;
  auto named =
      bench.create("statefulsets", R"({"metadata":{"name":"a"},"spec":{"updateStrategy":{"type":"RollingUpdate"},)" +
                                       std::string(kRest));
  ASSERT_TRUE(named) << named.error();
  EXPECT_EQ(named.root()["spec"]["updateStrategy"].to_json(), R"({"type":"RollingUpdate"})");
  auto plain = bench.create("statefulsets", R"({"metadata":{"name":"b"},"spec":{)" + std::string(kRest));
  ASSERT_TRUE(plain) << plain.error();
  EXPECT_EQ(plain.root()["spec"]["updateStrategy"]["rollingUpdate"].to_json(), R"({"partition":0})");
}

TEST(Families, FieldsBehindClosedGatesAreNotKept) {
  KindBench bench;
  auto driver =
      bench.create("csidrivers", R"({"metadata":{"name":"a"},"spec":{"preventPodSchedulingIfMissing":true}})");
  ASSERT_TRUE(driver) << driver.error();
  EXPECT_FALSE(driver.root()["spec"].has("preventPodSchedulingIfMissing"));
}

TEST(Families, BothDataSourcesOfAClaimSayTheSame) {
  KindBench bench;
  auto made = bench.create(
      "persistentvolumeclaims",
      R"({"metadata":{"name":"a"},"spec":{"accessModes":["ReadWriteOnce"],"dataSource":{"kind":"PersistentVolumeClaim","name":"x"},"resources":{"requests":{"storage":"1Gi"}}}})");
  ASSERT_TRUE(made) << made.error();
  EXPECT_EQ(made.root()["spec"]["dataSourceRef"].to_json(),
            R"({"apiGroup":null,"kind":"PersistentVolumeClaim","name":"x"})");
}

TEST(Families, OfASecretAServiceAccountKeepsTheName) {
  KindBench bench;
  auto made = bench.create("serviceaccounts", R"({"metadata":{"name":"a"},"secrets":[{"name":"s","namespace":"x"}]})");
  ASSERT_TRUE(made) << made.error();
  EXPECT_EQ(made.root()["secrets"].to_json(), R"([{"name":"s"}])");
}

}  // namespace
}  // namespace sublet::apiserver
