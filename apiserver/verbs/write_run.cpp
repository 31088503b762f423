// WriteRun (phases.h): the order of the phases, what waits between them, and when a write is answered.
#include <algorithm>

#include "apiserver/admission/call_out.h"
#include "apiserver/admission/plugins.h"
#include "apiserver/conversion/conversion.h"
#include "apiserver/verbs/host_address.h"
#include "apiserver/verbs/phases.h"
#include "apiserver/verbs/placement.h"
#include "sublet/net/courier.h"

namespace sublet::apiserver {
namespace {

// Guards fail only when another thread wrote the same key between preparing and submitting.
constexpr int kWriteAttemptsMax = 64;

Status retry_status(Reason reason, std::string message, int retry_after_seconds = 0) {
  Status status;
  status.reason = reason;
  status.message = std::move(message);
  status.retry_after_seconds = retry_after_seconds;
  return status;
}

std::chrono::milliseconds time_left(const RequestContext& context) {
  const auto spent = context.core->clock.steady_now() - context.received;
  return std::chrono::duration_cast<std::chrono::milliseconds>(context.core->options.request_timeout - spent);
}

Status shutting_down() { return retry_status(Reason::service_unavailable, "the server is shutting down", 1); }

Status out_of_time() {
  return retry_status(Reason::timeout,
                      "Timeout: request did not complete within requested timeout - context deadline exceeded");
}

bool adds(const store::Txn& txn) {
  return std::ranges::any_of(txn.ops, [](const store::Op& op) { return op.put && !op.of_deletion; });
}

bool grew(const store::EventPtr& event) {
  return event->type != store::Event::Type::deleted &&
         (!event->previous || event->object->bytes.size() > event->previous->bytes.size());
}

// Warns the writer before the store is full.
void warn_of_quota(RequestContext& context, const store::Committed& committed) {
  if (!std::ranges::any_of(committed.events, grew)) return;
  const store::StoreUsage usage = context.core->store.usage();
  if (usage.percent() >= store::kNearlyFullPercent)
    context.warnings.push_back("the store of this virtual cluster is nearly full: " + usage.words() +
                               " of its quota; at 100 % nothing can be added");
}

bool mutates(const CallOutPlugin& plugin) { return plugin.kind() == CallOutPlugin::Kind::mutating; }

Attempt attempt_of(Write& write, Draft& draft, const schema::Value& old) {
  const bool removes = draft.verb == WriteVerb::remove;
  return {write.context, draft.verb, removes ? schema::Value() : draft.object.root(), old, &draft.rounds};
}

// Those of the server's options, then the webhooks; null: there are no more.
const CallOutPlugin* plugin_at(const ServerOptions& options, std::size_t place) {
  if (place < options.call_outs.size()) return options.call_outs[place].get();
  place -= options.call_outs.size();
  return place == 0 ? &mutating_webhooks() : place == 1 ? &validating_webhooks() : nullptr;
}

}  // namespace

WriteRun::WriteRun(ContextPtr context)
    : context_(std::move(context)), first_warning_(context_->warnings.size()), attempts_(kWriteAttemptsMax) {}

WriteRun::~WriteRun() = default;

void WriteRun::start() { run_placed(); }

void WriteRun::run_placed() {
  Work work;
  work.bytes = context_->request.body.size();
  if (!context_->info.name.empty())
    if (const auto stored = context_->core->store.pending().get(context_->key()))
      work.bytes = std::max(work.bytes, stored->bytes.size());
  apiserver::run_placed(context_, work, [self = shared_from_this()] { self->run(); });
}

Result<Plan> WriteRun::plan(Write& write, Draft& draft) { return plan_draft(write, draft); }

// From the phase that it is in to the commit, as often as guards fail.
void WriteRun::run() {
  while (attempts_-- > 0) {
    const store::Snapshot pending = context_->core->store.pending();
    Write write(*context_, pending);
    (void)MayWait::take_missed();  // left by the thread's previous request
    auto prepared = prepare(write);
    const bool waits = prepared && *prepared == Step::waits;
    if (MayWait::take_missed() && !waits && context_->moved_to == Place::caller) return restart_with_webhook();
    if (!prepared) return answer_when_durable(fail(prepared.error()), pending.revision());
    if (waits) return;
    context_->warnings.resize(plan_warnings_);
    auto planned = plan(write, *draft_);
    if (!planned) return answer_when_durable(fail(planned.error()), pending.revision());
    if (!planned->submit) {
      const auto seen = planned->seen.value_or(pending.revision());
      return answer_when_durable(std::move(planned->answer), seen);
    }
    if (commit(*planned)) return;
  }
  finish(fail(retry_status(Reason::server_timeout, "the object is being changed too often; please try again", 1)));
}

// An object that the write reads, or that admission is shown, has to be converted by a webhook.
void WriteRun::restart_with_webhook() {
  draft_.reset();
  phase_ = Phase::draft;
  Work work;
  work.needs_webhook = true;
  apiserver::run_placed(context_, work, [self = shared_from_this()] { self->run(); });
}

// Whether what the draft changes is not what is there now. A POST finds that out in plan().
bool WriteRun::stale(const Write& write) const {
  if (!draft_) return false;
  if (!draft_->absent_key.empty()) return write.pending.get(draft_->absent_key) != nullptr;
  return draft_->current && write.pending.get(draft_->current->key) != draft_->current;
}

Result<WriteRun::Step> WriteRun::prepare(Write& write) {
  if (stale(write)) {
    draft_.reset();
    phase_ = Phase::draft;
  }
  if (phase_ == Phase::draft) {
    context_->warnings.resize(first_warning_);
    auto made = draft(write);
    if (!made) return fail(made.error());
    draft_ = std::move(*made);
    if (auto mutated = mutate_draft(write, *draft_); !mutated) return fail(mutated.error());
    judged_at_ = write.pending.revision();
    next_call_ = 0;
    phase_ = Phase::mutate;
  }
  if (phase_ == Phase::mutate) {
    if (auto asked = mutate_outside(write); !asked || *asked == Step::waits) return asked;
    if (auto valid = validate_draft(write, *draft_); !valid) return fail(valid.error());
    next_call_ = 0;
    phase_ = Phase::validate;
  }
  if (phase_ == Phase::validate) {
    if (auto asked = ask_outside(write, false); !asked || *asked == Step::waits) return asked;
    phase_ = Phase::plan;
    plan_warnings_ = context_->warnings.size();
  }
  if (auto valid = validate_again(write); !valid) return fail(valid.error());
  return Step::done;
}

Outcome WriteRun::validate_again(Write& write) {
  if (judged_at_ == write.pending.revision()) return {};
  judged_at_ = write.pending.revision();
  if (draft_->verb == WriteVerb::remove || has_own_body(draft_->verb)) return {};
  const schema::Value old = draft_->old.root();
  return admit_again(write.context, draft_->verb, draft_->object.root(), old);
}

// --- calls outside ---

// All mutating plugins that ask; and when one or a policy has changed the object, all mutating admission once more.
Result<WriteRun::Step> WriteRun::mutate_outside(Write& write) {
  while (true) {
    if (auto asked = ask_outside(write, true); !asked || *asked == Step::waits) return asked;
    if (!draft_->rounds.begin_second()) return Step::done;
    const schema::Value old = draft_->old.root();
    if (auto admitted = admit_mutating(write.context, draft_->verb, draft_->object.root(), old, &draft_->rounds);
        !admitted)
      return fail(admitted.error());
    next_call_ = 0;
  }
}

// The next plugin of the kind that has a question, and with it away from the loop: come_back() goes on.
Result<WriteRun::Step> WriteRun::ask_outside(Write& write, bool mutating) {
  const ServerOptions& options = context_->core->options;
  for (; const CallOutPlugin* plugin = plugin_at(options, next_call_); ++next_call_) {
    if (mutates(*plugin) != mutating || (draft_->rounds.second_round() && mutating && !plugin->asks_again())) continue;
    const schema::Value old = draft_->old.root();
    const auto call = plugin->begin(attempt_of(write, *draft_, old));
    if (!call) return fail(call.error());
    if (*call) return ask(*plugin, *call);
  }
  return Step::done;
}

Result<WriteRun::Step> WriteRun::ask(const CallOutPlugin& plugin, const std::shared_ptr<CallOut>& call) {
  const auto limit = std::min(plugin.timeout(), time_left(*context_));
  if (limit.count() <= 0) return fail(out_of_time());
  ++attempts_;  // coming back is no further attempt
  auto& call_outs = context_->core->call_outs;
  const bool asked =
      call_outs.start(call, limit, *context_->sink, [self = shared_from_this(), &plugin, call](CallOutEnd end) {
        resume(self->context_, [self, &plugin, call, end] { self->come_back(plugin, *call, end); });
      });
  if (asked) return Step::waits;  // somebody else's from here on
  if (context_->core->stopping) return fail(shutting_down());
  return fail(retry_status(Reason::too_many_requests, "too many requests, please try again later", 1));
}

void WriteRun::come_back(const CallOutPlugin& plugin, CallOut& call, CallOutEnd end) {
  if (end == CallOutEnd::stopped) return finish(fail(shutting_down()));
  const store::Snapshot pending = context_->core->store.pending();
  Write write(*context_, pending);
  if (!stale(write)) {  // else the call was about an older state of the object: run() begins again
    if (auto taken = take_answer(write, plugin, call, end); !taken)
      return answer_when_durable(fail(taken.error()), pending.revision());
    if (!plugin.asks_again()) ++next_call_;
  }
  run_placed();
}

// A call that is late may still be running: only the plugin may be asked then.
Outcome WriteRun::take_answer(Write& write, const CallOutPlugin& plugin, CallOut& call, CallOutEnd end) {
  const schema::Value old = draft_->old.root();
  const Attempt attempt = attempt_of(write, *draft_, old);
  if (end == CallOutEnd::answered) return call.apply(attempt);
  if (time_left(*context_).count() <= 0) return fail(out_of_time());
  return plugin.late(attempt);
}

// --- commit and answer ---

// False: a guard failed. Once true, the run is the commit's: its callback may be running already.
bool WriteRun::commit(Plan& plan) {
  answer_ = std::move(plan.answer);
  adds_ = adds(plan.txn);
  std::optional<Draft> kept = std::exchange(draft_, std::nullopt);  // nothing is held while the commit is awaited
  const Phase phase = std::exchange(phase_, Phase::draft);
  auto& core = *context_->core;
  if (core.store.submit(std::move(plan.txn), [self = shared_from_this()](Result<store::Committed> result) {
        // Before a syncer can have carried it and asks.
        if (result) self->context_->record_writers(*result);
        // The commit thread must not wait for encoding or for peers.
        self->context_->sink->courier()->post([self, result = std::move(result)] { self->committed(result); });
      }))
    return true;
  draft_ = std::move(kept);
  phase_ = phase;
  return false;
}

void WriteRun::committed(const Result<store::Committed>& result) {
  if (!result) {
    if (result.error().is(Reason::conflict)) return again();
    return finish(fail(result.error()));
  }
  if (answer_ && answer_->op) answer_->object = result->events[*answer_->op]->object;
  if (adds_) warn_of_quota(*context_, *result);
  if (answer_ && awaits_host_address(*context_, *answer_))
    return await_host_address(context_, std::move(*answer_),
                              [self = shared_from_this()](Answer answer) { self->finish(std::move(answer)); });
  finish(answer_);
}

// `seen`: the revision up to which the answer rests on the store.
void WriteRun::answer_when_durable(Result<Answer> answer, store::Revision seen) {
  auto& core = *context_->core;
  if (seen <= core.store.snapshot().revision()) return finish(answer);
  answer_ = std::move(answer);
  draft_.reset();
  phase_ = Phase::draft;
  (void)core.store.submit({}, [self = shared_from_this()](const Result<store::Committed>& result) {
    const bool undone = !result && result.error().is(Reason::conflict);
    self->context_->sink->courier()->post([self, undone, failure = result ? Outcome() : fail(result.error())] {
      if (undone) return self->again();
      failure ? self->finish(self->answer_) : self->finish(fail(failure.error()));
    });
  });
}

void WriteRun::finish(const Result<Answer>& answer) {
  Work work;
  work.only_answers = true;
  apiserver::run_placed(context_, work, [self = shared_from_this(), answer] {
    answer ? reply(*self->context_, *answer) : reply_status(*self->context_, answer.error());
  });
}

// What the write was based on is undone (the disk is full): from the beginning.
void WriteRun::again() {
  resume(context_, [self = shared_from_this()] { self->run_placed(); });
}

}  // namespace sublet::apiserver
