// Duplex: a connection that has left HTTP behind (101 Switching Protocols): bytes both ways, which nobody here reads.
//
// A server gets one by upgrade(), a client through an UpgradeObserver. Both ends are the same: write() and end() are
// the way to the peer, an observer hears what it sends. splice() ties two of them together. Lifecycle: start() once,
// then the observer hears everything up to on_over(), its last call; a Duplex that is dropped before it was started, or
// when it is over, closes. There is no time limit: a session may be silent for hours (dead peers are found by TCP's
// keepalive). Threads: any; the observer is called on the connection's loop.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "sublet/net/http.h"

namespace sublet::net {

class Duplex {
 public:
  class Observer {
   public:
    virtual ~Observer() = default;
    virtual void on_bytes(std::string_view bytes) = 0;
    /// What was written has gone to the kernel.
    virtual void on_drain() = 0;
    /// The peer sends no more; what is written still reaches it, as far as it has not gone altogether.
    virtual void on_end() = 0;
    virtual void on_over() = 0;
  };
  virtual ~Duplex() = default;
  virtual void start(std::shared_ptr<Observer> observer) = 0;
  virtual void write(std::string bytes) = 0;
  /// No more will be written: the peer is told so behind what was.
  virtual void end() = 0;
  /// Ends it now, both ways. Harmless when it is over.
  virtual void close() = 0;
  /// Stops reading (true), so that the peer has to wait, and goes on (false).
  virtual void pause(bool paused) = 0;
  /// Bytes that wait for the kernel.
  virtual std::size_t backlog() const = 0;
  virtual const std::shared_ptr<Courier>& courier() const = 0;
};

/// A sink that can give its connection away.
class UpgradableSink {
 public:
  virtual ~UpgradableSink() = default;
  /// Answers 101 with these headers (Connection and Upgrade among them) and gives the connection to `then`, on its
  /// loop; never when the peer has left before.
  virtual void upgrade(Headers headers, std::function<void(std::shared_ptr<Duplex>)> then) = 0;
};

/// Null: this exchange is not on a connection of its own (in process), or its request's body has not been read.
UpgradableSink* upgradable(ResponseSink& sink);

/// A client's observer that has asked for another protocol in its request's headers.
class UpgradeObserver : public ResponseObserver {
 public:
  /// The last call, after on_head(101, ...), instead of on_end().
  virtual void on_upgrade(std::shared_ptr<Duplex> connection) = 0;
};

/// What one side of a splice may have on its way to the other before it has to wait.
inline constexpr std::size_t kSpliceBytesMax = 256 * 1024;
/// How long the way back may be silent once one side has ended.
inline constexpr std::chrono::milliseconds kHalfClosedTime{1'000};

/// Carries bytes between both until both have ended, or one has gone; neither is read faster than the other takes. When
/// one side ends, the other is told behind the last byte, and has kHalfClosedTime of silence to end as well. `over` is
/// called once, when both are closed. Starts both.
void splice(const std::shared_ptr<Duplex>& a, const std::shared_ptr<Duplex>& b, std::function<void()> over = {});

}  // namespace sublet::net
