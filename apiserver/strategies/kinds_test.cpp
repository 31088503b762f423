#include <gtest/gtest.h>

#include "apiserver/codec/object_bytes.h"
#include "apiserver/kind_testing.h"
#include "sublet/apiserver/bootstrap.h"
#include "sublet/schema/registry.h"

namespace sublet::apiserver {
namespace {

using schema::Value;

TEST(Namespace, HoldsOnToItsContent) {
  KindBench bench;
  auto made = bench.create("namespaces", R"({"metadata":{"name":"a"},"status":{"phase":"Terminating"}})");
  ASSERT_TRUE(made) << made.error();
  EXPECT_EQ(made.root()["metadata"]["labels"].to_json(), R"({"kubernetes.io/metadata.name":"a"})");
  EXPECT_EQ(made.root()["spec"].to_json(), R"({"finalizers":["kubernetes"]})");
  EXPECT_EQ(made.root()["status"].to_json(), R"({"phase":"Active"})");
  const auto& strategy = strategy_for("", "namespaces");
  EXPECT_TRUE(strategy.holds_deletion(made.root()));
  strategy.mark_deleting(made.root());
  EXPECT_EQ(made.root()["status"]["phase"].text(), "Terminating");
  EXPECT_FALSE(bench.create("namespaces", R"({"metadata":{"name":"a.b"}})"));
}

TEST(Namespace, OnlyFinalizeTakesFinalizers) {
  KindBench bench;
  constexpr std::string_view kOld =
      R"({"metadata":{"name":"a"},"spec":{"finalizers":["kubernetes"]},"status":{"phase":"Active"}})";
  constexpr std::string_view kNew = R"({"metadata":{"name":"a"},"spec":{},"status":{"phase":"Active"}})";
  auto kept = bench.update("namespaces", kNew, kOld);
  ASSERT_TRUE(kept) << kept.error();
  EXPECT_TRUE(strategy_for("", "namespaces").holds_deletion(kept.root()));
  auto taken = bench.update("namespaces", kNew, kOld, "finalize");
  ASSERT_TRUE(taken) << taken.error();
  EXPECT_FALSE(strategy_for("", "namespaces").holds_deletion(taken.root()));
}

TEST(ConfigMap, ChecksKeysSizeAndImmutability) {
  KindBench bench;
  EXPECT_TRUE(
      bench.create("configmaps", R"({"metadata":{"name":"a"},"data":{"k.x_y-z":"v"},"binaryData":{"b":"AAA="}})"));
  auto bad =
      bench.create("configmaps", R"({"metadata":{"name":"a"},"data":{"a b":"v","c":""},"binaryData":{"c":"AAA="}})");
  EXPECT_EQ(
      causes_text(bad),
      "data[a b]: Invalid value: \"a b\": a valid config key must consist of alphanumeric characters, '-', '_' or "
      "'.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')\n"
      "data[c]: Invalid value: \"c\": duplicate of key present in binaryData");
  auto big = bench.create("configmaps",
                          R"({"metadata":{"name":"a"},"data":{"k":")" + std::string(1024 * 1024 + 1, 'x') + "\"}}");
  EXPECT_NE(causes_text(big).find("Too long: may not be more than 1048576 bytes"), std::string::npos);
  constexpr std::string_view kOld = R"({"metadata":{"name":"a"},"data":{"k":"v"},"immutable":true})";
  EXPECT_TRUE(bench.update("configmaps",
                           R"({"metadata":{"name":"a","labels":{"x":"y"}},"data":{"k":"v"},"immutable":true})", kOld));
  EXPECT_EQ(causes_text(bench.update("configmaps", R"({"metadata":{"name":"a"},"data":{"k":"w"}})", kOld)),
            "immutable: Forbidden: field is immutable when `immutable` is set\n"
            "data: Forbidden: field is immutable when `immutable` is set");
}

TEST(Secret, FoldsTextAndChecksTypes) {
  KindBench bench;
  auto made = bench.create("secrets", R"({"metadata":{"name":"a"},"stringData":{"k":"v"},"data":{"z":"AAA="}})");
  ASSERT_TRUE(made) << made.error();
  EXPECT_EQ(made.root()["type"].text(), "Opaque");
  EXPECT_EQ(made.root()["data"].to_json(), R"({"k":"dg==","z":"AAA="})");
  EXPECT_FALSE(made.root().has("stringData"));
  EXPECT_EQ(causes_text(bench.create("secrets", R"({"metadata":{"name":"a"},"type":"kubernetes.io/tls"})")),
            "data[tls.crt]: Required value\ndata[tls.key]: Required value");
  EXPECT_EQ(causes_text(bench.create("secrets", R"({"metadata":{"name":"a"},"type":"kubernetes.io/basic-auth"})")),
            "data[username]: Required value\ndata[password]: Required value");
  auto config = bench.create(
      "secrets",
      R"({"metadata":{"name":"a"},"type":"kubernetes.io/dockerconfigjson","data":{".dockerconfigjson":"AAA="}})");
  EXPECT_NE(causes_text(config).find("<secret contents redacted>"), std::string::npos);
  constexpr std::string_view kOld = R"({"metadata":{"name":"a"},"type":"Opaque"})";
  EXPECT_EQ(causes_text(bench.update("secrets", R"({"metadata":{"name":"a"},"type":"other"})", kOld)),
            "type: Invalid value: \"other\": field is immutable");
}

std::string service_json(std::string_view members) {
  return R"({"metadata":{"name":"s"},"spec":{"ports":[{"port":80}],)" + std::string(members) + "}}";
}

TEST(Service, GetsDefaultsAndAnAddress) {
  KindBench bench;
  auto made = bench.create("services", service_json(R"("selector":{"a":"b"})"));
  ASSERT_TRUE(made) << causes_text(made);
  auto spec = made.root()["spec"];
  EXPECT_EQ(spec["type"].text(), "ClusterIP");
  EXPECT_EQ(spec["sessionAffinity"].text(), "None");
  EXPECT_EQ(spec["internalTrafficPolicy"].text(), "Cluster");
  EXPECT_FALSE(spec.has("externalTrafficPolicy"));
  EXPECT_EQ(spec["ports"].to_json(), R"([{"protocol":"TCP","port":80,"targetPort":80}])");
  EXPECT_EQ(spec["ipFamilies"].to_json(), R"(["IPv4"])");
  EXPECT_EQ(spec["ipFamilyPolicy"].text(), "SingleStack");
  EXPECT_TRUE(spec["clusterIP"].text().starts_with("10.96."));
  EXPECT_EQ(spec["clusterIPs"].at(0).text(), spec["clusterIP"].text());
  EXPECT_EQ(made.root()["status"].to_json(), R"({"loadBalancer":{}})");
  ASSERT_EQ(made.txn.ops.size(), 1u);
  EXPECT_EQ(made.txn.ops[0].key, "~clusterips/" + spec["clusterIP"].string());
  EXPECT_EQ(made.txn.guards.back().key, made.txn.ops[0].key);
  EXPECT_EQ(made.txn.guards.back().revision, 0);
}

TEST(Service, AddressesAreNeverShared) {
  KindBench bench;
  auto first = bench.create("services", service_json(R"("clusterIP":"10.96.0.7")"));
  ASSERT_TRUE(first) << causes_text(first);
  // Prepared against the same state: only one of both can commit.
  auto rival = bench.create("services", service_json(R"("clusterIP":"10.96.0.7")"));
  ASSERT_TRUE(rival);
  EXPECT_TRUE(bench.commit("services/default/s", first));
  EXPECT_FALSE(bench.commit("services/default/t", rival));
  auto late = bench.create("services", service_json(R"("clusterIP":"10.96.0.7")"));
  EXPECT_EQ(causes_text(late),
            "spec.clusterIPs: Invalid value: [\"10.96.0.7\"]: failed to allocate IP 10.96.0.7: provided IP is already "
            "allocated");
  auto outside = bench.create("services", service_json(R"("clusterIP":"1.2.3.4")"));
  EXPECT_NE(causes_text(outside).find("is not in the valid range. The range of valid IPs is 10.96.0.0/16"),
            std::string::npos);
}

TEST(Service, RemovalGivesTheAddressBack) {
  KindBench bench;
  auto made = bench.create("services", service_json(R"("clusterIP":"10.96.0.7","type":"NodePort")"));
  ASSERT_TRUE(made) << causes_text(made);
  auto json = made.object->to_json();
  ASSERT_TRUE(bench.commit("services/default/s", made));
  auto context = bench.context("services");
  strategy_for("", "services").on_removed(context, parse(json).root());
  ASSERT_EQ(bench.txn.ops.size(), 2u);
  EXPECT_EQ(bench.txn.ops[0].key, "~clusterips/10.96.0.7");
  EXPECT_FALSE(bench.txn.ops[0].put);
  EXPECT_TRUE(bench.txn.ops[1].key.starts_with("~nodeports/"));
}

TEST(Service, DryRunsAllocateNothing) {
  KindBench bench;
  bench.dry_run = true;
  auto made = bench.create("services", service_json(R"("type":"NodePort")"));
  ASSERT_TRUE(made) << causes_text(made);
  EXPECT_FALSE(made.root()["spec"]["clusterIP"].text().empty());
  EXPECT_TRUE(made.txn.ops.empty());
  EXPECT_TRUE(made.txn.guards.empty());
}

TEST(Service, HeadlessHasNoAddress) {
  KindBench bench;
  auto made = bench.create("services", service_json(R"("clusterIP":"None","selector":{"a":"b"})"));
  ASSERT_TRUE(made) << causes_text(made);
  EXPECT_EQ(made.root()["spec"]["clusterIPs"].to_json(), R"(["None"])");
  EXPECT_TRUE(made.txn.ops.empty());
  auto bare = bench.create("services", R"({"metadata":{"name":"s"},"spec":{"clusterIP":"None"}})");
  ASSERT_TRUE(bare) << causes_text(bare);
  EXPECT_EQ(bare.root()["spec"]["ipFamilyPolicy"].text(), "RequireDualStack");
  EXPECT_EQ(bare.root()["spec"]["ipFamilies"].to_json(), R"(["IPv4","IPv6"])");
}

TEST(Service, NodePorts) {
  KindBench bench;
  auto made = bench.create("services", R"({"metadata":{"name":"s"},"spec":{"type":"NodePort","ports":[
    {"name":"a","port":53,"protocol":"UDP"},{"name":"b","port":53,"protocol":"TCP"},{"name":"c","port":80,"nodePort":30080}]}})");
  ASSERT_TRUE(made) << causes_text(made);
  auto ports = made.root()["spec"]["ports"];
  EXPECT_EQ(ports.at(0)["nodePort"].integer(), ports.at(1)["nodePort"].integer());
  EXPECT_GE(ports.at(0)["nodePort"].integer(), 30000);
  EXPECT_EQ(ports.at(2)["nodePort"].integer(), 30080);
  EXPECT_EQ(made.root()["spec"]["externalTrafficPolicy"].text(), "Cluster");
  ASSERT_TRUE(bench.commit("services/default/s", made));
  EXPECT_EQ(
      causes_text(bench.create(
          "services", R"({"metadata":{"name":"t"},"spec":{"type":"NodePort","ports":[{"port":1,"nodePort":30080}]}})")),
      "spec.ports[0].nodePort: Invalid value: 30080: provided port is already allocated");
  EXPECT_EQ(
      causes_text(bench.create(
          "services", R"({"metadata":{"name":"t"},"spec":{"type":"NodePort","ports":[{"port":1,"nodePort":80}]}})")),
      "spec.ports[0].nodePort: Invalid value: 80: provided port is not in the valid range. The range of valid "
      "ports is 30000-32767");
  EXPECT_EQ(causes_text(bench.create("services",
                                     R"({"metadata":{"name":"t"},"spec":{"ports":[{"port":1,"nodePort":30081}]}})")),
            "spec.ports[0].nodePort: Forbidden: may not be used when `type` is 'ClusterIP'");
}

TEST(Service, UpdatesKeepWhatWasGiven) {
  KindBench bench;
  auto made = bench.create("services", service_json(R"("clusterIP":"10.96.0.7","type":"NodePort")"));
  auto old = made.object->to_json();
  ASSERT_TRUE(bench.commit("services/default/s", made));
  auto port = parse(old)["spec"]["ports"].at(0)["nodePort"].integer();
  auto same = bench.update("services", service_json(R"("type":"NodePort")"), old);
  ASSERT_TRUE(same) << causes_text(same);
  EXPECT_EQ(same.root()["spec"]["clusterIP"].text(), "10.96.0.7");
  EXPECT_EQ(same.root()["spec"]["ports"].at(0)["nodePort"].integer(), port);
  EXPECT_TRUE(same.txn.ops.empty());
  auto moved = bench.update("services", service_json(R"("type":"NodePort","clusterIP":"10.96.0.8")"), old);
  EXPECT_EQ(causes_text(moved), "spec.clusterIPs[0]: Invalid value: [\"10.96.0.8\"]: may not change once set");
  auto external = parse(old);
  external["spec"].put("type", "ExternalName");
  external["spec"].put("externalName", "example.com");
  auto changed = bench.update("services", external.to_json(), old);
  ASSERT_TRUE(changed) << causes_text(changed);
  EXPECT_FALSE(changed.root()["spec"].has("clusterIP"));
  EXPECT_FALSE(changed.root()["spec"]["ports"].at(0).has("nodePort"));
  EXPECT_EQ(changed.txn.ops.size(), 2u);  // both claims go
}

TEST(Service, RefusesWhatIsWrong) {
  KindBench bench;
  EXPECT_EQ(causes_text(bench.create("services", R"({"metadata":{"name":"s"},"spec":{}})")),
            "spec.ports: Required value");
  EXPECT_EQ(
      causes_text(bench.create("services", R"({"metadata":{"name":"s"},"spec":{"ports":[{"port":1},{"port":2}]}})")),
      "spec.ports[0].name: Required value\nspec.ports[1].name: Required value");
  EXPECT_EQ(causes_text(bench.create("services", R"({"metadata":{"name":"s"},"spec":{"ports":[{"port":0}]}})")),
            "spec.ports[0].port: Invalid value: 0: must be between 1 and 65535, inclusive\n"
            "spec.ports[0].targetPort: Invalid value: 0: must be between 1 and 65535, inclusive");
  EXPECT_NE(causes_text(bench.create("services", R"({"metadata":{"name":"s"},"spec":{"type":"ExternalName"}})"))
                .find("spec.externalName: Required value"),
            std::string::npos);
}

TEST(Node, KeepsItsStatusApart) {
  KindBench bench;
  auto made = bench.create(
      "nodes",
      R"({"metadata":{"name":"n"},"status":{"capacity":{"cpu":"2"},"conditions":[{"type":"Ready","status":"True"}]}})",
      "");
  ASSERT_TRUE(made) << causes_text(made);
  EXPECT_EQ(made.root()["status"]["allocatable"].to_json(), R"({"cpu":"2"})");
  EXPECT_FALSE(made.root()["spec"].has("taints"));
  auto fresh = bench.create("nodes", R"({"metadata":{"name":"n"}})", "");
  EXPECT_EQ(fresh.root()["spec"]["taints"].to_json(),
            R"([{"key":"node.kubernetes.io/not-ready","effect":"NoSchedule"}])");
  auto old = R"({"metadata":{"name":"n"},"spec":{"providerID":"a"}})";
  EXPECT_EQ(causes_text(bench.update("nodes", R"({"metadata":{"name":"n"},"spec":{"providerID":"b"}})", old, "", "")),
            "spec.providerID: Forbidden: node updates may not change providerID except from \"\" to valid");
}

TEST(Event, HasTwoForms) {
  KindBench bench;
  EXPECT_TRUE(
      bench.create("events", R"({"metadata":{"name":"e"},"involvedObject":{"namespace":"default"},"reason":"r"})"));
  EXPECT_EQ(causes_text(bench.create("events", R"({"metadata":{"name":"e"},"involvedObject":{"namespace":"other"}})")),
            "involvedObject.namespace: Invalid value: \"other\": does not match event.namespace");
  auto context = bench.context("events");
  const schema::ResourceFacts* served = schema::Registry::builtin()->find_resource("events.k8s.io", "v1", "events");
  context.served = served;
  auto event = parse(R"({"metadata":{"name":"Not.a.subdomain","namespace":"default"},"type":"Odd","count":3})");
  auto outcome = strategy_for("", "events").prepare_create(context, event.root());
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().causes.size(), 4u) << outcome.error().message;
  EXPECT_EQ(outcome.error().causes[0].field, "metadata.name");
}

TEST(Event, OfTheOldFormMayHaveAnyNameThatIsASegment) {
  KindBench bench;
  EXPECT_TRUE(bench.create(
      "events", R"({"metadata":{"name":"TCP","generateName":"{{x}}"},"involvedObject":{"namespace":"default"}})"));
  EXPECT_EQ(
      causes_text(bench.create("events", R"({"metadata":{"name":"a/b"},"involvedObject":{"namespace":"default"}})")),
      "metadata.name: Invalid value: \"a/b\": may not contain '/'");
}

TEST(RuntimeClass, HandlerStays) {
  KindBench bench;
  EXPECT_TRUE(bench.create("runtimeclasses", R"({"metadata":{"name":"nvidia"},"handler":"nvidia"})", ""));
  EXPECT_NE(
      causes_text(bench.create("runtimeclasses", R"({"metadata":{"name":"a"}})", "")).find("handler: Required value"),
      std::string::npos);
  EXPECT_EQ(causes_text(bench.update("runtimeclasses", R"({"metadata":{"name":"a"},"handler":"y"})",
                                     R"({"metadata":{"name":"a"},"handler":"x"})", "", "")),
            "handler: Invalid value: \"y\": field is immutable");
}

TEST(PriorityClass, ValueStays) {
  KindBench bench;
  auto made = bench.create("priorityclasses", R"({"metadata":{"name":"a"},"value":5})", "");
  ASSERT_TRUE(made) << causes_text(made);
  EXPECT_EQ(made.root()["preemptionPolicy"].text(), "PreemptLowerPriority");
  EXPECT_EQ(causes_text(bench.create("priorityclasses", R"({"metadata":{"name":"a"},"value":2000000000})", "")),
            "value: Forbidden: maximum allowed value of a user defined priority is 1000000000");
  EXPECT_EQ(causes_text(bench.create("priorityclasses", R"({"metadata":{"name":"system-x"},"value":1})", "")),
            "metadata.name: Forbidden: priority class names with 'system-' prefix are reserved for system use only. "
            "error: system-x is not a known system priority class");
  EXPECT_EQ(
      causes_text(bench.update("priorityclasses", R"({"metadata":{"name":"a"},"value":6,"preemptionPolicy":"Never"})",
                               R"({"metadata":{"name":"a"},"value":5,"preemptionPolicy":"Never"})", "", "")),
      "value: Forbidden: may not be changed in an update.");
}

TEST(Lease, ChecksItsNumbers) {
  KindBench bench;
  EXPECT_TRUE(
      bench.create("leases", R"({"metadata":{"name":"a"},"spec":{"holderIdentity":"x","leaseDurationSeconds":15}})"));
  EXPECT_EQ(causes_text(bench.create(
                "leases", R"({"metadata":{"name":"a"},"spec":{"leaseDurationSeconds":0,"leaseTransitions":-1}})")),
            "spec.leaseDurationSeconds: Invalid value: 0: must be greater than 0\n"
            "spec.leaseTransitions: Invalid value: -1: must be greater than or equal to 0");
}

TEST(Endpoints, LeadSomewhere) {
  KindBench bench;
  auto made = bench.create(
      "endpoints", R"({"metadata":{"name":"a"},"subsets":[{"addresses":[{"ip":"10.0.0.1"}],"ports":[{"port":80}]}]})");
  ASSERT_TRUE(made) << causes_text(made);
  EXPECT_EQ(made.root()["subsets"].at(0)["ports"].at(0)["protocol"].text(), "TCP");
  EXPECT_EQ(causes_text(bench.create("endpoints",
                                     R"({"metadata":{"name":"a"},"subsets":[{"addresses":[{"ip":"127.0.0.1"}]}]})")),
            "subsets[0].addresses[0].ip: Invalid value: \"127.0.0.1\": may not be in the loopback range (127.0.0.0/8, "
            "::1/128)");
  EXPECT_EQ(causes_text(bench.create(
                "endpoints", R"({"metadata":{"name":"a"},"subsets":[{"addresses":[{"ip":"::ffff:127.0.0.1"}]}]})")),
            "subsets[0].addresses[0].ip: Invalid value: \"::ffff:127.0.0.1\": must not be an IPv4-mapped IPv6 address");
  // Their mistakes stand beside those of the metadata, not in the place of them.
  EXPECT_EQ(causes_text(bench.create("endpoints", R"({"metadata":{},"subsets":[{}]})")),
            "metadata.name: Required value: name or generateName is required\n"
            "subsets[0]: Required value: must specify `addresses` or `notReadyAddresses`");
}

TEST(EndpointSlice, CountsItsGenerations) {
  KindBench bench;
  auto made = bench.create(
      "endpointslices",
      R"({"metadata":{"name":"a"},"addressType":"IPv4","endpoints":[{"addresses":["10.0.0.1"]}],"ports":[{"port":80}]})");
  ASSERT_TRUE(made) << causes_text(made);
  EXPECT_EQ(made.root()["metadata"]["generation"].integer(), 1);
  EXPECT_EQ(made.root()["ports"].to_json(), R"([{"name":"","protocol":"TCP","port":80}])");
  auto copy = made.object->clone();
  copy["metadata"].object("annotations").put("a", "b");
  EXPECT_EQ(
      bench.update("endpointslices", copy.to_json(), made.object->to_json()).root()["metadata"]["generation"].integer(),
      1);
  copy["endpoints"].at(0)["addresses"].push("10.0.0.2");
  EXPECT_EQ(
      bench.update("endpointslices", copy.to_json(), made.object->to_json()).root()["metadata"]["generation"].integer(),
      2);
  copy.root().put("addressType", "IPv6");
  EXPECT_NE(causes_text(bench.update("endpointslices", copy.to_json(), made.object->to_json()))
                .find("addressType: Invalid value: \"IPv6\": field is immutable"),
            std::string::npos);
}

struct Said {
  std::string_view resource, json, causes;
};

/// What differs from a valid object of the differential runner's by one member, and what upstream says of it.
TEST(Kinds, JudgeAnEmptyTextThatIsThereAndNotWhatIsForbiddenAnyway) {
  constexpr Said kSaid[] = {
      {"services", R"({"metadata":{"name":"a"},"spec":{"ports":[{"port":80}],"trafficDistribution":""}})",
       "spec.trafficDistribution: Unsupported value: \"\": supported values: \"PreferClose\", \"PreferSameZone\", "
       "\"PreferSameNode\""},
      {"endpointslices",
       R"({"metadata":{"name":"a"},"addressType":"IPv4","endpoints":[{"addresses":["10.0.0.1"],"nodeName":""}]})",
       "endpoints[0].nodeName: Invalid value: \"\": a lowercase RFC 1123 subdomain must consist of lower case "
       "alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. "
       "'example.com', "
       "regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"},
      {"persistentvolumes",
       R"({"metadata":{"name":"a"},"spec":{"capacity":{"storage":"1Gi"},"accessModes":["ReadWriteOnce"],
         "local":{"path":"/x"}}})",
       "spec.nodeAffinity: Required value: Local volume requires node affinity"},
      {"persistentvolumes",
       R"({"metadata":{"name":"a"},"spec":{"capacity":{"storage":"1Gi"},"accessModes":["ReadWriteOnce"],
         "hostPath":{"path":"/x"},"local":{"path":"/x"}}})",
       "spec.local: Forbidden: may not specify more than 1 volume type"}};
  for (const auto& row : kSaid) {
    KindBench bench;
    EXPECT_EQ(causes_text(bench.create(row.resource, row.json)), row.causes) << row.json;
  }
}

constexpr std::string_view kDeployment = R"({"metadata":{"name":"d"},"spec":{"selector":{"matchLabels":{"a":"b"}},
  "template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"x"}]}}}})";

TEST(Workloads, AreStoredInFull) {
  KindBench bench;
  auto made = bench.create("deployments", kDeployment);
  ASSERT_TRUE(made) << causes_text(made);
  auto spec = made.root()["spec"];
  EXPECT_EQ(spec["replicas"].integer(), 1);
  EXPECT_EQ(spec["strategy"].to_json(),
            R"({"type":"RollingUpdate","rollingUpdate":{"maxUnavailable":"25%","maxSurge":"25%"}})");
  EXPECT_EQ(spec["progressDeadlineSeconds"].integer(), 600);
  EXPECT_EQ(spec["template"]["spec"]["restartPolicy"].text(), "Always");
  EXPECT_FALSE(spec["template"]["spec"].has("enableServiceLinks"));
  auto mismatch = bench.create("deployments", R"({"metadata":{"name":"d"},"spec":{"selector":{"matchLabels":{"a":"c"}},
    "template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"x"}]}}}})");
  EXPECT_EQ(causes_text(mismatch),
            "spec.template.metadata.labels: Invalid value: {\"a\":\"b\"}: `selector` does not match template `labels`");
}

// Upstream judges the pods of a StatefulSet with the volumes that its controller gives them.
TEST(Workloads, AStatefulSetsPodsMountItsClaims) {
  KindBench bench;
  const auto set = [&](const std::string& mounted, const std::string& volumes) {
    return bench.create(
        "statefulsets",
        R"({"metadata":{"name":"db","namespace":"default"},"spec":{"serviceName":"db","selector":{"matchLabels":{"a":"b"}},)"
        R"("template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i","volumeMounts":)"
        R"([{"name":")" +
            mounted + R"(","mountPath":"/d"}]}])" + volumes +
            R"(}},"volumeClaimTemplates":[{"metadata":{"name":"data"},"spec":{"accessModes":["ReadWriteOnce"],)"
            R"("resources":{"requests":{"storage":"1Gi"}}}}]}})");
  };
  const auto made = set("data", "");
  EXPECT_TRUE(made) << made.error();
  EXPECT_FALSE(made && made.root()["spec"]["template"]["spec"].has("volumes")) << "judged with it, stored without";
  EXPECT_TRUE(set("data", R"(,"volumes":[{"name":"data","emptyDir":{}}])")) << "a claim takes the place of a volume";
  EXPECT_NE(set("other", "").error().find("Not found: \"other\""), std::string::npos);
}

TEST(Workloads, JobsOwnTheirPods) {
  KindBench bench;
  auto made = bench.create(
      "jobs",
      R"({"metadata":{"name":"j"},"spec":{"template":{"spec":{"restartPolicy":"Never","containers":[{"name":"c","image":"x"}]}}}})");
  ASSERT_TRUE(made) << causes_text(made);
  auto spec = made.root()["spec"];
  EXPECT_EQ(spec["selector"].to_json(), R"({"matchLabels":{"batch.kubernetes.io/controller-uid":"created-uid"}})");
  EXPECT_EQ(
      spec["template"]["metadata"]["labels"].to_json(),
      R"({"batch.kubernetes.io/controller-uid":"created-uid","batch.kubernetes.io/job-name":"j","controller-uid":"created-uid","job-name":"j"})");
  EXPECT_EQ(spec["completions"].integer(), 1);
  EXPECT_EQ(spec["backoffLimit"].integer(), 6);
  auto always = bench.create(
      "jobs", R"({"metadata":{"name":"j"},"spec":{"template":{"spec":{"containers":[{"name":"c","image":"x"}]}}}})");
  EXPECT_EQ(causes_text(always),
            "spec.template.spec.restartPolicy: Required value: valid values: \"OnFailure\", \"Never\"");
}

TEST(Generic, StatusIsNotTheMainEndpointsBusiness) {
  KindBench bench;
  auto old =
      R"({"metadata":{"name":"d","labels":{"x":"y"}},"spec":{"minAvailable":1},"status":{"currentHealthy":1,"desiredHealthy":1,"disruptionsAllowed":0,"expectedPods":1}})";
  auto made = bench.update(
      "poddisruptionbudgets",
      R"({"metadata":{"name":"d"},"spec":{"minAvailable":2},"status":{"currentHealthy":9,"desiredHealthy":1,"disruptionsAllowed":0,"expectedPods":1}})",
      old);
  ASSERT_TRUE(made) << causes_text(made);
  EXPECT_EQ(made.root()["status"]["currentHealthy"].integer(), 1);
  auto status = bench.update(
      "poddisruptionbudgets",
      R"({"metadata":{"name":"d"},"spec":{"minAvailable":2},"status":{"currentHealthy":9,"desiredHealthy":1,"disruptionsAllowed":0,"expectedPods":1}})",
      old, "status");
  ASSERT_TRUE(status) << causes_text(status);
  EXPECT_EQ(status.root()["status"]["currentHealthy"].integer(), 9);
  EXPECT_EQ(status.root()["spec"]["minAvailable"].integer(), 1);
}

// As upstream: /status of most kinds takes metadata too; some keep it, and a Deployment keeps its labels.
TEST(Generic, StatusChangesMetadataOfMostKinds) {
  KindBench bench;
  struct {
    const char *resource, *spec, *labels, *annotations;
  } cases[] = {
      {"poddisruptionbudgets", R"({"minAvailable":1})", "new", "new"},
      {"ingresses", R"({"defaultBackend":{"service":{"name":"s","port":{"number":80}}}})", "new", "new"},
      {"servicecidrs", R"({"cidrs":["10.0.0.0/24"]})", "old", "old"},
      {"deployments",
       R"({"selector":{"matchLabels":{"a":"b"}},"strategy":{"type":"Recreate"},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"restartPolicy":"Always","dnsPolicy":"ClusterFirst","containers":[{"name":"c","image":"i","imagePullPolicy":"Always","terminationMessagePolicy":"File"}]}}})",
       "old", "new"}};
  for (const auto& one : cases) {
    auto object = [&](const std::string& value) {
      return R"({"metadata":{"name":"d","labels":{"x":")" + value + R"("},"annotations":{"x":")" + value +
             R"("}},"spec":)" + one.spec + "}";
    };
    auto made = bench.update(one.resource, object("new"), object("old"), "status");
    ASSERT_TRUE(made) << one.resource << causes_text(made);
    EXPECT_EQ(made.root()["metadata"]["labels"]["x"].text(), one.labels) << one.resource;
    EXPECT_EQ(made.root()["metadata"]["annotations"]["x"].text(), one.annotations) << one.resource;
  }
}

TEST(IpAddressKind, IsNamedByItsCanonicalAddress) {
  KindBench bench;
  auto named = [](const std::string& name) {
    return R"({"metadata":{"name":")" + name +
           R"("},"spec":{"parentRef":{"resource":"services","namespace":"n","name":"s"}}})";
  };
  for (auto name : {"fe80::42:1dff:fe84:f9e2", "10.0.0.1"})
    EXPECT_EQ(causes_text(bench.create("ipaddresses", named(name), "")), "");
  EXPECT_EQ(causes_text(bench.create("ipaddresses", named("FE80::0:1"), "")),
            "metadata.name: Invalid value: \"FE80::0:1\": must be in canonical form (\"fe80::1\")");
  EXPECT_NE(causes_text(bench.create("ipaddresses", named("a.b"), "")).find("must be a valid IP address"),
            std::string::npos);
}

TEST(SelectableFields, AreThoseOfUpstream) {
  auto field_of = [](const char* group, const char* resource, std::string_view label, const char* json) {
    for (const auto& field : strategy_for(group, resource).selectable_fields)
      if (field.label == label) return field_text(parse(json).root(), field);
    return std::string("not selectable");
  };
  EXPECT_EQ(field_of("certificates.k8s.io", "certificatesigningrequests", "spec.signerName",
                     R"({"spec":{"signerName":"a/b"}})"),
            "a/b");
  EXPECT_EQ(field_of("", "events", "source", R"({"source":{"component":"old"},"reportingComponent":"new"})"), "old");
  EXPECT_EQ(field_of("", "events", "source", R"({"source":{},"reportingComponent":"new"})"), "new");
}

// A PKCS#10 request, a self-signed certificate, and a request for the group system:masters; PEM in base64.
constexpr std::string_view kRequest =
    "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURSBSRVFVRVNULS0tLS0KTUlIYk1JR0NBZ0VBTUNBeERUQUxCZ05WQkFvTUJIUmxZVzB4RHpB"
    "TkJnTlZCQU1NQm5kdmNtdGxjakJaTUJNRwpCeXFHU000OUFnRUdDQ3FHU000OUF3RUhBMElBQkxmQ1JYenpVdjdBSVhiV3FKNGtn"
    "VnJZRUVjNmFtcXdXVnFpCkIzZEVEazJROGJxM2tBdmtqbHZTdGFKYjBPZDdZSDd2Y0ZHWE4zSDlrVHExRytkUzU2dWdBREFLQmdn"
    "cWhrak8KUFFRREFnTklBREJGQWlBVzBhMEtIN1dYYk9PMmJRSktFdmYveUt2UE04Wk5WeEZkS3RFaWgxZ1FUUUloQUtXOApFQ3Bn"
    "aGhQMktHcnpHbzhWSGNoSVVEWUozV2NnWTFFUjhNSEdhK2gyCi0tLS0tRU5EIENFUlRJRklDQVRFIFJFUVVFU1QtLS0tLQo=";
constexpr std::string_view kCertificate =
    "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCk1JSUJlRENDQVIrZ0F3SUJBZ0lVSGxxQ3BmWFBja01Zak44NTVKbUtacTltbStR"
    "d0NnWUlLb1pJemowRUF3SXcKRVRFUE1BMEdBMVVFQXd3R2QyOXlhMlZ5TUNBWERUSTJNVEV5TVRFMk1Ua3dNbG9ZRHpJeE1qWXhN"
    "REk0TVRZeApPVEF5V2pBUk1ROHdEUVlEVlFRRERBWjNiM0pyWlhJd1dUQVRCZ2NxaGtqT1BRSUJCZ2dxaGtqT1BRTUJCd05DCkFB"
    "UUgxOURtN25xU3VwbDhNNHE5aiszZjNQcGhuOUpGVXRtUU9LdkZDZWJveXdZL0VUZ2V6N0IxYkl0SFM4ZmYKSkpXVk53eERlMElV"
    "YnVuSCt0QW1vMVZYbzFNd1VUQWRCZ05WSFE0RUZnUVVydjRFK3ZmVy84N212ZHF3ZVlvSwo2SW9EMkJVd0h3WURWUjBqQkJnd0Zv"
    "QVVydjRFK3ZmVy84N212ZHF3ZVlvSzZJb0QyQlV3RHdZRFZSMFRBUUgvCkJBVXdBd0VCL3pBS0JnZ3Foa2pPUFFRREFnTkhBREJF"
    "QWlCTkVPelRKWlMxM24rdmgrVHZUOExYbjhQR3BWYmUKWU1zaGlmS0pMWUxQTndJZ0VmcGpDYUNMYXZodk9IRFhuUEhNb3ZBaHgv"
    "TEF6cjJvNThzenJiVSs4WkU9Ci0tLS0tRU5EIENFUlRJRklDQVRFLS0tLS0K";
constexpr std::string_view kMastersRequest =
    "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURSBSRVFVRVNULS0tLS0KTUlIak1JR0tBZ0VBTUNneEZ6QVZCZ05WQkFvTURuTjVjM1JsYlRw"
    "dFlYTjBaWEp6TVEwd0N3WURWUVFEREFSaQpiM056TUZrd0V3WUhLb1pJemowQ0FRWUlLb1pJemowREFRY0RRZ0FFSDh4VEdBNWsz"
    "OTg2RmhNdDlKazV6a1A5Ck5zQTZqMmpxYVliNnhLRDZvcjAwVmppeEVXeHV5dUFRL0U2cHFJVjFrelVNWEFWMnAramEwalI1djY1"
    "TCtxQUEKTUFvR0NDcUdTTTQ5QkFNQ0EwZ0FNRVVDSVFES3JGOHd0RTJoTFZSVDhGRUpwRjVTeHh4RUx4VG5DblJpQnlxcAo4Yk5Y"
    "b1FJZ0dkaHJHU3VaK3FwZWo4OEY2U0c1ZGxFZUh4MHowbXk2Z21PZ0VCZ3BPV2M9Ci0tLS0tRU5EIENFUlRJRklDQVRFIFJFUVVF"
    "U1QtLS0tLQo=";

std::string request_json(std::string_view more = {}, std::string_view pem = kRequest,
                         std::string_view signer = "example.com/signer") {
  return R"({"metadata":{"name":"r"},"spec":{"request":")" + std::string(pem) + R"(","signerName":")" +
         std::string(signer) + R"(","usages":["client auth"],"username":"somebody"})" + std::string(more) + "}";
}

TEST(CertificateSigningRequest, CarriesWhoAsksAndNoDecision) {
  KindBench bench;
  bench.user.name = "jane";
  bench.user.groups = {"dev"};
  auto made = bench.create("certificatesigningrequests",
                           request_json(R"(,"status":{"conditions":[{"type":"Approved","status":"True"}]})"), "");
  ASSERT_TRUE(made) << made.error();
  EXPECT_EQ(made.root()["spec"]["username"].text(), "jane");
  EXPECT_EQ(made.root()["spec"]["groups"].to_json(), R"(["dev"])");
  EXPECT_TRUE(made.root()["status"].empty());
  EXPECT_EQ(
      causes_text(bench.create("certificatesigningrequests", request_json({}, kCertificate), "")),
      "spec.request: Invalid value: \"" + std::string(kCertificate) + "\": PEM block type must be CERTIFICATE REQUEST");
  EXPECT_EQ(bench
                .create("certificatesigningrequests",
                        request_json({}, kMastersRequest, "kubernetes.io/kube-apiserver-client"), "")
                .error(),
            "certificatesigningrequests.certificates.k8s.io \"r\" is forbidden: use of "
            "kubernetes.io/kube-apiserver-client signer with system:masters group is not allowed");
}

TEST(CertificateSigningRequest, DecisionsAndCertificatesHaveTheirOwnDoors) {
  KindBench bench;
  const auto update = [&](std::string_view status, std::string_view old, std::string_view door) {
    return bench.update("certificatesigningrequests", request_json(R"(,"status":)" + std::string(status)),
                        request_json(R"(,"status":)" + std::string(old)), door, "");
  };
  const std::string approved = R"({"conditions":[{"type":"Approved","status":"True","lastUpdateTime":)"
                               R"("2023-01-01T00:00:00Z","lastTransitionTime":"2023-01-01T00:00:00Z"}]})";
  EXPECT_EQ(causes_text(update(approved, "{}", "status")),
            "status.conditions: Forbidden: updates may not add a condition of type \"Approved\"");
  auto approval =
      update(R"({"conditions":[{"type":"Approved","status":"True"}],"certificate":"YQ=="})", "{}", "approval");
  ASSERT_TRUE(approval) << causes_text(approval);
  EXPECT_EQ(approval.root()["status"].to_json(),
            R"({"conditions":[{"type":"Approved","status":"True","lastUpdateTime":"2023-11-14T22:13:20Z",)"
            R"("lastTransitionTime":"2023-11-14T22:13:20Z"}]})");
  EXPECT_EQ(causes_text(update("{}", approved, "approval")),
            "status.conditions: Forbidden: updates may not remove a condition of type \"Approved\"");
  EXPECT_EQ(
      causes_text(update(R"({"conditions":[{"type":"Approved","status":"True"},{"type":"Denied","status":"True"}]})",
                         approved, "approval")),
      "status.conditions: Invalid value: \"Denied\": Approved and Denied conditions are mutually exclusive");
  const std::string issued = R"({"certificate":")" + std::string(kCertificate) + "\"}";
  EXPECT_TRUE(update(issued, "{}", "status"));
  EXPECT_EQ(
      causes_text(update(R"({"certificate":"YQ=="})", "{}", "status")),
      "status.certificate: Invalid value: \"<certificate data>\": must contain at least one CERTIFICATE PEM block");
  EXPECT_EQ(causes_text(update("{}", issued, "status")),
            "status.certificate: Forbidden: updates may not modify existing certificate content");
}

}  // namespace
}  // namespace sublet::apiserver
