#include "apiserver/authz/authorizer.h"

#include <gtest/gtest.h>

#include "apiserver/authz/bootstrap_rights.h"
#include "apiserver/authz/escalation.h"
#include "apiserver/authz/standing_rights.h"
#include "sublet/store/memory_log.h"

namespace sublet::apiserver {
namespace {

using schema::Document;

/// An authorizer over a store in memory, into which tests put roles and bindings as they are stored.
class AuthorizerTest : public testing::Test {
 protected:
  AuthorizerTest() : store_(std::move(*store::Store::open(store::make_memory_log()))) {}
  ~AuthorizerTest() override {
    if (authorizer_) authorizer_->stop();
    store_->close();
  }

  Authorizer& authorizer() {
    if (!authorizer_) authorizer_ = std::make_unique<Authorizer>(*store_, components_);
    return *authorizer_;
  }
  void put(std::string_view resource, const std::string& name, std::string json) {
    store::Txn txn;
    txn.ops.push_back({std::string(resource) + ".rbac.authorization.k8s.io/" + name, store::Put{std::move(json)}});
    ASSERT_TRUE(store_->commit(std::move(txn)));
  }
  void remove(std::string_view resource, const std::string& name) {
    store::Txn txn;
    txn.ops.push_back({std::string(resource) + ".rbac.authorization.k8s.io/" + name, {}});
    ASSERT_TRUE(store_->commit(std::move(txn)));
  }
  static std::string binding(std::string_view role_kind, std::string_view role, std::string_view subjects) {
    return R"({"roleRef":{"kind":")" + std::string(role_kind) + R"(","name":")" + std::string(role) +
           R"("},"subjects":)" + std::string(subjects) + "}";
  }
  static std::string user_subject(std::string_view name) {
    return R"([{"kind":"User","name":")" + std::string(name) + R"("}])";
  }

  static User user(std::string name, std::vector<std::string> groups = {"system:authenticated"}) {
    return {std::move(name), {}, std::move(groups), {}};
  }
  bool may(const User& who, std::string_view verb, std::string_view resource, std::string_view namespace_name = "",
           std::string_view name = "", std::string_view group = "") {
    Attributes asked;
    asked.user = &who;
    asked.verb = verb;
    asked.group = group;
    const auto slash = resource.find('/');
    asked.resource = resource.substr(0, slash);
    if (slash != std::string_view::npos) asked.subresource = resource.substr(slash + 1);
    asked.namespace_name = namespace_name;
    asked.name = name;
    EXPECT_EQ(authorizer().allows(asked), authorizer().decide(asked).allowed);
    return authorizer().allows(asked);
  }
  bool may_path(const User& who, std::string_view verb, std::string_view path) {
    Attributes asked;
    asked.user = &who;
    asked.verb = verb;
    asked.is_resource = false;
    asked.path = path;
    return authorizer().allows(asked);
  }

  std::unique_ptr<store::Store> store_;
  std::vector<ComponentRights> components_;
  std::unique_ptr<Authorizer> authorizer_;
};

TEST_F(AuthorizerTest, NobodyMayAnythingButMasters) {
  EXPECT_FALSE(may(user("jane"), "get", "pods", "default"));
  EXPECT_TRUE(may(user("root", {"system:masters"}), "frobnicate", "pods", "default"));
  EXPECT_FALSE(may_path(user("jane"), "get", "/"));
}

TEST_F(AuthorizerTest, RulesMatchAsUpstreams) {
  put("clusterroles", "reader", R"({"rules":[
    {"verbs":["get","list"],"apiGroups":["","apps"],"resources":["pods","pods/log","deployments"]},
    {"verbs":["*"],"apiGroups":["batch"],"resources":["*"]},
    {"verbs":["update"],"apiGroups":["*"],"resources":["*/scale"]},
    {"verbs":["get"],"apiGroups":[""],"resources":["secrets"],"resourceNames":["one"]},
    {"verbs":["approve"],"apiGroups":["certificates.k8s.io"],"resources":["signers"],"resourceNames":["x/*"]},
    {"verbs":["get"],"nonResourceURLs":["/healthz","/api/*"]}]})");
  put("clusterrolebindings", "readers", binding("ClusterRole", "reader", user_subject("jane")));
  const User jane = user("jane");
  EXPECT_TRUE(may(jane, "get", "pods", "default"));
  EXPECT_TRUE(may(jane, "list", "pods"));
  EXPECT_TRUE(may(jane, "get", "pods/log", "default", "x"));
  EXPECT_FALSE(may(jane, "get", "pods/exec", "default", "x"));
  EXPECT_FALSE(may(jane, "watch", "pods", "default"));
  EXPECT_FALSE(may(jane, "get", "pods", "default", "", "extensions"));
  EXPECT_TRUE(may(jane, "get", "deployments", "default", "", "apps"));
  EXPECT_TRUE(may(jane, "deletecollection", "jobs", "default", "", "batch"));
  EXPECT_TRUE(may(jane, "frobnicate", "jobs/status", "default", "", "batch"));
  EXPECT_TRUE(may(jane, "update", "deployments/scale", "default", "x", "apps"));
  EXPECT_FALSE(may(jane, "update", "deployments", "default", "x", "apps"));
  EXPECT_TRUE(may(jane, "get", "secrets", "default", "one"));
  EXPECT_FALSE(may(jane, "get", "secrets", "default", "two"));
  EXPECT_FALSE(may(jane, "get", "secrets", "default"));
  EXPECT_TRUE(may(jane, "approve", "signers", "", "x/*", "certificates.k8s.io"));
  EXPECT_FALSE(may(jane, "sign", "signers", "", "x/*", "certificates.k8s.io"));
  EXPECT_TRUE(may_path(jane, "get", "/healthz"));
  EXPECT_TRUE(may_path(jane, "get", "/api/v1"));
  EXPECT_FALSE(may_path(jane, "get", "/healthz/ping"));
  EXPECT_FALSE(may_path(jane, "post", "/healthz"));
  EXPECT_FALSE(may(user("john"), "get", "pods", "default"));
}

TEST_F(AuthorizerTest, ReviewsMayAskForAResourceWithItsSubresourceInOne) {
  put("clusterroles", "logs", R"({"rules":[{"verbs":["get"],"apiGroups":[""],"resources":["pods/log"]}]})");
  put("clusterrolebindings", "logs", binding("ClusterRole", "logs", user_subject("jane")));
  const User jane = user("jane");
  Attributes asked;
  asked.user = &jane;
  asked.verb = "get";
  asked.resource = "pods/log";
  EXPECT_TRUE(authorizer().allows(asked));
}

TEST_F(AuthorizerTest, BindingsReachAsFarAsTheirNamespace) {
  put("clusterroles", "all", R"({"rules":[{"verbs":["*"],"apiGroups":["*"],"resources":["*"]}]})");
  put("roles", "team/own", R"({"rules":[{"verbs":["get"],"apiGroups":[""],"resources":["pods"]}]})");
  put("rolebindings", "team/a", binding("ClusterRole", "all", user_subject("jane")));
  put("rolebindings", "team/b", binding("Role", "own", R"([{"kind":"Group","name":"devs"}])"));
  put("rolebindings", "team/c", binding("Role", "own", R"([{"kind":"ServiceAccount","name":"bot"}])"));
  put("clusterrolebindings", "d",
      binding("ClusterRole", "all",
              R"([{"kind":"ServiceAccount","name":"bot"},)"
              R"({"kind":"ServiceAccount","name":"op","namespace":"kube-system"}])"));
  EXPECT_TRUE(may(user("jane"), "delete", "pods", "team"));
  EXPECT_FALSE(may(user("jane"), "delete", "pods", "other"));
  EXPECT_FALSE(may(user("jane"), "delete", "pods"));
  EXPECT_TRUE(may(user("x", {"devs"}), "get", "pods", "team"));
  EXPECT_FALSE(may(user("devs"), "get", "pods", "team"));
  EXPECT_TRUE(may(user("system:serviceaccount:team:bot"), "get", "pods", "team"));
  EXPECT_FALSE(may(user("system:serviceaccount:other:bot"), "get", "pods", "team"));
  EXPECT_FALSE(may(user("system:serviceaccount:team:bot"), "delete", "pods", "team"));
  EXPECT_TRUE(may(user("system:serviceaccount:kube-system:op"), "delete", "pods", "team"));
}

TEST_F(AuthorizerTest, FollowsEveryCommit) {
  const User jane = user("jane");
  EXPECT_FALSE(may(jane, "get", "pods", "default"));
  put("clusterrolebindings", "b", binding("ClusterRole", "r", user_subject("jane")));
  EXPECT_FALSE(may(jane, "get", "pods", "default"));
  put("clusterroles", "r", R"({"rules":[{"verbs":["get"],"apiGroups":[""],"resources":["pods"]}]})");
  EXPECT_TRUE(may(jane, "get", "pods", "default"));
  put("clusterroles", "r", R"({"rules":[{"verbs":["list"],"apiGroups":[""],"resources":["pods"]}]})");
  EXPECT_FALSE(may(jane, "get", "pods", "default"));
  put("clusterrolebindings", "b", binding("ClusterRole", "r", user_subject("john")));
  EXPECT_FALSE(may(jane, "list", "pods", "default"));
  EXPECT_TRUE(may(user("john"), "list", "pods", "default"));
  remove("clusterrolebindings", "b");
  EXPECT_FALSE(may(user("john"), "list", "pods", "default"));
}

TEST_F(AuthorizerTest, SaysWhy) {
  put("clusterroles", "r", R"({"rules":[{"verbs":["get"],"apiGroups":[""],"resources":["pods"]}]})");
  put("rolebindings", "team/b", binding("ClusterRole", "r", R"([{"kind":"ServiceAccount","name":"bot"}])"));
  put("rolebindings", "team/c", binding("Role", "none", user_subject("jane")));
  put("clusterrolebindings", "d", binding("ClusterRole", "none", user_subject("jane")));
  const User bot = user("system:serviceaccount:team:bot"), jane = user("jane <&>");
  Attributes asked;
  asked.user = &bot;
  asked.verb = "get";
  asked.resource = "pods";
  asked.namespace_name = "team";
  EXPECT_EQ(authorizer().decide(asked).reason,
            R"(RBAC: allowed by RoleBinding "b/team" of ClusterRole "r" to ServiceAccount "bot/team")");
  asked.user = &jane;
  EXPECT_EQ(authorizer().decide(asked).reason, "");
  EXPECT_EQ(authorizer().check(asked).error().message,
            R"(pods is forbidden: User "jane &lt;&amp;&gt;" cannot get resource "pods" in API group "" in the )"
            R"(namespace "team")");
  const User plain = user("jane");
  asked.user = &plain;
  asked.name = "x";
  const Status refused = authorizer().check(asked).error();
  EXPECT_EQ(refused.http_code(), 403);
  EXPECT_EQ(refused.kind, "pods");
  EXPECT_EQ(
      refused.message,
      R"(pods "x" is forbidden: User "jane" cannot get resource "pods" in API group "" in the namespace "team": )"
      R"(RBAC: [clusterrole.rbac.authorization.k8s.io "none" not found, role.rbac.authorization.k8s.io "none" not )"
      R"(found])");
}

TEST_F(AuthorizerTest, RightsOfTheHouseAreNobodysToChange) {
  components_ = {{"syncer", R"([{"verbs":["get"],"apiGroups":[""],"resources":["pods"]}])"}};
  put("clusterroles", "syncer", R"({"rules":[]})");
  EXPECT_TRUE(may(user("syncer"), "get", "pods", "default"));
  EXPECT_FALSE(may(user("syncer"), "delete", "pods", "default"));
  EXPECT_FALSE(may(user("jane"), "get", "pods", "default"));
}

// --- escalation ---

class EscalationTest : public AuthorizerTest {
 protected:
  EscalationTest() {
    put("clusterroles", "some",
        R"({"rules":[{"verbs":["get","list"],"apiGroups":[""],"resources":["pods","*/log"]},)"
        R"({"verbs":["get"],"apiGroups":[""],"resources":["secrets"],"resourceNames":["one"]},)"
        R"({"verbs":["get"],"nonResourceURLs":["/api/*"]}]})");
    put("clusterrolebindings", "some", binding("ClusterRole", "some", user_subject("jane")));
  }
  std::string refusal(std::string_view rules, std::string_view old = "") {
    const User jane = user("jane", {"devs", "system:authenticated"});
    auto object = Document::parse_json(R"({"metadata":{"name":"new"},"rules":)" + std::string(rules) + "}");
    auto before = Document::parse_json(old.empty() ? "{}" : std::string(old));
    const auto checked = check_role_write(
        {authorizer(), jane, "clusterroles", "", "", object->root(), old.empty() ? schema::Value() : before->root()});
    return checked ? "" : checked.error().message;
  }
};

TEST_F(EscalationTest, OnlyWhatOneHasIsGivenAway) {
  EXPECT_EQ(refusal(R"([{"verbs":["get"],"apiGroups":[""],"resources":["pods","pods/log"]},)"
                    R"({"verbs":["get"],"apiGroups":[""],"resources":["secrets"],"resourceNames":["one"]},)"
                    R"({"verbs":["get"],"nonResourceURLs":["/api/v1"]}])"),
            "");
  EXPECT_EQ(refusal(R"([{"verbs":["get","delete","watch"],"apiGroups":[""],"resources":["pods","services"]},)"
                    R"({"verbs":["get"],"apiGroups":[""],"resources":["secrets"]},)"
                    R"({"verbs":["get"],"nonResourceURLs":["/metrics"]}])"),
            "clusterroles.rbac.authorization.k8s.io \"new\" is forbidden: user \"jane\" (groups=[\"devs\" "
            "\"system:authenticated\"]) is attempting to grant RBAC permissions not currently held:\n"
            "{APIGroups:[\"\"], Resources:[\"pods\"], Verbs:[\"delete\" \"watch\"]}\n"
            "{APIGroups:[\"\"], Resources:[\"secrets\"], Verbs:[\"get\"]}\n"
            "{APIGroups:[\"\"], Resources:[\"services\"], Verbs:[\"get\" \"delete\" \"watch\"]}\n"
            "{NonResourceURLs:[\"/metrics\"], Verbs:[\"get\"]}");
}

TEST_F(EscalationTest, TheCollectorMayLetGo) {
  constexpr std::string_view kRules = R"([{"verbs":["*"],"apiGroups":["*"],"resources":["*"]}])";
  const std::string before = R"({"metadata":{"name":"new","finalizers":["x"]},"rules":)" + std::string(kRules) + "}";
  EXPECT_EQ(refusal(kRules, before), "");
  EXPECT_NE(refusal(R"([{"verbs":["*"],"apiGroups":["*"],"resources":["pods"]}])", before), "");
}

TEST_F(EscalationTest, EscalateAllowsIt) {
  constexpr std::string_view kRules = R"([{"verbs":["*"],"apiGroups":["*"],"resources":["*"]}])";
  EXPECT_NE(refusal(kRules), "");
  put("clusterroles", "escalator",
      R"({"rules":[{"verbs":["escalate"],"apiGroups":["rbac.authorization.k8s.io"],"resources":["clusterroles"]}]})");
  put("clusterrolebindings", "escalator", binding("ClusterRole", "escalator", user_subject("jane")));
  EXPECT_EQ(refusal(kRules), "");
}

TEST_F(EscalationTest, GatheringNeedsEverything) {
  const User jane = user("jane");
  auto object = Document::parse_json(
      R"({"metadata":{"name":"new"},"aggregationRule":{"clusterRoleSelectors":[{"matchLabels":{"a":"b"}}]}})");
  const RightsWrite write{authorizer(), jane, "clusterroles", "", "", object->root(), {}};
  EXPECT_EQ(
      check_role_write(write).error().message,
      "clusterroles.rbac.authorization.k8s.io \"new\" is forbidden: must have cluster-admin privileges to use the "
      "aggregationRule");
  put("clusterroles", "all",
      R"({"rules":[{"verbs":["*"],"apiGroups":["*"],"resources":["*"]},)"
      R"({"verbs":["*"],"nonResourceURLs":["*"]}]})");
  put("clusterrolebindings", "all", binding("ClusterRole", "all", user_subject("jane")));
  EXPECT_TRUE(check_role_write(write));
}

TEST_F(EscalationTest, BindingsGiveWhatTheirRoleSays) {
  const User jane = user("jane");
  put("clusterroles", "more", R"({"rules":[{"verbs":["get"],"apiGroups":[""],"resources":["nodes"]}]})");
  const auto bind = [&](std::string_view role) {
    auto object = Document::parse_json(R"({"metadata":{"name":"new"},"roleRef":{"kind":"ClusterRole","name":")" +
                                       std::string(role) + R"("}})");
    const auto checked = check_binding_write({authorizer(), jane, "rolebindings", "team", "", object->root(), {}});
    return checked ? std::string() : checked.error().message;
  };
  EXPECT_EQ(bind("some"), "");
  EXPECT_EQ(bind("none"), R"(rolebindings.rbac.authorization.k8s.io "none" not found)");
  EXPECT_NE(bind("more").find("not currently held:\n{APIGroups:[\"\"], Resources:[\"nodes\"], Verbs:[\"get\"]}"),
            std::string::npos);
  put("roles", "team/binder",
      R"({"rules":[{"verbs":["bind"],"apiGroups":["rbac.authorization.k8s.io"],)"
      R"("resources":["clusterroles"],"resourceNames":["more"]}]})");
  put("rolebindings", "team/binder", binding("Role", "binder", user_subject("jane")));
  EXPECT_EQ(bind("more"), "");
}

// --- what every cluster begins with ---

TEST(BootstrapRights, AreUpstreams) {
  std::size_t roles = 0, bindings = 0;
  for (const auto json : bootstrap_rights()) {
    auto object = Document::parse_json(json);
    ASSERT_TRUE(object) << json;
    (object->root().has("roleRef") ? bindings : roles)++;
    if ((*object)["kind"].text() != "ClusterRole" || (*object)["metadata"]["name"].text() != "view") continue;
    EXPECT_GT((*object)["rules"].size(), 3u) << "what it gathers is filled in";
  }
  EXPECT_GT(roles, 60u);
  EXPECT_GT(bindings, 40u);
}

TEST(BootstrapRights, HaveMoreWhereMoreIsServed) {
  const auto rules_with = [](const schema::Registry& kinds, const std::string& role) {
    auto object = Document::parse_json(R"({"kind":"ClusterRole","metadata":{"name":")" + role + R"("},"rules":[]})");
    add_rights_of_served(object->root(), kinds);
    return (*object)["rules"].to_json();
  };
  const auto with = schema::Registry::with({}, {"scheduling.k8s.io/v1alpha2"}).value();
  EXPECT_EQ(rules_with(*with, "system:aggregate-to-view"),
            R"([{"apiGroups":["scheduling.k8s.io"],"resources":["podgroups","podgroups/status","workloads"],)"
            R"("verbs":["get","list","watch"]}])");
  EXPECT_EQ(rules_with(*with, "system:aggregate-to-edit"),
            R"([{"apiGroups":["scheduling.k8s.io"],"resources":["podgroups","workloads"],)"
            R"("verbs":["create","delete","deletecollection","patch","update"]}])");
  EXPECT_EQ(rules_with(*with, "system:aggregate-to-admin"), "[]");
  EXPECT_EQ(rules_with(*schema::Registry::builtin(), "system:aggregate-to-view"), "[]");
}

TEST(BootstrapRights, AddWhatIsMissingAndKeepWhatWasAdded) {
  auto wanted = Document::parse_json(
      R"({"metadata":{"name":"r","labels":{"a":"1"},"annotations":{"rbac.authorization.kubernetes.io/autoupdate":"true"}},)"
      R"("rules":[{"verbs":["get","list"],"apiGroups":[""],"resources":["pods"]}]})");
  auto stored = Document::parse_json(
      R"({"metadata":{"name":"r","labels":{"a":"mine"},"annotations":{"rbac.authorization.kubernetes.io/autoupdate":"true"}},)"
      R"("rules":[{"verbs":["get"],"apiGroups":[""],"resources":["pods","nodes"]}]})");
  EXPECT_EQ(reconcile_right(stored->root(), wanted->root()), Reconciled::changed);
  EXPECT_EQ((*stored)["metadata"]["labels"]["a"].text(), "mine");
  EXPECT_EQ((*stored)["rules"].to_json(), R"([{"verbs":["get"],"apiGroups":[""],"resources":["pods","nodes"]},)"
                                          R"({"verbs":["list"],"apiGroups":[""],"resources":["pods"]}])");
  EXPECT_EQ(reconcile_right(stored->root(), wanted->root()), Reconciled::nothing);
  stored->root().put("rules", Document::parse_json("[]")->root());
  (*stored)["metadata"]["annotations"].put("rbac.authorization.kubernetes.io/autoupdate", "false");
  EXPECT_EQ(reconcile_right(stored->root(), wanted->root()), Reconciled::nothing) << "it is protected";

  auto binding = Document::parse_json(R"({"roleRef":{"name":"a"},"subjects":[{"kind":"User","name":"x"}]})");
  auto more = Document::parse_json(R"({"roleRef":{"name":"a"},"subjects":[{"kind":"User","name":"y"}]})");
  auto other = Document::parse_json(R"({"roleRef":{"name":"b"}})");
  EXPECT_EQ(reconcile_right(binding->root(), more->root()), Reconciled::changed);
  EXPECT_EQ((*binding)["subjects"].size(), 2u);
  EXPECT_EQ(reconcile_right(binding->root(), other->root()), Reconciled::recreate);
}

}  // namespace
}  // namespace sublet::apiserver
