// Tokens: the service-account tokens of a tenant pod, asked of the tenant's API server, bound to the pod, kept in one
// host Secret and refreshed at 80 % of their life; never in annotations.
#include <algorithm>

#include "sublet/base/random.h"
#include "sublet/schema/engine.h"
#include "syncer/border.h"
#include "syncer/to_host/host_object.h"
#include "syncer/translate/names.h"

namespace sublet::syncer {
namespace {

using schema::Document;
using schema::Value;

constexpr std::string_view kAnnotationExpires = "sublet.dev/token-expires";
constexpr std::string_view kAnnotationRefresh = "sublet.dev/token-refresh";

struct IssuedToken {
  std::string token;
  WallTime expires;
};

Result<IssuedToken> issue(Border& border, const TokenRequest& request, const Value& tenant_pod) {
  Document body = Document::object();
  body.root().put("apiVersion", "authentication.k8s.io/v1");
  body.root().put("kind", "TokenRequest");
  Value spec = body.root().object("spec");
  Value audiences = spec.array("audiences");
  if (!request.audience.empty()) audiences.push(request.audience);
  spec.put("expirationSeconds", std::max(request.expiration_seconds, 600));
  Value bound = spec.object("boundObjectRef");
  bound.put("apiVersion", "v1");
  bound.put("kind", "Pod");
  bound.put("name", tenant_pod["metadata"]["name"].text());
  bound.put("uid", tenant_pod["metadata"]["uid"].text());
  ++border.tenant_writes;
  auto answer = border.tenant.create(kServiceAccounts, tenant_pod["metadata"]["namespace"].text(), body.root(),
                                     request.service_account, "token");
  if (!answer) return fail(answer.error());
  const Value status = answer->root()["status"];
  const auto expires = parse_time(status["expirationTimestamp"].text());
  return IssuedToken{status["token"].string(),
                     expires.value_or(border.clock.now() + std::chrono::seconds(request.expiration_seconds))};
}

Document make_secret(const Border& border, const std::string& secret_name, const Value& tenant_pod) {
  Document secret = Document::object();
  Value root = secret.root();
  root.put("apiVersion", "v1");
  root.put("kind", "Secret");
  root.put("type", "Opaque");
  Value metadata = root.object("metadata");
  metadata.put("name", secret_name);
  metadata.put("namespace", border.host_namespace());
  Value labels = metadata.object("labels");
  labels.put(kLabelManagedBy, border.context().virtual_cluster);
  labels.put(kLabelTenantUid, border.context().virtual_cluster_uid);
  Value annotations = metadata.object("annotations");
  annotations.put(kAnnotationTenantName, tenant_pod["metadata"]["name"].text());
  annotations.put(kAnnotationTenantNamespace, tenant_pod["metadata"]["namespace"].text());
  annotations.put(kAnnotationTenantUid, tenant_pod["metadata"]["uid"].text());
  annotations.put(kAnnotationTenantKind, "PodToken");
  return secret;
}

std::chrono::milliseconds until(const Border& border, WallTime moment) {
  const auto wait = std::chrono::duration_cast<std::chrono::milliseconds>(moment - border.clock.now());
  return std::max(wait, std::chrono::milliseconds(1000));
}

// When this Secret must be made anew; nullopt: now.
std::optional<WallTime> fresh_until(const Border& border, const Value& secret, const Value& tenant_pod,
                                    std::size_t tokens) {
  const Value annotations = secret["metadata"]["annotations"];
  if (annotations[kAnnotationTenantUid].text() != tenant_pod["metadata"]["uid"].text()) return std::nullopt;
  if (secret["data"].size() != tokens) return std::nullopt;
  const auto refresh = parse_time(annotations[kAnnotationRefresh].text());
  if (!refresh || *refresh <= border.clock.now()) return std::nullopt;
  return refresh;
}

}  // namespace

Result<Requeue> reconcile_token(Border& border, const std::string& tenant_namespace,
                                const std::string& tenant_pod_name) {
  const std::string secret_name =
      host_token_secret_name(tenant_pod_name, tenant_namespace, border.context().virtual_cluster);
  const auto host_secret = border.host_secrets->get(border.host_namespace(), secret_name);
  const auto cached = border.tenant_pods->get(tenant_namespace, tenant_pod_name);
  const auto remove = [&]() -> Result<Requeue> {
    if (!host_secret) return Requeue();
    const auto removed = remove_from_host(border, kSecrets, *host_secret);
    return removed ? Result<Requeue>(Requeue()) : fail(removed.error());
  };
  if (!cached) return remove();
  const Document tenant_pod = whole(*cached, "v1", "Pod");
  const std::string_view phase = tenant_pod["status"]["phase"].text();
  if (phase == "Succeeded" || phase == "Failed") return remove();
  const auto translated = translate(border.context(), "Pod", tenant_pod.root(), Operation::update);
  if (!translated || translated->tokens.empty()) return remove();
  const auto fresh = [&](const Value& secret) {
    return fresh_until(border, secret, tenant_pod.root(), translated->tokens.size());
  };
  if (host_secret) {
    if (const auto moment = fresh(host_secret->document().root())) return Requeue(until(border, *moment));
    // The copy may be behind what was written here a moment ago, and each token differs from the last: the host is
    // asked before one is made anew. (Of a Secret that the copy lacks, its creation tells.)
    const auto present = border.host.get(kSecrets, border.host_namespace(), secret_name);
    if (!present && !present.error().is(Reason::not_found)) return fail(present.error());
    if (present)
      if (const auto moment = fresh(present->root())) return Requeue(until(border, *moment));
  }

  Document secret = make_secret(border, secret_name, tenant_pod.root());
  Value data = secret.root().object("data");
  const WallTime now = border.clock.now();
  WallTime first_expiry = now + std::chrono::hours(24 * 365);
  for (const TokenRequest& request : translated->tokens) {
    auto token = issue(border, request, tenant_pod.root());
    if (!token) return fail(token.error());
    data.put(request.secret_key, schema::base64_encode(token->token));
    first_expiry = std::min(first_expiry, token->expires);
  }
  const WallTime refresh = now + (first_expiry - now) / 5 * 4;
  Value annotations = secret.root()["metadata"]["annotations"];
  annotations.put(kAnnotationExpires, format_time(first_expiry));
  annotations.put(kAnnotationRefresh, format_time(refresh));
  auto applied = apply_to_host(border, "Secret", kSecrets, host_secret, std::move(secret), tenant_pod.root(),
                               [&](const Value& present) { return fresh(present).has_value(); });
  if (!applied || *applied) return applied;
  return Requeue(until(border, refresh));
}

}  // namespace sublet::syncer
