// Seat: what one request holds of its priority level while it is worked on, and whose flow it is (flowcontrol/).
//
// A part of the RequestContext, given back when that ends. FlowMark: what every answer says of the flow. Threads: as
// the RequestContext's; the keeper locks itself, and outlives every Seat.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "sublet/base/clock.h"
#include "sublet/base/metrics.h"

namespace sublet::apiserver {

struct FlowMark {
  std::string schema_uid, level_uid;
};

class PriorityLevel;  // flowcontrol/priority_level.h
struct Seat;

class SeatKeeper {
 public:
  virtual void give_back(Seat& seat) = 0;

 protected:
  ~SeatKeeper() = default;
};

struct Seat {
  Seat() = default;
  ~Seat() { give_back(); }
  Seat(const Seat&) = delete;
  Seat& operator=(const Seat&) = delete;
  void give_back() {
    if (auto* taken_of = std::exchange(keeper, nullptr)) taken_of->give_back(*this);
  }

  SeatKeeper* keeper = nullptr;  // null: nothing is held
  PriorityLevel* level = nullptr;
  metrics::Gauge* executing = nullptr;  // of the flow schema
  unsigned seats = 0;
  int queue = -1;      // that it counts for; -1: none
  SteadyTime since{};  // it was taken, where there is a queue
};

}  // namespace sublet::apiserver
