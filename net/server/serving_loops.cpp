#include "net/server/serving_loops.h"

#include <algorithm>
#include <utility>

namespace sublet::net {
/// A loop and those who sit there.
struct ServingLoops::Place {
  std::unique_ptr<LoopThread> own;  // null: the first
  std::shared_ptr<ServingLoop> core;
  std::shared_ptr<char> sitting = std::make_shared<char>();  // held by each of its connections
  bool was_idle = false;

  std::size_t count() const { return static_cast<std::size_t>(sitting.use_count()) - 1; }
};

ServingLoops::ServingLoops(Loop& first, Handler handler, HttpServerLimits limits)
    : limits_(limits),
      strangers_(std::make_shared<Strangers>(limits.strangers)),
      first_(std::make_shared<ServingLoop>(first, std::make_shared<const Handler>(std::move(handler)), limits)) {
  places_.push_back(std::make_unique<Place>());
  places_.front()->core = first_;
}

ServingLoops::~ServingLoops() = default;

std::size_t ServingLoops::taken() const {
  std::size_t all = 0;
  for (const auto& place : places_) all += place->count();
  return all;
}

bool ServingLoops::full() const {
  const MutexLock lock(mutex_);
  return taken() >= limits_.connections_max;
}

ServingLoops::Seat ServingLoops::seat(bool may_add) {
  if (may_add && adders_.use_count() > 1 && loops() < limits_.loops_max && !first_->stopping) add();
  const MutexLock lock(mutex_);
  const auto& place =
      *std::ranges::min_element(places_, {}, [](const std::unique_ptr<Place>& one) { return one->count(); });
  struct Held {
    std::shared_ptr<char> sitting, adder;
  };
  return {place->core, std::make_shared<Held>(Held{place->sitting, may_add ? adders_ : nullptr})};
}

void ServingLoops::add() {
  auto place = std::make_unique<Place>();
  place->own = std::make_unique<LoopThread>("http");
  place->core = std::make_shared<ServingLoop>(place->own->loop(), first_->handler, limits_);
  {
    const MutexLock lock(mutex_);
    if (frozen_) return;
    places_.push_back(std::move(place));
  }
  look_later();
}

void ServingLoops::look_later() {
  if (std::exchange(looking_, true)) return;
  first_->courier->after(limits_.idle_loop_time, [weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->look_for_idle();
  });
}

/// Two looks, so that what the last connection left to be done on its loop is done.
void ServingLoops::look_for_idle() {
  looking_ = false;
  std::vector<std::unique_ptr<Place>> ending;  // joined outside of the lock
  bool again = false;
  {
    const MutexLock lock(mutex_);
    if (frozen_) return;
    for (auto& place : places_) {
      const bool was_idle = std::exchange(place->was_idle, place->count() == 0);
      if (place->own && was_idle && place->was_idle) ending.push_back(std::move(place));
    }
    std::erase(places_, nullptr);
    again = places_.size() > 1;
  }
  for (const auto& place : ending) place->core->forget_loop();
  if (again) look_later();
}

std::size_t ServingLoops::connections() const {
  const MutexLock lock(mutex_);
  std::size_t all = 0;
  for (const auto& place : places_) all += place->core->connections();
  return all;
}

std::size_t ServingLoops::loops() const {
  const MutexLock lock(mutex_);
  return places_.size();
}

std::vector<std::shared_ptr<ServingLoop>> ServingLoops::cores() const {
  const MutexLock lock(mutex_);
  std::vector<std::shared_ptr<ServingLoop>> cores;
  for (const auto& place : places_) cores.push_back(place->core);
  return cores;
}

std::vector<std::shared_ptr<ServingLoop>> ServingLoops::freeze() {
  const MutexLock lock(mutex_);
  frozen_ = true;
  std::vector<std::shared_ptr<ServingLoop>> cores;
  for (const auto& place : places_) cores.push_back(place->core);
  return cores;
}

}  // namespace sublet::net
