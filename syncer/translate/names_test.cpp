#include "syncer/translate/names.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>
#include <tuple>

#include "sublet/syncer/translate.h"

namespace sublet::syncer {
namespace {

TEST(HostName, JoinsWhenUnambiguous) {
  EXPECT_EQ(host_name("ollama", "ai-team", "rag"), "ollama-x-ai-team-x-rag");
  EXPECT_EQ(host_name("gpu-sharing-pod", "default", "rag-legal"), "gpu-sharing-pod-x-default-x-rag-legal");
  EXPECT_EQ(host_name("kube-root-ca.crt", "default", "rag"), "kube-root-ca.crt-x-default-x-rag");
  EXPECT_EQ(host_name("x1", "1x", "ax"), "x1-x-1x-x-ax");
}

TEST(HostName, HashesWhatIsAmbiguousOrLong) {
  for (const auto& [name, ns, vc] : std::vector<std::tuple<std::string, std::string, std::string>>{
           {"a-x-b", "c", "d"},
           {"a", "b-x-c", "d"},
           {"x-a", "b", "c"},
           {"a-x", "b", "c"},
           {"a", "x", "c"},
           {std::string(60, 'a'), "b", "c"},
           {std::string(253, 'a'), std::string(63, 'b'), "c"}}) {
    const std::string host = host_name(name, ns, vc);
    EXPECT_LE(host.size(), 63u);
    EXPECT_EQ(host.find("-x-" + ns), std::string::npos) << host;
    EXPECT_EQ(host.rfind('-'), host.size() - 27) << host;
  }
  EXPECT_NE(host_name("a-x-b", "c", "d"), host_name("a", "b-x-c", "d"));
}

TEST(HostName, IsInjectiveOverAdversarialParts) {
  std::mt19937 random(7);
  const std::vector<std::string> pieces{"x", "-", "a", "-x-", "x-", "-x", "b."};
  std::map<std::string, std::tuple<std::string, std::string, std::string>> seen;
  const auto part = [&] {
    std::string text = "a";
    for (auto n = random() % 5; n > 0; --n) text += pieces[random() % pieces.size()];
    return text + (random() % 2 ? "x" : "b");
  };
  for (int i = 0; i < 200'000; ++i) {
    const std::tuple parts(part(), part(), part());
    const std::string host = host_name(std::get<0>(parts), std::get<1>(parts), std::get<2>(parts));
    const auto [found, added] = seen.emplace(host, parts);
    ASSERT_TRUE(added || found->second == parts) << host;
  }
}

TEST(HostName, TokenSecretsAreApart) {
  EXPECT_NE(host_token_secret_name("p", "ns", "vc"), host_name("sublet-token", "ns", "vc"));
  EXPECT_EQ(host_token_secret_name("p", "ns", "vc"), host_token_secret_name("p", "ns", "vc"));
  EXPECT_NE(host_token_secret_name("p", "ns", "vc"), host_token_secret_name("q", "ns", "vc"));
}

TEST(HostName, PodsOfOneSecondShareTokenBatches) {
  const std::string batch = token_batch("2026-11-21T16:13:04Z", "uid");
  EXPECT_EQ(batch.substr(0, batch.find('.')), "20261121T161304Z");
  EXPECT_NE(batch, token_batch("2026-11-21T16:13:05Z", "uid"));
  std::set<std::string> batches;
  for (int i = 0; i < 2000; ++i) batches.insert(token_batch("2026-11-21T16:13:04Z", "uid-" + std::to_string(i)));
  EXPECT_EQ(batches.size(), static_cast<std::size_t>(kTokenShards));
}

TEST(TenantNames, NoSentenceIsAName) {
  EXPECT_TRUE(tenant_names("cert-x-default-x-rag", "rag"));
  for (const char* text : {"Certificate is stored in kinds-a/cert-x-default-x-rag", "kinds-a/cert-x-default-x-rag",
                           "c_cert-x-default-x-rag", "Cert-x-default-x-rag"})
    EXPECT_FALSE(tenant_names(text, "rag")) << text;
}

}  // namespace
}  // namespace sublet::syncer
