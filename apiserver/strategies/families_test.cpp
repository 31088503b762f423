// What is wrong with an object of each family, by the words of a real kube-apiserver v1.36 (tests/api/kind_rules.http
// asks one for the same). Each row was stored without a word before its family had rules.
#include <gtest/gtest.h>

#include <span>

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
     "spec.ipFamilies[1]: Duplicate value: \"IPv4\"\n"
     "spec.clusterIPs[0]: Invalid value: \"-a\": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"},
    {"services", R"({"metadata":{"name":"a"},"spec":{"loadBalancerSourceRanges":["x"],"ports":[{"port":1}]}})",
     "spec.LoadBalancerSourceRanges: Forbidden: may only be used when `type` is 'LoadBalancer'\n"
     "spec.LoadBalancerSourceRanges[0]: Invalid value: \"x\": must be a valid CIDR value, (e.g. 10.9.8.0/24 or "
     "2001:db8::/64)"},
    {"pods",
     R"({"metadata":{"name":"a","labels":{"k":"v"},"annotations":{"kubernetes.io/config.mirror":"x","controller.kubernetes.io/pod-deletion-cost":"08","container.apparmor.security.beta.kubernetes.io/x":"y"}},"spec":{"containers":[{"name":"c","image":"i","securityContext":{"appArmorProfile":{"type":"Localhost","localhostProfile":" p"}}}],"volumes":[{"name":"e","ephemeral":{"volumeClaimTemplate":{"metadata":{"name":"n"},"spec":{"accessModes":["x"]}}}},{"name":"p","persistentVolumeClaim":{"claimName":"a-e"}}],"affinity":{"podAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":[{"topologyKey":"z","labelSelector":{"matchLabels":{"k":"v"}},"matchLabelKeys":["k"]}]}}}})",
     "metadata.annotations[container.apparmor.security.beta.kubernetes.io/x]: Invalid value: \"x\": container not "
     "found\n"
     "metadata.annotations[container.apparmor.security.beta.kubernetes.io/x]: Invalid value: \"y\": invalid AppArmor "
     "profile name: \"y\"\n"
     "metadata.annotations[controller.kubernetes.io/pod-deletion-cost]: Invalid value: \"08\": must be a 32bit "
     "integer\n"
     "metadata.annotations[kubernetes.io/config.mirror]: Invalid value: \"x\": must set spec.nodeName if mirror pod "
     "annotation is set\n"
     "spec.volumes[0].ephemeral.volumeClaimTemplate.metadata.name: Forbidden: cannot be set\n"
     "spec.volumes[0].ephemeral.volumeClaimTemplate.spec.accessModes: Unsupported value: \"x\": supported values: "
     "\"ReadOnlyMany\", \"ReadWriteMany\", \"ReadWriteOnce\", \"ReadWriteOncePod\"\n"
     "spec.volumes[0].ephemeral.volumeClaimTemplate.spec.resources[storage]: Required value\n"
     "spec.volumes[1].persistentVolumeClaim.claimName: Invalid value: \"a-e\": must not reference a PVC that gets "
     "created for an ephemeral volume\n"
     "spec.containers[0].securityContext.appArmorProfile.localhostProfile: Invalid value: \" p\": must not be padded "
     "with whitespace\n"
     "spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0][0]: Invalid value: \"k\": exists in "
     "both matchLabelKeys and labelSelector"},
    {"nodes", R"({"metadata":{"name":"a"},"status":{"declaredFeatures":["B","A","bad"],"capacity":{"pods":"1.5"}}})",
     "status.declaredFeatures[1]: Invalid value: \"A\": list must be sorted alphabetically\n"
     "status.declaredFeatures[2]: Invalid value: \"bad\": invalid feature name \"bad\": must start with an "
     "UpperCamelCase segment, with subsequent segments separated by '/' (e.g., MyFeature or MyFeature/mySubFeature), "
     "and contain only alphanumeric characters and slashes\n"
     "status.capacity.pods: Invalid value: \"1500m\": must be an integer\n"
     "status.allocatable.pods: Invalid value: \"1500m\": must be an integer"},
    {"resourceclaims",
     R"({"metadata":{"name":"a"},"spec":{"devices":{"requests":[{"name":"r","exactly":{"deviceClassName":"c","adminAccess":true}}]}}})",
     "spec.devices.requests[0].adminAccess: Forbidden: admin access to devices requires the "
     "`resource.kubernetes.io/admin-access: true` label on the containing namespace"},
    {"resourceslices",
     R"({"metadata":{"name":"a"},"spec":{"driver":"d","pool":{"name":"p","generation":1,"resourceSliceCount":1},"perDeviceNodeSelection":true,"devices":[{"name":"a","consumesCounters":[{"counterSet":"s"}]},{"name":"b","nodeName":"n","allNodes":true}]}})",
     "spec.devices[0].consumesCounters[0].counters: Required value\n"
     "spec.devices[0]: Required value: exactly one of `nodeName`, `nodeSelector`, or `allNodes` is required when "
     "`perDeviceNodeSelection` is set to true in the ResourceSlice spec\n"
     "spec.devices[1]: Invalid value: \"{`nodeName`, `allNodes`}\": exactly one of `nodeName`, `nodeSelector`, or "
     "`allNodes` is required when `perDeviceNodeSelection` is set to true in the ResourceSlice spec"},
    {"persistentvolumes",
     R"({"metadata":{"name":"a"},"spec":{"capacity":{"storage":"1"},"accessModes":["ReadWriteOnce"],"persistentVolumeReclaimPolicy":"Recycle","hostPath":{"path":"/x/.."}}})",
     "spec.persistentVolumeReclaimPolicy: Forbidden: may not be 'recycle' for a hostPath mount of '/'\n"
     "spec.hostPath.path: Invalid value: \"/x/..\": must not contain '..'"},
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
    {"apiservices",
     R"({"metadata":{"name":"v1.g"},"spec":{"version":"v1","group":"g","groupPriorityMinimum":1,"versionPriority":1,"caBundle":"YQ=="}})",
     "spec.caBundle: Invalid value: \"1 bytes\": local APIServices may not have a caBundle"},
    {"flowschemas",
     R"({"metadata":{"name":"catch-all"},"spec":{"matchingPrecedence":10000,"distinguisherMethod":{"type":"ByUser"},"priorityLevelConfiguration":{"name":"catch-all"}}})",
     R"(spec: Invalid value: {"priorityLevelConfiguration":{"name":"catch-all"},"matchingPrecedence":10000,)"
     R"("distinguisherMethod":{"type":"ByUser"}}: spec of 'catch-all' must equal the fixed value)"},
    {"flowschemas",
     R"({"metadata":{"name":"a"},"spec":{"priorityLevelConfiguration":{"name":"b"},"rules":[{"subjects":[{"kind":"x","user":{}}],"nonResourceRules":[{"verbs":["*"],"nonResourceURLs":["*"]}]}]}})",
     "spec.rules[0].subjects[0].kind: Unsupported value: \"x\": supported values: \"Group\", \"ServiceAccount\", "
     "\"User\""},
    {"prioritylevelconfigurations",
     R"({"metadata":{"name":"exempt"},"spec":{"type":"Exempt","exempt":{"lendablePercent":50}}})", ""},
    {"prioritylevelconfigurations",
     R"({"metadata":{"name":"catch-all"},"spec":{"type":"Limited","limited":{"nominalConcurrencyShares":6,"limitResponse":{"type":"Reject"}}}})",
     R"(spec: Invalid value: {"type":"Limited","limited":{"nominalConcurrencyShares":6,"limitResponse":{"type":"Reject"},)"
     R"("lendablePercent":0}}: spec of 'catch-all' must equal the fixed value)"},
    {"daemonsets",
     R"({"metadata":{"name":"a"},"spec":{"updateStrategy":{"rollingUpdate":{"maxSurge":""}},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}]}}}})",
     "spec.template.metadata.labels: Invalid value: {\"a\":\"b\"}: `selector` does not match template `labels`\n"
     "spec.updateStrategy.rollingUpdate.maxSurge: Invalid value: \"\": a valid percent string must be a numeric string "
     "followed by an ending '%' (e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')"},
    {"replicasets",
     R"({"metadata":{"name":"a"},"spec":{"selector":{"matchLabels":{"a":" "}},"template":{"spec":{"containers":[{"name":"c","image":"i"},{"name":"c","image":"i"}]}}}})",
     "spec.selector.matchLabels: Invalid value: \" \": a valid label must be an empty string or consist of "
     "alphanumeric "
     "characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or "
     "'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')\n"
     "spec.selector: Invalid value: {\"matchLabels\":{\"a\":\" \"}}: invalid label selector"},
    {"statefulsets",
     R"({"metadata":{"name":"a.b"},"spec":{"serviceName":"s","selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}]}}}})",
     "metadata.name: Invalid value: \"a.b\": must not contain dots"},
    {"ingresses",
     R"({"metadata":{"name":"a"},"spec":{"defaultBackend":{"service":{},"resource":{"kind":"","name":"n"}}}})",
     "spec.defaultBackend: Invalid value: \"\": cannot set both resource and service backends"},
    {"endpointslices",
     R"({"metadata":{"name":"a","ownerReferences":[{"apiVersion":"a//b","kind":"k","name":"n","uid":"u"}]},"addressType":"IPv4","endpoints":[],"ports":[{"port":1,"protocol":""}]})",
     "metadata.ownerReferences.apiVersion: Invalid value: \"a//b\": version must not be empty\n"
     "ports[0].protocol: Unsupported value: \"\": supported values: \"SCTP\", \"TCP\", \"UDP\""},
    {"limitranges", R"({"metadata":{},"spec":{"limits":[]}})", ""},
    {"resourceclaims",
     R"({"metadata":{"name":"a"},"spec":{"devices":{"requests":[{"name":"-","exactly":{"deviceClassName":"c","adminAccess":true}}]}}})",
     "spec.devices.requests[0].name: Invalid value: \"-\": a lowercase RFC 1123 label must consist of lower case "
     "alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or "
     "'123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')\n"
     "spec.devices.requests[0].adminAccess: Forbidden: admin access to devices requires the "
     "`resource.kubernetes.io/admin-access: true` label on the containing namespace"},
};

TEST(Families, OfAPodAloneTheGraceIsNotNegative) {
  KindBench bench;
  constexpr std::string_view kSpec = R"({"terminationGracePeriodSeconds":-1,"containers":[{"name":"c","image":"i"}]})";
  const auto pod = bench.create("pods", R"({"metadata":{"name":"a"},"spec":)" + std::string(kSpec) + "}");
  ASSERT_TRUE(pod) << causes_text(pod);
  EXPECT_EQ(pod.root()["spec"]["terminationGracePeriodSeconds"].integer(), 1);
  const auto made =
      bench.create("podtemplates", R"({"metadata":{"name":"a"},"template":{"spec":)" + std::string(kSpec) + "}}");
  ASSERT_TRUE(made) << causes_text(made);
  EXPECT_EQ(made.root()["template"]["spec"]["terminationGracePeriodSeconds"].integer(), -1);
}

TEST(Families, ADevicesTaintIsThereSinceNow) {
  KindBench bench;
  const auto made = bench.create(
      "resourceslices",
      R"({"metadata":{"name":"a"},"spec":{"driver":"d.example","nodeName":"n","pool":{"name":"p","generation":1,)"
      R"("resourceSliceCount":1},"devices":[{"name":"x","taints":[{"key":"a","effect":"NoExecute"},)"
      R"({"key":"b","effect":"NoExecute","timeAdded":"2020-01-01T00:00:00Z"}]}]}})",
      "");
  ASSERT_TRUE(made) << causes_text(made);
  const auto taints = made.root()["spec"]["devices"].at(0)["taints"];
  EXPECT_EQ(taints.at(0)["timeAdded"].text(), format_time(bench.clock.now()));
  EXPECT_EQ(taints.at(1)["timeAdded"].text(), "2020-01-01T00:00:00Z");
}

TEST(Families, AnExternalNameHasNoPolicyOfTraffic) {
  KindBench bench;
  const auto made =
      bench.create("services", R"({"metadata":{"name":"a"},"spec":{"type":"ExternalName","externalName":"a.example",)"
                               R"("internalTrafficPolicy":"Cluster"}})");
  ASSERT_TRUE(made) << causes_text(made);
  EXPECT_FALSE(made.root()["spec"].has("internalTrafficPolicy"));
}

TEST(Families, WhoSaysNothingBetweenQuotesHasSaidSomething) {
  KindBench bench;
  const auto made = bench.create("ingressclasses",
                                 R"({"metadata":{"name":"a"},"spec":{"controller":"a.b/c","parameters":{"kind":"K",)"
                                 R"("name":"n","scope":""}}})",
                                 "");
  EXPECT_EQ(causes_text(made),
            "spec.parameters.scope: Unsupported value: \"\": supported values: \"Cluster\", \"Namespace\"");
}

// What tools/differential and upstream's own tables have found.
constexpr Refusal kFound[] = {
    {"prioritylevelconfigurations",
     R"({"metadata":{"name":"a","annotations":{"flowcontrol.k8s.io/v1beta3-preserve-zero-concurrency-shares":""}},"spec":{"type":"Limited","limited":{"limitResponse":{"type":"Reject"}}}})",
     "metadata.annotations: Forbidden: annotation 'flowcontrol.k8s.io/v1beta3-preserve-zero-concurrency-shares' is "
     "forbidden"},
    {"deployments",
     R"({"metadata":{"name":"a","annotations":{"deprecated.deployment.rollback.to":"-3"}},"spec":{"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}]}}}})",
     "spec.rollback.version: Invalid value: -3: must be greater than or equal to 0"},
    {"deviceclasses",
     R"({"metadata":{"name":"a"},"spec":{"selectors":[{"cel":{"expression":"device.attributes[true].b"}}]}})",
     "spec.selectors[0].cel.expression: Invalid value: \"device.attributes[true].b\": compilation failed: ERROR: "
     "<input>:1:18: found no matching overload for '_[_]' applied to '(map(string, map(string, any)), bool)'\n"
     " | device.attributes[true].b\n | .................^"},
    {"services", R"({"metadata":{"name":"a"},"spec":{"type":"ExternalName","externalName":"a.b","clusterIP":"None"}})",
     "spec.clusterIPs: Forbidden: may not be set for ExternalName services"},
    {"horizontalpodautoscalers",
     R"({"metadata":{"name":"a"},"spec":{"maxReplicas":2,"scaleTargetRef":{"apiVersion":"/","kind":"K","name":"n"}}})",
     "spec.scaleTargetRef.apiVersion: Invalid value: \"/\": apiVersion must specify API group"},
    {"nodes", R"({"metadata":{"name":"a"},"spec":{"podCIDRs":["10.1.0.0/24","::1"]}})",
     "spec.podCIDRs[1]: Invalid value: \"::1\": must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)\n"
     "spec.podCIDRs: Internal error: invalid PodCIDRs. failed to check with dual stack with error:invalid CIDR[1]: "
     "<nil> (invalid CIDR address: ::1)\nspec.podCIDRs: Invalid value: [\"10.1.0.0/24\",\"::1\"]: may specify no "
     "more than one CIDR for each IP family"}};

void expect_causes(std::span<const Refusal> rows) {
  for (const auto& row : rows) {
    KindBench bench;
    const bool namespaced = facts_of(row.resource).namespaced;
    const auto made = bench.create(row.resource, row.json, namespaced ? "default" : "");
    EXPECT_EQ(causes_text(made), row.causes) << row.resource;
  }
}

TEST(Families, SayWhatIsWrongInUpstreamsWords) {
  expect_causes(kCreates);
  expect_causes(kFound);
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
    {"nodes", R"({"metadata":{"name":"a"},"spec":{}})", R"({"metadata":{"name":"a"},"spec":{"externalID":"x"}})",
     "spec.externalID: Forbidden: may not be updated"},
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

TEST(Families, AJobEndsAsJobsEnd) {
  KindBench bench;
  constexpr std::string_view kSpec =
      R"("spec":{"parallelism":1,"completions":1,"completionMode":"NonIndexed","manualSelector":true,"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"restartPolicy":"Never","dnsPolicy":"ClusterFirst","containers":[{"name":"c","image":"i"}]}}})";
  const auto with = [&](std::string_view status) {
    return R"({"metadata":{"name":"a"},)" + std::string(kSpec) + R"(,"status":)" + std::string(status) + "}";
  };
  EXPECT_EQ(
      causes_text(bench.update(
          "jobs", with(R"({"conditions":[{"type":"Complete","status":"True"}],"ready":1,"completedIndexes":"0"})"),
          with(R"({"succeeded":1})"), "status")),
      "status.conditions: Invalid value: cannot set Complete=True condition without the SuccessCriteriaMet=true "
      "condition\n"
      "status.completionTime: Required value: completionTime is required for Complete jobs\n"
      "status.startTime: Required value: startTime is required for finished job\n"
      "status.completedIndexes: Invalid value: \"0\": cannot set non-empty completedIndexes when non-indexed "
      "completion mode\n"
      "status.ready: Invalid value: 1: cannot set more ready pods than active\n"
      "status.succeeded: Invalid value: 0: cannot decrease the succeeded counter");
  const auto done = with(
      R"({"startTime":"2026-01-01T00:00:00Z","completionTime":"2026-01-01T00:00:01Z","succeeded":1,"conditions":[{"type":"SuccessCriteriaMet","status":"True"},{"type":"Complete","status":"True"}]})");
  EXPECT_EQ(
      causes_text(bench.update("jobs", done, with(R"({"startTime":"2026-01-01T00:00:00Z","active":1})"), "status")),
      "");
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

TEST(Families, AnIndexedJobsPodsHaveItsNameInTheirHosts) {
  KindBench bench;
  const auto made = bench.create(
      "jobs",
      R"({"metadata":{"name":"a.b"},"spec":{"completionMode":"Indexed","completions":3,"template":{"spec":{"restartPolicy":"Never","containers":[{"name":"c","image":"i"}]}}}})");
  EXPECT_EQ(causes_text(made),
            "metadata.name: Invalid value: \"a.b\": will not able to create pod with invalid DNS label: a.b-2");
}

TEST(Families, ADeploymentsAnnotationsAreOfAGeneration) {
  KindBench bench;
  const auto old = bench.create(
      "deployments",
      R"({"metadata":{"name":"a"},"spec":{"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}]}}}})");
  ASSERT_TRUE(old) << old.error();
  auto annotated = schema::Document::copy_of(old.root());
  annotated.root()["metadata"].object("annotations").put("a", "b");
  const auto before = old.root()["metadata"]["generation"].integer();
  const auto changed = bench.update("deployments", annotated.root().to_json(), old.root().to_json());
  ASSERT_TRUE(changed) << changed.error();
  EXPECT_EQ(changed.root()["metadata"]["generation"].integer(), before + 1);
}

TEST(Families, AnExceptionOfANetworkIsReadThoughItHasMoreBits) {
  KindBench bench;
  const auto policy = causes_text(bench.create(
      "networkpolicies",
      R"({"metadata":{"name":"a"},"spec":{"podSelector":{},"ingress":[{"from":[{"ipBlock":{"cidr":"1.2.3.4/24","except":["1.2.0.0/16"]}}]}]}})"));
  EXPECT_NE(policy.find("except[0]: Invalid value: \"1.2.0.0/16\": must be a strict subset of `cidr`"),
            std::string::npos)
      << policy;
}

// Found by upstream's own defaulting tests (tools/differential/extract).
TEST(Families, APodsOwnResourcesGoWithThoseOfItsContainers) {
  KindBench bench;
  const auto pod = [](const std::string& own, const std::string& of_container) {
    return R"({"metadata":{"name":"a"},"spec":{"resources":)" + own +
           R"(,"containers":[{"name":"c","image":"i","resources":)" + of_container +
           R"(},{"name":"d","image":"i","resources":{"requests":{"cpu":"1m"}}}]}})";
  };
  const auto filled =
      bench.create("pods", pod(R"({"limits":{"cpu":"1","memory":"1Gi"}})", R"({"requests":{"cpu":"500m"}})"));
  ASSERT_TRUE(filled) << filled.error();
  EXPECT_EQ(filled.root()["spec"]["resources"]["requests"].to_json(), R"({"cpu":"501m","memory":"1Gi"})");
  EXPECT_EQ(causes_text(bench.create("pods", pod(R"({"requests":{"cpu":"5m"}})", R"({"requests":{"cpu":"500m"}})"))),
            "spec.resources.requests[cpu]: Invalid value: \"5m\": must be greater than or equal to aggregate container "
            "requests of 501m");
  EXPECT_NE(
      causes_text(bench.create("pods", pod(R"({"limits":{"cpu":"2m"}})", R"({"limits":{"cpu":"1"}})")))
          .find("spec.resources.containers[0][cpu].limits: Invalid value: \"1\": must be less than or equal to pod "
                "limits of 2m"),
      std::string::npos);
}

TEST(Families, AnInitContainerWithoutANameIsNoSecondOneOfNone) {
  KindBench bench;
  const auto nameless = [&](const std::string& containers, const std::string& init) {
    return causes_text(bench.create("pods", R"({"metadata":{"name":"a"},"spec":{"initContainers":)" + init +
                                                R"(,"containers":)" + containers + "}}"));
  };
  const std::string none = R"([{"name":"","image":"i"}])", named = R"([{"name":"c","image":"i"}])";
  EXPECT_NE(nameless(none, none).find("spec.initContainers[0].name: Duplicate value"), std::string::npos);
  EXPECT_EQ(nameless(named, R"([{"name":"","image":"i"},{"name":"","image":"i"}])").find("Duplicate"),
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
