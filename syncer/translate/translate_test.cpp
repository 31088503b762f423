#include "sublet/syncer/translate.h"

#include <gtest/gtest.h>

#include "sublet/net/digest.h"
#include "sublet/schema/engine.h"
#include "syncer/translate/field_check.h"
#include "syncer/translate/names.h"
#include "syncer/translate/pod_environment.h"
#include "syncer/translate/translate_testing.h"
#include "syncer/translate/translation.h"

namespace sublet::syncer {
namespace {

using schema::Document;
using schema::Value;

// A tenant pod in YAML spec lines, with metadata of its own.
Document tenant_pod(const std::string& spec, const std::string& metadata = "") {
  const std::string yaml =
      "apiVersion: v1\nkind: Pod\nmetadata:\n  name: ollama\n  namespace: ai-team\n  uid: pod-uid\n" + metadata +
      "spec:\n  containers:\n  - name: main\n    image: ollama/ollama\n" + spec;
  return yaml_document(yaml);
}

Translated translated(const Document& object, std::string_view kind = "Pod",
                      const TranslateContext& context = rag_context()) {
  auto result = translate(context, kind, object.root(), Operation::create);
  if (result) return std::move(*result);
  for (const Cause& cause : result.error().causes) ADD_FAILURE() << cause.field << ": " << cause.message;
  return {};
}

// The fields that a refused object is refused for.
std::vector<std::string> denied_fields(const Document& object, Operation operation = Operation::create) {
  const auto result = translate(rag_context(), "Pod", object.root(), operation);
  std::vector<std::string> fields;
  if (!result)
    for (const Cause& cause : result.error().causes) fields.push_back(cause.field);
  return fields;
}

using Fields = std::vector<std::string>;

std::string value_of(const Value& env, std::string_view name) {
  for (const Value variable : env)
    if (variable["name"].text() == name) return variable.to_json();
  return "";
}

// user-pain, demand 14: whose a pod is stands on the host's pod, where exporters of GPU metrics read labels.
TEST(TranslatePod, NamesLabelsAndIdentityOnTheHost) {
  const Document tenant = tenant_pod(
      "  serviceAccountName: builder\n  automountServiceAccountToken: true\n  priorityClassName: high\n  priority: "
      "100\n",
      "  labels: {app: web}\n  annotations: {note: x}\n  ownerReferences: [{uid: o}]\n  finalizers: [a/b]\n");
  const Translated out = translated(tenant);
  const Value host = out.host_object.root();
  EXPECT_EQ(host["metadata"]["name"].text(), "ollama-x-ai-team-x-rag");
  EXPECT_EQ(host["metadata"]["namespace"].text(), "team-rag");
  EXPECT_EQ(
      host["metadata"]["labels"].to_json(),
      R"({"t.sublet.dev/app":"web","sublet.dev/managed-by":"rag","sublet.dev/virtual-cluster-uid":"vc-uid","sublet.dev/tenant-namespace":"ai-team"})");
  EXPECT_FALSE(host["metadata"]["annotations"].has("note"));
  EXPECT_EQ(host["metadata"]["annotations"][kAnnotationTenantUid].text(), "pod-uid");
  EXPECT_EQ(host["metadata"]["annotations"][kAnnotationWritten].text(), "h:" + out.desired_hash);
  for (const char* gone : {"uid", "ownerReferences", "finalizers"}) EXPECT_FALSE(host["metadata"].has(gone)) << gone;
  const Value spec = host["spec"];
  EXPECT_EQ(spec["serviceAccountName"].text(), "sublet-workload-rag");
  EXPECT_FALSE(spec["automountServiceAccountToken"].boolean(true));
  EXPECT_FALSE(spec["enableServiceLinks"].boolean(true));
  EXPECT_EQ(spec["hostname"].text(), "ollama");
  EXPECT_EQ(spec["dnsPolicy"].text(), "Default");
  for (const char* gone : {"priorityClassName", "priority", "nodeName", "serviceAccount"})
    EXPECT_FALSE(spec.has(gone)) << gone;
}

TEST(TranslatePod, TellsContainersTheServicesBeforeTheirOwnVariables) {
  TranslateContext context = rag_context();
  context.service_environment = {{"DB_SERVICE_HOST", "10.9.9.9"}, {"WEB_PORT", "80"}};
  const Document tenant = tenant_pod("    env:\n    - {name: OWN, value: '1'}\n    - {name: WEB_PORT, value: mine}\n");
  const Translated out = translated(tenant, "Pod", context);
  const Value env = out.host_object.root()["spec"]["containers"].at(0)["env"];
  EXPECT_EQ(env.to_json(), R"([{"name":"DB_SERVICE_HOST","value":"10.9.9.9"},{"name":"OWN","value":"1"},)"
                           R"({"name":"WEB_PORT","value":"mine"}])");
}

// What a kubelet says of Service default/kubernetes stands once for all pods, and what a container says itself wins.
TEST(TranslatePod, ContainersTakeTheApiServersVariablesFromOneConfigMapFirst) {
  const TranslateContext context = rag_context();
  const Document tenant = tenant_pod(
      "    envFrom:\n    - configMapRef: {name: c1}\n  initContainers:\n  - {name: i, image: i}\n"
      "  enableServiceLinks: false\n");
  const Translated out = translated(tenant, "Pod", context);
  const Value spec = out.host_object.root()["spec"];
  const Document environment = make_host_environment(context);
  const std::string first = R"({"configMapRef":{"name":")" + environment["metadata"]["name"].string() + "\"}}";
  EXPECT_EQ(spec["containers"].at(0)["envFrom"].to_json(),
            "[" + first + R"(,{"configMapRef":{"name":"c1-x-ai-team-x-rag"}}])");
  EXPECT_EQ(spec["initContainers"].at(0)["envFrom"].to_json(), "[" + first + "]") << "with and without service links";
  EXPECT_EQ(environment["metadata"]["namespace"].text(), context.host_namespace);
  EXPECT_EQ(
      environment["data"].to_json(),
      R"({"KUBERNETES_PORT":"tcp://10.1.2.3:443","KUBERNETES_PORT_443_TCP":"tcp://10.1.2.3:443","KUBERNETES_PORT_443_TCP_ADDR":"10.1.2.3",)"
      R"("KUBERNETES_PORT_443_TCP_PORT":"443","KUBERNETES_PORT_443_TCP_PROTO":"tcp","KUBERNETES_SERVICE_HOST":"10.1.2.3",)"
      R"("KUBERNETES_SERVICE_PORT":"443","KUBERNETES_SERVICE_PORT_HTTPS":"443"})");
}

TEST(TranslatePod, RewritesEveryReferenceAndReportsIt) {
  const Document tenant = tenant_pod(
      "    envFrom:\n    - configMapRef: {name: c1}\n    - secretRef: {name: s4, optional: true}\n"
      "    env:\n    - {name: A, valueFrom: {configMapKeyRef: {name: c2, key: k}}}\n"
      "    - {name: B, valueFrom: {secretKeyRef: {name: s1, key: k}}}\n"
      "  imagePullSecrets: [{name: pull}]\n"
      "  volumes:\n  - {name: v1, configMap: {name: c1}}\n  - {name: v2, secret: {secretName: s2}}\n"
      "  - name: v3\n    projected:\n      sources:\n      - configMap: {name: kube-root-ca.crt, items: [{key: "
      "ca.crt, path: ca.crt}]}\n      - secret: {name: s3}\n");
  const Translated out = translated(tenant);
  const std::string json = out.host_object.to_json();
  for (const char* name : {"c1", "c2", "s1", "s2", "s3", "s4", "pull", "kube-root-ca.crt"})
    EXPECT_NE(json.find("\"" + std::string(name) + "-x-ai-team-x-rag\""), std::string::npos) << name << json;
  const std::vector<Reference> expected{{"ConfigMap", "c1"}, {"Secret", "s1"},
                                        {"ConfigMap", "c2"}, {"Secret", "pull", true},
                                        {"Secret", "s2"},    {"ConfigMap", "kube-root-ca.crt"},
                                        {"Secret", "s3"},    {"Secret", "s4", true}};
  ASSERT_EQ(out.references.size(), expected.size());
  for (const Reference& reference : expected)
    EXPECT_NE(std::find(out.references.begin(), out.references.end(), reference), out.references.end())
        << reference.tenant_name;
}

TEST(TranslatePod, TurnsTokenProjectionsIntoASecretOfTheTenant) {
  const Document tenant = tenant_pod(
      "  serviceAccountName: builder\n  volumes:\n  - name: kube-api-access-abcde\n    projected:\n      sources:\n"
      "      - serviceAccountToken: {path: token, expirationSeconds: 3607}\n      - serviceAccountToken: {path: "
      "vault, audience: vault}\n");
  const Translated out = translated(tenant);
  ASSERT_EQ(out.tokens.size(), 2u);
  EXPECT_EQ(out.tokens[0].service_account, "builder");
  EXPECT_EQ(out.tokens[0].expiration_seconds, 3607);
  EXPECT_EQ(out.tokens[1].audience, "vault");
  EXPECT_EQ(out.tokens[0].secret_name, host_token_secret_name(out.tokens[0].batch, "ai-team", "rag"));
  const Value sources = out.host_object.root()["spec"]["volumes"].at(0)["projected"]["sources"];
  EXPECT_EQ(sources.at(0).to_json(), "{\"secret\":{\"name\":\"" + out.tokens[0].secret_name +
                                         "\",\"items\":[{\"key\":\"" + out.tokens[0].secret_key +
                                         "\",\"path\":\"token\"}]}}");
  EXPECT_NE(out.tokens[0].secret_key, out.tokens[1].secret_key);
  EXPECT_EQ(out.host_object.to_json().find("serviceAccountToken\""), std::string::npos);
}

TEST(TranslatePod, AnswersTheDownwardApiWithTenantFacts) {
  const Document tenant = tenant_pod(
      "    env:\n    - {name: POD, valueFrom: {fieldRef: {fieldPath: metadata.name}}}\n"
      "    - {name: NS, valueFrom: {fieldRef: {fieldPath: metadata.namespace}}}\n"
      "    - {name: L, valueFrom: {fieldRef: {fieldPath: \"metadata.labels['app']\"}}}\n"
      "    - {name: A, valueFrom: {fieldRef: {fieldPath: \"metadata.annotations['note']\"}}}\n"
      "    - {name: IP, valueFrom: {fieldRef: {fieldPath: status.podIP}}}\n"
      "  volumes:\n  - name: d\n    downwardAPI:\n      items:\n      - {path: labels, fieldRef: {fieldPath: "
      "metadata.labels}}\n"
      "      - {path: name, fieldRef: {fieldPath: metadata.name}}\n"
      "      - {path: note, fieldRef: {fieldPath: \"metadata.annotations['note']\"}}\n"
      "      - {path: ns, fieldRef: {fieldPath: metadata.namespace}}\n"
      "      - {path: uid, fieldRef: {fieldPath: metadata.uid}}\n",
      "  labels: {app: web, b: c}\n  annotations: {note: 'cost $(HOME)'}\n");
  const Translated out = translated(tenant);
  const Value host = out.host_object.root();
  const Value env = host["spec"]["containers"].at(0)["env"];
  EXPECT_EQ(value_of(env, "POD"), R"({"name":"POD","value":"ollama"})");
  EXPECT_EQ(value_of(env, "NS"), R"({"name":"NS","value":"ai-team"})");
  EXPECT_EQ(value_of(env, "L"), R"({"name":"L","value":"web"})");
  EXPECT_EQ(value_of(env, "A"), R"x({"name":"A","value":"cost $$(HOME)"})x");
  EXPECT_EQ(value_of(env, "IP"), R"({"name":"IP","valueFrom":{"fieldRef":{"fieldPath":"status.podIP"}}})");
  EXPECT_EQ(host["metadata"]["annotations"]["sublet.dev/tenant-labels"].text(), "app=\"web\"\nb=\"c\"");
  const Value items = host["spec"]["volumes"].at(0)["downwardAPI"]["items"];
  EXPECT_EQ(items.at(0)["fieldRef"]["fieldPath"].text(), "metadata.annotations['sublet.dev/tenant-labels']");
  const std::string fact = "sublet.dev/fact-" + net::sha256_hex("metadata.annotations['note']", 16);
  EXPECT_EQ(items.at(2)["fieldRef"]["fieldPath"].text(), "metadata.annotations['" + fact + "']");
  EXPECT_EQ(host["metadata"]["annotations"][fact].text(), "cost $(HOME)");
  // Whose pod it is stands on the host's pod anyway.
  EXPECT_EQ(items.at(1)["fieldRef"]["fieldPath"].text(), "metadata.annotations['sublet.dev/tenant-name']");
  EXPECT_EQ(items.at(3)["fieldRef"]["fieldPath"].text(), "metadata.labels['sublet.dev/tenant-namespace']");
  EXPECT_EQ(items.at(4)["fieldRef"]["fieldPath"].text(), "metadata.annotations['sublet.dev/tenant-uid']");
}

TEST(TranslatePod, RefusesWhatReachesIntoTheNode) {
  EXPECT_EQ(denied_fields(tenant_pod("  hostNetwork: true\n  hostPID: true\n")),
            (Fields{"spec.hostNetwork", "spec.hostPID"}));
  EXPECT_EQ(denied_fields(tenant_pod("  hostNetwork: false\n")), Fields{});
  EXPECT_EQ(denied_fields(tenant_pod("  volumes: [{name: v, hostPath: {path: /}}]\n")),
            Fields{"spec.volumes[0].hostPath"});
  EXPECT_EQ(
      denied_fields(tenant_pod(
          "    securityContext: {privileged: true, procMount: Unmasked, capabilities: {add: [SYS_ADMIN, KILL]}}\n")),
      (Fields{"spec.containers[0].securityContext.privileged", "spec.containers[0].securityContext.procMount",
              "spec.containers[0].securityContext.capabilities"}));
  EXPECT_EQ(denied_fields(tenant_pod("    ports: [{containerPort: 80, hostPort: 80}]\n")),
            Fields{"spec.containers[0].ports[0].hostPort"});
  for (const std::string host :
       {"169.254.169.254", "localhost", "127.0.0.1", "'::1'"}) {  // the kubelet dials from the node
    EXPECT_EQ(denied_fields(tenant_pod("    livenessProbe: {httpGet: {host: " + host + ", port: 80}}\n")),
              Fields{"spec.containers[0].livenessProbe.httpGet.host"});
    EXPECT_EQ(denied_fields(tenant_pod("    startupProbe: {tcpSocket: {host: " + host + ", port: 80}}\n")),
              Fields{"spec.containers[0].startupProbe.tcpSocket.host"});
    EXPECT_EQ(denied_fields(tenant_pod("    lifecycle: {preStop: {httpGet: {host: " + host + ", port: 80}}}\n")),
              Fields{"spec.containers[0].lifecycle.preStop.httpGet.host"});
  }
  EXPECT_EQ(denied_fields(tenant_pod("    livenessProbe: {httpGet: {host: '', port: 80}}\n")), Fields{});
  EXPECT_EQ(denied_fields(tenant_pod("    volumeMounts: [{name: v, mountPath: /v, mountPropagation: Bidirectional}]\n"
                                     "  volumes: [{name: v, emptyDir: {}}]\n")),
            Fields{"spec.containers[0].volumeMounts[0].mountPropagation"});
  EXPECT_EQ(
      denied_fields(tenant_pod(
          "  securityContext: {seccompProfile: {type: Unconfined}, sysctls: [{name: kernel.msgmax, value: '1'}]}\n")),
      (Fields{"spec.securityContext.seccompProfile", "spec.securityContext.sysctls"}));
  EXPECT_EQ(denied_fields(tenant_pod("  nodeName: n1\n")), Fields{"spec.nodeName"});
  EXPECT_EQ(denied_fields(tenant_pod("  nodeName: n1\n"), Operation::update), Fields{});
  EXPECT_EQ(denied_fields(tenant_pod("  quantumEntanglement: true\n")), Fields{"spec.quantumEntanglement"});
  EXPECT_EQ(denied_fields(tenant_pod("    env: [{name: X, valueFrom: {fieldRef: {fieldPath: metadata.selfLink}}}]\n")),
            Fields{"spec.containers[0].env[0].valueFrom.fieldRef.fieldPath"});
}

TEST(TranslatePod, GoesWhereTheTenantsNodesAre) {
  TranslateContext context = rag_context();
  const auto loaded = patches::Template::load(
      "sync: {fromHost: {nodes: {selector: {labels: {team: legal}}}}}\n"
      "patches: [{name: p, target: Pod, effects: [{set: 'spec.nodeSelector[team]', value: other}]}]\n",
      "t.yaml");
  ASSERT_TRUE(loaded) << loaded.error().message;
  context.resolved_template = loaded->resolve({}, "rag", "team-rag").value();
  EXPECT_EQ(translated(tenant_pod("  nodeSelector: {kubernetes.io/arch: arm64}\n"), "Pod", context)
                .host_object["spec"]["nodeSelector"]
                .to_json(),
            R"({"kubernetes.io/arch":"arm64","team":"legal"})");
  const auto refused =
      translate(context, "Pod", tenant_pod("  nodeSelector: {team: other}\n").root(), Operation::create);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().causes.at(0).field, "spec.nodeSelector.team");
  EXPECT_EQ(refused.error().causes.at(0).message, "this virtual cluster has only nodes with team=legal");
}

TEST(TranslatePod, StripsKeysThatDecidePrivileges) {
  const Translated out = translated(
      tenant_pod("    env: [{name: NVIDIA_VISIBLE_DEVICES, value: all}]\n  tolerations: [{operator: Exists}, {key: "
                 "nvidia.com/gpu, operator: Exists}]\n",
                 "  labels: {kai.scheduler/queue: boss, runai-gpu-group: g, sublet.dev/managed-by: other, "
                 "hami.io/webhook: ignore, app: web}\n"
                 "  annotations: {pod-group-name: p, runai-gpu-group/a: b}\n"));
  const Value metadata = out.host_object.root()["metadata"];
  EXPECT_EQ(metadata["labels"].size(), 7u) << metadata["labels"].to_json();
  EXPECT_EQ(metadata["labels"]["tp.sublet.dev/kai.scheduler_queue"].text(), "boss");
  EXPECT_EQ(metadata["labels"]["tp.sublet.dev/sublet.dev_managed-by"].text(), "other");
  EXPECT_FALSE(metadata["labels"].has("kai.scheduler/queue"));
  EXPECT_EQ(metadata["labels"][kLabelManagedBy].text(), "rag");
  EXPECT_FALSE(metadata["annotations"].has("pod-group-name"));
  EXPECT_FALSE(metadata["annotations"].has("runai-gpu-group/a"));
  EXPECT_EQ(value_of(out.host_object.root()["spec"]["containers"].at(0)["env"], "NVIDIA_VISIBLE_DEVICES"), "");
  EXPECT_FALSE(out.host_object.root()["spec"].has("tolerations"));
  EXPECT_EQ(out.warnings.size(), 3u);
}

TEST(TranslatePod, WarnsOfAPriorityThatTheHostDoesNotKnow) {
  EXPECT_EQ(
      translated(tenant_pod("  priorityClassName: system-node-critical\n  priority: 2000001000\n")).warnings,
      std::vector<std::string>{"spec.priorityClassName: priorities are the platform's: on the host the pod has the "
                               "host's default priority"});
  EXPECT_TRUE(translated(tenant_pod("  priority: 0\n")).warnings.empty());
}

// A template that tries to get around the border.
class Rogue final : public patches::ResolvedTemplate {
 public:
  const patches::SyncConfig& config() const override { return config_; }
  patches::PatchReport apply(std::string_view, Value object, const Value&,
                             const patches::PatchContext&) const override {
    object["spec"].put("serviceAccountName", "cluster-admin");
    object["spec"].put("automountServiceAccountToken", true);
    object["metadata"].put("name", "other");
    object["metadata"]["labels"].put("runai-gpu-group", "stolen");
    object["metadata"]["labels"].put("kai.scheduler/queue", "rag");
    object["metadata"]["labels"].put(kLabelTenantUid, "other");
    return {{"rogue"}, {"told"}, {}};
  }

 private:
  patches::SyncConfig config_;
};

TEST(TranslatePod, PatchesCannotGetAroundTheBorder) {
  TranslateContext context = rag_context();
  context.resolved_template = std::make_shared<Rogue>();
  const Translated out = translated(tenant_pod(""), "Pod", context);
  const Value host = out.host_object.root();
  EXPECT_EQ(host["spec"]["serviceAccountName"].text(), "sublet-workload-rag");
  EXPECT_FALSE(host["spec"]["automountServiceAccountToken"].boolean(true));
  EXPECT_EQ(host["metadata"]["name"].text(), "ollama-x-ai-team-x-rag");
  EXPECT_FALSE(host["metadata"]["labels"].has("runai-gpu-group"));
  EXPECT_EQ(host["metadata"]["labels"][kLabelTenantUid].text(), "vc-uid");
  EXPECT_EQ(host["metadata"]["labels"]["kai.scheduler/queue"].text(), "rag");
  EXPECT_EQ(out.warnings, std::vector<std::string>{"told"});
}

TEST(TranslatePod, HostNamesAreTheKubelets) {
  const auto names = [](const std::string& name, const std::string& spec = "") {
    Document pod = tenant_pod(spec);
    pod.root()["metadata"].put("name", name);
    const Translated out = translated(pod);
    const Value host = out.host_object.root()["spec"];
    return host["hostname"].string() + " " + host["hostnameOverride"].string("-");
  };
  EXPECT_EQ(names("web-0"), "web-0 -");
  EXPECT_EQ(names("my.pod.name"), "my-pod-name my.pod.name") << "the override is not read by hosts before 1.34";
  EXPECT_EQ(names(std::string(62, 'a') + ".b"), std::string(62, 'a') + " -");
  EXPECT_EQ(names("my.pod", "  hostname: chosen\n"), "chosen -");
}

// user-pain, demand 24: affinity and spread see the tenant's pods alone.
TEST(TranslatePod, NarrowsSelectorsToTheTenantsNamespaces) {
  const Translated out = translated(
      tenant_pod("  topologySpreadConstraints: [{maxSkew: 1, topologyKey: h, whenUnsatisfiable: DoNotSchedule, "
                 "labelSelector: {matchLabels: {a: b}}}]\n"
                 "  affinity:\n    podAntiAffinity:\n      requiredDuringSchedulingIgnoredDuringExecution:\n"
                 "      - {topologyKey: h, labelSelector: {matchLabels: {a: b}}}\n"
                 "      - {topologyKey: h, namespaces: [n1, n2], labelSelector: {matchLabels: {a: b}}}\n"
                 "      - {topologyKey: h, namespaceSelector: {}, labelSelector: {matchLabels: {a: b}}}\n"));
  const Value spec = out.host_object.root()["spec"];
  EXPECT_EQ(
      spec["topologySpreadConstraints"].at(0)["labelSelector"].to_json(),
      R"({"matchLabels":{"t.sublet.dev/a":"b","sublet.dev/virtual-cluster-uid":"vc-uid","sublet.dev/tenant-namespace":"ai-team"}})");
  const Value terms = spec.path("affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution");
  EXPECT_EQ(terms.at(0)["labelSelector"]["matchExpressions"].to_json(),
            R"([{"key":"sublet.dev/tenant-namespace","operator":"In","values":["ai-team"]}])");
  EXPECT_EQ(terms.at(1)["labelSelector"]["matchExpressions"].at(0)["values"].to_json(), R"(["n1","n2"])");
  EXPECT_FALSE(terms.at(2)["labelSelector"].has("matchExpressions"));
  for (const Value term : terms) {
    EXPECT_FALSE(term.has("namespaces"));
    EXPECT_FALSE(term.has("namespaceSelector"));
    EXPECT_EQ(term["labelSelector"]["matchLabels"][kLabelTenantUid].text(), "vc-uid");
  }
  EXPECT_EQ(
      denied_fields(tenant_pod("  affinity: {podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: "
                               "[{topologyKey: h, namespaceSelector: {matchLabels: {t: x}}, labelSelector: {}}]}}\n")),
      Fields{"spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].namespaceSelector"});
}

TEST(TranslatePod, UsesTenantDnsWhenThereIsOne) {
  TranslateContext context = rag_context();
  context.dns_service_ip = "10.1.0.10";
  const Translated out = translated(tenant_pod("  dnsConfig: {options: [{name: edns0}]}\n"), "Pod", context);
  EXPECT_EQ(out.host_object.root()["spec"]["dnsPolicy"].text(), "None");
  EXPECT_EQ(
      out.host_object.root()["spec"]["dnsConfig"].to_json(),
      R"({"nameservers":["10.1.0.10"],"searches":["ai-team.svc.cluster.local","svc.cluster.local","cluster.local"],"options":[{"name":"edns0"},{"name":"ndots","value":"5"}]})");
}

TEST(Translate, IsStableAndItsHashFollowsTheContent) {
  const Translated first = translated(tenant_pod("", "  labels: {a: b}\n")),
                   again = translated(tenant_pod("", "  labels: {a: b}\n"));
  EXPECT_EQ(first.host_object.to_json(), again.host_object.to_json());
  EXPECT_NE(first.desired_hash, translated(tenant_pod("", "  labels: {a: c}\n")).desired_hash);
}

TEST(Translate, HashDoesNotDependOnTheOrderOfTheEnvelope) {
  const Document watched = tenant_pod("");
  Document listed = Document::copy_of(watched.root());
  for (const char* key : {"apiVersion", "kind"}) {
    const std::string value = listed[key].string();
    listed.root().erase(key);
    listed.root().put(key, value);
  }
  ASSERT_NE(listed.to_json(), watched.to_json());
  EXPECT_EQ(translated(listed).desired_hash, translated(watched).desired_hash);
}

TEST(TranslateService, SelectsTheTenantsPodsAndLeavesAddressesToTheHost) {
  auto service = schema::parse_yaml(
      "apiVersion: v1\nkind: Service\nmetadata: {name: web, namespace: ai-team, uid: u}\n"
      "spec: {clusterIP: 10.96.0.9, clusterIPs: [10.96.0.9], type: NodePort, ports: [{port: 80, nodePort: 30001}], "
      "selector: {app: web}}\n"
      "status: {loadBalancer: {}}\n");
  ASSERT_TRUE(service);
  const Translated out = translated(*service, "Service", rag_context_with("allow: {services: {types: [NodePort]}}"));
  EXPECT_EQ(
      out.host_object.root()["spec"].to_json(),
      R"({"type":"NodePort","ports":[{"port":80}],"selector":{"t.sublet.dev/app":"web","sublet.dev/virtual-cluster-uid":"vc-uid","sublet.dev/tenant-namespace":"ai-team"}})");
  EXPECT_FALSE(out.host_object.root().has("status"));
}

TEST(TranslatePod, WhatIsThePlatformsNeedsItsTemplatesConsent) {
  const std::string spec =
      "    resources: {limits: {cpu: '1', nvidia.com/gpu: 1, hugepages-2Mi: 4Mi}, requests: {nvidia.com/gpu: 1}}\n"
      "  schedulerName: other-scheduler\n  nodeSelector: {dedicated: legal, kubernetes.io/os: linux}\n"
      "  affinity: {nodeAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 1, preference: {"
      "matchExpressions: [{key: pool, operator: Exists}], matchFields: [{key: metadata.name, operator: In, values: "
      "[n]}]}}]}}\n";
  const Document tenant = tenant_pod(spec);
  EXPECT_EQ(
      denied_fields(tenant),
      (Fields{"spec.containers[0].resources.limits.nvidia.com/gpu", "spec.containers[0].resources.limits.hugepages-2Mi",
              "spec.containers[0].resources.requests.nvidia.com/gpu", "spec.schedulerName",
              "spec.nodeSelector.dedicated",
              "spec.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].preference."
              "matchExpressions[0].key"}));
  const TranslateContext open = rag_context_with(
      "allow: {pods: {resources: [nvidia.com/*, hugepages-*], schedulers: [other-*], nodeLabels: [dedicated, pool]}}");
  EXPECT_TRUE(translate(open, "Pod", tenant.root(), Operation::create));
}

TEST(TranslatePod, TolerationsAndPrioritiesThatTheTemplateDoesNotAllowAreLeftOut) {
  const Document tenant = tenant_pod(
      "  priorityClassName: high\n  tolerations: [{operator: Exists}, {key: dedicated, operator: Exists}, {key: "
      "node.kubernetes.io/not-ready, operator: Exists, effect: NoExecute}]\n");
  const Translated plain = translated(tenant);
  EXPECT_EQ(plain.host_object["spec"]["tolerations"].to_json(),
            R"([{"key":"node.kubernetes.io/not-ready","operator":"Exists","effect":"NoExecute"}])");
  EXPECT_FALSE(plain.host_object["spec"].has("priorityClassName"));
  EXPECT_EQ(plain.warnings.size(), 3u);
  const Translated allowed =
      translated(tenant, "Pod", rag_context_with("allow: {pods: {tolerations: [dedicated], priorityClasses: [high]}}"));
  EXPECT_EQ(allowed.host_object["spec"]["tolerations"].size(), 2u);
  EXPECT_EQ(allowed.host_object["spec"]["priorityClassName"].text(), "high");
  EXPECT_EQ(allowed.warnings.size(), 1u);
}

TEST(TranslatePod, GetsWhatTheTemplateGivesEveryPod) {
  const auto context = rag_context_with(
      "sync: {toHost: {pods: {translateImage: {ollama/ollama: mirror.example/ollama}, runtimeClassName: gvisor,\n"
      "  priorityClassName: tenants, enforceTolerations: ['team=rag:NoSchedule', spot]}}}\n"
      "allow: {pods: {tolerations: [team]}}\n");
  const auto made =
      translated(tenant_pod("  tolerations: [{key: team, value: rag, effect: NoSchedule}]\n"
                            "  initContainers: [{name: a, image: ollama/ollama}, {name: b, image: busybox}]\n"),
                 "Pod", context);
  const Value spec = made.host_object.root()["spec"];
  EXPECT_EQ(spec["containers"].at(0)["image"].text(), "mirror.example/ollama");
  EXPECT_EQ(spec["initContainers"].at(0)["image"].text(), "mirror.example/ollama");
  EXPECT_EQ(spec["initContainers"].at(1)["image"].text(), "busybox");
  EXPECT_EQ(spec["runtimeClassName"].text(), "gvisor");
  EXPECT_EQ(spec["priorityClassName"].text(), "tenants");
  EXPECT_EQ(spec["tolerations"].to_json(),
            R"([{"key":"team","value":"rag","effect":"NoSchedule"},{"key":"spot","operator":"Exists"}])");
  // One of its own stays.
  const auto own = translated(tenant_pod("  runtimeClassName: kata\n"), "Pod", context);
  EXPECT_EQ(own.host_object.root()["spec"]["runtimeClassName"].text(), "kata");
}

TEST(TranslatePod, MayNotNeedWhatTheTemplateDoesNotCarry) {
  const auto context = rag_context_with("sync: {toHost: {configMaps: {enabled: false}, secrets: {enabled: false}}}\n");
  const std::string volumes =
      "  imagePullSecrets: [{name: pull}]\n"
      "  volumes: [{name: a, configMap: {name: a}}, {name: b, secret: {secretName: b}},\n"
      "    {name: c, configMap: {name: c, optional: true}}]\n";
  const auto refused = translate(context, "Pod", tenant_pod(volumes).root(), Operation::create);
  ASSERT_FALSE(refused);
  std::string told;
  for (const Cause& cause : refused.error().causes) told += cause.message + "\n";
  EXPECT_EQ(told,
            "this virtual cluster's template does not carry ConfigMaps to the host\n"
            "this virtual cluster's template does not carry Secrets to the host\n");
  const auto without =
      translated(tenant_pod("  volumes: [{name: c, configMap: {name: c, optional: true}}]\n"), "Pod", context);
  EXPECT_TRUE(without.references.empty());
}

TEST(TranslatePod, VariablesThatSteerAreLeftOutAlsoThroughEnvFrom) {
  const Document tenant = tenant_pod(
      "    env: [{name: NVIDIA_DRIVER_CAPABILITIES, value: all}, {name: LD_PRELOAD, value: /x.so}, {name: "
      "CUDA_VISIBLE_DEVICES, value: '0'}, {name: HABANA_VISIBLE_DEVICES, value: all}]\n");
  const Translated out = translated(tenant);
  const Value env = out.host_object["spec"]["containers"].at(0)["env"];
  EXPECT_EQ(value_of(env, "CUDA_VISIBLE_DEVICES"), R"({"name":"CUDA_VISIBLE_DEVICES","value":"0"})");
  for (const char* gone : {"NVIDIA_DRIVER_CAPABILITIES", "LD_PRELOAD", "HABANA_VISIBLE_DEVICES"})
    EXPECT_EQ(value_of(env, gone), "") << gone;
  EXPECT_EQ(out.warnings.size(), 3u);
  for (const char* prefix : {"N", "NVIDIA_", "NVIDIA_VIS", "LD_", "CUDA_MPS_PIPE"})
    EXPECT_EQ(
        denied_fields(tenant_pod("    envFrom: [{prefix: '" + std::string(prefix) + "', configMapRef: {name: c}}]\n")),
        Fields{"spec.containers[0].envFrom[0].prefix"})
        << prefix;
  EXPECT_EQ(denied_fields(tenant_pod("    envFrom: [{prefix: APP_, configMapRef: {name: c}}]\n")), Fields{});
  const std::string metadata = "\nmetadata: {name: c, namespace: n, uid: u}\ndata: {LD_PRELOAD: eA==, color: eA==}\n";
  const TranslateContext open = rag_context_with("allow: {pods: {variables: [LD_PRELOAD]}}");
  for (const std::string kind : {"ConfigMap", "Secret"}) {
    const auto object = schema::parse_yaml("apiVersion: v1\nkind: " + kind + metadata);
    const Translated stripped = translated(*object, kind);
    EXPECT_EQ(stripped.host_object["data"].to_json(), R"({"color":"eA=="})");
    EXPECT_EQ(stripped.warnings.size(), 1u);
    EXPECT_TRUE(translated(*object, kind, open).host_object["data"].has("LD_PRELOAD"));
  }
}

TEST(TranslateService, WhatReachesBeyondTheVirtualClusterNeedsTheTemplatesConsent) {
  const auto denied = [](const std::string& spec, const std::string& template_text = "") {
    const auto service = schema::parse_yaml(
        "apiVersion: v1\nkind: Service\nmetadata: {name: web, namespace: ai-team, uid: u}\nspec: {ports: [{port: "
        "80}], " +
        spec + "}\n");
    const auto out = translate(rag_context_with(template_text), "Service", service->root(), Operation::create);
    Fields fields;
    if (!out)
      for (const Cause& cause : out.error().causes) fields.push_back(cause.field);
    return fields;
  };
  EXPECT_EQ(denied("type: ClusterIP"), Fields{});
  EXPECT_EQ(denied("type: LoadBalancer"), Fields{});
  EXPECT_EQ(denied("type: NodePort"), Fields{"spec.type"});
  EXPECT_EQ(denied("type: NodePort", "allow: {services: {types: [NodePort]}}"), Fields{});
  EXPECT_EQ(denied("type: ExternalName, externalName: db.corp"), (Fields{"spec.type", "spec.externalName"}));
  const std::string names = "allow: {services: {externalNames: ['*.corp']}}";
  EXPECT_EQ(denied("type: ExternalName, externalName: db.corp", names), Fields{});
  EXPECT_EQ(denied("type: ExternalName, externalName: metadata.internal", names), Fields{"spec.externalName"});
  EXPECT_EQ(denied("type: LoadBalancer, loadBalancerClass: internal, loadBalancerIP: 203.0.113.9"),
            (Fields{"spec.loadBalancerClass", "spec.loadBalancerIP"}));
  EXPECT_EQ(denied("type: LoadBalancer, loadBalancerClass: internal, loadBalancerIP: 203.0.113.9",
                   "allow: {services: {loadBalancerClasses: [internal], loadBalancerIPs: [203.0.113.0/28]}}"),
            Fields{});
  const std::string networks = "allow: {services: {externalIPs: [203.0.113.0/28, '2001:db8::/33', 198.51.100.7]}}";
  EXPECT_EQ(denied("externalIPs: [203.0.113.15, '2001:db8:7fff::1', 198.51.100.7]", networks), Fields{});
  for (const char* address : {"203.0.113.16", "'2001:db8:8000::1'", "198.51.100.8", "'::'", "0.0.0.0"})
    EXPECT_EQ(denied("externalIPs: [" + std::string(address) + "]", networks), Fields{"spec.externalIPs"}) << address;
}

// A template is the platform's, but its patches are run on what tenants write.
TEST(TranslatePod, TheFinalPodMeetsThePodSecurityStandardWhateverPatchesDo) {
  const auto reason = [](const std::string& template_text) {
    const auto out = translate(rag_context_with(template_text), "Pod", tenant_pod("").root(), Operation::create);
    return out ? std::string() : out.error().causes.at(0).message;
  };
  for (const char* hostile : {"{set: spec.hostNetwork, value: true}", "{set: spec.hostPID, value: true}",
                              "{set: 'spec.containers[*].securityContext.privileged', value: true}",
                              "{set: 'spec.containers[*].securityContext.capabilities.add', value: [SYS_ADMIN]}",
                              "{append: spec.volumes, value: {name: v, hostPath: {path: /}}}",
                              "{set: 'spec.containers[*].ports', value: [{containerPort: 80, hostPort: 80}]}",
                              "{set: spec.securityContext.seccompProfile, value: {type: Unconfined}}"}) {
    const std::string patch = "patches: [{name: p, target: Pod, effects: [" + std::string(hostile) + "]}]\n";
    EXPECT_NE(reason(patch).find("violates PodSecurity \"baseline:latest\""), std::string::npos) << hostile;
    EXPECT_EQ(reason("policies: {podSecurityStandard: privileged}\n" + patch), "") << hostile;
  }
  EXPECT_EQ(reason(""), "");
  EXPECT_NE(reason("policies: {podSecurityStandard: restricted}").find("violates PodSecurity \"restricted:latest\""),
            std::string::npos);
}

TEST(TranslateService, TheHostsAddressesAreNotChosen) {
  const auto fields = [](const std::string& spec, const std::string& old = "") {
    const auto service = schema::parse_yaml("spec: " + spec), before = schema::parse_yaml("spec: " + old);
    Fields refused;
    for (const Cause& cause : chosen_addresses(service->root(), old.empty() ? Value() : before->root()))
      refused.push_back(cause.field);
    return refused;
  };
  EXPECT_EQ(fields("{clusterIP: None, clusterIPs: [None]}"), Fields{});
  EXPECT_EQ(fields("{ports: [{port: 80}]}"), Fields{});
  EXPECT_EQ(fields("{clusterIP: 10.96.0.10}"), Fields{"spec.clusterIP"});
  EXPECT_EQ(fields("{clusterIPs: [10.96.0.10]}"), Fields{"spec.clusterIPs"});
  EXPECT_EQ(fields("{ports: [{port: 80}, {port: 81, nodePort: 30080}], healthCheckNodePort: 30081}"),
            (Fields{"spec.ports[1].nodePort", "spec.healthCheckNodePort"}));
  const std::string given = "{clusterIP: 10.96.0.10, clusterIPs: [10.96.0.10], ports: [{port: 80, nodePort: 30080}]}";
  EXPECT_EQ(fields(given, given), Fields{});
  EXPECT_EQ(fields(given, "{clusterIP: 10.96.0.11, clusterIPs: [10.96.0.11], ports: [{port: 80, nodePort: 30081}]}"),
            (Fields{"spec.clusterIP", "spec.ports[0].nodePort"}));
}

TEST(TranslateSecret, TokenSecretsReachNoHostController) {
  auto secret = schema::parse_yaml(
      "apiVersion: v1\nkind: Secret\nmetadata: {name: t, namespace: n, annotations: "
      "{kubernetes.io/service-account.name: admin}}\n"
      "type: kubernetes.io/service-account-token\ndata: {a: Yg==}\n");
  ASSERT_TRUE(secret);
  const Translated out = translated(*secret, "Secret");
  EXPECT_EQ(out.host_object.root()["type"].text(), "Opaque");
  EXPECT_FALSE(out.host_object.root()["metadata"]["annotations"].has("kubernetes.io/service-account.name"));
  EXPECT_EQ(out.host_object.root()["data"].to_json(), R"({"a":"Yg=="})");
}

// Fields that stand deep in structs which once crossed whole: each leaf is decided upon.
// user-pain, demand 7: a field of a later release is refused by name, and not lost on the way.
TEST(TranslatePod, RefusesWhatNobodyKnowsAtAnyDepth) {
  EXPECT_EQ(denied_fields(tenant_pod("  volumes: [{name: v, emptyDir: {sizeLimit: 1Gi, onHost: /}}]\n")),
            Fields{"spec.volumes[0].emptyDir.onHost"});
  EXPECT_EQ(denied_fields(tenant_pod("    livenessProbe: {exec: {command: [a], asRoot: true}}\n")),
            Fields{"spec.containers[0].livenessProbe.exec.asRoot"});
  EXPECT_EQ(denied_fields(tenant_pod("    securityContext: {capabilities: {drop: [ALL], ambient: [X]}}\n")),
            Fields{"spec.containers[0].securityContext.capabilities.ambient"});
  EXPECT_EQ(
      denied_fields(tenant_pod(
          "  affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: "
          "{nodeSelectorTerms: [{matchExpressions: [{key: kubernetes.io/os, operator: Exists, force: true}]}]}}}\n")),
      Fields{"spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0]."
             "matchExpressions[0].force"});
  EXPECT_EQ(denied_fields(tenant_pod("  dnsConfig: {nameservers: [10.0.0.1], overTls: true}\n")),
            Fields{"spec.dnsConfig.overTls"});
}

TEST(CarryBack, LeavesOutWhatIsTheHostsOwnAndWhatNobodyKnows) {
  const Document host_status = schema::parse_yaml(
                                   "phase: Running\npodIP: 10.0.0.1\nobservedGeneration: 3\nqosClass: BestEffort\n"
                                   "hostSecret: x\nresourceClaimStatuses: [{name: a, resourceClaimName: b}]\n"
                                   "conditions: [{type: Ready, status: 'True', observedGeneration: 3, hostSecret: x}]\n"
                                   "containerStatuses: [{name: main, ready: true}, {name: injected, ready: true}]\n"
                                   "initContainerStatuses: [{name: injected, ready: true}]\n")
                                   .value();
  const Document tenant = tenant_pod("");
  EXPECT_EQ(carry_back("PodStatus", host_status.root(), tenant.root()).to_json(),
            R"({"phase":"Running","podIP":"10.0.0.1","conditions":[{"type":"Ready","status":"True"}],)"
            R"("containerStatuses":[{"name":"main","ready":true}]})");
}

TEST(FieldTable, HasARowForEveryLeafOfEveryTypeThatCrosses) {
  EXPECT_EQ(check_field_table(*schema::Registry::builtin()), std::vector<std::string>());
}

TEST(FieldTable, ItsCheckFindsWhatIsForgotten) {
  const auto check = [](std::vector<FieldRow> emptyDir, std::vector<TypeRows> more = {}) {
    std::vector<TypeRows> types{{"EmptyDirVolumeSource", std::move(emptyDir)}};
    types.insert(types.end(), more.begin(), more.end());
    return check_fields(*schema::Registry::builtin(), types,
                        std::vector<std::string_view>{"EmptyDirVolumeSource", "LabelSelector"});
  };
  const auto labels = [&](std::vector<FieldRow> rows) {
    return check({copy("medium sizeLimit")},
                 {{"LabelSelector", std::move(rows), "io.k8s.apimachinery.pkg.apis.meta.v1.LabelSelector"}});
  };
  using Problems = std::vector<std::string>;
  EXPECT_EQ(check({copy("medium sizeLimit")}), Problems());
  EXPECT_EQ(check({copy("medium")}),
            Problems{"EmptyDirVolumeSource.sizeLimit has no row: say in syncer/translate/fields_*.cpp what the border "
                     "does with it"});
  EXPECT_EQ(check({copy("medium sizeLimit medium")}),
            Problems{"EmptyDirVolumeSource.medium has a row but is no field of the schema (or has two rows)"});
  EXPECT_EQ(check({copy("medium"), drop("sizeLimit", "")}),
            Problems{"EmptyDirVolumeSource.sizeLimit does not cross, and its row does not say why"});
  EXPECT_EQ(check({copy("medium"), clamp("sizeLimit", nullptr)}),
            Problems{"EmptyDirVolumeSource.sizeLimit has a row without its function"});
  EXPECT_EQ(check({walk("medium", "EmptyDirVolumeSource"), copy("sizeLimit")}),
            Problems{"EmptyDirVolumeSource.medium is a leaf, and its row leads into a type"});
  EXPECT_EQ(labels({copy("matchLabels matchExpressions")}),
            Problems{"LabelSelector.matchExpressions crosses whole: lead into rows for LabelSelectorRequirement"});
  EXPECT_EQ(labels({copy("matchLabels"), walk("matchExpressions", "EmptyDirVolumeSource")}),
            Problems{"LabelSelector.matchExpressions leads into rows for another type than "
                     "io.k8s.apimachinery.pkg.apis.meta.v1.LabelSelectorRequirement"});
  EXPECT_EQ(check({copy("medium sizeLimit")}, {{"HostAlias", {copy("ip hostnames")}}}),
            Problems{"HostAlias is neither a kind's nor led into by any row"});
}

}  // namespace
}  // namespace sublet::syncer
