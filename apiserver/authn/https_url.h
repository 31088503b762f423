// HttpsUrl: the URL of an issuer, parsed. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace sublet::apiserver {

struct HttpsUrl {
  std::string authority, host, path;  // path: with the query; "/" when it has none
  int port = 443;

  /// nullopt: no https URL of a host, or one with a user.
  static std::optional<HttpsUrl> parse(std::string_view text);
};

}  // namespace sublet::apiserver
