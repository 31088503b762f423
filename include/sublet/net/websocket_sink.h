// WebSocketSink: a streamed answer (a log, a watch) as messages of a WebSocket, for clients that cannot read a body
// piece by piece (browsers). What answers does not know: start(200) becomes 101, write() messages, end() the closing
// handshake. Any other answer goes out as it is.
//
// Lifecycle: wraps the sink of one request before anything is answered. What the peer sends is not looked at, but for
// the end of it. Threads: as ResponseSink.
#pragma once

#include <memory>
#include <string>

#include "sublet/net/http.h"

namespace sublet::net {

/// What a message is: the bytes of one write(); the same in base64, as text; each line without its end, as text.
enum class WebSocketMessages { binary, base64, lines };

struct WebSocketShape {
  WebSocketMessages messages = WebSocketMessages::binary;
  std::string protocol;            // Sec-WebSocket-Protocol of the answer; "": none
  bool begins_with_empty = false;  // a first message without bytes says that the stream has begun
};

/// Whether the request asks for a WebSocket, by Upgrade, Connection and a key.
bool asks_for_websocket(const Headers& headers);
/// Null: the sink's connection cannot be upgraded.
std::shared_ptr<ResponseSink> make_websocket_sink(std::shared_ptr<ResponseSink> sink, const Headers& asked,
                                                  WebSocketShape shape);

}  // namespace sublet::net
