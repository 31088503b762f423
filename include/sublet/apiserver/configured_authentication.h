// ConfiguredAuthentication: who else than this cluster says who somebody is: issuers of JSON Web Tokens (OpenID
// Connect) that a file names, upstream's AuthenticationConfiguration (apiserver.config.k8s.io), and where anonymous
// requests may go.
//
// Issuers' keys are asked for over HTTPS through a net::OutboundClient, at the start and when a token names one that is
// not known, at most every ten seconds.
// Lifecycle: read() once; the loop and the clock must live until stop(), after which nobody is asked any more. Threads:
// any.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "sublet/apiserver/options.h"
#include "sublet/base/clock.h"
#include "sublet/net/address_rules.h"
#include "sublet/net/loop.h"

namespace sublet::apiserver {

class ConfiguredAuthentication {
 public:
  /// `text`: YAML or JSON. bad_request with all that is wrong with it, in upstream's words. `own_issuer`: of the
  /// service account tokens; nobody else may have its name.
  static Result<std::shared_ptr<ConfiguredAuthentication>> read(std::string_view text, const std::string& own_issuer,
                                                                net::Loop& loop, net::AddressRules rules, Clock& clock);
  ~ConfiguredAuthentication();
  ConfiguredAuthentication(const ConfiguredAuthentication&) = delete;
  ConfiguredAuthentication& operator=(const ConfiguredAuthentication&) = delete;

  /// Whether the token's issuer is being asked for a key; then `then` runs when it has answered, on the loop's thread.
  bool wait_for_keys(std::string_view token, std::function<void()> then);
  /// nullopt: the token is of none of these issuers. unauthorized: it is, and why not.
  std::optional<Result<User>> user_of(std::string_view token) const;
  bool admits_anonymous(std::string_view path) const;
  void stop();

 private:
  struct Impl;
  explicit ConfiguredAuthentication(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace sublet::apiserver
