#include "cluster/local/host_token.h"

#include "cluster/objects/identity.h"
#include "sublet/kube/account_token.h"

namespace sublet::cluster {

Result<bool> renew_token(const Host& host, const LocalCluster& cluster) {
  const std::string path = cluster.layout.host_token_path();
  const auto stored = kube::load_account_token(path);
  const auto token = renewed_token(host, cluster.record, stored ? std::optional(*stored) : std::nullopt);
  if (!token) return fail(token.error());
  if (!*token) return false;
  if (auto saved = kube::save_account_token(path, **token); !saved) return fail(saved.error());
  return !stored || !stored->holds_at(Clock::system().now());
}

bool token_is_valid(const LocalLayout& layout) {
  const auto token = kube::load_account_token(layout.host_token_path());
  return !token || token->holds_at(Clock::system().now());
}

}  // namespace sublet::cluster
