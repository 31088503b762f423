#include "apiserver/admission/call_out.h"

#include "apiserver/admission/plugins.h"
#include "sublet/base/mutex.h"

namespace sublet::apiserver {

// One call under way. The caller that takes `back` out decides how it ended; all later ones are ignored.
struct CallOuts::Ticket {
  std::shared_ptr<CallOut> call;
  SteadyTime deadline{};
  // Guarded by Tickets::mutex.
  net::Loop::TimerId timer = 0;
  std::function<void(CallOutEnd)> back;
};

// Shared with timers, workers and sinks, which may outlive the server.
struct CallOuts::Tickets {
  explicit Tickets(net::Loop& loop_) : loop(loop_) {}

  std::function<void(CallOutEnd)> take(const std::shared_ptr<Ticket>& ticket) {
    const MutexLock lock(mutex);
    open.erase(ticket);
    loop.cancel(ticket->timer);
    return std::exchange(ticket->back, nullptr);
  }
  bool awaited(const std::shared_ptr<Ticket>& ticket) const {
    const MutexLock lock(mutex);
    return !stopped && ticket->back;
  }
  void settle(const std::shared_ptr<Ticket>& ticket, CallOutEnd end) {
    auto back = take(ticket);
    if (!back) return;
    if (end != CallOutEnd::answered) ticket->call->cancel();
    loop.post([back = std::move(back), end] { back(end); });
  }
  /// The client has gone: what waited for the answer goes, unheard.
  void abandon(const std::shared_ptr<Ticket>& ticket) {
    const auto back = take(ticket);
    if (!back) return;
    ticket->call->cancel();
  }

  net::Loop& loop;
  mutable Mutex mutex;
  std::set<std::shared_ptr<Ticket>> open SUBLET_GUARDED_BY(mutex);
  bool stopped SUBLET_GUARDED_BY(mutex) = false;
};

Outcome CallOutPlugin::late(const Attempt&) const {
  return fail(Reason::internal_error, "Internal error occurred: failed calling webhook \"" + std::string(name()) +
                                          "\": failed to call webhook: context deadline exceeded");
}

CallOuts::CallOuts(net::Loop& loop)
    : tickets_(std::make_shared<Tickets>(loop)),
      workers_({.name = "admission", .threads_max = kThreadsMax, .queue_max = kWaitingMax}) {}

CallOuts::~CallOuts() { stop(); }

bool CallOuts::start(std::shared_ptr<CallOut> call, std::chrono::milliseconds timeout, net::ResponseSink& sink,
                     std::function<void(CallOutEnd)> back) {
  const auto ticket = std::make_shared<Ticket>();
  ticket->call = std::move(call);
  ticket->deadline = Clock::system().steady_now() + timeout;
  ticket->back = std::move(back);
  {
    const MutexLock lock(tickets_->mutex);
    ticket->timer = tickets_->loop.after(timeout, [tickets = tickets_, weak = std::weak_ptr(ticket)] {
      if (const auto late = weak.lock()) tickets->settle(late, CallOutEnd::late);
    });
    if (!tickets_->stopped) tickets_->open.insert(ticket);
  }
  const bool taken = under_way() <= kUnderWayMax && ask_without_worker(ticket);
  if (!taken && !submit(ticket)) return !tickets_->take(ticket);  // stop() or the timer may have been first
  sink.on_close([tickets = tickets_, weak = std::weak_ptr(ticket)] {
    if (const auto left = weak.lock()) tickets->abandon(left);
  });
  return true;
}

bool CallOuts::ask_without_worker(const std::shared_ptr<Ticket>& ticket) {
  return ticket->call->ask_without_worker(ticket->deadline, [tickets = tickets_, weak = std::weak_ptr(ticket)] {
    if (const auto answered = weak.lock()) tickets->settle(answered, CallOutEnd::answered);
  });
}

bool CallOuts::submit(const std::shared_ptr<Ticket>& ticket) {
  return workers_.submit([tickets = tickets_, ticket] {
    if (!tickets->awaited(ticket)) return;
    ticket->call->ask(ticket->deadline);
    // Who gave up at the deadline may be back before the timer.
    const bool late = Clock::system().steady_now() >= ticket->deadline;
    tickets->settle(ticket, late ? CallOutEnd::late : CallOutEnd::answered);
  });
}

void CallOuts::stop() {
  std::set<std::shared_ptr<Ticket>> open;
  {
    const MutexLock lock(tickets_->mutex);
    tickets_->stopped = true;
    open = tickets_->open;
  }
  for (const auto& ticket : open) tickets_->settle(ticket, CallOutEnd::stopped);
  workers_.stop();
}

std::size_t CallOuts::under_way() const {
  const MutexLock lock(tickets_->mutex);
  return tickets_->open.size();
}

}  // namespace sublet::apiserver
