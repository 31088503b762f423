// Tokens: the service-account tokens of tenant pods, asked of the tenant's API server, each bound to its pod, kept in
// one host Secret per batch of pods (names.h: token_batch) and made anew at 80 % of their life; never in annotations.
#include <algorithm>

#include "sublet/base/random.h"
#include "sublet/kube/json_scan.h"
#include "sublet/schema/engine.h"
#include "syncer/border/border.h"
#include "syncer/to_host/host_object.h"
#include "syncer/translate/metadata.h"
#include "syncer/translate/names.h"

namespace sublet::syncer {
namespace {

using schema::Document;
using schema::Value;

constexpr std::string_view kAnnotationExpires = "sublet.dev/token-expires";
constexpr std::string_view kAnnotationRefresh = "sublet.dev/token-refresh";
constexpr std::string_view kTokensKind = "PodToken";

struct IssuedToken {
  std::string token;
  WallTime expires;
};

Result<IssuedToken> issue(Border& border, const TokenRequest& request, const kube::CachedObject& tenant_pod) {
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
  bound.put("name", tenant_pod.name);
  bound.put("uid", tenant_pod.uid);
  ++border.tenant.writes;
  auto answer = border.tenant.client.create(kServiceAccounts, tenant_pod.namespace_name, body.root(),
                                            request.service_account, "token");
  if (!answer) return fail(answer.error());
  const Value status = answer->root()["status"];
  const auto expires = parse_time(status["expirationTimestamp"].text());
  return IssuedToken{status["token"].string(),
                     expires.value_or(border.clock.now() + std::chrono::seconds(request.expiration_seconds))};
}

// The batch's Secret as it should be, without its tokens.
Document make_secret(const Border& border, const TokenRequest& any, std::string_view tenant_namespace) {
  Document secret = Document::object();
  Value root = secret.root();
  root.put("apiVersion", "v1");
  root.put("kind", "Secret");
  root.put("type", "Opaque");
  Value metadata = root.object("metadata");
  metadata.put("name", any.secret_name);
  metadata.put("namespace", border.host_namespace());
  mark_as_ours(border.context(), {tenant_namespace, any.batch, any.batch, kTokensKind}, metadata);
  root.object("data");
  return secret;
}

// The moment is one of the time of day, and keys wait by the steady clock, which does not run on while a machine sleeps
// and knows of no new setting: so no wait is longer than this, and what expired meanwhile is not away for longer.
constexpr std::chrono::milliseconds kTokenWaitMax = std::chrono::minutes(5);

std::chrono::milliseconds until(const Border& border, WallTime moment) {
  const auto wait = std::chrono::duration_cast<std::chrono::milliseconds>(moment - border.clock.now());
  return std::clamp(wait, std::chrono::milliseconds(1000), kTokenWaitMax);
}

struct Batch {
  Border& border;
  std::vector<kube::CachedPtr> pods;  // tenant pods that use it
};

// When this Secret's tokens are to be made anew; nullopt: now.
std::optional<WallTime> fresh_until(const Batch& batch, const Value& secret) {
  const auto refresh = parse_time(secret["metadata"]["annotations"][kAnnotationRefresh].text());
  if (!refresh || *refresh <= batch.border.clock.now()) return std::nullopt;
  return *refresh;
}

// The same for a Secret in which every pod's tokens stand. Those of pods that are gone stand there too until the next
// write: the tenant's API server takes none of them any more.
std::optional<WallTime> good_until(const Batch& batch, const Value& secret) {
  for (const auto& pod : batch.pods)
    for (const PodUsePtr use = batch.border.pods.uses.of(*pod); const TokenRequest& request : use->tokens)
      if (!secret["data"].has(request.secret_key)) return std::nullopt;
  return fresh_until(batch, secret);
}

// Takes over the fresh tokens, asks for the others, and says when all have to be made anew.
Result<WallTime> fill(const Batch& batch, const Value& on_host, Value secret) {
  const auto fresh = fresh_until(batch, on_host);
  const WallTime now = batch.border.clock.now();
  const Value old_annotations = on_host["metadata"]["annotations"];
  WallTime expires = now + std::chrono::hours(24 * 365), refresh = expires;
  if (fresh) {
    refresh = *fresh;
    expires = parse_time(old_annotations[kAnnotationExpires].text()).value_or(refresh);
  }
  Value data = secret["data"];
  for (const auto& pod : batch.pods)
    for (const PodUsePtr use = batch.border.pods.uses.of(*pod); const TokenRequest& request : use->tokens) {
      const Value old = on_host["data"][request.secret_key];
      if (fresh && old) {
        data.put(request.secret_key, old);
        continue;
      }
      const auto issued = issue(batch.border, request, *pod);
      if (!issued && issued.error().is(Reason::not_found)) continue;  // gone meanwhile; its event is on the way
      if (!issued) return fail(issued.error());
      data.put(request.secret_key, schema::base64_encode(issued->token));
      expires = std::min(expires, issued->expires);
      refresh = std::min(refresh, now + (issued->expires - now) / 5 * 4);
    }
  Value annotations = secret["metadata"]["annotations"];
  annotations.put(kAnnotationExpires, format_time(expires));
  annotations.put(kAnnotationRefresh, format_time(refresh));
  return refresh;
}

}  // namespace

void leave_out_tokens(std::string& host_secret_json) {
  const auto member = [](std::string_view object, std::string_view key) {
    return kube::json_member(object, key).value_or("");
  };
  const std::string_view metadata = member(host_secret_json, "metadata");
  if (kube::json_unquote(member(member(metadata, "annotations"), kAnnotationTenantKind)) != kTokensKind) return;
  const std::string_view data = member(host_secret_json, "data");
  if (data.empty()) return;
  std::string keys = "{";
  kube::JsonScanner scanner(data);
  std::string_view key, value;
  while (scanner.next(key, value)) keys.append(keys.size() == 1 ? "\"" : ",\"").append(key).append("\":\"\"");
  host_secret_json.replace(static_cast<std::size_t>(data.data() - host_secret_json.data()), data.size(), keys + "}");
}

Result<Requeue> reconcile_token(Border& border, const KindSides&, const std::string& tenant_namespace,
                                const std::string& name) {
  const KindSides& secrets = border.sides("Secret");
  const std::string secret_name = host_token_secret_name(name, tenant_namespace, border.context().virtual_cluster);
  const auto host_secret = secrets.host->get(border.host_namespace(), secret_name);
  const Batch batch{border, border.tenant_pods().by_index(kUsesIndex, queue_key(kTokensKind, tenant_namespace, name))};
  if (batch.pods.empty()) {
    if (!host_secret) return Requeue();
    const auto removed = remove_from_host(border, kSecrets, *host_secret);
    return removed ? Result<Requeue>(Requeue()) : fail(removed.error());
  }
  Document on_host;
  if (host_secret) {
    if (const auto moment = good_until(batch, host_secret->document().root())) return Requeue(until(border, *moment));
    // The copy may be behind what was written here a moment ago, and each token differs from the last: the host is
    // asked before one is made anew. (Of a Secret that the copy lacks, its creation tells.)
    auto present = border.host.client.get(kSecrets, border.host_namespace(), secret_name);
    if (!present && !present.error().is(Reason::not_found)) return fail(present.error());
    if (present) on_host = std::move(*present);
    if (const auto moment = good_until(batch, on_host.root())) return Requeue(until(border, *moment));
  }

  // For whom this is: the pod that came last.
  const auto newest = std::ranges::max(batch.pods, {}, [](const kube::CachedPtr& pod) {
    return std::pair(pod->resource_version.size(), pod->resource_version);
  });
  write_for(kPods, newest->namespace_name, newest->name, newest.get());
  const PodUsePtr use = border.pods.uses.of(*batch.pods.front());
  if (use->tokens.empty()) return Requeue();  // denied since; the index follows
  Document secret = make_secret(border, use->tokens.front(), tenant_namespace);
  const auto refresh = fill(batch, on_host.root(), secret.root());
  if (!refresh) return fail(refresh.error());
  const Document some_pod = whole(*batch.pods.front(), border.sides("Pod").kind);
  auto applied = apply_to_host(border, secrets.kind, host_secret, std::move(secret), some_pod.root(),
                               [&](const Value& present) { return good_until(batch, present).has_value(); });
  if (!applied || *applied) return applied;
  return Requeue(until(border, *refresh));
}

}  // namespace sublet::syncer
