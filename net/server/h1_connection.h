// start_h1_connection: HTTP/1.1 on one accepted stream, as a state machine on the loop's thread.
#pragma once

#include <memory>

#include "net/server/serving_loop.h"
#include "net/socket/stream.h"

namespace sublet::net {

/// Registers itself with the core and serves until the peer, a limit or the core ends it. The stream's handshake is
/// done.
void start_h1_connection(std::shared_ptr<ServingLoop> core, std::unique_ptr<Stream> stream);

}  // namespace sublet::net
