#include "apiserver/verbs/websocket_stream.h"

#include "sublet/kube/websocket_protocols.h"
#include "sublet/net/websocket_sink.h"

namespace sublet::apiserver {
namespace {

struct LogProtocol {
  std::string_view name;
  net::WebSocketMessages messages;
};
constexpr LogProtocol kLogProtocols[] = {
    {"", net::WebSocketMessages::binary},
    {"binary.k8s.io", net::WebSocketMessages::binary},
    {"base64.binary.k8s.io", net::WebSocketMessages::base64},
};

void take_sink(RequestContext& context, net::WebSocketShape shape) {
  if (auto sink = net::make_websocket_sink(context.sink, context.request.headers, std::move(shape)))
    context.sink = std::move(sink);
}

}  // namespace

bool stream_log_to_websocket(RequestContext& context) {
  if (!net::asks_for_websocket(context.request.headers)) return true;
  auto offered = kube::websocket_protocols(context.request.headers);
  if (offered.empty()) offered.emplace_back();
  for (const auto& name : offered)
    for (const LogProtocol& known : kLogProtocols)
      if (known.name == name) return take_sink(context, {known.messages, name, true}), true;
  reply_status(context, fail(Reason::forbidden,
                             "requested WebSocket protocols are not supported; logs are sent by binary.k8s.io, "
                             "base64.binary.k8s.io or none")
                            .value());
  return false;
}

void stream_watch_to_websocket(RequestContext& context) {
  if (!net::asks_for_websocket(context.request.headers)) return;
  const auto offered = kube::websocket_protocols(context.request.headers);
  const bool json = context.output.media == Media::json;
  take_sink(context, {json ? net::WebSocketMessages::lines : net::WebSocketMessages::binary,
                      offered.empty() ? std::string() : offered.front(), false});
}

}  // namespace sublet::apiserver
