// Network: what lies between the syncer and the two servers, and the faults in it.
//
// Calls that block (a reconciler's) are answered within start(), and other things may happen while they are under way
// (Hooks::meanwhile). What the strand asks (an informer's lists and watches) is answered through a stream, of which the
// run delivers piece by piece, in an order between streams that it chooses. Each life of the syncer has lines of its
// own; when it has crashed, nothing of it reaches a server any more, but for one write that was on its way.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tests/simulation/dice.h"
#include "tests/simulation/faults.h"
#include "tests/simulation/side.h"
#include "tests/simulation/trace.h"

namespace sublet::simulation {

struct Hooks {
  /// Something else may happen now.
  std::function<void()> meanwhile;
  /// A request of the syncer was executed; `before` is the side's revision until then.
  std::function<void(Side& side, const net::Request& request, store::Revision before)> executed;
};

class Network {
 public:
  Network(Side& tenant, Side& host, SimClock& clock, Dice& dice, Tally& tally, Trace& trace, Hooks hooks);
  ~Network();

  /// A new syncer's lines; the ones before are dead.
  void begin_life();
  void crash();
  bool crashed() const { return !life_->alive; }
  std::shared_ptr<net::Transport> line_to(Side& side);
  /// Until it is told otherwise, requests come from the strand, and are answered through streams.
  void from_strand(bool is_so) { from_strand_ = is_so; }
  /// The syncer crashes at its write of that number (the first is 1): before it is sent, or after its commit. Beside
  /// what the dice bring.
  void crash_at(std::uint64_t write, bool after) {
    crash_at_ = write;
    crash_after_ = after;
  }
  /// Without faults from now on.
  void calm();
  /// From now on no request fails, and nothing crashes; what is told may still be late.
  bool is_calm() const { return calm_; }

  // What the run chooses from; each says whether there was anything to do.
  /// Tells one piece of one stream.
  bool deliver();
  /// A stream breaks off, in one of several ways.
  bool break_watch();
  /// A side's history goes, and a stream that is behind breaks off.
  bool compact();
  /// Nothing is told on some streams for a while.
  void hold();
  /// One side is away for a while.
  void take_away();
  /// The write of a crashed syncer that is still on its way arrives.
  bool arrive_late();

  /// The reconcilers' steps, by which lag is measured.
  void count_step() { ++steps_; }
  std::uint64_t writes() const { return writes_; }
  std::uint64_t writes_to_be_sent() const { return asked_; }

 private:
  class Line;
  class Exchange;
  struct Stream;
  class Feed;
  struct Life {
    bool alive = true;
  };
  struct Late {
    Side* side;
    net::Request request;
  };
  using Observer = std::shared_ptr<net::ResponseObserver>;

  std::unique_ptr<net::Exchange> start(const std::shared_ptr<Life>& life, Side& side, net::Request request,
                                       Observer observer);
  std::unique_ptr<net::Exchange> stream(const std::shared_ptr<Life>& life, Side& side, net::Request request,
                                        Observer observer);
  Result<net::Response> call(const std::shared_ptr<Life>& life, Side& side, const net::Request& request);
  Result<net::Response> execute(Side& side, const net::Request& request);
  /// Whether the write that is about to be sent is the one of crash_at().
  bool is_crash_point(const net::Request& request);
  tl::unexpected<Status> die(Fault fault, const char* when);
  std::optional<Result<net::Response>> fault_before(Side& side, const net::Request& request);
  Result<net::Response> refuse(Fault fault, int code, std::string_view reason, net::Headers headers = {});
  void make_stale(Side& side, net::Request& request);
  void coalesce(Stream& stream);
  void tell(Stream& stream);
  bool away(const Side& side) const;
  std::string place(const Side& side, const net::Request& request) const;
  std::vector<std::shared_ptr<Stream>> open_streams(bool with_news) const;

  Side &tenant_, &host_;
  SimClock& clock_;
  Dice& dice_;
  Tally& tally_;
  Trace& trace_;
  const Hooks hooks_;
  std::shared_ptr<Life> life_;
  std::vector<std::shared_ptr<Stream>> streams_;  // in the order in which they were opened
  std::optional<Late> late_;
  bool from_strand_ = false, calm_ = false;
  SteadyTime away_until_[2]{};  // tenant, host
  store::Revision told_[2]{};   // the latest that was told
  std::uint64_t steps_ = 0, writes_ = 0, opened_ = 0;
  std::uint64_t asked_ = 0, crash_at_ = 0;  // writes that were to be sent; 0: at none
  bool crash_after_ = false;
};

}  // namespace sublet::simulation
