#include "sublet/base/host_port.h"

#include <charconv>
#include <cstdint>

namespace sublet {

HostPort split_host_port(std::string_view text) {
  HostPort parts{.host = text};
  const auto colon = text.rfind(':');
  if (colon != std::string_view::npos && text.find(']', colon) == std::string_view::npos) {
    parts.host = text.substr(0, colon);
    parts.port = text.substr(colon + 1);
  }
  parts.is_bracketed = parts.host.starts_with('[') && parts.host.ends_with(']');
  if (parts.is_bracketed) parts.host = parts.host.substr(1, parts.host.size() - 2);
  return parts;
}

std::optional<int> parse_port(std::string_view text) {
  std::uint16_t port = 0;
  const char* const last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, port);
  return error == std::errc() && end == last ? std::optional<int>(port) : std::nullopt;
}

}  // namespace sublet
