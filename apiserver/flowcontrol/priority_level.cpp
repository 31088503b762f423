#include "apiserver/flowcontrol/priority_level.h"

#include <algorithm>
#include <cmath>

namespace sublet::apiserver {
namespace {

using schema::Value;
using Seconds = std::chrono::duration<double>;

constexpr double kGuessMax = 1;        // seconds: a flow whose requests take long is not put off for longer
constexpr double kWidestShare = 0.15;  // of its level's seats, for one request
constexpr unsigned kWidest = 100;      // seats
constexpr std::int64_t kLevelHandMax = 60, kLevelQueuesMax = 100'000;  // upstream's limits on memory and hash bits
constexpr int kRetryAfterMax = 32;

double steady_seconds(SteadyTime time) { return Seconds(time.time_since_epoch()).count(); }

std::optional<std::int64_t> optional_integer(const Value& value) {
  return value ? std::optional(value.integer()) : std::nullopt;
}

}  // namespace

LevelSpec LevelSpec::read(const Value& object) {
  LevelSpec made;
  made.name = object["metadata"]["name"].string();
  made.uid = object["metadata"]["uid"].string();
  made.exempt = object["spec"]["type"].text() == "Exempt";
  const Value form = object["spec"][made.exempt ? "exempt" : "limited"];
  made.shares = optional_integer(form["nominalConcurrencyShares"]).value_or(made.exempt ? 0 : 30);
  made.lendable_percent = optional_integer(form["lendablePercent"]).value_or(0);
  made.borrowing_percent = optional_integer(form["borrowingLimitPercent"]);
  const Value response = form["limitResponse"];
  made.queuing = response["type"].text() == "Queue";
  const Value queuing = response["queuing"];
  made.queues = std::clamp<std::int64_t>(optional_integer(queuing["queues"]).value_or(64), 1, kLevelQueuesMax);
  made.hand = std::clamp<std::int64_t>(optional_integer(queuing["handSize"]).value_or(8), 1,
                                       std::min(kLevelHandMax, made.queues));
  made.length = optional_integer(queuing["queueLengthLimit"]).value_or(50);
  return made;
}

std::string_view refusal_name(Refusal why) {
  switch (why) {
    case Refusal::queue_full:
      return "queue-full";
    case Refusal::concurrency_limit:
      return "concurrency-limit";
    case Refusal::time_out:
      return "time-out";
    case Refusal::stopping:
      break;
  }
  return "cancelled";
}

void deal(std::uint64_t flow, std::int64_t queues, std::int64_t hand, std::vector<int>& into) {
  into.clear();
  std::int64_t remainders[kLevelHandMax] = {};
  for (std::int64_t i = 0; i < hand; ++i) {
    const auto left = static_cast<std::uint64_t>(queues - i);
    remainders[i] = static_cast<std::int64_t>(flow % left);
    flow /= left;
  }
  for (std::int64_t i = 0; i < hand; ++i) {
    std::int64_t card = remainders[i];
    for (std::int64_t j = i; j > 0; --j)
      if (card >= remainders[j - 1]) ++card;
    into.push_back(static_cast<int>(card));
  }
}

void PriorityLevel::configure(LevelSpec spec) {
  spec_ = std::move(spec);
  if (spec_.queuing && queues_.size() < static_cast<std::size_t>(spec_.queues))
    queues_.resize(static_cast<std::size_t>(spec_.queues));  // what waits in one too many goes its way
}

void PriorityLevel::limit(const Limits& limits) {
  limits_ = limits;
  if (limit_gauge) limit_gauge->set(limits.nominal);
}

unsigned PriorityLevel::widest() const {
  const auto nominal = static_cast<double>(limits_.nominal);
  auto most = std::ceil(nominal * kWidestShare);
  if (spec_.queuing) most = std::min(most, std::floor(nominal / static_cast<double>(spec_.hand)));
  return std::clamp(static_cast<unsigned>(most), 1u, kWidest);
}

// Virtual time goes as fast as each of the queues with requests is served.
void PriorityLevel::advance(SteadyTime now) {
  const double seconds = Seconds(now - advanced_).count();
  advanced_ = now;
  if (busy_queues_ == 0 || seconds <= 0) return;
  virtual_now_ += seconds * static_cast<double>(counted_) / static_cast<double>(busy_queues_);
}

PriorityLevel::Queue& PriorityLevel::shortest(std::uint64_t flow) {
  deal(flow, spec_.queues, spec_.hand, hand_);
  const auto load = [this](int at) {
    const Queue& queue = queues_[static_cast<std::size_t>(at)];
    return queue.waiting_seats + queue.used_seats;
  };
  const auto best = std::ranges::min_element(hand_, {}, load);
  return queues_[static_cast<std::size_t>(*best)];
}

// The virtual time of a queue: the seat time that it was given, with that of running requests as worked off or
// expected.
double PriorityLevel::Queue::reached(double second) const {
  const auto used = static_cast<double>(used_seats);
  return starts + std::max(used * second - begun, used * guess);
}

// The virtual time of waiting requests: virtual_now_, unless one of them is behind it. Who comes now does not pay for
// that with its own wait, as long as it has not had its share either.
double PriorityLevel::waiting_since(SteadyTime now) const {
  double least = virtual_now_;
  for (const Queue& queue : queues_)
    if (!queue.requests.empty()) least = std::min(least, queue.reached(steady_seconds(now)));
  return least;
}

void PriorityLevel::enter(Queue& queue, SteadyTime now) {
  if (!queue.idle()) return;
  queue.starts = std::min(std::max(queue.starts, waiting_since(now)), virtual_now_);
  queue.guess = kGuess;
  ++busy_queues_;
}

void PriorityLevel::begin(Queue& queue, unsigned seats, SteadyTime now) {
  queue.used_seats += seats;
  queue.begun += seats * steady_seconds(now);
  counted_ += seats;
  in_use_ += seats;
}

int PriorityLevel::take(unsigned seats, std::uint64_t flow, SteadyTime now) {
  if (seats <= 1 || !spec_.queuing) {
    in_use_ += seats;
    return -1;
  }
  advance(now);
  Queue& queue = shortest(flow);
  enter(queue, now);
  begin(queue, seats, now);
  return static_cast<int>(&queue - queues_.data());
}

bool PriorityLevel::park(const ParkedPtr& request, std::uint64_t flow, SteadyTime now) {
  advance(now);
  Queue& queue = shortest(flow);
  if (static_cast<std::int64_t>(queue.requests.size()) >= spec_.length) return false;
  enter(queue, now);
  request->queue = static_cast<int>(&queue - queues_.data());
  request->since = now;
  queue.requests.push_back(request);
  queue.waiting_seats += request->seats;
  ++waiting_;
  return true;
}

const ParkedRequest* PriorityLevel::next(SteadyTime now) {
  if (waiting_ == 0) return nullptr;
  advance(now);
  double least = 0;
  const double second = steady_seconds(now);
  next_ = -1;
  for (std::size_t i = 0; i < queues_.size(); ++i) {
    const std::size_t at = (turn_ + i) % queues_.size();
    const Queue& queue = queues_[at];
    if (queue.requests.empty()) continue;
    const double ends = queue.reached(second) + queue.guess * queue.requests.front()->seats;
    if (next_ >= 0 && ends >= least) continue;
    least = ends;
    next_ = static_cast<int>(at);
  }
  return queues_[static_cast<std::size_t>(next_)].requests.front().get();
}

ParkedPtr PriorityLevel::take_next(SteadyTime now) {
  advance(now);
  Queue& queue = queues_[static_cast<std::size_t>(next_)];
  turn_ = (static_cast<std::size_t>(next_) + 1) % queues_.size();
  ParkedPtr request = std::move(queue.requests.front());
  queue.requests.pop_front();
  queue.waiting_seats -= request->seats;
  --waiting_;
  begin(queue, request->seats, now);
  return request;
}

void PriorityLevel::left(Queue& queue, const ParkedRequest& request) {
  queue.waiting_seats -= request.seats;
  --waiting_;
  if (queue.idle()) --busy_queues_;
}

void PriorityLevel::give_back(unsigned seats, int queue, SteadyTime::duration worked, SteadyTime now) {
  if (queue >= 0) {
    advance(now);
    const double took = Seconds(worked).count();
    Queue& of = queues_[static_cast<std::size_t>(queue)];
    of.used_seats -= seats;
    of.begun = of.used_seats == 0 ? 0 : of.begun - seats * (steady_seconds(now) - took);
    of.starts += took * seats;
    of.guess = std::clamp(took, kGuess, kGuessMax);
    counted_ -= seats;
    if (of.idle()) --busy_queues_;
  }
  in_use_ -= seats;
}

bool PriorityLevel::forget(const ParkedRequest& request) {
  if (request.queue < 0) return false;
  Queue& queue = queues_[static_cast<std::size_t>(request.queue)];
  const auto found = std::ranges::find(queue.requests, &request, &ParkedPtr::get);
  if (found == queue.requests.end()) return false;
  const ParkedPtr kept = *found;
  queue.requests.erase(found);
  left(queue, *kept);
  return true;
}

std::vector<ParkedPtr> PriorityLevel::take_all() {
  std::vector<ParkedPtr> all;
  for (Queue& queue : queues_) {
    while (!queue.requests.empty()) {
      all.push_back(std::move(queue.requests.front()));
      queue.requests.pop_front();
      left(queue, *all.back());
    }
  }
  return all;
}

int PriorityLevel::retry_after(SteadyTime now) {
  const auto passed = now - refused_since_;
  if (passed >= std::chrono::seconds(retry_after_)) {
    if (passed >= std::chrono::seconds(2 * retry_after_) || refused_ < retry_after_)
      retry_after_ = std::max(1, retry_after_ / 2);
    else if (refused_ >= 3 * retry_after_)
      retry_after_ = std::min(kRetryAfterMax, retry_after_ * 2);
    refused_ = 0;
    refused_since_ = now;
  }
  ++refused_;
  return retry_after_;
}

}  // namespace sublet::apiserver
