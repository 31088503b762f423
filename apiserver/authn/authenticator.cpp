#include "apiserver/authn/authenticator.h"

#include <algorithm>

#include "apiserver/authn/bootstrap_token.h"
#include "apiserver/authn/service_account_token.h"
#include "apiserver/request/user_names.h"
#include "sublet/apiserver/configured_authentication.h"
#include "sublet/kube/websocket_protocols.h"

namespace sublet::apiserver {
namespace {

using schema::Document;

constexpr std::string_view kCredentialId = "authentication.kubernetes.io/credential-id";
// A token may outlive its pod for as long as the pod still says goodbye.
constexpr std::chrono::seconds kDeletedLeeway{60};

tl::unexpected<Status> unknown_token() { return fail(Reason::unauthorized, std::string(kUnknownToken)); }
tl::unexpected<Status> unauthorized() { return fail(Reason::unauthorized, "Unauthorized"); }

User with_authenticated(User user) {
  if (std::find(user.groups.begin(), user.groups.end(), kAuthenticatedGroup) == user.groups.end())
    user.groups.emplace_back(kAuthenticatedGroup);
  return user;
}

bool has_gone(const store::Object& stored, WallTime now) {
  if (stored.bytes.find("\"deletionTimestamp\"") == std::string::npos) return false;
  auto document = Document::parse_json(stored.json());
  if (!document) return true;
  auto deleted = parse_time((*document)["metadata"]["deletionTimestamp"].text());
  return deleted && *deleted + kDeletedLeeway < now;
}

tl::unexpected<Status> dead(std::string why) { return fail(Reason::unauthorized, std::move(why)); }

Outcome check_account(const store::Snapshot& pending, const std::string& ns, const TokenSubject& account,
                      WallTime now) {
  const auto stored = pending.get("serviceaccounts/" + ns + "/" + account.name);
  if (!stored) return dead("serviceaccounts \"" + account.name + "\" not found");
  if (stored->index.uid != account.uid)
    return dead("service account UID (" + stored->index.uid + ") does not match claim (" + account.uid + ")");
  if (has_gone(*stored, now)) return dead("service account " + ns + "/" + account.name + " has been deleted");
  return {};
}

/// `what` as messages name it, for every object that a token can be bound to.
Outcome check_alive(const store::Snapshot& pending, const std::string& key, const TokenSubject& subject,
                    std::string_view what, WallTime now) {
  if (!subject) return {};
  const auto stored = pending.get(key + subject.name);
  if (!stored) return dead("service account token has been invalidated");
  if (stored->index.uid != subject.uid)
    return dead(std::string(what) + " UID (" + stored->index.uid + ") does not match service account " +
                std::string(what) + " ref claim (" + subject.uid + ")");
  if (has_gone(*stored, now)) return dead("service account token has been invalidated");
  return {};
}

Outcome check_all_alive(const TokenClaims& claims, const store::Snapshot& pending, WallTime now) {
  const auto& ns = claims.namespace_name;
  if (auto alive = check_account(pending, ns, claims.account, now); !alive) return alive;
  if (auto alive = check_alive(pending, "secrets/" + ns + "/", claims.secret, "secret", now); !alive) return alive;
  if (auto alive = check_alive(pending, "pods/" + ns + "/", claims.pod, "pod", now); !alive) return alive;
  // A pod's token names the pod's node as well; that one is information, not a bond.
  if (claims.pod) return {};
  return check_alive(pending, "nodes/", claims.node, "node", now);
}

/// A token that the syncer asked for is older than its pod's binding to a node: which one it is says the pod.
void complete_node(TokenClaims& claims, const store::Snapshot& pending) {
  if (claims.node || !claims.pod) return;
  const auto pod = pending.get("pods/" + claims.namespace_name + "/" + claims.pod.name);
  if (!pod) return;
  for (const auto& [field, value] : pod->index.fields)
    if (field == "spec.nodeName") claims.node.name = value;
  if (claims.node.name.empty()) return;
  if (const auto node = pending.get("nodes/" + claims.node.name)) claims.node.uid = node->index.uid;
}

User user_of_token_claims(const TokenClaims& claims) {
  User user;
  user.name = "system:serviceaccount:" + claims.namespace_name + ":" + claims.account.name;
  user.uid = claims.account.uid;
  user.groups = {"system:serviceaccounts", "system:serviceaccounts:" + claims.namespace_name};
  auto add = [&user](std::string_view key, const std::string& value) {
    if (!value.empty()) user.extra.push_back({std::string(key), {value}});
  };
  if (!claims.id.empty()) add(kCredentialId, "JTI=" + claims.id);
  add("authentication.kubernetes.io/node-name", claims.node.name);
  add("authentication.kubernetes.io/node-uid", claims.node.uid);
  add("authentication.kubernetes.io/pod-name", claims.pod.name);
  add("authentication.kubernetes.io/pod-uid", claims.pod.uid);
  return with_authenticated(std::move(user));
}

std::optional<User> user_of_static_token(std::string_view token, const ServerOptions& options) {
  for (const auto& [known, user] : options.static_tokens)
    if (same_secret(known, token)) return with_authenticated(user);
  return std::nullopt;
}

/// "Bearer x" -> "x"; "" when the header is another or missing.
std::string_view bearer_token(const net::Request& request) {
  auto value = request.headers.get("Authorization");
  auto space = value.find(' ');
  if (space == std::string_view::npos) return {};
  std::string scheme(value.substr(0, space));
  std::transform(scheme.begin(), scheme.end(), scheme.begin(), [](unsigned char c) { return std::tolower(c); });
  if (scheme != "bearer") return {};
  value.remove_prefix(space + 1);
  while (value.starts_with(' ')) value.remove_prefix(1);
  while (value.ends_with(' ')) value.remove_suffix(1);
  return value;
}

std::optional<User> user_of_peer(const net::PeerIdentity& peer, const ServerOptions& options) {
  using Kind = net::PeerIdentity::Kind;
  User user;
  user.name = peer.common_name;
  user.groups = peer.organizations;
  if (peer.kind == Kind::certificate && !peer.common_name.empty()) {
    user.extra.push_back({std::string(kCredentialId), {"X509SHA256=" + peer.sha256}});
    return with_authenticated(std::move(user));
  }
  if (peer.kind == Kind::unix_socket) {
    user.name = options.unix_socket_user;
    return with_authenticated(std::move(user));
  }
  if (peer.kind == Kind::in_process) {
    if (user.name.empty()) user.name = kInProcessUser;
    if (user.groups.empty()) user.groups = {std::string(kMastersGroup)};
    return with_authenticated(std::move(user));
  }
  return std::nullopt;
}

}  // namespace

Result<TokenIdentity> authenticate_token(std::string_view token, const std::vector<std::string>& audiences,
                                         const ServerOptions& options, const store::Snapshot& pending, Clock& clock) {
  const std::vector<std::string> wanted =
      audiences.empty() ? std::vector<std::string>{options.service_account_issuer} : audiences;
  const auto is_own = [&options](const std::vector<std::string>& asked) {
    return std::find(asked.begin(), asked.end(), options.service_account_issuer) != asked.end();
  };
  if (auto user = user_of_static_token(token, options)) {
    if (!is_own(wanted)) return unknown_token();
    return TokenIdentity{std::move(*user), {options.service_account_issuer}};
  }
  if (is_bootstrap_token(token)) {
    auto user = user_of_bootstrap_token(token, pending, clock.now());
    if (!user || !is_own(wanted)) return unknown_token();  // upstream says no more of why
    return TokenIdentity{with_authenticated(std::move(*user)), {options.service_account_issuer}};
  }
  if (options.authentication) {
    if (auto user = options.authentication->user_of(token)) {
      if (!is_own(wanted)) return unknown_token();
      if (!*user) return fail(user->error());
      return TokenIdentity{with_authenticated(std::move(**user)), {options.service_account_issuer}};
    }
  }
  if (options.service_account_key_pem.empty()) return unknown_token();
  auto claims =
      verify_token(options.service_account_key_pem, token, options.service_account_issuer, wanted, clock.now());
  if (!claims) return fail(claims.error());
  if (auto alive = check_all_alive(*claims, pending, clock.now()); !alive) return fail(alive.error());
  complete_node(*claims, pending);
  TokenIdentity identity{user_of_token_claims(*claims), {}};
  for (const auto& audience : claims->audiences)
    if (std::find(wanted.begin(), wanted.end(), audience) != wanted.end()) identity.audiences.push_back(audience);
  return identity;
}

std::string presented_token(const net::Request& request) {
  const auto token = bearer_token(request);
  return token.empty() ? kube::websocket_token(request.headers) : std::string(token);
}

Result<User> authenticate(const net::Request& request, const ServerOptions& options,
                          const std::function<store::Snapshot()>& snapshot, Clock& clock) {
  auto token = bearer_token(request);
  const std::string carried = token.empty() ? kube::websocket_token(request.headers) : std::string();
  if (token.empty()) token = carried;
  // A certificate is proven by the handshake and comes first, as upstream's order has it. On the socket and in-process,
  // a token that is sent says on whose behalf the request is, and must be right.
  bool proven = request.peer.kind == net::PeerIdentity::Kind::certificate;
  if (token.empty() || proven)
    if (auto user = user_of_peer(request.peer, options)) return std::move(*user);
  if (token.empty() && options.authentication && !options.authentication->admits_anonymous(request.path()))
    return unauthorized();
  if (token.empty()) return User{std::string(kAnonymousUser), {}, {std::string(kUnauthenticatedGroup)}, {}};
  auto identity = authenticate_token(token, {}, options, snapshot(), clock);
  if (!identity) return unauthorized();
  return std::move(identity->user);
}

}  // namespace sublet::apiserver
