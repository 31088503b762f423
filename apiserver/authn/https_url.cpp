#include "apiserver/authn/https_url.h"

#include <algorithm>

#include "sublet/base/host_port.h"

namespace sublet::apiserver {

std::optional<HttpsUrl> HttpsUrl::parse(std::string_view text) {
  constexpr std::string_view kScheme = "https://";
  const auto is_odd = [](unsigned char c) { return c <= 0x20 || c == 0x7f; };
  if (!text.starts_with(kScheme) || std::ranges::any_of(text, is_odd)) return std::nullopt;
  text = text.substr(kScheme.size(), text.find('#') - kScheme.size());
  const auto end = text.find_first_of("/?");
  HttpsUrl made;
  made.authority = text.substr(0, end);
  made.path = end == std::string_view::npos ? "/" : text.substr(end);
  if (made.path.starts_with('?')) made.path.insert(0, "/");
  if (made.authority.find('@') != std::string::npos) return std::nullopt;
  const HostPort parts = split_host_port(made.authority);
  if (parts.port) made.port = parse_port(*parts.port).value_or(0);
  made.host = parts.host;
  return made.host.empty() || made.port == 0 ? std::nullopt : std::optional(std::move(made));
}

}  // namespace sublet::apiserver
