#include "apiserver/authn/test_issuer_testing.h"

#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/ecdsa.h>
#include <openssl/rsa.h>

#include "sublet/schema/engine.h"

namespace sublet::apiserver {
namespace {

struct Algorithm {
  const char* name;
  const char* curve;  // of EC
  const char* shown;  // the curve's name in a key set
  int coordinate;
  const EVP_MD* (*digest)();
  bool pss;
};
constexpr Algorithm kAlgorithms[] = {{"RS256", nullptr, nullptr, 0, EVP_sha256, false},
                                     {"PS256", nullptr, nullptr, 0, EVP_sha256, true},
                                     {"ES256", "P-256", "P-256", 32, EVP_sha256, false},
                                     {"ES384", "P-384", "P-384", 48, EVP_sha384, false}};

const Algorithm& algorithm_named(const std::string& algorithm) {
  for (const auto& kind : kAlgorithms)
    if (algorithm == kind.name) return kind;
  return kAlgorithms[0];
}

std::string number(EVP_PKEY* key, const char* name, int size) {
  BIGNUM* found = nullptr;
  EVP_PKEY_get_bn_param(key, name, &found);
  const net::BignumPtr owned(found);
  std::string bytes(static_cast<std::size_t>(size == 0 ? BN_num_bytes(found) : size), '\0');
  BN_bn2binpad(found, reinterpret_cast<unsigned char*>(bytes.data()), static_cast<int>(bytes.size()));
  return schema::base64url_encode(bytes);
}

std::string raw_of_der(const std::string& der, int coordinate) {
  auto in = reinterpret_cast<const unsigned char*>(der.data());
  const net::OpensslPtr<ECDSA_SIG, ECDSA_SIG_free> read(d2i_ECDSA_SIG(nullptr, &in, static_cast<long>(der.size())));
  std::string raw(static_cast<std::size_t>(2 * coordinate), '\0');
  auto out = reinterpret_cast<unsigned char*>(raw.data());
  BN_bn2binpad(ECDSA_SIG_get0_r(read.get()), out, coordinate);
  BN_bn2binpad(ECDSA_SIG_get0_s(read.get()), out + coordinate, coordinate);
  return raw;
}

}  // namespace

TestIssuer::TestIssuer()
    : server_("issuer", [this](const net::Request& request, const std::shared_ptr<net::ResponseSink>& sink) {
        serve(request, sink);
      }) {}

TestIssuer::~TestIssuer() { server_.stop(); }

void TestIssuer::add_key(const std::string& id, const std::string& algorithm, bool shown) {
  constexpr unsigned kBits = 2048;
  const Algorithm& kind = algorithm_named(algorithm);
  Key made{algorithm, "", {kind.curve ? EVP_EC_gen(kind.curve) : EVP_RSA_gen(kBits), EVP_PKEY_free}, shown};
  made.jwk = R"({"use":"sig","kid":")" + id + R"(","alg":")" + algorithm + "\",";
  if (kind.curve)
    made.jwk += std::string(R"("kty":"EC","crv":")") + kind.shown + R"(","x":")" +
                number(made.key.get(), OSSL_PKEY_PARAM_EC_PUB_X, kind.coordinate) + R"(","y":")" +
                number(made.key.get(), OSSL_PKEY_PARAM_EC_PUB_Y, kind.coordinate) + "\"}";
  else
    made.jwk += R"("kty":"RSA","n":")" + number(made.key.get(), OSSL_PKEY_PARAM_RSA_N, 0) + R"(","e":")" +
                number(made.key.get(), OSSL_PKEY_PARAM_RSA_E, 0) + "\"}";
  const MutexLock lock(mutex_);
  keys_[id] = std::move(made);
}

void TestIssuer::show_key(const std::string& id) {
  const MutexLock lock(mutex_);
  keys_[id].shown = true;
}

std::string TestIssuer::sign(const std::string& id, const std::string& claims) const {
  const MutexLock lock(mutex_);
  const Key& key = keys_.at(id);
  const Algorithm& kind = algorithm_named(key.algorithm);
  const auto text = schema::base64url_encode(R"({"alg":")" + key.algorithm + R"(","kid":")" + id + "\"}") + "." +
                    schema::base64url_encode(claims);
  const net::OpensslPtr<EVP_MD_CTX, EVP_MD_CTX_free> context(EVP_MD_CTX_new());
  EVP_PKEY_CTX* padding = nullptr;
  EVP_DigestSignInit(context.get(), &padding, kind.digest(), nullptr, key.key.get());
  if (kind.pss) {
    EVP_PKEY_CTX_set_rsa_padding(padding, RSA_PKCS1_PSS_PADDING);
    EVP_PKEY_CTX_set_rsa_pss_saltlen(padding, RSA_PSS_SALTLEN_DIGEST);
  }
  std::size_t size = 0;
  const auto in = reinterpret_cast<const unsigned char*>(text.data());
  EVP_DigestSign(context.get(), nullptr, &size, in, text.size());
  std::string signature(size, '\0');
  EVP_DigestSign(context.get(), reinterpret_cast<unsigned char*>(signature.data()), &size, in, text.size());
  signature.resize(size);
  if (kind.curve) signature = raw_of_der(signature, kind.coordinate);
  return text + "." + schema::base64url_encode(signature);
}

void TestIssuer::claim_to_be(const std::string& issuer) {
  const MutexLock lock(mutex_);
  claimed_issuer_ = issuer;
}

void TestIssuer::break_down(bool broken) {
  const MutexLock lock(mutex_);
  broken_ = broken;
}

int TestIssuer::asked() const {
  const MutexLock lock(mutex_);
  return asked_;
}

void TestIssuer::serve(const net::Request& request, const std::shared_ptr<net::ResponseSink>& sink) {
  std::string body;
  {
    const MutexLock lock(mutex_);
    ++asked_;
    if (broken_) return sink->respond(500, {}, "broken");
    if (request.path() == "/.well-known/openid-configuration")
      body = R"({"issuer":")" + (claimed_issuer_.empty() ? url() : claimed_issuer_) + R"(","jwks_uri":")" + url() +
             "/keys\"}";
    if (request.path() == "/keys") {
      for (const auto& [id, key] : keys_)
        if (key.shown) body += (body.empty() ? "" : ",") + key.jwk;
      body = R"({"keys":[{"kty":"oct","k":"AA"},{"kty":"EC","crv":"P-256","x":"AA","y":"AA"})" +
             (body.empty() ? "" : "," + body) + "]}";
    }
  }
  sink->respond(body.empty() ? 404 : 200, {{"Content-Type", "application/json"}}, body);
}

}  // namespace sublet::apiserver
