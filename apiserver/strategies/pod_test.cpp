#include <gtest/gtest.h>

#include "apiserver/kind_testing.h"

namespace sublet::apiserver {
namespace {

using schema::Value;

constexpr std::string_view kPlain = R"({"metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"nginx"}]}})";

/// The plain pod with some members of spec added.
std::string with_spec(std::string_view members) {
  return R"({"metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"nginx"}],)" + std::string(members) +
         "}}";
}
/// The plain pod with some members of its container added.
std::string with_container(std::string_view members) {
  return R"({"metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"nginx",)" + std::string(members) +
         "}]}}";
}

TEST(Pod, GetsItsDefaults) {
  KindBench bench;
  auto pod = bench.create("pods", kPlain);
  ASSERT_TRUE(pod) << pod.error();
  auto spec = pod.root()["spec"];
  EXPECT_EQ(spec["restartPolicy"].text(), "Always");
  EXPECT_EQ(spec["dnsPolicy"].text(), "ClusterFirst");
  EXPECT_EQ(spec["terminationGracePeriodSeconds"].integer(), 30);
  EXPECT_EQ(spec["schedulerName"].text(), "default-scheduler");
  EXPECT_EQ(spec["securityContext"].to_json(), "{}");
  EXPECT_TRUE(spec["enableServiceLinks"].boolean());
  EXPECT_EQ(spec["serviceAccountName"].text(), "default");
  EXPECT_EQ(spec["serviceAccount"].text(), "default");
  EXPECT_EQ(spec["priority"].integer(-1), 0);
  EXPECT_EQ(spec["preemptionPolicy"].text(), "PreemptLowerPriority");
  EXPECT_EQ(
      spec["tolerations"].to_json(),
      R"([{"key":"node.kubernetes.io/not-ready","operator":"Exists","effect":"NoExecute","tolerationSeconds":300},)"
      R"({"key":"node.kubernetes.io/unreachable","operator":"Exists","effect":"NoExecute","tolerationSeconds":300}])");
  auto container = spec["containers"].at(0);
  EXPECT_EQ(container["imagePullPolicy"].text(), "Always");
  EXPECT_EQ(container["terminationMessagePath"].text(), "/dev/termination-log");
  EXPECT_EQ(container["terminationMessagePolicy"].text(), "File");
  EXPECT_EQ(container["resources"].to_json(), "{}");
  EXPECT_EQ(pod.root()["status"].to_json(), R"({"phase":"Pending","qosClass":"BestEffort"})");
}

TEST(Pod, DefaultsInDepth) {
  KindBench bench;
  auto pod = bench.create("pods", R"({"metadata":{"name":"p"},"spec":{"hostNetwork":true,"containers":[{"name":"c",
    "image":"a:1","ports":[{"containerPort":80}],"env":[{"name":"N","valueFrom":{"fieldRef":{"fieldPath":"metadata.name"}}}],
    "resources":{"limits":{"cpu":"0.5","nvidia.com/gpu":1}},
    "livenessProbe":{"httpGet":{"port":80}}}],
    "volumes":[{"name":"a"},{"name":"b","configMap":{"name":"x"}},{"name":"h","hostPath":{"path":"/x"}},
      {"name":"t","projected":{"sources":[{"serviceAccountToken":{"path":"t"}}]}}]}})");
  ASSERT_TRUE(pod) << pod.error();
  auto spec = pod.root()["spec"];
  auto container = spec["containers"].at(0);
  EXPECT_EQ(container["imagePullPolicy"].text(), "IfNotPresent");
  EXPECT_EQ(container["ports"].to_json(), R"([{"hostPort":80,"containerPort":80,"protocol":"TCP"}])");
  EXPECT_EQ(container["env"].at(0)["valueFrom"]["fieldRef"]["apiVersion"].text(), "v1");
  EXPECT_EQ(container["resources"].to_json(),
            R"({"limits":{"cpu":"500m","nvidia.com/gpu":"1"},"requests":{"cpu":"500m","nvidia.com/gpu":"1"}})");
  EXPECT_EQ(container["livenessProbe"].to_json(),
            R"({"httpGet":{"path":"/","port":80,"scheme":"HTTP"},"timeoutSeconds":1,"periodSeconds":10,)"
            R"("successThreshold":1,"failureThreshold":3})");
  EXPECT_EQ(spec["volumes"].at(0).to_json(), R"({"name":"a","emptyDir":{}})");
  EXPECT_EQ(spec["volumes"].at(1)["configMap"]["defaultMode"].integer(), 420);
  EXPECT_EQ(spec["volumes"].at(2)["hostPath"].to_json(), R"({"path":"/x","type":""})");
  EXPECT_EQ(spec["volumes"].at(3)["projected"].to_json(),
            R"({"sources":[{"serviceAccountToken":{"expirationSeconds":3600,"path":"t"}}],"defaultMode":420})");
}

TEST(Pod, DefaultsAreStable) {
  KindBench bench;
  auto pod = bench.create("pods", kPlain);
  ASSERT_TRUE(pod);
  auto before = pod.object->to_json();
  strategy_for("", "pods").defaults(pod.root());
  EXPECT_EQ(pod.object->to_json(), before);
}

struct BadPod {
  std::string json, cause;
};

TEST(Pod, RefusesWhatIsWrong) {
  KindBench bench;
  const BadPod cases[] = {
      {R"({"metadata":{"name":"p"},"spec":{"containers":[]}})", "spec.containers: Required value"},
      {R"({"metadata":{"name":"p"},"spec":{"containers":[{"name":"c"}]}})", "spec.containers[0].image: Required value"},
      {R"({"metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"a"},{"name":"c","image":"b"}]}})",
       "spec.containers[1].name: Duplicate value: \"c\""},
      {R"({"metadata":{"name":"p"},"spec":{"containers":[{"name":"C","image":"a"}]}})",
       "spec.containers[0].name: Invalid value: \"C\": a lowercase RFC 1123 label"},
      {R"({"metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":" a"}]}})",
       "spec.containers[0].image: Invalid value: \" a\": must not have leading or trailing whitespace"},
      {with_container(R"("ports":[{"containerPort":70000}])"),
       "spec.containers[0].ports[0].containerPort: Invalid value: 70000: must be between 1 and 65535, inclusive"},
      {with_container(R"("env":[{"name":"A","valueFrom":{}}])"),
       "spec.containers[0].env[0].valueFrom: Invalid value: \"\": must specify one of:"},
      {with_container(R"("env":[{"name":"A","value":"x","valueFrom":{"secretKeyRef":{"name":"s","key":"k"}}}])"),
       "may not be specified when `value` is not empty"},
      {with_container(R"("volumeMounts":[{"name":"v","mountPath":"/x"}])"),
       "spec.containers[0].volumeMounts[0].name: Not found: \"v\""},
      {with_container(R"("livenessProbe":{"periodSeconds":-1,"exec":{"command":["x"]}})"),
       "spec.containers[0].livenessProbe.periodSeconds: Invalid value: -1: must be greater than or equal to 0"},
      {with_container(R"("livenessProbe":{})"),
       "spec.containers[0].livenessProbe: Required value: must specify a handler type"},
      {with_container(R"("resources":{"limits":{"cpu":"1"},"requests":{"cpu":"2"}})"),
       "spec.containers[0].resources.requests: Invalid value: \"2\": must be less than or equal to cpu limit of 1"},
      {with_spec(R"("volumes":[{"name":"a","emptyDir":{},"hostPath":{"path":"/x"}}])"),
       "may not specify more than 1 volume type"},
      {with_spec(R"("volumes":[{"name":"a"},{"name":"a"}])"), "spec.volumes[1].name: Duplicate value: \"a\""},
      {with_spec(R"("volumes":[{"name":"s","secret":{}}])"), "spec.volumes[0].secret.secretName: Required value"},
      {with_spec(R"("securityContext":{"sysctls":[{"name":"net/a.b_c","value":"1"},{"name":"foo-","value":"1"}]})"),
       "spec.securityContext.sysctls[1].name: Invalid value: \"foo-\": must have at most 253 characters and match "
       "regex "
       "^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$"},
      {with_spec(R"("securityContext":{"sysctls":[{"name":"a","value":"1"},{"name":"a","value":"1"}]})"),
       "spec.securityContext.sysctls[1].name: Duplicate value: \"a\""},
      {with_spec(R"("restartPolicy":"Sometimes")"), "spec.restartPolicy: Unsupported value: \"Sometimes\""},
      {with_spec(R"("nodeSelector":{"a b":"c"})"), "spec.nodeSelector: Invalid value: \"a b\": name part"},
      {with_spec(R"("tolerations":[{"operator":"Equal","value":"x"}])"),
       "spec.tolerations[0].operator: Invalid value: \"Equal\": operator must be Exists when `key` is empty"},
      {with_spec(R"("tolerations":[{"key":"a","operator":"Exists","value":"x"}])"),
       "value must be empty when `operator` is 'Exists'"},
      {with_spec(
           R"("affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[]}}})"),
       "must have at least one node selector term"},
      {with_spec(R"("dnsPolicy":"None")"), "spec.dnsConfig: Required value: must provide `dnsConfig`"},
      {with_spec(R"("activeDeadlineSeconds":0)"), "spec.activeDeadlineSeconds: Invalid value: 0: must be between 1"},
      {with_spec(R"("ephemeralContainers":[{"name":"e","image":"x"}])"),
       "spec.ephemeralContainers: Forbidden: cannot be set on create"},
      {with_spec(R"("hostname":"A_b")"), "spec.hostname: Invalid value: \"A_b\""}};
  for (const auto& item : cases) {
    auto pod = bench.create("pods", item.json);
    EXPECT_NE(causes_text(pod).find(item.cause), std::string::npos) << item.json << "\n" << causes_text(pod);
  }
}

TEST(Pod, AcceptsWhatIsRight) {
  KindBench bench;
  bench.store("runtimeclasses.node.k8s.io/nvidia", R"({"metadata":{"name":"nvidia"},"handler":"nvidia"})");
  const std::string cases[] = {
      R"({"metadata":{"name":"gpu-sharing-pod","labels":{"kai.scheduler/queue":"test"},
        "annotations":{"nvidia.com/gpu-fraction":"0.5"}},"spec":{"schedulerName":"kai-scheduler",
        "runtimeClassName":"nvidia","nodeSelector":{"nvidia.com/gpu.present":"true"},"containers":[{"name":"ollama-rag",
        "image":"ollama/ollama:latest","command":["ollama","serve"],"resources":{"limits":{"nvidia.com/gpu":1}}}]}})",
      with_container(
          R"("env":[{"name":"A.b-c","value":"x"},{"name":"L","valueFrom":{"fieldRef":{"fieldPath":"metadata.labels['app']"}}},
        {"name":"R","valueFrom":{"resourceFieldRef":{"resource":"limits.cpu"}}}],"envFrom":[{"configMapRef":{"name":"x"}}])"),
      with_container(
          R"("lifecycle":{"preStop":{"sleep":{"seconds":5}}},"readinessProbe":{"tcpSocket":{"port":"http"}})"),
      with_spec(
          R"("initContainers":[{"name":"i","image":"x","restartPolicy":"Always","livenessProbe":{"exec":{"command":["x"]}}}])"),
      with_spec(
          R"("topologySpreadConstraints":[{"maxSkew":1,"topologyKey":"zone","whenUnsatisfiable":"DoNotSchedule","labelSelector":{"matchLabels":{"a":"b"}}}])"),
      with_spec(R"("affinity":{"podAntiAffinity":{"preferredDuringSchedulingIgnoredDuringExecution":[{"weight":100,
        "podAffinityTerm":{"topologyKey":"kubernetes.io/hostname","labelSelector":{"matchExpressions":[{"key":"a","operator":"In","values":["b"]}]}}}]}})"),
      with_spec(
          R"("tolerations":[{"operator":"Exists"}],"hostAliases":[{"ip":"1.2.3.4","hostnames":["a.b"]}],"priorityClassName":"system-node-critical")"),
      with_spec(R"("dnsPolicy":"None","dnsConfig":{"nameservers":["1.1.1.1"],"searches":["a.b."]})")};
  for (const auto& json : cases) {
    auto pod = bench.create("pods", json);
    EXPECT_TRUE(pod) << json << "\n" << causes_text(pod);
  }
}

struct ContainerRefusal {
  std::string_view members, causes;
};

TEST(Pod, RefusesWhatItsContainersCannotHave) {
  constexpr ContainerRefusal kRefusals[] = {
      {R"("resizePolicy":[{"resourceName":"x","restartPolicy":"y"}])",
       "spec.containers[0].resizePolicy: Unsupported value: \"x\": supported values: \"cpu\", \"memory\"\n"
       "spec.containers[0].resizePolicy: Unsupported value: \"y\": supported values: \"NotRequired\", "
       "\"RestartContainer\""},
      // Both halves are missing at one path: upstream says it twice.
      {R"("resizePolicy":[{"resourceName":"","restartPolicy":""}])",
       "spec.containers[0].resizePolicy: Required value\n"
       "spec.containers[0].resizePolicy: Required value"},
      {R"("restartPolicy":"Sometimes","restartPolicyRules":[{"action":"Restart"}])",
       "spec.containers[0].restartPolicy: Unsupported value: \"Sometimes\": supported values: \"Always\", \"Never\", "
       "\"OnFailure\"\n"
       "spec.containers[0].restartPolicyRules[0].exitCodes: Required value: must be specified"},
      {R"("resources":{"claims":[{"name":"x"}]})",
       "spec.containers[0].resources.claims[0]: Not found: \"x\": must be one of the names in pod.spec.resourceClaims "
       "which is empty"},
      {R"("env":[{"name":"A","valueFrom":{"fileKeyRef":{"volumeName":"v","path":"../a","key":"K"}}}])",
       "spec.containers[0].env[0].valueFrom.fileKeyRef.path: Invalid value: \"../a\": must not contain '..'\n"
       "spec.containers[0].env[0].valueFrom.fileKeyRef.volumeName: Not found: \"v\""},
      {R"("securityContext":{"windowsOptions":{"runAsUserName":"a\\b\\c"}})",
       "spec.containers[0].securityContext.windowsOptions.runAsUserName: Invalid value: \"a\\\\b\\\\c\": runAsUserName "
       "cannot contain more than one backslash"}};
  for (const auto& row : kRefusals) {
    KindBench bench;
    EXPECT_EQ(causes_text(bench.create("pods", with_container(row.members))), row.causes) << row.members;
  }
}

TEST(Pod, OfAVolumesFurtherSourcesOnlyTheirPresenceIsJudged) {
  KindBench bench;
  constexpr std::string_view kPod = R"({"metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"i"}],
    "volumes":[{"name":"v","emptyDir":{},"downwardAPI":{"items":[{"path":"a","fieldRef":{"fieldPath":""}},
      {"path":"b","resourceFieldRef":{"containerName":"c","resource":""}}]}}]}})";
  EXPECT_EQ(causes_text(bench.create("pods", kPod)),
            "spec.volumes[0].downwarAPI: Forbidden: may not specify more than 1 volume type");  // upstream's spelling
}

TEST(Pod, OnlySoundVolumesAreMountedAndOnlyClaimsAreDevices) {
  KindBench bench;
  constexpr std::string_view kPod = R"({"metadata":{"name":"p"},"spec":{
    "containers":[{"name":"c","image":"i","volumeMounts":[{"name":"bad","mountPath":"/a","recursiveReadOnly":"Enabled"}],
      "volumeDevices":[{"name":"e","devicePath":"/dev/../x"}]}],
    "volumes":[{"name":"bad","hostPath":{"path":"/a/../b"}},{"name":"e","emptyDir":{}}]}})";
  EXPECT_EQ(
      causes_text(bench.create("pods", kPod)),
      "spec.volumes[0].hostPath.path: Invalid value: \"/a/../b\": must not contain '..'\n"
      "spec.containers[0].volumeMounts[0].name: Not found: \"bad\"\n"
      "spec.containers[0].volumeMounts.recursiveReadOnly: Forbidden: may only be specified when readOnly is true\n"
      "spec.containers[0].volumeDevices[0].name: Invalid value: \"e\": can only use volume source type of "
      "PersistentVolumeClaim or Ephemeral for block mode\n"
      "spec.containers[0].volumeDevices[0].devicePath: Invalid value: \"/dev/../x\": can not contain backsteps "
      "('..')");
}

TEST(Pod, AmountsFinerThanThousandthsAreRoundedUp) {
  KindBench bench;
  auto pod = bench.create("pods", with_container(R"("resources":{"limits":{"cpu":"0.0001","memory":"1500u"}})"));
  ASSERT_TRUE(pod) << pod.error();
  EXPECT_EQ(pod.root()["spec"]["containers"].at(0)["resources"]["limits"].to_json(), R"({"cpu":"1m","memory":"2m"})");
}

TEST(Pod, AStatusSaysWhatCanBe) {
  KindBench bench;
  const auto with_status = [](std::string_view status) {
    return R"({"metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"nginx"}]},"status":)" +
           std::string(status) + "}";
  };
  const auto old = with_status(R"({"qosClass":"BestEffort"})");
  const auto causes = [&](std::string_view status) {
    return causes_text(bench.update("pods", with_status(status), old, "status"));
  };
  EXPECT_EQ(
      causes(R"({"phase":"Running","hostIP":"10.0.0.1","hostIPs":[{"ip":"10.0.0.1"}],"podIPs":[{"ip":"10.1.0.1"}]})"),
      "");
  EXPECT_EQ(causes(R"({"nominatedNodeName":"a","hostIP":"10.0.0.1","hostIPs":[{"ip":"10.0.0.2"}]})"),
            "status.hostIPs[0].ip: Invalid value: \"10.0.0.2\": must be equal to `hostIP`");
  EXPECT_EQ(causes(R"({"podIPs":[{"ip":"010.0.0.1"}]})"),
            "status.podIPs[0]: Invalid value: \"010.0.0.1\": must not have leading 0s");
  EXPECT_EQ(causes(R"({"podIPs":[{"ip":"x"}]})"),
            "status.podIPs[0]: Invalid value: \"x\": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)");
  EXPECT_EQ(
      causes(R"({"podIPs":[{"ip":"10.0.0.1"},{"ip":"10.0.0.2"}]})"),
      "status.podIPs: Invalid value: [{\"ip\":\"10.0.0.1\"},{\"ip\":\"10.0.0.2\"}]: may specify no more than one IP "
      "for each IP family");
  EXPECT_EQ(causes(R"({"qosClass":"Burstable"})"), "status.qosClass: Invalid value: \"Burstable\": field is immutable");
  EXPECT_EQ(causes(R"({"resourceClaimStatuses":[{"name":"x"}]})"),
            "status.resourceClaimStatuses[0].name: Invalid value: \"x\": must match the name of an entry in "
            "`spec.resourceClaims`");
}

TEST(Pod, SchedulingGatesShowAsCondition) {
  KindBench bench;
  auto pod = bench.create("pods", with_spec(R"("schedulingGates":[{"name":"a"}])"));
  ASSERT_TRUE(pod) << pod.error();
  EXPECT_EQ(pod.root()["status"]["conditions"].at(0)["reason"].text(), "SchedulingGated");
}

TEST(Pod, UpdatesChangeOnlyWhatMayChange) {
  KindBench bench;
  auto pod = bench.create("pods", kPlain);
  ASSERT_TRUE(pod);
  auto old = pod.object->to_json();
  auto changed = [&](auto change) {
    auto copy = pod.object->clone();
    change(copy.root());
    return bench.update("pods", copy.to_json(), old);
  };
  EXPECT_TRUE(changed([](Value p) { p["spec"]["containers"].at(0).put("image", "nginx:2"); }));
  EXPECT_TRUE(changed([](Value p) { p["metadata"].object("labels").put("a", "b"); }));
  EXPECT_TRUE(changed([](Value p) { p["spec"].put("activeDeadlineSeconds", 10); }));
  EXPECT_TRUE(changed([](Value p) { p["spec"]["tolerations"].push_object().put("operator", "Exists"); }));
  auto removed = changed([](Value p) { p["spec"]["tolerations"].clear(); });
  // Admission puts the default tolerations back, so nothing is lost.
  EXPECT_TRUE(removed) << removed.error();
  auto renamed = changed([](Value p) { p["spec"].put("nodeName", "n"); });
  ASSERT_FALSE(renamed);
  EXPECT_NE(causes_text(renamed).find("spec: Forbidden: pod updates may not change fields other than "
                                      "`spec.containers[*].image`"),
            std::string::npos)
      << causes_text(renamed);
  auto grown = changed([](Value p) {
    auto container = p["spec"]["containers"].push_object();
    container.put("name", "d");
    container.put("image", "x");
  });
  EXPECT_NE(causes_text(grown).find("spec.containers: Forbidden: pod updates may not add or remove containers"),
            std::string::npos);
}

TEST(Pod, StatusUpdatesTouchStatusOnly) {
  KindBench bench;
  auto pod = bench.create("pods", kPlain);
  ASSERT_TRUE(pod);
  auto copy = pod.object->clone();
  copy["spec"].put("nodeName", "n");
  copy["status"].clear();
  copy["status"].put("phase", "Running");
  auto updated = bench.update("pods", copy.to_json(), pod.object->to_json(), "status");
  ASSERT_TRUE(updated) << updated.error();
  EXPECT_FALSE(updated.root()["spec"].has("nodeName"));
  EXPECT_EQ(updated.root()["status"]["phase"].text(), "Running");
  EXPECT_EQ(updated.root()["status"]["qosClass"].text(), "BestEffort");
}

TEST(Pod, MainEndpointKeepsStatus) {
  KindBench bench;
  auto pod = bench.create("pods", kPlain);
  auto copy = pod.object->clone();
  copy["status"].put("phase", "Running");
  auto updated = bench.update("pods", copy.to_json(), pod.object->to_json());
  ASSERT_TRUE(updated) << updated.error();
  EXPECT_EQ(updated.root()["status"]["phase"].text(), "Pending");
}

TEST(Pod, GraceDependsOnWhereItRuns) {
  auto grace = strategy_for("", "pods").grace_seconds;
  auto unbound = parse(R"({"spec":{"terminationGracePeriodSeconds":30}})");
  auto bound = parse(R"({"spec":{"terminationGracePeriodSeconds":30,"nodeName":"n"},"status":{"phase":"Running"}})");
  auto done = parse(R"({"spec":{"terminationGracePeriodSeconds":30,"nodeName":"n"},"status":{"phase":"Failed"}})");
  EXPECT_EQ(grace(unbound.root(), std::nullopt), 0);
  EXPECT_EQ(grace(bound.root(), std::nullopt), 30);
  EXPECT_EQ(grace(bound.root(), 5), 5);
  EXPECT_EQ(grace(bound.root(), -5), 1);
  EXPECT_EQ(grace(done.root(), 20), 0);
}

}  // namespace
TEST(PodValidation,
     ContainersAreReportedBeforeThePodsOwnFields) {  // upstream's order, also of what the table alone could tell
  KindBench bench;
  const std::string text =
      causes_text(bench.create("pods", R"({"metadata":{"name":"p"},"spec":{"restartPolicy":"Sometimes",
      "containers":[{"name":"a","image":"x","imagePullPolicy":"Maybe"}]}})"));
  const auto pull = text.find("spec.containers[0].imagePullPolicy: Unsupported value: \"Maybe\"");
  ASSERT_NE(pull, std::string::npos) << text;
  EXPECT_LT(pull, text.find("spec.restartPolicy"));
}

}  // namespace sublet::apiserver
