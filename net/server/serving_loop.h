// ServingLoop: one of the loops that serve an HttpServer, as its connections share it: loop, handler, limits, the table
// of connections, and the list of connections with something to write.
//
// Sinks outlive connections and may outlive the server: they reach the loop only through the courier, which knows when
// it is gone. A connection class per protocol registers here (H1Connection today; the choice by ALPN is in
// http_server.cpp).
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <unordered_set>
#include <vector>

#include "net/loop/loop_clock.h"
#include "sublet/base/mutex.h"
#include "sublet/net/courier.h"
#include "sublet/net/http.h"
#include "sublet/net/loop.h"
#include "sublet/net/server_limits.h"

namespace sublet::net {

/// All calls on the loop's thread.
class ServerConnection {
 public:
  virtual ~ServerConnection() = default;
  /// Sends what answers have been given since the last call.
  virtual void flush_answers() {}
  /// For the request that is being answered: ResponseSink.
  virtual void read_body(std::function<void(std::string)>&& /*then*/) {}
  virtual void peer_is_known() {}
  /// Ends the connection when it is idle, else after the answer that is under way.
  virtual void finish() = 0;
  /// Ends it now.
  virtual void close() = 0;
  /// Null while the peer's identity is unknown.
  virtual const PeerIdentity* peer() const { return nullptr; }
};

class ServingLoop : public std::enable_shared_from_this<ServingLoop> {
 public:
  ServingLoop(Loop& server_loop, std::shared_ptr<const Handler> server_handler, HttpServerLimits server_limits)
      : loop(server_loop),
        courier(std::make_shared<Courier>(server_loop)),
        limits(server_limits),
        handler(std::move(server_handler)) {}

  // constant after construction
  Loop& loop;
  const Clock& clock = LoopClock::current();
  const std::shared_ptr<Courier> courier;
  const HttpServerLimits limits;

  // the loop's thread only
  std::shared_ptr<const Handler> handler;  // null once stopped: a handler may own sinks, which own the core
  void add(std::shared_ptr<ServerConnection> connection);
  void remove(const std::shared_ptr<ServerConnection>& connection);
  void finish_all();
  void close_all();
  void close_peers(const std::function<bool(const PeerIdentity&)>& meant);

  // any thread
  std::atomic<bool> stopping{false};
  std::size_t connections() const { return count_; }
  /// Has flush_answers() called once at the end of this or the next round.
  void wants_flush(std::shared_ptr<ServerConnection> connection);
  /// After it the loop is never touched again.
  void forget_loop();
  bool wait_until_empty(std::chrono::milliseconds limit);

 private:
  void flush_ready();
  void drop_ready();

  // the loop's thread only
  std::unordered_set<std::shared_ptr<ServerConnection>> connections_;

  // own synchronisation
  std::atomic<std::size_t> count_{0};

  Mutex mutex_;
  CondVar emptied_;
  std::vector<std::shared_ptr<ServerConnection>> ready_ SUBLET_GUARDED_BY(mutex_);
};

}  // namespace sublet::net
