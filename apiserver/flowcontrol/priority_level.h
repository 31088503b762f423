// PriorityLevel: one priority level at work: its seats, its queues, and who comes next.
//
// A request that finds no seat is dealt into the shortest of a few queues (shuffle sharding by its flow), so that a
// flow that sends much fills its own hand of queues and not those of others. From the queues requests come in the order
// of their virtual finish, as upstream's fair queuing has it (KEP 1040): every queue with requests gets the same share
// of the seats, and a request counts for its seats times the time that it is worked on. Otherwise than upstream's it
// counts while it is worked on, and wide ones that never waited count too: who holds many seats for long would else
// have more of them before anybody who comes later.
//
// No lock, no clock, no store: FlowControl holds its lock around every call and says what time it is.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sublet/base/clock.h"
#include "sublet/base/metrics.h"
#include "sublet/schema/document.h"

namespace sublet::apiserver {

/// What a PriorityLevelConfiguration says.
struct LevelSpec {
  static LevelSpec read(const schema::Value& object);
  bool operator==(const LevelSpec&) const = default;

  std::string name, uid;
  bool exempt = false;
  bool queuing = false;  // else what finds no seat is refused
  std::int64_t shares = 0, lendable_percent = 0;
  std::optional<std::int64_t> borrowing_percent = std::nullopt;  // missing: as much as there is
  std::int64_t queues = 0, hand = 0, length = 0;
};

enum class Refusal : std::uint8_t { queue_full, concurrency_limit, time_out, stopping };
std::string_view refusal_name(Refusal why);

struct Seat;
struct Flow;

/// A request that waits for its seat. resume() and refuse() are called at most once in all, without any lock.
class ParkedRequest {
 public:
  virtual ~ParkedRequest() = default;
  virtual void resume() = 0;
  virtual void refuse(Refusal why) = 0;

  // Of FlowControl, under its lock.
  Seat* seat = nullptr;
  const Flow* flow = nullptr;
  unsigned seats = 1;
  int queue = -1;  // while it waits
  SteadyTime since{};
};
using ParkedPtr = std::shared_ptr<ParkedRequest>;

/// The queues that a flow may use, out of `queues`: `hand` of them, all different.
void deal(std::uint64_t flow, std::int64_t queues, std::int64_t hand, std::vector<int>& into);

class PriorityLevel {
 public:
  void configure(LevelSpec spec);
  const LevelSpec& spec() const { return spec_; }
  /// Seats of its own, those that it always has (the rest it lends), the most that it may have.
  struct Limits {
    std::int64_t nominal = 0, kept = 0, most = 0;
  };
  void limit(const Limits& limits);
  const Limits& limits() const { return limits_; }
  /// The most that one request may take.
  unsigned widest() const;

  std::int64_t in_use() const { return in_use_; }
  /// Seats that cannot be borrowed: those in use, and those reserved. None for a level that was removed.
  std::int64_t spoken_for() const { return spec_.exempt || gone_ ? 0 : std::max(in_use_, limits_.kept); }
  /// Its object is deleted; requests that it has go on.
  void leave() { gone_ = true; }
  std::size_t waiting() const { return waiting_; }

  /// Seats for one that does not wait. The queue that they count for; -1: for none, as a single seat.
  int take(unsigned seats, std::uint64_t flow, SteadyTime now);
  /// What take() or take_next() took; `worked` of one that counts for a queue.
  void give_back(unsigned seats, int queue, SteadyTime::duration worked, SteadyTime now);

  /// False: its queue is full.
  bool park(const ParkedPtr& request, std::uint64_t flow, SteadyTime now);
  /// Null: no request waits. The next one keeps its place until take_next().
  const ParkedRequest* next(SteadyTime now);
  /// The one that next() has just named; its seats are taken.
  ParkedPtr take_next(SteadyTime now);
  /// False: it does not wait here any more.
  bool forget(const ParkedRequest& request);
  /// All who wait, who wait no more.
  std::vector<ParkedPtr> take_all();

  /// For how many seconds somebody who is refused now should stay away: longer when many are refused.
  int retry_after(SteadyTime now);

  metrics::Gauge *seats_gauge = nullptr, *limit_gauge = nullptr;

 private:
  static constexpr double kGuess = 0.003;  // seconds that a request is thought to take until it is known
  struct Queue {
    bool idle() const { return requests.empty() && used_seats == 0; }
    double reached(double second) const;
    std::deque<ParkedPtr> requests;
    std::int64_t waiting_seats = 0, used_seats = 0;
    double starts = 0;      // virtual time at which its next request begins, but for those that are worked on
    double begun = 0;       // of these, in sum: seats times the second at which each began
    double guess = kGuess;  // seconds that its next one is thought to take
  };
  void advance(SteadyTime now);
  double waiting_since(SteadyTime now) const;
  Queue& shortest(std::uint64_t flow);
  /// It is about to have a request.
  void enter(Queue& queue, SteadyTime now);
  void begin(Queue& queue, unsigned seats, SteadyTime now);
  void left(Queue& queue, const ParkedRequest& request);

  LevelSpec spec_;
  Limits limits_;
  bool gone_ = false;
  std::int64_t in_use_ = 0, counted_ = 0;  // seats; those that count for a queue
  std::size_t waiting_ = 0, busy_queues_ = 0;
  std::vector<Queue> queues_;
  std::vector<int> hand_;
  std::size_t turn_ = 0;  // where looking for the next begins, so that equals take turns
  int next_ = -1;
  double virtual_now_ = 0;
  SteadyTime advanced_{};

  std::int64_t refused_ = 0;
  int retry_after_ = 1;
  SteadyTime refused_since_{};
};

}  // namespace sublet::apiserver
