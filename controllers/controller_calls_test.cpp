// Each controller's calls against its role, as data: a verb that the role does not have fails here, and a call that is
// not in the table fails the test that makes it.
#include <atomic>

#include "controllers/controlled_server_testing.h"

namespace sublet::controllers {
namespace {

const kube::Resource kReviews{"authorization.k8s.io", "v1", "subjectaccessreviews"};

/// Accounts whose role holds in one namespace, in one case for one object.
struct NarrowRole {
  std::string_view account, namespace_name, name;
};
constexpr NarrowRole kNarrowRoles[] = {{"bootstrap-signer", "kube-public", "cluster-info"},
                                       {"token-cleaner", "kube-system", "bootstrap-token-abcdef"}};

class ControllerCallsTest : public ControlledServer {
 protected:
  bool is_allowed(const std::string& account, const std::string& call) {
    const auto space = call.find(' ');
    std::string resource = call.substr(space + 1), subresource, group;
    if (const auto slash = resource.find('/'); slash != std::string::npos) {
      subresource = resource.substr(slash + 1);
      resource.resize(slash);
    }
    if (const auto dot = resource.find('.'); dot != std::string::npos) {
      group = resource.substr(dot + 1);
      resource.resize(dot);
    }
    auto review = schema::Document::object();
    auto spec = review.root().object("spec");
    spec.put("user", "system:serviceaccount:kube-system:" + account);
    auto groups = spec.array("groups");
    for (const auto* name : {"system:serviceaccounts", "system:authenticated"}) groups.push(name);
    auto attributes = spec.object("resourceAttributes");
    attributes.put("verb", call.substr(0, space));
    attributes.put("group", resource == "*" ? "*" : group);
    attributes.put("resource", resource);
    if (!subresource.empty()) attributes.put("subresource", subresource);
    for (const auto& [of, namespace_name, name] : kNarrowRoles)
      if (of == account) attributes.put("namespace", namespace_name), attributes.put("name", name);
    const auto answer = client_.create(kReviews, "", review.root());
    EXPECT_TRUE(answer) << (answer ? "" : answer.error().message);
    return answer && (*answer)["status"]["allowed"].boolean();
  }
};

TEST_F(ControllerCallsTest, EveryCallIsInTheControllersRole) {
  for (const auto& [account, calls] : calls_of_controllers())
    for (const std::string& call : calls) EXPECT_TRUE(is_allowed(account, call)) << account << ": " << call;
}

TEST_F(ControllerCallsTest, AVerbOutsideTheRoleIsFound) {
  EXPECT_FALSE(is_allowed("statefulset-controller", "patch persistentvolumeclaims"));
  EXPECT_TRUE(is_allowed("statefulset-controller", "update persistentvolumeclaims"));
}

/// A server that refuses one controller's write of a status.
class RefusedWriteTest : public ControlledServer {
 protected:
  RefusedWriteTest() {
    options_.client_as = clients_with_roles([this](net::Request request, std::shared_ptr<net::ResponseSink> sink) {
      if (refuses_ && request.method == "PUT" && request.path().ends_with("/replicasets/web/status"))
        return ++refused_,
               sink->respond(403, {{"Content-Type", "application/json"}},
                             R"({"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden",)"
                             R"("message":"replicasets.apps \"web\" is forbidden: not today","code":403})");
      server_.handler()(std::move(request), std::move(sink));
    });
    restart_controllers();
  }
  std::vector<std::string> refusals() {
    auto found = said_of("ReplicaSet", "web");
    std::erase_if(found, [](const std::string& event) { return !event.starts_with("WriteRefused"); });
    return found;
  }
  std::atomic<bool> refuses_{true};
  std::atomic<int> refused_{0};
};

TEST_F(RefusedWriteTest, IsAnEventOnTheReconciledObject) {
  create({"apps", "v1", "replicasets"}, "default",
         R"({"metadata":{"name":"web"},"spec":{"replicas":1,"selector":{"matchLabels":{"a":"b"}},"template":{
         "metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}]}}}})");
  advance(std::chrono::minutes(5));
  const std::vector<std::string> once{"WriteRefused: replicasets.apps \"web\" is forbidden: not today"};
  EXPECT_EQ(refusals(), once);
  EXPECT_GT(refused_, 1) << "the retries with the same error add no event";
  refuses_ = false;
  advance(std::chrono::minutes(20));
  EXPECT_EQ(get({"apps", "v1", "replicasets"}, "web")["status"]["replicas"].integer(), 1);
  EXPECT_EQ(refusals(), once);
}

TEST(ControllerCalls, NameVerbResourceAndSubresource) {
  EXPECT_EQ(call_of("PUT", "/apis/apps/v1/namespaces/a/statefulsets/b/status?x=1"), "update statefulsets.apps/status");
  EXPECT_EQ(call_of("DELETE", "/api/v1/namespaces/a/pods"), "deletecollection pods");
  EXPECT_EQ(call_of("PUT", "/api/v1/namespaces/a/finalize"), "update namespaces/finalize");
  EXPECT_EQ(call_of("GET", "/api/v1/nodes"), "list nodes");
  EXPECT_EQ(call_of("GET", "/version"), "");
}

}  // namespace
}  // namespace sublet::controllers
