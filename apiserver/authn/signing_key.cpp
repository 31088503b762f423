#include "apiserver/authn/signing_key.h"

#include <openssl/core_names.h>
#include <openssl/ecdsa.h>

#include <map>

#include "apiserver/authn/openssl_key.h"
#include "apiserver/authn/service_account_token.h"
#include "sublet/base/mutex.h"
#include "sublet/net/openssl_ptr.h"
#include "sublet/schema/engine.h"

namespace sublet::apiserver {
namespace {

constexpr std::size_t kCoordinate = 32;

std::string padded(const BIGNUM* number) {
  std::string bytes(kCoordinate, '\0');
  auto out = reinterpret_cast<unsigned char*>(bytes.data());
  return BN_bn2binpad(number, out, static_cast<int>(kCoordinate)) < 0 ? "" : bytes;
}

std::string coordinate(EVP_PKEY* key, const char* name) {
  BIGNUM* number = nullptr;
  if (EVP_PKEY_get_bn_param(key, name, &number) != 1) return "";
  const net::BignumPtr owned(number);
  return padded(number);
}

/// OpenSSL speaks DER; JWS wants the two numbers side by side.
std::string raw_of_der(std::string_view der) {
  auto in = openssl_bytes(der);
  EcdsaSignaturePtr signature(d2i_ECDSA_SIG(nullptr, &in, static_cast<long>(der.size())));
  if (!signature) return "";
  return padded(ECDSA_SIG_get0_r(signature.get())) + padded(ECDSA_SIG_get0_s(signature.get()));
}

}  // namespace

SigningKey::~SigningKey() { EVP_PKEY_free(evp_key(key_)); }

bool SigningKey::read_public_parts() {
  char group[64] = {};
  if (EVP_PKEY_get_group_name(evp_key(key_), group, sizeof(group), nullptr) != 1) return false;
  if (std::string_view(group) != "prime256v1" && std::string_view(group) != "P-256") return false;
  const auto unnamed = JwsKey::of(key_, "", "ES256");
  if (!unnamed) return false;
  public_ = JwsKey::of(key_, unnamed->fingerprint(), "ES256");
  x_ = coordinate(evp_key(key_), OSSL_PKEY_PARAM_EC_PUB_X);
  y_ = coordinate(evp_key(key_), OSSL_PKEY_PARAM_EC_PUB_Y);
  return x_.size() == kCoordinate && y_.size() == kCoordinate;
}

Result<std::shared_ptr<const SigningKey>> SigningKey::load(const std::string& pem) {
  static Mutex mutex;
  static std::map<std::string, std::shared_ptr<const SigningKey>> loaded;  // one or two per process
  MutexLock lock(mutex);
  if (auto found = loaded.find(pem); found != loaded.end()) return found->second;
  std::shared_ptr<SigningKey> key(new SigningKey);
  key->key_ = net::read_private_key(pem).release();
  if (!key->key_ || !key->read_public_parts())
    return internal_error("the service account key is no EC private key on P-256");
  loaded[pem] = key;
  return std::shared_ptr<const SigningKey>(key);
}

Result<SigningKey::All> SigningKey::load_all(const std::string& pem) {
  static Mutex mutex;
  static std::map<std::string, All> loaded;
  {
    const MutexLock lock(mutex);
    if (const auto found = loaded.find(pem); found != loaded.end()) return found->second;
  }
  constexpr std::string_view kBegin = "-----BEGIN ";
  auto set = std::make_shared<Set>();
  for (std::size_t at = 0; at < pem.size();) {
    const std::size_t next = std::min(pem.find(kBegin, at + 1), pem.size());
    auto key = load(pem.substr(at, next - at));
    if (!key) return fail(key.error());
    set->public_keys.push_back((*key)->public_key());
    set->keys.push_back(std::move(*key));
    at = next;
  }
  const MutexLock lock(mutex);
  return loaded.emplace(pem, std::move(set)).first->second;
}

std::string SigningKey::sign(std::string_view text) const {
  DigestContextPtr context(EVP_MD_CTX_new());
  if (EVP_DigestSignInit(context.get(), nullptr, EVP_sha256(), nullptr, evp_key(key_)) != 1) return "";
  std::size_t size = 0;
  if (EVP_DigestSign(context.get(), nullptr, &size, openssl_bytes(text), text.size()) != 1) return "";
  std::string der(size, '\0');
  auto out = reinterpret_cast<unsigned char*>(der.data());
  if (EVP_DigestSign(context.get(), out, &size, openssl_bytes(text), text.size()) != 1) return "";
  der.resize(size);
  return raw_of_der(der);
}

}  // namespace sublet::apiserver
