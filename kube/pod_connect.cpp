#include "sublet/kube/pod_connect.h"

#include <algorithm>
#include <array>
#include <set>
#include <span>
#include <string>

#include "sublet/base/text.h"
#include "sublet/kube/query_flag.h"
#include "sublet/kube/websocket_protocols.h"
#include "sublet/net/header_words.h"

namespace sublet::kube {
namespace {

constexpr std::string_view kExec[] = {"command", "container", "stderr", "stdin", "stdout", "tty"};
constexpr std::string_view kAttach[] = {"container", "stderr", "stdin", "stdout", "tty"};
constexpr std::string_view kPortForward[] = {"ports"};
constexpr std::string_view kLists[] = {"command", "ports"};
constexpr std::string_view kFlags[] = {"stderr", "stdin", "stdout", "tty"};

struct ConnectParameters {
  std::string_view subresource;
  std::span<const std::string_view> parameters;
};
constexpr ConnectParameters kParameters[] = {{"exec", kExec}, {"attach", kAttach}, {"portforward", kPortForward}};

// Compared in lower case.
constexpr std::array<std::string_view, 7> kAsking = {"connection",
                                                     "upgrade",
                                                     "x-stream-protocol-version",
                                                     "sec-websocket-key",
                                                     "sec-websocket-version",
                                                     "sec-websocket-protocol",
                                                     "sec-websocket-extensions"};
constexpr std::array<std::string_view, 6> kAnswering = {"connection",
                                                        "upgrade",
                                                        "x-stream-protocol-version",
                                                        "sec-websocket-accept",
                                                        "sec-websocket-protocol",
                                                        "sec-websocket-extensions"};

std::string without_token(std::string_view protocols) {
  std::string kept;
  net::each_word(protocols, [&](std::string_view word) {
    if (!word.starts_with(kBearerProtocol)) kept.append(kept.empty() ? "" : ", ").append(word);
  });
  return kept;
}

template <std::size_t N>
net::Headers headers_among(const std::array<std::string_view, N>& names, const net::Headers& headers) {
  net::Headers out;
  for (const auto& [name, value] : headers) {
    const std::string known = to_lower(name);
    if (std::ranges::find(names, known) == names.end()) continue;
    std::string text = known == "sec-websocket-protocol" ? without_token(value) : value;
    if (known == "connection") text = "Upgrade";  // whatever else it names is between the client and us
    if (!text.empty()) out.add(name, std::move(text));
  }
  return out;
}

}  // namespace

bool is_connect_subresource(std::string_view subresource) {
  return std::ranges::find(kParameters, subresource, &ConnectParameters::subresource) != std::end(kParameters);
}

std::string allowed_connect_query(std::string_view subresource, std::string_view query) {
  const auto row = std::ranges::find(kParameters, subresource, &ConnectParameters::subresource);
  std::string allowed;
  if (row == std::end(kParameters)) return allowed;
  std::set<std::string> said;
  for (const auto& [key, value] : net::parse_query(query)) {
    const bool repeats = std::ranges::find(kLists, key) != std::end(kLists);
    if (std::ranges::find(row->parameters, key) == row->parameters.end()) continue;
    if ((key == "container" && value.empty()) || (!said.insert(key).second && !repeats)) continue;
    const bool is_flag = std::ranges::find(kFlags, key) != std::end(kFlags);
    if (is_flag && !query_flag(value)) continue;
    allowed.append(allowed.empty() ? "" : "&").append(key).append("=");
    allowed += is_flag ? "true" : net::percent_encode(value);
  }
  return allowed;
}

net::Headers allowed_upgrade_headers(const net::Headers& headers) { return headers_among(kAsking, headers); }

net::Headers allowed_upgraded_headers(const net::Headers& headers) { return headers_among(kAnswering, headers); }

bool asks_for_upgrade(const net::Headers& headers) {
  bool asks = false;
  for (const auto value : headers.all("Connection"))
    net::each_word(value, [&](std::string_view word) { asks = asks || to_lower(word) == "upgrade"; });
  return asks && !headers.get("Upgrade").empty();
}

}  // namespace sublet::kube
