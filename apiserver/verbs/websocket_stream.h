// Logs and watches over a WebSocket, as browsers ask for them (k8s.io/streaming/pkg/httpstream/wsstream, and the watch
// handler's HandleWS).
#pragma once

#include "apiserver/verbs/verb.h"

namespace sublet::apiserver {

// When the request asks for a WebSocket, what is streamed to it goes there; else nothing changes.
/// A log: binary.k8s.io, base64.binary.k8s.io, or no protocol. False: it has been answered that none is spoken here.
bool stream_log_to_websocket(RequestContext& context);
/// A watch: a message is an event.
void stream_watch_to_websocket(RequestContext& context);

}  // namespace sublet::apiserver
