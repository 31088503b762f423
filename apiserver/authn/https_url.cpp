#include "apiserver/authn/https_url.h"

#include <algorithm>
#include <charconv>

namespace sublet::apiserver {

std::optional<HttpsUrl> HttpsUrl::parse(std::string_view text) {
  constexpr std::string_view kScheme = "https://";
  constexpr int kPortMax = 65535;
  const auto is_odd = [](unsigned char c) { return c <= 0x20 || c == 0x7f; };
  if (!text.starts_with(kScheme) || std::ranges::any_of(text, is_odd)) return std::nullopt;
  text = text.substr(kScheme.size(), text.find('#') - kScheme.size());
  const auto end = text.find_first_of("/?");
  HttpsUrl made;
  made.authority = text.substr(0, end);
  made.path = end == std::string_view::npos ? "/" : text.substr(end);
  if (made.path.starts_with('?')) made.path.insert(0, "/");
  if (made.authority.find('@') != std::string::npos) return std::nullopt;
  std::string_view host = made.authority;
  const auto colon = host.rfind(':');
  if (colon != std::string_view::npos && host.find(']', colon) == std::string_view::npos) {
    const auto digits = host.substr(colon + 1);
    const auto [last, error] = std::from_chars(digits.data(), digits.data() + digits.size(), made.port);
    if (error != std::errc() || last != digits.data() + digits.size() || made.port < 1 || made.port > kPortMax)
      return std::nullopt;
    host = host.substr(0, colon);
  }
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  made.host = host;
  return host.empty() ? std::nullopt : std::optional(std::move(made));
}

}  // namespace sublet::apiserver
