// Admission policies in CEL: what they see, what they refuse and change, and with what words.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "apiserver/server_testing.h"

namespace sublet::apiserver {
namespace {

using testing::HasSubstr;

const std::string kAdmission = "/apis/admissionregistration.k8s.io/v1/";

std::string about(const std::string& group, const std::string& version, const std::string& resource,
                  const std::string& operations = R"("CREATE","UPDATE")") {
  return R"("matchConstraints":{"resourceRules":[{"apiGroups":[")" + group + R"("],"apiVersions":[")" + version +
         R"("],"operations":[)" + operations + R"(],"resources":[")" + resource + R"("]}]})";
}
const std::string kAboutConfigMaps = about("", "v1", "configmaps");

class Policies : public testing::Test {
 protected:
  void make(const std::string& resource, const std::string& name, const std::string& spec) {
    const auto made =
        rig_.post(kAdmission + resource, R"({"metadata":{"name":")" + name + R"("},"spec":{)" + spec + "}}");
    ASSERT_EQ(made.code, 201) << made.body;
    EXPECT_EQ(made.headers.get("Warning"), "");
  }
  /// A policy with a binding that denies, of the same name.
  void validating(const std::string& name, const std::string& spec, const std::string& binding = "") {
    make("validatingadmissionpolicies", name, spec);
    make("validatingadmissionpolicybindings", name,
         R"("policyName":")" + name + R"(","validationActions":["Deny"])" + binding);
  }
  void mutating(const std::string& name, const std::string& spec, const std::string& binding = "") {
    make("mutatingadmissionpolicies", name, R"("reinvocationPolicy":"Never",)" + spec);
    make("mutatingadmissionpolicybindings", name, R"("policyName":")" + name + "\"" + binding);
  }
  std::string deny_text(const std::string& expression, const std::string& value = "v") {
    validating("p", kAboutConfigMaps + R"(,"validations":[{"expression":")" + expression + R"("}])");
    const auto reply = rig_.make_config_map("x", value);
    rig_.remove(kAdmission + "validatingadmissionpolicies/p");
    rig_.remove(kAdmission + "validatingadmissionpolicybindings/p");
    rig_.remove(kConfigMaps + "/x");
    return reply.code == 201 ? "allowed" : reply.text("message");
  }
  Rig rig_;
};

TEST_F(Policies, DenyInUpstreamsWords) {
  validating("p", kAboutConfigMaps +
                      R"(,"validations":[{"expression":"object.data.k != 'bad'"},)"
                      R"({"expression":"object.data.k != 'worse'","message":" m ","reason":"Forbidden"},)"
                      R"({"expression":"object.data.k != 'x'","messageExpression":"'is ' + object.data.k"}])");
  EXPECT_EQ(rig_.make_config_map("good").code, 201);
  const auto bad = rig_.make_config_map("a", "bad");
  EXPECT_EQ(bad.code, 422);
  EXPECT_EQ(bad.text("reason"), "Invalid");
  const std::string text =
      "ValidatingAdmissionPolicy 'p' with binding 'p' denied request: failed expression: object.data.k != 'bad'";
  EXPECT_EQ(bad.text("message"), "configmaps \"a\" is forbidden: " + text);
  EXPECT_EQ(bad["details"]["causes"].at(0)["message"].text(), text);
  const auto worse = rig_.make_config_map("a", "worse");
  EXPECT_EQ(worse.code, 403);
  EXPECT_EQ(worse.text("reason"), "Forbidden");
  EXPECT_THAT(worse.text("message"), HasSubstr("denied request: m"));
  EXPECT_THAT(rig_.make_config_map("a", "x").text("message"), HasSubstr("denied request: is x"));
  // An update of what there is, too; a removal is not asked for.
  EXPECT_EQ(rig_.patch(kConfigMaps + "/good", "merge-patch", R"({"data":{"k":"bad"}})").code, 422);
  EXPECT_EQ(rig_.remove(kConfigMaps + "/good").code, 200);
}

TEST_F(Policies, ActOnlyWhereTheyAreBound) {
  make("validatingadmissionpolicies", "p", kAboutConfigMaps + R"(,"validations":[{"expression":"false"}])");
  EXPECT_EQ(rig_.make_config_map("a").code, 201);
  make(
      "validatingadmissionpolicybindings", "b",
      R"("policyName":"p","validationActions":["Warn","Audit"],"matchResources":{"objectSelector":{"matchLabels":{"x":"y"}}})");
  EXPECT_EQ(rig_.make_config_map("b").headers.get("Warning"), "");
  const auto warned = rig_.make_config_map("c", "v", R"({"x":"y"})");
  EXPECT_EQ(warned.code, 201);
  EXPECT_THAT(
      std::string(warned.headers.get("Warning")),
      HasSubstr("Validation failed for ValidatingAdmissionPolicy 'p' with binding 'b': failed expression: false"));
}

TEST_F(Policies, SeeTheRequestAndItsNamespace) {
  EXPECT_EQ(deny_text("request.operation == 'CREATE' && request.name == 'x' && request.namespace == 'test'"),
            "allowed");
  EXPECT_EQ(deny_text("request.userInfo.username == 'tester' && request.kind.kind == 'ConfigMap'"), "allowed");
  EXPECT_EQ(deny_text("request.resource.resource == 'configmaps' && !request.dryRun"), "allowed");
  EXPECT_EQ(deny_text("namespaceObject.metadata.name == 'test' && namespaceObject.status.phase == 'Active'"),
            "allowed");
  EXPECT_EQ(deny_text("object.kind == 'ConfigMap' && object.apiVersion == 'v1' && oldObject == null"), "allowed");
  EXPECT_THAT(
      deny_text("object.data.missing == 'x'"),
      HasSubstr("denied request: expression 'object.data.missing == 'x'' resulted in error: no such key: missing"));
}

TEST_F(Policies, AskTheAuthorizer) {
  EXPECT_EQ(deny_text("authorizer.group('').resource('pods').namespace('test').check('get').allowed()"), "allowed");
  EXPECT_EQ(deny_text("authorizer.requestResource.check('create').allowed()"), "allowed");
  EXPECT_EQ(
      deny_text("!authorizer.serviceAccount('test', 'default').group('').resource('pods').check('get').allowed()"),
      "allowed");
  EXPECT_EQ(deny_text("authorizer.path('/healthz').check('get').allowed()"), "allowed");
  EXPECT_THAT(deny_text("authorizer.path('').check('get').allowed()"), HasSubstr("path must not be empty"));
}

TEST_F(Policies, VariablesAreWorkedOutOnceAndInOrder) {
  validating(
      "p",
      kAboutConfigMaps +
          R"(,"variables":[{"name":"k","expression":"object.data.k"},{"name":"long","expression":"variables.k.size() > 3"},)"
          R"({"name":"broken","expression":"object.data.nothing"}],)"
          R"("validations":[{"expression":"!variables.long","messageExpression":"'too long: ' + variables.k"}])");
  EXPECT_EQ(rig_.make_config_map("a", "abc").code, 201);
  EXPECT_THAT(rig_.make_config_map("b", "abcd").text("message"), HasSubstr("denied request: too long: abcd"));
}

TEST_F(Policies, ConditionsSayWhetherOneIsAsked) {
  validating("p", kAboutConfigMaps + R"(,"matchConditions":[{"name":"c","expression":"object.data.k == 'ask'"}],)"
                                     R"("validations":[{"expression":"false"}])");
  EXPECT_EQ(rig_.make_config_map("a").code, 201);
  EXPECT_EQ(rig_.make_config_map("b", "ask").code, 422);
}

TEST_F(Policies, FailurePolicyCountsForErrorsAlone) {
  validating("p", kAboutConfigMaps + R"(,"failurePolicy":"Ignore","validations":[{"expression":"object.nothing == 1"},)"
                                     R"({"expression":"object.data.k != 'bad'"}])");
  EXPECT_EQ(rig_.make_config_map("a").code, 201);
  EXPECT_EQ(rig_.make_config_map("b", "bad").code, 422);
}

TEST_F(Policies, TakeParameters) {
  const std::string spec = R"("paramKind":{"apiVersion":"v1","kind":"ConfigMap"},)" + about("", "v1", "secrets") +
                           R"x(,"validations":[{"expression":"object.metadata.name.startsWith(params.data.prefix)"}])x";
  validating("p", spec, R"(,"paramRef":{"name":"rules","parameterNotFoundAction":"Deny"})");
  const std::string secrets = "/api/v1/namespaces/test/secrets";
  EXPECT_THAT(rig_.post(secrets, R"({"metadata":{"name":"a"}})").text("message"),
              HasSubstr("failed to configure binding: no params found for policy binding with `Deny` "
                        "parameterNotFoundAction"));
  ASSERT_EQ(rig_.post(kConfigMaps, R"({"metadata":{"name":"rules","labels":{"p":"1"}},"data":{"prefix":"ok-"}})").code,
            201);
  EXPECT_EQ(rig_.post(secrets, R"({"metadata":{"name":"a"}})").code, 422);
  EXPECT_EQ(rig_.post(secrets, R"({"metadata":{"name":"ok-a"}})").code, 201);
  rig_.remove(kAdmission + "validatingadmissionpolicybindings/p");
  make("validatingadmissionpolicybindings", "selects",
       R"("policyName":"p","validationActions":["Deny"],"paramRef":{"selector":{"matchLabels":{"p":"1"}},)"
       R"("parameterNotFoundAction":"Allow"})");
  EXPECT_EQ(rig_.post(secrets, R"({"metadata":{"name":"b"}})").code, 422);
  ASSERT_EQ(rig_.remove(kConfigMaps + "/rules").code, 200);
  EXPECT_EQ(rig_.post(secrets, R"({"metadata":{"name":"b"}})").code, 201);
}

TEST_F(Policies, RemovalsAndStatusCount) {
  validating("p", about("", "v1", "configmaps", R"("DELETE")") +
                      R"(,"validations":[{"expression":"oldObject.data.k != 'kept' && object == null"}])");
  ASSERT_EQ(rig_.make_config_map("a", "kept").code, 201);
  EXPECT_EQ(rig_.remove(kConfigMaps + "/a").code, 422);
  EXPECT_EQ(rig_.remove(kConfigMaps).code, 422);  // each of a collection
  EXPECT_EQ(rig_.get(kConfigMaps + "/a").code, 200);
}

TEST_F(Policies, JudgeWhatIsAskedOfPods) {
  ASSERT_EQ(rig_.post("/api/v1/namespaces/test/pods",
                      R"({"metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"i"}]}})")
                .code,
            201);
  const std::string exec = "/api/v1/namespaces/test/pods/p/exec?container=c&command=";
  EXPECT_THAT(rig_.post(exec + "rm", "").text("message"), HasSubstr("have a host assigned"));
  validating("p",
             about("", "v1", "pods/exec", R"("CONNECT")") +
                 R"(,"validations":[{"expression":"object.command[0] != 'rm' && request.operation == 'CONNECT'"}])");
  const auto denied = rig_.post(exec + "rm", "");
  EXPECT_EQ(denied.code, 422);
  EXPECT_THAT(denied.text("message"), HasSubstr("pods \"p\" is forbidden: ValidatingAdmissionPolicy 'p'"));
  EXPECT_THAT(rig_.post(exec + "ls", "").text("message"), HasSubstr("have a host assigned"));
}

TEST_F(Policies, AreNeverAskedAboutAdmissionItself) {
  validating("p", about("*", "*", "*", R"("*")") + R"(,"validations":[{"expression":"false"}])");
  EXPECT_EQ(rig_.make_config_map("a").code, 422);
  EXPECT_EQ(rig_.remove(kAdmission + "validatingadmissionpolicybindings/p").code, 200);
  EXPECT_EQ(rig_.make_config_map("a").code, 201);
}

TEST_F(Policies, CostIsLimited) {
  const std::string text = deny_text(
      "[1,2,3,4,5,6,7,8,9,10].all(a, [1,2,3,4,5,6,7,8,9,10].all(b, [1,2,3,4,5,6,7,8,9,10].all(c, "
      "[1,2,3,4,5,6,7,8,9,10].all(d, [1,2,3,4,5,6,7,8,9,10].all(e, a + b + c + d + e > 0)))))");
  EXPECT_THAT(text, HasSubstr("operation cancelled: actual cost limit exceeded"));
}

TEST_F(Policies, WhatTheyHaveForTheAuditLogIsInTheServers) {
  validating("p", kAboutConfigMaps + R"(,"validations":[{"expression":"true"}],"auditAnnotations":[)"
                                     R"({"key":"who","valueExpression":"'it is ' + object.metadata.name"},)"
                                     R"({"key":"none","valueExpression":"null"}])");
  testing::internal::CaptureStderr();
  EXPECT_EQ(rig_.make_config_map("a").code, 201);
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_THAT(said, HasSubstr(R"(admission.audit_annotation policy=p key=who value="it is a")"));
  EXPECT_EQ(said.find("key=none"), std::string::npos);
}

TEST_F(Policies, AreCheckedWhenTheyAreWritten) {
  const auto made = rig_.post(
      kAdmission + "validatingadmissionpolicies",
      R"({"metadata":{"name":"p"},"spec":{)" + kAboutConfigMaps +
          R"(,"validations":[{"expression":"object.x"},{"expression":"nothing"},{"expression":"variables.y"}],)"
          R"("auditAnnotations":[{"key":"a","valueExpression":"1"}]}})");
  EXPECT_EQ(made.code, 422);
  for (const char* text :
       {"spec.validations[0].expression: Invalid value: \"object.x\": must evaluate to bool but got dyn",
        "compilation failed: ERROR: <input>:1:1: undeclared reference to 'nothing' (in container '')",
        "undeclared reference to 'variables'", "must evaluate to one of [string null_type] but got int"})
    EXPECT_THAT(made.text("message"), HasSubstr(text));
  const auto bound =
      rig_.post(kAdmission + "validatingadmissionpolicybindings",
                R"({"metadata":{"name":"b"},"spec":{"policyName":"p","validationActions":["Deny","Warn"]}})");
  EXPECT_THAT(bound.text("message"), HasSubstr("must not contain both Deny and Warn"));
}

// --- mutating ---

TEST_F(Policies, ApplyConfigurations) {
  mutating(
      "m",
      kAboutConfigMaps +
          R"(,"mutations":[{"patchType":"ApplyConfiguration","applyConfiguration":{"expression":)"
          R"("Object{metadata: Object.metadata{labels: {'by': 'policy'}}, data: {'more': object.data.k + '!'}}"}}])");
  const auto made = rig_.make_config_map("a");
  ASSERT_EQ(made.code, 201) << made.body;
  EXPECT_EQ(made["metadata"]["labels"].to_json(), R"({"by":"policy"})");
  EXPECT_EQ(made["data"].to_json(), R"({"k":"v","more":"v!"})");
  EXPECT_EQ(made.body.find("f:more"), std::string::npos);  // nobody's
}

TEST_F(Policies, ApplyJsonPatches) {
  mutating("m",
           kAboutConfigMaps +
               R"(,"mutations":[{"patchType":"JSONPatch","jsonPatch":{"expression":)"
               R"("[JSONPatch{op: 'test', path: '/data/k', value: 'v'}, )"
               R"(JSONPatch{op: 'add', path: '/metadata/labels/' + jsonpatch.escapeKey('a.b/c'), value: 'x'}]"}}])");
  const auto made = rig_.make_config_map("a", "v", R"({"d":"e"})");
  ASSERT_EQ(made.code, 201) << made.body;
  EXPECT_EQ(made["metadata"]["labels"].to_json(), R"({"a.b/c":"x","d":"e"})");
  EXPECT_EQ(rig_.make_config_map("b", "other").text("data.k"), "other");  // the test fails, so nothing is done
}

TEST_F(Policies, SeeWhatEarlierOnesHaveMade) {
  mutating("a", kAboutConfigMaps +
                    R"(,"mutations":[{"patchType":"ApplyConfiguration","applyConfiguration":{"expression":)"
                    R"("Object{data: {'first': '1'}}"}}])");
  mutating("b", kAboutConfigMaps +
                    R"x(,"matchConditions":[{"name":"c","expression":"has(object.data.first)"}],)x"
                    R"("mutations":[{"patchType":"ApplyConfiguration","applyConfiguration":{"expression":)"
                    R"("Object{data: {'second': object.data.first}}"}}])");
  validating("v", kAboutConfigMaps + R"x(,"validations":[{"expression":"has(object.data.second)"}])x");
  EXPECT_EQ(rig_.make_config_map("x").text("data.second"), "1");
}

TEST_F(Policies, ThatAskForItAreInvokedAgain) {
  make(
      "mutatingadmissionpolicies", "a",
      R"("reinvocationPolicy":"IfNeeded",)" + kAboutConfigMaps +
          R"x(,"matchConditions":[{"name":"c","expression":"has(object.data.late)"}],)x"
          R"("mutations":[{"patchType":"ApplyConfiguration","applyConfiguration":{"expression":"Object{data: {'early': 'x'}}"}}])");
  make("mutatingadmissionpolicies", "aa",
       R"("reinvocationPolicy":"IfNeeded",)" + kAboutConfigMaps +
           R"(,"mutations":[{"patchType":"ApplyConfiguration","applyConfiguration":{"expression":)"
           R"("Object{data: {'times': has(object.data.times) ? object.data.times + 'x' : 'x'}}"}}])");
  for (const char* name : {"a", "aa"})
    make("mutatingadmissionpolicybindings", name, R"("policyName":")" + std::string(name) + "\"");
  mutating("b", kAboutConfigMaps +
                    R"(,"mutations":[{"patchType":"ApplyConfiguration","applyConfiguration":{"expression":)"
                    R"("Object{data: {'late': '1'}}"}}])");
  const auto made = rig_.make_config_map("x");
  EXPECT_EQ(made.text("data.times"), "xx");
  EXPECT_FALSE(made["data"].has("early"));  // one that did not match the first time is not asked the second
}

TEST_F(Policies, ThatCannotMutateRefuse) {
  mutating("m", about("", "v1", "services") +
                    R"(,"mutations":[{"patchType":"ApplyConfiguration","applyConfiguration":{"expression":)"
                    R"("Object{spec: Object.spec{nothing: 1}}"}}])");
  const auto refused =
      rig_.post("/api/v1/namespaces/test/services", R"({"metadata":{"name":"s"},"spec":{"ports":[{"port":80}]}})");
  EXPECT_EQ(refused.code, 403);
  EXPECT_EQ(refused.text("reason"), "Invalid");
  EXPECT_THAT(refused.text("message"), HasSubstr("policy 'm' with binding 'm' denied request: "));
  EXPECT_THAT(refused.text("message"), HasSubstr(".spec.nothing: field not declared in schema"));
}

TEST_F(Policies, MutationsAreCheckedWhenTheyAreWritten) {
  const auto made = rig_.post(
      kAdmission + "mutatingadmissionpolicies",
      R"({"metadata":{"name":"m"},"spec":{)" + about("", "v1", "configmaps", R"("DELETE")") +
          R"(,"reinvocationPolicy":"Never","mutations":[{"patchType":"JSONPatch","jsonPatch":{"expression":"object"}},)"
          R"({"patchType":"ApplyConfiguration","applyConfiguration":{"expression":"Other{}"}},{"patchType":"JSONPatch"}]}})");
  EXPECT_EQ(made.code, 422) << made.body;
  for (const char* text : {"must evaluate to list(JSONPatch) but got dyn", "undeclared reference to 'Other'",
                           "must be specified when patchType is JSONPatch",
                           "spec.matchConstraints.resourceRules.operations: Unsupported value: \"DELETE\""})
    EXPECT_THAT(made.text("message"), HasSubstr(text));
}

}  // namespace
}  // namespace sublet::apiserver
