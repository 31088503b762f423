// KeptSeat: the seats of a request whose answer is longer than a moment's: they are its level's cost until the peer has
// read it, for an answer that nobody reads lies in this server's memory. So whoever has it keeps it until then.
//
// While others of the level wait for seats, a reader who has been behind for a sixth of the time that they may wait, in
// sum, is cut off: he cannot keep them out by not reading, nor by reading a little now and then. (Upstream ends every
// such request after 60 s; one of its lists keeps its seats until its handler has written it all.) While nobody waits,
// a slow reader has what time the transport gives him. Lifecycle: takes the seats out of its RequestContext; gives them
// back when it is destroyed. Threads: made on the exchange's loop or beside it, looks at its reader on the loop.
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
