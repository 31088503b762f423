#include "controllers/controlled_server_testing.h"

namespace sublet::controllers {
namespace {

class PolicyStatusTest : public ControlledServer {
 protected:
  static inline const kube::Resource kPolicies{"admissionregistration.k8s.io", "v1", "validatingadmissionpolicies"};

  static std::string spec(const std::string& group, const std::string& resource, const std::string& validations,
                          const std::string& more = "") {
    return R"({"matchConstraints":{"resourceRules":[{"apiGroups":[")" + group +
           R"("],"apiVersions":["v1"],"operations":["CREATE"],"resources":[")" + resource + R"("]}]},"validations":[)" +
           validations + "]" + more + "}";
  }
  void make(const std::string& spec_text) {
    create(kPolicies, "", R"({"metadata":{"name":"p"},"spec":)" + spec_text + "}");
  }
  void change(const std::string& spec_text) {
    ASSERT_TRUE(client_.patch(kPolicies, "", "p", kube::PatchType::merge, R"({"spec":)" + spec_text + "}"));
    settle();
  }
  schema::Document policy() {
    auto found = client_.get(kPolicies, "", "p");
    return found ? std::move(*found) : schema::Document();
  }
  /// "fieldRef: warning" each.
  std::vector<std::string> warnings() {
    std::vector<std::string> found;
    const auto now = policy();
    EXPECT_EQ(now["status"]["observedGeneration"].integer(), now["metadata"]["generation"].integer());
    EXPECT_TRUE(now["status"]["typeChecking"].is_object());
    for (schema::Value item : now["status"]["typeChecking"]["expressionWarnings"])
      found.push_back(item["fieldRef"].string() + ": " + item["warning"].string());
    return found;
  }
};
using Warnings = std::vector<std::string>;

TEST_F(PolicyStatusTest, WhatFitsItsObjectsIsLookedAtOncePerGeneration) {
  make(spec("apps", "deployments",
            R"j({"expression":"object.spec.replicas <= 5 && object.metadata.labels['a'] == 'b'",
                "messageExpression":"'at most ' + string(object.spec.replicas)"})j"));
  EXPECT_EQ(warnings(), Warnings{});
  const auto before = store_->stats().revision;
  restart_controllers();
  EXPECT_EQ(store_->stats().revision, before);
  change(R"({"validations":[{"expression":"object.spec.replica < 5"}]})");
  EXPECT_EQ(policy()["metadata"]["generation"].integer(), 2);
  EXPECT_EQ(warnings(),
            Warnings{"spec.validations[0].expression: apps/v1, Kind=Deployment: ERROR: <input>:1:12: undefined field "
                     "'replica'\n | object.spec.replica < 5\n | ...........^\n"});
}

TEST_F(PolicyStatusTest, EachKindHasItsOwnTypes) {
  make(spec("apps", R"(deployments","daemonsets)", R"({"expression":"object.spec.replicas > 1"})"));
  ASSERT_EQ(warnings().size(), 1u);
  EXPECT_NE(warnings()[0].find("apps/v1, Kind=DaemonSet: ERROR"), std::string::npos) << warnings()[0];
  EXPECT_EQ(warnings()[0].find("Kind=Deployment"), std::string::npos) << warnings()[0];
}

TEST_F(PolicyStatusTest, VariablesAndParametersAreTyped) {
  make(spec("", "configmaps",
            R"j({"expression":"variables.n + 1 == 2"},{"expression":"params.data['k'] == 1"},
               {"expression":"params.nothing == 1"},
               {"expression":"authorizer.requestResource.check('get').allowed()"})j",
            R"j(,"variables":[{"name":"n","expression":"object.data['n']"}],
                "paramKind":{"apiVersion":"v1","kind":"ConfigMap"})j"));
  const auto found = warnings();
  ASSERT_EQ(found.size(), 4u);
  const auto says = [&](std::size_t which, std::string_view text) {
    EXPECT_NE(found[which].find(text), std::string::npos) << found[which];
  };
  says(0, "found no matching overload for '_+_' applied to '(string, int)'");
  says(1, "found no matching overload for '_==_' applied to '(string, int)'");
  says(2, "undefined field 'nothing'");
  // Upstream's check of types knows no resource of the request either.
  says(3, "unexpected failed resolution of 'kubernetes.authorization.Authorizer'");
}

TEST_F(PolicyStatusTest, WildcardsAndUnknownKindsAreNotJudged) {
  make(spec("*", "deployments", R"({"expression":"object.no == 1"})"));
  EXPECT_EQ(warnings(), Warnings{});
  change(R"({"matchConstraints":{"resourceRules":[{"apiGroups":["example.com"],"apiVersions":["v1"],
    "operations":["CREATE"],"resources":["things"]}]}})");
  EXPECT_EQ(warnings(), Warnings{});
}

}  // namespace
}  // namespace sublet::controllers
