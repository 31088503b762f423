// sweep_host() against an API server of our own as the host, with somebody in front of it who watches and interferes.
#include "cluster/sweep.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>

#include "cluster/api_access.h"
#include "cluster/folder_testing.h"
#include "cluster/host_testing.h"
#include "cluster/pod_access.h"
#include "sublet/apiserver/server.h"
#include "sublet/base/mutex.h"
#include "sublet/net/loop.h"
#include "sublet/net/tls_context.h"
#include "sublet/store/memory_log.h"

namespace sublet::cluster {
namespace {

using std::chrono::seconds;
using testing::HasSubstr;

const kube::Resource kSlices{"discovery.k8s.io", "v1", "endpointslices"};
constexpr const char* kUid = "11111111-2222-4333-8444-555555555555";

class SweepTest : public testing::Test {
 protected:
  // Sees each request before the server; true when it has answered itself.
  using Interference = std::function<bool(const net::Request&, net::ResponseSink&)>;

  SweepTest() : loop_("host") {
    store_ = store::Store::open(store::make_memory_log()).value();
    apiserver::ServerOptions options;
    options.service_account_key_pem = net::make_key().value();
    server_ = std::make_unique<apiserver::Server>(*store_, loop_.loop(), std::move(options), Clock::system());
    EXPECT_TRUE(server_->start());
    own_ = std::make_unique<kube::Client>(net::make_in_process_transport(server_->handler(), host_admin()));
    host_ = std::make_unique<Host>(Host{{},
                                        "test",
                                        false,
                                        kube::Client(net::make_in_process_transport(
                                            [this](net::Request request, std::shared_ptr<net::ResponseSink> sink) {
                                              if (!met(request, *sink))
                                                server_->handler()(std::move(request), std::move(sink));
                                            },
                                            host_admin()))});
    create(kNamespaces, R"({"apiVersion":"v1","kind":"Namespace","metadata":{"name":"team"}})");
    cluster_.name = "rag";
    cluster_.uid = kUid;
    cluster_.host_namespace = "team";
  }
  ~SweepTest() override {
    host_.reset();
    own_.reset();
    server_->stop();
    store_->close();
  }

  bool met(const net::Request& request, net::ResponseSink& sink) {
    Interference interfere;
    {
      const MutexLock lock(mutex_);
      if (request.method == "DELETE") deletes_.push_back(request.target + " " + request.body);
      interfere = interference_;
    }
    return interfere && interfere(request, sink);
  }
  void create(const kube::Resource& resource, const std::string& json, const std::string& host_namespace = "") const {
    const auto document = schema::Document::parse_json(json);
    ASSERT_TRUE(document) << json;
    const auto created = own_->create(resource, host_namespace, document->root());
    EXPECT_TRUE(created) << created.error().message;
  }
  // An object of that kind with our label, or another's.
  void make(const kube::Resource& resource, const std::string& kind, const std::string& name,
            const std::string& uid = kUid, const std::string& metadata = "", const std::string& rest = "") const {
    create(resource,
           R"({"apiVersion":"v1","kind":")" + kind + R"(","metadata":{"name":")" + name +
               R"(","labels":{"sublet.dev/virtual-cluster-uid":")" + uid + "\"}" + metadata + "}" + rest + "}",
           "team");
  }
  void make_pod(const std::string& name, const std::string& node = "") const {
    make(kPods, "Pod", name, kUid, "",
         R"(,"spec":{"containers":[{"name":"c","image":"i"}])" + (node.empty() ? "" : R"(,"nodeName":")" + node + '"') +
             "}");
  }
  std::vector<std::string> names(const kube::Resource& resource) const {
    std::vector<std::string> out;
    const auto list = own_->list(resource, "team");  // outlives the loop; a temporary would not
    for (const auto item : list.value()["items"]) out.push_back(item["metadata"]["name"].string());
    return out;
  }
  Outcome sweep(seconds patience = seconds(60)) { return sweep_host(*host_, cluster_, false, patience, progress_); }

  net::LoopThread loop_;
  std::unique_ptr<store::Store> store_;
  std::unique_ptr<apiserver::Server> server_;
  std::unique_ptr<kube::Client> own_;  // past the interference
  std::unique_ptr<Host> host_;
  VirtualCluster cluster_;
  RecordedProgress progress_;
  std::vector<std::string> seen_deletes() {
    const MutexLock lock(mutex_);
    return deletes_;
  }

  Mutex mutex_;
  Interference interference_;
  std::vector<std::string> deletes_ SUBLET_GUARDED_BY(mutex_);
};

TEST_F(SweepTest, TakesWhatLedPodsToTheirServers) {
  cluster_.listen = "127.0.0.1:7443";
  cluster_.pod_access = {"192.168.1.5", "192.168.1.5", 20053, ""};
  const auto address = keep_pod_access(*host_, cluster_);
  ASSERT_TRUE(address) << address.error().message;
  EXPECT_TRUE(address->starts_with("10.96.")) << *address;
  EXPECT_THAT(names(kServices), testing::ElementsAre("sublet-rag"));
  EXPECT_THAT(names(kSlices), testing::ElementsAre("sublet-rag"));

  // Asked again it writes nothing, and follows what changes.
  const auto version = [&](const kube::Resource& resource) {
    return own_->get(resource, "team", "sublet-rag").value()["metadata"]["resourceVersion"].string();
  };
  const auto before = version(kServices) + version(kSlices);
  cluster_.pod_access.service_address = *address;
  EXPECT_EQ(keep_pod_access(*host_, cluster_).value(), *address);
  EXPECT_EQ(version(kServices) + version(kSlices), before);
  cluster_.pod_access.address = "192.168.1.6";
  cluster_.pod_access.dns_port = 20054;
  EXPECT_EQ(keep_pod_access(*host_, cluster_).value(), *address);
  EXPECT_EQ(own_->get(kSlices, "team", "sublet-rag").value()["endpoints"].at(0)["addresses"].to_json(),
            R"(["192.168.1.6"])");
  EXPECT_EQ(own_->get(kServices, "team", "sublet-rag").value()["spec"]["ports"].at(1)["targetPort"].integer(), 20054);

  // One that was lost comes back with its address, and with another when that one is taken.
  ASSERT_TRUE(own_->remove(kServices, "team", "sublet-rag"));
  EXPECT_EQ(keep_pod_access(*host_, cluster_).value(), *address);
  ASSERT_TRUE(own_->remove(kServices, "team", "sublet-rag"));
  create(kServices,
         R"({"apiVersion":"v1","kind":"Service","metadata":{"name":"thief"},"spec":{"clusterIP":")" + *address +
             R"(","ports":[{"port":80}]}})",
         "team");
  const auto other = keep_pod_access(*host_, cluster_);
  ASSERT_TRUE(other) << other.error().message;
  EXPECT_NE(*other, *address);

  const auto swept = sweep();
  ASSERT_TRUE(swept) << swept.error().message;
  EXPECT_THAT(names(kServices), testing::ElementsAre("thief"));
  EXPECT_THAT(names(kSlices), testing::IsEmpty());
}

TEST_F(SweepTest, TakesWhatLedPeopleToTheApiServer) {
  const testing_support::TestFolder folder;
  cluster_.folder = folder.path;
  cluster_.listen = "127.0.0.1:7443";
  cluster_.pod_access = {"192.168.1.5", "192.168.1.5", 20053, "10.96.3.4"};
  testing_support::write_file(cluster_.template_path(),
                              "controlPlane: {ingress: {enabled: true, host: rag.example.com}}\n");
  const auto context = translate_context(cluster_);
  ASSERT_TRUE(context) << context.error().message;
  const kube::Resource ingresses{"networking.k8s.io", "v1", "ingresses"};
  const auto versions = [&] {
    std::string all;
    for (const auto& resource : {kServices, kSlices, ingresses})
      all += own_->get(resource, "team", "sublet-rag-api").value()["metadata"]["resourceVersion"].string() + " ";
    return all;
  };
  const auto kept = keep_api_access(*host_, cluster_, syncer::config_of(*context));
  ASSERT_TRUE(kept) << kept.error().message;
  const std::string before = versions();
  ASSERT_TRUE(keep_api_access(*host_, cluster_, syncer::config_of(*context)));
  EXPECT_EQ(versions(), before) << "asked again it writes nothing";

  const auto swept = sweep();
  ASSERT_TRUE(swept) << swept.error().message;
  for (const auto& resource : {kServices, kSlices, ingresses}) EXPECT_THAT(names(resource), testing::IsEmpty());
}

TEST_F(SweepTest, SomebodyElsesServiceOfThatNameIsLeftAlone) {
  make(kServices, "Service", "sublet-rag", "another-uid", "", R"(,"spec":{"ports":[{"port":80}]})");
  cluster_.listen = "127.0.0.1:7443";
  cluster_.pod_access = {"192.168.1.5", "192.168.1.5", 20053, ""};
  const auto address = keep_pod_access(*host_, cluster_);
  ASSERT_FALSE(address);
  EXPECT_THAT(address.error().message, HasSubstr("does not belong to this virtual cluster"));
  EXPECT_EQ(own_->get(kServices, "team", "sublet-rag").value()["spec"]["ports"].size(), 1u);
}

// user-pain, demand 12: a deletion takes all that is its own, and nothing else.
TEST_F(SweepTest, TakesWhatCarriesTheLabelAndNothingElse) {
  for (const char* name : {"a", "b", "c"}) {
    make_pod(name);
    make(kSecrets, "Secret", name);
    make(kConfigMaps, "ConfigMap", name);
  }
  make(kServices, "Service", "a", kUid, "", R"(,"spec":{"ports":[{"port":80}]})");
  make(kServiceAccounts, "ServiceAccount", "sublet-workload-rag");
  make(kSecrets, "Secret", "neighbours", "another-uid");
  make(kServiceAccounts, "ServiceAccount", "neighbours", "another-uid");
  create(kSecrets, R"({"apiVersion":"v1","kind":"Secret","metadata":{"name":"peoples"}})", "team");
  const auto swept = sweep();
  ASSERT_TRUE(swept) << swept.error().message;
  EXPECT_THAT(names(kPods), testing::IsEmpty());
  EXPECT_THAT(names(kServices), testing::IsEmpty());
  EXPECT_THAT(names(kSecrets), testing::UnorderedElementsAre("neighbours", "peoples"));
  EXPECT_THAT(names(kServiceAccounts), testing::ElementsAre("neighbours"));
  EXPECT_THAT(progress_.updates, testing::Contains(HasSubstr("3 pods left")));
  EXPECT_THAT(progress_.updates,
              testing::Contains(HasSubstr("3 configmaps, 3 secrets, 1 serviceaccounts, 1 services left")));
  const auto deletes = seen_deletes();
  ASSERT_EQ(deletes.size(), 11u);
  for (std::size_t i = 0; i < deletes.size(); ++i) {
    EXPECT_EQ(i < 3, deletes[i].find("/pods/") != std::string::npos) << "pods go first: " << deletes[i];
    EXPECT_THAT(deletes[i], HasSubstr("\"uid\":"));
  }
}

TEST_F(SweepTest, AnObjectThatTookTheNameInBetweenStays) {
  make(kSecrets, "Secret", "s");
  std::atomic<bool> done = false;
  interference_ = [this, &done](const net::Request& request, net::ResponseSink&) {
    if (request.method != "DELETE" || done.exchange(true)) return false;
    EXPECT_TRUE(own_->remove(kSecrets, "team", "s"));
    create(kSecrets, R"({"apiVersion":"v1","kind":"Secret","metadata":{"name":"s"}})", "team");
    return false;
  };
  EXPECT_TRUE(sweep());
  EXPECT_THAT(names(kSecrets), testing::ElementsAre("s"));
}

TEST_F(SweepTest, ABusyHostIsAskedAgain) {
  for (int i = 0; i < 40; ++i) make(kSecrets, "Secret", "s" + std::to_string(i));
  std::atomic<int> refused = 0;
  interference_ = [&refused](const net::Request& request, net::ResponseSink& sink) {
    if (request.method != "DELETE" || ++refused > 30) return false;
    sink.respond(429, {{"Retry-After", "1"}},
                 R"({"kind":"Status","code":429,"reason":"TooManyRequests","message":"busy"})");
    return true;
  };
  const auto swept = sweep();
  ASSERT_TRUE(swept) << swept.error().message;
  EXPECT_THAT(names(kSecrets), testing::IsEmpty());
  EXPECT_EQ(seen_deletes().size(), 70u) << "each is asked for until the host agrees, and then not again";
}

TEST_F(SweepTest, ARefusalIsTold) {
  make(kSecrets, "Secret", "s");
  interference_ = [](const net::Request& request, net::ResponseSink& sink) {
    if (request.method != "DELETE") return false;
    sink.respond(403, {}, R"({"kind":"Status","code":403,"reason":"Forbidden","message":"not yours"})");
    return true;
  };
  const auto swept = sweep();
  ASSERT_FALSE(swept);
  EXPECT_TRUE(swept.error().is(Reason::forbidden));
  EXPECT_THAT(swept.error().message, HasSubstr("not yours"));
}

TEST_F(SweepTest, PatienceThatEndsSaysHowManyAreLeftAndThatTheyGo) {
  make(kSecrets, "Secret", "a", kUid, R"(,"finalizers":["example.com/held"])");
  make(kSecrets, "Secret", "b", kUid, R"(,"finalizers":["example.com/held"])");
  const auto swept = sweep(seconds(1));
  ASSERT_FALSE(swept);
  EXPECT_TRUE(swept.error().is(Reason::timeout));
  EXPECT_THAT(swept.error().message,
              HasSubstr("2 secrets of rag are still in host namespace team: all of them are going"));
  EXPECT_EQ(seen_deletes().size(), 2u) << "asked for more than once";
}

TEST_F(SweepTest, APodWhoseUidLabelWasTakenAwayGoesToo) {
  create(kPods,
         R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"hidden","labels":{"sublet.dev/managed-by":"rag"}},)"
         R"("spec":{"containers":[{"name":"c","image":"i"}]}})",
         "team");
  create(kSecrets,
         R"({"apiVersion":"v1","kind":"Secret","metadata":{"name":"others","labels":{"sublet.dev/managed-by":"rag",)"
         R"("sublet.dev/virtual-cluster-uid":"another-uid"}}})",
         "team");
  ASSERT_TRUE(sweep());
  EXPECT_THAT(names(kPods), testing::IsEmpty());
  EXPECT_THAT(names(kSecrets), testing::ElementsAre("others"));
}

TEST_F(SweepTest, ANamespaceWithAnythingElseInItStays) {
  create(
      kNamespaces,
      R"({"apiVersion":"v1","kind":"Namespace","metadata":{"name":"made","labels":{"sublet.dev/created-by":"sublet"}}})");
  cluster_.host_namespace = "made";
  create(kConfigMaps, R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"kube-root-ca.crt"}})", "made");
  create(
      {"apps", "v1", "deployments"},
      R"({"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web"},"spec":{"selector":{"matchLabels":)"
      R"({"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}]}}}})",
      "made");
  create({"", "v1", "persistentvolumeclaims"},
         R"({"apiVersion":"v1","kind":"PersistentVolumeClaim","metadata":{"name":"data"},"spec":{"accessModes":)"
         R"(["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}}}})",
         "made");
  ASSERT_TRUE(sweep_host(*host_, cluster_, true, seconds(60), progress_));
  EXPECT_THAT(progress_.warnings,
              testing::ElementsAre("host namespace made stays, since it holds deployments.apps web, "
                                   "persistentvolumeclaims data"));
  EXPECT_TRUE(seen_deletes().empty());
  EXPECT_TRUE(own_->remove({"apps", "v1", "deployments"}, "made", "web"));
  const kube::Resource claims{"", "v1", "persistentvolumeclaims"};
  EXPECT_TRUE(own_->remove(claims, "made", "data"));
  // No controller is there to say that nobody uses it.
  EXPECT_TRUE(own_->patch(claims, "made", "data", kube::PatchType::merge, R"({"metadata":{"finalizers":null}})"));
  ASSERT_TRUE(sweep_host(*host_, cluster_, true, seconds(60), progress_));
  ASSERT_EQ(seen_deletes().size(), 1u);
  EXPECT_THAT(seen_deletes()[0], HasSubstr("/namespaces/made"));
}

TEST_F(SweepTest, AKindThatCannotBeLookedAtKeepsTheNamespace) {
  create(
      kNamespaces,
      R"({"apiVersion":"v1","kind":"Namespace","metadata":{"name":"made","labels":{"sublet.dev/created-by":"sublet"}}})");
  cluster_.host_namespace = "made";
  interference_ = [](const net::Request& request, net::ResponseSink& sink) {
    if (!request.path().ends_with("/leases")) return false;
    sink.respond(403, {}, R"({"kind":"Status","code":403,"reason":"Forbidden","message":"not yours"})");
    return true;
  };
  ASSERT_TRUE(sweep_host(*host_, cluster_, true, seconds(60), progress_));
  EXPECT_THAT(progress_.warnings,
              testing::ElementsAre(HasSubstr("perhaps leases.coordination.k8s.io (not yours), which could not be")));
  EXPECT_TRUE(seen_deletes().empty());
}

// Owner ---------------------------------------------------------------------------------------------------------------

class OwnerTest : public SweepTest {
 protected:
  OwnerTest() {
    cluster_.host_service_account = "sublet-workload-rag";
    cluster_.created = "2026-11-22T15:00:00Z";
    cluster_.folder = "/state/one";
    other_ = cluster_;
    other_.uid = "99999999-2222-4333-8444-555555555555";
    other_.folder = "/state/two";
  }
  Outcome prepare(VirtualCluster cluster) {
    return prepare_host(*host_, cluster, std::chrono::steady_clock::now() + seconds(5), progress_);
  }
  VirtualCluster other_;
};

TEST_F(OwnerTest, TheSecondOfANameIsRefusedAndToldWhoIsThere) {
  ASSERT_TRUE(prepare(cluster_));
  ASSERT_TRUE(prepare(cluster_));  // a start
  const auto refused = prepare(other_);
  ASSERT_FALSE(refused);
  EXPECT_TRUE(refused.error().is(Reason::already_exists));
  for (const auto* part : {"is another's: made 2026-11-22T15:00:00Z by ", " in /state/one; ",
                           "-l sublet.dev/virtual-cluster-uid=11111111-2222-4333-8444-555555555555, then ",
                           "delete configmap sublet-owner-rag"})
    EXPECT_THAT(refused.error().message, HasSubstr(part));
  // What the refused one takes back is not the first one's.
  ASSERT_TRUE(sweep_host(*host_, other_, true, seconds(60), progress_));
  EXPECT_THAT(names(kConfigMaps), testing::ElementsAre("sublet-owner-rag"));
  EXPECT_THAT(names(kServiceAccounts), testing::ElementsAre("sublet-syncer-rag", "sublet-workload-rag"));
  ASSERT_TRUE(sweep());
  EXPECT_THAT(names(kConfigMaps), testing::IsEmpty());
  EXPECT_TRUE(prepare(other_));
}

TEST_F(OwnerTest, AServiceAccountOfItsNameIsNotAdopted) {
  create(kServiceAccounts, R"({"apiVersion":"v1","kind":"ServiceAccount","metadata":{"name":"sublet-workload-rag"}})",
         "team");
  const auto refused = prepare(cluster_);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("ServiceAccount sublet-workload-rag is there, and is not of"));
  ASSERT_TRUE(sweep());
  EXPECT_THAT(names(kServiceAccounts), testing::ElementsAre("sublet-workload-rag"));
}

TEST_F(SweepTest, PodsThatDoNotEndGoWithoutGraceWhenHalfThePatienceIsOver) {
  make_pod("slow", "node-1");  // no kubelet ends it
  const auto swept = sweep(seconds(2));
  ASSERT_TRUE(swept) << swept.error().message;
  EXPECT_THAT(names(kPods), testing::IsEmpty());
  ASSERT_EQ(seen_deletes().size(), 2u);
  EXPECT_THAT(seen_deletes()[0], testing::Not(HasSubstr("gracePeriodSeconds")));
  EXPECT_THAT(seen_deletes()[1], HasSubstr("\"gracePeriodSeconds\":0"));
}

}  // namespace
}  // namespace sublet::cluster
