// make_stream_duplex: the Duplex of one connected stream, whose HTTP is over, on the loop that has served it.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "net/socket/output_queue.h"
#include "net/socket/stream.h"
#include "sublet/net/courier.h"
#include "sublet/net/duplex.h"

namespace sublet::net {

/// What a connection hands over: its stream, what of its answer has not gone yet, and what the peer sent behind its
/// head.
struct HandedOver {
  std::unique_ptr<Stream> stream;
  OutputQueue output;
  std::string input;
};

/// On the loop's thread; the loop no longer watches the stream. `over` is called there once, when the connection is
/// closed. The loop keeps the connection as long as it is open.
std::shared_ptr<Duplex> make_stream_duplex(Loop& loop, std::shared_ptr<Courier> courier, HandedOver from,
                                           std::function<void()> over);

}  // namespace sublet::net
