// ServingLoops: the loops that serve one HttpServer's connections, each a ServingLoop. The first is the caller's;
// further ones are made when they are needed and end when they are not, so that an idle server is one thread.
//
// A connection lives on one loop from its acceptance to its end. Which: that with the fewest. A further loop is begun
// (up to the limits' loops_max) only for a connection that asks for it and finds another one like it: those over TLS
// do, the unix socket's do not, because its connections (a syncer's watches) are idle most of the time; they use what
// runs. Lifecycle: after freeze() no loop is begun or ended any more; the loops' threads end with this object, which
// therefore must not go on one of them. Threads: seat() on the first loop, the rest from any.
#pragma once

#include <memory>
#include <vector>

#include "net/server/serving_loop.h"
#include "net/socket/strangers.h"
#include "sublet/base/mutex.h"
#include "sublet/net/loop.h"

namespace sublet::net {

class ServingLoops : public std::enable_shared_from_this<ServingLoops> {
 public:
  ServingLoops(Loop& first, Handler handler, HttpServerLimits limits);
  ~ServingLoops();

  /// A connection's place: its core, and what it holds as long as it lives.
  struct Seat {
    std::shared_ptr<ServingLoop> core;
    std::shared_ptr<void> held;
  };
  /// `may_add`: the connection may be the reason for a further loop.
  Seat seat(bool may_add);
  /// All places are taken.
  bool full() const;
  /// Those whose peers have not shown who they are.
  const std::shared_ptr<Strangers>& strangers() const { return strangers_; }

  const std::shared_ptr<ServingLoop>& first() const { return first_; }
  std::size_t connections() const;
  std::size_t loops() const;
  /// All that there are.
  std::vector<std::shared_ptr<ServingLoop>> cores() const;
  /// All cores, once and for all.
  std::vector<std::shared_ptr<ServingLoop>> freeze();

 private:
  struct Place;
  void add();
  void look_later();
  void look_for_idle();

  std::size_t taken() const SUBLET_REQUIRES(mutex_);

  const HttpServerLimits limits_;
  const std::shared_ptr<Strangers> strangers_;
  const std::shared_ptr<ServingLoop> first_;

  // the first loop's thread only
  const std::shared_ptr<char> adders_ = std::make_shared<char>();  // held by every connection that may add a loop
  bool looking_ = false;

  mutable Mutex mutex_;
  std::vector<std::unique_ptr<Place>> places_
      SUBLET_GUARDED_BY(mutex_);  // changed on the first loop only; the first is first
  bool frozen_ SUBLET_GUARDED_BY(mutex_) = false;
};

}  // namespace sublet::net
