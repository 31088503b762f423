#include "controllers/controlled_server_testing.h"
#include "controllers/tokens/bootstrap_token.h"
#include "sublet/schema/engine.h"

namespace sublet::controllers {
namespace {

using namespace std::chrono_literals;

TEST(BootstrapToken, SignsAsUpstreamDoes) {
  BootstrapToken token;
  token.id = "joshua";
  token.secret = "my voice is my passcode";
  EXPECT_EQ(detached_signature("Hello from the other side. I must have called a thousand times.", token),
            "eyJhbGciOiJIUzI1NiIsImtpZCI6Impvc2h1YSJ9..VShe2taLd-YTrmWuRkcL_8QTNDHYxQIEBsAYYiIj1_8");
}

class TokensTest : public ControlledServer {
 protected:
  static inline const kube::Resource kSecrets{"", "v1", "secrets"}, kAccounts{"", "v1", "serviceaccounts"},
      kMaps{"", "v1", "configmaps"};

  TokensTest() : ControlledServer(with_key()) {
    net::CertificateRequest request;
    request.common_name = "virtual-ca";
    request.is_ca = true;
    options_.cluster.ca_certificate_pem = net::make_certificate(request, nullptr)->certificate_pem;
    restart_controllers();
  }
  static apiserver::ServerOptions with_key() {
    apiserver::ServerOptions options;
    options.service_account_key_pem = *net::make_key();
    return options;
  }
  void make_secret(const std::string& name, const std::string& account) {
    create(kSecrets, "default",
           R"({"metadata":{"name":")" + name + R"(","annotations":{"kubernetes.io/service-account.name":")" + account +
               R"("}},"type":"kubernetes.io/service-account-token"})");
  }
  std::string datum(const std::string& secret, std::string_view key) {
    return schema::base64_decode(get(kSecrets, secret)["data"][key].text()).value_or("");
  }
  void make_bootstrap_token(const std::string& id, const std::string& more) {
    create(kSecrets, "kube-system",
           R"({"metadata":{"name":"bootstrap-token-)" + id +
               R"("},"type":"bootstrap.kubernetes.io/token","stringData":{"token-id":")" + id +
               R"(","token-secret":"0123456789abcdef","usage-bootstrap-signing":"true")" + more + "}}");
  }
};

TEST_F(TokensTest, ASecretGetsATokenOfItsAccountAndGoesWithIt) {
  create(kAccounts, "default", R"({"metadata":{"name":"robot"}})");
  make_secret("robot-token", "robot");
  EXPECT_EQ(datum("robot-token", "namespace"), "default");
  EXPECT_EQ(datum("robot-token", "ca.crt"), options_.cluster.ca_certificate_pem);
  EXPECT_EQ(get(kSecrets, "robot-token")["metadata"]["annotations"]["kubernetes.io/service-account.uid"].text(),
            get(kAccounts, "robot")["metadata"]["uid"].text());
  const auto token = datum("robot-token", "token");
  ASSERT_NE(token, "");
  auto review = schema::Document::object();
  review.root().object("spec").put("token", token);
  const kube::Resource reviews{"authentication.k8s.io", "v1", "tokenreviews"};
  auto said = client_.create(reviews, "", review.root());
  ASSERT_TRUE(said);
  EXPECT_EQ((*said)["status"]["user"]["username"].text(), "system:serviceaccount:default:robot") << said->to_json();
  clock_.advance(std::chrono::hours(24 * 365 * 10));
  said = client_.create(reviews, "", review.root());
  EXPECT_TRUE((*said)["status"]["authenticated"].boolean()) << "it outlives ten years";
  const auto before = store_->stats().revision;
  restart_controllers();
  EXPECT_EQ(store_->stats().revision, before);
  remove(kAccounts, "robot");
  EXPECT_TRUE(get(kSecrets, "robot-token").root().is_null());
  said = client_.create(reviews, "", review.root());
  EXPECT_FALSE((*said)["status"]["authenticated"].boolean());
}

TEST_F(TokensTest, ASecretOfNobodyGoesAndWhatIsTakenAwayComesBack) {
  make_secret("ghost", "nobody");
  EXPECT_TRUE(get(kSecrets, "ghost").root().is_null());
  create(kAccounts, "default", R"({"metadata":{"name":"robot"}})");
  make_secret("t", "robot");
  const auto token = datum("t", "token");
  merge(kSecrets, "t", R"({"data":{"ca.crt":null,"namespace":null}})");
  EXPECT_EQ(datum("t", "namespace"), "default");
  EXPECT_EQ(datum("t", "token"), token) << "what is there stays";
}

TEST_F(TokensTest, AnAccountForgetsASecretThatIsGone) {
  create(kAccounts, "default", R"({"metadata":{"name":"robot"},"secrets":[{"name":"t"},{"name":"other"}]})");
  make_secret("t", "robot");
  remove(kSecrets, "t");
  const auto account = get(kAccounts, "robot");
  EXPECT_EQ(account["secrets"].size(), 1u) << account.to_json();
  EXPECT_EQ(account["secrets"].at(0)["name"].text(), "other");
}

TEST_F(TokensTest, ClusterInfoIsSignedByTheTokensThatMayAndForAsLongAsTheyLive) {
  const auto end = format_time(clock_.now() + 1h);
  make_bootstrap_token("abcdef", R"(,"expiration":")" + end + "\"");
  create(kMaps, "kube-public", R"({"metadata":{"name":"cluster-info"},"data":{"kubeconfig":"text"}})");
  make_bootstrap_token("ghijkl", "");
  const auto info = [&] { return std::move(*client_.get(kMaps, "kube-public", "cluster-info")); };
  EXPECT_EQ(info()["data"].size(), 3u) << info().to_json();
  EXPECT_TRUE(info()["data"]["jws-kubeconfig-abcdef"].text().find("..") != std::string_view::npos);
  advance(59min);
  EXPECT_EQ(info()["data"].size(), 3u);
  advance(1min + 1s);
  EXPECT_FALSE(client_.get(kSecrets, "kube-system", "bootstrap-token-abcdef")) << "its time has come";
  EXPECT_EQ(info()["data"].size(), 2u);
  EXPECT_TRUE(info()["data"].has("jws-kubeconfig-ghijkl"));
}

}  // namespace
}  // namespace sublet::controllers
