#include "apiserver/verbs/aside.h"

#include <utility>

#include "apiserver/conversion/conversion.h"
#include "apiserver/verbs/verb.h"
#include "sublet/net/courier.h"

namespace sublet::apiserver {
namespace {

Status later(Reason reason, std::string message) {
  Status status;
  status.reason = reason;
  status.message = std::move(message);
  status.retry_after_seconds = 1;
  return status;
}

/// A step that does not run, since the server stops, is answered all the same.
class AsideStep {
 public:
  AsideStep(ContextPtr context, std::function<void()> run) : context_(std::move(context)), run_(std::move(run)) {}
  ~AsideStep() {
    if (run_) reply_status(*context_, later(Reason::service_unavailable, "the server is shutting down"));
  }
  AsideStep(const AsideStep&) = delete;
  AsideStep& operator=(const AsideStep&) = delete;
  void run() {
    if (!context_->core->stopping) std::exchange(run_, nullptr)();
  }

 private:
  const ContextPtr context_;
  std::function<void()> run_;
};

bool is_read(Verb verb) { return verb == Verb::get || verb == Verb::list || verb == Verb::watch; }

}  // namespace

void go_aside(const ContextPtr& context, AsidePool& pool, std::function<void()> step) {
  if (pool.requests.fetch_add(1, std::memory_order_relaxed) >= pool.requests_max) {
    pool.requests.fetch_sub(1, std::memory_order_relaxed);
    return reply_status(*context, later(Reason::too_many_requests, "too many requests, please try again later"));
  }
  context->aside = &pool;
  go_on(context, std::move(step));
}

// Each request has one step at most that waits, so there is room for it.
void go_on(const ContextPtr& context, std::function<void()> step) {
  AsidePool* pool = context->aside;
  if (!pool) return step();
  const auto kept = std::make_shared<AsideStep>(context, std::move(step));
  (void)pool->workers.submit([kept, may_wait = pool->may_wait] {  // not taken: the server stops
    if (!may_wait) return kept->run();
    const MayWait here;
    kept->run();
  });
}

void when_ready(const ContextPtr& context, void (*step)(const ContextPtr& context)) {
  // A watch waits by itself, event by event.
  if (const auto* outside = outside_of(*context->route);
      outside && outside->asks() && context->info.verb != Verb::watch)
    return go_aside(context, context->core->conversions, [context, step] { step(context); });
  const Strategy& strategy = strategy_of(*context->route);
  const std::string_view version = context->served().version;
  const bool asks = strategy.ready && (!is_read(context->info.verb) || conversion_of(*context->route));
  if (!asks || strategy.ready(version)) return step(context);
  const bool taken = context->core->large_answers.submit([context, &strategy, version, step] {
    strategy.make_ready(version);
    context->sink->courier()->post([context, step] { step(context); });
  });
  if (!taken) step(context);  // it is made by whoever needs it
}

}  // namespace sublet::apiserver
