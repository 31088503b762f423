#include "sublet/kube/pod_proxy.h"

#include <algorithm>
#include <array>
#include <vector>

#include "sublet/base/text.h"
#include "sublet/net/header_words.h"

namespace sublet::kube {
namespace {

// Compared in lower case. Between one client and one server (RFC 9110), or the proxy's own to say.
constexpr std::array<std::string_view, 13> kOfTheHop = {"connection",
                                                        "keep-alive",
                                                        "proxy-connection",
                                                        "proxy-authenticate",
                                                        "proxy-authorization",
                                                        "te",
                                                        "trailer",
                                                        "transfer-encoding",
                                                        "upgrade",
                                                        "content-length",
                                                        "expect",
                                                        "host",
                                                        "http2-settings"};
// Who asks, and how: the next server would believe it to be the proxy's. What comes compressed could not have its links
// read.
constexpr std::array<std::string_view, 3> kOfTheSender = {"authorization", "audit-id", "accept-encoding"};
constexpr std::array<std::string_view, 3> kSenderPrefixes = {"impersonate-", "x-remote-", "sublet-"};
// The last API server's own.
constexpr std::array<std::string_view, 2> kOfTheServer = {"audit-id", "date"};
constexpr std::array<std::string_view, 2> kServerPrefixes = {"x-kubernetes-pf-", "sublet-"};

// No line of a message ends inside of it.
bool in_one_line(std::string_view text) {
  return std::ranges::none_of(text, [](unsigned char c) { return (c < 0x20 && c != '\t') || c == 0x7f; });
}

bool is_token(std::string_view name) {
  constexpr std::string_view kMarks = "!#$%&'*+-.^_`|~";
  return !name.empty() && std::ranges::all_of(name, [&](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           kMarks.find(c) != std::string_view::npos;
  });
}

// Headers that Connection names are of the hop too.
std::vector<std::string> named_by_connection(const net::Headers& headers) {
  std::vector<std::string> names;
  for (const auto list : headers.all("Connection"))
    net::each_word(list, [&names](std::string_view word) {
      std::string name = to_lower(word);
      std::erase_if(name, [](char c) { return c == ' ' || c == '\t'; });
      names.push_back(std::move(name));
    });
  return names;
}

template <std::size_t N, std::size_t M>
net::Headers forwarded_headers(const net::Headers& headers, const std::array<std::string_view, N>& names,
                               const std::array<std::string_view, M>& prefixes) {
  net::Headers out;
  const auto named = named_by_connection(headers);
  for (const auto& [name, value] : headers) {
    std::string known = to_lower(name);
    std::ranges::replace(known, '_', '-');  // many servers read both as one
    if (std::ranges::find(kOfTheHop, known) != kOfTheHop.end() || std::ranges::find(names, known) != names.end() ||
        std::ranges::find(named, known) != named.end() ||
        std::ranges::any_of(prefixes, [&](std::string_view prefix) { return known.starts_with(prefix); }))
      continue;
    if (is_token(name) && in_one_line(value)) out.add(name, value);
  }
  return out;
}

}  // namespace

const PodProxyRequest* as_proxy(const PodConnectRequest& request) {
  return request.subresource == kProxySubresource ? static_cast<const PodProxyRequest*>(&request) : nullptr;
}

std::string ProxyName::text() const {
  if (!scheme.empty()) return scheme + ":" + name + ":" + port;
  return port.empty() ? name : name + ":" + port;
}

std::optional<ProxyName> parse_proxy_name(std::string_view text) {
  std::vector<std::string> parts(1);
  for (const char c : text) c == ':' ? (void)parts.emplace_back() : parts.back().push_back(c);
  ProxyName out;
  if (parts.size() > 3) return std::nullopt;
  if (parts.size() == 3) out.scheme = parts[0];
  out.name = parts[parts.size() == 3 ? 1 : 0];
  if (parts.size() > 1) out.port = parts.back();
  if (out.name.empty() || (!out.scheme.empty() && out.scheme != "http" && out.scheme != "https")) return std::nullopt;
  return out;
}

std::string clean_proxy_path(std::string_view path) {
  const std::string decoded = net::percent_decode(path).value_or(std::string(path));
  std::vector<std::string_view> kept;
  for (std::string_view rest = decoded; !rest.empty();) {
    const auto segment = rest.substr(0, rest.find('/'));
    rest.remove_prefix(std::min(rest.size(), segment.size() + 1));
    if (segment == ".." && !kept.empty()) kept.pop_back();
    if (!segment.empty() && segment != "." && segment != "..") kept.push_back(segment);
  }
  std::string out;
  for (const std::string_view segment : kept) out += "/" + net::percent_encode(segment);
  if (out.empty() || decoded.ends_with('/')) out += '/';
  return out;
}

bool is_proxy_target(std::string_view path, std::string_view query) {
  return path == clean_proxy_path(path) &&
         std::ranges::all_of(query, [](unsigned char c) { return c > 0x20 && c < 0x7f && c != '#'; });
}

net::Headers proxied_request_headers(const net::Headers& sent, bool may_upgrade) {
  net::Headers out = forwarded_headers(sent, kOfTheSender, kSenderPrefixes);
  const net::Headers asked = allowed_upgrade_headers(sent);
  if (may_upgrade && asks_for_upgrade(asked))
    for (const std::string_view name : {"Connection", "Upgrade"})
      out.set(std::string(name), std::string(asked.get(name)));
  // As allowed_upgrade_headers() leaves it: without a browser's token.
  if (out.has("Sec-WebSocket-Protocol"))
    out.set("Sec-WebSocket-Protocol", std::string(asked.get("Sec-WebSocket-Protocol")));
  return out;
}

net::Headers proxied_answer_headers(const net::Headers& said, bool upgraded) {
  net::Headers out = forwarded_headers(said, kOfTheServer, kServerPrefixes);
  if (upgraded && asks_for_upgrade(said)) {
    out.set("Connection", "Upgrade");
    out.set("Upgrade", std::string(said.get("Upgrade")));
  }
  return out;
}

std::string LinkRewriter::put(std::string_view piece) {
  if (from_.empty()) return std::string(piece);
  held_ += piece;
  std::string out;
  std::size_t begin = 0;
  for (auto at = held_.find(from_); at != std::string::npos; at = held_.find(from_, begin)) {
    out.append(held_, begin, at - begin).append(to_);
    begin = at + from_.size();
  }
  // The longest end of it that may be a link's beginning.
  std::size_t keep = std::min(from_.size() - 1, held_.size() - begin);
  while (keep > 0 && !from_.starts_with(std::string_view(held_).substr(held_.size() - keep))) --keep;
  out.append(held_, begin, held_.size() - begin - keep);
  held_.erase(0, held_.size() - keep);
  return out;
}

std::string LinkRewriter::end() { return std::exchange(held_, {}); }

}  // namespace sublet::kube
