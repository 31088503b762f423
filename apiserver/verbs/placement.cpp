#include "apiserver/verbs/placement.h"

#include <utility>

#include "apiserver/conversion/conversion.h"
#include "apiserver/verbs/verb.h"
#include "sublet/net/courier.h"

namespace sublet::apiserver {
namespace {

thread_local Place this_place = Place::caller;

class AtPlace {
 public:
  explicit AtPlace(Place place) { this_place = place; }
  ~AtPlace() { this_place = Place::caller; }
  AtPlace(const AtPlace&) = delete;
  AtPlace& operator=(const AtPlace&) = delete;
};

Status retry_soon(Reason reason, std::string message) {
  Status status;
  status.reason = reason;
  status.message = std::move(message);
  status.retry_after_seconds = 1;
  return status;
}

void refuse_without_room(RequestContext& context) {
  if (context.core->stopping)
    return reply_status(context, retry_soon(Reason::service_unavailable, "the server is shutting down"));
  reply_status(context, retry_soon(Reason::too_many_requests, "too many requests, please try again later"));
}

/// A queued step. Answers the request when the server stops before the step runs.
class QueuedStep {
 public:
  QueuedStep(ContextPtr context, std::function<void()> run) : context_(std::move(context)), run_(std::move(run)) {}
  ~QueuedStep() {
    if (run_) reply_status(*context_, retry_soon(Reason::service_unavailable, "the server is shutting down"));
  }
  QueuedStep(const QueuedStep&) = delete;
  QueuedStep& operator=(const QueuedStep&) = delete;
  void run() {
    if (!context_->core->stopping) std::exchange(run_, nullptr)();
  }

 private:
  const ContextPtr context_;
  std::function<void()> run_;
};

// Each request has one waiting step at most, so there is room for it. Workers that do not take it are stopping.
void queue_at(const ContextPtr& context, RequestWorkers& pool, std::function<void()> step) {
  const auto queued = std::make_shared<QueuedStep>(context, std::move(step));
  (void)pool.workers.submit([queued, place = context->moved_to] {
    const AtPlace at(place);
    if (place != Place::conversions) return queued->run();
    const MayWait here;
    queued->run();
  });
}

void queue_large(const ContextPtr& context, std::function<void()> step) {
  const bool queued = context->core->large_writes.submit([step = std::move(step)] {
    const AtPlace at(Place::large_writes);
    step();
  });
  if (!queued) refuse_without_room(*context);
}

void move_to(const ContextPtr& context, Place place, std::function<void()> step) {
  RequestWorkers& pool = *context->core->workers_of(place);
  if (context->moved_to == place) return queue_at(context, pool, std::move(step));
  if (pool.requests.fetch_add(1, std::memory_order_relaxed) >= pool.requests_max) {
    pool.requests.fetch_sub(1, std::memory_order_relaxed);
    return refuse_without_room(*context);
  }
  context->moved_to = place;
  queue_at(context, pool, std::move(step));
}

bool is_read(Verb verb) { return verb == Verb::get || verb == Verb::list || verb == Verb::watch; }

Work work_of_verb(const RequestContext& context) {
  Work work;
  work.bytes = context.request.body.size();
  work.is_slow_write = !is_read(context.info.verb) && strategy_of(*context.route).is_slow_to_validate;
  // A watch waits for the webhook by itself, event by event.
  const WebhookConversion* webhook = webhook_conversion_of(*context.route);
  work.needs_webhook = webhook && webhook->asks() && context.info.verb != Verb::watch;
  return work;
}

}  // namespace

Place place_of(const Work& work) {
  if (work.moved_to == Place::conversions) return Place::conversions;
  if (work.only_answers) return Place::caller;
  if (work.moved_to == Place::slow_writes) return Place::slow_writes;
  if (work.needs_webhook) return Place::conversions;
  if (work.is_slow_write) return Place::slow_writes;
  return work.bytes > kLoopBytesMax ? Place::large_writes : Place::caller;
}

void run_placed(const ContextPtr& context, Work work, std::function<void()> step) {
  work.moved_to = context->moved_to;
  const Place place = place_of(work);
  if (place == Place::caller || place == this_place) return step();
  if (place == Place::large_writes) return queue_large(context, std::move(step));
  move_to(context, place, std::move(step));
}

void resume(const ContextPtr& context, std::function<void()> step) {
  RequestWorkers* pool = context->core->workers_of(context->moved_to);
  pool ? queue_at(context, *pool, std::move(step)) : step();
}

void resume_later(const ContextPtr& context, std::function<void()> step) {
  if (RequestWorkers* pool = context->core->workers_of(context->moved_to))
    return queue_at(context, *pool, std::move(step));
  (void)context->sink->courier()->post(std::move(step));
}

void run_verb_placed(const ContextPtr& context, void (*verb)(const ContextPtr& context)) {
  const Work work = work_of_verb(*context);
  const auto run = [context, work, verb] { run_placed(context, work, [context, verb] { verb(context); }); };
  const Strategy& strategy = strategy_of(*context->route);
  const std::string_view version = context->served().version;
  const bool is_compiled = strategy.ready && (!is_read(context->info.verb) || conversion_of(*context->route));
  if (work.needs_webhook || !is_compiled || strategy.ready(version)) return run();
  const bool taken = context->core->large_answers.submit([context, &strategy, version, run] {
    strategy.make_ready(version);
    context->sink->courier()->post(run);
  });
  if (!taken) run();  // compiled at its first use
}

}  // namespace sublet::apiserver
