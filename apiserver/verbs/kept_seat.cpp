#include "apiserver/verbs/kept_seat.h"

#include <utility>

#include "apiserver/flowcontrol/flow_control.h"
#include "sublet/base/log.h"
#include "sublet/base/metrics.h"
#include "sublet/net/courier.h"

namespace sublet::apiserver {
namespace {

constexpr int kPart = 24;  // of the time that a request may take; who waits for seats waits for a quarter of it
constexpr int kLooks = 5;  // within that

}  // namespace

std::shared_ptr<KeptSeat> KeptSeat::of(RequestContext& context) {
  if (!context.seat.keeper) return nullptr;
  auto kept = std::make_shared<KeptSeat>(context);
  kept->look_later();
  return kept;
}

KeptSeat::KeptSeat(RequestContext& context)
    : core_(context.core),
      sink_(context.sink),
      limit_(core_->options.request_timeout / kPart),
      pause_(limit_ / kLooks) {
  Seat& taken = context.seat;
  seat_.keeper = std::exchange(taken.keeper, nullptr);
  seat_.level = taken.level;
  seat_.executing = taken.executing;
  seat_.seats = taken.seats;
  seat_.queue = taken.queue;
  seat_.since = taken.since;
}

void KeptSeat::look_later() {
  sink_->courier()->after(pause_, [weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->look();
  });
}

void KeptSeat::look() {
  if (sink_->closed()) return;
  if (!sink_->wants_more()) behind_ += pause_;
  if (behind_ < limit_ || !core_->flow_control.is_wanted(seat_)) return look_later();
  log::info("flow.slow_reader_cut", {{"behind_ms", behind_.count()}, {"seats", seat_.seats}});
  metrics::counter("sublet_slow_readers_cut_total",
                   "Answers broken off because their readers were behind while others waited for their seats.")
      .add();
  sink_->abort();
}

}  // namespace sublet::apiserver
