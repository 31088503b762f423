#include "sublet/patches/template.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "patches/template/config_keys.h"
#include "patches/template/value_check.h"
#include "sublet/schema/engine.h"
#include "tests/support/source_path.h"

namespace sublet::patches {
namespace {

using schema::Document;
using schema::Value;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const PatchContext kRagContext{.virtual_cluster = "rag", .tenant_namespace = "ai-team", .host_namespace = "team-legal"};

std::string load_error(std::string_view yaml) {
  const auto loaded = Template::load(yaml, "t.yaml");
  return loaded ? "" : loaded.error().message;
}

std::shared_ptr<const ResolvedTemplate> resolve(std::string_view yaml,
                                                const std::map<std::string, std::string>& parameters = {}) {
  auto loaded = Template::load(yaml, "t.yaml");
  EXPECT_TRUE(loaded.has_value()) << (loaded ? "" : loaded.error().message);
  if (!loaded) return nullptr;
  auto resolved = loaded->resolve(parameters, "rag", "team-legal");
  EXPECT_TRUE(resolved.has_value()) << (resolved ? "" : resolved.error().message);
  return resolved ? *resolved : nullptr;
}

constexpr const char* kPod = R"({"metadata":{"name":"p","labels":{"app":"x"}},
  "spec":{"containers":[{"name":"a","image":"nginx","env":[{"name":"X","value":"1"}]},
                        {"name":"b","image":"ghcr.io/o/b:1","resources":{"limits":{"nvidia.com/gpu":"1","cpu":"1"}}}]}})";

struct Patched {
  Document object;
  PatchReport report;
};

// One patch with these effects (YAML list items, indented by six), on kPod.
Patched run_effects(const std::string& effects, const std::string& head = "", const char* pod = kPod) {
  const auto resolved = resolve(
      "parameters:\n  - {name: label, default: team/x}\n  - {name: count, type: integer, default: 3}\n"
      "patches:\n  - name: test\n    target: Pod\n" +
      head + "    effects:\n" + effects);
  Patched run{Document::parse_json(pod).value(), {}};
  const Document tenant = run.object.clone();
  if (resolved) run.report = resolved->apply("Pod", run.object.root(), tenant.root(), kRagContext);
  return run;
}

TEST(Template, ValuesFileOfTheBookIsAcceptedAsItIs) {
  const auto resolved = resolve(
      "experimental:\n  syncSettings:\n    setOwner: false\nsync:\n  fromHost:\n    runtimeClasses:\n      enabled: "
      "true\n");
  ASSERT_TRUE(resolved);
  EXPECT_FALSE(resolved->config().set_owner);
  EXPECT_TRUE(resolved->config().runtime_classes_from_host);
  Document pod = Document::parse_json(R"({"metadata":{"annotations":{"nvidia.com/gpu-fraction":"0.5"}}})").value();
  const auto report = resolved->apply("Pod", pod.root(), pod.root(), kRagContext);
  EXPECT_THAT(report.warnings, ElementsAre(HasSubstr("\"nvidia.com/gpu-fraction\" has no effect")));
  EXPECT_THAT(report.denials, IsEmpty());
  EXPECT_EQ(pod.to_json(), R"({"metadata":{"annotations":{"nvidia.com/gpu-fraction":"0.5"}}})");
}

TEST(Template, EmptyFilesAndNone) {
  for (const char* yaml : {"", "# nothing\n", "{}", "patches:\nparameters:\n"}) EXPECT_TRUE(resolve(yaml)) << yaml;
  const auto none = Template::none().resolve({}, "rag", "team-legal");
  ASSERT_TRUE(none.has_value());
  EXPECT_TRUE((*none)->config().nodes_from_host);
  EXPECT_EQ((*none)->config().controllers, "builtin");
}

TEST(Template, ConfigurationIsRead) {
  const auto resolved = resolve(R"(
sync:
  toHost:
    pods: {enabled: true, useSecretsForSATokens: true, rewriteHosts: {enabled: false}}
    configMaps: {enabled: true, all: false}
    serviceAccounts: {enabled: false}
    ingresses: {enabled: false}
  fromHost:
    nodes: {enabled: false, selector: {labels: {team: legal, gpu: "true"}}}
    runtimeClasses:
      enabled: true
      selector:
        matchLabels: {tenant: "yes"}
        matchExpressions: [{key: a, operator: In, values: [x, y]}, {key: b, operator: DoesNotExist}]
    csiDrivers: {enabled: auto}
telemetry: {enabled: false}
controllers: none
unauthenticated: {connections: 64, connectionsPerAddress: 8, kib: 512}
)");
  ASSERT_TRUE(resolved);
  EXPECT_EQ(resolved->config().unauthenticated_connections, 64);
  EXPECT_EQ(resolved->config().unauthenticated_connections_per_address, 8);
  EXPECT_EQ(resolved->config().unauthenticated_kib, 512);
  EXPECT_FALSE(resolved->config().nodes_from_host);
  EXPECT_EQ(resolved->config().controllers, "none");
  EXPECT_EQ(resolved->config().nodes_selector, "team=legal,gpu=true");
  EXPECT_EQ(resolved->config().runtime_classes_selector, "tenant=yes,a in (x,y),!b");
}

TEST(Template, WhatAsksForNothingIsNotRefused) {
  for (const char* yaml :
       {"controlPlane: {statefulSet: {env: [], labels: {}, image: {tag: ''}}}\n",
        "controlPlane: {ingress: {enabled: false, host: my-host.com}, serviceMonitor: {enabled: false}}\n",
        "integrations: {istio: {enabled: false, sync: {toHost: {gateways: {enabled: true}}}}}\n",
        "sync: {toHost: {gatewayApi: {enabled: false, referenceGrants: {enabled: auto}}}}\n",
        "rbac: {clusterRole: {enabled: auto, extraRules: []}}\n",
        "sync: {fromHost: {storageClasses: {enabled: auto}}}\n",
        "sync: {fromHost: {nodes: {enabled: 'true', selector: {all: false, labels: {a: b}}}}}\n"})
    EXPECT_EQ(load_error(yaml), "") << yaml;
}

TEST(Template, ALenientReaderLeavesOutAndTells) {
  std::vector<std::string> left_out;
  const char* yaml =
      "sync:\n  toHost:\n    namespaces: {enabled: true}\n    ingresses: {enabled: true}\nnoSuch: 1\ntelemetry: "
      "{enabled: "
      "true}\n";
  EXPECT_NE(load_error(yaml), "");
  const auto loaded = Template::load(yaml, "t.yaml", {}, &left_out);
  ASSERT_TRUE(loaded) << loaded.error().message;
  EXPECT_THAT(
      left_out,
      ElementsAre("t.yaml:3:18: sync.toHost.namespaces.enabled: not supported: all of a virtual cluster lives in "
                  "one host namespace",
                  "t.yaml:5:1: noSuch: unknown key",
                  "t.yaml:6:13: telemetry.enabled: cannot be true: sublet sends no telemetry"));
  EXPECT_TRUE(loaded->resolve({}, "rag", "team").value()->config().ingresses_to_host);
  EXPECT_FALSE(Template::load("sync: {toHost: {ingresses: {enabled: maybe}}}\n", "t.yaml", {}, &left_out))
      << "what is written wrongly is no matter of taste";
}

std::string names_of(const SyncConfig& config) {
  std::string names;
  for (const CustomResource& one : config.custom_resources)
    names += (names.empty() ? "" : " ") + one.name + (one.to_host ? ">" : "<") + one.selector;
  return names;
}

TEST(Template, CustomResourcesAreRead) {
  const auto resolved = resolve(R"(
sync:
  toHost:
    customResources:
      certificates.cert-manager.io/v1:
        enabled: true
        scope: Namespaced
        patches:
          - {path: 'spec.refs[*]["a.b"]', reference: {apiVersion: v1, kind: Secret, namePath: name, namespacePath: of.ns}}
          - {path: spec.selector, labels: {}}
      jobs.example.com: {enabled: false}
    volumeSnapshots: {enabled: true}
  fromHost:
    customResources: {clusterissuers.cert-manager.io: {enabled: true, scope: Cluster, selector: {matchLabels: {a: b}}}}
    gatewayClasses: {enabled: true, selector: {matchLabels: {for: tenants}}}
)");
  ASSERT_TRUE(resolved);
  const SyncConfig& config = resolved->config();
  EXPECT_EQ(names_of(config),
            "certificates.cert-manager.io> clusterissuers.cert-manager.io<a=b "
            "gatewayclasses.gateway.networking.k8s.io<for=tenants volumesnapshots.snapshot.storage.k8s.io>");
  const CustomResource& certificates = config.custom_resources[0];
  EXPECT_EQ(certificates.plural, "certificates");
  EXPECT_EQ(certificates.group, "cert-manager.io");
  EXPECT_EQ(certificates.version, "v1");
  ASSERT_EQ(certificates.references.size(), 1u);
  EXPECT_EQ(certificates.references[0].path, (Place{"spec", "refs", "*", "a.b"}));
  EXPECT_EQ(certificates.references[0].namespace_at, (Place{"of", "ns"}));
  EXPECT_EQ(certificates.selectors, (std::vector<Place>{{"spec", "selector"}}));
}

// Each key of vcluster.yaml's that stands for custom resources does something of its own.
TEST(Template, KeysOfTheGatewayApiAndOfSnapshotsHaveAnEffect) {
  const auto names = [](const std::string& sync) {
    const auto resolved = resolve("sync: " + sync + "\n");
    return resolved ? names_of(resolved->config()) : std::string("not read");
  };
  const std::string api = ".gateway.networking.k8s.io";
  EXPECT_EQ(names("{}"), "");
  EXPECT_EQ(names("{toHost: {gatewayApi: {httpRoutes: {enabled: true}}}}"), "httproutes" + api + ">");
  EXPECT_EQ(names("{toHost: {gatewayApi: {tlsRoutes: {enabled: true}}}}"), "tlsroutes" + api + ">");
  EXPECT_EQ(names("{toHost: {gatewayApi: {gateways: {enabled: true}}}}"), "gateways" + api + ">");
  EXPECT_EQ(names("{toHost: {gatewayApi: {backendTLSPolicies: {enabled: true}}}}"), "backendtlspolicies" + api + ">");
  EXPECT_EQ(names("{toHost: {gatewayApi: {enabled: true}}}"),
            "httproutes" + api + "> gateways" + api + "> gatewayclasses" + api + "<");
  EXPECT_EQ(names("{fromHost: {gatewayClasses: {enabled: true, selector: {matchExpressions: [{key: a, operator: "
                  "Exists}]}}}}"),
            "gatewayclasses" + api + "<a");
  EXPECT_EQ(names("{toHost: {volumeSnapshots: {enabled: true}}}"), "volumesnapshots.snapshot.storage.k8s.io>");
  EXPECT_EQ(names("{fromHost: {volumeSnapshotClasses: {enabled: true, selector: {matchLabels: {a: b}}}}}"),
            "volumesnapshotclasses.snapshot.storage.k8s.io<a=b");
}

TEST(Template, AKeyThatAsksForSeveralAndOneThatSwitchesOneOfThemOffAreNotBothTaken) {
  EXPECT_EQ(
      load_error("sync: {toHost: {gatewayApi: {enabled: true, gateways: {enabled: false}}}}\n"),
      "t.yaml:1:56: sync.toHost.gatewayApi.gateways.enabled: cannot be false together with "
      "sync.toHost.gatewayApi.enabled: that asks for gateways.gateway.networking.k8s.io too; ask for what crosses "
      "kind by kind instead");
  EXPECT_THAT(
      load_error("sync: {toHost: {gatewayApi: {enabled: true}}, fromHost: {gatewayClasses: {enabled: \"false\"}}}\n"),
      HasSubstr("sync.fromHost.gatewayClasses.enabled: cannot be false together with"));
  EXPECT_THAT(load_error("sync: {toHost: {volumeSnapshots: {enabled: true}, customResources: "
                         "{volumesnapshots.snapshot.storage.k8s.io: {enabled: false}}}}\n"),
              HasSubstr("enabled: cannot be false together with sync.toHost.volumeSnapshots.enabled: it is the same"));
  // What the key does not ask for, and what says the same.
  EXPECT_TRUE(
      resolve("sync: {toHost: {gatewayApi: {enabled: true, gateways: {enabled: true}, httpRoutes: {enabled: "
              "auto}, tlsRoutes: {enabled: false}}}}\n"));
  EXPECT_TRUE(resolve("sync: {toHost: {gatewayApi: {enabled: false, gateways: {enabled: false}}}}\n"));
  // Said twice: both selectors count.
  const auto twice = resolve(
      "sync: {fromHost: {gatewayClasses: {enabled: true, selector: {matchLabels: {a: b}}}, customResources: "
      "{gatewayclasses.gateway.networking.k8s.io: {enabled: true, selector: {matchLabels: {c: d}}}}}}\n");
  ASSERT_TRUE(twice);
  EXPECT_EQ(names_of(twice->config()), "gatewayclasses.gateway.networking.k8s.io<c=d,a=b");
}

TEST(Template, MappingsOfHostObjectsAreRead) {
  const auto told = [](const std::string& from_host) {
    const auto resolved = resolve("sync: {fromHost: " + from_host + "}\n");
    std::string text;
    if (resolved)
      for (const HostMapping& one : resolved->config().mappings)
        text += one.kind + " " + one.host_namespace + "/" + one.host_name + " " + one.tenant_namespace + "/" +
                one.tenant_name + "\n";
    return text;
  };
  EXPECT_EQ(told(R"({configMaps: {enabled: true, mappings: {byName: {"foo/*": "bar/*", "foo/a": "bar/b", "/c": "d/e",)"
                 R"( "": "all"}}}})"),
            "ConfigMap foo/ bar/\nConfigMap foo/a bar/b\nConfigMap /c d/e\nConfigMap / all/\n");
  EXPECT_EQ(told(R"({secrets: {enabled: true, mappings: {byName: {"": "all/*"}}}})"), "Secret / all/\n");
  EXPECT_EQ(told(R"({secrets: {enabled: false, mappings: {byName: {"foo/*": "bar/*"}}}})"), "");
  EXPECT_THAT(load_error("sync: {fromHost: {secrets: {enabled: true}}}\n"),
              HasSubstr("sync.fromHost.secrets.mappings.byName: is missing"));
  for (const char* odd : {R"("foo": "bar/*")", R"("foo/*": "bar/x")", R"("foo/a": "bar/*")", R"("foo/a": "bar")",
                          R"("Foo/a": "bar/a")", R"("foo/a": true)", R"("": "")"})
    EXPECT_THAT(
        load_error(std::string("sync: {fromHost: {secrets: {enabled: true, mappings: {byName: {") + odd + "}}}}}\n"),
        HasSubstr("must be one of"))
        << odd;
  HostMapping renamed{"Secret", "", "foo", "a", "bar", "b"}, all{"Secret", "", "foo", "", "bar", ""};
  EXPECT_EQ(renamed.tenant_name_of("a"), "b");
  EXPECT_EQ(renamed.tenant_name_of("x"), "");
  EXPECT_EQ(renamed.host_name_of("b"), "a");
  EXPECT_EQ(all.tenant_name_of("x"), "x");
}

TEST(Template, MistakesInCustomResourcesAreNamedWithTheirPlace) {
  const auto error = [](const std::string& to_host) {
    return load_error("sync: {toHost: {customResources: {" + to_host + "}}}\n");
  };
  EXPECT_THAT(error("certificates: {enabled: true}"), HasSubstr("must be the name of a definition"));
  EXPECT_THAT(error("a.b.c/1: {enabled: true}"), HasSubstr("must be the name of a definition"));
  EXPECT_THAT(error("a.b.c: {enable: true}"), HasSubstr("unknown key (did you mean \"enabled\"?)"));
  EXPECT_THAT(error("a.b.c: {enabled: true, scope: Cluster}"), HasSubstr("only resources with a namespace go there"));
  EXPECT_THAT(error("a.b.c: {enabled: true}, a.b.c/v1: {enabled: true}"), HasSubstr("is here twice"));
  EXPECT_THAT(error("a.b.c: {enabled: true, patches: [{path: spec.x, expression: 'value'}]}"),
              HasSubstr("patches[0].expression: not supported: sublet runs no JavaScript"));
  EXPECT_THAT(error("a.b.c: {enabled: true, patches: [{path: 'spec.x[0]', reference: {kind: Secret}}]}"),
              HasSubstr("must be a place in the object"));
  EXPECT_THAT(error("a.b.c: {enabled: true, patches: [{path: metadata.name, reference: {kind: Secret}}]}"),
              HasSubstr("outside of metadata and status"));
  EXPECT_THAT(error("a.b.c: {enabled: true, patches: [{path: spec.x, reference: {namePath: name}}]}"),
              HasSubstr("\"kind\" is missing"));
  EXPECT_THAT(error("a.b.c: {enabled: true, patches: [{path: spec.x, reference: {kind: A, kindPath: k}}]}"),
              HasSubstr("\"namePath\" is missing"));
  EXPECT_THAT(load_error("sync: {fromHost: {customResources: {a.b.c: {enabled: true, scope: Namespaced}}}}\n"),
              HasSubstr("mappings.byName: is missing: which of the host"));
  EXPECT_THAT(error("a.b.c: {enabled: true, namedByPods: [{}]}"), HasSubstr("say a label or an annotation"));
  EXPECT_THAT(error("a.b.c: {enabled: true, namedByPods: [{label: sublet.dev/x}]}"), HasSubstr("are sublet's own"));
  EXPECT_THAT(error("a.b.c: {enabled: true, force: {'spec.x[*]': a}}"),
              HasSubstr("must be a place such as spec.queue"));
  EXPECT_THAT(error("a.b.c: {enabled: true, force: {metadata.name: a}}"), HasSubstr("must be a place such as"));
  EXPECT_THAT(load_error("sync: {toHost: {gatewayApi: {referenceGrants: {enabled: true}}}}\n"),
              HasSubstr("needs no grant"));
}

TEST(Template, MistakesInValuesOfTheApiAreNamedWithTheirPlace) {
  EXPECT_THAT(
      load_error("policies: {networkPolicy: {workload: {ingress: [{form: []}]}}}\n"),
      HasSubstr("t.yaml:1:50: policies.networkPolicy.workload.ingress[0]: unknown field \"form\" (did you mean"));
  EXPECT_THAT(load_error("policies: {resourceQuota: {scopes: [Terminatin]}}\n"),
              HasSubstr("policies.resourceQuota.scopes[0]: \"Terminatin\" is not one of"));
  EXPECT_THAT(load_error("policies: {limitRange: {labels: {'a b': c}}}\n"), HasSubstr("policies.limitRange.labels"));
  EXPECT_THAT(load_error("policies: {limitRange: {labels: {sublet.dev/managed-by: other}}}\n"),
              HasSubstr("keys of sublet.dev are sublet's own"));
  EXPECT_THAT(load_error("controlPlane: {service: {spec: {type: LoadBalancer, selector: {a: b}}}}\n"),
              HasSubstr("controlPlane.service.spec.selector: not supported: sublet writes it itself"));
  EXPECT_THAT(load_error("controlPlane: {service: {spec: {type: Loadbalancer}}}\n"),
              HasSubstr("(did you mean \"LoadBalancer\"?)"));
  EXPECT_THAT(load_error("controlPlane: {ingress: {annotations: {a: '${params.x}'}}}\n"),
              HasSubstr("expressions stand in patches only"));
}

TEST(Template, MistakesInWordsOfTheControlPlaneAreNamed) {
  EXPECT_THAT(load_error("controlPlane: {ingress: {enabled: true}}\n"),
              HasSubstr("controlPlane.ingress.host: is missing"));
  EXPECT_THAT(load_error("controlPlane: {tlsRoute: {enabled: true}}\n"),
              HasSubstr("controlPlane.tlsRoute.host: is missing"));
  EXPECT_THAT(load_error("controlPlane: {ingress: {host: 'a b'}}\n"), HasSubstr("must be a host name"));
  EXPECT_THAT(load_error("controlPlane: {proxy: {extraSANs: [10.0.0.0/8]}}\n"), HasSubstr("must be host names and"));
  EXPECT_THAT(load_error("controlPlane: {proxy: {port: 8443}}\n"), HasSubstr("chooses where the API server listens"));
  EXPECT_THAT(load_error("controlPlane: {service: {httpsNodePort: 70000}}\n"), HasSubstr("must be a port"));
  EXPECT_THAT(load_error("controlPlane: {advanced: {serviceAccount: {name: mine}}}\n"),
              HasSubstr("names of their own: sublet-syncer-NAME"));
  EXPECT_THAT(
      load_error("controllers: builtin\ncontrolPlane: {distro: {k8s: {controllerManager: {enabled: false}}}}\n"),
      HasSubstr("cannot be false together with controllers: builtin"));
  EXPECT_THAT(load_error("controlPlane: {distro: {k8s: {controllerManager: {extraArgs: [--v=2]}}}}\n"),
              HasSubstr("sublet's own controllers take no flags"));
  EXPECT_THAT(
      load_error("controllers: upstream\n"
                 "controlPlane: {distro: {k8s: {controllerManager: {extraArgs: [--kubeconfig=x, v]}}}}\n"),
      AllOf(HasSubstr("--kubeconfig is not supported: sublet gives that flag itself"), HasSubstr("must be flags")));
}

TEST(Template, MistakesInPublicEgressAreNamed) {
  const auto error = [](const std::string& world) {
    return load_error("policies: {networkPolicy: {workload: {publicEgress: {" + world + "}}}}\n");
  };
  EXPECT_THAT(error("cidr: all"), HasSubstr("must be addresses, such as 203.0.113.0/24"));
  EXPECT_THAT(error("cidr: 169.254.169.254/32"), HasSubstr("clouds tell a machine its credentials there"));
  EXPECT_THAT(error("cidr: 10.0.0.0/8, except: [10.0.0.0/8]"), HasSubstr("leaves nothing of cidr 10.0.0.0/8"));
  EXPECT_THAT(error("except: [10.0.0.0/33]"), HasSubstr("must be addresses"));
  EXPECT_THAT(load_error("policies: {networkPolicy: {fallbackDns: dns.example}}\n"), HasSubstr("must be an address"));
  EXPECT_EQ(load_error("policies: {networkPolicy: {fallbackDns: 1.1.1.1}}\n"), "");
}

TEST(Template, MistakesInWhatIsSaidOfPodsAndExportsAreNamed) {
  EXPECT_THAT(load_error("sync: {toHost: {pods: {enforceTolerations: ['gpu=yes:Never']}}}\n"),
              HasSubstr("must be a toleration such as"));
  EXPECT_THAT(load_error("sync: {toHost: {pods: {enforceTolerations: [':NoSchedule']}}}\n"),
              HasSubstr("must be a toleration such as"));
  EXPECT_THAT(load_error("sync: {toHost: {pods: {translateImage: {nginx: 1}}}}\n"), HasSubstr("must be an image"));
  EXPECT_THAT(load_error("sync: {toHost: {secrets: {enabled: false, all: true}}}\n"),
              HasSubstr("cannot be false together with sync.toHost.secrets.all"));
  EXPECT_THAT(load_error("exportKubeConfig: {server: api.example.com}\n"),
              HasSubstr("must be an address such as https://"));
  EXPECT_THAT(load_error("exportKubeConfig: {serviceAccount: {clusterRole: view}}\n"),
              HasSubstr("exportKubeConfig.serviceAccount.name: is missing"));
  EXPECT_THAT(load_error("exportKubeConfig: {additionalSecrets: [{context: a}]}\n"),
              HasSubstr("additionalSecrets[0].name: is missing"));
  EXPECT_THAT(load_error("exportKubeConfig: {additionalSecrets: [{name: a, servr: b}]}\n"),
              HasSubstr("unknown key (did you mean \"server\"?)"));
  EXPECT_THAT(load_error("experimental: {deploy: {vcluster: {manifests: 'kind: Pod'}}}\n"),
              HasSubstr("each object has apiVersion, kind and metadata.name"));
}

struct BadFile {
  const char* yaml;
  const char* error;  // the whole message
};

TEST(Template, MistakesAreNamedWithTheirPlace) {
  const BadFile kFiles[] = {
      {"sync:\n  fromHst: {}\n", "t.yaml:2:3: sync.fromHst: unknown key (did you mean \"fromHost\"?)"},
      {"snyc: {}\n", "t.yaml:1:1: snyc: unknown key (did you mean \"sync\"?)"},
      {"patchs: []\n", "t.yaml:1:1: patchs: unknown key (did you mean \"patches\"?)"},
      {"foo: 1\n", "t.yaml:1:1: foo: unknown key"},
      {"unauthenticated: {connections: 0}\n",
       "t.yaml:1:32: unauthenticated.connections: must be a whole number from 1 to 1000000"},
      {"unauthenticated: {kib: \"64\"}\n",
       "t.yaml:1:24: unauthenticated.kib: must be a whole number from 1 to 1000000"},
      {"sync:\n  fromHost:\n    runtimeClasses: {enabled: yep}\n",
       "t.yaml:3:31: sync.fromHost.runtimeClasses.enabled: must be true or false, not a string"},
      {"sync: {}\ncontrollers: upsteam\n",
       "t.yaml:2:14: controllers: must be one of builtin, upstream, none, not \"upsteam\" (did you mean "
       "\"upstream\"?)"},
      {"controllers: true\n", "t.yaml:1:14: controllers: must be one of builtin, upstream, none, not a boolean"},
      {"sync: true\n", "t.yaml:1:7: sync: must be a map, not a boolean"},
      {"experimental: {syncSettings: {setOwner: true}}\n",
       "t.yaml:1:31: experimental.syncSettings.setOwner: cannot be true: owner references on host objects break KAI's "
       "pod grouping and delete too much or too little; sublet finds what belongs to a virtual cluster by label"},
      {"experimental: {deploy: {host: {manifests: x}}}\n",
       "t.yaml:1:32: experimental.deploy.host.manifests: not supported: sublet knows of experimental only "
       "syncSettings.setOwner and deploy.vcluster.manifests"},
      {"sync: {toHost: {pods: {enabled: false}}}\n",
       "t.yaml:1:24: sync.toHost.pods.enabled: cannot be false: carrying pods is what a virtual cluster is for"},
      {"sync: {toHost: {workloads: {enabled: true}}}\n",
       "t.yaml:1:29: sync.toHost.workloads.enabled: cannot be true without sync.toHost.podGroups.enabled: a Workload "
       "is "
       "what PodGroups are made of: alone on the host it does nothing"},
      {"sync: {toHost: {networkPolicies: {enabled: true}}}\npolicies: {networkPolicy: {enabled: true}}\n",
       "t.yaml:1:35: sync.toHost.networkPolicies.enabled: cannot be true together with policies.networkPolicy.enabled: "
       "policies add up, so a tenant's would open what the platform's closes; switch one of them off"},
      {"sync: {fromHost: {gateways: {enabled: true}}}\n",
       "t.yaml:1:39: sync.fromHost.gateways.mappings.byName: is missing: which of the host's tenants see, and where"},
      {"sync: {toHost: {priorityClasses: {enabled: true}}, fromHost: {priorityClasses: {enabled: true}}}\n",
       "t.yaml:1:90: sync.fromHost.priorityClasses.enabled: cannot be true together with "
       "sync.toHost.priorityClasses.enabled: a pod's class would be both"},
      {"sync: {toHost: {priorityClasses: {enabled: true, minValue: 5, maxValue: 1}}}\n",
       "t.yaml:1:73: sync.toHost.priorityClasses: minValue must not be above maxValue, nor maxValue above 1000000000: "
       "what is above is Kubernetes' own"},
      {"sync: {toHost: {priorityClasses: {maxValue: high}}}\n",
       "t.yaml:1:45: sync.toHost.priorityClasses.maxValue: must be a whole number, not a string"},
      {"sync: {fromHost: {nodes: {selector: {all: false}}}}\n",
       "t.yaml:1:38: sync.fromHost.nodes.selector.all: cannot be false: sublet shows all nodes, or those with the "
       "labels "
       "of sync.fromHost.nodes.selector.labels"},
      {"policies: {resourceQuota: {scope: [BestEffort]}}\n",
       "t.yaml:1:28: policies.resourceQuota.scope: unknown key (did you mean \"scopes\"?)"},
      {"controlPlane: {backingStore: {etcd: {deploy: {enabled: true}}}}\n",
       "t.yaml:1:47: controlPlane.backingStore.etcd.deploy.enabled: not supported: sublet's store is SQLite; there is "
       "nothing to "
       "choose "
       "yet"},
      {"a: 1\na: 2\n", "t.yaml:2:1: the key \"a\" is here twice"},
      {"a: [1\n", "t.yaml:2:1: this is not YAML: end of sequence flow not found"},
      {"- 1\n", "t.yaml:1:1: must be a map, not a list"},
      {"parameters: [{name: a, type: strin}]\n",
       "t.yaml:1:30: parameters[0].type: unknown type \"strin\" (did you mean \"string\"?); known: string, integer, "
       "number, boolean, enum"},
      {"parameters: [{name: a, default: 3}]\n", "t.yaml:1:33: parameters[0].default: \"3\" is not a string"},
      {"parameters: [{name: a, type: enum, values: [x], default: y}]\n",
       "t.yaml:1:58: parameters[0].default: \"y\" is not one of x"},
      {"parameters: [{name: a-b}]\n",
       "t.yaml:1:21: parameters[0].name: must be a name of letters, digits and _, as expressions spell it"},
      {"parameters: [{nme: a}]\n",
       "t.yaml:1:14: parameters[0]: \"name\" is missing\nt.yaml:1:15: parameters[0].nme: unknown key (did you mean "
       "\"name\"?)"},
      {"parameters: [{name: a, pattern: '('}]\n",
       "t.yaml:1:33: parameters[0].pattern: invalid regular expression: missing ): ("},
      {"parameters: [{name: a, default: '${params.a}'}]\n",
       "t.yaml:1:43: parameters[0].default: there is no parameter 'a'"},
      {"parameters: [{name: a}, {name: a}]\n", "t.yaml:1:25: parameters[1]: there are two parameters named a"},
      {"patches: [{name: x, target: Pot, effects: [{warn: w}]}]\n",
       "t.yaml:1:29: patches[0].target: unknown kind \"Pot\" (did you mean \"Pod\"?)"},
      {"patches: [{name: x, target: Pod, effects: []}]\n",
       "t.yaml:1:43: patches[0].effects: must be a list with at least one effect"},
      {"patches: [{name: x, target: Pod, effects: [{sett: a}]}]\n",
       "t.yaml:1:44: patches[0].effects[0]: has no effect (did you mean \"set\"?); known: set, default, remove, "
       "rename, "
       "append, merge, freeze, deny, warn"},
      {"patches: [{name: x, target: Pod, effects: [{set: spec.hostname, value: a, vlaue: b}]}]\n",
       "t.yaml:1:75: patches[0].effects[0].vlaue: unknown key (did you mean \"value\"?)"},
      {"patches: [{name: x, target: Pod, effects: [{set: spec.hostname, value: a, warn: b}]}]\n",
       "t.yaml:1:44: patches[0].effects[0]: has two effects, set and warn; each is an entry of its own\nt.yaml:1:75: "
       "patches[0].effects[0].set: unknown key"},
  };
  for (const BadFile& file : kFiles) {
    if (std::string_view(file.yaml).find("warn: b") != std::string_view::npos) {
      EXPECT_THAT(load_error(file.yaml), HasSubstr("has two effects, set and warn"));
      continue;
    }
    EXPECT_EQ(load_error(file.yaml), file.error) << file.yaml;
  }
}

TEST(Template, MistakesInPathsAndExpressionsAreNamedWithTheirPlace) {
  const auto error = [](const std::string& effect, const std::string& head = "") {
    return load_error("parameters: [{name: queue}]\npatches:\n- name: x\n  target: Pod\n" + head + "  effects:\n  - " +
                      effect + "\n");
  };
  EXPECT_EQ(error("{set: spec.runtimeClasName, value: a}"),
            "t.yaml:6:16: patches[0].effects[0].set: Pod has no field \"spec.runtimeClasName\" (did you mean "
            "\"runtimeClassName\"?)");
  EXPECT_EQ(error("{set: spec.containers.image, value: a}"),
            "t.yaml:6:27: patches[0].effects[0].set: spec.containers is a list: select items with [*], [name=...] or "
            "[?...] first");
  EXPECT_EQ(error("{set: 'spec.hostname[*]', value: a}"),
            "t.yaml:6:26: patches[0].effects[0].set: spec.hostname is a scalar: nothing can be selected from it");
  EXPECT_EQ(error("{set: 'metadata.labels[a.b/c', value: a}"),
            "t.yaml:6:27: patches[0].effects[0].set: the bracket is not closed");
  EXPECT_EQ(error("{set: metadata.labels.a/b, value: a}"),
            "t.yaml:6:28: patches[0].effects[0].set: unexpected '/' in the path; a key with such characters stands in "
            "brackets: [a.b/c]");
  EXPECT_EQ(error("{set: spec.priority, value: high}"),
            "t.yaml:6:33: patches[0].effects[0].value: the value is a string, it must be an integer");
  EXPECT_EQ(error("{set: metadata.labels, value: x}"),
            "t.yaml:6:35: patches[0].effects[0].value: the value is a string, it must be a map");
  EXPECT_EQ(error("{set: spec.hostname, value: '${params.queu}'}"),
            "t.yaml:6:43: patches[0].effects[0].value: there is no parameter 'queu' (did you mean \"queue\"?)");
  EXPECT_EQ(error("{set: spec.hostname, value: '${1 +}'}"),
            "t.yaml:6:39: patches[0].effects[0].value: unexpected end of the expression");
  EXPECT_EQ(error("{set: spec.hostname, value: '${1'}"),
            "t.yaml:6:34: patches[0].effects[0].value: the expression after ${ has no closing brace");
  EXPECT_EQ(error("{remove: 'spec.containers[?item.nme == 1 &&]'}"),
            "t.yaml:6:48: patches[0].effects[0].remove: unexpected end of the expression");
  EXPECT_EQ(error("{append: spec.hostname, value: a}"),
            "t.yaml:6:5: patches[0].effects[0].append: spec.hostname is not a list");
  EXPECT_EQ(error("{merge: spec.tolerations, value: {key: a}}"),
            "t.yaml:6:5: patches[0].effects[0]: spec.tolerations is a list: \"key\" must say by which member its items "
            "merge");
  EXPECT_EQ(error("{set: spec.hostname}"), "t.yaml:6:5: patches[0].effects[0]: \"value\" is missing");
  EXPECT_EQ(error("{warn: w, when: 1 + 1}"),
            "t.yaml:6:21: patches[0].effects[0].when: the condition must be a bool, not a int");
  EXPECT_EQ(error("{warn: w}", "  when: variables.a\n"), "t.yaml:5:19: patches[0].when: there is no variable 'a'");
  EXPECT_EQ(error("{warn: w}", "  when: item == 1\n"), "t.yaml:5:9: patches[0].when: undeclared reference to 'item'");
  EXPECT_EQ(error("{warn: w}", "  when: |\n    true &&\n    objct == 1\n"),
            "t.yaml:7:5: patches[0].when: undeclared reference to 'objct' (did you mean \"object\"?)");
  // All at once, in order.
  EXPECT_EQ(error("{warn: '${a}${b}'}", "  when: x\n"),
            "t.yaml:5:9: patches[0].when: undeclared reference to 'x'\n"
            "t.yaml:7:15: patches[0].effects[0].warn: undeclared reference to 'a'");
}

TEST(Template, ParametersAreBoundByType) {
  const char* yaml =
      "parameters:\n- {name: queue, default: '${cluster.name}-q', pattern: '[a-z-]+', description: the queue}\n"
      "- {name: count, type: integer}\n- {name: share, type: number, default: 0.5}\n- {name: on, type: boolean, "
      "default: false}\n"
      "- {name: mode, type: enum, values: [a, b], default: a}\n"
      "patches:\n- {name: p, target: Pod, effects: [{warn: '${params.queue} ${params.count + 1} ${params.share} "
      "${params.on} ${params.mode} ${params.size()}'}]}\n";
  const auto resolved = resolve(yaml, {{"count", "4"}, {"on", "true"}});
  ASSERT_TRUE(resolved);
  Document pod = Document::object();
  EXPECT_THAT(resolved->apply("Pod", pod.root(), pod.root(), kRagContext).warnings,
              ElementsAre("rag-q 5 0.5 true a 5"));

  const auto loaded = Template::load(yaml, "t.yaml");
  const auto failed =
      loaded->resolve({{"cuont", "4"}, {"share", "x"}, {"on", "maybe"}, {"mode", "c"}, {"queue", "A"}}, "rag", "h");
  ASSERT_FALSE(failed.has_value());
  EXPECT_EQ(failed.error().message,
            "parameter cuont: there is no such parameter (did you mean \"count\"?)\n"
            "parameter queue: \"A\" is not a string that matches [a-z-]+\n"
            "parameter count: has no default; give it with --set count=VALUE (integer)\n"
            "parameter share: \"x\" is not a number\n"
            "parameter on: \"maybe\" is not a boolean\n"
            "parameter mode: \"c\" is not one of a, b\n"
            "parameters of this template:\n"
            "  queue (string that matches [a-z-]+): the queue\n"
            "  count (integer)\n  share (number)\n  on (boolean)\n  mode (one of a, b)");
}

TEST(Template, ValuesThatTheApiWouldRefuseAreMistakesOfTheFile) {
  const auto error = [](const std::string& effect) {
    return load_error("parameters: [{name: queue}]\npatches:\n- name: x\n  target: [Pod]\n  effects:\n  - " + effect +
                      "\n");
  };
  const auto value = [](const std::string& column, const std::string& message) {
    return "t.yaml:6:" + column + ": patches[0].effects[0].value" + message;
  };
  // Unknown members, at any depth.
  EXPECT_EQ(error("{append: spec.tolerations, value: {key: a, op: Exists}}"), value("48", ": unknown field \"op\""));
  EXPECT_EQ(error("{append: spec.tolerations, value: {key: a, operatr: Exists}}"),
            value("48", ": unknown field \"operatr\" (did you mean \"operator\"?)"));
  EXPECT_EQ(error("{set: spec.affinity, value: {nodeAffinity: {requiredDuring: {}}}}"),
            value("49", ".nodeAffinity: unknown field \"requiredDuring\""));
  EXPECT_EQ(error("{append: spec.volumes, values: [{name: shm, emptyDir: {medum: Memory}}]}"),
            "t.yaml:6:60: patches[0].effects[0].values.emptyDir: unknown field \"medum\" (did you mean \"medium\"?)");
  EXPECT_EQ(error("{merge: spec.tolerations, key: [key], value: [{key: a}, {kei: b}]}"),
            value("62", "[1]: unknown field \"kei\" (did you mean \"key\"?)"));
  // Enumerations, quantities, kinds, ranges.
  EXPECT_EQ(error("{append: spec.tolerations, value: {key: a, operator: Exist}}"),
            value("58", ".operator: \"Exist\" is not one of Equal, Exists, Gt, Lt (did you mean \"Exists\"?)"));
  EXPECT_EQ(error("{set: 'spec.containers[*].imagePullPolicy', value: always}"),
            value("56", ": \"always\" is not one of Always, IfNotPresent, Never (did you mean \"Always\"?)"));
  EXPECT_EQ(error("{set: 'spec.containers[*].resources.limits[memory]', value: 1Gb}"),
            value("65", ": \"1Gb\" is no quantity; quantities look like 2, 500m or 1Gi"));
  EXPECT_EQ(error("{set: 'spec.containers[*].resources', value: {limits: {cpu: half}}}"),
            value("65", ".limits.cpu: \"half\" is no quantity; quantities look like 2, 500m or 1Gi"));
  EXPECT_EQ(error("{append: spec.tolerations, value: {tolerationSeconds: soon}}"),
            value("59", ".tolerationSeconds: the value is a string, it must be an integer"));
  EXPECT_EQ(error("{set: spec.priority, value: 99999999999}"),
            value("33", ": \"99999999999\" does not fit into 32 bits"));
  // What an item cannot be without; a merge may be partial.
  EXPECT_EQ(error("{append: 'spec.containers[*].env', value: {value: x}}"), value("47", ": \"name\" is missing"));
  EXPECT_EQ(error("{merge: 'spec.containers[*].env', key: name, value: {value: x}}"), "");
  // Labels.
  EXPECT_THAT(error("{set: 'metadata.labels[team]', value: 'a b'}"),
              HasSubstr("6:43: patches[0].effects[0].value: \"a b\" is no valid value of a label: "));
  EXPECT_THAT(error("{set: 'metadata.annotations[a b]', value: c}"),
              HasSubstr("6:33: patches[0].effects[0].set: \"a b\" is no valid key: "));
  EXPECT_THAT(error("{set: spec.nodeSelector, value: {'/x': c}}"),
              HasSubstr("6:38: patches[0].effects[0].value: \"/x\" is no valid key: "));
  EXPECT_EQ(error("{set: 'metadata.annotations[a]', value: 'free text, also {\"json\": 1}'}"), "");
  // Several kinds or alternatives with the same mistake: it is told once.
  EXPECT_EQ(
      error("{append: 'spec.{containers,initContainers}[*].env', value: {nme: x, value: y}}"),
      value("64", ": \"name\" is missing") + "\n" + value("65", ": unknown field \"nme\" (did you mean \"name\"?)"));
}

TEST(Template, TextsThatSpellAnExpressionAreMistakes) {
  const auto error = [](const std::string& text) {
    return load_error("patches:\n- name: x\n  target: Pod\n  effects:\n  - {set: spec.schedulerName, value: " + text +
                      "}\n");
  };
  EXPECT_EQ(error("params.queue"),
            "t.yaml:5:38: patches[0].effects[0].value: \"params.queue\" would be written as it stands; ${params.queue} "
            "gives its value, ${'params.queue'} the text");
  for (const char* text : {"cluster.name", "variables.gpu", "object.metadata.name", "'tenant.spec.?hostname'",
                           "'object.metadata.labels[\"a\"]'", "item.name"})
    EXPECT_THAT(error(text), HasSubstr("would be written as it stands")) << text;
  for (const char* text : {"cluster.local", "object.store.svc", "params", "tenant", "'${''params.queue''}'",
                           "my.params.queue", "params.queue is the queue"})
    EXPECT_EQ(error(text), "") << text;
}

TEST(Template, PatchesWithoutEffectAtTheBorderAreMistakes) {
  constexpr std::string_view kKinds[] = {"Pod", "Service"};
  const BorderFacts border{kKinds, [](std::string_view kind, std::span<const std::string_view> members) {
                             return members.back() == "name" ? std::string(kind) + " names are the border's"
                                                             : std::string();
                           }};
  const auto error = [&](const std::string& patch) {
    const auto loaded = Template::load("patches:\n- {name: x, " + patch + "}\n", "t.yaml", border);
    return loaded ? "" : loaded.error().message;
  };
  EXPECT_EQ(error("target: [Pod, Service], effects: [{warn: w}]"), "");
  EXPECT_EQ(error("target: Ingress, effects: [{warn: w}]"),
            "t.yaml:2:21: patches[0].target: Ingress objects do not cross to the host, so a patch of them would never "
            "run; those that do: Pod, Service");
  EXPECT_EQ(error("target: [Service, Pod], effects: [{set: metadata.name, value: w}]"),
            "t.yaml:2:47: patches[0].effects[0].set: metadata.name cannot be written by a patch: Service names are the "
            "border's");
  EXPECT_EQ(error("target: Pod, effects: [{freeze: metadata.name}]"), "");
}

TEST(Template, WhatAnExpressionMakesIsCheckedBeforeTheHostSeesIt) {
  const auto denial = [](const std::string& effect) {
    const auto denials = run_effects("      - " + effect + "\n").report.denials;
    return denials.empty() ? "" : denials[0];
  };
  const std::string failed = "patch \"test\" of the template failed: ";
  EXPECT_EQ(denial("{set: 'spec.containers[*].resources.limits[memory]', value: '${params.label}'}"),
            failed +
                "spec.containers[*].resources.limits[memory]: \"team/x\" is no quantity; quantities look like 2, "
                "500m or 1Gi");
  EXPECT_EQ(denial("{set: 'spec.containers[*].resources', value: \"${{'limits': {'cpu': 'x'}}}\"}"),
            failed +
                "spec.containers[*].resources: limits.cpu: \"x\" is no quantity; quantities look like 2, 500m or "
                "1Gi");
  EXPECT_EQ(denial("{append: spec.tolerations, value: \"${{'op': 'x'}}\"}"),
            failed + "spec.tolerations: unknown field \"op\"");
  EXPECT_EQ(denial("{merge: spec.tolerations, key: key, value: \"${[{'key': 'x'}, {'effect': 'x'}]}\"}"),
            failed + "spec.tolerations: [1].effect: \"x\" is not one of NoExecute, NoSchedule, PreferNoSchedule");
  EXPECT_THAT(denial("{set: 'metadata.labels[${object.spec.containers[0].image + \" \"}]', value: x}"),
              HasSubstr("is no valid key: "));
  EXPECT_THAT(denial("{set: 'metadata.labels[x]', value: '${params.label}'}"),
              HasSubstr("\"team/x\" is no valid value of a label: "));
  // Scalars become text wherever the API wants text.
  const Patched run = run_effects("      - {append: 'spec.containers[name=a].env', value: {name: N, value: 1}}\n");
  EXPECT_THAT(run.report.denials, IsEmpty());
  EXPECT_EQ(run.object["spec"]["containers"].at(0)["env"].at(1).to_json(), R"({"name":"N","value":"1"})");
}

// What was found to fit at load is not checked again for each object, and only that.
TEST(Template, ValuesThatFitAsTheyAreWritten) {
  const Shape spec = *Shape::of_kind("Pod").member("spec");
  const auto fits = [&](std::string_view member, std::string_view yaml) {
    Problems problems("t.yaml", yaml);
    YamlNode node;
    EXPECT_TRUE(read_yaml(yaml, node, problems)) << yaml;
    const Shape shape = *spec.member(member);
    check_literal(node, shape, true, "value", problems);
    EXPECT_EQ(problems.size(), 0u) << yaml;
    return fits_as_written(node, shape);
  };
  EXPECT_TRUE(fits("tolerations", "[{key: a, operator: Exists, tolerationSeconds: 3}, {key: null}]"));
  EXPECT_TRUE(fits("nodeSelector", "{a: x, b: '1'}"));
  EXPECT_FALSE(fits("nodeSelector", "{a: 1}")) << "is to become text";
  EXPECT_FALSE(fits("nodeSelector", "{a: x, b: '${params.label}'}"));
  EXPECT_FALSE(fits("nodeSelector", "{'${params.label}': x}"));
  EXPECT_FALSE(fits("tolerations", "[{key: a}, '${params.more}']"));
  EXPECT_FALSE(fits("nodeSelector", "{a: '$${x}'}")) << "is not looked at when the template is loaded";
}

TEST(Template, SetCreatesWhatIsMissing) {
  const Patched run = run_effects(
      "      - {set: spec.affinity.nodeAffinity, value: {preferredDuringSchedulingIgnoredDuringExecution: []}}\n"
      "      - {set: 'metadata.annotations[a.b/c]', value: 0.5}\n"
      "      - {set: 'metadata.labels[${params.label}]', value: '${params.count}'}\n"
      "      - {set: spec.priority, value: '${params.count}'}\n"
      "      - {set: 'spec.nodeSelector', value: {x: true, '${params.label}': 1}}\n");
  EXPECT_THAT(run.report.denials, IsEmpty());
  EXPECT_EQ(run.object["spec"]["affinity"].to_json(),
            R"({"nodeAffinity":{"preferredDuringSchedulingIgnoredDuringExecution":[]}})");
  EXPECT_EQ(run.object["metadata"]["annotations"].to_json(), R"({"a.b/c":"0.5"})");
  EXPECT_EQ(run.object["metadata"]["labels"].to_json(), R"({"app":"x","team/x":"3"})");
  EXPECT_EQ(run.object["spec"]["priority"].to_json(), "3");
  EXPECT_EQ(run.object["spec"]["nodeSelector"].to_json(), R"({"x":"true","team/x":"1"})");
}

TEST(Template, SetOnListsSeesItemAndValue) {
  const Patched run = run_effects(
      "      - set: spec.containers[*].image\n"
      "        value: \"${value.contains('/') ? value : 'mirror/library/' + value}\"\n"
      "      - {set: 'spec.containers[name=b].imagePullPolicy', value: Always}\n"
      "      - {set: 'spec.containers[?has(item.env)].workingDir', value: '/${item.name}/${key}'}\n"
      "      - {set: 'spec.containers[1].tty', value: true}\n"
      "      - {set: 'spec.containers[name=zzz].tty', value: true}\n"
      "      - {set: 'spec.initContainers[*].tty', value: true}\n");
  EXPECT_THAT(run.report.denials, IsEmpty());
  EXPECT_EQ(run.object["spec"]["containers"].to_json(),
            R"([{"name":"a","image":"mirror/library/nginx","env":[{"name":"X","value":"1"}],"workingDir":"/a/0"},)"
            R"({"name":"b","image":"ghcr.io/o/b:1","resources":{"limits":{"nvidia.com/gpu":"1","cpu":"1"}},)"
            R"("imagePullPolicy":"Always","tty":true}])");
  EXPECT_FALSE(run.object["spec"].has("initContainers"));
}

TEST(Template, DefaultKeepsWhatIsThere) {
  const Patched run = run_effects(
      "      - {default: spec.runtimeClassName, value: nvidia}\n      - {default: 'metadata.labels[app]', value: y}\n");
  EXPECT_EQ(run.object["spec"]["runtimeClassName"].text(), "nvidia");
  EXPECT_EQ(run.object["metadata"]["labels"]["app"].text(), "x");
}

TEST(Template, RemovePrunesOnlyWhenAsked) {
  const Patched run = run_effects(
      "      - {remove: 'spec.containers[*].resources.limits.{[nvidia.com/gpu],cpu}', prune: true}\n"
      "      - {remove: 'metadata.labels[app]'}\n"
      "      - {remove: 'spec.containers[name=a]'}\n      - {remove: spec.hostname}\n");
  EXPECT_EQ(
      run.object.to_json(),
      R"({"metadata":{"name":"p","labels":{}},"spec":{"containers":[{"name":"b","image":"ghcr.io/o/b:1","resources":{}}]}})");
}

TEST(Template, RenameKeepsTheValue) {
  const Patched run = run_effects(
      "      - {rename: 'spec.containers[*].resources.{limits,requests}[nvidia.com/gpu]', to: "
      "nvidia.com/mig-1g.5gb}\n");
  EXPECT_EQ(run.object["spec"]["containers"].at(1)["resources"].to_json(),
            R"({"limits":{"nvidia.com/mig-1g.5gb":"1","cpu":"1"}})");
}

TEST(Template, AppendAndMergeAreIdempotent) {
  const std::string effects =
      "      - {append: spec.tolerations, value: {key: nvidia.com/gpu, operator: Exists}}\n"
      "      - {append: spec.tolerations, values: [{key: a, operator: Exists}, {key: nvidia.com/gpu, operator: "
      "Exists}]}\n"
      "      - {merge: 'spec.containers[*].env', key: name, value: {name: X, value: '2'}}\n"
      "      - {merge: spec.volumes, key: [name], value: [{name: shm, emptyDir: {medium: Memory}}]}\n"
      "      - {merge: spec.securityContext, value: {runAsNonRoot: true}}\n";
  Patched run = run_effects(effects);
  EXPECT_THAT(run.report.denials, IsEmpty());
  EXPECT_EQ(run.object["spec"]["tolerations"].to_json(),
            R"([{"key":"nvidia.com/gpu","operator":"Exists"},{"key":"a","operator":"Exists"}])");
  EXPECT_EQ(run.object["spec"]["containers"].at(0)["env"].to_json(), R"([{"name":"X","value":"2"}])");
  EXPECT_EQ(run.object["spec"]["containers"].at(1)["env"].to_json(), R"([{"name":"X","value":"2"}])");
  EXPECT_EQ(run.object["spec"]["volumes"].to_json(), R"([{"name":"shm","emptyDir":{"medium":"Memory"}}])");
  EXPECT_EQ(run.object["spec"]["securityContext"].to_json(), R"({"runAsNonRoot":true})");
  const std::string once = run.object.to_json();
  EXPECT_EQ(run_effects(effects, "", once.c_str()).object.to_json(), once);
}

TEST(Template, ConditionsAndVariables) {
  const std::string head =
      "    variables:\n      gpu: object.spec.containers.exists(c, 'nvidia.com/gpu' in "
      "c.?resources.?limits.orValue({}))\n"
      "      broken: 1 / 0 > 0\n      nested: variables.gpu && true\n"
      "    when: variables.nested\n";
  const Patched run = run_effects(
      "      - {warn: 'gpu in ${cluster.tenantNamespace} of ${cluster.name} on ${cluster.hostNamespace}, a ${kind}'}\n"
      "      - {warn: never, when: 'false && variables.broken'}\n",
      head);
  EXPECT_THAT(run.report.applied, ElementsAre("test"));
  EXPECT_THAT(run.report.warnings, ElementsAre("gpu in ai-team of rag on team-legal, a Pod"));
  const Patched none = run_effects("      - {warn: gpu}\n", head, R"({"metadata":{},"spec":{"containers":[]}})");
  EXPECT_THAT(none.report.applied, IsEmpty());
}

TEST(Template, DenyEndsThePatch) {
  const Patched run =
      run_effects("      - {deny: 'runtime class ${tenant.metadata.name} is not allowed'}\n      - {warn: later}\n");
  EXPECT_THAT(run.report.denials, ElementsAre("runtime class p is not allowed"));
  EXPECT_THAT(run.report.warnings, IsEmpty());
}

TEST(Template, FailuresAtRunTimeAreDenialsThatNameThePatch) {
  EXPECT_THAT(
      run_effects("      - {set: spec.hostname, value: '${object.spec.nope}'}\n").report.denials,
      ElementsAre("patch \"test\" of the template failed: spec.hostname: ${object.spec.nope}: no such key: nope"));
  EXPECT_THAT(run_effects("      - {warn: x}\n", "    when: object.spec.nope\n").report.denials,
              ElementsAre("patch \"test\" of the template failed: when: no such key: nope"));
  EXPECT_THAT(run_effects("      - {warn: x}\n", "    when: object.metadata.name\n").report.denials,
              ElementsAre("patch \"test\" of the template failed: when is a string, not a bool"));
  EXPECT_THAT(run_effects("      - {set: spec.priority, value: '${object.metadata.name}'}\n").report.denials,
              ElementsAre(HasSubstr("the value is a string, it must be an integer")));
  EXPECT_THAT(run_effects("      - {set: metadata.labels.x, value: a}\n", "", R"({"metadata":{"labels":"oops"}})")
                  .report.denials,
              ElementsAre(HasSubstr("labels is not a map")));
  EXPECT_THAT(run_effects("      - {warn: '${object.spec}'}\n").report.denials,
              ElementsAre(HasSubstr("a map is no text")));
}

TEST(Template, OptionalNoneLeavesThingsAlone) {
  const Patched run =
      run_effects("      - {set: 'metadata.labels[app]', value: '${object.metadata.?annotations[?\"x\"]}'}\n");
  EXPECT_THAT(run.report.denials, IsEmpty());
  EXPECT_EQ(run.object["metadata"]["labels"].to_json(), R"({"app":"x"})");
}

TEST(Template, EscapesAndBracesInTexts) {
  const Patched run = run_effects("      - {warn: '$${x} ${{\"a\": \"}\"}.a} ${\"{\"}'}\n");
  EXPECT_THAT(run.report.warnings, ElementsAre("${x} } {"));
}

TEST(Template, WhatItAllowsIsRead) {
  const auto loaded = Template::load(
      "allow:\n  pods: {labels: [a/*], annotations: [b], schedulers: [s], resources: [nvidia.com/gpu]}\n"
      "  services: {types: [NodePort], externalNames: ['*.corp'], externalIPs: [10.0.0.0/8]}\n",
      "t.yaml");
  ASSERT_TRUE(loaded) << loaded.error().message;
  const auto resolved = loaded->resolve({}, "vc", "ns").value();
  const Allowed& allowed = resolved->config().allowed;
  EXPECT_TRUE(allowed.metadata_of("Pod").labels.match("a/b"));
  const Patterns paths{"x:/a/*", "x:/b*c/*d*"};
  for (const char* path : {"x:/a/b", "x:/a/b.c", "x:/bac/ddd", "x:/bccc/xdx"})
    EXPECT_TRUE(paths.match_path(path)) << path;
  for (const char* path :
       {"x:/a/", "x:/a", "x:/a/b/", "x:/a/b/c", "x:/bc/xdx", "x:/bac/d", "x:/b/c/xdx", "x:/bac/xd/x"})
    EXPECT_FALSE(paths.match_path(path)) << path;
  EXPECT_FALSE(allowed.metadata_of("Pod").annotations.match("a/b"));
  EXPECT_FALSE(allowed.metadata_of("Service").labels.match("a/b"));
  EXPECT_EQ(allowed.schedulers.words(), "default-scheduler, s");
  EXPECT_EQ(allowed.service_types.words(), "ClusterIP, LoadBalancer, NodePort, ExternalName");
  EXPECT_TRUE(allowed.external_ips.contain("10.1.2.3"));
  EXPECT_FALSE(allowed.external_ips.contain("11.1.2.3"));
  EXPECT_TRUE(allowed.load_balancer_ips.empty());
}

TEST(Template, PoliciesAreRead) {
  const auto loaded = Template::load(
      "policies:\n  resourceQuota: {enabled: true, quota: {requests.nvidia.com/gpu: 4, count/pods: null, limits.cpu: "
      "'8'}}\n"
      "  limitRange: {enabled: auto, default: {cpu: 2}, max: {memory: 4Gi}}\n  networkPolicy: {enabled: false}\n"
      "  podSecurityStandard: restricted\n",
      "t.yaml");
  ASSERT_TRUE(loaded) << loaded.error().message;
  const auto resolved = loaded->resolve({}, "vc", "ns").value();
  const Policies& policies = resolved->config().policies;
  EXPECT_TRUE(policies.resource_quota);
  const auto amount = [&](const std::string& name) {
    for (const auto& [resource, quantity] : policies.quota)
      if (resource == name) return quantity;
    return std::string();
  };
  EXPECT_EQ(amount("requests.nvidia.com/gpu"), "4");
  EXPECT_EQ(amount("limits.cpu"), "8");
  EXPECT_EQ(amount("count/pods"), "");
  EXPECT_EQ(amount("requests.cpu"), "10") << "the default";
  EXPECT_FALSE(policies.limit_range);
  EXPECT_EQ(policies.limit_max, (Quantities{{"memory", "4Gi"}}));
  EXPECT_FALSE(policies.network_policy);
  EXPECT_EQ(policies.pod_security_standard, "restricted");
  const auto plain = Template::none().resolve({}, "vc", "ns").value();
  EXPECT_TRUE(plain->config().policies.network_policy);
  EXPECT_EQ(plain->config().policies.pod_security_standard, "baseline");
}

TEST(Template, PoliciesAreChecked) {
  EXPECT_EQ(load_error("policies: {resourceQuota: {quota: {requests.cpu: many}}}"),
            "t.yaml:1:50: policies.resourceQuota.quota.requests.cpu: must be a quantity, such as 10, 500m or 20Gi");
  EXPECT_EQ(
      load_error("policies: {podSecurityStandard: basline}"),
      "t.yaml:1:33: policies.podSecurityStandard: must be one of baseline, restricted, privileged, not \"basline\" "
      "(did you mean \"baseline\"?)");
  EXPECT_THAT(
      load_error("policies: {networkPolicy: {controlPlane: {egress: [{}]}}}"),
      HasSubstr("policies.networkPolicy.controlPlane.egress: not supported: sublet's API server and syncer are"));
  EXPECT_THAT(load_error("policies: {centralAdmission: {validatingWebhooks: [{name: w}]}}"),
              HasSubstr("sublet has no such policy"));
}

TEST(Template, WhatItAllowsIsChecked) {
  EXPECT_EQ(load_error("allow: {pods: {scheduler: [x]}}"),
            "t.yaml:1:16: allow.pods.scheduler: unknown key (did you mean \"schedulers\"?)");
  EXPECT_EQ(load_error("allow: {pod: {}}"), "t.yaml:1:9: allow.pod: unknown key (did you mean \"pods\"?)");
  EXPECT_EQ(load_error("allow: {services: {externalIPs: [here]}}"),
            "t.yaml:1:34: allow.services.externalIPs: must be a network, such as 203.0.113.0/24");
  EXPECT_EQ(load_error("allow: {pods: {labels: app}}"), "t.yaml:1:24: allow.pods.labels: must be a list, not a string");
  EXPECT_EQ(load_error("allow: {pods: {labels: [sublet.dev/x]}}"),
            "t.yaml:1:25: allow.pods.labels: keys of sublet.dev are sublet's own");
}

TEST(Template, OtherKindsAreLeftAlone) {
  const auto resolved = resolve("patches: [{name: p, target: [Pod, Service], effects: [{warn: w}]}]\n");
  Document object = Document::object();
  EXPECT_THAT(resolved->apply("Service", object.root(), object.root(), kRagContext).warnings, ElementsAre("w"));
  EXPECT_THAT(resolved->apply("ConfigMap", object.root(), object.root(), kRagContext).warnings, IsEmpty());
}

TEST(Template, FrozenFieldsRefuseUpdates) {
  const auto resolved = resolve(
      "patches: [{name: p, target: Pod, effects: [{freeze: 'metadata.annotations[gpu-memory]', message: 'fixed for "
      "${tenant.metadata.name}'}, {freeze: spec.priority}]}]\n");
  const Document before = Document::parse_json(R"({"metadata":{"name":"p"},"spec":{"priority":1}})").value();
  const Document after =
      Document::parse_json(R"({"metadata":{"name":"p","annotations":{"gpu-memory":"1"}},"spec":{"priority":2}})")
          .value();
  EXPECT_THAT(resolved->check_update("Pod", before.root(), before.root(), kRagContext), IsEmpty());
  EXPECT_THAT(resolved->check_update("Pod", before.root(), after.root(), kRagContext),
              ElementsAre("fixed for p", "spec.priority cannot be changed after creation"));
}

TEST(Template, HostileFilesAreBounded) {
  std::string bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 9; ++i) {
    bomb += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [";
    for (int j = 0; j < 10; ++j) bomb += (j ? ", *a" : "*a") + std::to_string(i - 1);
    bomb += "]\n";
  }
  EXPECT_THAT(load_error(bomb), HasSubstr("more than 20000 values"));
  EXPECT_THAT(load_error("a: " + std::string(100, '[') + std::string(100, ']')), HasSubstr("nested too deep"));
  EXPECT_THAT(load_error("a: " + std::string(100'000, '[')), HasSubstr("t.yaml:"));
  EXPECT_THAT(load_error(std::string(2 << 20, ' ')), HasSubstr("larger than"));
  EXPECT_THAT(load_error("a: \xff\n"), HasSubstr("not valid UTF-8"));
  EXPECT_THAT(load_error("a: &x [*x]\n"), HasSubstr("t.yaml:1:"));
  EXPECT_THAT(load_error("a: !!python/object x\n"), HasSubstr("are not supported"));
  EXPECT_THAT(load_error("a: 1\n---\nb: 2\n"), HasSubstr("more than one YAML document"));
}

// The examples at the end of docs/templates.md, as they stand there.
TEST(Template, ExamplesOfTheManualWork) {
  std::ifstream file(source_path("docs/templates.md"));
  std::stringstream text;
  text << file.rdbuf();
  std::string manual = text.str();
  manual.erase(0, manual.find("## More examples"));
  const std::size_t start = manual.find("```yaml\n") + 8;
  const auto resolved = resolve("patches:\n" + manual.substr(start, manual.find("```", start) - start));
  ASSERT_TRUE(resolved);
  Document pod = Document::parse_json(kPod).value();
  pod["spec"].object("affinity").object("nodeAffinity").object("requiredDuringSchedulingIgnoredDuringExecution");
  Value terms = pod["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"].array(
      "nodeSelectorTerms");
  terms.push_object();
  terms.push_object();
  const Document tenant = pod.clone();
  const auto report = resolved->apply("Pod", pod.root(), tenant.root(), kRagContext);
  EXPECT_THAT(report.denials, IsEmpty());
  EXPECT_EQ(pod["spec"]["containers"].at(0)["image"].text(), "mirror.corp/docker.io/library/nginx");
  EXPECT_EQ(pod["spec"]["containers"].at(1)["image"].text(), "ghcr.io/o/b:1");
  EXPECT_EQ(pod["spec"]["tolerations"].size(), 1u);
  for (const Value term : terms) EXPECT_EQ(term["matchExpressions"].size(), 1u);
  Document strange = tenant.clone();
  strange["spec"].put("runtimeClassName", "kata");
  EXPECT_THAT(resolved->apply("Pod", strange.clone().root(), strange.root(), kRagContext).denials,
              ElementsAre("runtime class kata is not offered here; use nvidia or gvisor"));
}

}  // namespace
}  // namespace sublet::patches
