// Pseudo names of nodes: the names themselves, and each place of what crosses in which a node is named, both ways.
#include "sublet/syncer/node_names.h"

#include <gtest/gtest.h>

#include <set>
#include <vector>

#include "sublet/schema/engine.h"
#include "syncer/translate/custom.h"
#include "syncer/translate/rewrites.h"
#include "syncer/translate/translate_testing.h"

namespace sublet::syncer {
namespace {

using schema::Document;
using schema::Value;

constexpr const char* kNode = "gpu-1.rack-7.corp.example";  // its own hostname label, address and short name

std::shared_ptr<NodeNames> names_of_two() {
  auto names = std::make_shared<NodeNames>("key");
  names->know({kNode, "gpu-1-label", {"10.20.30.40", "fd00::40", "GPU-1.corp.example"}});
  names->know({"7", "7", {"10.20.30.41"}});
  return names;
}

// user-pain, F4: names of any length.
TEST(NodeNames, AreLabelsThatTellNothingAndStayTheSame) {
  const NodeNames names("key"), again("key"), other("other key");
  std::set<std::string> all;
  for (int i = 0; i < 20'000; ++i) {
    const std::string host = (i % 2 == 0 ? "node-" : std::string(240, 'n') + "-") + std::to_string(i);
    const std::string name = names.to_tenant(host);
    EXPECT_EQ(name.size(), 31u);
    EXPECT_TRUE(name.starts_with("node-") && name.find('.') == std::string::npos) << name;
    EXPECT_EQ(name, again.to_tenant(host));
    EXPECT_NE(name, other.to_tenant(host)) << "without the key nobody makes it";
    EXPECT_TRUE(all.insert(name).second);
  }
  EXPECT_EQ(names.to_tenant(""), "") << "no node is none";
  SeededRandom random(1);
  EXPECT_EQ(NodeNames::new_key(random).size(), 64u);
  EXPECT_NE(NodeNames::new_key(random), NodeNames::new_key(random));
}

TEST(NodeNames, BackAreLookedUpAndAnUnknownOneIsNoNodes) {
  const auto names = names_of_two();
  const std::string name = names->to_tenant(kNode);
  EXPECT_EQ(names->to_host(name), kNode);
  EXPECT_EQ(names->value_to_host("kubernetes.io/hostname", name), "gpu-1-label");
  EXPECT_EQ(names->value_to_host("metadata.name", name), kNode);
  for (const std::string guess : {kNode, "gpu-1-label", "7", "node-aaaaaaaaaaaaaaaaaaaaaaaaaa"}) {
    const std::string nobody = names->value_to_host("kubernetes.io/hostname", guess);
    EXPECT_TRUE(nobody.starts_with("none-") && nobody.size() == 31) << nobody;
    EXPECT_EQ(names->to_host(guess), names->to_host(guess)) << "a hash is taken of it";
    EXPECT_FALSE(names->is_known(guess));
  }
  EXPECT_EQ(names->value_to_host("topology.kubernetes.io/zone", "a"), "a");
  EXPECT_EQ(names->value_to_host("topology.kubernetes.io/rack", name), kNode);
  EXPECT_NE(names->value_to_host("topology.kubernetes.io/rack", kNode), kNode) << "a guess must match nothing";
}

TEST(NodeNames, OfTheHostAreTheSameBothWays) {
  NodeNames names;
  names.know({kNode});
  EXPECT_EQ(names.to_tenant(kNode), kNode);
  EXPECT_EQ(names.object_to_tenant("gpu-1-slice"), "gpu-1-slice");
  EXPECT_EQ(names.value_to_tenant(kNode), kNode);
  EXPECT_EQ(names.in_text(std::string("on ") + kNode), std::string("on ") + kNode);
  EXPECT_EQ(names.to_host("any"), "any");
  EXPECT_EQ(names.value_to_host("kubernetes.io/hostname", "any"), "any");
  EXPECT_TRUE(names.is_known("any"));
}

TEST(NodeNames, ValuesThatHoldANameMeanNothing) {
  const auto names = names_of_two();
  EXPECT_EQ(names->value_to_tenant(kNode), names->to_tenant(kNode));
  EXPECT_EQ(names->value_to_tenant("10.20.30.40"), names->to_tenant(kNode));
  for (const std::string value : {"pv-gpu-1", "gpu-1-label.zone", "disk_GPU-1", "local.7"}) {
    const std::string hidden = names->value_to_tenant(value);
    EXPECT_TRUE(hidden.starts_with("hidden-") && hidden.size() <= 63) << value << " " << hidden;
  }
  for (const std::string& value :
       std::vector<std::string>{"gpu-12", "gpu", "17", "a7", "zone-a", names->to_tenant("7")})
    EXPECT_EQ(names->value_to_tenant(value), value);
  EXPECT_NE(names->value_to_tenant("pv-gpu-1"), names->value_to_tenant("pw-gpu-1"));
}

TEST(NodeNames, InTextsAreReplacedButForTheTenantsOwnWords) {
  const auto names = names_of_two();
  const std::string name = names->to_tenant(kNode), seven = names->to_tenant("7");
  const auto told = [&](const std::string& text) { return names->in_text(text, "team/train-gpu-1"); };
  EXPECT_EQ(told(std::string("Successfully assigned team/train-gpu-1 to ") + kNode),
            "Successfully assigned team/train-gpu-1 to " + name);
  EXPECT_EQ(told("Get \"https://10.20.30.40:10250/x\": dial tcp [fd00::40]:10250"),
            "Get \"https://" + name + ":10250/x\": dial tcp [" + name + "]:10250");
  EXPECT_EQ(told("node gpu-1 and node \"GPU-1.corp.example\". On gpu-1."),
            "node " + name + " and node \"" + name + "\". On " + name + ".");
  EXPECT_EQ(told("csi.driver_gpu-1_0"), "csi.driver_" + name + "_0");
  EXPECT_EQ(told("on node 7, not 17 or 7a"), "on node " + seven + ", not 17 or 7a");
  EXPECT_EQ(told("0/3 nodes are available: 1 Insufficient cpu, gpu-12"),
            "0/3 nodes are available: 1 Insufficient cpu, gpu-12");
  EXPECT_EQ(told(told(std::string("at ") + kNode)), "at " + name) << "once is enough";
  // A tenant could else ask by its own words whether a node is called so.
  EXPECT_EQ(told("Pulling image \"gpu-1\", restarting container gpu-1 in pod gpu-1"),
            "Pulling image \"gpu-1\", restarting container gpu-1 in pod gpu-1");
}

TEST(NodeNames, AnAddressAloneStaysOneButNobodys) {
  const auto names = names_of_two();
  EXPECT_EQ(names->member_to_tenant("10.20.30.40"), "0.0.0.0");
  EXPECT_EQ(names->member_to_tenant("FD00::40"), "::");
  EXPECT_EQ(names->member_to_tenant("10.20.30.99"), "10.20.30.99");
  EXPECT_EQ(names->member_to_tenant("10.20.30.40:80"), names->to_tenant(kNode) + ":80");
}

TEST(NodeNames, OneThatIsGoneIsKnownForLongAndAnAddressIsItsNextOwners) {
  NodeNames names("key");
  names.know({"a1", "", {"10.0.0.1"}});
  names.note_gone("a1");
  EXPECT_EQ(names.to_host(names.to_tenant("a1")), "a1");
  names.know({"b1", "", {"10.0.0.1"}});
  EXPECT_EQ(names.in_text("10.0.0.1"), names.to_tenant("b1"));
  names.know({"b1", "", {"10.0.0.2"}});
  EXPECT_EQ(names.in_text("10.0.0.1"), "10.0.0.1");
  for (int i = 0; i < 4100; ++i) {
    names.know({"n" + std::to_string(i)});
    names.note_gone("n" + std::to_string(i));
  }
  EXPECT_FALSE(names.is_known(names.to_tenant("a1"))) << "but not for ever";
  EXPECT_TRUE(names.is_known(names.to_tenant("b1"))) << "which one that is there is";
  names.meet("new");
  EXPECT_TRUE(names.is_known(names.to_tenant("new")));
}

class PseudoNodes : public testing::Test {
 protected:
  PseudoNodes() { configure("sync: {fromHost: {nodes: {pseudoNames: true}}}\n"); }
  void configure(const std::string& yaml) {
    const auto loaded = patches::Template::load(yaml, "t.yaml");
    ASSERT_TRUE(loaded) << loaded.error().message;
    context.virtual_cluster = "rag";
    context.virtual_cluster_uid = "vc-uid";
    context.host_namespace = "team";
    context.host_service_account = "workload";
    context.api_server_host = "10.1.2.3";
    context.api_server_port = "443";
    context.resolved_template = loaded->resolve({}, "rag", "team").value();
    context.node_names = names_of_two();
  }
  static Document pod(const std::string& spec, const std::string& container = "") {
    return yaml_document("{apiVersion: v1, kind: Pod, metadata: {name: web, namespace: shop, uid: u}, spec: {" + spec +
                         (spec.empty() ? "" : ", ") + "containers: [{name: c, image: i" + container + "}]}}");
  }
  /// Of the host pod, or of the refusal its first message.
  std::string crossed(const Document& tenant_pod, std::string_view path, Operation operation = Operation::create) {
    const auto translated = translate(context, "Pod", tenant_pod.root(), operation);
    if (!translated) return translated.error().causes.front().message;
    return translated->host_object.root().path(path).to_json();
  }
  std::string came(std::string_view rows, const std::string& yaml) {
    const std::string text = carry_back(rows, yaml_document(yaml).root(), Value(), context).to_json();
    for (const char* word : {"gpu-1", "10.20.30", "rack-7", "fd00"})
      EXPECT_EQ(text.find(word), std::string::npos) << word << " in " << text;
    return text;
  }
  std::string none(std::string_view value) const { return context.node_names->to_host(value); }

  TranslateContext context;
  const std::string name = names_of_two()->to_tenant(kNode), seven = names_of_two()->to_tenant("7");
};

TEST_F(PseudoNodes, PodsChooseThemByTheTenantsNames) {
  const std::string affinity = "spec.affinity.nodeAffinity";
  EXPECT_EQ(crossed(pod("nodeSelector: {kubernetes.io/hostname: " + name + "}"), "spec.nodeSelector"),
            R"({"kubernetes.io/hostname":"gpu-1-label"})");
  EXPECT_EQ(crossed(pod("nodeSelector: {kubernetes.io/hostname: gpu-1-label}"), "spec.nodeSelector"),
            R"({"kubernetes.io/hostname":")" + none("gpu-1-label") + "\"}");
  const auto required = [&](const std::string& term) {
    return pod("affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{" +
               term + "}]}}}");
  };
  const std::string terms = affinity + ".requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms";
  const auto by_field =
      required("matchFields: [{key: metadata.name, operator: In, values: [" + name + ", " + kNode + "]}]");
  EXPECT_EQ(crossed(by_field, terms), R"([{"matchFields":[{"key":"metadata.name","operator":"In","values":[")" +
                                          std::string(kNode) + "\",\"" + none(kNode) + "\"]}]}]");
  EXPECT_EQ(
      crossed(required("matchExpressions: [{key: kubernetes.io/hostname, operator: NotIn, values: [" + name + "]}]"),
              terms),
      R"([{"matchExpressions":[{"key":"kubernetes.io/hostname","operator":"NotIn","values":["gpu-1-label"]}]}])");
  EXPECT_EQ(crossed(required("matchExpressions: [{key: kubernetes.io/hostname, operator: Exists}]"), terms),
            R"([{"matchExpressions":[{"key":"kubernetes.io/hostname","operator":"Exists"}]}])");
  EXPECT_EQ(
      crossed(required("matchExpressions: [{key: kubernetes.io/hostname, operator: Gt, values: ['6']}]"), terms),
      R"([{"matchExpressions":[{"key":"kubernetes.io/hostname","operator":"In","values":[")" + none("6") + R"("]}]}])")
      << "names that are numbers would be found out by halves";
  EXPECT_EQ(
      crossed(pod("affinity: {nodeAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 1, preference: "
                  "{matchExpressions: [{key: topology.kubernetes.io/zone, operator: In, values: [a, " +
                  name + ", '7']}]}}]}}"),
              affinity + ".preferredDuringSchedulingIgnoredDuringExecution"),
      R"([{"weight":1,"preference":{"matchExpressions":[{"key":"topology.kubernetes.io/zone","operator":"In","values":["a",")" +
          std::string(kNode) + "\",\"" + none("7") + R"("]}]}}])");
}

TEST_F(PseudoNodes, WhatTheTemplateChoosesThemByIsNotTold) {
  configure(
      "sync: {fromHost: {nodes: {pseudoNames: true, selector: {labels: {kubernetes.io/hostname: gpu-1-label}}}}}\n");
  EXPECT_EQ(crossed(pod("nodeSelector: {kubernetes.io/hostname: " + name + "}"), "spec.nodeSelector"),
            R"({"kubernetes.io/hostname":"gpu-1-label"})");
  EXPECT_EQ(crossed(pod("nodeSelector: {kubernetes.io/hostname: " + seven + "}"), "spec.nodeSelector"),
            "this virtual cluster has only nodes with another value of kubernetes.io/hostname");
  context.node_names = nullptr;  // as the tenant's API server: it cannot tell
  EXPECT_EQ(crossed(pod("nodeSelector: {kubernetes.io/hostname: " + name + "}"), "spec.nodeSelector"),
            R"({"kubernetes.io/hostname":"gpu-1-label"})");
}

TEST_F(PseudoNodes, WhatNoNodeCanMeetIsSaidBeforeItCrosses) {
  const auto missing = [&](const std::string& spec) { return missing_nodes(context, pod(spec).root()); };
  const auto terms = [](const std::string& text) {
    return "affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [" + text +
           "]}}}";
  };
  const std::string field = "{matchFields: [{key: metadata.name, operator: In, values: [";
  EXPECT_TRUE(missing("").empty());
  EXPECT_TRUE(missing("nodeSelector: {kubernetes.io/hostname: " + name + "}").empty());
  EXPECT_EQ(missing("nodeSelector: {kubernetes.io/hostname: " + std::string(kNode) + "}"),
            std::vector<std::string>{kNode});
  EXPECT_EQ(missing(terms(field + "x]}]}")), std::vector<std::string>{"x"});
  EXPECT_TRUE(missing(terms(field + "x, " + name + "]}]}")).empty()) << "one of them is there";
  EXPECT_TRUE(missing(terms(field + "x]}]}, {matchExpressions: [{key: a, operator: Exists}]}")).empty())
      << "another way";
  EXPECT_TRUE(missing(terms("{matchFields: [{key: metadata.name, operator: NotIn, values: [x]}]}")).empty());
  context.node_names = nullptr;
  configure("{}\n");
  context.node_names = nullptr;
  EXPECT_TRUE(missing("nodeSelector: {kubernetes.io/hostname: any}").empty()) << "the host's scheduler says it";
}

TEST_F(PseudoNodes, APodIsToldItsNodeOnlyWhereThatIsKnown) {
  const std::string env = ", env: [{name: NODE, valueFrom: {fieldRef: {fieldPath: spec.nodeName}}}]";
  const std::string env_at = "spec.containers";
  EXPECT_NE(crossed(pod("", env), env_at).find("spec.nodeName is answered for pods that can only go to one node"),
            std::string::npos);
  const std::string daemon =
      "affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchFields: "
      "[{key: metadata.name, operator: In, values: [" +
      name + "]}]}]}}}";
  for (const std::string& spec : {daemon, "nodeSelector: {kubernetes.io/hostname: " + name + "}", "nodeName: " + name})
    EXPECT_NE(crossed(pod(spec, env), env_at, Operation::update).find(R"({"name":"NODE","value":")" + name + "\"}"),
              std::string::npos)
        << spec;
  const std::string volume = "volumes: [{name: v, downwardAPI: {items: [{path: p, fieldRef: {fieldPath: ";
  EXPECT_NE(crossed(pod(volume + "spec.nodeName}}]}}]"), env_at).find("would be answered by the node"),
            std::string::npos);
  EXPECT_NE(crossed(pod(volume + "spec.nodeName}}]}}], " + daemon), "metadata.annotations").find(name),
            std::string::npos);
  for (const char* fact : {"status.hostIP", "status.hostIPs"}) {
    EXPECT_NE(crossed(pod(daemon, ", env: [{name: A, valueFrom: {fieldRef: {fieldPath: " + std::string(fact) + "}}}]"),
                      env_at)
                  .find("would be answered by the node"),
              std::string::npos);
  }
  configure("{}\n");
  context.node_names = nullptr;
  EXPECT_NE(crossed(pod("", env), env_at).find("fieldRef"), std::string::npos)
      << "where names are the host's, it answers";
}

TEST_F(PseudoNodes, NodesComeWithoutWhatTellsThemApartOnTheHost) {
  const std::string node = came(
      "Node",
      "{metadata: {name: " + std::string(kNode) +
          ", labels: {kubernetes.io/hostname: gpu-1-label, topology.kubernetes.io/zone: a, "
          "topology.kubernetes.io/rack: "
          "gpu-1, topology.kubernetes.io/host: at-gpu-1-label, topology.kubernetes.io/gpu-1: x}}, spec: {podCIDR: "
          "10.244.1.0/24, podCIDRs: [10.244.1.0/24], providerID: 'aws:///gpu-1', taints: [{key: k, value: gpu-1, "
          "effect: "
          "NoSchedule}]}, status: {addresses: [{type: InternalIP, address: 10.20.30.40}, {type: Hostname, address: "
          "gpu-1.corp.example}, {type: ExternalDNS, address: gpu-1.example.com}], conditions: [{type: Ready, message: "
          "'kubelet of gpu-1 is posting'}], nodeInfo: {machineID: m, systemUUID: s, bootID: b}}}");
  EXPECT_EQ(node, R"({"metadata":{"name":")" + name + R"(","labels":{"kubernetes.io/hostname":")" + name +
                      R"(","topology.kubernetes.io/zone":"a","topology.kubernetes.io/rack":")" + name +
                      R"(","topology.kubernetes.io/host":")" + names_of_two()->value_to_tenant("at-gpu-1-label") +
                      R"("}},"spec":{"taints":[{"key":"k","value":")" + name +
                      R"(","effect":"NoSchedule"}]},"status":{"addresses":[{"type":"Hostname","address":")" + name +
                      R"("}],"conditions":[{"type":"Ready","message":"kubelet of )" + name +
                      R"( is posting"}],"nodeInfo":{"machineID":"","systemUUID":"","bootID":""}}})");
}

TEST_F(PseudoNodes, AndSoDoesAllElseThatNamesOne) {
  const std::string host = kNode;
  EXPECT_EQ(came("PodStatus",
                 "{phase: Running, hostIP: 10.20.30.40, hostIPs: [{ip: 10.20.30.40}], podIP: 10.244.1.7, "
                 "nominatedNodeName: " +
                     host + "}"),
            R"({"phase":"Running","podIP":"10.244.1.7","nominatedNodeName":")" + name + "\"}");
  const auto told =
      carry_back("PodStatus",
                 yaml_document("{containerStatuses: [{name: c, allocatedResourcesStatus: [{name: r, resources: "
                               "[{resourceID: d/" +
                               host + "/gpu-0, health: Healthy, message: lost by gpu-1}]}]}]}")
                     .root(),
                 yaml_document("{spec: {containers: [{name: c}]}}").root(), context);
  EXPECT_EQ(told["containerStatuses"].at(0)["allocatedResourcesStatus"].at(0)["resources"].to_json(),
            R"([{"resourceID":"d/)" + name + R"(/gpu-0","health":"Healthy","message":"lost by )" + name + "\"}]");
  EXPECT_EQ(came("Event", "{source: {component: kubelet, host: " + host +
                              "}, reportingComponent: kubelet, reportingInstance: " + host + "}"),
            R"({"source":{"component":"kubelet","host":")" + name +
                R"("},"reportingComponent":"kubelet","reportingInstance":")" + name + "\"}");
  EXPECT_EQ(came("Event",
                 "{source: {component: csi_gpu-1_0}, reportingComponent: default-scheduler, reportingInstance: "
                 "default-scheduler-gpu-1}"),
            R"({"source":{"component":"csi_)" + name +
                R"(_0"},"reportingComponent":"default-scheduler","reportingInstance":"default-scheduler"})");
  EXPECT_EQ(came("CSINode", "{metadata: {name: " + host +
                                ", labels: {a: gpu-1}}, spec: {drivers: [{name: d, nodeID: i-gpu-1, "
                                "topologyKeys: [k]}]}}"),
            R"({"metadata":{"name":")" + name + R"(","labels":{"a":")" + name +
                R"("}},"spec":{"drivers":[{"name":"d","nodeID":"hidden","topologyKeys":["k"]}]}})");
  const std::string slice =
      came("ResourceSlice",
           "{metadata: {name: gpu-1-slice}, spec: {nodeName: " + host + ", pool: {name: " + host +
               "}, devices: [{name: gpu-0, nodeName: " + host +
               ", attributes: {a: {string: gpu-1}, b: {strings: [x-gpu-1, y]}}, taints: [{key: k, value: gpu-1}]}]}}");
  EXPECT_NE(slice.find(R"("nodeName":")" + name + R"(","pool":{"name":")" + name), std::string::npos) << slice;
  EXPECT_NE(slice.find(R"("name":"object-)"), std::string::npos) << slice;
  EXPECT_EQ(came("ResourceClaimStatus",
                 "{allocation: {nodeSelector: {nodeSelectorTerms: []}, devices: {results: [{pool: " + host +
                     ", device: gpu-0}]}}, devices: [{pool: " + host + "}]}"),
            R"({"allocation":{"devices":{"results":[{"pool":")" + name +
                R"(","device":"gpu-0"}]}},"devices":[{"pool":")" + name + R"("}]})");
  EXPECT_EQ(came("HostStorageClass",
                 "{metadata: {name: local}, allowedTopologies: [{matchLabelExpressions: [{key: "
                 "kubernetes.io/hostname, values: [gpu-1-label]}]}]}")
                    .find(name) != std::string::npos,
            true);
}

TEST_F(PseudoNodes, SoDoesWhatAnotherKindOfTheHostsSays) {
  const auto shown =
      mirror_custom({},
                    yaml_document("{metadata: {name: w, labels: {a: gpu-1}}, spec: {hosts: [gpu-1, {at: 10.20.30.40}], "
                                  "size: 3}, status: {message: 'runs on gpu-1'}}")
                        .root(),
                    context);
  EXPECT_EQ(shown.to_json(), R"({"metadata":{"name":"w","labels":{"a":")" + name + R"("}},"spec":{"hosts":[")" + name +
                                 R"(",{"at":"0.0.0.0"}],"size":3},"status":{"message":"runs on )" + name + R"("}})");
}

TEST_F(PseudoNodes, ATenantsClassNamesNodesByItsOwnNames) {
  configure(
      "sync: {toHost: {storageClasses: {enabled: true}}, fromHost: {nodes: {pseudoNames: true}}}\n"
      "allow: {storageClasses: {provisioners: ['*']}}\n");
  const auto object = yaml_document(
      "{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: s, uid: u}, provisioner: p, "
      "allowedTopologies: [{matchLabelExpressions: [{key: kubernetes.io/hostname, values: [" +
      name + ", " + kNode + "]}]}]}");
  const auto translated = translate(context, "StorageClass", object.root(), Operation::create);
  ASSERT_TRUE(translated);
  EXPECT_EQ(translated->host_object["allowedTopologies"].to_json(),
            R"([{"matchLabelExpressions":[{"key":"kubernetes.io/hostname","values":["gpu-1-label",")" + none(kNode) +
                R"("]}]}])");
}

}  // namespace
}  // namespace sublet::syncer
