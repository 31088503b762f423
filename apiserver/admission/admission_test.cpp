#include "apiserver/admission/admission.h"

#include <gtest/gtest.h>

#include "apiserver/kind_testing.h"

namespace sublet::apiserver {
namespace {

using schema::Value;

std::string plain_pod_json(std::string_view members = {}) {
  std::string more = members.empty() ? "" : "," + std::string(members);
  return R"({"metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"x"}])" + more + "}}";
}

TEST(NamespaceLifecycle, WantsALivingNamespace) {
  KindBench bench;
  EXPECT_EQ(bench.create("configmaps", R"({"metadata":{"name":"a"}})", "nowhere").error(),
            "namespaces \"nowhere\" not found");
  bench.store("namespaces/going", R"({"metadata":{"name":"going"},"status":{"phase":"Terminating"}})");
  auto refused = bench.create("configmaps", R"({"metadata":{"name":"a"}})", "going");
  ASSERT_FALSE(refused);
  const auto& status = refused.object.error();
  EXPECT_EQ(status.http_code(), 403);
  EXPECT_EQ(
      status.message,
      "configmaps \"a\" is forbidden: unable to create new content in namespace going because it is being terminated");
  ASSERT_EQ(status.causes.size(), 1u);
  EXPECT_EQ(status.causes[0],
            (Cause{"NamespaceTerminating", "namespace going is being terminated", "metadata.namespace"}));
}

TEST(NamespaceLifecycle, NothingSlipsIntoANamespaceThatGoes) {
  KindBench bench;
  auto made = bench.create("configmaps", R"({"metadata":{"name":"a"}})");
  ASSERT_TRUE(made);
  bench.store("namespaces/default", R"({"metadata":{"name":"default"},"status":{"phase":"Terminating"}})");
  EXPECT_FALSE(bench.commit("configmaps/default/a", made));
}

TEST(NamespaceLifecycle, SomeNamespacesStay) {
  KindBench bench;
  for (auto name : {"default", "kube-system", "kube-public"}) {
    auto outcome = bench.remove("namespaces", R"({"metadata":{"name":")" + std::string(name) + "\"}}", "");
    ASSERT_FALSE(outcome) << name;
    EXPECT_EQ(outcome.error().message,
              "namespaces \"" + std::string(name) + "\" is forbidden: this namespace may not be deleted");
  }
  EXPECT_TRUE(bench.remove("namespaces", R"({"metadata":{"name":"mine"}})", ""));
  EXPECT_TRUE(bench.remove("configmaps", R"({"metadata":{"name":"default"}})"));
}

std::string container_json(std::string_view resources) {
  return R"({"metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"x","resources":)" +
         std::string(resources) + "}]}}";
}

TEST(LimitRanger, GivesDefaultsAndSaysSo) {
  KindBench bench;
  bench.store("limitranges/default/range", R"({"metadata":{"name":"range"},"spec":{"limits":[{"type":"Container",
      "default":{"cpu":"500m","memory":"500Mi"},"defaultRequest":{"cpu":"100m","memory":"200Mi"}}]}})");
  auto plain = bench.create("pods", plain_pod_json(R"("initContainers":[{"name":"i","image":"x"}])"));
  ASSERT_TRUE(plain) << causes_text(plain);
  auto resources = plain.root()["spec"]["containers"].at(0)["resources"];
  EXPECT_EQ(resources["limits"].to_json(), R"({"cpu":"500m","memory":"500Mi"})");
  EXPECT_EQ(resources["requests"].to_json(), R"({"cpu":"100m","memory":"200Mi"})");
  EXPECT_EQ(plain.root()["metadata"]["annotations"]["kubernetes.io/limit-ranger"].text(),
            "LimitRanger plugin set: cpu, memory request for container c; cpu, memory limit for container c; "
            "cpu, memory request for init container i; cpu, memory limit for init container i");
  // A limit without a request is a request too, so only what is still open comes from the range.
  auto partial = bench.create("pods", container_json(R"({"limits":{"cpu":"300m"},"requests":{"memory":"150Mi"}})"));
  resources = partial.root()["spec"]["containers"].at(0)["resources"];
  EXPECT_EQ(resources["limits"].to_json(), R"({"cpu":"300m","memory":"500Mi"})");
  EXPECT_EQ(resources["requests"]["cpu"].text(), "300m");
  EXPECT_EQ(resources["requests"]["memory"].text(), "150Mi");
  auto full = bench.create("pods", container_json(R"({"limits":{"cpu":"1","memory":"1Gi"}})"));
  EXPECT_FALSE(full.root()["metadata"].has("annotations"));
  EXPECT_EQ(bench.create("pods", plain_pod_json(), "default").root()["spec"]["containers"].size(), 1u);
}

TEST(LimitRanger, ThePlatformsRangeCountsInEveryNamespace) {
  KindBench bench;
  bench.store("limitranges/kube-system/sublet-rag",
              R"({"metadata":{"name":"sublet-rag","labels":{"sublet.dev/from-host":"true"}},"spec":{"limits":[
                 {"type":"Container","max":{"cpu":"1"},"default":{"cpu":"500m"},"defaultRequest":{"cpu":"100m"}}]}})");
  const std::string pod = R"({"metadata":{"name":"a"},"spec":{"containers":[{"name":"c","image":"x"}]}})";
  EXPECT_EQ(bench.create("pods", pod).root()["spec"]["containers"].at(0)["resources"].to_json(), "{}");
  bench.options.mirrored_from_host = {{"", "limitranges", "sublet.dev/from-host", "ask"}};
  EXPECT_EQ(bench.create("pods", pod).root()["spec"]["containers"].at(0)["resources"].to_json(),
            R"({"limits":{"cpu":"500m"},"requests":{"cpu":"100m"}})");
  EXPECT_EQ(bench
                .create("pods", R"({"metadata":{"name":"a"},"spec":{"containers":[{"name":"c","image":"x",)"
                                R"("resources":{"limits":{"cpu":"2"}}}]}})")
                .error(),
            "pods \"a\" is forbidden: maximum cpu usage per Container is 1, but limit is 2");
}

TEST(LimitRanger, ChecksContainersAndWholePods) {
  KindBench bench;
  bench.store("limitranges/default/range", R"({"metadata":{"name":"range"},"spec":{"limits":[
      {"type":"Container","min":{"cpu":"50m"},"max":{"cpu":"2"},"maxLimitRequestRatio":{"cpu":"2"}},
      {"type":"Pod","max":{"memory":"1Gi"}}]}})");
  auto refusal = [&](std::string_view resources) { return bench.create("pods", container_json(resources)).error(); };
  EXPECT_EQ(refusal(R"({"limits":{"cpu":"1","memory":"1Gi"}})"), "");
  EXPECT_EQ(refusal(R"({"requests":{"cpu":"10m"},"limits":{"cpu":"20m","memory":"1Gi"}})"),
            "pods \"p\" is forbidden: minimum cpu usage per Container is 50m, but request is 10m");
  EXPECT_EQ(refusal(R"({"limits":{"cpu":"3","memory":"1Gi"}})"),
            "pods \"p\" is forbidden: maximum cpu usage per Container is 2, but limit is 3");
  EXPECT_EQ(
      refusal(R"({"requests":{"cpu":"200m"},"limits":{"cpu":"1","memory":"1Gi"}})"),
      "pods \"p\" is forbidden: cpu max limit to request ratio per Container is 2, but provided ratio is 5.000000");
  EXPECT_EQ(refusal(R"({"limits":{"cpu":"1","memory":"2Gi"}})"),
            "pods \"p\" is forbidden: maximum memory usage per Pod is 1Gi, but limit is 2Gi");
  EXPECT_EQ(refusal(R"({"limits":{"memory":"1Gi"}})"),
            "pods \"p\" is forbidden: [minimum cpu usage per Container is 50m.  No request is specified, "
            "maximum cpu usage per Container is 2.  No limit is specified, "
            "cpu max limit to request ratio per Container is 2, but no request is specified or request is 0]");
  EXPECT_EQ(bench.create("pods", container_json("{}"), "elsewhere").error().find("usage"), std::string::npos);
}

TEST(LimitRanger, CountsAPodsHungriestMoment) {
  KindBench bench;
  bench.store("limitranges/default/range", R"({"metadata":{"name":"range"},"spec":{"limits":[
      {"type":"Pod","max":{"cpu":"1"}}]}})");
  auto pod = [](std::string_view init) {
    return R"({"metadata":{"name":"p"},"spec":{"initContainers":[
        {"name":"side","image":"x","restartPolicy":"Always","resources":{"limits":{"cpu":"300m"}}},
        {"name":"once","image":"x","resources":{"limits":{"cpu":")" +
           std::string(init) + R"("}}}],
        "containers":[{"name":"c","image":"x","resources":{"limits":{"cpu":"500m"}}}]}})";
  };
  EXPECT_EQ(bench.create("pods", pod("700m")).error(), "");
  EXPECT_EQ(bench.create("pods", pod("800m")).error(),
            "pods \"p\" is forbidden: maximum cpu usage per Pod is 1, but limit is 1100m");
}

TEST(LimitRanger, ChecksClaims) {
  KindBench bench;
  bench.store("limitranges/default/range", R"({"metadata":{"name":"range"},"spec":{"limits":[
      {"type":"PersistentVolumeClaim","min":{"storage":"1Gi"},"max":{"storage":"5Gi"}}]}})");
  auto claim = [](std::string_view size) {
    return R"({"metadata":{"name":"c"},"spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":")" +
           std::string(size) + "\"}}}}";
  };
  EXPECT_EQ(bench.create("persistentvolumeclaims", claim("2Gi")).error(), "");
  EXPECT_EQ(bench.create("persistentvolumeclaims", claim("8Gi")).error(),
            "persistentvolumeclaims \"c\" is forbidden: maximum storage usage per PersistentVolumeClaim is 5Gi, but "
            "request is 8Gi");
}

TEST(ServiceAccount, MountsItsToken) {
  KindBench bench;
  bench.store("serviceaccounts/default/robot", R"({"metadata":{"name":"robot"},"imagePullSecrets":[{"name":"pull"}]})");
  auto pod = bench.create("pods", plain_pod_json(R"("serviceAccountName":"robot")"));
  ASSERT_TRUE(pod) << causes_text(pod);
  auto spec = pod.root()["spec"];
  EXPECT_EQ(spec["imagePullSecrets"].to_json(), R"([{"name":"pull"}])");
  auto volume = spec["volumes"].at(0);
  EXPECT_TRUE(volume["name"].text().starts_with("kube-api-access-"));
  EXPECT_EQ(
      volume["projected"].to_json(),
      R"({"sources":[{"serviceAccountToken":{"expirationSeconds":3607,"path":"token"}},)"
      R"({"configMap":{"name":"kube-root-ca.crt","items":[{"key":"ca.crt","path":"ca.crt"}]}},)"
      R"({"downwardAPI":{"items":[{"path":"namespace","fieldRef":{"apiVersion":"v1","fieldPath":"metadata.namespace"}}]}}],)"
      R"("defaultMode":420})");
  auto mount = spec["containers"].at(0)["volumeMounts"].at(0);
  EXPECT_EQ(mount["name"].text(), volume["name"].text());
  EXPECT_TRUE(mount["readOnly"].boolean());
  EXPECT_EQ(mount["mountPath"].text(), "/var/run/secrets/kubernetes.io/serviceaccount");
}

TEST(ServiceAccount, PodsWishBeatsTheAccounts) {
  KindBench bench;
  bench.store("serviceaccounts/default/quiet", R"({"metadata":{"name":"quiet"},"automountServiceAccountToken":false})");
  EXPECT_FALSE(bench.create("pods", plain_pod_json(R"("serviceAccountName":"quiet")")).root()["spec"].has("volumes"));
  EXPECT_TRUE(
      bench.create("pods", plain_pod_json(R"("serviceAccountName":"quiet","automountServiceAccountToken":true)"))
          .root()["spec"]
          .has("volumes"));
  EXPECT_FALSE(
      bench.create("pods", plain_pod_json(R"("automountServiceAccountToken":false)")).root()["spec"].has("volumes"));
}

TEST(ServiceAccount, MustExistUnlessItIsTheDefault) {
  KindBench bench;
  EXPECT_TRUE(bench.create("pods", plain_pod_json()));
  auto refused = bench.create("pods", plain_pod_json(R"("serviceAccountName":"x")"));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error(),
            "pods \"p\" is forbidden: error looking up service account default/x: serviceaccount \"x\" not found");
  EXPECT_EQ(refused.object.error().http_code(), 403);
}

TEST(Priority, ComesFromTheClass) {
  KindBench bench;
  bench.store("priorityclasses.scheduling.k8s.io/high",
              R"({"metadata":{"name":"high"},"value":1000,"preemptionPolicy":"Never"})");
  auto high = bench.create("pods", plain_pod_json(R"("priorityClassName":"high")"));
  ASSERT_TRUE(high) << causes_text(high);
  EXPECT_EQ(high.root()["spec"]["priority"].integer(), 1000);
  EXPECT_EQ(high.root()["spec"]["preemptionPolicy"].text(), "Never");
  auto critical = bench.create("pods", plain_pod_json(R"("priorityClassName":"system-node-critical")"));
  EXPECT_EQ(critical.root()["spec"]["priority"].integer(), 2000001000);
  EXPECT_EQ(bench.create("pods", plain_pod_json(R"("priorityClassName":"none")")).error(),
            "pods \"p\" is forbidden: no PriorityClass with name none was found");
  EXPECT_NE(bench.create("pods", plain_pod_json(R"("priority":5)"))
                .error()
                .find("the integer value of priority (5) must not be provided"),
            std::string::npos);
  bench.store("priorityclasses.scheduling.k8s.io/base",
              R"({"metadata":{"name":"base"},"value":7,"globalDefault":true})");
  auto plain = bench.create("pods", plain_pod_json());
  EXPECT_EQ(plain.root()["spec"]["priority"].integer(), 7);
  EXPECT_EQ(plain.root()["spec"]["priorityClassName"].text(), "base");
  EXPECT_EQ(
      bench.create("priorityclasses", R"({"metadata":{"name":"second"},"value":1,"globalDefault":true})", "").error(),
      "priorityclasses.scheduling.k8s.io \"second\" is forbidden: PriorityClass base is already marked as default. "
      "Only one default can exist");
}

TEST(DefaultTolerationSeconds, RespectsOwnOnes) {
  KindBench bench;
  auto pod = bench.create(
      "pods",
      plain_pod_json(
          R"("tolerations":[{"key":"node.kubernetes.io/not-ready","operator":"Exists","effect":"NoExecute","tolerationSeconds":5}])"));
  ASSERT_TRUE(pod);
  EXPECT_EQ(pod.root()["spec"]["tolerations"].size(), 2u);
  EXPECT_EQ(pod.root()["spec"]["tolerations"].at(0)["tolerationSeconds"].integer(), 5);
  EXPECT_EQ(bench.create("pods", plain_pod_json(R"("tolerations":[{"operator":"Exists"}])"))
                .root()["spec"]["tolerations"]
                .size(),
            1u);
}

TEST(RuntimeClass, OfAVirtualClusterIsOneThatTheHostShows) {
  KindBench bench;
  bench.options.runtime_classes_of_host = true;
  bench.store("runtimeclasses.node.k8s.io/kata", R"({"metadata":{"name":"kata"},"handler":"kata"})");
  bench.store("runtimeclasses.node.k8s.io/shown",
              R"({"metadata":{"name":"shown","labels":{"from-host":"true"}},"handler":"kata"})");
  const auto refusal = [&](const std::string& name) {
    return bench.create("pods", plain_pod_json(R"("runtimeClassName":")" + name + "\"")).error();
  };
  EXPECT_NE(refusal("shown").find("ask whoever runs the host cluster"), std::string::npos)
      << "no class is shown at all";
  bench.options.mirrored_from_host = {{"node.k8s.io", "runtimeclasses", "from-host", "ask"}};
  EXPECT_EQ(
      refusal("kata"),
      "pods \"p\" is forbidden: pod rejected: RuntimeClass \"kata\" is none of the host cluster's that this virtual "
      "cluster is shown; leave runtimeClassName out, or name one that `kubectl get runtimeclasses -l from-host` lists");
  EXPECT_TRUE(bench.create("pods", plain_pod_json(R"("runtimeClassName":"shown")")));
}

TEST(ClassOfHost, AnObjectNamesOneThatTheHostShowsWhereAnyAreShown) {
  KindBench bench;
  const auto bring = [&](const std::string& path, const std::string& name, const std::string& labels,
                         const std::string& more) {
    bench.store(path + name, R"({"metadata":{"name":")" + name + R"(","labels":{)" + labels + R"(}},)" + more + "}");
  };
  for (const std::string shown : {R"("from-host":"true")", ""}) {
    const std::string name = shown.empty() ? "own" : "shown";
    bring("storageclasses.storage.k8s.io/", name, shown, R"("provisioner":"p")");
    bring("ingressclasses.networking.k8s.io/", name, shown, R"("spec":{"controller":"c"})");
    bring("priorityclasses.scheduling.k8s.io/", name, shown, R"("value":1)");
  }
  const auto claim = [&](const std::string& name) {
    return bench.create("persistentvolumeclaims",
                        R"({"metadata":{"name":"c","namespace":"default"},"spec":{"accessModes":["ReadWriteOnce"],)"
                        R"("resources":{"requests":{"storage":"1Gi"}},"storageClassName":")" +
                            name + R"("}})");
  };
  const auto ingress = [&](const std::string& name) {
    return bench.create("ingresses", R"({"metadata":{"name":"i","namespace":"default"},"spec":{"ingressClassName":")" +
                                         name +
                                         R"(","defaultBackend":{"service":{"name":"s","port":{"number":80}}}}})");
  };
  const auto pod = [&](const std::string& name) {
    return bench.create("pods", plain_pod_json(R"("priorityClassName":")" + name + "\""));
  };
  EXPECT_TRUE(claim("own") && ingress("own") && pod("own")) << "none of the host's are shown";
  bench.options.mirrored_from_host = {{"storage.k8s.io", "storageclasses", "from-host", "ask"},
                                      {"networking.k8s.io", "ingressclasses", "from-host", "ask"},
                                      {"scheduling.k8s.io", "priorityclasses", "from-host", "ask"}};
  EXPECT_TRUE(claim("shown"));
  EXPECT_TRUE(claim("")) << "no class";
  EXPECT_TRUE(ingress("shown"));
  EXPECT_TRUE(pod("shown"));
  EXPECT_EQ(claim("own").error(),
            "persistentvolumeclaims \"c\" is forbidden: StorageClass \"own\" is none of the host cluster's that this "
            "virtual cluster is shown; name one that `kubectl get storageclasses -l from-host` lists");
  EXPECT_NE(claim("no-such").error().find("StorageClass \"no-such\" is none of"), std::string::npos);
  EXPECT_NE(ingress("own").error().find("IngressClass \"own\" is none of"), std::string::npos);
  EXPECT_NE(pod("own").error().find("PriorityClass \"own\" is none of"), std::string::npos);
  bench.user.name = bench.options.unix_socket_user;
  EXPECT_TRUE(claim("of-the-host-alone")) << "the syncer tells of the host's default class";
}

TEST(RuntimeClass, MustExistAndLeavesItsMark) {
  KindBench bench;
  EXPECT_EQ(bench.create("pods", plain_pod_json(R"("runtimeClassName":"kata")")).error(),
            "pods \"p\" is forbidden: pod rejected: RuntimeClass \"kata\" not found");
  bench.store("runtimeclasses.node.k8s.io/kata", R"({"metadata":{"name":"kata"},"handler":"kata",
    "overhead":{"podFixed":{"cpu":"250m"}},"scheduling":{"nodeSelector":{"kata":"yes"},"tolerations":[{"key":"kata","operator":"Exists"}]}})");
  auto pod = bench.create("pods", plain_pod_json(R"("runtimeClassName":"kata")"));
  ASSERT_TRUE(pod) << causes_text(pod);
  EXPECT_EQ(pod.root()["spec"]["overhead"].to_json(), R"({"cpu":"250m"})");
  EXPECT_EQ(pod.root()["spec"]["nodeSelector"].to_json(), R"({"kata":"yes"})");
  EXPECT_EQ(pod.root()["spec"]["tolerations"].size(), 3u);
  EXPECT_NE(bench.create("pods", plain_pod_json(R"("runtimeClassName":"kata","nodeSelector":{"kata":"no"})"))
                .error()
                .find("conflict: runtimeClass.scheduling.nodeSelector[kata] = yes; pod.spec.nodeSelector[kata] = no"),
            std::string::npos);
  EXPECT_NE(bench.create("pods", plain_pod_json(R"("overhead":{"cpu":"1"})"))
                .error()
                .find("Pod Overhead set without corresponding RuntimeClass"),
            std::string::npos);
}

TEST(Border, RefusesWithItsReasons) {
  KindBench bench;
  bool seen_create = false;
  bench.options.border = [&](std::string_view kind, const Value& object, const Value& old) {
    seen_create = old.missing();
    AdmissionVerdict verdict;
    EXPECT_EQ(kind, "Pod");
    EXPECT_EQ(object["spec"]["serviceAccountName"].text(), "default") << "the border sees what would be stored";
    if (object["spec"]["hostNetwork"].boolean())
      verdict.denials.push_back({"FieldValueForbidden", "no host network here", "spec.hostNetwork"});
    verdict.warnings.push_back("mind the gap");
    return verdict;
  };
  auto fine = bench.create("pods", plain_pod_json());
  ASSERT_TRUE(fine) << causes_text(fine);
  EXPECT_TRUE(seen_create);
  EXPECT_EQ(fine.warnings, std::vector<std::string>{"mind the gap"});
  auto refused = bench.create("pods", plain_pod_json(R"("hostNetwork":true)"));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error(), "pods \"p\" is forbidden: spec.hostNetwork: no host network here");
  EXPECT_EQ(refused.object.error().causes.at(0).field, "spec.hostNetwork");
  auto json = fine.object->to_json();
  auto going = parse(json);
  going["metadata"].put("deletionTimestamp", "2026-01-01T00:00:00Z");
  going["spec"].put("hostNetwork", true);
  EXPECT_TRUE(bench.update("pods", going.to_json(), going.to_json())) << "finalizers can still be taken off";
}

TEST(Border, ARefusedDebugContainerNamesTheProfileThatWorks) {
  KindBench bench;
  bench.options.border = [](std::string_view, const Value&, const Value&) {
    AdmissionVerdict verdict;
    verdict.denials.push_back(
        {"FieldValueForbidden", "capabilities may not be added", "spec.ephemeralContainers[0].securityContext"});
    return verdict;
  };
  const std::string hint = "`kubectl debug --profile=baseline`";
  const auto refused = bench.update(
      "pods",
      R"({"metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"x"}],"ephemeralContainers":[{"name":"d","image":"x"}]}})",
      plain_pod_json(), "ephemeralcontainers");
  EXPECT_NE(refused.error().find(hint), std::string::npos) << refused.error();
  EXPECT_EQ(bench.create("pods", plain_pod_json()).error().find(hint), std::string::npos);
}

TEST(TemplateBorder, WarnsOfATemplateWhosePodsWouldBeRefused) {
  KindBench bench;
  bench.options.border = [](std::string_view kind, const Value& object, const Value&) {
    AdmissionVerdict verdict;
    EXPECT_EQ(kind, "Pod");
    EXPECT_EQ(object["metadata"]["namespace"].text(), "default");
    if (object["spec"]["hostNetwork"].boolean())
      verdict.denials.push_back({"FieldValueForbidden", "no host network here", "spec.hostNetwork"});
    return verdict;
  };
  const auto deployment = [](const std::string& replicas, const std::string& network) {
    return R"({"metadata":{"name":"d"},"spec":{"replicas":)" + replicas +
           R"(,"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"hostNetwork":)" +
           network + R"(,"containers":[{"name":"c","image":"i"}]}}}})";
  };
  auto refused = bench.create("deployments", deployment("1", "true"));
  ASSERT_TRUE(refused) << refused.error();
  EXPECT_EQ(refused.warnings,
            std::vector<std::string>{"spec.template.spec.hostNetwork: pods of this template will be refused: no host "
                                     "network here"});
  EXPECT_TRUE(bench.create("deployments", deployment("1", "false")).warnings.empty());
  // Once for each template, not for every update.
  const auto stored = refused.object->to_json();
  auto scaled = parse(stored);
  scaled["spec"].put("replicas", 2);
  EXPECT_TRUE(bench.update("deployments", scaled.to_json(), stored).warnings.empty());
}

}  // namespace
}  // namespace sublet::apiserver
