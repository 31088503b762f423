// AuthenticationConfiguration: upstream's file of this name (apiserver.config.k8s.io), parsed and validated: issuers of
// tokens with their claim mappings, and the paths that accept anonymous requests. Values; pure. Source:
// k8s.io/apiserver pkg/apis/apiserver/validation.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sublet/base/status.h"
#include "sublet/patches/cel.h"

namespace sublet::apiserver {

/// Where a part of the user comes from: a claim, or an expression over all of them. Neither: from nowhere.
struct ClaimSource {
  std::string claim, prefix;
  std::optional<patches::cel::Program> expression;
};
struct ClaimRule {
  patches::cel::Program expression;
  std::string message;
};

struct JwtIssuer {
  std::string url, discovery_url, ca_pem;
  std::vector<std::string> audiences;
  ClaimSource username, groups, uid;
  std::vector<std::pair<std::string, patches::cel::Program>> extra;  // by key
  std::vector<std::pair<std::string, std::string>> required_claims;  // with their values
  std::vector<ClaimRule> claim_rules, user_rules;
};

struct AuthenticationConfiguration {
  std::vector<JwtIssuer> issuers;
  bool anonymous = true;
  std::vector<std::string> anonymous_paths;  // empty: all
};

/// bad_request with all that is wrong.
Result<AuthenticationConfiguration> read_authentication_configuration(std::string_view text,
                                                                      const std::string& own_issuer);

}  // namespace sublet::apiserver
