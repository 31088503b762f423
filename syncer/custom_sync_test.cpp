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
                  host_name_of("tls") + R"( of now"}],"secret":")" + host_name_of("tls") +
                  R"(","where":"team","observedGeneration":1})");
  eventually([&] { return in_tenant("web")["status"]["secret"].text() == "tls"; }, "the status has come");
  const Document told = in_tenant("web");
  EXPECT_EQ(told["status"]["where"].text(), "default");
  EXPECT_EQ(told["status"]["conditions"].at(0)["message"].text(), "stored in default/tls of now");

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
  EXPECT_EQ(faults.writes(), 0u) << "nothing of it is written on the host";
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
