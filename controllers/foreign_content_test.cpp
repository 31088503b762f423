// A namespace goes with what an API server of the tenant's own has in it, and not before that can be asked.
#include <map>
#include <string>

#include "controllers/controlled_server_testing.h"
#include "sublet/base/mutex.h"

namespace sublet::controllers {
namespace {

/// Holds flunders of namespace "a" behind the Service's pod; deletes at once what has no finalizer.
class Wardle {
 public:
  apiserver::ServerOptions options() {
    apiserver::ServerOptions options;
    options.bootstrap_rights = false;
    options.outbound.services = [this](const apiserver::ServiceCall& call, auto done) {
      done(answer(call.request));
      return std::make_shared<int>(0);
    };
    options.outbound.relay = [this](const apiserver::ServiceCall& call,
                                    const std::shared_ptr<net::ResponseSink>& sink) {
      auto said = answer(call.request);
      sink->respond(said.code, {{"Content-Type", "application/json"}}, said.body);
    };
    return options;
  }
  void put(const std::string& name, const std::string& finalizer) {
    const MutexLock lock(mutex_);
    flunders_[name] = {finalizer, false};
  }
  bool empty() const {
    const MutexLock lock(mutex_);
    return flunders_.empty();
  }
  void drop_finalizers() {
    const MutexLock lock(mutex_);
    std::erase_if(flunders_, [](const auto& flunder) { return flunder.second.ending; });
  }
  int deletions() const {
    const MutexLock lock(mutex_);
    return deletions_;
  }

 private:
  struct Flunder {
    std::string finalizer;
    bool ending = false;
  };
  net::Response answer(const net::Request& request) {
    const MutexLock lock(mutex_);
    const auto path = request.path();
    if (path == "/apis/wardle.test/v1" || path == "/apis/wardle.test/v1alpha1")
      return {200, {}, R"({"kind":"APIResourceList","resources":[
        {"name":"flunders","namespaced":true,"verbs":["list","deletecollection"]},
        {"name":"flunders/status","namespaced":true,"verbs":["list","deletecollection"]},
        {"name":"fischers","namespaced":false,"verbs":["list","deletecollection"]},
        {"name":"views","namespaced":true,"verbs":["list"]}]})"};
    if (path != "/apis/wardle.test/v1/namespaces/a/flunders") return {500, {}, "not asked for: " + std::string(path)};
    if (request.method == "DELETE") {
      ++deletions_;
      std::erase_if(flunders_, [](const auto& flunder) { return flunder.second.finalizer.empty(); });
      for (auto& [name, flunder] : flunders_) flunder.ending = true;
    }
    std::string items;
    for (const auto& [name, flunder] : flunders_) {
      items += std::string(items.empty() ? "" : ",") + R"({"metadata":{"name":")" + name + "\"";
      if (!flunder.finalizer.empty()) items += R"(,"finalizers":[")" + flunder.finalizer + "\"]";
      if (flunder.ending) items += R"(,"deletionTimestamp":"2026-01-01T00:00:00Z")";
      items += "}}";
    }
    return {200, {}, R"({"kind":"FlunderList","metadata":{},"items":[)" + items + "]}"};
  }

  mutable Mutex mutex_;
  std::map<std::string, Flunder> flunders_ SUBLET_GUARDED_BY(mutex_);
  int deletions_ SUBLET_GUARDED_BY(mutex_) = 0;
};

struct WithWardle {
  Wardle wardle_;
};

class ForeignContentTest : protected WithWardle, public ControlledServer {
 protected:
  static inline const kube::Resource kApiServices{"apiregistration.k8s.io", "v1", "apiservices"},
      kSlices{"discovery.k8s.io", "v1", "endpointslices"};

  ForeignContentTest() : ControlledServer(wardle_.options()) {
    create(kServices, "default", R"({"metadata":{"name":"api"},"spec":{"ports":[{"port":443}]}})");
    create(kSlices, "default", R"({"metadata":{"name":"api","labels":{"kubernetes.io/service-name":"api"}},
      "addressType":"IPv4","ports":[{"name":"","port":443}],"endpoints":[{"addresses":["192.0.2.1"],
      "targetRef":{"kind":"Pod","namespace":"default","name":"wardle","uid":"u"}}]})");
    for (const std::string version : {"v1", "v1alpha1"})
      create(kApiServices, "",
             R"({"metadata":{"name":")" + version + R"(.wardle.test"},"spec":{"group":"wardle.test",
        "version":")" +
                 version + R"(","groupPriorityMinimum":100,"versionPriority":)" + (version == "v1" ? "9" : "1") +
                 R"(,"insecureSkipTLSVerify":true,"service":{"namespace":"default","name":"api"}}})");
    create(kNamespaces, "", R"({"metadata":{"name":"a"}})");
  }
  void say(const std::string& version, bool available) {
    ASSERT_TRUE(client_.patch(kApiServices, "", version + ".wardle.test", kube::PatchType::merge,
                              std::string(R"({"status":{"conditions":[{"type":"Available","status":")") +
                                  (available ? "True" : "False") + R"("}]}})",
                              "status"));
    settle();
  }
  void end_namespace() {
    ASSERT_TRUE(client_.remove(kNamespaces, "", "a"));
    settle();
  }
  std::string condition(std::string_view type) {
    const auto found = client_.get(kNamespaces, "", "a");
    if (!found) return "gone";
    for (const auto entry : (*found)["status"]["conditions"])
      if (entry["type"].text() == type)
        return entry["status"].string() + " " + entry["reason"].string() + " " + entry["message"].string();
    return "";
  }
};

TEST_F(ForeignContentTest, GoesWithItsNamespace) {
  say("v1", true);
  say("v1alpha1", true);
  wardle_.put("one", "");
  wardle_.put("two", "example.com/hold");
  end_namespace();
  EXPECT_EQ(wardle_.deletions(), 1) << "of two versions one is asked";
  EXPECT_EQ(condition("NamespaceContentRemaining"),
            "True SomeResourcesRemain Some resources are remaining: flunders.wardle.test has 1 resource instances");
  EXPECT_EQ(condition("NamespaceFinalizersRemaining"),
            "True SomeFinalizersRemain Some content in the namespace has finalizers remaining: example.com/hold in 1 "
            "resource instances");
  wardle_.drop_finalizers();
  advance(std::chrono::seconds(9));
  EXPECT_EQ(condition(""), "gone");
  EXPECT_EQ(wardle_.deletions(), 1) << "what is on its way out needs no second word";
}

TEST_F(ForeignContentTest, HoldsItsNamespaceUntilItCanBeAsked) {
  wardle_.put("one", "");
  say("v1alpha1", true);
  say("v1", false);
  end_namespace();
  EXPECT_EQ(condition("NamespaceDeletionDiscoveryFailure"),
            "True DiscoveryFailed Discovery failed for some groups, 1 failing: unable to retrieve the complete list of "
            "server APIs: wardle.test/v1: stale GroupVersion discovery: wardle.test/v1");
  say("v1", true);
  EXPECT_EQ(condition(""), "gone");
  EXPECT_TRUE(wardle_.empty());
}

TEST_F(ForeignContentTest, OfAServerThatIsRegisteredNoMoreHoldsNothing) {
  wardle_.put("one", "");
  end_namespace();
  EXPECT_NE(condition(""), "gone");
  for (const auto* name : {"v1.wardle.test", "v1alpha1.wardle.test"})
    ASSERT_TRUE(client_.remove(kApiServices, "", name, {}));
  settle();
  EXPECT_EQ(condition(""), "gone");
}

}  // namespace
}  // namespace sublet::controllers
