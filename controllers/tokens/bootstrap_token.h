// BootstrapToken: the contents of a Secret of type bootstrap.kubernetes.io/token (kubeadm join). Pure.
// Source: k8s.io/cluster-bootstrap/util/secrets and token/jws.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "sublet/base/clock.h"
#include "sublet/schema/document.h"
#include "sublet/store/store.h"

namespace sublet::controllers {

inline constexpr std::string_view kTokenNamespace = "kube-system";

bool is_bootstrap_token(const store::Object& secret);

struct BootstrapToken {
  std::string id, secret;
  bool signs = false;            // it may sign cluster-info
  std::optional<WallTime> ends;  // nullopt: never, or already (see ended)
  bool ended = false;            // also when its end cannot be read
};
/// `name` is the Secret's; a token without id or secret, or with another's name, signs nothing.
BootstrapToken read_bootstrap_token(std::string_view name, const schema::Value& secret, WallTime now);

/// A JWS (HS256) over the content, without the content: "<header>..<signature>".
std::string detached_signature(std::string_view content, const BootstrapToken& token);

}  // namespace sublet::controllers
