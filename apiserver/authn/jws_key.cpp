#include "apiserver/authn/jws_key.h"

#include <openssl/core_names.h>
#include <openssl/ecdsa.h>
#include <openssl/param_build.h>
#include <openssl/rsa.h>

#include <algorithm>
#include <optional>

#include "apiserver/authn/openssl_key.h"
#include "sublet/net/digest.h"
#include "sublet/net/openssl_ptr.h"
#include "sublet/schema/engine.h"

namespace sublet::apiserver {
namespace {

using schema::Value;
using KeyContextPtr = net::OpensslPtr<EVP_PKEY_CTX, EVP_PKEY_CTX_free>;
using BuilderPtr = net::OpensslPtr<OSSL_PARAM_BLD, OSSL_PARAM_BLD_free>;
using ParametersPtr = net::OpensslPtr<OSSL_PARAM, OSSL_PARAM_free>;

constexpr int kRsaBitsMin = 1024, kRsaBitsMax = 8192;  // less is refused by Go too; more takes too long

struct Algorithm {
  std::string_view name;
  int type;                // EVP_PKEY_RSA, EVP_PKEY_EC
  std::string_view curve;  // of ES
  std::size_t coordinate;  // bytes of each of a signature's two numbers
  const EVP_MD* (*digest)();
  bool pss;
};
constexpr Algorithm kAlgorithms[] = {
    {"RS256", EVP_PKEY_RSA, "", 0, EVP_sha256, false},
    {"RS384", EVP_PKEY_RSA, "", 0, EVP_sha384, false},
    {"RS512", EVP_PKEY_RSA, "", 0, EVP_sha512, false},
    {"ES256", EVP_PKEY_EC, "prime256v1", 32, EVP_sha256, false},
    {"ES384", EVP_PKEY_EC, "secp384r1", 48, EVP_sha384, false},
    {"ES512", EVP_PKEY_EC, "secp521r1", 66, EVP_sha512, false},
    {"PS256", EVP_PKEY_RSA, "", 0, EVP_sha256, true},
    {"PS384", EVP_PKEY_RSA, "", 0, EVP_sha384, true},
    {"PS512", EVP_PKEY_RSA, "", 0, EVP_sha512, true},
};
struct Curve {
  std::string_view name, group;
  std::size_t coordinate;
};
constexpr Curve kCurves[] = {{"P-256", "prime256v1", 32}, {"P-384", "secp384r1", 48}, {"P-521", "secp521r1", 66}};

const Algorithm* find_algorithm(std::string_view name) {
  const auto* found = std::ranges::find(kAlgorithms, name, &Algorithm::name);
  return found == std::end(kAlgorithms) ? nullptr : found;
}

net::BignumPtr bignum_of(std::string_view bytes) {
  return net::BignumPtr(BN_bin2bn(openssl_bytes(bytes), static_cast<int>(bytes.size()), nullptr));
}

std::string curve_of(EVP_PKEY* key) {
  char group[64] = {};
  if (EVP_PKEY_get_group_name(key, group, sizeof(group), nullptr) != 1) return "";
  const std::string_view name = group;
  for (const auto& curve : kCurves)
    if (name == curve.name) return std::string(curve.group);
  return std::string(name);
}

bool fits_algorithm(EVP_PKEY* key, const Algorithm& algorithm) {
  if (EVP_PKEY_get_base_id(key) != algorithm.type) return false;
  return algorithm.curve.empty() || curve_of(key) == algorithm.curve;
}

bool is_usable(EVP_PKEY* key) {
  if (EVP_PKEY_get_base_id(key) == EVP_PKEY_RSA) {
    const int bits = EVP_PKEY_get_bits(key);
    return bits >= kRsaBitsMin && bits <= kRsaBitsMax;
  }
  return std::ranges::any_of(kAlgorithms, [&](const Algorithm& algorithm) { return fits_algorithm(key, algorithm); });
}

std::string fingerprint_of(EVP_PKEY* key) {
  unsigned char* der = nullptr;
  const int size = i2d_PUBKEY(key, &der);
  if (size <= 0) return "";
  const auto digest = net::sha256({reinterpret_cast<char*>(der), static_cast<std::size_t>(size)});
  OPENSSL_free(der);
  return schema::base64url_encode({reinterpret_cast<const char*>(digest.data()), digest.size()});
}

/// JWS has the two numbers side by side; OpenSSL speaks DER.
std::string der_of_raw(std::string_view raw, std::size_t coordinate) {
  const EcdsaSignaturePtr signature(ECDSA_SIG_new());
  auto r = bignum_of(raw.substr(0, coordinate)), s = bignum_of(raw.substr(coordinate));
  if (ECDSA_SIG_set0(signature.get(), r.get(), s.get()) != 1) return "";
  static_cast<void>(r.release());  // it took both
  static_cast<void>(s.release());
  unsigned char* out = nullptr;
  const int size = i2d_ECDSA_SIG(signature.get(), &out);
  if (size <= 0) return "";
  std::string der(reinterpret_cast<char*>(out), static_cast<std::size_t>(size));
  OPENSSL_free(out);
  return der;
}

net::KeyPtr key_from(const char* type, OSSL_PARAM_BLD* builder) {
  const ParametersPtr parameters(OSSL_PARAM_BLD_to_param(builder));
  const KeyContextPtr context(EVP_PKEY_CTX_new_from_name(nullptr, type, nullptr));
  EVP_PKEY* made = nullptr;
  if (!parameters || !context || EVP_PKEY_fromdata_init(context.get()) != 1 ||
      EVP_PKEY_fromdata(context.get(), &made, EVP_PKEY_PUBLIC_KEY, parameters.get()) != 1) {
    ERR_clear_error();
    return nullptr;
  }
  return net::KeyPtr(made);
}

std::string member(const Value& jwk, std::string_view name) {
  return schema::base64url_decode(jwk[name].text()).value_or("");
}

net::KeyPtr rsa_key(const Value& jwk) {
  const std::string modulus = member(jwk, "n"), exponent = member(jwk, "e");
  constexpr std::size_t kExponentMax = 4;
  if (modulus.empty() || modulus.size() > kRsaBitsMax / 8 + 1 || exponent.empty() || exponent.size() > kExponentMax)
    return nullptr;
  const auto n = bignum_of(modulus), e = bignum_of(exponent);
  const BuilderPtr builder(OSSL_PARAM_BLD_new());
  if (!n || !e || OSSL_PARAM_BLD_push_BN(builder.get(), OSSL_PKEY_PARAM_RSA_N, n.get()) != 1 ||
      OSSL_PARAM_BLD_push_BN(builder.get(), OSSL_PKEY_PARAM_RSA_E, e.get()) != 1)
    return nullptr;
  return key_from("RSA", builder.get());
}

net::KeyPtr ec_key(const Value& jwk) {
  const auto* curve = std::ranges::find(kCurves, jwk["crv"].text(), &Curve::name);
  if (curve == std::end(kCurves)) return nullptr;
  const std::string x = member(jwk, "x"), y = member(jwk, "y");
  if (x.size() != curve->coordinate || y.size() != curve->coordinate) return nullptr;
  const std::string point = "\x04" + x + y, group(curve->group);
  const BuilderPtr builder(OSSL_PARAM_BLD_new());
  if (OSSL_PARAM_BLD_push_utf8_string(builder.get(), OSSL_PKEY_PARAM_GROUP_NAME, group.c_str(), 0) != 1 ||
      OSSL_PARAM_BLD_push_octet_string(builder.get(), OSSL_PKEY_PARAM_PUB_KEY, point.data(), point.size()) != 1)
    return nullptr;
  return key_from("EC", builder.get());
}

}  // namespace

JwsKey::~JwsKey() { EVP_PKEY_free(evp_key(key_)); }

bool JwsKey::knows(std::string_view algorithm) { return find_algorithm(algorithm) != nullptr; }

std::shared_ptr<const JwsKey> JwsKey::of(void* key, std::string id, std::string algorithm) {
  if (!key || !is_usable(evp_key(key))) return nullptr;
  const std::shared_ptr<JwsKey> made(new JwsKey);
  EVP_PKEY_up_ref(evp_key(key));
  made->key_ = key;
  made->id_ = std::move(id);
  made->algorithm_ = std::move(algorithm);
  made->fingerprint_ = fingerprint_of(evp_key(key));
  return made->fingerprint_.empty() ? nullptr : made;
}

std::shared_ptr<const JwsKey> JwsKey::of_jwk(const Value& jwk) {
  if (const auto use = jwk["use"].text(); !use.empty() && use != "sig") return nullptr;
  const auto type = jwk["kty"].text();
  const auto key = type == "RSA" ? rsa_key(jwk) : type == "EC" ? ec_key(jwk) : nullptr;
  return of(key.get(), jwk["kid"].string(), jwk["alg"].string());
}

bool JwsKey::verify(std::string_view name, std::string_view text, std::string_view signature) const {
  const Algorithm* algorithm = find_algorithm(name);
  if (!algorithm || (!algorithm_.empty() && algorithm_ != name) || !fits_algorithm(evp_key(key_), *algorithm))
    return false;
  std::string der;
  if (algorithm->coordinate != 0) {
    if (signature.size() != 2 * algorithm->coordinate) return false;
    der = der_of_raw(signature, algorithm->coordinate);
    if (der.empty()) return false;
    signature = der;
  }
  const DigestContextPtr context(EVP_MD_CTX_new());
  EVP_PKEY_CTX* padding = nullptr;  // the context's
  if (EVP_DigestVerifyInit(context.get(), &padding, algorithm->digest(), nullptr, evp_key(key_)) != 1) return false;
  if (algorithm->pss && (EVP_PKEY_CTX_set_rsa_padding(padding, RSA_PKCS1_PSS_PADDING) != 1 ||
                         EVP_PKEY_CTX_set_rsa_pss_saltlen(padding, RSA_PSS_SALTLEN_DIGEST) != 1))
    return false;
  const bool right = EVP_DigestVerify(context.get(), openssl_bytes(signature), signature.size(), openssl_bytes(text),
                                      text.size()) == 1;
  if (!right) ERR_clear_error();
  return right;
}

}  // namespace sublet::apiserver
