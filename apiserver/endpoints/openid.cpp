// By which others verify the tokens of service accounts (OpenID Connect Discovery 1.0).
#include "apiserver/authn/service_account_token.h"
#include "apiserver/codec/negotiation.h"
#include "apiserver/endpoints/endpoint.h"
#include "apiserver/verbs/verb.h"

namespace sublet::apiserver {
namespace {

constexpr std::string_view kKeySetPath = "/openid/v1/jwks";

bool signs(const ContextPtr& context) {
  if (!context->core->options.service_account_key_pem.empty()) return true;
  Status status;
  status.reason = Reason::not_found;
  status.message = "this API server signs no tokens";
  reply_status(*context, status);
  return false;
}

}  // namespace

void serve_openid_configuration(const ContextPtr& context) {
  if (!signs(context)) return;
  const ServerOptions& options = context->core->options;
  const bool v6 = options.advertise_address.find(':') != std::string::npos;
  const std::string host = v6 ? "[" + options.advertise_address + "]" : options.advertise_address;
  const std::string keys = "https://" + host + ":" + std::to_string(options.advertise_port) + std::string(kKeySetPath);
  reply_text(*context, 200, kJsonType, openid_configuration(options.service_account_issuer, keys));
}

void serve_key_set(const ContextPtr& context) {
  if (!signs(context)) return;
  auto keys = json_web_key_set(context->core->options.service_account_key_pem);
  if (!keys) return reply_status(*context, keys.error());
  reply_text(*context, 200, "application/jwk-set+json", std::move(*keys));
}

}  // namespace sublet::apiserver
