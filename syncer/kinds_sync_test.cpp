// Kinds beside pods between two servers: they cross, what the host says comes back, and they go.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sublet/syncer/syncer.h"
#include "syncer/two_servers_testing.h"

namespace sublet::syncer {
namespace {

using schema::Document;
using schema::Value;

const kube::Resource kEndpoints{"", "v1", "endpoints"};
const kube::Resource kSlices{"discovery.k8s.io", "v1", "endpointslices"};
const kube::Resource kIngresses{"networking.k8s.io", "v1", "ingresses"};
const kube::Resource kIngressClasses{"networking.k8s.io", "v1", "ingressclasses"};
const kube::Resource kPolicies{"networking.k8s.io", "v1", "networkpolicies"};
const kube::Resource kBudgets{"policy", "v1", "poddisruptionbudgets"};
const kube::Resource kPriorityClasses{"scheduling.k8s.io", "v1", "priorityclasses"};
const kube::Resource kStorageClasses{"storage.k8s.io", "v1", "storageclasses"};

class KindsSync : public TwoServers {
 protected:
  explicit KindsSync(bool host_serves_groups = true) : TwoServers({}, host_serves_groups) {}
  void configure(const std::string& yaml) {
    const auto loaded = patches::Template::load(yaml, "t.yaml");
    ASSERT_TRUE(loaded) << loaded.error().message;
    resolved_template = loaded->resolve({}, "rag", "team").value();
  }
  Document on_host(const kube::Resource& resource, const std::string& tenant_name) {
    return host.get(resource, kHostNamespace, host_name_of(tenant_name));
  }
  Document await_host(const kube::Resource& resource, const std::string& tenant_name) {
    Document object;
    eventually(
        [&] {
          object = on_host(resource, tenant_name);
          return object.root().is_object();
        },
        "the host has " + resource.resource + " " + tenant_name);
    return object;
  }
  void await_gone(const kube::Resource& resource, const std::string& tenant_name) {
    eventually([&] { return !on_host(resource, tenant_name).root().is_object(); },
               resource.resource + " " + tenant_name + " has left the host");
  }
  Document in_tenant(const kube::Resource& resource, const std::string& name) {
    return tenant.get(resource, kTenantNamespace, name);
  }
  std::string text(const Document& object, std::string_view path) { return object.root().path(path).string(); }
  void create(const kube::Resource& resource, const std::string& name, const std::string& content,
              const std::string& metadata = "") {
    tenant.create(resource,
                  R"({"metadata":{"name":")" + name + R"(","namespace":"default")" + metadata + "}," + content + "}");
  }
  void make_claim(const std::string& name) {
    create(kClaims, name, R"("spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}}})");
  }
  // As the host's volume controller does it.
  void bind_on_host(const std::string& name) {
    host.patch(kClaims, kHostNamespace, host_name_of(name),
               R"({"metadata":{"annotations":{"pv.kubernetes.io/bind-completed":"yes"}},)"
               R"("spec":{"volumeName":"pv-7","storageClassName":"local"}})");
    host.patch(kClaims, kHostNamespace, host_name_of(name),
               R"({"status":{"phase":"Bound","accessModes":["ReadWriteOnce"],"capacity":{"storage":"2Gi"}}})",
               "status");
  }
  // As the controllers do it that protect claims while they are used; these servers have none.
  void let_go(Cluster& side, const std::string& name_space, const std::string& name) {
    side.patch(kClaims, name_space, name, R"({"metadata":{"finalizers":null}})");
  }
  void await_claim_phase(const std::string& name, std::string_view phase) {
    eventually([&] { return in_tenant(kClaims, name)["status"]["phase"].text() == phase; },
               name + " is " + std::string(phase));
  }
};

TEST_F(KindsSync, AClaimCrossesAndTheHostsVolumeComesBack) {
  start_syncer();
  make_claim("data");
  EXPECT_EQ(text(await_host(kClaims, "data"), "spec.resources.requests.storage"), "1Gi");
  host.create(kStorageClasses, R"({"metadata":{"name":"local"},"provisioner":"p","allowVolumeExpansion":true})");
  bind_on_host("data");
  await_claim_phase("data", "Bound");
  const Document claim = in_tenant(kClaims, "data");
  EXPECT_EQ(text(claim, "spec.volumeName"), "pv-7");
  EXPECT_EQ(text(claim, "spec.storageClassName"), "local") << "the tenant's named none";
  EXPECT_EQ(text(claim, "status.capacity.storage"), "2Gi");
  EXPECT_EQ(claim["metadata"]["annotations"]["pv.kubernetes.io/bind-completed"].text(), "yes");

  tenant.patch(kClaims, kTenantNamespace, "data", R"({"spec":{"resources":{"requests":{"storage":"3Gi"}}}})");
  eventually([&] { return text(on_host(kClaims, "data"), "spec.resources.requests.storage") == "3Gi"; },
             "the host is asked for more");
  settle();
  const auto host_writes = faults.writes(), tenant_writes = tenant_faults.writes();
  syncer->resync();
  settle();
  EXPECT_EQ(faults.writes(), host_writes);
  EXPECT_EQ(tenant_faults.writes(), tenant_writes);
  let_go(tenant, kTenantNamespace, "data");
  let_go(host, kHostNamespace, host_name_of("data"));
  tenant.remove(kClaims, kTenantNamespace, "data");
  await_gone(kClaims, "data");
}

TEST_F(KindsSync, AGrowthThatTheClassForbidsIsReportedAndNotTriedAgainAndAgain) {
  start_syncer();
  make_claim("data");
  await_host(kClaims, "data");
  host.create(kStorageClasses, R"({"metadata":{"name":"local"},"provisioner":"p","allowVolumeExpansion":false})");
  bind_on_host("data");
  await_claim_phase("data", "Bound");
  tenant.patch(kClaims, kTenantNamespace, "data", R"({"spec":{"resources":{"requests":{"storage":"3Gi"}}}})");
  EXPECT_THAT(await_event("data", "SyncFailed"),
              testing::HasSubstr("the storageclass that provisions the pvc must support resize"));
  settle();  // a key that is to be retried soon does not come to rest
  host.patch(kClaims, kHostNamespace, host_name_of("data"), R"({"status":{"capacity":{"storage":"2500Mi"}}})",
             "status");
  eventually([&] { return text(in_tenant(kClaims, "data"), "status.capacity.storage") == "2500Mi"; },
             "the status comes back although the change is refused");
}

TEST_F(KindsSync, APodBringsItsClaimAndBothGo) {
  start_syncer();
  make_claim("data");
  create_pod("db", R"(,"volumes":[{"name":"d","persistentVolumeClaim":{"claimName":"data"}}])");
  EXPECT_EQ(await_host_pod("db")["spec"]["volumes"].at(0)["persistentVolumeClaim"]["claimName"].text(),
            host_name_of("data"));
  await_host(kClaims, "data");
}

TEST_F(KindsSync, APodWaitsForAnEphemeralVolumesClaimOfItsOwn) {
  start_syncer();
  make_claim("db-d");
  create_pod("db", R"(,"volumes":[{"name":"d","ephemeral":{"volumeClaimTemplate":{"spec":{
    "accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}}}}}}])");
  create_pod("other");
  await_host_pod("other");
  await_host(kClaims, "db-d");
  settle();
  EXPECT_FALSE(on_host(kPods, "db").root().is_object()) << "the claim is not the pod's";
  const std::string uid = in_tenant(kPods, "db")["metadata"]["uid"].string();
  tenant.patch(
      kClaims, kTenantNamespace, "db-d",
      R"({"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"Pod","name":"db","controller":true,"uid":")" + uid +
          R"("}]}})");
  EXPECT_EQ(await_host_pod("db")["spec"]["volumes"].at(0)["persistentVolumeClaim"]["claimName"].text(),
            host_name_of("db-d"));
}

// user-pain, close behind the 25: what happens to data on the host is told, and never papered over by an empty volume.
TEST_F(KindsSync, ABoundClaimThatIsDeletedOnTheHostIsLostAndNotMadeAnew) {
  start_syncer();
  make_claim("data");
  await_host(kClaims, "data");
  bind_on_host("data");
  await_claim_phase("data", "Bound");
  settle();
  let_go(host, kHostNamespace, host_name_of("data"));
  host.remove(kClaims, kHostNamespace, host_name_of("data"));
  await_claim_phase("data", "Lost");
  EXPECT_NE(await_event("data", "ClaimLost").find("deleted on the host"), std::string::npos);
  stop_syncer();
  start_syncer();
  settle();
  EXPECT_FALSE(on_host(kClaims, "data").root().is_object());
  // One that was never bound had no data.
  make_claim("empty");
  await_host(kClaims, "empty");
  settle();
  host.remove(kClaims, kHostNamespace, host_name_of("empty"));
  await_host(kClaims, "empty");
}

TEST_F(KindsSync, WhatTheHostSaysOfAClaimIsToldInTheTenantsNames) {
  start_syncer();
  make_claim("data");
  await_host(kClaims, "data");
  host.create(kEvents, R"({"metadata":{"name":"e","namespace":"team"},"type":"Warning","reason":"ProvisioningFailed",)"
                       R"("message":"no volume for team/)" +
                           host_name_of("data") + R"( of pod )" + host_name_of("db") +
                           R"(; gone: data-x-default-x-other.","involvedObject":{"kind":"PersistentVolumeClaim",)"
                           R"("namespace":"team","name":")" +
                           host_name_of("data") + R"("}})");
  EXPECT_EQ(await_event("data", "ProvisioningFailed"),
            "no volume for default/data of pod default/db; gone: another pod.");
}

TEST_F(KindsSync, AnIngressCrossesWithItsSecretAndItsAddressComesBack) {
  configure("sync: {toHost: {ingresses: {enabled: true}}}\n");
  start_syncer();
  tenant.create(kSecrets, R"({"metadata":{"name":"cert","namespace":"default"},"data":{"k":"djE="}})");
  const std::string rules = R"("rules":[{"host":"a.b","http":{"paths":[{"path":"/","pathType":"Prefix","backend":)"
                            R"({"service":{"name":"web","port":{"number":80}}}}]}}])";
  create(kIngresses, "site", R"("spec":{"tls":[{"hosts":["a.b"],"secretName":"cert"}],)" + rules + "}");
  const Document crossed = await_host(kIngresses, "site");
  EXPECT_EQ(crossed["spec"]["tls"].at(0)["secretName"].text(), host_name_of("cert"));
  await_host(kSecrets, "cert");
  host.patch(kIngresses, kHostNamespace, host_name_of("site"), R"({"spec":{"ingressClassName":"by-the-host"}})");
  host.patch(kIngresses, kHostNamespace, host_name_of("site"),
             R"({"status":{"loadBalancer":{"ingress":[{"ip":"192.0.2.7"}]}}})", "status");
  eventually(
      [&] {
        return text(in_tenant(kIngresses, "site"), "status.loadBalancer").empty() &&
               in_tenant(kIngresses, "site")["status"]["loadBalancer"]["ingress"].at(0)["ip"].text() == "192.0.2.7";
      },
      "the address came back");

  tenant.patch(kIngresses, kTenantNamespace, "site", R"({"spec":{"tls":null}})");
  eventually([&] { return on_host(kIngresses, "site")["spec"]["tls"].empty(); }, "what the tenant takes away goes");
  await_gone(kSecrets, "cert");
  EXPECT_EQ(text(on_host(kIngresses, "site"), "spec.ingressClassName"), "by-the-host") << "the host's own stays";
  tenant.remove(kIngresses, kTenantNamespace, "site");
  await_gone(kIngresses, "site");
}

TEST_F(KindsSync, DriftOfWhatIsTheTenantsIsRepairedAndTheHostsAdditionsStay) {
  configure("sync: {toHost: {ingresses: {enabled: true}}}\n");
  start_syncer();
  create(kIngresses, "site", R"("spec":{"defaultBackend":{"service":{"name":"web","port":{"number":80}}}})");
  await_host(kIngresses, "site");
  host.patch(kIngresses, kHostNamespace, host_name_of("site"),
             R"({"spec":{"defaultBackend":{"service":{"name":"elsewhere"}},"tls":[{"hosts":["added.by.host"]}]}})");
  eventually(
      [&] { return text(on_host(kIngresses, "site"), "spec.defaultBackend.service.name") == host_name_of("web"); },
      "the backend is the tenant's again");
  EXPECT_EQ(on_host(kIngresses, "site")["spec"]["tls"].size(), 1u);
}

TEST_F(KindsSync, ANetworkPolicyFollowsTheLabelsOfNamespaces) {
  configure("sync: {toHost: {networkPolicies: {enabled: true}}}\n");
  tenant.create(kNamespaces, R"({"metadata":{"name":"blue","labels":{"team":"blue"}}})");
  start_syncer();
  create(kPolicies, "only-blue",
         R"("spec":{"podSelector":{"matchLabels":{"app":"db"}},"ingress":[{"from":[{"namespaceSelector":)"
         R"({"matchLabels":{"team":"blue"}}}]}]})");
  const auto namespaces = [&] {
    const Document policy = on_host(kPolicies, "only-blue");
    return policy["spec"]["ingress"].at(0)["from"].at(0)["podSelector"]["matchExpressions"].at(0)["values"].to_json();
  };
  eventually([&] { return namespaces() == R"(["blue"])"; }, "the namespace is selected by name");
  tenant.create(kNamespaces, R"({"metadata":{"name":"azure","labels":{"team":"blue"}}})");
  eventually([&] { return namespaces() == R"(["azure","blue"])"; }, "and another");
  tenant.patch(kNamespaces, "", "blue", R"({"metadata":{"labels":{"team":null}}})");
  tenant.patch(kNamespaces, "", "azure", R"({"metadata":{"labels":{"team":"red"}}})");
  eventually([&] { return namespaces() == R"([""])"; }, "and none, which is not all");
  tenant.patch(kPolicies, kTenantNamespace, "only-blue", R"({"spec":{"ingress":[{"from":[{"podSelector":{}}]}]}})");
  eventually([&] { return namespaces() == R"(["default"])"; }, "a changed rule");
  tenant.patch(kPolicies, kTenantNamespace, "only-blue", R"({"spec":{"ingress":null}})");
  eventually([&] { return on_host(kPolicies, "only-blue")["spec"]["ingress"].empty(); }, "a rule that is gone");
  tenant.remove(kPolicies, kTenantNamespace, "only-blue");
  await_gone(kPolicies, "only-blue");
}

// user-pain, demand 24: a budget counts what the tenant's controllers want.
TEST_F(KindsSync, ABudgetIsOnTheHostAsTheNumberThatTheTenantCounted) {
  configure("sync: {toHost: {podDisruptionBudgets: {enabled: true}}}\n");
  start_syncer();
  create(kBudgets, "quorum", R"("spec":{"maxUnavailable":1,"selector":{"matchLabels":{"app":"db"}}})");
  EXPECT_EQ(await_host(kBudgets, "quorum")["spec"]["maxUnavailable"].integer(), 1) << "nobody has counted";
  tenant.patch(
      kBudgets, kTenantNamespace, "quorum",
      R"({"status":{"observedGeneration":1,"desiredHealthy":2,"currentHealthy":3,"expectedPods":3,"disruptionsAllowed":1}})",
      "status");
  eventually(
      [&] {
        const Document budget = on_host(kBudgets, "quorum");
        return budget["spec"]["minAvailable"].integer() == 2 && !budget["spec"].has("maxUnavailable");
      },
      "the host has the number");
  tenant.remove(kBudgets, kTenantNamespace, "quorum");
  await_gone(kBudgets, "quorum");
}

TEST_F(KindsSync, EndpointsCrossForServicesWithoutSelectorOnly) {
  start_syncer();
  const std::string subsets = R"("subsets":[{"addresses":[{"ip":"192.0.2.1"}],"ports":[{"port":80}]}])";
  create(kServices, "outside", R"("spec":{"ports":[{"port":80}]})");
  create(kEndpoints, "outside", subsets);
  create(kSlices, "outside-1",
         R"("addressType":"IPv4","endpoints":[{"addresses":["192.0.2.2"]}],"ports":[{"port":80}])",
         R"(,"labels":{"kubernetes.io/service-name":"outside"})");
  create(kServices, "inside", R"("spec":{"selector":{"app":"a"},"ports":[{"port":80}]})");
  create(kEndpoints, "inside", subsets);
  EXPECT_EQ(await_host(kEndpoints, "outside")["subsets"].at(0)["addresses"].at(0)["ip"].text(), "192.0.2.1");
  EXPECT_EQ(await_host(kSlices, "outside-1")["metadata"]["labels"]["kubernetes.io/service-name"].text(),
            host_name_of("outside"));
  settle();
  EXPECT_FALSE(on_host(kEndpoints, "inside").root().is_object());

  tenant.patch(kEndpoints, kTenantNamespace, "outside",
               R"({"subsets":[{"addresses":[{"ip":"192.0.2.9"}],"ports":[{"port":80}]}]})");
  eventually(
      [&] { return on_host(kEndpoints, "outside")["subsets"].at(0)["addresses"].at(0)["ip"].text() == "192.0.2.9"; },
      "the change");
  tenant.patch(kServices, kTenantNamespace, "outside", R"({"spec":{"selector":{"app":"a"}}})");
  await_gone(kEndpoints, "outside");
  await_gone(kSlices, "outside-1");
  tenant.patch(kServices, kTenantNamespace, "inside", R"({"spec":{"selector":null}})");
  await_host(kEndpoints, "inside");
}

TEST_F(KindsSync, WithAllOfThemUnusedConfigMapsAndSecretsCrossToo) {
  configure("sync: {toHost: {configMaps: {all: true}, secrets: {all: true}}}\n");
  start_syncer();
  tenant.create(kConfigMaps, R"({"metadata":{"name":"unused","namespace":"default"},"data":{"k":"v1"}})");
  tenant.create(kSecrets, R"({"metadata":{"name":"unused","namespace":"default"},"data":{"k":"djE="}})");
  await_host(kConfigMaps, "unused");
  await_host(kSecrets, "unused");
  tenant.remove(kSecrets, kTenantNamespace, "unused");
  await_gone(kSecrets, "unused");
}

TEST_F(KindsSync, PriorityClassesStandOnTheHostUnderANameOfTheirOwn) {
  configure("sync: {toHost: {priorityClasses: {enabled: true, maxValue: 100}}}\n");
  start_syncer();
  tenant.create(kPriorityClasses, R"({"metadata":{"name":"high"},"value":1000})");
  const std::string name = host_name("high", kHostNamespace, "rag");
  const auto there = [&] { return host.get(kPriorityClasses, "", name); };
  eventually([&] { return there()["value"].integer() == 100; }, "the class is on the host, within the band");
  settle();
  EXPECT_FALSE(
      host.get(kPriorityClasses, "", host_name("system-node-critical", kHostNamespace, "rag")).root().is_object());
  tenant.remove(kPriorityClasses, "", "high");
  eventually([&] { return !there().root().is_object(); }, "and goes");
}

TEST_F(KindsSync, ATenantsStorageClassIsMadeAnewWhenItChanges) {
  configure(
      "sync: {toHost: {storageClasses: {enabled: true}}}\n"
      "allow: {storageClasses: {provisioners: [csi.x], parameters: [type]}}\n");
  start_syncer();
  const kube::Resource classes{"storage.k8s.io", "v1", "storageclasses"};
  const auto make = [&](const std::string& type) {
    tenant.create(classes,
                  R"({"metadata":{"name":"fast"},"provisioner":"csi.x","parameters":{"type":")" + type + "\"}}");
  };
  make("a");
  const std::string name = host_name("fast", kHostNamespace, "rag");
  const auto there = [&] { return host.get(classes, "", name); };
  eventually([&] { return there()["parameters"]["type"].text() == "a"; }, "the class is on the host");
  tenant.create(kClaims, R"({"metadata":{"name":"data","namespace":"default"},"spec":{"accessModes":["ReadWriteOnce"],)"
                         R"("storageClassName":"fast","resources":{"requests":{"storage":"1Gi"}}}})");
  EXPECT_EQ(text(await_host(kClaims, "data"), "spec.storageClassName"), name);
  tenant.remove(classes, "", "fast");
  make("b");
  eventually([&] { return there()["parameters"]["type"].text() == "b"; }, "its successor takes its place");
  tenant.remove(classes, "", "fast");
  eventually([&] { return !there().root().is_object(); }, "and goes");
}

TEST_F(KindsSync, ServiceAccountsStandOnTheHostWhenPodsRunUnderTheirOwn) {
  configure("sync: {toHost: {serviceAccounts: {enabled: true}}}\n");
  start_syncer();
  tenant.create(kServiceAccounts,
                R"({"metadata":{"name":"builder","namespace":"default"},"automountServiceAccountToken":true})");
  EXPECT_FALSE(await_host(kServiceAccounts, "builder")["automountServiceAccountToken"].boolean(true));
  create_pod("job", R"(,"serviceAccountName":"builder")");
  EXPECT_EQ(text(await_host_pod("job"), "spec.serviceAccountName"), host_name_of("builder"));
  tenant.remove(kServiceAccounts, kTenantNamespace, "builder");
  await_gone(kServiceAccounts, "builder");
}

TEST_F(KindsSync, ClassesOfTheHostComeBySelectorAndFollowIt) {
  configure(
      "sync: {fromHost: {storageClasses: {enabled: true, selector: {matchLabels: {for: tenants}}}, "
      "ingressClasses: {enabled: true}, priorityClasses: {enabled: true}}}\n");
  host.create(
      kStorageClasses,
      R"({"metadata":{"name":"fast","labels":{"for":"tenants"},"annotations":)"
      R"({"storageclass.kubernetes.io/is-default-class":"true"}},"provisioner":"csi.x","parameters":{"secret":"s"}})");
  host.create(kStorageClasses, R"({"metadata":{"name":"hidden"},"provisioner":"csi.x"})");
  host.create(kIngressClasses, R"({"metadata":{"name":"nginx"},"spec":{"controller":"example.com/c"}})");
  host.create(kPriorityClasses, R"({"metadata":{"name":"batch"},"value":-5})");
  start_syncer();
  const Document fast = tenant.get(kStorageClasses, "", "fast");
  EXPECT_EQ(text(fast, "provisioner"), "csi.x");
  EXPECT_FALSE(fast.root().has("parameters"));
  EXPECT_EQ(fast["metadata"]["annotations"]["storageclass.kubernetes.io/is-default-class"].text(), "true");
  EXPECT_FALSE(tenant.get(kStorageClasses, "", "hidden").root().is_object());
  EXPECT_EQ(tenant.get(kPriorityClasses, "", "batch")["value"].integer(), -5);
  eventually([&] { return tenant.get(kIngressClasses, "", "nginx").root().is_object(); }, "the class is there");
  settle();
  host.patch(kStorageClasses, "", "fast",
             R"({"metadata":{"annotations":{"storageclass.kubernetes.io/is-default-class":null}}})");
  eventually([&] { return tenant.get(kStorageClasses, "", "fast")["metadata"]["annotations"].empty(); },
             "no default any more");
  host.remove(kIngressClasses, "", "nginx");
  eventually([&] { return !tenant.get(kIngressClasses, "", "nginx").root().is_object(); }, "the class is gone");
}

// Whatever the tenant's API server let pass: this one asks nobody which classes are shown.
TEST_F(KindsSync, NoClassThatIsHiddenCrosses) {
  const kube::Resource device_classes{"resource.k8s.io", "v1", "deviceclasses"};
  const kube::Resource device_claims{"resource.k8s.io", "v1", "resourceclaims"};
  const kube::Resource device_templates{"resource.k8s.io", "v1", "resourceclaimtemplates"};
  const std::string selected = "{enabled: true, selector: {matchLabels: {for: tenants}}}";
  configure("sync: {fromHost: {runtimeClasses: {enabled: false}, storageClasses: " + selected +
            ", ingressClasses: " + selected + ", priorityClasses: " + selected + ", deviceClasses: " + selected +
            "}, toHost: {ingresses: {enabled: true}, resourceClaims: {enabled: true}, "
            "resourceClaimTemplates: {enabled: true}}}\n");
  for (const std::string name : {"shown", "hidden"}) {
    const std::string head =
        R"({"metadata":{"name":")" + name + R"(","labels":{)" + (name == "shown" ? R"("for":"tenants")" : "") + "}},";
    host.create(kStorageClasses, head + R"("provisioner":"csi.x"})");
    host.create(kIngressClasses, head + R"("spec":{"controller":"example.com/c"}})");
    host.create(kPriorityClasses, head + R"("value":1})");
    host.create(device_classes, head + R"("spec":{}})");
    host.create(kRuntimeClasses, head + R"("handler":"h"})");
  }
  tenant.create(kPriorityClasses, R"({"metadata":{"name":"hidden"},"value":1})");
  for (const char* name : {"shown", "hidden"})
    tenant.create(kRuntimeClasses, R"({"metadata":{"name":")" + std::string(name) + R"("},"handler":"h"})");
  start_syncer();

  const auto claim = [&](const std::string& name, const std::string& of_class) {
    create(kClaims, name,
           R"("spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}},)"
           R"("storageClassName":")" +
               of_class + R"("})");
  };
  const auto ingress = [&](const std::string& name, const std::string& of_class) {
    create(kIngresses, name,
           R"("spec":{"defaultBackend":{"service":{"name":"s","port":{"number":80}}},"ingressClassName":")" + of_class +
               R"("})");
  };
  const auto devices = [](const std::string& of_class, const std::string& or_else) {
    return R"({"devices":{"requests":[{"name":"a","exactly":{"deviceClassName":")" + of_class +
           R"("}},{"name":"b","firstAvailable":[{"name":"c","deviceClassName":")" + or_else + R"("}]}]}})";
  };
  claim("c-sly", "hidden");
  ingress("i-sly", "hidden");
  create(device_claims, "d-sly", R"("spec":)" + devices("hidden", "shown"));
  create(device_claims, "e-sly", R"("spec":)" + devices("shown", "hidden"));
  create(device_templates, "t-sly", R"("spec":{"spec":)" + devices("shown", "hidden") + "}");
  create_pod("p-sly", R"(,"priorityClassName":"hidden")");
  create_pod("r-sly", R"(,"runtimeClassName":"shown")");  // of those none is shown
  const std::pair<const kube::Resource*, const char*> sly[] = {
      {&kClaims, "c-sly"},          {&kIngresses, "i-sly"}, {&device_claims, "d-sly"}, {&device_claims, "e-sly"},
      {&device_templates, "t-sly"}, {&kPods, "p-sly"},      {&kPods, "r-sly"}};
  for (const auto& [resource, name] : sly)
    EXPECT_NE(await_event(name, "SyncDenied").find("is none of those that the host shows"), std::string::npos) << name;

  claim("c-open", "shown");
  ingress("i-open", "shown");
  create(device_claims, "d-open", R"("spec":)" + devices("shown", "shown"));
  create(device_templates, "t-open", R"("spec":{"spec":)" + devices("shown", "shown") + "}");
  create_pod("p-open", R"(,"priorityClassName":"shown")");
  create_pod("p-system", R"(,"priorityClassName":"system-cluster-critical")");  // nobody's: it stays in the tenant
  await_host(kClaims, "c-open");
  await_host(kIngresses, "i-open");
  await_host(device_claims, "d-open");
  await_host(device_templates, "t-open");
  EXPECT_EQ(text(await_host_pod("p-open"), "spec.priorityClassName"), "shown");
  EXPECT_EQ(text(await_host_pod("p-system"), "spec.priorityClassName"), "");

  // One that was let in does not change over to it; what the host itself has chosen is not asked about.
  tenant.patch(kIngresses, kTenantNamespace, "i-open", R"({"spec":{"ingressClassName":"hidden"}})");
  EXPECT_NE(await_event("i-open", "SyncDenied").find("spec.ingressClassName: IngressClass \"hidden\""),
            std::string::npos);
  make_claim("chosen");
  await_host(kClaims, "chosen");
  host.patch(kClaims, kHostNamespace, host_name_of("chosen"), R"({"spec":{"storageClassName":"hidden"}})");
  eventually([&] { return text(in_tenant(kClaims, "chosen"), "spec.storageClassName") == "hidden"; },
             "the tenant sees what the host has chosen");
  tenant.patch(kClaims, kTenantNamespace, "chosen", R"({"metadata":{"labels":{"a":"b"}}})");
  eventually([&] { return on_host(kClaims, "chosen")["metadata"]["labels"]["t.sublet.dev/a"].text() == "b"; },
             "and goes on changing it");
  settle();
  EXPECT_EQ(text(on_host(kIngresses, "i-open"), "spec.ingressClassName"), "shown");
  for (const auto& [resource, name] : sly) EXPECT_FALSE(on_host(*resource, name).root().is_object()) << name;
}

TEST_F(KindsSync, AHeartbeatAloneIsNoWriteAndComesWithTheNextDifference) {
  const auto condition = [&](const char* status, const char* beat) {
    host.patch(kNodes, "", "node-1",
               std::string(R"({"status":{"conditions":[{"type":"Ready","status":")") + status +
                   R"(","lastHeartbeatTime":"2027-01-15T08:0)" + beat + R"(:00Z"}]}})",
               "status");
  };
  condition("True", "0");
  start_syncer();
  const auto ready = [&] { return Document(tenant.get(kNodes, "", "node-1")); };
  eventually([&] { return ready()["status"]["conditions"].size() == 1; }, "the node is there");
  settle();
  const auto tenant_writes = tenant_faults.writes();
  condition("True", "5");
  settle();
  EXPECT_EQ(tenant_faults.writes(), tenant_writes);
  condition("False", "6");
  Document node;
  eventually(
      [&] {
        node = ready();
        for (const Value one : node["status"]["conditions"])
          if (one["status"].text() == "False") return one["lastHeartbeatTime"].text() == "2027-01-15T08:06:00Z";
        return false;
      },
      "what differs has come, with its heartbeat");
}

// user-pain, demand 23: nodes honest. Both come by the watch, at once: nothing here waits for a resync.
TEST_F(KindsSync, ATaintAndTheEndOfANodeAreSeen) {
  start_syncer();
  eventually([&] { return tenant.get(kNodes, "", "node-1").root().is_object(); }, "the node is there");
  host.patch(kNodes, "", "node-1",
             R"({"metadata":{"labels":{"nvidia.com/gpu.count":"8","account":"x"}},)"
             R"("spec":{"providerID":"aws:///i-1","taints":[{"key":"gpu","effect":"NoSchedule"}]}})");
  host.patch(kNodes, "", "node-1",
             R"({"status":{"capacity":{"nvidia.com/gpu":"8"},"images":[{"names":["of-another"]}],)"
             R"("nodeInfo":{"machineID":"m","kernelVersion":"6.1"}}})",
             "status");
  Document node;
  eventually(
      [&] {
        node = tenant.get(kNodes, "", "node-1");
        return node["spec"]["taints"].size() == 1 && node["status"]["nodeInfo"]["kernelVersion"].text() == "6.1";
      },
      "the taint is there");
  EXPECT_EQ(node["status"]["capacity"]["nvidia.com/gpu"].text(), "8");
  EXPECT_EQ(node["metadata"]["labels"]["nvidia.com/gpu.count"].text(), "8");
  EXPECT_FALSE(node["metadata"]["labels"].has("account"));
  EXPECT_FALSE(node["spec"].has("providerID") || node["status"].has("images"));
  EXPECT_EQ(node["status"]["nodeInfo"]["machineID"].text(), "");
  settle();
  const auto tenant_writes = tenant_faults.writes();
  syncer->resync();
  settle();
  EXPECT_EQ(tenant_faults.writes(), tenant_writes) << "what is left blank is no difference";
  host.remove(kNodes, "", "node-1");
  eventually([&] { return !tenant.get(kNodes, "", "node-1").root().is_object(); }, "the node is gone");
}

TEST_F(KindsSync, ANodesDriversComeWithTheNode) {
  configure("sync: {fromHost: {csiNodes: {enabled: true}, nodes: {selector: {labels: {team: legal}}}}}\n");
  host.create(kNodes, R"({"metadata":{"name":"node-2","labels":{"team":"legal"}}})");
  for (const std::string node : {"node-1", "node-2"})
    host.create(kCsiNodes, R"({"metadata":{"name":")" + node + R"("},"spec":{"drivers":[{"name":"d","nodeID":"n"}]}})");
  start_syncer();
  eventually([&] { return tenant.get(kCsiNodes, "", "node-2").root().is_object(); }, "the shown node's");
  settle();
  EXPECT_FALSE(tenant.get(kCsiNodes, "", "node-1").root().is_object());
  host.patch(kNodes, "", "node-1", R"({"metadata":{"labels":{"team":"legal"}}})");
  eventually([&] { return tenant.get(kCsiNodes, "", "node-1").root().is_object(); },
             "that of a node which is shown now");
}

TEST_F(KindsSync, ADeviceClaimCrossesAndWhatIsAllocatedComesBack) {
  const kube::Resource claims{"resource.k8s.io", "v1", "resourceclaims"};
  const kube::Resource templates{"resource.k8s.io", "v1", "resourceclaimtemplates"};
  configure("sync: {toHost: {resourceClaims: {enabled: true}, resourceClaimTemplates: {enabled: true}}}");
  start_syncer();
  const std::string asked = R"({"devices":{"requests":[{"name":"gpu","exactly":{"deviceClassName":"gpu"}}]}})";
  create(claims, "one", R"("spec":)" + asked);
  create(templates, "many", R"("spec":{"spec":)" + asked + "}");
  create(claims, "made-for-a-pod", R"("spec":)" + asked,
         R"(,"annotations":{"resource.kubernetes.io/pod-claim-name":"g"})");
  await_host(claims, "one");
  await_host(templates, "many");
  // As the host's scheduler does it.
  host.patch(claims, kHostNamespace, host_name_of("one"),
             R"({"status":{"allocation":{"devices":{"results":[{"request":"gpu","driver":"d.example.com","pool":"n",)"
             R"("device":"gpu-0"}]}},"reservedFor":[{"resource":"pods","name":"p","uid":"u"}]}})",
             "status");
  eventually(
      [&] {
        const Document claim = in_tenant(claims, "one");
        return claim["status"]["allocation"]["devices"]["results"].at(0)["device"].text() == "gpu-0";
      },
      "the tenant sees which device it has");
  EXPECT_FALSE(in_tenant(claims, "one")["status"].has("reservedFor")) << "the host's pods";
  settle();
  EXPECT_FALSE(on_host(claims, "made-for-a-pod").root().is_object()) << "the host makes its own of the template";
  const auto host_writes = faults.writes(), tenant_writes = tenant_faults.writes();
  syncer->resync();
  settle();
  EXPECT_EQ(faults.writes(), host_writes);
  EXPECT_EQ(tenant_faults.writes(), tenant_writes);
  tenant.remove(templates, kTenantNamespace, "many");
  await_gone(templates, "many");
}

const kube::Resource kGroups{"scheduling.k8s.io", "v1alpha2", "podgroups"},
    kWorkloads{"scheduling.k8s.io", "v1alpha2", "workloads"};
constexpr const char* kGangs = "sync: {toHost: {podGroups: {enabled: true}, workloads: {enabled: true}}}";

TEST_F(KindsSync, AGangCrossesAndWhatTheSchedulerSaysComesBack) {
  configure(kGangs);
  // Another's under a name of ours is left alone.
  host.create(kGroups, R"({"metadata":{"name":")" + host_name_of("taken") +
                           R"(","namespace":"team"},"spec":{"schedulingPolicy":{"basic":{}}}})");
  start_syncer();
  const std::string gang = R"({"schedulingPolicy":{"gang":{"minCount":3}})";
  create_pod("p-0", R"(,"schedulingGroup":{"podGroupName":"train"})");  // before its group: a scheduler waits for that
  EXPECT_EQ(text(await_host_pod("p-0"), "spec.schedulingGroup.podGroupName"), host_name_of("train"));
  create(kWorkloads, "job",
         R"("spec":{"podGroupTemplates":[{"name":"w","schedulingPolicy":{"gang":{"minCount":3}}}]})");
  create(kGroups, "train",
         R"("spec":)" + gang +
             R"(,"podGroupTemplateRef":{"workload":{"workloadName":"job","podGroupTemplateName":"w"}}})");
  EXPECT_EQ(text(await_host(kGroups, "train"), "spec.podGroupTemplateRef.workload.workloadName"), host_name_of("job"));
  EXPECT_EQ(on_host(kGroups, "train")["spec"]["schedulingPolicy"].to_json(), R"({"gang":{"minCount":3}})");

  host.patch(kGroups, kHostNamespace, host_name_of("train"),
             R"({"status":{"conditions":[{"type":"PodGroupScheduled","status":"False","reason":"Unschedulable",)"
             R"("lastTransitionTime":"2026-01-01T00:00:00Z","observedGeneration":7,"message":"pod group )" +
                 host_name_of("train") + R"( waits"}]}})",
             "status");
  eventually(
      [&] {
        const Document group = in_tenant(kGroups, "train");
        const Value condition = group["status"]["conditions"].at(0);
        return condition["message"].text() == "pod group train waits" && !condition.has("observedGeneration");
      },
      "the tenant hears why, in its words");
  settle();
  const auto host_writes = faults.writes(), tenant_writes = tenant_faults.writes();
  syncer->resync();
  settle();
  EXPECT_EQ(faults.writes(), host_writes);
  EXPECT_EQ(tenant_faults.writes(), tenant_writes);

  host.patch(kGroups, kHostNamespace, host_name_of("train"),
             R"({"metadata":{"labels":{"sublet.dev/managed-by":null}}})");
  eventually([&] { return on_host(kGroups, "train")["metadata"]["labels"].has("sublet.dev/managed-by"); },
             "what was taken off it is put back");
  create(kGroups, "taken", R"("spec":)" + gang + "}");
  EXPECT_NE(await_event("taken", "HostNameTaken").find("left alone"), std::string::npos);
  tenant.remove(kWorkloads, kTenantNamespace, "job");
  await_gone(kWorkloads, "job");
  tenant.remove(kGroups, kTenantNamespace, "train");
  tenant.patch(kGroups, kTenantNamespace, "train", R"({"metadata":{"finalizers":null}})");  // no controller here
  eventually([&] { return on_host(kGroups, "train")["metadata"].has("deletionTimestamp"); }, "and its end crosses");
  EXPECT_TRUE(on_host(kGroups, "taken")["spec"]["schedulingPolicy"].has("basic"));
}

// The host's API server refuses a group of no Workload.
TEST_F(KindsSync, AGroupWaitsForItsWorkload) {
  configure(kGangs);
  start_syncer();
  faults.inject("POST", "/workloads", 4, Faults::status(500, "InternalError"));
  create(kWorkloads, "job", R"("spec":{"podGroupTemplates":[{"name":"w","schedulingPolicy":{"basic":{}}}]})");
  create(kGroups, "train",
         R"("spec":{"schedulingPolicy":{"basic":{}},"podGroupTemplateRef":{"workload":{"workloadName":"job",)"
         R"("podGroupTemplateName":"w"}}})");
  await_host(kGroups, "train");
  EXPECT_EQ(faults.left(), 0);
  EXPECT_EQ(std::ranges::count(faults.seen("/podgroups"), "POST", &Faults::Seen::method), 1);
}

class HostWithoutGroups : public KindsSync {
 protected:
  HostWithoutGroups() : KindsSync(false) {
    kinds_changed = [this] {
      asked_to_begin_anew = true;
      ring();
    };
  }
  std::atomic<bool> asked_to_begin_anew{false};
};

TEST_F(HostWithoutGroups, NoPodRunsAloneThatNamesItsGang) {
  clock.own_all_time();
  configure(kGangs);
  start_syncer();
  create(kGroups, "train", R"("spec":{"schedulingPolicy":{"gang":{"minCount":3}}})");
  create_pod("p-0", R"(,"schedulingGroup":{"podGroupName":"train"})");
  EXPECT_NE(await_event("p-0", "SyncDenied").find("the host does not serve PodGroups"), std::string::npos);
  create_pod("p-1");
  await_host_pod("p-1");
  EXPECT_FALSE(on_host(kPods, "p-0").root().is_object());

  // Once it does, the syncer asks to begin anew, and then all goes its way.
  host.serve_kinds_of_a_gate();
  clock.advance(std::chrono::minutes(1));
  create_pod("p-2");  // by which the queue looks at the clock
  eventually([&] { return asked_to_begin_anew.load(); }, "that is noticed");
  stop_syncer();
  start_syncer();
  await_host(kGroups, "train");
  EXPECT_EQ(text(await_host_pod("p-0"), "spec.schedulingGroup.podGroupName"), host_name_of("train"));
}

TEST_F(KindsSync, PoliciesOfTheHostNamespaceAreShown) {
  configure("policies: {resourceQuota: {enabled: true}, limitRange: {enabled: true}}\n");
  const kube::Resource quotas{"", "v1", "resourcequotas"}, ranges{"", "v1", "limitranges"};
  const auto of = [](const std::string& name, const std::string& uid, const std::string& spec) {
    return R"({"metadata":{"name":")" + name + R"(","namespace":"team","labels":{"sublet.dev/managed-by":"rag",)" +
           R"("sublet.dev/virtual-cluster-uid":")" + uid + R"("}},"spec":)" + spec + "}";
  };
  host.create(quotas, of("sublet-rag", "vc-uid",
                         R"({"hard":{"count/pods":"20","count/services":"20","secrets":"5","requests.cpu":"10"}})"));
  host.create(quotas, of("sublet-other", "other-uid", R"({"hard":{"pods":"1"}})"));
  host.create(ranges, of("sublet-rag", "vc-uid", R"({"limits":[{"type":"Container","default":{"cpu":"1"}}]})"));
  start_syncer();
  eventually([&] { return tenant.get(quotas, "kube-system", "sublet-rag").root().is_object(); }, "the quota is shown");
  EXPECT_EQ(tenant.get(quotas, "kube-system", "sublet-rag")["spec"].to_json(),
            R"({"hard":{"count/pods":"20","count/services":"21","requests.cpu":"10"}})")
      << "what both sides count alike; the tenant has a Service more, `kubernetes`";
  EXPECT_FALSE(tenant.get(quotas, "kube-system", "sublet-other").root().is_object());
  eventually([&] { return tenant.get(ranges, "kube-system", "sublet-rag").root().is_object(); }, "and the limits are");
  host.patch(quotas, kHostNamespace, "sublet-rag", R"({"spec":{"hard":{"count/pods":"30"}}})");
  eventually(
      [&] { return tenant.get(quotas, "kube-system", "sublet-rag")["spec"]["hard"]["count/pods"].text() == "30"; },
      "and what changes");
  host.remove(quotas, kHostNamespace, "sublet-rag");
  eventually([&] { return !tenant.get(quotas, "kube-system", "sublet-rag").root().is_object(); }, "and goes");
}

}  // namespace
}  // namespace sublet::syncer
