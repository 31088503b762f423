#include "apiserver/authn/bootstrap_token.h"

#include <algorithm>

#include "apiserver/authn/refuse_token.h"
#include "sublet/schema/engine.h"

namespace sublet::apiserver {
namespace {

using schema::Document;
using schema::Value;

constexpr std::size_t kIdSize = 6, kSecretSize = 16;
constexpr std::string_view kGroupPrefix = "system:bootstrappers:", kBootstrappersGroup = "system:bootstrappers";
constexpr std::size_t kGroupNameMax = 256;

bool is_word(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); });
}

bool is_extra_group(std::string_view group) {
  if (!group.starts_with(kGroupPrefix)) return false;
  group.remove_prefix(kGroupPrefix.size());
  if (group.empty() || group.size() > kGroupNameMax || !is_word(group.substr(group.size() - 1))) return false;
  return std::all_of(group.begin(), group.end(), [](char c) { return is_word({&c, 1}) || c == ':' || c == '-'; });
}

std::string data_of(const Value& secret, std::string_view key) {
  return schema::base64_decode(secret["data"][key].text()).value_or(std::string());
}

Result<std::vector<std::string>> groups_of(const Value& secret) {
  std::vector<std::string> groups{std::string(kBootstrappersGroup)};
  std::string_view rest;
  const std::string listed = data_of(secret, "auth-extra-groups");
  for (rest = listed; !rest.empty();) {
    const auto comma = std::min(rest.find(','), rest.size());
    const auto group = rest.substr(0, comma);
    if (!is_extra_group(group)) return refuse_token("bootstrap token's Secret lists a group that is no bootstrappers'");
    groups.emplace_back(group);
    rest.remove_prefix(std::min(comma + 1, rest.size()));
  }
  return groups;
}

Outcome check_secret(const Value& secret, std::string_view id, std::string_view wanted, WallTime now) {
  if (secret["type"].text() != "bootstrap.kubernetes.io/token") return refuse_token("Secret is of another type");
  if (!same_secret(data_of(secret, "token-secret"), wanted)) return refuse_token("bootstrap token is wrong");
  if (data_of(secret, "token-id") != id) return refuse_token("bootstrap token's Secret names another id");
  if (secret["metadata"].has("deletionTimestamp")) return refuse_token("bootstrap token's Secret is being deleted");
  if (const auto expiration = data_of(secret, "expiration"); !expiration.empty()) {
    const auto end = parse_time(expiration);
    if (!end || *end <= now) return refuse_token("bootstrap token has expired");
  }
  if (data_of(secret, "usage-bootstrap-authentication") != "true")
    return refuse_token("bootstrap token is not for logging in");
  return {};
}

}  // namespace

bool same_secret(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  unsigned difference = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    difference |= static_cast<unsigned char>(a[i]) ^ static_cast<unsigned char>(b[i]);
  return difference == 0;
}

bool is_bootstrap_token(std::string_view token) {
  return token.size() == kIdSize + 1 + kSecretSize && token[kIdSize] == '.' && is_word(token.substr(0, kIdSize)) &&
         is_word(token.substr(kIdSize + 1));
}

Result<User> user_of_bootstrap_token(std::string_view token, const store::Snapshot& pending, WallTime now) {
  const std::string id(token.substr(0, kIdSize));
  const auto stored = pending.get("secrets/kube-system/bootstrap-token-" + id);
  if (!stored) return refuse_token("no such bootstrap token");
  const auto secret = Document::parse_json(stored->json());
  if (!secret) return refuse_token("bootstrap token's Secret is unreadable");
  if (auto good = check_secret(secret->root(), id, token.substr(kIdSize + 1), now); !good) return fail(good.error());
  auto groups = groups_of(secret->root());
  if (!groups) return fail(groups.error());
  return User{"system:bootstrap:" + id, {}, std::move(*groups), {}};
}

}  // namespace sublet::apiserver
