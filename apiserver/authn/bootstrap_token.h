// BootstrapToken: tokens of the form "abcdef.0123456789abcdef", each a Secret bootstrap-token-abcdef in kube-system,
// with which nodes and clusters join. Source: plugin/pkg/auth/authenticator/token/bootstrap of Kubernetes. Pure.
#pragma once

#include <string_view>

#include "sublet/apiserver/options.h"
#include "sublet/base/clock.h"
#include "sublet/store/store.h"

namespace sublet::apiserver {

bool is_bootstrap_token(std::string_view token);
/// unauthorized, with the reason for logs and TokenReview, unless there is such a Secret and it lets log in now.
Result<User> user_of_bootstrap_token(std::string_view token, const store::Snapshot& pending, WallTime now);

/// Compares all bytes whatever they are, so that the time taken says nothing about a secret.
bool same_secret(std::string_view a, std::string_view b);

}  // namespace sublet::apiserver
