// CallOut: an admission plugin that must ask somebody outside the process (a webhook, a quota service) while its write
// waits. CallOuts: those that are under way in one server, on a bounded pool of workers.
//
// The loop never waits: begin() looks at the write on the loop and takes with it all that the question needs (no
// snapshot, no document, no lock leaves the loop); ask() runs on a worker; apply() is called back on the loop, where
// the write goes on. Whoever comes too late is not waited for: the write goes on without ask() having returned.
// Lifecycle: plugins live as long as the server's options; a CallOut until its ask() has returned. stop() ends what is
// under way, and returns when no worker runs any more.
// Threads: a plugin's functions on any loop, several at once; ask() on a worker; cancel() on any thread.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <set>
#include <string_view>

#include "apiserver/admission/admission.h"
#include "sublet/base/worker_pool.h"
#include "sublet/net/http.h"
#include "sublet/net/loop.h"

namespace sublet::apiserver {

struct Attempt;  // admission/plugins.h

/// One question.
class CallOut {
 public:
  virtual ~CallOut() = default;
  /// May block until `deadline`; must not throw.
  virtual void ask(SteadyTime deadline) = 0;
  /// Nobody waits any more: makes ask() return soon, whether it runs or has not begun.
  virtual void cancel() = 0;
  /// After ask() has returned in time: changes the object (mutating plugins), or refuses.
  virtual Outcome apply(const Attempt& attempt) = 0;
};

class CallOutPlugin {
 public:
  enum class Kind { mutating, validating };
  virtual ~CallOutPlugin() = default;
  virtual std::string_view name() const = 0;
  virtual Kind kind() const = 0;
  virtual std::chrono::milliseconds timeout() const { return std::chrono::seconds(10); }
  /// Null: this write does not concern the plugin.
  virtual std::shared_ptr<CallOut> begin(const Attempt& attempt) const = 0;
  /// What becomes of a write whose question was not answered within timeout(); refused unless the plugin says
  /// otherwise.
  virtual Outcome late(const Attempt& attempt) const;
};

enum class CallOutEnd { answered, late, stopped };

class CallOuts {
 public:
  explicit CallOuts(net::Loop& loop);
  ~CallOuts();

  /// Has `call` asked on a worker and calls `back` on the loop, once; never when the client of `sink` leaves before.
  /// False: too much is under way already; `back` is not called.
  bool start(std::shared_ptr<CallOut> call, std::chrono::milliseconds timeout, net::ResponseSink& sink,
             std::function<void(CallOutEnd)> back);
  void stop();
  std::size_t under_way() const;

  static constexpr std::size_t kThreadsMax = 4, kWaitingMax = 64;

 private:
  struct Ticket;
  struct Tickets;
  const std::shared_ptr<Tickets> tickets_;
  WorkerPool workers_;
};

}  // namespace sublet::apiserver
