// KeptSeat: the seats of a request with a large answer. They count against its priority level until the peer has read
// the answer, which occupies this server's memory until then.
//
// While other requests of the level wait for seats, a reader that was behind for a sixth of their waiting time in sum
// is cut off: it cannot block them by reading slowly or not at all. (Upstream ends every such request after 60 s; a
// list keeps its seats until its handler has written all of it.) While no request waits, a slow reader has the time
// that the transport allows. Lifecycle: takes the seats out of its RequestContext; returns them when it is destroyed.
// Threads: made on the exchange's loop or beside it; checks its reader on the loop.
#pragma once

#include <chrono>
#include <memory>

#include "apiserver/request/request_context.h"

namespace sublet::apiserver {

class KeptSeat : public std::enable_shared_from_this<KeptSeat> {
 public:
  /// Null: this request has no seat.
  static std::shared_ptr<KeptSeat> of(RequestContext& context);
  explicit KeptSeat(RequestContext& context);

 private:
  void look_later();
  void look();

  const std::shared_ptr<ServerCore> core_;
  const std::shared_ptr<net::ResponseSink> sink_;
  const std::chrono::milliseconds limit_, pause_;  // of being behind; between two looks
  Seat seat_;
  std::chrono::milliseconds behind_{0};  // the loop's thread only
};

}  // namespace sublet::apiserver
