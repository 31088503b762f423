#include "sublet/kube/pod_connect.h"

#include <algorithm>
#include <array>
#include <span>

#include "sublet/base/text.h"

namespace sublet::kube {
namespace {

constexpr std::string_view kExec[] = {"command", "container", "stderr", "stdin", "stdout", "tty"};
constexpr std::string_view kAttach[] = {"container", "stderr", "stdin", "stdout", "tty"};
constexpr std::string_view kPortForward[] = {"ports"};

struct Row {
  std::string_view subresource;
  std::span<const std::string_view> parameters;
};
constexpr Row kParameters[] = {{"exec", kExec}, {"attach", kAttach}, {"portforward", kPortForward}};

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
// A browser's way to send a token.
constexpr std::string_view kTokenProtocol = "base64url.bearer.authorization.k8s.io.";

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + ('a' - 'A'));
  return out;
}

template <class Each>
void each_word(std::string_view list, Each&& each) {
  while (!list.empty()) {
    const auto word = list.substr(0, list.find(','));
    list.remove_prefix(std::min(list.size(), word.size() + 1));
    if (const auto text = trimmed(word, kBlanks); !text.empty()) each(text);
  }
}

std::string without_token(std::string_view protocols) {
  std::string kept;
  each_word(protocols, [&](std::string_view word) {
    if (!word.starts_with(kTokenProtocol)) kept.append(kept.empty() ? "" : ", ").append(word);
  });
  return kept;
}

template <std::size_t N>
net::Headers only(const std::array<std::string_view, N>& names, const net::Headers& headers) {
  net::Headers out;
  for (const auto& [name, value] : headers) {
    const std::string known = lower(name);
    if (std::ranges::find(names, known) == names.end()) continue;
    std::string text = known == "sec-websocket-protocol" ? without_token(value) : value;
    if (known == "connection") text = "Upgrade";  // whatever else it names is between the client and us
    if (!text.empty()) out.add(name, std::move(text));
  }
  return out;
}

}  // namespace

bool is_connect_subresource(std::string_view subresource) {
  return std::ranges::find(kParameters, subresource, &Row::subresource) != std::end(kParameters);
}

std::string allowed_connect_query(std::string_view subresource, std::string_view query) {
  const auto row = std::ranges::find(kParameters, subresource, &Row::subresource);
  std::string allowed;
  if (row == std::end(kParameters)) return allowed;
  for (const auto& [key, value] : net::parse_query(query))
    if (std::ranges::find(row->parameters, key) != row->parameters.end())
      allowed.append(allowed.empty() ? "" : "&").append(key).append("=").append(net::percent_encode(value));
  return allowed;
}

net::Headers allowed_upgrade_headers(const net::Headers& headers) { return only(kAsking, headers); }

net::Headers allowed_upgraded_headers(const net::Headers& headers) { return only(kAnswering, headers); }

bool asks_for_upgrade(const net::Headers& headers) {
  bool asks = false;
  for (const auto value : headers.all("Connection"))
    each_word(value, [&](std::string_view word) { asks = asks || lower(word) == "upgrade"; });
  return asks && !headers.get("Upgrade").empty();
}

}  // namespace sublet::kube
