// Tokens of other issuers: whose are good and whom they make, when an issuer is asked for its keys, what a file may
// say.
#include "sublet/apiserver/configured_authentication.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>

#include "apiserver/admission/hooks_testing.h"
#include "apiserver/authn/authentication_configuration.h"
#include "apiserver/authn/claim_mapping.h"
#include "apiserver/authn/test_issuer_testing.h"
#include "apiserver/server_testing.h"
#include "sublet/schema/engine.h"

namespace sublet::apiserver {
namespace {

using schema::Document;
using namespace std::chrono_literals;

constexpr std::string_view kOwn = "https://kubernetes.default.svc.cluster.local";

std::string indented(const std::string& text) {
  std::string out = "      ";
  for (const char c : text) out += c == '\n' ? std::string("\n      ") : std::string(1, c);
  return out;
}

/// The file with one issuer; `rest`: what stands beside its URL, audiences and CA.
std::string file_of(const TestIssuer& issuer, const std::string& rest) {
  return "apiVersion: apiserver.config.k8s.io/v1\nkind: AuthenticationConfiguration\njwt:\n- issuer:\n    url: " +
         issuer.url() + "\n    audiences: [sublet, other]\n    audienceMatchPolicy: MatchAny\n" +
         "    certificateAuthority: |\n" + indented(issuer.ca_pem()) + "\n" + rest;
}

constexpr const char* kMappings =
    "  claimMappings:\n"
    "    username: {claim: sub, prefix: 'oidc:'}\n"
    "    groups: {claim: groups, prefix: 'oidc:'}\n"
    "    uid: {claim: oid}\n"
    "    extra: [{key: example.com/team, valueExpression: claims.team}]\n"
    "  claimValidationRules:\n"
    "  - {claim: hd, requiredValue: example.com}\n"
    "  - {expression: 'claims.level >= 3', message: too low}\n"
    "  userValidationRules:\n"
    "  - {expression: \"!user.username.startsWith('oidc:system:')\", message: reserved}\n";

class ConfiguredTest : public testing::Test {
 protected:
  ConfiguredTest() : loop_("issuers") {
    issuer_.add_key("rsa", "RS256");
    issuer_.add_key("ec", "ES256");
  }
  ~ConfiguredTest() override {
    if (configured_) configured_->stop();
  }

  void read(const std::string& rest = kMappings) {
    auto made = ConfiguredAuthentication::read(file_of(issuer_, rest), std::string(kOwn), loop_.loop(),
                                               HookServer::options().outbound.rules, clock_);
    ASSERT_TRUE(made) << made.error().message;
    configured_ = std::move(*made);
  }
  std::string claims(const std::string& more = "") const {
    const auto now = std::chrono::duration_cast<std::chrono::seconds>(clock_.now().time_since_epoch()).count();
    return R"({"iss":")" + issuer_.url() + R"(","aud":"sublet","sub":"ann","exp":)" + std::to_string(now + 600) +
           R"(,"hd":"example.com","level":3,"oid":"u-1","jti":"id-1","groups":["dev","ops"],"team":["red",""])" + more +
           "}";
  }
  /// As a request has it: waits for keys when it must.
  Result<User> ask(const std::string& token) {
    std::promise<void> told;
    if (configured_->wait_for_keys(token, [&] { told.set_value(); })) told.get_future().wait();
    auto user = configured_->user_of(token);
    return user ? std::move(*user) : fail(Reason::unauthorized, "of nobody here");
  }
  std::string why(const std::string& token) {
    const auto user = ask(token);
    return user ? "it is good" : user.error().message;
  }

  TestIssuer issuer_;
  net::LoopThread loop_;
  ManualClock clock_;
  std::shared_ptr<ConfiguredAuthentication> configured_;
};

TEST_F(ConfiguredTest, TokensOfAnIssuerMakeUsers) {
  issuer_.add_key("pss", "PS256");
  issuer_.add_key("p384", "ES384");
  read();
  for (const auto* key : {"rsa", "ec", "pss", "p384"}) {
    const auto user = ask(issuer_.sign(key, claims()));
    ASSERT_TRUE(user) << key << ": " << user.error().message;
    EXPECT_EQ(user->name, "oidc:ann");
    EXPECT_EQ(user->uid, "u-1");
    EXPECT_EQ(user->groups, (std::vector<std::string>{"oidc:dev", "oidc:ops"}));
    ASSERT_EQ(user->extra.size(), 2u);
    EXPECT_EQ(user->extra[0].second, std::vector<std::string>{"JTI=id-1"});
    EXPECT_EQ(user->extra[1].first, "example.com/team");
    EXPECT_EQ(user->extra[1].second, std::vector<std::string>{"red"});
  }
}

TEST_F(ConfiguredTest, WhatIsWrongWithATokenIsSaid) {
  read();
  const auto with = [this](const std::string& from, const std::string& to) {
    auto text = claims();
    text.replace(text.find(from), from.size(), to);
    return issuer_.sign("rsa", text);
  };
  EXPECT_EQ(why(with(issuer_.url(), "https://elsewhere")), "of nobody here");
  EXPECT_EQ(why(with("\"sublet\"", "[\"x\"]")),
            R"(oidc: verify token: oidc: expected audience in ["other" "sublet"] got ["x"])");
  EXPECT_EQ(why(with("\"exp\":", "\"exp\":1,\"no\":")), "oidc: verify token: oidc: token is expired");
  EXPECT_EQ(why(with("\"exp\":", "\"no\":")), "oidc: verify token: oidc: token is expired");
  EXPECT_EQ(why(with("\"sub\":", "\"nbf\":99999999999,\"sub\":")),
            "oidc: verify token: oidc: current time before the nbf (not before) time");
  EXPECT_EQ(why(with("\"hd\":\"example.com\"", "\"hd\":\"evil.com\"")),
            "oidc: required claim hd value does not match. Got = evil.com, want = example.com");
  EXPECT_EQ(why(with("\"level\":3", "\"level\":2")),
            "oidc: error evaluating claim validation expression: validation expression 'claims.level >= 3' failed: too "
            "low");
  EXPECT_EQ(why(with("\"sub\":\"ann\"", "\"sub\":\"system:admin\"")),
            "oidc: error evaluating user info validation rule: validation expression "
            "'!user.username.startsWith('oidc:system:')' failed: reserved");
  EXPECT_EQ(why(with("\"sub\":\"ann\"", "\"sub\":7")),
            R"(oidc: parse username claims "sub": json: cannot unmarshal number into Go value of type string)");
  const auto good = issuer_.sign("rsa", claims());
  const auto dot = good.find('.');
  EXPECT_EQ(why(good.substr(0, good.size() - 8) + "AAAAAAAA"),
            "oidc: verify token: oidc: failed to verify signature: invalid signature");
  for (const auto* algorithm : {"none", "HS256", "ES256", "RS512", ""})
    EXPECT_TRUE(
        why(schema::base64url_encode(std::string(R"({"kid":"rsa","alg":")") + algorithm + "\"}") + good.substr(dot))
            .find("failed to verify signature") != std::string::npos)
        << algorithm;
  EXPECT_EQ(why(good), "it is good");
}

TEST_F(ConfiguredTest, AnIssuerIsAskedForKeysThatAreNotKnownButNotAllTheTime) {
  read();
  EXPECT_EQ(why(issuer_.sign("ec", claims())), "it is good");
  EXPECT_EQ(issuer_.asked(), 2) << "the discovery document and the key set";
  issuer_.add_key("next", "ES256");
  const auto token = issuer_.sign("next", claims());
  EXPECT_NE(why(token), "it is good") << "it was asked a moment ago";
  EXPECT_EQ(issuer_.asked(), 2);
  clock_.advance(10s);
  EXPECT_EQ(why(token), "it is good");
  EXPECT_EQ(issuer_.asked(), 4);
  issuer_.break_down(true);
  issuer_.add_key("later", "ES256");
  clock_.advance(10s);
  EXPECT_NE(why(issuer_.sign("later", claims())), "it is good");
  EXPECT_EQ(why(token), "it is good") << "the old keys are kept while it cannot be had";
}

TEST_F(ConfiguredTest, AnIssuerThatIsNotThereYetIsAskedAgain) {
  issuer_.break_down(true);
  read();
  const auto token = issuer_.sign("ec", claims());
  EXPECT_EQ(why(token), "oidc: authenticator not initialized");
  issuer_.break_down(false);
  issuer_.claim_to_be("https://somebody.else");
  clock_.advance(10s);
  EXPECT_EQ(why(token), "oidc: authenticator not initialized") << "its document is another's";
  issuer_.claim_to_be("");
  clock_.advance(10s);
  EXPECT_EQ(why(token), "it is good");
}

TEST_F(ConfiguredTest, RequestsAreTheirs) {
  read();
  auto options = HookServer::options();
  options.authentication = configured_;
  Rig rig(options, Rig::WithRights());
  const std::string review = R"({"kind":"SelfSubjectReview","apiVersion":"authentication.k8s.io/v1"})";
  const auto self = [&](const std::string& token) {
    return rig.call("POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", review,
                    {{"Authorization", "Bearer " + token}, {"Content-Type", std::string(kJson)}});
  };
  const auto good = self(issuer_.sign("ec", claims()));
  ASSERT_EQ(good.code, 201) << good.body;
  EXPECT_EQ(good.text("status.userInfo.username"), "oidc:ann");
  EXPECT_NE(good.body.find("system:authenticated"), std::string::npos);
  EXPECT_EQ(self(issuer_.sign("ec", claims(R"(,"aud":"x")"))).code, 401);
  const auto asked = [&](const std::string& more) {
    return rig.post("/apis/authentication.k8s.io/v1/tokenreviews",
                    R"({"kind":"TokenReview","apiVersion":"authentication.k8s.io/v1","spec":{"token":")" +
                        issuer_.sign("rsa", claims()) + "\"" + more + "}}");
  };
  EXPECT_EQ(asked("").text("status.user.username"), "oidc:ann");
  EXPECT_EQ(asked(R"(,"audiences":["sublet"])").text("status.authenticated"), "")
      << "the issuer's audiences are not this server's";
  const auto secrets = rig.get("/api/v1/secrets", {{"Authorization", "Bearer " + issuer_.sign("ec", claims())}});
  EXPECT_EQ(secrets.code, 403);
  // A key that came since: the request waits for it.
  issuer_.add_key("next", "RS256");
  clock_.advance(10s);
  EXPECT_EQ(self(issuer_.sign("next", claims())).code, 201);
}

TEST_F(ConfiguredTest, AnonymousRequestsGoWhereTheFileSays) {
  const auto admits = [this](const std::string& rest, std::string_view path) {
    read(std::string(kMappings) + rest);
    const bool admitted = configured_->admits_anonymous(path);
    configured_->stop();
    return admitted;
  };
  EXPECT_TRUE(admits("", "/api"));
  EXPECT_FALSE(admits("anonymous: {enabled: false}\n", "/livez"));
  EXPECT_TRUE(admits("anonymous: {enabled: true, conditions: [{path: /livez}]}\n", "/livez"));
  EXPECT_FALSE(admits("anonymous: {enabled: true, conditions: [{path: /livez}]}\n", "/livez/ping"));
}

// The file
// -----------------------------------------------------------------------------

std::string problem(const std::string& text) {
  const auto read = read_authentication_configuration(text, std::string(kOwn));
  return read ? "" : read.error().message;
}
constexpr const char* kHead = "apiVersion: apiserver.config.k8s.io/v1\nkind: AuthenticationConfiguration\n";
std::string jwt_problem(const std::string& jwt) {
  const auto said = problem(kHead + ("jwt: [" + jwt + "]\n"));
  constexpr std::string_view kPrefix = "invalid authentication configuration: ";
  return said.starts_with(kPrefix) ? said.substr(kPrefix.size()) : said;
}
std::string issuer_problem(const std::string& issuer) {
  return jwt_problem("{issuer: " + issuer + ", claimMappings: {username: {claim: sub, prefix: ''}}}");
}
std::string mapping_problem(const std::string& rest) {
  return jwt_problem("{issuer: {url: 'https://a.test', audiences: [x]}, " + rest + "}");
}

TEST(AuthenticationConfigurationTest, AFileOfAnotherFormIsRefused) {
  EXPECT_EQ(problem(""), "empty config data");
  EXPECT_EQ(problem("jwt: []"), "Object 'Kind' is missing");
  EXPECT_TRUE(problem("apiVersion: v1\nkind: Pod\n").starts_with(R"(no kind "Pod" is registered for version "v1")"));
  EXPECT_EQ(problem(std::string(kHead) + "oidc: {}\njwt: [{issuer: {uri: x}}]\n"),
            R"(strict decoding error: unknown field "oidc", unknown field "jwt[0].issuer.uri")");
  EXPECT_EQ(problem(std::string(kHead) + "jwt: [{issuer: {url: 3, audiences: x}}]\n"),
            "jwt[0].issuer.url must be a string, jwt[0].issuer.audiences must be a list");
  EXPECT_EQ(problem(kHead), "");
  EXPECT_EQ(problem(std::string(kHead) + "anonymous: {enabled: false, conditions: [{path: /a}]}\n"),
            "invalid authentication configuration: anonymous.conditions: Invalid value: [{\"Path\":\"/a\"}]: enabled "
            "should be set to true when conditions are defined");
}

TEST(AuthenticationConfigurationTest, IssuersAreJudged) {
  EXPECT_EQ(issuer_problem("{url: 'https://a.test', audiences: [x]}"), "");
  EXPECT_EQ(issuer_problem("{audiences: [x]}"), "jwt[0].issuer.url: Required value");
  EXPECT_EQ(
      issuer_problem("{url: 'http://u@a.test?q=1#f', audiences: [x]}"),
      R"([jwt[0].issuer.url: Invalid value: "http://u@a.test?q=1#f": URL scheme must be https, )"
      R"(jwt[0].issuer.url: Invalid value: "http://u@a.test?q=1#f": URL must not contain a username or password, )"
      R"(jwt[0].issuer.url: Invalid value: "http://u@a.test?q=1#f": URL must not contain a query, )"
      R"(jwt[0].issuer.url: Invalid value: "http://u@a.test?q=1#f": URL must not contain a fragment])");
  EXPECT_EQ(issuer_problem("{url: '" + std::string(kOwn) + "', audiences: [x]}"),
            "jwt[0].issuer.url: Invalid value: \"" + std::string(kOwn) +
                "\": URL must not overlap with disallowed issuers: [" + std::string(kOwn) + "]");
  EXPECT_EQ(issuer_problem("{url: 'https://a.test', discoveryURL: 'https://a.test/', audiences: [x]}"),
            "jwt[0].issuer.discoveryURL: Invalid value: \"https://a.test/\": discoveryURL must be different from URL");
  EXPECT_EQ(issuer_problem("{url: 'https://a.test'}"),
            "jwt[0].issuer.audiences: Required value: at least one jwt[0].issuer.audiences is required");
  EXPECT_EQ(issuer_problem("{url: 'https://a.test', audiences: [x, x]}"),
            "[jwt[0].issuer.audiences[1]: Duplicate value: \"x\", jwt[0].issuer.audienceMatchPolicy: Invalid value: "
            "\"\": audienceMatchPolicy must be MatchAny for multiple audiences]");
  EXPECT_EQ(issuer_problem("{url: 'https://a.test', audiences: [x], certificateAuthority: none}"),
            "jwt[0].issuer.certificateAuthority: Invalid value: \"<omitted>\": data does not contain any valid RSA or "
            "ECDSA certificates");
  const std::string one =
      "{issuer: {url: 'https://a.test', audiences: [x]}, claimMappings: {username: {claim: sub, prefix: ''}}}";
  EXPECT_EQ(jwt_problem(one + ", " + one), "jwt[1].issuer.url: Duplicate value: \"https://a.test\"");
}

TEST(AuthenticationConfigurationTest, MappingsAreJudged) {
  EXPECT_EQ(mapping_problem("claimMappings: {}"),
            "jwt[0].claimMappings.username: Required value: claim or expression is required");
  EXPECT_EQ(mapping_problem("claimMappings: {username: {claim: sub}}"),
            "jwt[0].claimMappings.username.prefix: Required value: prefix is required when claim is set. It can be set "
            "to an empty string to disable prefixing");
  EXPECT_EQ(mapping_problem("claimMappings: {username: {expression: 'claims.sub', prefix: x}}"),
            "jwt[0].claimMappings.username.prefix: Invalid value: \"x\": may not be specified when expression is set");
  EXPECT_TRUE(mapping_problem("claimMappings: {username: {expression: 'claims.'}}")
                  .starts_with("jwt[0].claimMappings.username.expression: Invalid value: \"claims.\": compilation "
                               "failed: ERROR: <input>:1:8: Syntax error"));
  EXPECT_TRUE(
      mapping_problem("claimMappings: {username: {expression: 'user.name'}}").find("undeclared reference to 'user'") !=
      std::string::npos);
  EXPECT_TRUE(mapping_problem("claimMappings: {username: {expression: 'claims.email'}}")
                  .find("claims.email_verified must be used") != std::string::npos);
  EXPECT_EQ(mapping_problem("claimMappings: {username: {expression: 'claims.email'}}, claimValidationRules: "
                            "[{expression: 'claims.?email_verified.orValue(true) == true'}]"),
            "");
  EXPECT_EQ(mapping_problem("claimMappings: {username: {claim: s, prefix: ''}, extra: [{key: K8s.io/a, "
                            "valueExpression: claims.a}]}")
                .find("jwt[0].claimMappings.extra[0].key: Invalid value: \"K8s.io\": a lowercase RFC 1123"),
            1u);
  EXPECT_EQ(mapping_problem("claimMappings: {username: {claim: s, prefix: ''}, extra: [{key: a.k8s.io/a, "
                            "valueExpression: claims.a}]}"),
            "jwt[0].claimMappings.extra[0].key: Invalid value: \"a.k8s.io/a\": k8s.io, kubernetes.io and their "
            "subdomains are reserved for Kubernetes use");
  EXPECT_EQ(mapping_problem("claimMappings: {username: {claim: s, prefix: ''}}, claimValidationRules: [{}, {claim: a, "
                            "message: m}, {expression: 'claims.a + 1'}], userValidationRules: [{expression: ''}]"),
            "[jwt[0].claimValidationRules[0]: Required value: claim or expression is required, "
            "jwt[0].claimValidationRules[1].message: Invalid value: \"m\": may not be specified when claim is set, "
            "jwt[0].claimValidationRules[2].expression: Invalid value: \"claims.a + 1\": must evaluate to bool, "
            "jwt[0].userValidationRules[0].expression: Required value]");
  EXPECT_TRUE(mapping_problem("claimMappings: {username: {claim: s, prefix: ''}}, userValidationRules: [{expression: "
                              "'user.nme == \"\"'}]")
                  .find("undefined field 'nme'") != std::string::npos);
}

// Whom claims make
// -----------------------------------------------------------------------------

std::string mapped_user(const std::string& mappings, const std::string& claims) {
  const auto read = read_authentication_configuration(
      kHead + ("jwt: [{issuer: {url: 'https://a.test', audiences: [x]}, claimMappings: {" + mappings + "}}]\n"),
      std::string(kOwn));
  if (!read) return read.error().message;
  const auto document = Document::parse_json(claims);
  const auto user = user_of_claims(read->issuers[0], document->root());
  if (!user) return user.error().message;
  std::string text = user->name + "|" + user->uid + "|";
  for (const auto& group : user->groups) text += group + ",";
  for (const auto& [key, values] : user->extra) {
    text += "|" + key + "=";
    for (const auto& value : values) text += value + ",";
  }
  return text;
}

TEST(ClaimMappingTest, ExpressionsAndClaimsMakeUsers) {
  EXPECT_EQ(
      mapped_user("username: {expression: 'claims.sub + \"@\" + claims.nested.org'}, groups: {expression: "
                  "'dyn(claims.roles).filter(r, r != \"x\")'}, uid: {expression: claims.id}, extra: [{key: a.b/c, "
                  "valueExpression: 'claims.n > 1.5 ? \"big\" : \"\"'}]",
                  R"({"sub":"ann","nested":{"org":"o"},"roles":["a","x",""],"id":"7","n":2})"),
      "ann@o|7|a,|a.b/c=big,");
  EXPECT_EQ(mapped_user("username: {claim: email, prefix: ''}, groups: {claim: role, prefix: 'g:'}",
                        R"({"email":"a@b","email_verified":true,"role":"one"})"),
            "a@b||g:one,");
  EXPECT_EQ(mapped_user("username: {claim: email, prefix: ''}", R"({"email":"a@b","email_verified":false})"),
            "oidc: email not verified");
  EXPECT_EQ(mapped_user("username: {claim: email, prefix: ''}", R"({"email":"a@b","email_verified":"true"})"),
            "oidc: parse 'email_verified' claim: json: cannot unmarshal string into Go value of type bool");
  EXPECT_EQ(mapped_user("username: {claim: sub, prefix: ''}", "{}"),
            "oidc: parse username claims \"sub\": claim not present");
  EXPECT_EQ(mapped_user("username: {expression: claims.sub}", R"({"sub":""})"),
            "oidc: empty username via CEL expression is not allowed");
  EXPECT_EQ(mapped_user("username: {expression: claims.sub}", R"({"sub":7})"),
            "oidc: error evaluating username claim expression: username claim expression must return a string");
  EXPECT_EQ(mapped_user("username: {expression: claims.sub}", "{}"),
            "oidc: error evaluating username claim expression: expression 'claims.sub' resulted in error: no such key: "
            "sub");
  EXPECT_EQ(mapped_user("username: {claim: sub, prefix: ''}, groups: {expression: claims.g}", R"({"sub":"a","g":[1]})"),
            "oidc: error evaluating group claim expression: expression must return a string or a list of strings");
  EXPECT_EQ(mapped_user("username: {claim: sub, prefix: ''}, groups: {expression: 'claims.?g.orValue(null)'}",
                        R"({"sub":"a"})"),
            "a||");
}

TEST(ClaimMappingTest, AClaimMayBeAnythingButNothingRangesOverIt) {
  EXPECT_THAT(mapped_user("username: {expression: claims.sub}, groups: {expression: 'claims.roles.map(r, r)'}", "{}"),
              testing::HasSubstr("1:7: expression of type 'any' cannot be range of a comprehension (must be list, map, "
                                 "or dynamic)"));
  EXPECT_EQ(mapped_user("username: {expression: 'claims.roles[0] + claims.n.m'}", R"({"roles":["a"],"n":{"m":"b"}})"),
            "ab||");
}

}  // namespace
}  // namespace sublet::apiserver
