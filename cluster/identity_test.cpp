// keep_identity() on an API server of our own as the host, and what the syncer's token may do there.
#include "cluster/identity.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "cluster/folder_testing.h"
#include "cluster/host_testing.h"
#include "cluster/sweep.h"
#include "sublet/apiserver/server.h"
#include "sublet/base/files.h"
#include "sublet/kube/account_token.h"
#include "sublet/net/tls_context.h"
#include "sublet/store/memory_log.h"

namespace sublet::cluster {
namespace {

using std::chrono::seconds;
using testing::Contains;
using testing::HasSubstr;

const kube::Resource kNodes{"", "v1", "nodes"};

class IdentityTest : public testing::Test {
 protected:
  IdentityTest() : loop_("host") {
    store_ = store::Store::open(store::make_memory_log()).value();
    apiserver::ServerOptions options;
    options.service_account_key_pem = net::make_key().value();
    server_ = std::make_unique<apiserver::Server>(*store_, loop_.loop(), std::move(options), Clock::system());
    EXPECT_TRUE(server_->start());
    host_ = std::make_unique<Host>(Host{{}, "test", false, client(host_admin())});
    cluster_.name = "rag";
    cluster_.uid = "11111111-2222-4333-8444-555555555555";
    cluster_.host_namespace = "team";
    cluster_.host_service_account = "sublet-workload-rag";
    cluster_.listen = "127.0.0.1:1";
    cluster_.folder = folder_.path;
  }
  ~IdentityTest() override {
    host_.reset();
    server_->stop();
    store_->close();
  }
  kube::Client client(net::PeerIdentity peer, const std::string& token = "") const {
    return kube::Client(net::make_in_process_transport(server_->handler(), std::move(peer)), {.bearer_token = token});
  }
  Outcome prepare() { return prepare_host(*host_, cluster_, std::chrono::steady_clock::now() + seconds(5), progress_); }
  // The syncer, by a token that it has got.
  kube::Client syncer() const {
    EXPECT_TRUE(make_private_folder(cluster_.syncer_folder()));
    const auto renewed = renew_token(*host_, cluster_);
    EXPECT_TRUE(renewed) << renewed.error().message;
    return client({}, kube::load_account_token(cluster_.host_token_path()).value().token);
  }
  std::string labels(const std::string& uid) const {
    return R"("labels":{"sublet.dev/managed-by":"rag","sublet.dev/virtual-cluster-uid":")" + uid + "\"}";
  }
  std::string pod(const std::string& change = "") const {
    return R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"p",)" + labels(cluster_.uid) +
           R"(},"spec":{"serviceAccountName":"sublet-workload-rag","automountServiceAccountToken":false,)" + change +
           R"("containers":[{"name":"c","image":"i"}]}})";
  }
  static std::string made(const kube::Client& by, const kube::Resource& resource, const std::string& json,
                          const std::string& host_namespace = "team") {
    const auto document = schema::Document::parse_json(json);
    EXPECT_TRUE(document) << json;
    const auto answer = by.create(resource, host_namespace, document->root());
    return answer ? "" : answer.error().message;
  }

  const testing_support::TestFolder folder_;
  net::LoopThread loop_;
  std::unique_ptr<store::Store> store_;
  std::unique_ptr<apiserver::Server> server_;
  std::unique_ptr<Host> host_;
  VirtualCluster cluster_;
  RecordedProgress progress_;
};

TEST_F(IdentityTest, TheRightsAreThoseOfTheTableOfSyncedKinds) {
  const auto context = translate_context(cluster_);
  ASSERT_TRUE(context);
  const auto objects = identity_objects(cluster_, *context);
  std::string role, cluster_role;
  for (const auto& made : objects) {
    if (made.resource.resource == "roles") role = made.object.to_json();
    if (made.resource.resource == "clusterroles") cluster_role = made.object.to_json();
  }
  EXPECT_THAT(
      role,
      HasSubstr(R"({"apiGroups":[""],"resources":["pods"],"verbs":["get","list","watch","create","patch","delete"]})"));
  EXPECT_THAT(role, HasSubstr(R"("resources":["pods/log"],"verbs":["get"])"));
  EXPECT_THAT(
      role,
      HasSubstr(R"("resources":["serviceaccounts/token"],"verbs":["create"],"resourceNames":["sublet-syncer-rag"])"));
  EXPECT_THAT(role, testing::Not(HasSubstr(R"("resources":["ingresses"])"))) << "the template does not ask for them";
  EXPECT_THAT(cluster_role, HasSubstr(R"({"apiGroups":[""],"resources":["nodes"],"verbs":["list","watch"]})"));
  for (const auto* word : {"create", "patch", "delete", "update", "*"})
    EXPECT_THAT(cluster_role, testing::Not(HasSubstr('"' + std::string(word) + '"'))) << "cluster-wide it only reads";
}

TEST_F(IdentityTest, TheSyncerMayDoItsWorkAndNothingElse) {
  ASSERT_TRUE(prepare());
  const kube::Client syncer = this->syncer();
  EXPECT_EQ(made(syncer, kPods, pod()), "");
  EXPECT_TRUE(syncer.list(kNodes, ""));
  EXPECT_TRUE(syncer.list(kSecrets, "team"));
  EXPECT_TRUE(kube::request_account_token(syncer, "team", syncer_account(cluster_)));
  for (const auto& [place, resource] :
       {std::pair("", kSecrets), std::pair("kube-system", kSecrets), std::pair("default", kPods)})
    EXPECT_THAT(syncer.list(resource, place).error().message, HasSubstr("is forbidden")) << place;
  EXPECT_THAT(kube::request_account_token(syncer, "team", "sublet-workload-rag").error().message,
              HasSubstr("forbidden"));
  EXPECT_THAT(syncer.get({"rbac.authorization.k8s.io", "v1", "roles"}, "team", "sublet-syncer-rag").error().message,
              HasSubstr("forbidden"));
}

TEST_F(IdentityTest, ThePolicyHoldsItToItsOwnObjects) {
  ASSERT_TRUE(prepare());
  EXPECT_TRUE(progress_.warnings.empty()) << progress_.warnings[0];
  const kube::Client syncer = this->syncer();
  ASSERT_EQ(
      made(host_->client, kConfigMaps, R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"platform"}})"), "");
  // A policy comes into force a moment after it was made.
  const auto patch_foreign = [&] {
    return syncer.patch(kConfigMaps, "team", "platform", kube::PatchType::merge, R"({"data":{"a":"b"}})");
  };
  const auto deadline = std::chrono::steady_clock::now() + seconds(30);
  while (patch_foreign() && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
  EXPECT_THAT(patch_foreign().error().message, HasSubstr("sublet: what the syncer writes carries the labels"));
  EXPECT_THAT(syncer
                  .patch(kConfigMaps, "team", "platform", kube::PatchType::merge,
                         R"({"metadata":{)" + labels(cluster_.uid) + "}}")
                  .error()
                  .message,
              HasSubstr("sublet: the syncer changes and deletes only what carries its virtual cluster's uid"));
  EXPECT_THAT(syncer.remove(kConfigMaps, "team", "platform").error().message,
              HasSubstr("sublet: the syncer changes and"));

  ASSERT_EQ(made(host_->client, kConfigMaps,
                 R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"neighbour",)" + labels("another") + "}}"),
            "");
  EXPECT_THAT(syncer.remove(kConfigMaps, "team", "neighbour").error().message,
              HasSubstr("sublet: the syncer changes and"));
  EXPECT_EQ(made(syncer, kPods, pod()), "");
  EXPECT_TRUE(syncer.remove(kPods, "team", "p"));
  EXPECT_EQ(made(syncer, kPods, pod()), "");
  EXPECT_THAT(made(syncer, kPods, pod(R"("nodeName":"n",)")), HasSubstr("placed by the host's scheduler"));
  EXPECT_THAT(made(syncer, kPods,
                   R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"q",)" + labels(cluster_.uid) +
                       R"(},"spec":{"containers":[{"name":"c","image":"i"}]}})"),
              HasSubstr("account without rights"));
  EXPECT_THAT(
      made(
          syncer, kSecrets,
          R"({"apiVersion":"v1","kind":"Secret","type":"kubernetes.io/service-account-token","metadata":{"name":"t",)" +
              labels(cluster_.uid) + R"(,"annotations":{"kubernetes.io/service-account.name":"default"}}})"),
      HasSubstr("no tokens of other accounts"));
  const std::string service = R"({"apiVersion":"v1","kind":"Service","metadata":{"name":"s",)" + labels(cluster_.uid) +
                              R"(},"spec":{"ports":[{"port":80}],"selector":)";
  EXPECT_THAT(made(syncer, kServices, service + R"({"app":"neighbour"}}})"),
              HasSubstr("select the virtual cluster's own"));
  EXPECT_EQ(made(syncer, kServices, service + R"({"sublet.dev/virtual-cluster-uid":")" + cluster_.uid + "\"}}}"), "");
  const auto long_token = schema::Document::parse_json(
      R"({"apiVersion":"authentication.k8s.io/v1","kind":"TokenRequest","spec":{"expirationSeconds":86400}})");
  EXPECT_THAT(syncer.create(kServiceAccounts, "team", long_token->root(), "sublet-syncer-rag", "token").error().message,
              HasSubstr("good for an hour"));
  EXPECT_EQ(made(host_->client, kConfigMaps, R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"others"}})"),
            "")
      << "it is about nobody else";
}

// A host pays for every object that a policy looks at.
TEST_F(IdentityTest, NoPolicyLooksAtTheDeleteOfAnObjectOfItsOwn) {
  const auto context = translate_context(cluster_);
  ASSERT_TRUE(context);
  std::set<std::string> operations;
  for (const auto& made : identity_objects(cluster_, *context)) {
    if (made.resource.resource != "validatingadmissionpolicies") continue;
    const auto match = made.object["spec"]["matchConstraints"];
    for (const auto rule : match["resourceRules"])
      for (const auto operation : rule["operations"]) {
        operations.insert(operation.string());
        if (operation.text() != "DELETE") continue;
        EXPECT_EQ(match["objectSelector"].to_json(),
                  R"({"matchExpressions":[{"key":"sublet.dev/virtual-cluster-uid","operator":"NotIn","values":[")" +
                      cluster_.uid + R"("]}]})");
      }
  }
  EXPECT_EQ(operations, (std::set<std::string>{"CREATE", "DELETE", "UPDATE"}));
}

TEST_F(IdentityTest, ThePolicyHoldsPrioritiesToTheTemplatesBand) {
  ASSERT_TRUE(write_private_file(
      cluster_.template_path(), "sync: {toHost: {priorityClasses: {enabled: true, minValue: -10, maxValue: 1000}}}\n"));
  ASSERT_TRUE(prepare());
  const kube::Client syncer = this->syncer();
  const auto priority = [&](const std::string& name, const std::string& what) {
    return made(syncer, {"scheduling.k8s.io", "v1", "priorityclasses"},
                R"({"apiVersion":"scheduling.k8s.io/v1","kind":"PriorityClass","metadata":{"name":")" + name + R"(",)" +
                    labels(cluster_.uid) + R"(},)" + what + "}",
                "");
  };
  // A policy comes into force a moment after it was made.
  const auto deadline = std::chrono::steady_clock::now() + seconds(30);
  for (int i = 0; priority("high-" + std::to_string(i), R"("value":1001)").empty(); ++i)
    ASSERT_LT(std::chrono::steady_clock::now(), deadline);
  EXPECT_THAT(priority("high", R"("value":1001)"), HasSubstr("priorities stay within the template's band"));
  EXPECT_THAT(priority("low", R"("value":-11)"), HasSubstr("priorities stay within the template's band"));
  EXPECT_THAT(priority("all", R"("value":5,"globalDefault":true)"), HasSubstr("none is the host's default"));
  EXPECT_EQ(priority("highest", R"("value":1000)"), "");
  EXPECT_EQ(priority("lowest", R"("value":-10,"globalDefault":false)"), "");
}

TEST_F(IdentityTest, ThePolicyHoldsStorageClassesToTheTemplatesProvisioners) {
  ASSERT_TRUE(
      write_private_file(cluster_.template_path(),
                         "sync: {toHost: {storageClasses: {enabled: true}}}\n"
                         "allow: {storageClasses: {provisioners: [csi.x, '*.corp', \"it's\"], parameters: [type]}}\n"));
  ASSERT_TRUE(prepare());
  const kube::Client syncer = this->syncer();
  const auto storage = [&](const std::string& name, const std::string& what, const std::string& annotations = "") {
    return made(syncer, {"storage.k8s.io", "v1", "storageclasses"},
                R"({"apiVersion":"storage.k8s.io/v1","kind":"StorageClass","metadata":{"name":")" + name + R"(",)" +
                    labels(cluster_.uid) + annotations + "}," + what + "}",
                "");
  };
  const auto deadline = std::chrono::steady_clock::now() + seconds(30);
  for (int i = 0; storage("other-" + std::to_string(i), R"("provisioner":"csi.y")").empty(); ++i)
    ASSERT_LT(std::chrono::steady_clock::now(), deadline);
  const auto refused = HasSubstr("storage classes are of the template's provisioners");
  EXPECT_THAT(storage("other", R"("provisioner":"csiax")"), refused) << "a dot is a dot";
  EXPECT_THAT(storage("secret", R"("provisioner":"csi.x","parameters":{"secret-name":"s"})"), refused);
  EXPECT_THAT(storage("mount", R"("provisioner":"csi.x","mountOptions":["suid"])"), refused);
  EXPECT_THAT(storage("default", R"("provisioner":"csi.x")",
                      R"(,"annotations":{"storageclass.kubernetes.io/is-default-class":"true"})"),
              refused);
  EXPECT_EQ(storage("good", R"("provisioner":"csi.x","parameters":{"type":"a"})"), "");
  EXPECT_EQ(storage("wide", R"("provisioner":"disks.corp")"), "");
}

TEST_F(IdentityTest, ThePolicyHoldsVolumesToTheTemplatesDriversAndServers) {
  ASSERT_TRUE(write_private_file(cluster_.template_path(),
                                 "sync: {toHost: {persistentVolumes: {enabled: true}}}\n"
                                 "allow: {persistentVolumes: {csiVolumes: ['disk.x/a-*'], csiAttributes: "
                                 "['disk.x/part=*'], nfsPaths: ['files.x:/a/*', 'files.x:/*/deep']}}\n"));
  ASSERT_TRUE(prepare());
  const kube::Client syncer = this->syncer();
  const std::string own = cluster_.host_namespace;
  const auto volume = [&](const std::string& name, const std::string& source, const std::string& space,
                          const std::string& annotations = "") {
    return made(syncer, {"", "v1", "persistentvolumes"},
                R"({"apiVersion":"v1","kind":"PersistentVolume","metadata":{"name":")" + name + R"(",)" +
                    labels(cluster_.uid) + annotations +
                    R"(},"spec":{"capacity":{"storage":"1Gi"},"accessModes":["ReadWriteMany"],)" +
                    (space.empty() ? "" : R"("claimRef":{"name":"c","namespace":")" + space + R"("},)") + source + "}}",
                "");
  };
  const std::string good = R"("nfs":{"server":"files.x","path":"/a/b"})";
  const auto deadline = std::chrono::steady_clock::now() + seconds(30);
  for (int i = 0; volume("other-" + std::to_string(i), R"("hostPath":{"path":"/"})", own).empty(); ++i)
    ASSERT_LT(std::chrono::steady_clock::now(), deadline);
  const std::pair<const char*, std::string> refused[] = {
      {"path", R"("nfs":{"server":"files.x","path":"/b"})"},
      {"up", R"("nfs":{"server":"files.x","path":"/a/../b"})"},
      {"server", R"("nfs":{"server":"files.x:/z","path":"/deep"})"},
      {"deeper", R"("nfs":{"server":"files.x","path":"/a/b/c"})"},
      {"slash", R"("nfs":{"server":"files.x","path":"/a/"})"},
      {"dot", R"("nfs":{"server":"files.x","path":"/a/."})"},
      {"handle", R"("csi":{"driver":"disk.x","volumeHandle":"b-1"})"},
      {"handle-up", R"("csi":{"driver":"disk.x","volumeHandle":"a-/../b"})"},
      {"attribute", R"("csi":{"driver":"disk.x","volumeHandle":"a-1","volumeAttributes":{"share":"/"}})"},
      {"attribute-up", R"("csi":{"driver":"disk.x","volumeHandle":"a-1","volumeAttributes":{"part":"../b"}})"},
      {"secret", R"("csi":{"driver":"disk.x","volumeHandle":"a-1","nodeStageSecretRef":{"name":"s","namespace":"n"}})"},
      {"secret-2",
       R"("csi":{"driver":"disk.x","volumeHandle":"a-1","nodeExpandSecretRef":{"name":"s","namespace":"n"}})"},
      {"options", good + R"(,"mountOptions":["suid"])"},
      {"recycled", good + R"(,"persistentVolumeReclaimPolicy":"Recycle")"},
  };
  const auto why = HasSubstr("volumes are those of the template's drivers and servers");
  for (const auto& [name, source] : refused) EXPECT_THAT(volume(name, source, own), why) << name;
  EXPECT_THAT(volume("nobodys", good, ""), why) << "anybody's claim there could get it";
  EXPECT_THAT(volume("elsewhere", good, "kube-system"), why);
  for (const char* key :
       {"volume.beta.kubernetes.io/mount-options", "volume.kubernetes.io/provisioner-deletion-secret-name"})
    EXPECT_THAT(volume("noted", good, own, R"(,"annotations":{")" + std::string(key) + R"(":"x"})"), why) << key;
  EXPECT_EQ(volume("good", good, own), "");
  EXPECT_EQ(volume("disk", R"("csi":{"driver":"disk.x","volumeHandle":"a-1","volumeAttributes":{"part":"2"}})", own),
            "");
}

TEST_F(IdentityTest, ATokenIsRenewedWhenItIsDueAndSaysWhenItHasEnded) {
  ASSERT_TRUE(prepare());
  ASSERT_TRUE(make_private_folder(cluster_.syncer_folder()));
  EXPECT_TRUE(token_holds(cluster_)) << "none is there to end";
  EXPECT_EQ(renew_token(*host_, cluster_).value(), true);
  const auto first = kube::load_account_token(cluster_.host_token_path()).value();
  EXPECT_EQ(renew_token(*host_, cluster_).value(), false);
  EXPECT_EQ(kube::load_account_token(cluster_.host_token_path())->token, first.token);
  const auto now = Clock::system().now();
  ASSERT_TRUE(kube::save_account_token(cluster_.host_token_path(), {"old", now - seconds(7200), now - seconds(3600)}));
  EXPECT_FALSE(token_holds(cluster_));
  EXPECT_EQ(renew_token(*host_, cluster_).value(), true);
  EXPECT_TRUE(token_holds(cluster_));
}

TEST_F(IdentityTest, WhatItMadeIsKeptInOrderAndGoesAndAForeignOneStays) {
  ASSERT_TRUE(prepare());
  const kube::Resource roles{"rbac.authorization.k8s.io", "v1", "roles"},
      cluster_roles{"rbac.authorization.k8s.io", "v1", "clusterroles"};
  ASSERT_TRUE(host_->client.patch(roles, "team", "sublet-syncer-rag", kube::PatchType::merge, R"({"rules":[]})"));
  ASSERT_TRUE(prepare());
  EXPECT_FALSE(host_->client.get(roles, "team", "sublet-syncer-rag").value()["rules"].empty());
  const auto before =
      host_->client.get(roles, "team", "sublet-syncer-rag").value()["metadata"]["resourceVersion"].string();
  ASSERT_TRUE(prepare());
  EXPECT_EQ(host_->client.get(roles, "team", "sublet-syncer-rag").value()["metadata"]["resourceVersion"].string(),
            before);
  ASSERT_TRUE(sweep_host(*host_, cluster_, false, seconds(60), progress_));
  for (const auto& [resource, in_cluster, policy] : identity_resources())
    EXPECT_TRUE(host_->client.list(resource, in_cluster ? "" : "team", {.label_selector = host_selector(cluster_)})
                    .value()["items"]
                    .empty())
        << resource.resource;
  ASSERT_EQ(
      made(
          host_->client, cluster_roles,
          R"({"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRole","metadata":{"name":"sublet.team.rag"}})",
          ""),
      "");
  const auto refused = prepare();
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message,
              HasSubstr("ClusterRole sublet.team.rag is there, and is not of virtual cluster rag"));
}

TEST_F(IdentityTest, AMappingFromANamespaceThatIsNotThereIsNamed) {
  ASSERT_TRUE(write_private_file(
      cluster_.template_path(),
      "sync: {fromHost: {secrets: {enabled: true, mappings: {byName: {shared/pull: given/registry}}}}}\n"));
  const auto refused = prepare();
  ASSERT_FALSE(refused);
  EXPECT_THAT(
      refused.error().message,
      testing::EndsWith("sync.fromHost.secrets.mappings.byName \"shared/pull\" of virtual cluster rag reads "
                        "namespace shared, which is not there; create it (`kubectl create namespace shared` with "
                        "the host's kubeconfig), or take the mapping out of the template"));
  ASSERT_EQ(
      made(host_->client, kNamespaces, R"({"apiVersion":"v1","kind":"Namespace","metadata":{"name":"shared"}})", ""),
      "");
  EXPECT_TRUE(prepare());
}

TEST_F(IdentityTest, ANamespaceThatSubletMadeEnforcesTheLoosestStandardOfItsVirtualClusters) {
  const auto enforced = [&](const std::string& name) {
    return host_->client.get(kNamespaces, "", name)
        .value()["metadata"]["labels"]["pod-security.kubernetes.io/enforce"]
        .string();
  };
  const auto standard = [&](const char* wanted) {
    ASSERT_TRUE(
        write_private_file(cluster_.template_path(), "policies: {podSecurityStandard: " + std::string(wanted) + "}\n"));
  };
  standard("restricted");
  ASSERT_TRUE(prepare());
  EXPECT_EQ(enforced("team"), "restricted");
  standard("baseline");
  ASSERT_TRUE(prepare());
  EXPECT_EQ(enforced("team"), "baseline");
  standard("restricted");
  ASSERT_TRUE(prepare());
  EXPECT_EQ(enforced("team"), "baseline");
  EXPECT_TRUE(progress_.warnings.empty());
  cluster_.host_namespace = "platform";
  ASSERT_EQ(
      made(host_->client, kNamespaces, R"({"apiVersion":"v1","kind":"Namespace","metadata":{"name":"platform"}})", ""),
      "");
  ASSERT_TRUE(prepare());
  EXPECT_EQ(enforced("platform"), "");
  EXPECT_THAT(progress_.warnings,
              Contains(HasSubstr("namespace platform is not sublet's and enforces no Pod Security Standard")));
}

}  // namespace
}  // namespace sublet::cluster
