// Parses "host:port", as addresses to listen on and URLs have it.
//
// Accepted: "name:443", "10.0.0.1:443", "[::1]:443", ":443" (an empty host), and each of them without a port. An IPv6
// address without brackets leaves open where the port begins: its last group is taken for it, as in "::1:443".
// Callers that must not guess refuse a host that has a ':' and no brackets. The host is not checked otherwise.
//
// Threads: pure functions. Ownership: the parts point into the argument. Errors: none. Every text has a host; whether
// it needs a port, and whether that is a number, is for the caller to check.
//
//   const HostPort parts = split_host_port("[::1]:443");            // host "::1", port "443"
//   const auto port = parts.port ? parse_port(*parts.port) : 443;   // absent: the scheme's; refused: nullopt
#pragma once

#include <optional>
#include <string_view>

namespace sublet {

struct HostPort {
  std::string_view host;                      // without brackets
  bool is_bracketed = false;                  // the host was within brackets
  std::optional<std::string_view> port = {};  // nullopt: no ':' follows the host; "": nothing follows the ':'
};

/// Splits at the last ':' that no ']' follows.
HostPort split_host_port(std::string_view text);

/// Returns the number from 0 to 65535. Refuses all but digits: signs, spaces, names of services, and an empty text.
std::optional<int> parse_port(std::string_view text);

}  // namespace sublet
