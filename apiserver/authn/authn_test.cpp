#include <gtest/gtest.h>

#include "apiserver/authn/authenticator.h"
#include "apiserver/authn/service_account_token.h"
#include "apiserver/authn/signing_key.h"
#include "apiserver/authn/test_key_testing.h"
#include "apiserver/kind_testing.h"
#include "sublet/net/tls_context.h"
#include "sublet/schema/engine.h"

namespace sublet::apiserver {
namespace {

using PeerKind = net::PeerIdentity::Kind;
using namespace std::chrono_literals;

class Authn : public testing::Test {
 protected:
  Authn() {
    bench.options.service_account_key_pem = test_key_pem();
    bench.options.static_tokens = {{"secret-token", {.name = "robot", .uid = "", .groups = {"machines"}, .extra = {}}}};
    bench.store("serviceaccounts/default/sa", R"({"metadata":{"name":"sa","namespace":"default","uid":"sa-uid"}})");
    bench.store("pods/default/p", R"({"metadata":{"name":"p","namespace":"default","uid":"p-uid"}})");
  }

  TokenClaims claims() {
    TokenClaims claims;
    claims.issuer = bench.options.service_account_issuer;
    claims.audiences = {claims.issuer};
    claims.namespace_name = "default";
    claims.account = {"sa", "sa-uid"};
    claims.id = "id";
    claims.issued_at = claims.not_before = seconds();
    claims.expires_at = claims.issued_at + 600;
    return claims;
  }
  std::int64_t seconds() {
    return std::chrono::duration_cast<std::chrono::seconds>(bench.clock.now().time_since_epoch()).count();
  }
  std::string token(const TokenClaims& of) { return *sign_token(bench.options.service_account_key_pem, of); }

  Result<User> ask(std::string_view authorization, net::PeerIdentity peer = {}) {
    net::Request request;
    request.peer = std::move(peer);
    if (!authorization.empty()) request.headers.add("Authorization", std::string(authorization));
    return authenticate(
        request, bench.options, [this] { return bench.pending(); }, bench.clock);
  }
  bool accepts(const TokenClaims& of) { return ask("Bearer " + token(of)).has_value(); }

  KindBench bench;
};

TEST_F(Authn, WhoShowsNothingIsAnonymousAndWhoShowsWhatIsWrongIsRefused) {
  for (auto nothing : {"", "Bearer ", "Basic secret-token"}) {
    auto nobody = ask(nothing);
    ASSERT_TRUE(nobody) << nothing;
    EXPECT_EQ(nobody->name, "system:anonymous");
    EXPECT_EQ(nobody->groups, (std::vector<std::string>{"system:unauthenticated"}));
  }
  for (auto wrong : {"Bearer x", "Bearer secret-toke", "Bearer a.b.c"}) {
    auto refused = ask(wrong);
    ASSERT_FALSE(refused) << wrong;
    EXPECT_EQ(refused.error().http_code(), 401);
    EXPECT_EQ(refused.error().message, "Unauthorized");
  }
}

TEST_F(Authn, CertificatesNameTheirUser) {
  net::PeerIdentity peer;
  peer.kind = PeerKind::certificate;
  peer.common_name = "jane";
  peer.organizations = {"system:masters"};
  peer.sha256 = "ab";
  auto user = ask("", peer);
  ASSERT_TRUE(user);
  EXPECT_EQ(user->name, "jane");
  EXPECT_EQ(user->groups, (std::vector<std::string>{"system:masters", "system:authenticated"}));
  EXPECT_EQ(user->extra.at(0).second.at(0), "X509SHA256=ab");
  peer.common_name.clear();
  EXPECT_EQ(ask("", peer)->name, "system:anonymous");
}

TEST_F(Authn, SocketsAndInProcessPeersAreTrusted) {
  net::PeerIdentity peer;
  peer.kind = PeerKind::unix_socket;
  auto user = ask("", peer);
  ASSERT_TRUE(user);
  EXPECT_EQ(user->name, "system:sublet:syncer");
  EXPECT_EQ(user->groups, (std::vector<std::string>{"system:authenticated"}));
  EXPECT_FALSE(ask("Bearer nonsense", peer)) << "a token that is sent must be right";
  peer.kind = PeerKind::in_process;
  EXPECT_EQ(ask("", peer)->name, "system:apiserver");
}

TEST_F(Authn, StaticTokens) {
  auto user = ask("bearer secret-token");
  ASSERT_TRUE(user);
  EXPECT_EQ(user->name, "robot");
  EXPECT_EQ(user->groups, (std::vector<std::string>{"machines", "system:authenticated"}));
}

TEST_F(Authn, ServiceAccountTokens) {
  auto bound = claims();
  bound.pod = {"p", "p-uid"};
  bound.node = {"n", "n-uid"};
  auto user = ask("Bearer " + token(bound));
  ASSERT_TRUE(user);
  EXPECT_EQ(user->name, "system:serviceaccount:default:sa");
  EXPECT_EQ(user->uid, "sa-uid");
  EXPECT_EQ(user->groups, (std::vector<std::string>{"system:serviceaccounts", "system:serviceaccounts:default",
                                                    "system:authenticated"}));
  EXPECT_EQ(user->extra.size(), 5u);
  EXPECT_EQ(user->extra.at(0).second.at(0), "JTI=id");
}

TEST_F(Authn, WhichNodeATokensPodIsOnSaysThePod) {
  const auto extra = [this](std::string_view key) {
    auto bound = claims();
    bound.pod = {"p", "p-uid"};
    const auto user = ask("Bearer " + token(bound));
    EXPECT_TRUE(user);
    for (const auto& [name, values] : user->extra)
      if (name == key) return values.at(0);
    return std::string();
  };
  EXPECT_EQ(extra("authentication.kubernetes.io/node-name"), "");
  bench.store("pods/default/p",
              R"({"metadata":{"name":"p","namespace":"default","uid":"p-uid"},"spec":{"nodeName":"n"}})");
  EXPECT_EQ(extra("authentication.kubernetes.io/node-name"), "n");
  EXPECT_EQ(extra("authentication.kubernetes.io/node-uid"), "") << "a node that is not shown has none";
  bench.store("nodes/n", R"({"metadata":{"name":"n","uid":"n-uid"}})");
  EXPECT_EQ(extra("authentication.kubernetes.io/node-uid"), "n-uid");
}

TEST_F(Authn, BrowsersSendTheTokenAsAProtocolOfAWebSocket) {
  net::Request request;
  request.headers = {{"Connection", "keep-alive, Upgrade"}, {"Upgrade", "websocket"}, {"Sec-WebSocket-Key", "k"}};
  const auto asks = [&](const std::string& protocols) {
    request.headers.set("Sec-WebSocket-Protocol", protocols);
    const auto user = authenticate(
        request, bench.options, [this] { return bench.pending(); }, bench.clock);
    return user ? user->name : "refused";
  };
  const std::string secret = "base64url.bearer.authorization.k8s.io.c2VjcmV0LXRva2Vu";  // secret-token
  EXPECT_EQ(asks(secret + ", binary.k8s.io"), "robot");
  EXPECT_EQ(asks("binary.k8s.io," + secret), "robot");
  EXPECT_EQ(asks("base64url.bearer.authorization.k8s.io.eA, binary.k8s.io"), "refused");
  EXPECT_EQ(asks(secret), "system:anonymous") << "the answer must name a protocol, which cannot be the token";
  request.headers.set("Upgrade", "other");
  EXPECT_EQ(asks(secret + ", binary.k8s.io"), "system:anonymous");
}

TEST_F(Authn, TokensHaveTheirTime) {
  auto old = token(claims());
  EXPECT_TRUE(ask("Bearer " + old));
  bench.clock.advance(611s);
  EXPECT_FALSE(ask("Bearer " + old)) << "also when its signature is known";
  auto early = claims();
  early.not_before += 60;
  EXPECT_FALSE(accepts(early));
}

TEST_F(Authn, TokensAreForSomebody) {
  auto other = claims();
  other.audiences = {"vault"};
  EXPECT_FALSE(accepts(other));
  auto checked = authenticate_token(token(other), {"vault", "x"}, bench.options, bench.pending(), bench.clock);
  ASSERT_TRUE(checked);
  EXPECT_EQ(checked->audiences, std::vector<std::string>{"vault"});
  auto foreign = claims();
  foreign.issuer = "https://elsewhere";
  EXPECT_FALSE(accepts(foreign));
}

TEST_F(Authn, TokensDieWithTheirObjects) {
  auto recreated = claims();
  recreated.account.uid = "other-uid";
  EXPECT_FALSE(accepts(recreated));
  auto gone = claims();
  gone.pod = {"q", "q-uid"};
  EXPECT_FALSE(accepts(gone));
  auto leaving = claims();
  leaving.pod = {"p", "p-uid"};
  leaving.expires_at += 3600;
  bench.store("pods/default/p", R"({"metadata":{"name":"p","uid":"p-uid","deletionTimestamp":")" +
                                    format_time(bench.clock.now()) + "\"}}");
  EXPECT_TRUE(accepts(leaving));
  bench.clock.advance(61s);
  EXPECT_FALSE(accepts(leaving));
}

TEST_F(Authn, WhyATokenIsRefusedIsSaidInUpstreamsWords) {
  const auto why = [this](const std::string& text, const std::vector<std::string>& audiences = {}) {
    const auto identity = authenticate_token(text, audiences, bench.options, bench.pending(), bench.clock);
    return identity ? "accepted" : identity.error().message;
  };
  EXPECT_EQ(why("nonsense"), kUnknownToken);
  EXPECT_EQ(why("abcdef.0123456789abcdef"), kUnknownToken);
  EXPECT_EQ(why("secret-token", {"vault"}), kUnknownToken);
  auto foreign = claims();
  foreign.issuer = "https://elsewhere";
  EXPECT_EQ(why(token(foreign)), kUnknownToken);
  EXPECT_EQ(why(token(claims()), {"vault", "x"}), "token audiences [\"" + bench.options.service_account_issuer +
                                                      "\"] is invalid for the target audiences [\"vault\" \"x\"]");
  auto good = token(claims());
  good[good.rfind('.') + 5] = good[good.rfind('.') + 5] == 'A' ? 'B' : 'A';
  EXPECT_EQ(why(good), "go-jose/go-jose: error in cryptographic primitive");
  auto recreated = claims();
  recreated.account.uid = "other-uid";
  EXPECT_EQ(why(token(recreated)), "service account UID (sa-uid) does not match claim (other-uid)");
  auto nobody = claims();
  nobody.account = {"none", "x"};
  EXPECT_EQ(why(token(nobody)), "serviceaccounts \"none\" not found");
  auto bound = claims();
  bound.pod = {"p", "other-uid"};
  EXPECT_EQ(why(token(bound)), "pod UID (p-uid) does not match service account pod ref claim (other-uid)");
  bound.pod = {"q", "q-uid"};
  EXPECT_EQ(why(token(bound)), "service account token has been invalidated");
  const auto old = token(claims());
  bench.clock.advance(611s);
  EXPECT_EQ(why(old), "service account token has expired");
}

TEST_F(Authn, ForgedTokensAreRefused) {
  auto good = token(claims());
  auto dot = good.find('.');
  auto second = good.find('.', dot + 1);
  auto forged = claims();
  forged.account = {"admin", "sa-uid"};
  auto other = token(forged);
  auto other_dot = other.find('.'), other_second = other.find('.', other_dot + 1);
  auto mixed = good.substr(0, dot) + other.substr(other_dot, other_second - other_dot) + good.substr(second);
  EXPECT_FALSE(ask("Bearer " + mixed));
  auto none = schema::base64url_encode(R"({"alg":"none"})") + good.substr(dot, second - dot) + ".";
  EXPECT_FALSE(ask("Bearer " + none));
  EXPECT_FALSE(ask("Bearer " + good + "."));
  EXPECT_FALSE(ask("Bearer " + good.substr(0, good.size() - 2)));
  for (std::size_t i = 0; i < good.size(); ++i) {
    auto bent = good;
    bent[i] = bent[i] == 'A' ? 'B' : 'A';
    // The last character of a part may hold bits that mean nothing.
    if (i + 1 == good.size() || i + 1 == second || i + 1 == dot) continue;
    EXPECT_FALSE(ask("Bearer " + bent)) << i;
  }
}

// What the key has signed under another name is no token: the header says how it is to be verified.
TEST_F(Authn, OnlyTheOneAlgorithmIsTaken) {
  const auto good = token(claims());
  const auto dot = good.find('.'), second = good.find('.', dot + 1);
  const auto key = SigningKey::load(bench.options.service_account_key_pem).value();
  const auto signed_as = [&](const std::string& algorithm) {
    const auto text = schema::base64url_encode(R"({"alg":")" + algorithm + R"("})") + good.substr(dot, second - dot);
    return "Bearer " + text + "." + schema::base64url_encode(key->sign(text));
  };
  EXPECT_TRUE(ask(signed_as("ES256")));
  for (const char* other : {"none", "HS256", "RS256", "es256", ""}) EXPECT_FALSE(ask(signed_as(other))) << other;
}

TEST_F(Authn, WhatAnOldKeySignedIsStillGood) {
  const auto before = token(claims());
  const std::string old = std::exchange(bench.options.service_account_key_pem, *net::make_key());
  EXPECT_FALSE(ask("Bearer " + before));
  const std::string now = bench.options.service_account_key_pem;
  bench.options.service_account_key_pem = now + old;
  EXPECT_TRUE(ask("Bearer " + before));
  EXPECT_TRUE(accepts(claims()));
  EXPECT_NE(token(claims()).substr(0, before.find('.')), before.substr(0, before.find('.'))) << "the first key signs";
  EXPECT_EQ(parse(*json_web_key_set(bench.options.service_account_key_pem))["keys"].size(), 2u);
  bench.options.service_account_key_pem = now;
  EXPECT_FALSE(ask("Bearer " + before)) << "also when its signature was found right before";
}

TEST_F(Authn, BootstrapTokensAreSecrets) {
  const auto encoded = [](std::string_view text) { return schema::base64_encode(text); };
  const auto put = [&](const std::string& type, const std::string& groups, const std::string& expiration,
                       const std::string& usage) {
    bench.store("secrets/kube-system/bootstrap-token-abcdef",
                R"({"type":")" + type + R"(","data":{"token-id":")" + encoded("abcdef") + R"(","token-secret":")" +
                    encoded("0123456789abcdef") + R"(","auth-extra-groups":")" + encoded(groups) +
                    R"(","expiration":")" + encoded(expiration) + R"(","usage-bootstrap-authentication":")" +
                    encoded(usage) + "\"}}");
  };
  const std::string type = "bootstrap.kubernetes.io/token", later = format_time(bench.clock.now() + 60s);
  EXPECT_FALSE(ask("Bearer abcdef.0123456789abcdef"));
  put(type, "system:bootstrappers:a,system:bootstrappers:b-c", later, "true");
  auto user = ask("Bearer abcdef.0123456789abcdef");
  ASSERT_TRUE(user);
  EXPECT_EQ(user->name, "system:bootstrap:abcdef");
  EXPECT_EQ(user->groups, (std::vector<std::string>{"system:bootstrappers", "system:bootstrappers:a",
                                                    "system:bootstrappers:b-c", "system:authenticated"}));
  EXPECT_FALSE(ask("Bearer abcdef.0123456789abcdeg"));
  EXPECT_FALSE(ask("Bearer abcdeg.0123456789abcdef"));
  put(type, "system:masters", later, "true");
  EXPECT_FALSE(ask("Bearer abcdef.0123456789abcdef")) << "a group that is no bootstrappers'";
  put("Opaque", "", later, "true");
  EXPECT_FALSE(ask("Bearer abcdef.0123456789abcdef"));
  put(type, "", later, "false");
  EXPECT_FALSE(ask("Bearer abcdef.0123456789abcdef"));
  put(type, "", format_time(bench.clock.now() - 1s), "true");
  EXPECT_FALSE(ask("Bearer abcdef.0123456789abcdef"));
  put(type, "", "soon", "true");
  EXPECT_FALSE(ask("Bearer abcdef.0123456789abcdef"));
  put(type, "", "", "true");
  EXPECT_TRUE(ask("Bearer abcdef.0123456789abcdef"));
}

TEST_F(Authn, HeadersOfAFrontProxyCountForNothing) {
  net::Request request;
  request.headers = {{"X-Remote-User", "root"}, {"X-Remote-Group", "system:masters"}};
  const auto user = authenticate(
      request, bench.options, [this] { return bench.pending(); }, bench.clock);
  ASSERT_TRUE(user);
  EXPECT_EQ(user->name, "system:anonymous");
}

TEST_F(Authn, KeySetsVerifyTheTokens) {
  auto set = json_web_key_set(bench.options.service_account_key_pem);
  ASSERT_TRUE(set);
  auto key = parse(*set);
  auto header = parse(*schema::base64url_decode(token(claims()).substr(0, token(claims()).find('.'))));
  EXPECT_EQ(key["keys"].at(0)["kid"].text(), header["kid"].text());
  EXPECT_EQ(schema::base64url_decode(key["keys"].at(0)["x"].text())->size(), 32u);
  EXPECT_EQ(openid_configuration("https://a", "https://b/openid/v1/jwks"),
            R"({"issuer":"https://a","jwks_uri":"https://b/openid/v1/jwks","response_types_supported":["id_token"],)"
            R"("subject_types_supported":["public"],"id_token_signing_alg_values_supported":["ES256"]})");
  EXPECT_FALSE(json_web_key_set("no key"));
}

}  // namespace
}  // namespace sublet::apiserver
