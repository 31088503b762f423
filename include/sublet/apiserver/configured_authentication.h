// ConfiguredAuthentication: issuers of JSON Web Tokens (OpenID Connect) that a file names, as in upstream's
// AuthenticationConfiguration (apiserver.config.k8s.io), and the paths that accept anonymous requests.
//
// Fetches the issuers' keys over HTTPS through a net::OutboundClient: at the start, and when a token names an unknown
// key, at most every ten seconds.
// Lifecycle: read() once; the loop and the clock must outlive stop(), after which no request is made. Threads: any.
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
  /// `text`: YAML or JSON. Errors: bad_request with all mistakes, in upstream's words. `own_issuer`: the issuer of
  /// service account tokens, whose name is reserved.
  static Result<std::shared_ptr<ConfiguredAuthentication>> read(std::string_view text, const std::string& own_issuer,
                                                                net::Loop& loop, net::AddressRules rules, Clock& clock);
  ~ConfiguredAuthentication();
  ConfiguredAuthentication(const ConfiguredAuthentication&) = delete;
  ConfiguredAuthentication& operator=(const ConfiguredAuthentication&) = delete;

  /// Returns true while a key of the token's issuer is being fetched; `then` runs afterwards, on the loop's thread.
  bool wait_for_keys(std::string_view token, std::function<void()> then);
  /// nullopt: the token is from none of these issuers. Errors: unauthorized with the reason.
  std::optional<Result<User>> user_of(std::string_view token) const;
  bool admits_anonymous(std::string_view path) const;
  void stop();

 private:
  struct Impl;
  explicit ConfiguredAuthentication(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace sublet::apiserver
