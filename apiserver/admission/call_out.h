// CallOut: a call outside the process (a webhook, a quota service) that an admission plugin makes while its write
// waits. CallOuts: the calls under way in one server, on a bounded pool of workers.
//
// The loop never blocks: begin() runs on the loop and copies all that the call needs (no document or lock leaves the
// loop); ask() runs on a worker, or the call goes out without one (ask_without_worker()); apply() is called on the
// loop, where the write continues. After the timeout the write continues although ask() has not returned. Lifecycle:
// plugins live as long as the server's options; a CallOut until its ask() has returned. stop() ends what is under way,
// and returns when no worker runs any more. Threads: a plugin's functions on any loop, several at once; ask() on a
// worker; cancel() on any thread.
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
  /// True: the question is on its way without a worker, however long that takes, and ask() is not called. `answered` is
  /// called once, on any thread but not from within, unless the question was cancelled before. Must not block.
  virtual bool ask_without_worker(SteadyTime, std::function<void()>) { return false; }  // NOLINT: overriders keep it
  /// Abandons the call: makes ask() return soon, whether it runs or has not begun.
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
  /// Null: this write does not concern the plugin. An error refuses the write.
  virtual Result<std::shared_ptr<CallOut>> begin(const Attempt& attempt) const = 0;
  /// Whether begin() is called again after each answer, until it returns null, and in a second round of mutating
  /// admission.
  virtual bool asks_again() const { return false; }
  /// What becomes of a write whose question was not answered within timeout(); refused unless the plugin says
  /// otherwise.
  virtual Outcome late(const Attempt& attempt) const;
};

enum class CallOutEnd { answered, late, stopped };

// The webhooks, which every server has; after the plugins of its options.
const CallOutPlugin& mutating_webhooks();
const CallOutPlugin& validating_webhooks();

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
  static constexpr std::size_t kUnderWayMax = 1024;  // of those without a worker

 private:
  struct Ticket;
  struct Tickets;
  bool ask_without_worker(const std::shared_ptr<Ticket>& ticket);
  bool submit(const std::shared_ptr<Ticket>& ticket);
  const std::shared_ptr<Tickets> tickets_;
  WorkerPool workers_;
};

}  // namespace sublet::apiserver
