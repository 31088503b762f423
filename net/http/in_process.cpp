// The in-process transport: a ResponseSink that posts what the handler writes to a loop, where the observer hears it.
#include <atomic>
#include <iterator>
#include <optional>
#include <type_traits>
#include <utility>
#include <variant>

#include "net/http/handler_call.h"
#include "net/http/observed_call.h"
#include "sublet/base/mutex.h"
#include "sublet/net/courier.h"
#include "sublet/net/http.h"
#include "sublet/net/loop.h"

namespace sublet::net {
namespace {

struct HeadEvent {
  int code;
  Headers headers;
};
struct BodyEvent {
  std::shared_ptr<const std::string> bytes;
};
struct EndEvent {
  std::optional<Status> failure;
};
using Event = std::variant<HeadEvent, BodyEvent, EndEvent>;
// Else a vector of them copies those that it has when it grows, headers and all. (An Outcome may throw when it moves.)
static_assert(std::is_nothrow_move_constructible_v<Event>);

class InProcessSink final : public OwnedSink, public std::enable_shared_from_this<InProcessSink> {
 public:
  InProcessSink(std::shared_ptr<Courier> courier, std::shared_ptr<ObservedCall> call)
      : courier_(std::move(courier)), call_(std::move(call)) {}

  void respond(int code, Headers headers, std::string body) override {
    auto bytes = std::make_shared<const std::string>(std::move(body));
    push([&](std::vector<Event>& events) SUBLET_REQUIRES(mutex_) {
      if (phase_ != Phase::waiting) return;
      phase_ = Phase::ended;
      const auto size = bytes->size();
      events.emplace_back(HeadEvent{code, std::move(headers)});
      if (size > 0) events.emplace_back(BodyEvent{std::move(bytes)});
      events.emplace_back(EndEvent{});
      backlog_ += size;
    });
  }
  void start(int code, Headers headers) override {
    push([&](std::vector<Event>& events) SUBLET_REQUIRES(mutex_) {
      if (phase_ != Phase::waiting) return;
      phase_ = Phase::streaming;
      events.emplace_back(HeadEvent{code, std::move(headers)});
    });
  }
  void write(std::shared_ptr<const std::string> bytes) override {
    push([&](std::vector<Event>& events) SUBLET_REQUIRES(mutex_) {
      if (phase_ != Phase::streaming || !bytes || bytes->empty()) return;
      backlog_ += bytes->size();
      events.emplace_back(BodyEvent{std::move(bytes)});
    });
  }
  void end() override { finish({}); }
  void abandon() override {
    {
      const MutexLock lock(mutex_);
      if (phase_ == Phase::ended) return;
    }
    respond_abandoned(*this);
    abort();
  }
  void abort() override {
    Status status;
    status.reason = Reason::service_unavailable;
    status.message = "the server broke off its answer";
    finish(std::move(status));
  }
  std::size_t backlog() const override { return backlog_; }
  bool closed() const override { return closed_; }

  void on_close(std::function<void()> callback) override {
    {
      const MutexLock lock(mutex_);
      if (!closed_) {
        on_close_ = std::move(callback);
        return;
      }
    }
    if (!courier_->post(callback)) callback();
  }
  void on_drain(std::function<void()> callback) override {
    const MutexLock lock(mutex_);
    if (!closed_) on_drain_ = std::move(callback);
  }
  const std::shared_ptr<Courier>& courier() const override { return courier_; }

  /// The exchange is over: nothing more is delivered. On the loop's thread.
  void close() {
    std::function<void()> callback, drain;
    Loop::TimerId timer;
    {
      const MutexLock lock(mutex_);
      if (closed_.exchange(true)) return;
      timer = timer_;
      phase_ = Phase::ended;
      events_.clear();
      backlog_ = 0;
      callback.swap(on_close_);
      drain.swap(on_drain_);
    }
    courier_->cancel(timer);
    if (callback) callback();
  }

  void pause(bool paused) {
    {
      const MutexLock lock(mutex_);
      paused_ = paused;
    }
    if (!paused) push([](std::vector<Event>&) {});
  }

  /// On the loop's thread.
  void limit(std::chrono::milliseconds timeout) {
    const auto id = courier_->after(timeout, [weak = weak_from_this()] {
      const auto self = weak.lock();
      if (!self) return;
      self->call_->end(fail(Reason::timeout, "no complete answer within the time limit"));
      self->close();
    });
    const MutexLock lock(mutex_);
    timer_ = id;
  }

 private:
  enum class Phase { waiting, streaming, ended };

  void finish(std::optional<Status> failure) {
    push([&](std::vector<Event>& events) SUBLET_REQUIRES(mutex_) {
      if (std::exchange(phase_, Phase::ended) != Phase::ended) events.emplace_back(EndEvent{std::move(failure)});
    });
  }

  template <class F>
  void push(F&& add) {
    {
      const MutexLock lock(mutex_);
      if (closed_) return;
      add(events_);
      if (events_.empty() || std::exchange(scheduled_, true)) return;
    }
    courier_->post([self = shared_from_this()] { self->deliver(); });
  }

  void deliver() {
    std::vector<Event> events;
    {
      const MutexLock lock(mutex_);
      scheduled_ = false;
      if (paused_) return;
      events.swap(events_);
    }
    for (auto& event : events) {
      if (call_->over()) return close();
      if (paused_) return keep(events, static_cast<std::size_t>(&event - events.data()));
      if (const auto* head = std::get_if<HeadEvent>(&event)) call_->head(head->code, head->headers);
      if (const auto* body = std::get_if<BodyEvent>(&event)) {
        call_->body(*body->bytes);
        drained(body->bytes->size());
      }
      if (auto* last = std::get_if<EndEvent>(&event)) {
        call_->end(last->failure ? fail(std::move(*last->failure)) : Outcome());
        return close();
      }
    }
  }

  /// Puts back what a paused observer has not heard, before what came meanwhile.
  void keep(std::vector<Event>& events, std::size_t heard) {
    const MutexLock lock(mutex_);
    if (closed_) return;
    events.erase(events.begin(), events.begin() + static_cast<std::ptrdiff_t>(heard));
    events.insert(events.end(), std::make_move_iterator(events_.begin()), std::make_move_iterator(events_.end()));
    events_.swap(events);
    if (paused_ || std::exchange(scheduled_, true)) return;  // paused no more already: it goes on at once
    courier_->post([self = shared_from_this()] { self->deliver(); });
  }

  void drained(std::size_t size) {
    std::function<void()> callback;
    {
      const MutexLock lock(mutex_);
      if (closed_ || (backlog_ -= size) != 0) return;
      callback = on_drain_;
    }
    if (callback) callback();
  }

  const std::shared_ptr<Courier> courier_;
  const std::shared_ptr<ObservedCall> call_;
  std::atomic<std::size_t> backlog_{0};
  std::atomic<bool> closed_{false}, paused_{false};

  Mutex mutex_;
  Phase phase_ SUBLET_GUARDED_BY(mutex_) = Phase::waiting;
  bool scheduled_ SUBLET_GUARDED_BY(mutex_) = false;
  std::vector<Event> events_ SUBLET_GUARDED_BY(mutex_);
  std::function<void()> on_close_ SUBLET_GUARDED_BY(mutex_), on_drain_ SUBLET_GUARDED_BY(mutex_);
  Loop::TimerId timer_ SUBLET_GUARDED_BY(mutex_) = 0;
};

/// Closes a sink on the loop, or, when the loop ends before it comes to that, wherever the task is given up: what waits
/// for the close may hold the sink, and would hold it for ever.
class Closing {
 public:
  explicit Closing(std::shared_ptr<InProcessSink> sink) : sink_(std::move(sink)) {}
  ~Closing() { sink_->close(); }

 private:
  const std::shared_ptr<InProcessSink> sink_;
};

class InProcessExchange final : public Exchange {
 public:
  InProcessExchange(std::shared_ptr<Courier> courier, std::shared_ptr<ObservedCall> call,
                    std::shared_ptr<InProcessSink> sink)
      : courier_(std::move(courier)), call_(std::move(call)), sink_(std::move(sink)) {}
  ~InProcessExchange() override {
    call_->cancel();
    courier_->post([closing = std::make_shared<Closing>(sink_)] {});  // the end of the task closes
  }
  void pause(bool paused) override { sink_->pause(paused); }

 private:
  std::shared_ptr<Courier> courier_;
  std::shared_ptr<ObservedCall> call_;
  std::shared_ptr<InProcessSink> sink_;
};

class InProcessTransport final : public Transport {
 public:
  InProcessTransport(Handler handler, PeerIdentity identity, Loop* loop)
      : handler_(std::make_shared<const Handler>(std::move(handler))), identity_(std::move(identity)) {
    if (!loop) loop = &own_loop_.emplace("inprocess").loop();
    courier_ = std::make_shared<Courier>(*loop);
  }
  ~InProcessTransport() override { courier_->close(); }

  std::unique_ptr<Exchange> start(Request request, std::shared_ptr<ResponseObserver> observer,
                                  std::chrono::milliseconds timeout) override {
    auto call = std::make_shared<ObservedCall>(std::move(observer));
    auto sink = std::make_shared<InProcessSink>(courier_, call);
    request.peer = identity_;
    request.peer.kind = PeerIdentity::Kind::in_process;
    courier_->post([handler = handler_, sink, call, timeout, message = std::move(request)]() mutable {
      if (call->over()) return sink->close();
      if (timeout.count() > 0) sink->limit(timeout);
      call_handler(*handler, std::move(message), sink);
    });
    return std::make_unique<InProcessExchange>(courier_, std::move(call), std::move(sink));
  }

 private:
  const std::shared_ptr<const Handler> handler_;
  const PeerIdentity identity_;
  std::shared_ptr<Courier> courier_;
  std::optional<LoopThread> own_loop_;  // last: its thread is joined before anything that it uses goes
};

}  // namespace

std::unique_ptr<Transport> make_in_process_transport(Handler handler, PeerIdentity identity, Loop* loop) {
  return std::make_unique<InProcessTransport>(std::move(handler), std::move(identity), loop);
}

}  // namespace sublet::net
