// Custom resources between two servers: their definitions come, they cross, what the host says comes back, and they go.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sublet/syncer/mirrored_kinds.h"
#include "syncer/two_servers_testing.h"

namespace sublet::syncer {
namespace {

using schema::Document;
using schema::Value;

const kube::Resource kDefinitions{"apiextensions.k8s.io", "v1", "customresourcedefinitions"};
const kube::Resource kCertificates{"cert-manager.io", "v1", "certificates"};
const kube::Resource kWidgets{"example.com", "v1", "widgets"};
const kube::Resource kIssuers{"cert-manager.io", "v1", "clusterissuers"};

constexpr const char* kTemplate = R"(
sync:
  toHost:
    customResources:
      certificates.cert-manager.io:
        enabled: true
        patches:
          - {path: spec.secretName, reference: {apiVersion: v1, kind: Secret}}
          - {path: spec.issuerRef, reference: {kind: Issuer, namePath: name, kindPath: kind}}
      widgets.example.com: {enabled: true}
  fromHost:
    customResources:
      clusterissuers.cert-manager.io: {enabled: true, scope: Cluster, selector: {matchLabels: {for: tenants}}}
)";

std::string definition(const std::string& plural, const std::string& kind, const std::string& group, bool namespaced,
                       bool status) {
  const std::string schema =
      R"("schema":{"openAPIV3Schema":{"type":"object","x-kubernetes-preserve-unknown-fields":true}})";
  return R"({"metadata":{"name":")" + plural + "." + group + R"("},"spec":{"group":")" + group + R"(","scope":")" +
         (namespaced ? "Namespaced" : "Cluster") + R"(","names":{"plural":")" + plural + R"(","kind":")" + kind +
         R"("},"versions":[{"name":"v1alpha1","served":true,"storage":false,)" + schema +
         R"(},{"name":"v1","served":true,"storage":true,)" + schema +
         (status ? R"(,"subresources":{"status":{}})" : "") + "}]}}";
}

class CustomSync : public TwoServers {
 protected:
  CustomSync() : TwoServers(kTemplate) {}

  void define_on_host(const std::string& plural, const std::string& kind, const std::string& group, bool namespaced,
                      bool status = true) {
    host.create(kDefinitions, definition(plural, kind, group, namespaced, status));
  }
  void await_definition(Cluster& side, const std::string& name) {
    eventually(
        [&] {
          const Document found = side.get(kDefinitions, "", name);
          for (const Value condition : found["status"]["conditions"])
            if (condition["type"].text() == "Established") return condition["status"].text() == "True";
          return false;
        },
        name + " is established");
  }
  void begin() {
    define_on_host("certificates", "Certificate", "cert-manager.io", true);
    await_definition(host, "certificates.cert-manager.io");
    start_syncer();
    await_definition(tenant, "certificates.cert-manager.io");
  }
  void make_certificate(const std::string& name, const std::string& spec) {
    tenant.create(kCertificates, R"({"apiVersion":"cert-manager.io/v1","kind":"Certificate","metadata":{"name":")" +
                                     name + R"(","namespace":"default"},"spec":)" + spec + "}");
  }
  Document on_host(const std::string& name) { return host.get(kCertificates, kHostNamespace, host_name_of(name)); }
  Document await_host(const std::string& name) {
    Document object;
    eventually(
        [&] {
          object = on_host(name);
          return object.root().is_object();
        },
        "the host has " + name);
    return object;
  }
  Document in_tenant(const std::string& name) { return tenant.get(kCertificates, kTenantNamespace, name); }
  // As an operator of the host does it.
  void say_on_host(const std::string& name, const std::string& status) {
    host.patch(kCertificates, kHostNamespace, host_name_of(name), R"({"status":)" + status + "}", "status");
  }
};

// user-pain, demand 17: any custom resource by configuration, both ways.
TEST_F(CustomSync, OneCrossesAndItsStatusComesBackInTheTenantsWords) {
  begin();
  const Document mirrored = tenant.get(kDefinitions, "", "certificates.cert-manager.io");
  EXPECT_TRUE(mirrored["metadata"]["labels"].has(kLabelFromHost));
  EXPECT_EQ(mirrored["spec"]["versions"].size(), 1u) << "the one that crosses";

  make_certificate("web", R"({"secretName":"tls","issuerRef":{"name":"ca","kind":"Issuer"},"dnsNames":["a.example"]})");
  const Document host_object = await_host("web");
  EXPECT_EQ(host_object["spec"]["secretName"].text(), host_name_of("tls"));
  EXPECT_EQ(host_object["spec"]["issuerRef"]["name"].text(), host_name_of("ca"));
  EXPECT_EQ(host_object["metadata"]["labels"][kLabelTenantUid].text(), "vc-uid");
  EXPECT_EQ(host_object["metadata"]["annotations"][kAnnotationTenantUid].text(),
            in_tenant("web")["metadata"]["uid"].text());

  // What it names comes with it.
  tenant.create(kSecrets, R"({"metadata":{"name":"tls","namespace":"default"},"data":{"k":"dg=="}})");
  eventually([&] { return host.get(kSecrets, kHostNamespace, host_name_of("tls")).root().is_object(); },
             "the Secret that it names has come");

  say_on_host("web",
              R"({"conditions":[{"type":"Ready","status":"True","observedGeneration":1,"message":"stored in team/)" +
                  host_name_of("tls") + R"("}],"path":"team/)" + host_name_of("tls") + R"(","secret":")" +
                  host_name_of("tls") + R"(","where":"team","observedGeneration":1})");
  eventually([&] { return in_tenant("web")["status"]["secret"].text() == "tls"; }, "the status has come");
  const Document told = in_tenant("web");
  EXPECT_EQ(told["status"]["where"].text(), "default");
  EXPECT_EQ(told["status"]["conditions"].at(0)["message"].text(), "stored in default/tls");
  EXPECT_EQ(told["status"]["path"].text(), "default/tls");

  // Generations are each side's own.
  tenant.patch(kCertificates, kTenantNamespace, "web", R"({"spec":{"dnsNames":["b.example"]}})");
  tenant.patch(kCertificates, kTenantNamespace, "web", R"({"spec":{"dnsNames":["c.example"]}})");
  eventually([&] { return on_host("web")["spec"]["dnsNames"].at(0).text() == "c.example"; }, "the host has the change");
  const auto generation = on_host("web")["metadata"]["generation"].integer();
  say_on_host("web", R"({"observedGeneration":)" + std::to_string(generation) + "}");
  eventually(
      [&] {
        const Document now = in_tenant("web");
        return now["status"]["observedGeneration"].integer() == now["metadata"]["generation"].integer();
      },
      "the tenant's generation is told as observed");
  EXPECT_EQ(in_tenant("web")["metadata"]["generation"].integer(), 3);

  settle();
  const auto host_writes = faults.writes(), tenant_writes = tenant_faults.writes();
  syncer->resync();
  settle();
  EXPECT_EQ(faults.writes(), host_writes);
  EXPECT_EQ(tenant_faults.writes(), tenant_writes);

  tenant.remove(kCertificates, kTenantNamespace, "web");
  eventually([&] { return !on_host("web").root().is_object(); }, "it has left the host");
  eventually([&] { return !host.get(kSecrets, kHostNamespace, host_name_of("tls")).root().is_object(); },
             "and with it the Secret that nothing else names");
}

TEST_F(CustomSync, WhatTheHostFillsInStaysAndWhatItTakesIsMadeAnew) {
  begin();
  make_certificate("web", R"({"secretName":"tls"})");
  await_host("web");
  host.patch(kCertificates, kHostNamespace, host_name_of("web"),
             R"({"spec":{"filled":"by the host","secretName":"other"}})");
  eventually([&] { return on_host("web")["spec"]["secretName"].text() == host_name_of("tls"); },
             "what the tenant sets is put back");
  EXPECT_EQ(on_host("web")["spec"]["filled"].text(), "by the host");
  const std::string uid = on_host("web")["metadata"]["uid"].string();
  host.remove(kCertificates, kHostNamespace, host_name_of("web"));
  eventually(
      [&] {
        const Document now = on_host("web");
        return now.root().is_object() && now["metadata"]["uid"].text() != uid;
      },
      "one that the host deletes is made anew");
}

TEST_F(CustomSync, AStatusWithoutAnEndpointOfItsOwnComesBackToo) {
  define_on_host("widgets", "Widget", "example.com", true, false);
  await_definition(host, "widgets.example.com");
  start_syncer();
  await_definition(tenant, "widgets.example.com");
  tenant.create(kWidgets,
                R"({"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"w","namespace":"default"},)"
                R"("spec":{"size":3},"status":{"mine":"own"}})");
  eventually([&] { return host.get(kWidgets, kHostNamespace, host_name_of("w")).root().is_object(); },
             "it has crossed");
  EXPECT_FALSE(host.get(kWidgets, kHostNamespace, host_name_of("w")).root().has("status")) << "the host's alone";
  host.patch(kWidgets, kHostNamespace, host_name_of("w"), R"({"status":{"ready":true}})");
  eventually([&] { return tenant.get(kWidgets, kTenantNamespace, "w")["status"]["ready"].boolean(); }, "it came back");
  EXPECT_FALSE(tenant.get(kWidgets, kTenantNamespace, "w")["status"].has("mine"));
}

TEST_F(CustomSync, ThoseWithoutANamespaceComeFromTheHostBySelector) {
  define_on_host("clusterissuers", "ClusterIssuer", "cert-manager.io", false);
  await_definition(host, "clusterissuers.cert-manager.io");
  const std::string type = R"({"apiVersion":"cert-manager.io/v1","kind":"ClusterIssuer",)";
  host.create(kIssuers,
              type + R"("metadata":{"name":"ca","labels":{"for":"tenants"},"annotations":{"a":"b"}},"spec":{"x":1}})");
  host.create(kIssuers, type + R"("metadata":{"name":"hidden"},"spec":{"x":1}})");
  start_syncer();
  eventually(
      [&] {
        const auto found = tenant.client().get(kIssuers, "", "ca");
        return found.has_value();
      },
      "the host's issuer is shown");
  host.patch(kIssuers, "", "ca", R"({"status":{"ready":true}})", "status");
  eventually([&] { return tenant.get(kIssuers, "", "ca")["status"]["ready"].boolean(); }, "with its status");
  EXPECT_EQ(tenant.get(kIssuers, "", "ca")["spec"]["x"].integer(), 1);
  EXPECT_FALSE(tenant.get(kIssuers, "", "ca")["metadata"].has("annotations"));
  EXPECT_FALSE(tenant.get(kIssuers, "", "hidden").root().is_object());
  host.patch(kIssuers, "", "ca", R"({"spec":{"x":null,"y":2}})");
  eventually(
      [&] {
        const Document now = tenant.get(kIssuers, "", "ca");
        return now["spec"]["y"].integer() == 2 && !now["spec"].has("x");
      },
      "a change has come");
  host.remove(kIssuers, "", "ca");
  eventually([&] { return !tenant.get(kIssuers, "", "ca").root().is_object(); }, "it goes with the host's");
}

TEST_F(CustomSync, ADefinitionThatTheTenantHasMadeItselfIsLeftAlone) {
  define_on_host("certificates", "Certificate", "cert-manager.io", true);
  await_definition(host, "certificates.cert-manager.io");
  tenant.create(kDefinitions, definition("certificates", "Certificate", "cert-manager.io", true, true));
  await_definition(tenant, "certificates.cert-manager.io");
  start_syncer();
  make_certificate("web", R"({"secretName":"tls"})");
  await_host("web");
  const Document own = tenant.get(kDefinitions, "", "certificates.cert-manager.io");
  EXPECT_EQ(own["spec"]["versions"].size(), 2u);
  EXPECT_FALSE(own["metadata"]["labels"].has(kLabelFromHost));
}

TEST_F(CustomSync, TheDefinitionFollowsTheHostsAndStaysWhenThatGoes) {
  begin();
  make_certificate("web", R"({"secretName":"tls"})");
  await_host("web");
  host.patch(kDefinitions, "", "certificates.cert-manager.io", R"({"spec":{"names":{"shortNames":["cert"]}}})");
  eventually(
      [&] {
        return tenant.get(kDefinitions, "", "certificates.cert-manager.io")["spec"]["names"]["shortNames"]
                   .at(0)
                   .text() == "cert";
      },
      "a change of the host's has come");
  host.remove(kDefinitions, "", "certificates.cert-manager.io");
  eventually([&] { return !host.get(kDefinitions, "", "certificates.cert-manager.io").root().is_object(); },
             "the host's is gone");
  EXPECT_TRUE(in_tenant("web").root().is_object()) << "a tenant's objects do not go with the host's operator";
  EXPECT_TRUE(tenant.get(kDefinitions, "", "certificates.cert-manager.io").root().is_object());
}

TEST_F(CustomSync, ADefinitionThatComesLaterAsksForANewBeginning) {
  std::atomic<int> asked = 0;
  kinds_changed = [&] {
    ++asked;
    ring();
  };
  start_syncer();
  create_pod("still");
  await_host_pod("still");
  EXPECT_EQ(asked, 0) << "what the host does not serve holds nobody up";
  define_on_host("certificates", "Certificate", "cert-manager.io", true);
  eventually([&] { return asked > 0; }, "the syncer wants to begin anew");
  stop_syncer();
  asked = 0;
  start_syncer();
  await_definition(tenant, "certificates.cert-manager.io");
  make_certificate("web", R"({"secretName":"tls"})");
  await_host("web");
  EXPECT_EQ(asked, 0);
}

// What an operator of the host makes for a tenant's object.
class Integrated : public TwoServers {
 protected:
  Integrated()
      : TwoServers(
            "integrations: {certManager: {enabled: true, sync: {fromHost: {clusterIssuers: {selector: {labels: "
            "{for: tenants}}}}}}, externalSecrets: {enabled: true, sync: {toHost: {externalSecrets: {selector: "
            "{matchLabels: {cross: \"yes\"}}}}}}}") {
    for (const auto& [plural, kind] : {std::pair("certificates", "Certificate"), std::pair("issuers", "Issuer")})
      define(plural, kind, "cert-manager.io", true);
    define("clusterissuers", "ClusterIssuer", "cert-manager.io", false);
    define("externalsecrets", "ExternalSecret", "external-secrets.io", true);
    host.create(kIssuers, R"({"apiVersion":"cert-manager.io/v1","kind":"ClusterIssuer","metadata":{"name":"ca",)"
                          R"("labels":{"for":"tenants"}},"spec":{"selfSigned":{}}})");
  }
  void define(const std::string& plural, const std::string& kind, const std::string& group, bool namespaced) {
    host.create(kDefinitions, definition(plural, kind, group, namespaced, true));
    await(host, plural + "." + group);
  }
  void await(Cluster& side, const std::string& name) {
    eventually(
        [&] {
          const Document found = side.get(kDefinitions, "", name);
          for (const Value condition : found["status"]["conditions"])
            if (condition["type"].text() == "Established") return condition["status"].text() == "True";
          return false;
        },
        name + " is established");
  }
  void begin() {
    start_syncer();
    await(tenant, "certificates.cert-manager.io");
    await(tenant, "externalsecrets.external-secrets.io");
  }
  void make_certificate(const std::string& name, const std::string& issuer) {
    tenant.create(kCertificates, R"({"apiVersion":"cert-manager.io/v1","kind":"Certificate","metadata":{"name":")" +
                                     name + R"(","namespace":"default"},"spec":{"secretName":"tls","issuerRef":{)" +
                                     issuer + "}}}");
  }
  // As cert-manager does it: with the labels and annotations of the Certificate's secretTemplate.
  void issue(const std::string& name, const std::string& data) {
    const Document certificate = host.get(kCertificates, kHostNamespace, host_name_of(name));
    Document secret = Document::object();
    secret.root().put("metadata", certificate["spec"]["secretTemplate"]);
    secret.root()["metadata"].put("name", certificate["spec"]["secretName"].text());
    secret.root()["metadata"].put("namespace", kHostNamespace);
    secret.root().put("type", "example.com/tls");
    secret.root().object("data").put("k", data);
    host.create(kSecrets, secret.to_json());
  }
  std::string secret_of_tenant() { return tenant.get(kSecrets, kTenantNamespace, "tls")["data"]["k"].string(); }
};

TEST_F(Integrated, TheSecretThatTheHostMakesComesFollowsAndGoes) {
  begin();
  make_certificate("web", R"("name":"ca","kind":"ClusterIssuer")");
  eventually([&] { return host.get(kCertificates, kHostNamespace, host_name_of("web")).root().is_object(); },
             "the Certificate has crossed");
  issue("web", "MQ==");
  eventually([&] { return secret_of_tenant() == "MQ=="; }, "its Secret has come");
  EXPECT_EQ(tenant.get(kSecrets, kTenantNamespace, "tls")["type"].text(), "example.com/tls");
  // It is on the host already, as whatever uses it there finds it.
  create_pod("user", R"(,"volumes":[{"name":"v","secret":{"secretName":"tls"}}])");
  await_host_pod("user");
  settle();
  EXPECT_EQ(host.get(kSecrets, kHostNamespace, host_name_of("tls"))["type"].text(), "example.com/tls");
  EXPECT_TRUE(host.get(kSecrets, kHostNamespace, host_name_of("tls"))["metadata"]["annotations"][kAnnotationTenantKind]
                  .text() == kMadeSecret);

  host.patch(kSecrets, kHostNamespace, host_name_of("tls"), R"({"data":{"k":"Mg=="}})");
  eventually([&] { return secret_of_tenant() == "Mg=="; }, "a renewal has come");
  tenant.patch(kSecrets, kTenantNamespace, "tls", R"({"data":{"k":"eA=="}})");
  eventually([&] { return secret_of_tenant() == "Mg=="; }, "what the tenant writes is put back");
  settle();
  const auto host_writes = faults.writes(), tenant_writes = tenant_faults.writes();
  syncer->resync();
  settle();
  EXPECT_EQ(faults.writes(), host_writes);
  EXPECT_EQ(tenant_faults.writes(), tenant_writes);

  tenant.remove(kPods, kTenantNamespace, "user");
  settle();
  EXPECT_TRUE(host.get(kSecrets, kHostNamespace, host_name_of("tls")).root().is_object()) << "it is not ours to take";
  host.remove(kSecrets, kHostNamespace, host_name_of("tls"));
  eventually([&] { return secret_of_tenant().empty(); }, "it goes with the host's");
}

TEST_F(Integrated, WhatTheHostDoesNotShowIsNotNamed) {
  host.create(kIssuers, R"({"apiVersion":"cert-manager.io/v1","kind":"ClusterIssuer","metadata":{"name":"of-others"},)"
                        R"("spec":{"selfSigned":{}}})");
  begin();
  make_certificate("sneaky", R"("name":"of-others","kind":"ClusterIssuer")");
  make_certificate("web", R"("name":"ca","kind":"ClusterIssuer")");
  eventually([&] { return host.get(kCertificates, kHostNamespace, host_name_of("web")).root().is_object(); },
             "the other has crossed");
  EXPECT_THAT(await_event("sneaky", "SyncDenied"), testing::HasSubstr("none of those that the host shows"));
  EXPECT_FALSE(host.get(kCertificates, kHostNamespace, host_name_of("sneaky")).root().is_object());
}

TEST_F(Integrated, OnlyThoseThatAreSelectedCross) {
  begin();
  const kube::Resource external{"external-secrets.io", "v1", "externalsecrets"};
  for (const char* name : {"one", "two"})
    tenant.create(external, R"({"apiVersion":"external-secrets.io/v1","kind":"ExternalSecret","metadata":{"name":")" +
                                std::string(name) + R"(","namespace":"default"},"spec":{"refreshInterval":"1h"}})");
  tenant.patch(external, kTenantNamespace, "two", R"({"metadata":{"labels":{"cross":"yes"}}})");
  eventually([&] { return host.get(external, kHostNamespace, host_name_of("two")).root().is_object(); },
             "the selected one has crossed");
  settle();
  EXPECT_FALSE(host.get(external, kHostNamespace, host_name_of("one")).root().is_object());
  tenant.patch(external, kTenantNamespace, "two", R"({"metadata":{"labels":{"cross":null}}})");
  eventually([&] { return !host.get(external, kHostNamespace, host_name_of("two")).root().is_object(); },
             "one that is selected no more has left the host");
}

// Custom resources of the host that have a namespace, and Gateways, which go both ways.
class Shared : public TwoServers {
 protected:
  Shared()
      : TwoServers(
            R"({sync: {toHost: {gatewayApi: {gateways: {enabled: true}, httpRoutes: {enabled: true}}}, fromHost: {
          gateways: {enabled: true, mappings: {byName: {"edge/public": "shared/front"}}},
          customResources: {pools.example.com: {enabled: true, scope: Namespaced,
            mappings: {byName: {"edge/*": "from-host/*"}}}}}}})") {
    host.create({"", "v1", "namespaces"}, R"({"metadata":{"name":"edge"}})");
    define("gateways", "Gateway", kGroup);
    define("httproutes", "HTTPRoute", kGroup);
    define("pools", "Pool", "example.com");
    host.create(kGateways,
                R"({"apiVersion":"gateway.networking.k8s.io/v1","kind":"Gateway","metadata":{"name":"public",)"
                R"("namespace":"edge"},"spec":{"gatewayClassName":"envoy","infrastructure":{"labels":{}},)"
                R"("listeners":[{"name":"https","tls":{"certificateRefs":[{"name":"of-the-host"}]}}]}})");
    host.create(kGateways,
                R"({"apiVersion":"gateway.networking.k8s.io/v1","kind":"Gateway","metadata":{"name":"other",)"
                R"("namespace":"edge"},"spec":{"gatewayClassName":"envoy"}})");
    host.create(kPools, R"({"apiVersion":"example.com/v1","kind":"Pool","metadata":{"name":"gpus","namespace":"edge"},)"
                        R"("spec":{"size":3}})");
  }
  void define(const std::string& plural, const std::string& kind, const std::string& group) {
    auto made = Document::parse_json(definition(plural, kind, group, true, true));
    made->root()["metadata"].object("annotations").put("api-approved.kubernetes.io", "https://example.com/1");
    host.create(kDefinitions, made->to_json());
    await(host, plural + "." + group);
  }
  void await(Cluster& side, const std::string& name) {
    eventually(
        [&] {
          const Document found = side.get(kDefinitions, "", name);
          for (const Value condition : found["status"]["conditions"])
            if (condition["type"].text() == "Established") return condition["status"].text() == "True";
          return false;
        },
        name + " is established");
  }
  static constexpr const char* kGroup = "gateway.networking.k8s.io";
  const kube::Resource kGateways{kGroup, "v1", "gateways"}, kRoutes{kGroup, "v1", "httproutes"},
      kPools{"example.com", "v1", "pools"};
};

TEST_F(Shared, ThoseOfANamespaceComeFollowAndGo) {
  start_syncer();
  const auto host_writes = faults.writes();  // what is always there
  eventually([&] { return tenant.get(kPools, "from-host", "gpus")["spec"]["size"].integer() == 3; }, "it has come");
  EXPECT_TRUE(tenant.get(kPools, "from-host", "gpus")["metadata"]["labels"].has(kLabelFromHost)) << "read-only";
  host.patch(kPools, "edge", "gpus", R"({"spec":{"size":4}})");
  host.patch(kPools, "edge", "gpus", R"({"status":{"free":2}})", "status");
  eventually(
      [&] {
        const Document now = tenant.get(kPools, "from-host", "gpus");
        return now["spec"]["size"].integer() == 4 && now["status"]["free"].integer() == 2;
      },
      "it follows, with its status");
  const auto changed =
      tenant.client().patch(kPools, "from-host", "gpus", kube::PatchType::merge, R"({"spec":{"size":9}})");
  ASSERT_FALSE(changed);
  EXPECT_THAT(changed.error().message, testing::HasSubstr("it comes from the host cluster"));
  settle();
  const auto tenant_writes = tenant_faults.writes();
  syncer->resync();
  settle();
  EXPECT_EQ(tenant_faults.writes(), tenant_writes);
  EXPECT_EQ(faults.writes(), host_writes);
  host.remove(kPools, "edge", "gpus");
  eventually([&] { return !tenant.get(kPools, "from-host", "gpus").root().is_object(); }, "it goes with the host's");
}

// user-pain, demand 17: the Gateway API too.
TEST_F(Shared, ATenantsRouteAttachesToAGatewayOfThePlatform) {
  start_syncer();
  eventually([&] { return tenant.get(kGateways, "shared", "front").root().is_object(); }, "the Gateway has come");
  const Document shown = tenant.get(kGateways, "shared", "front");
  EXPECT_FALSE(shown["spec"].has("infrastructure"));
  EXPECT_FALSE(shown["spec"]["listeners"].at(0)["tls"].has("certificateRefs"));
  EXPECT_FALSE(shown["metadata"]["annotations"].has("sublet.dev/host-name"));
  EXPECT_FALSE(tenant.get(kGateways, "shared", "other").root().is_object());
  tenant.create(kRoutes, R"({"apiVersion":"gateway.networking.k8s.io/v1","kind":"HTTPRoute","metadata":{"name":"site",)"
                         R"("namespace":"default"},"spec":{"parentRefs":[{"name":"front","namespace":"shared"}]}})");
  eventually([&] { return host.get(kRoutes, kHostNamespace, host_name_of("site")).root().is_object(); },
             "the route has crossed");
  const Document route = host.get(kRoutes, kHostNamespace, host_name_of("site"));
  const Value parent = route["spec"]["parentRefs"].at(0);
  EXPECT_EQ(parent["name"].text(), "public");
  EXPECT_EQ(parent["namespace"].text(), "edge");
  host.patch(
      kRoutes, kHostNamespace, host_name_of("site"),
      R"({"status":{"parents":[{"parentRef":{"name":"public","namespace":"edge"},"controllerName":"a.example/b"}]}})",
      "status");
  eventually(
      [&] {
        const Document now = tenant.get(kRoutes, "default", "site");
        return now["status"]["parents"].at(0)["parentRef"]["name"].text() == "front" &&
               now["status"]["parents"].at(0)["parentRef"]["namespace"].text() == "shared";
      },
      "its status has come, in the tenant's names");
  // The tenant's own beside it, and what came does not go back.
  tenant.create(kGateways, R"({"apiVersion":"gateway.networking.k8s.io/v1","kind":"Gateway","metadata":{"name":"own",)"
                           R"("namespace":"default"},"spec":{"gatewayClassName":"envoy","listeners":[]}})");
  eventually([&] { return host.get(kGateways, kHostNamespace, host_name_of("own")).root().is_object(); },
             "the tenant's own has crossed");
  settle();
  const auto all = host.client().list(kGateways, kHostNamespace, {});
  ASSERT_TRUE(all);
  EXPECT_EQ(all->root()["items"].size(), 1u);
}

class Mapped : public TwoServers {
 protected:
  Mapped()
      : TwoServers(R"({sync: {fromHost: {
          configMaps: {enabled: true, mappings: {byName: {"shared/*": "from-host/*", "/own": "default/own"}}},
          secrets: {enabled: true, mappings: {byName: {"shared/pull": "default/registry"}}}}}})") {
    host.create({"", "v1", "namespaces"}, R"({"metadata":{"name":"shared"}})");
    host.create(kConfigMaps, R"({"metadata":{"name":"ca","namespace":"shared","labels":{"a":"b"}},"data":{"k":"1"}})");
    host.create(kConfigMaps, R"({"metadata":{"name":"own","namespace":"team"},"data":{"k":"own"}})");
    host.create(kConfigMaps, R"({"metadata":{"name":"other","namespace":"team"},"data":{"k":"not mapped"}})");
    host.create(kSecrets,
                R"({"metadata":{"name":"pull","namespace":"shared"},"type":"example.com/a","data":{"k":"MQ=="}})");
    host.create(kSecrets, R"({"metadata":{"name":"key","namespace":"shared"},"data":{"k":"MQ=="}})");
  }
  std::string value(const kube::Resource& resource, const std::string& space, const std::string& name) {
    return tenant.get(resource, space, name)["data"]["k"].string();
  }
};

TEST_F(Mapped, TheyComeUnderTheMappedNamesFollowAndGo) {
  start_syncer();
  const auto host_writes = faults.writes();  // what is always there
  eventually([&] { return value(kConfigMaps, "from-host", "ca") == "1"; }, "all of a namespace have come");
  eventually([&] { return value(kConfigMaps, "default", "own") == "own"; }, "one of the host namespace");
  eventually([&] { return value(kSecrets, "default", "registry") == "MQ=="; }, "a Secret, under another name");
  const Document ca = tenant.get(kConfigMaps, "from-host", "ca");
  EXPECT_TRUE(ca["metadata"]["labels"].has(kLabelFromHost)) << "read-only";
  EXPECT_EQ(ca["metadata"]["labels"]["a"].text(), "b");
  EXPECT_EQ(tenant.get(kSecrets, "default", "registry")["type"].text(), "example.com/a");
  settle();
  EXPECT_FALSE(tenant.get(kConfigMaps, "default", "other").root().is_object()) << "it is in no mapping";
  EXPECT_FALSE(tenant.get(kSecrets, "default", "key").root().is_object());
  EXPECT_FALSE(tenant.get(kSecrets, "from-host", "key").root().is_object()) << "a mapping is of its kind";

  host.patch(kConfigMaps, "shared", "ca", R"({"data":{"k":"2"},"metadata":{"labels":{"a":null}}})");
  eventually([&] { return value(kConfigMaps, "from-host", "ca") == "2"; }, "a change has come");
  EXPECT_FALSE(tenant.get(kConfigMaps, "from-host", "ca")["metadata"]["labels"].has("a"));
  host.create(kConfigMaps, R"({"metadata":{"name":"late","namespace":"shared"},"data":{"k":"3"}})");
  eventually([&] { return value(kConfigMaps, "from-host", "late") == "3"; }, "and a new one");
  // A type cannot be changed: both sides' objects are made anew.
  const std::string uid = tenant.get(kSecrets, "default", "registry")["metadata"]["uid"].string();
  host.remove(kSecrets, "shared", "pull");
  host.create(kSecrets,
              R"({"metadata":{"name":"pull","namespace":"shared"},"type":"example.com/b","data":{"k":"Mg=="}})");
  eventually([&] { return tenant.get(kSecrets, "default", "registry")["type"].text() == "example.com/b"; },
             "the new one has come");
  EXPECT_NE(tenant.get(kSecrets, "default", "registry")["metadata"]["uid"].text(), uid);

  settle();
  const auto tenant_writes = tenant_faults.writes();
  syncer->resync();
  settle();
  EXPECT_EQ(tenant_faults.writes(), tenant_writes);
  EXPECT_EQ(faults.writes(), host_writes) << "nothing of it is written on the host";
  host.remove(kConfigMaps, "shared", "late");
  eventually([&] { return !tenant.get(kConfigMaps, "from-host", "late").root().is_object(); },
             "it goes with the host's");
}

TEST_F(Mapped, WhatTheTenantHasUnderThatNameStaysAndWhatItTakesAwayComesBack) {
  tenant.create(kSecrets, R"({"metadata":{"name":"registry","namespace":"default"},"data":{"k":"bWluZQ=="}})");
  start_syncer();
  eventually([&] { return value(kConfigMaps, "from-host", "ca") == "1"; }, "the others have come");
  settle();
  EXPECT_EQ(value(kSecrets, "default", "registry"), "bWluZQ==");
  host.patch(kSecrets, "shared", "pull", R"({"data":{"k":"Mg=="}})");
  settle();
  EXPECT_EQ(value(kSecrets, "default", "registry"), "bWluZQ==");
  EXPECT_FALSE(tenant.client().remove(kConfigMaps, "from-host", "ca")) << "it is the host's";
  EXPECT_TRUE(tenant.client_through(tenant_faults).remove(kConfigMaps, "from-host", "ca"));  // as the syncer itself
  eventually([&] { return value(kConfigMaps, "from-host", "ca") == "1"; }, "it is made anew");
}

TEST_F(Mapped, NeitherItsOwnObjectsNorTokensOfAccountsCome) {
  host.create(kSecrets, R"({"metadata":{"name":"later","namespace":"shared"},"data":{"k":"MQ=="}})");
  host.create(kConfigMaps, R"({"metadata":{"name":"ours","namespace":"shared","labels":{"sublet.dev/managed-by":"x"}},)"
                           R"("data":{"k":"1"}})");
  start_syncer();
  eventually([&] { return value(kConfigMaps, "from-host", "ca") == "1"; }, "the others have come");
  settle();
  EXPECT_FALSE(tenant.get(kConfigMaps, "from-host", "ours").root().is_object());
}

TEST_F(CustomSync, WhatTheBorderRefusesIsToldOnTheObject) {
  begin();
  make_certificate("odd", R"({"targetNamespace":"kube-system"})");
  EXPECT_THAT(await_event("odd", "SyncDenied"), testing::HasSubstr("spec.targetNamespace"));
  EXPECT_FALSE(on_host("odd").root().is_object());
}

}  // namespace
}  // namespace sublet::syncer
