#include "apiserver/authn/jws_key.h"

#include <gtest/gtest.h>
#include <openssl/evp.h>
#include <openssl/rsa.h>

#include "sublet/net/openssl_ptr.h"

namespace sublet::apiserver {
namespace {

using Context = std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)>;

std::string rs256(EVP_PKEY* key, std::string_view text) {
  const Context context(EVP_MD_CTX_new(), EVP_MD_CTX_free);
  const auto* bytes = reinterpret_cast<const unsigned char*>(text.data());
  std::size_t size = 0;
  EXPECT_EQ(EVP_DigestSignInit(context.get(), nullptr, EVP_sha256(), nullptr, key), 1);
  EXPECT_EQ(EVP_DigestSign(context.get(), nullptr, &size, bytes, text.size()), 1);
  std::string signature(size, '\0');
  EXPECT_EQ(
      EVP_DigestSign(context.get(), reinterpret_cast<unsigned char*>(signature.data()), &size, bytes, text.size()), 1);
  return signature;
}

// An issuer that says of its key what it signs with is believed: the same key with another algorithm is no word of its.
TEST(JwsKey, IsGoodForTheAlgorithmThatItsIssuerNamesAlone) {
  const net::KeyPtr key(EVP_RSA_gen(2048));
  ASSERT_TRUE(key);
  const std::string signature = rs256(key.get(), "text");
  const auto verifies = [&](const std::string& named, std::string_view algorithm) {
    return JwsKey::of(key.get(), "id", named)->verify(algorithm, "text", signature);
  };
  EXPECT_TRUE(verifies("RS256", "RS256"));
  EXPECT_TRUE(verifies("", "RS256"));
  EXPECT_FALSE(verifies("PS256", "RS256"));
  EXPECT_FALSE(verifies("RS512", "RS256"));
  for (const char* other : {"PS256", "RS384", "ES256", "HS256", "none", ""}) EXPECT_FALSE(verifies("", other)) << other;
}

}  // namespace
}  // namespace sublet::apiserver
