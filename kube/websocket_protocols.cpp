#include "sublet/kube/websocket_protocols.h"

#include <algorithm>

#include "sublet/net/header_words.h"
#include "sublet/net/websocket_sink.h"
#include "sublet/schema/engine.h"

namespace sublet::kube {
namespace {

template <class Each>
void each_protocol(const net::Headers& headers, Each&& each) {
  for (const auto list : headers.all("Sec-WebSocket-Protocol")) net::each_word(list, each);
}

}  // namespace

std::vector<std::string> websocket_protocols(const net::Headers& headers) {
  std::vector<std::string> offered;
  each_protocol(headers, [&offered](std::string_view name) {
    if (!name.starts_with(kBearerProtocol)) offered.emplace_back(name);
  });
  return offered;
}

std::string websocket_token(const net::Headers& headers) {
  if (!net::asks_for_websocket(headers)) return {};
  std::string encoded;
  each_protocol(headers, [&encoded](std::string_view name) {
    if (name.starts_with(kBearerProtocol) && encoded.empty()) encoded = name.substr(kBearerProtocol.size());
  });
  if (encoded.empty() || websocket_protocols(headers).empty()) return {};
  std::ranges::replace(encoded, '-', '+');
  std::ranges::replace(encoded, '_', '/');
  encoded.resize((encoded.size() + 3) / 4 * 4, '=');
  return schema::base64_decode(encoded).value_or(std::string());
}

}  // namespace sublet::kube
