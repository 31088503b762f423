// What translate() makes of custom resources, by the places that a template names.
#include "syncer/translate/custom.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sublet/syncer/translate.h"

namespace sublet::syncer {
namespace {

using schema::Document;
using schema::Value;
using testing::HasSubstr;

TranslateContext context_by(const std::string& yaml) {
  TranslateContext context;
  context.virtual_cluster = "rag";
  context.virtual_cluster_uid = "vc-uid";
  context.host_namespace = "team";
  const auto loaded = patches::Template::load(yaml, "t.yaml");
  EXPECT_TRUE(loaded) << loaded.error().message;
  if (loaded) context.resolved_template = loaded->resolve({}, "rag", "team").value();
  return context;
}

TranslateContext context_of(const std::string& to_host) { return context_by("sync: {toHost: " + to_host + "}\n"); }

const char* const kCertificatesTemplate = R"({customResources: {certificates.cert-manager.io: {enabled: true, patches: [
  {path: spec.secretName, reference: {apiVersion: v1, kind: Secret}},
  {path: spec.issuerRef, reference: {kind: Issuer, namePath: name, kindPath: kind}},
  {path: spec.issuerRef, reference: {kind: ClusterIssuer, namePath: name, kindPath: kind, ofHost: true}},
  {path: 'spec.extra[*]', reference: {kind: Service, namePath: name, namespacePath: in.namespace}},
  {path: spec.matching, labels: {}},
  {path: spec.chosen, labels: {}}]}}})";

tl::expected<Translated, Denied> crossed(const TranslateContext& context, const std::string& name,
                                         const std::string& content) {
  const auto object = Document::parse_json(
      R"({"apiVersion":"cert-manager.io/v1","kind":"Certificate","metadata":{"name":"web","namespace":"shop","uid":"u",)"
      R"("labels":{"app":"web"},"annotations":{"cert-manager.io/inject":"yes"},"finalizers":["f"],)"
      R"("ownerReferences":[{"apiVersion":"v1","kind":"Pod","name":"p","uid":"x"}]},)" +
      content + "}");
  EXPECT_TRUE(object) << content;
  return translate(context, name, object->root(), Operation::create);
}

Document host_of(const TranslateContext& context, const std::string& name, const std::string& content) {
  auto translated = crossed(context, name, content);
  if (translated) return std::move(translated->host_object);
  for (const Cause& cause : translated.error().causes) ADD_FAILURE() << cause.field << ": " << cause.message;
  return Document::object();
}

std::string refusal(const TranslateContext& context, const std::string& name, const std::string& content) {
  const auto translated = crossed(context, name, content);
  if (translated) return "crosses: " + translated->host_object.to_json();
  std::string said;
  for (const Cause& cause : translated.error().causes) said += cause.field + ": " + cause.message + "\n";
  return said;
}

constexpr const char* kName = "certificates.cert-manager.io";

TEST(CustomResources, CrossWithTheMetadataOfEveryKind) {
  const Document host =
      host_of(context_of(kCertificatesTemplate), kName, R"("spec":{"dnsNames":["a.example"]},"status":{"ready":true})");
  const Value metadata = host["metadata"];
  EXPECT_EQ(metadata["name"].text(), host_name("web", "shop", "rag"));
  EXPECT_EQ(metadata["namespace"].text(), "team");
  EXPECT_EQ(metadata["labels"][kLabelTenantUid].text(), "vc-uid");
  EXPECT_EQ(metadata["labels"]["t.sublet.dev/app"].text(), "web");
  EXPECT_FALSE(metadata["labels"].has("app"));
  EXPECT_FALSE(metadata["annotations"].has("cert-manager.io/inject"));
  EXPECT_EQ(metadata["annotations"][kAnnotationTenantUid].text(), "u");
  EXPECT_FALSE(metadata.has("finalizers"));
  EXPECT_FALSE(metadata.has("ownerReferences"));
  EXPECT_FALSE(metadata.has("uid"));
  EXPECT_FALSE(host.root().has("status"));
  EXPECT_EQ(host["spec"]["dnsNames"].to_json(), R"(["a.example"])");
  EXPECT_EQ(host["kind"].text(), "Certificate");
}

TEST(CustomResources, WhatTheTemplateNamesIsTranslated) {
  const TranslateContext context = context_of(kCertificatesTemplate);
  const auto spec = [&](const std::string& json) {
    return host_of(context, kName, R"("spec":)" + json)["spec"].to_json();
  };
  const std::string ca = host_name("ca", "shop", "rag");
  EXPECT_EQ(spec(R"({"secretName":"ca"})"), R"({"secretName":")" + ca + R"("})");
  EXPECT_EQ(spec(R"({"issuerRef":{"name":"ca","kind":"Issuer"}})"),
            R"({"issuerRef":{"name":")" + ca + R"(","kind":"Issuer"}})");
  EXPECT_EQ(spec(R"({"issuerRef":{"name":"ca"}})"), R"({"issuerRef":{"name":")" + ca + R"("}})") << "the first row's";
  EXPECT_EQ(spec(R"({"issuerRef":{"name":"ca","kind":"ClusterIssuer"}})"),
            R"({"issuerRef":{"name":"ca","kind":"ClusterIssuer"}})");
  EXPECT_EQ(spec(R"({"extra":[{"name":"ca"},{"name":"ca","in":{"namespace":"other"}}]})"),
            R"({"extra":[{"name":")" + ca + R"("},{"name":")" + host_name("ca", "other", "rag") +
                R"(","in":{"namespace":"team"}}]})");
  EXPECT_EQ(spec(R"({"matching":{"matchLabels":{"app":"web"}}})"),
            R"({"matching":{"matchLabels":{"t.sublet.dev/app":"web","sublet.dev/virtual-cluster-uid":"vc-uid",)"
            R"("sublet.dev/tenant-namespace":"shop"}}})");
  EXPECT_EQ(spec(R"({"chosen":{"app":"web"}})"),
            R"({"chosen":{"t.sublet.dev/app":"web","sublet.dev/virtual-cluster-uid":"vc-uid",)"
            R"("sublet.dev/tenant-namespace":"shop"}})");
}

TEST(CustomResources, SecretsThatAreNamedComeWithThem) {
  const auto translated = crossed(context_of(kCertificatesTemplate), kName, R"("spec":{"secretName":"tls"})");
  ASSERT_TRUE(translated);
  ASSERT_EQ(translated->references.size(), 1u);
  EXPECT_EQ(translated->references[0], (Reference{"Secret", "tls", false}));
}

TEST(CustomResources, WhatNobodyTranslatesIsRefused) {
  const TranslateContext context = context_of(kCertificatesTemplate);
  const auto refused = [&](const std::string& json) { return refusal(context, kName, R"("spec":)" + json); };
  EXPECT_THAT(refused(R"({"issuerRef":{"name":"ca","kind":"Secret"}})"),
              HasSubstr("spec.issuerRef: only a reference to Issuer, ClusterIssuer can cross"));
  EXPECT_THAT(refused(R"({"issuerRef":{"name":"ca","namespace":"kube-system"}})"),
              HasSubstr("spec.issuerRef.namespace: a Issuer of another namespace cannot be named here"));
  EXPECT_THAT(refused(R"({"deep":[{"namespace":"kube-system"}]})"), HasSubstr("spec.deep[0].namespace: a namespace"));
  EXPECT_THAT(refused(R"({"targetNamespace":"kube-system"})"), HasSubstr("spec.targetNamespace: "));
  EXPECT_THAT(refused(R"({"namespaces":["a"]})"), HasSubstr("spec.namespaces: "));
  EXPECT_THAT(refused(R"({"namespaceSelector":{"matchLabels":{"a":"b"}}})"), HasSubstr("spec.namespaceSelector: "));
  EXPECT_THAT(refused(R"({"template":{"spec":{"containers":[{"name":"c","image":"i"}]}}})"),
              HasSubstr("spec.template.spec.containers: pods that the host would make of this"));
  EXPECT_THAT(refused(R"({"namespace":"","createNamespace":true})"), HasSubstr("crosses"));
  EXPECT_THAT(refusal(context, kName, R"("data":{"namespace":"kube-system"})"), HasSubstr("data.namespace: "))
      << "not only in a spec";
  EXPECT_THAT(refusal(context, "issuers.cert-manager.io", R"("spec":{})"), HasSubstr("is not a kind that is synced"));
}

TEST(CustomResources, OfTheGatewayApi) {
  const TranslateContext context = context_of("{gatewayApi: {enabled: true, backendTLSPolicies: {enabled: true}}}");
  const auto spec = [&](const char* name, const std::string& json) {
    return host_of(context, name, R"("spec":)" + json)["spec"].to_json();
  };
  const auto refused = [&](const char* name, const std::string& json) {
    return refusal(context, name, R"("spec":)" + json);
  };
  const std::string on_host = host_name("x", "shop", "rag");
  EXPECT_EQ(spec("httproutes.gateway.networking.k8s.io",
                 R"({"parentRefs":[{"name":"x"},{"name":"x","kind":"Service","namespace":"shop"}],"rules":[{)"
                 R"("filters":[{"type":"RequestMirror","requestMirror":{"backendRef":{"name":"x","port":80}}}],)"
                 R"("backendRefs":[{"name":"x","port":80,"weight":1}]}]})"),
            R"({"parentRefs":[{"name":")" + on_host + R"("},{"name":")" + on_host +
                R"(","kind":"Service","namespace":"team"}],"rules":[{"filters":[{"type":"RequestMirror",)"
                R"("requestMirror":{"backendRef":{"name":")" +
                on_host + R"(","port":80}}}],"backendRefs":[{"name":")" + on_host + R"(","port":80,"weight":1}]}]})");
  EXPECT_EQ(spec("gateways.gateway.networking.k8s.io",
                 R"({"gatewayClassName":"x","listeners":[{"name":"https","port":443,"protocol":"HTTPS",)"
                 R"("allowedRoutes":{"namespaces":{"from":"All"}},"tls":{"certificateRefs":[{"name":"x"}]}}]})"),
            R"({"gatewayClassName":"x","listeners":[{"name":"https","port":443,"protocol":"HTTPS",)"
            R"("allowedRoutes":{"namespaces":{"from":"Same"}},"tls":{"certificateRefs":[{"name":")" +
                on_host + R"("}]}}]})");
  EXPECT_EQ(spec("backendtlspolicies.gateway.networking.k8s.io",
                 R"({"targetRefs":[{"group":"","kind":"Service","name":"x"}],"validation":{"hostname":"a",)"
                 R"("caCertificateRefs":[{"group":"","kind":"ConfigMap","name":"x"}]}})"),
            R"({"targetRefs":[{"group":"","kind":"Service","name":")" + on_host +
                R"("}],"validation":{"hostname":"a","caCertificateRefs":[{"group":"","kind":"ConfigMap","name":")" +
                on_host + R"("}]}})");
  EXPECT_THAT(refused("httproutes.gateway.networking.k8s.io", R"({"parentRefs":[{"name":"x","namespace":"infra"}]})"),
              HasSubstr("spec.parentRefs[0].namespace: a Gateway of another namespace"));
  EXPECT_THAT(
      refused("httproutes.gateway.networking.k8s.io", R"({"rules":[{"backendRefs":[{"name":"x","kind":"Bucket"}]}]})"),
      HasSubstr("spec.rules[0].backendRefs[0]: only a reference to Service"));
  EXPECT_THAT(refused("httproutes.gateway.networking.k8s.io",
                      R"({"rules":[{"filters":[{"extensionRef":{"group":"a","kind":"b","name":"c"}}]}]})"),
              HasSubstr("spec.rules[0].filters[0].extensionRef: this would mean something else"));
  EXPECT_THAT(refused("gateways.gateway.networking.k8s.io", R"({"infrastructure":{"labels":{"a":"b"}}})"),
              HasSubstr("spec.infrastructure: "));
}

TEST(CustomResources, OfCertManager) {
  const TranslateContext all = context_by("integrations: {certManager: {enabled: true}}");
  const auto certificate = crossed(all, kName,
                                   R"("spec":{"secretName":"tls","issuerRef":{"name":"ca"},)"
                                   R"("keystores":{"jks":{"passwordSecretRef":{"name":"pw","key":"k"}}}})");
  ASSERT_TRUE(certificate) << certificate.error().causes.front().message;
  const Value spec = certificate->host_object["spec"];
  EXPECT_EQ(spec["secretName"].text(), host_name("tls", "shop", "rag"));
  EXPECT_EQ(spec["issuerRef"]["name"].text(), host_name("ca", "shop", "rag"));
  EXPECT_EQ(spec["keystores"]["jks"]["passwordSecretRef"]["name"].text(), host_name("pw", "shop", "rag"));
  EXPECT_EQ(certificate->references, (std::vector<Reference>{{"Secret", "pw", false}})) << "tls is made there";
  const Value made = spec["secretTemplate"];
  EXPECT_EQ(made["labels"][kLabelTenantUid].text(), "vc-uid");
  EXPECT_EQ(made["labels"][kLabelTenantNamespace].text(), "shop");
  EXPECT_EQ(made["annotations"][kAnnotationTenantName].text(), "tls");
  EXPECT_EQ(made["annotations"][kAnnotationTenantKind].text(), kMadeSecret);
  EXPECT_EQ(
      host_of(all, kName, R"("spec":{"issuerRef":{"name":"root","kind":"ClusterIssuer"}})")["spec"]["issuerRef"]["name"]
          .text(),
      "root");
  EXPECT_THAT(refusal(all, kName, R"("spec":{"secretTemplate":{"labels":{"sublet.dev/managed-by":"x"}}})"),
              HasSubstr("spec.secretTemplate: "));
  const TranslateContext own =
      context_by("integrations: {certManager: {enabled: true, sync: {fromHost: {clusterIssuers: {enabled: false}}}}}");
  EXPECT_THAT(refusal(own, kName, R"("spec":{"issuerRef":{"name":"root","kind":"ClusterIssuer"}})"),
              HasSubstr("only a reference to Issuer can cross"));

  constexpr const char* kIssuer = "issuers.cert-manager.io";
  const auto issuer =
      crossed(all, kIssuer,
              R"("spec":{"acme":{"server":"https://a.example","privateKeySecretRef":{"name":"account"},)"
              R"("solvers":[{"dns01":{"cloudflare":{"apiTokenSecretRef":{"name":"token","key":"k"}}}},)"
              R"({"http01":{"ingress":{"ingressClassName":"nginx"}}}]}})");
  ASSERT_TRUE(issuer) << issuer.error().causes.front().message;
  const Value acme = issuer->host_object["spec"]["acme"];
  EXPECT_EQ(acme["privateKeySecretRef"]["name"].text(), host_name("account", "shop", "rag"));
  EXPECT_EQ(acme["solvers"].at(0)["dns01"]["cloudflare"]["apiTokenSecretRef"]["name"].text(),
            host_name("token", "shop", "rag"));
  EXPECT_EQ(issuer->references, (std::vector<Reference>{{"Secret", "token", false}}));
  for (const char* foreign :
       {R"("spec":{"acme":{"solvers":[{"http01":{"ingress":{"name":"of-the-host"}}}]}})",
        R"("spec":{"acme":{"solvers":[{"http01":{"ingress":{"podTemplate":{"spec":{"serviceAccountName":"a"}}}}}]}})",
        R"("spec":{"vault":{"auth":{"kubernetes":{"serviceAccountRef":{"name":"a"}}}}})",
        R"("spec":{"vault":{"auth":{"appRole":{"secretRef":{"name":"a","namespace":"kube-system"}}}}})"})
    EXPECT_THAT(refusal(all, kIssuer, foreign), HasSubstr("spec.")) << foreign;
}

TEST(CustomResources, OfExternalSecrets) {
  const TranslateContext all = context_by(
      "integrations: {externalSecrets: {enabled: true, sync: {toHost: {stores: {enabled: true}}, "
      "fromHost: {clusterStores: {enabled: true}}}}}");
  constexpr const char* kSecret = "externalsecrets.external-secrets.io";
  const Document named = host_of(
      all, kSecret,
      R"("spec":{"secretStoreRef":{"name":"vault"},"target":{"name":"db","template":{"data":{"name":"{{ .a }}"}}}})");
  EXPECT_EQ(named["spec"]["secretStoreRef"]["name"].text(), host_name("vault", "shop", "rag"));
  EXPECT_EQ(named["spec"]["target"]["name"].text(), host_name("db", "shop", "rag"));
  const Value made = named["spec"]["target"]["template"]["metadata"];
  EXPECT_EQ(made["annotations"][kAnnotationTenantName].text(), "db");
  EXPECT_EQ(made["annotations"][kAnnotationTenantKind].text(), kMadeSecret);
  // Without a name of its own the Secret is called as the object is, on both sides.
  const Document unnamed =
      host_of(all, kSecret, R"("spec":{"secretStoreRef":{"name":"shared","kind":"ClusterSecretStore"}})");
  EXPECT_EQ(unnamed["spec"]["secretStoreRef"]["name"].text(), "shared");
  EXPECT_EQ(unnamed["spec"]["target"]["template"]["metadata"]["annotations"][kAnnotationTenantName].text(), "web");
  EXPECT_THAT(refusal(all, kSecret, R"("spec":{"dataFrom":[{"sourceRef":{"generatorRef":{"name":"g"}}}]})"),
              HasSubstr("spec.dataFrom[0].sourceRef.generatorRef.name"));

  constexpr const char* kStore = "secretstores.external-secrets.io";
  const auto store = crossed(all, kStore,
                             R"("spec":{"provider":{"vault":{"server":"https://v.example","caProvider":{"type":)"
                             R"("ConfigMap","name":"ca","key":"k"},"auth":{"appRole":{"secretRef":{"name":"role",)"
                             R"("key":"k"}}}},"azurekv":{"authSecretRef":{"clientId":{"name":"id","key":"k"}}}}})");
  ASSERT_TRUE(store) << store.error().causes.front().message;
  const Value provider = store->host_object["spec"]["provider"];
  EXPECT_EQ(provider["vault"]["auth"]["appRole"]["secretRef"]["name"].text(), host_name("role", "shop", "rag"));
  EXPECT_EQ(provider["vault"]["caProvider"]["name"].text(), host_name("ca", "shop", "rag"));
  EXPECT_EQ(provider["azurekv"]["authSecretRef"]["clientId"]["name"].text(), host_name("id", "shop", "rag"));
  for (const char* foreign :
       {R"("spec":{"provider":{"kubernetes":{"auth":{"serviceAccount":{"name":"default"}}}}})",
        R"("spec":{"provider":{"aws":{"auth":{"jwt":{"serviceAccountRef":{"name":"sublet-syncer-rag"}}}}}})",
        R"("spec":{"provider":{"infisical":{"auth":{"universalAuthCredentials":{"clientId":{"name":"x"}}}}}})"})
    EXPECT_THAT(refusal(all, kStore, foreign), HasSubstr("spec.provider.")) << foreign;
}

// user-pain, demand 2: a gang stays one on the host.
TEST(CustomResources, ATemplateNamesTheSecretThatTheHostMakes) {
  const std::string name = "vaultdynamicsecrets.secrets.hashicorp.com";
  const auto with = [&](const std::string& reference) {
    return "{customResources: {" + name + ": {enabled: true, patches: [{path: spec.destination.name, reference: {" +
           reference + "}}]}}}";
  };
  const auto translated = crossed(context_of(with("kind: Secret, madeOnHost: true, metadataPath: spec.destination")),
                                  name, R"("spec":{"destination":{"name":"db","create":true,"labels":{"mine":"x"}}})");
  ASSERT_TRUE(translated);
  EXPECT_TRUE(translated->references.empty()) << "the tenant's own Secret of that name does not cross";
  const Value destination = translated->host_object["spec"]["destination"];
  EXPECT_EQ(destination["name"].text(), host_name("db", "shop", "rag"));
  EXPECT_TRUE(destination["create"].boolean());
  EXPECT_EQ(destination["labels"][kLabelTenantUid].text(), "vc-uid");
  EXPECT_EQ(destination["labels"][kLabelTenantNamespace].text(), "shop");
  EXPECT_FALSE(destination["labels"].has("mine"));
  EXPECT_EQ(destination["annotations"][kAnnotationTenantName].text(), "db");
  EXPECT_EQ(destination["annotations"][kAnnotationTenantKind].text(), kMadeSecret);
  for (const char* mistake : {"kind: Secret, madeOnHost: true", "kind: Secret, metadataPath: spec.destination",
                              "kind: ConfigMap, madeOnHost: true, metadataPath: spec.destination"})
    EXPECT_FALSE(patches::Template::load("sync: {toHost: " + with(mistake) + "}\n", "t.yaml")) << mistake;
}

TEST(CustomResources, PodsOfAGangNameTheirPodGroup) {
  for (const auto& [group, place, key] :
       {std::tuple("podgroups.scheduling.run.ai", "annotation", "pod-group-name"),
        std::tuple("podgroups.scheduling.volcano.sh", "annotation", "scheduling.k8s.io/group-name"),
        std::tuple("podgroups.scheduling.x-k8s.io", "label", "scheduling.x-k8s.io/pod-group")}) {
    const TranslateContext context =
        context_of("{customResources: {" + std::string(group) + ": {enabled: true, namedByPods: [{" + place + ": " +
                   key + "}], force: {spec.queue: team-a}}}}");
    const std::string map = place == std::string_view("label") ? "labels" : "annotations";
    const Document host_group = host_of(context, group, R"("spec":{"minMember":3,"queue":"of-others"})");
    EXPECT_EQ(host_group["spec"]["minMember"].integer(), 3);
    EXPECT_EQ(host_group["spec"]["queue"].text(), "team-a") << "the platform's, whatever the tenant says";
    EXPECT_EQ(host_of(context, group, R"("status":{})")["spec"]["queue"].text(), "team-a");
    const auto pod = Document::parse_json(
        R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"worker","namespace":"shop","uid":"u",")" + map +
        R"(":{")" + key +
        R"(":"web"}},"spec":{"serviceAccountName":"default","containers":[{"name":"c","image":"i"}]}})");
    const auto host_pod = translate(context, "Pod", pod->root(), Operation::create);
    ASSERT_TRUE(host_pod);
    EXPECT_EQ(host_pod->host_object["metadata"][map][key].text(), host_group["metadata"]["name"].text()) << group;
    // Without the template the key means nothing to the host.
    const auto without = translate(context_by("{}"), "Pod", pod->root(), Operation::create);
    EXPECT_FALSE(without->host_object["metadata"][map].has(key)) << group;
  }
}

TEST(CustomResources, OfVolumeSnapshots) {
  const TranslateContext context = context_of("{volumeSnapshots: {enabled: true}}");
  constexpr const char* kSnapshot = "volumesnapshots.snapshot.storage.k8s.io";
  EXPECT_EQ(host_of(context, kSnapshot, R"("spec":{"source":{"persistentVolumeClaimName":"data"}})")["spec"].to_json(),
            R"({"source":{"persistentVolumeClaimName":")" + host_name("data", "shop", "rag") + R"("}})");
  EXPECT_THAT(refusal(context, kSnapshot, R"("spec":{"source":{"volumeSnapshotContentName":"others"}})"),
              HasSubstr("spec.source.volumeSnapshotContentName: "));
  const std::string claim = R"("spec":{"dataSource":{"apiGroup":"snapshot.storage.k8s.io","kind":"VolumeSnapshot",)"
                            R"("name":"daily"}})";
  EXPECT_EQ(host_of(context, "PersistentVolumeClaim", claim)["spec"]["dataSource"]["name"].text(),
            host_name("daily", "shop", "rag"));
  EXPECT_THAT(refusal(context_of("{}"), "PersistentVolumeClaim", claim),
              HasSubstr("only another PersistentVolumeClaim"))
      << "where snapshots do not cross";
}

TEST(CustomResources, TheDefinitionComesWithOneVersion) {
  const auto host = Document::parse_json(
      R"({"metadata":{"name":"a.b.c","uid":"1","annotations":{"x":"y","api-approved.kubernetes.io":"u"}},"spec":{"group":"b.c","scope":"Namespaced",)"
      R"("names":{"plural":"a","kind":"A"},"conversion":{"strategy":"Webhook","webhook":{}},"versions":[)"
      R"({"name":"v1","served":true,"storage":false},{"name":"v2","served":true,"storage":true}]},"status":{}})");
  EXPECT_EQ(
      mirror_definition(host->root(), "v1").to_json(),
      R"({"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"a.b.c","annotations":{"api-approved.kubernetes.io":"u"}},)"
      R"("spec":{"group":"b.c","names":{"plural":"a","kind":"A"},"scope":"Namespaced","versions":[)"
      R"({"name":"v1","served":true,"storage":true}]}})");
}

}  // namespace
}  // namespace sublet::syncer
