// Duplex: a connection that has left HTTP (101 Switching Protocols): bytes both ways, which this layer does not parse.
//
// A server gets one by upgrade(), a client through an UpgradeObserver. Both ends are the same: write() and end() send
// to the peer, an observer receives from it. splice() connects two of them. Lifecycle: start() once, then observer
// calls up to on_over(), the last one. A Duplex that is dropped before start() or after its end closes. There is no
// time limit: a session may be silent for hours (TCP keepalive finds dead peers). Threads: any; the observer is called
// on the connection's loop.
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
    /// Everything that was written has gone to the kernel.
    virtual void on_drain() = 0;
    /// The peer sends no more. Writes still reach it unless its connection is closed both ways.
    virtual void on_end() = 0;
    virtual void on_over() = 0;
  };
  virtual ~Duplex() = default;
  virtual void start(std::shared_ptr<Observer> observer) = 0;
  virtual void write(std::string bytes) = 0;
  /// Closes this side's stream after everything that was written.
  virtual void end() = 0;
  /// Closes both ways at once. Does nothing when it is over.
  virtual void close() = 0;
  /// Stops reading (true), so that the peer has to wait, and continues (false).
  virtual void pause(bool paused) = 0;
  /// Returns the number of bytes that wait for the kernel.
  virtual std::size_t backlog() const = 0;
  virtual const std::shared_ptr<Courier>& courier() const = 0;
};

/// A sink that can hand over its connection.
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

/// How many bytes one side of a splice may have on their way before it has to wait.
inline constexpr std::size_t kSpliceBytesMax = 256 * 1024;
/// How long the other direction may be silent after one side has ended.
inline constexpr std::chrono::milliseconds kHalfClosedTime{1'000};

/// Carries bytes between both until both have ended, or one has gone; neither is read faster than the other takes. When
/// one side ends, the other is closed after the last byte and has kHalfClosedTime of silence to end as well. `over` is
/// called once, when both are closed. Starts both.
void splice(const std::shared_ptr<Duplex>& a, const std::shared_ptr<Duplex>& b, std::function<void()> over = {});

}  // namespace sublet::net
