// WebSocketSink: a streamed answer (a log, a watch) as messages of a WebSocket, for clients that cannot read a body
// piece by piece (browsers). The handler does not notice: start(200) becomes 101, write() messages, end() the closing
// handshake. Any other answer is sent unchanged.
//
// Lifecycle: wraps the sink of one request before any answer. It ignores what the peer sends except for the end.
// Threads: as ResponseSink.
#pragma once

#include <memory>
#include <string>

#include "sublet/net/http.h"

namespace sublet::net {

/// The content of a message: the bytes of one write(); the same in base64, as text; each line without its end, as text.
enum class WebSocketMessages { binary, base64, lines };

struct WebSocketShape {
  WebSocketMessages messages = WebSocketMessages::binary;
  std::string protocol;            // Sec-WebSocket-Protocol of the answer; "": none
  bool begins_with_empty = false;  // an empty first message marks the begin of the stream
};

/// Returns true when the request asks for a WebSocket, by Upgrade, Connection and a key.
bool asks_for_websocket(const Headers& headers);
/// Returns null when the sink's connection cannot be upgraded.
std::shared_ptr<ResponseSink> make_websocket_sink(std::shared_ptr<ResponseSink> sink, const Headers& asked,
                                                  WebSocketShape shape);

}  // namespace sublet::net
