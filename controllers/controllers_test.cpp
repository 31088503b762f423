#include "sublet/controllers/controllers.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "base/eventually_testing.h"
#include "controllers/manual_executor_testing.h"
#include "controllers/namespace_content.h"
#include "controllers/resources_testing.h"
#include "sublet/apiserver/server.h"
#include "sublet/schema/registry.h"
#include "sublet/schema/table_builder.h"
#include "sublet/store/memory_log.h"
#include "tests/support/parse_json.h"

namespace sublet::controllers {
namespace {

using schema::Document;
using namespace std::chrono_literals;

const kube::Resource kEndpoints{"", "v1", "endpoints"}, kLeases{"coordination.k8s.io", "v1", "leases"};

using testing_support::eventually;
using testing_support::parse_json;

/// A server over a store in memory, with its controllers, and a client beside them.
class ControllersTest : public testing::Test {
 protected:
  ControllersTest() : store_(std::move(*store::Store::open(store::make_memory_log()))), loop_("test-controllers") {
    apiserver::ServerOptions server;
    server.ca_certificate_pem = "PEM";
    server.bootstrap_rights = false;  // who asks is of system:masters
    options_.cluster = server;
    server_ = std::make_unique<apiserver::Server>(*store_, loop_.loop(), server);
    options_.kinds = [this] { return server_->kinds(); };
    EXPECT_TRUE(server_->start());
    net::PeerIdentity identity;
    identity.kind = net::PeerIdentity::Kind::in_process;
    std::shared_ptr<net::Transport> transport = net::make_in_process_transport(server_->handler(), identity);
    client_ = std::make_unique<kube::Client>(transport);
  }
  ~ControllersTest() override {
    controllers_.reset();
    server_->stop();
    store_->close();
  }

  void start() {
    controllers_ = std::make_unique<Controllers>(*store_, *client_, *executor_, options_);
    controllers_->start();
  }
  void create(const kube::Resource& resource, std::string_view namespace_name, std::string_view json) {
    auto created = client_->create(resource, namespace_name, parse_json(json).root());
    ASSERT_TRUE(created) << created.error().message;
  }
  void make_namespace(const std::string& name) { create(kNamespaces, "", R"({"metadata":{"name":")" + name + "\"}}"); }
  bool exists(const kube::Resource& resource, std::string_view namespace_name, std::string_view name) {
    return client_->get(resource, namespace_name, name).has_value();
  }
  std::string condition(const std::string& name, std::string_view type) {
    auto found = client_->get(kNamespaces, "", name);
    if (!found) return "gone";
    for (auto entry : (*found)["status"]["conditions"])
      if (entry["type"].text() == type) return entry["status"].string() + " " + entry["message"].string();
    return "";
  }

  ControllersOptions options_;
  std::unique_ptr<store::Store> store_;
  net::LoopThread loop_;
  std::unique_ptr<apiserver::Server> server_;
  std::unique_ptr<kube::Client> client_;
  std::unique_ptr<Executor> executor_ = make_pool_executor(loop_.loop(), 2);
  std::unique_ptr<Controllers> controllers_;
};

TEST_F(ControllersTest, NamespacesGetAccountAndAuthority) {
  start();
  make_namespace("a");
  EXPECT_TRUE(
      eventually([&] { return exists(kAccounts, "a", "default") && exists(kConfigMaps, "a", "kube-root-ca.crt"); }));
  EXPECT_EQ((*client_->get(kConfigMaps, "a", "kube-root-ca.crt"))["data"]["ca.crt"].text(), "PEM");
}

TEST_F(ControllersTest, DefaultsComeBack) {
  start();
  ASSERT_TRUE(eventually([&] { return exists(kAccounts, "default", "default"); }));
  auto uid = (*client_->get(kAccounts, "default", "default"))["metadata"]["uid"].string();
  ASSERT_TRUE(client_->remove(kAccounts, "default", "default"));
  EXPECT_TRUE(eventually([&] {
    auto account = client_->get(kAccounts, "default", "default");
    return account && (*account)["metadata"]["uid"].text() != uid;
  }));
  ASSERT_TRUE(client_->patch(kConfigMaps, "default", "kube-root-ca.crt", kube::PatchType::merge,
                             R"({"data":{"ca.crt":"bent"}})"));
  EXPECT_TRUE(eventually(
      [&] { return (*client_->get(kConfigMaps, "default", "kube-root-ca.crt"))["data"]["ca.crt"].text() == "PEM"; }));
}

TEST_F(ControllersTest, KubernetesServiceComesBack) {
  start();
  ASSERT_TRUE(eventually([&] { return controllers_->idle(); }));
  for (const auto& resource : {kServices, kEndpoints}) {
    ASSERT_TRUE(client_->remove(resource, "default", "kubernetes"));
    EXPECT_TRUE(eventually([&] { return exists(resource, "default", "kubernetes"); })) << resource.resource;
  }
  EXPECT_EQ((*client_->get(kServices, "default", "kubernetes"))["spec"]["clusterIP"].text(), "10.96.0.1");
}

TEST_F(ControllersTest, NamespacesGoWithTheirContent) {
  start();
  make_namespace("a");
  create(kConfigMaps, "a", R"({"metadata":{"name":"c"}})");
  create(kPods, "a", R"({"metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"x"}]}})");
  create({"apps", "v1", "deployments"}, "a", R"({"metadata":{"name":"d"},"spec":{"selector":{"matchLabels":{"a":"b"}},
    "template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"x"}]}}}})");
  auto removed = client_->remove(kNamespaces, "", "a");
  ASSERT_TRUE(removed) << removed.error().message;
  EXPECT_EQ((*removed)["status"]["phase"].text(), "Terminating");
  EXPECT_TRUE(eventually([&] { return !exists(kNamespaces, "", "a"); }))
      << client_->get(kNamespaces, "", "a")->to_json();
  EXPECT_FALSE(exists(kConfigMaps, "a", "c"));
  make_namespace("a");
  EXPECT_FALSE(exists({"apps", "v1", "deployments"}, "a", "d"));
}

TEST_F(ControllersTest, PodsGoFirst) {
  start();
  make_namespace("a");
  create(kConfigMaps, "a", R"({"metadata":{"name":"c"}})");
  create(kPods, "a", R"({"metadata":{"name":"p"},"spec":{"nodeName":"n","containers":[{"name":"c","image":"x"}]}})");
  ASSERT_TRUE(client_->remove(kNamespaces, "", "a"));
  ASSERT_TRUE(eventually([&] { return condition("a", "NamespaceContentRemaining").starts_with("True"); }));
  EXPECT_EQ(condition("a", "NamespaceContentRemaining"),
            "True Some resources are remaining: pods. has 1 resource instances");
  EXPECT_TRUE(exists(kConfigMaps, "a", "c")) << "the pod may still need it";
  // What the syncer does when the host's pod is gone.
  kube::DeleteOptions now;
  now.grace_period_seconds = 0;
  ASSERT_TRUE(client_->remove(kPods, "a", "p", now));
  EXPECT_TRUE(eventually([&] { return !exists(kNamespaces, "", "a"); }));
}

TEST_F(ControllersTest, FinalizersAreWaitedFor) {
  start();
  make_namespace("a");
  create(kConfigMaps, "a", R"({"metadata":{"name":"c","finalizers":["example.com/hold"]}})");
  ASSERT_TRUE(client_->remove(kNamespaces, "", "a"));
  ASSERT_TRUE(eventually([&] { return condition("a", "NamespaceFinalizersRemaining").starts_with("True"); }));
  EXPECT_EQ(condition("a", "NamespaceFinalizersRemaining"),
            "True Some content in the namespace has finalizers remaining: example.com/hold in 1 resource instances");
  EXPECT_EQ(condition("a", "NamespaceDeletionContentFailure"),
            "False All content successfully deleted, may be waiting on finalization");
  ASSERT_TRUE(client_->patch(kConfigMaps, "a", "c", kube::PatchType::merge, R"({"metadata":{"finalizers":null}})"));
  EXPECT_TRUE(eventually([&] { return !exists(kNamespaces, "", "a"); }));
}

TEST_F(ControllersTest, NamespacesThatWereGoingAreFoundAtTheStart) {
  make_namespace("a");
  ASSERT_TRUE(client_->remove(kNamespaces, "", "a"));
  ASSERT_TRUE(exists(kNamespaces, "", "a"));
  start();
  EXPECT_TRUE(eventually([&] { return !exists(kNamespaces, "", "a"); }));
}

TEST_F(ControllersTest, OldEventsEnd) {
  auto event = [](std::string_view name, WallTime seen) {
    return R"({"metadata":{"name":")" + std::string(name) +
           R"("},"involvedObject":{"namespace":"default"},"lastTimestamp":")" + format_time(seen) + "\"}";
  };
  auto now = Clock::system().now();
  create(kEvents, "default", event("old", now - 1h));
  create(kEvents, "default", event("seen-again", now + 1h));
  options_.event_sweep_interval = 10ms;
  options_.event_age_max = 0s;
  start();
  EXPECT_TRUE(eventually([&] { return !exists(kEvents, "default", "old"); }));
  EXPECT_TRUE(exists(kEvents, "default", "seen-again"));
}

TEST_F(ControllersTest, KindsThatCameAtRunTimeGoWithTheNamespace) {
  const kube::Resource widgets{"example.com", "v1", "widgets"};
  schema::TableBuilder builder;
  builder.add_resource({.group = widgets.group,
                        .version = widgets.version,
                        .resource = widgets.resource,
                        .kind = "Widget",
                        .list_kind = "WidgetList",
                        .singular = "widget",
                        .type = builder.add_object("com.example.v1.Widget", std::vector<schema::FieldSpec>{}),
                        .storage_version = widgets.version});
  auto kinds = schema::Registry::with({schema::KindSet(*builder.build())});
  ASSERT_TRUE(kinds);
  start();
  make_namespace("a");
  server_->install_kinds(*kinds);
  create(widgets, "a", R"({"metadata":{"name":"w"}})");
  ASSERT_TRUE(client_->remove(kNamespaces, "", "a"));
  EXPECT_TRUE(eventually([&] { return !exists(kNamespaces, "", "a"); }));
  EXPECT_EQ(store_->snapshot().count("widgets.example.com/a/"), 0u);
}

TEST_F(ControllersTest, AnAnnotationIsNoDeletion) {
  start();
  create(kNamespaces, "", R"({"metadata":{"name":"a","annotations":{"deletionTimestamp":"no"}}})");
  EXPECT_TRUE(eventually([&] { return exists(kAccounts, "a", "default"); }));
}

/// The same with time and order in the test's hands.
class QuietControllersTest : public testing::Test {
 protected:
  QuietControllersTest() {
    EXPECT_TRUE(server_.start());
    controllers_.start();
    executor_.run_all();
  }
  ~QuietControllersTest() override {
    controllers_.stop();
    server_.stop();
    store_->close();
  }
  static net::PeerIdentity identity() {
    net::PeerIdentity identity;
    identity.kind = net::PeerIdentity::Kind::in_process;
    return identity;
  }
  std::size_t events() const { return store_->snapshot().count("events/"); }

  ManualClock clock_;
  ManualExecutor executor_{clock_};
  std::unique_ptr<store::Store> store_ = std::move(*store::Store::open(store::make_memory_log()));
  net::LoopThread loop_{"test-controllers"};
  apiserver::Server server_{*store_, loop_.loop(), {}, clock_};
  kube::Client client_{net::make_in_process_transport(server_.handler(), identity())};
  Controllers controllers_{*store_, client_, executor_, {}, clock_};
};

TEST_F(QuietControllersTest, NothingRunsAndNothingIsWrittenWhenNothingChanges) {
  const auto before = store_->stats();
  for (int hour = 0; hour < 48; ++hour) {
    EXPECT_EQ(executor_.tasks() + executor_.timers(), 0u) << "hour " << hour;
    clock_.advance(1h);
    EXPECT_EQ(executor_.run_all(), 0) << "hour " << hour;
  }
  const auto after = store_->stats();
  EXPECT_EQ(after.revision, before.revision);
  EXPECT_EQ(after.commits, before.commits);
}

TEST_F(QuietControllersTest, ChangesOfNobodysConcernWakeNobody) {
  ASSERT_TRUE(client_.create(kConfigMaps, "default", parse_json(R"({"metadata":{"name":"c"}})").root()));
  ASSERT_TRUE(client_.create(kLeases, "default", parse_json(R"({"metadata":{"name":"l"}})").root()));
  ASSERT_TRUE(client_.patch(kLeases, "default", "l", kube::PatchType::merge, R"({"spec":{"holderIdentity":"a"}})"));
  ASSERT_TRUE(client_.remove(kConfigMaps, "default", "c"));
  EXPECT_EQ(executor_.tasks() + executor_.timers(), 0u);
}

TEST_F(QuietControllersTest, EventsAreLookedAtWhenTheFirstIsDueAndThenNoMore) {
  auto record = [&](const std::string& name) {
    const auto text = R"({"metadata":{"name":")" + name + R"("},"involvedObject":{"namespace":"default"}})";
    ASSERT_TRUE(client_.create(kEvents, "default", parse_json(text).root()));
  };
  record("first");
  EXPECT_EQ(executor_.timers(), 1u);
  clock_.advance(50min);
  executor_.run_all();
  record("second");
  EXPECT_EQ(executor_.timers(), 1u) << "one look for all";
  EXPECT_EQ(events(), 2u);
  clock_.advance(10min);
  executor_.run_all();
  EXPECT_EQ(events(), 1u) << "an hour after the first";
  EXPECT_EQ(executor_.next_timer() - clock_.steady_now(), 50min) << "when the second is due, no earlier";
  clock_.advance(50min);
  executor_.run_all();
  EXPECT_EQ(events(), 0u);
  EXPECT_EQ(executor_.tasks() + executor_.timers(), 0u);
}

TEST_F(ControllersTest, StopsInTheMiddle) {
  for (int i = 0; i < 20; ++i) make_namespace("n" + std::to_string(i));
  start();
  controllers_->stop();
  controllers_.reset();
}

TEST(NamespacedKinds, NamesEachStoredKindOnceByAPathThatIsServed) {
  const auto resources = namespaced_kinds(*schema::Registry::builtin());
  ASSERT_GT(resources.size(), 20u);
  int events = 0;
  for (const auto& resource : resources) {
    events += resource.resource == "events";
    EXPECT_NE(resource.resource, "nodes");
    EXPECT_NE(resource.resource, "bindings");
    const auto* facts = schema::Registry::builtin()->find_resource(resource.group, resource.version, resource.resource);
    ASSERT_TRUE(facts) << resource.resource;
    EXPECT_TRUE(facts->served) << resource.path("a");
  }
  EXPECT_EQ(events, 1) << "both versions are one store";
}

}  // namespace
}  // namespace sublet::controllers
