// The two observers of a splice share one Splice; each carries one way.
#include <array>
#include <atomic>
#include <utility>

#include "sublet/base/mutex.h"
#include "sublet/net/courier.h"
#include "sublet/net/duplex.h"

namespace sublet::net {
namespace {

constexpr int kStalledTicksMax = 150;  // of kHalfClosedTime: a reader that takes nothing of the last bytes
constexpr int kTicksInTime = 10;

struct Splice : std::enable_shared_from_this<Splice> {
  Splice(std::shared_ptr<Duplex> a, std::shared_ptr<Duplex> b, std::function<void()> over_)
      : sides{std::move(a), std::move(b)}, over(std::move(over_)) {}

  void bytes(std::size_t from, std::string_view text) {
    moved = true;
    Duplex& to = *sides[1 - from];
    to.write(std::string(text));
    if (to.backlog() < kSpliceBytesMax) return;
    sides[from]->pause(true);
    // It may have drained between the look and the pause, and would then never say so again.
    if (to.backlog() == 0) sides[from]->pause(false);
  }
  void drained(std::size_t at) {
    moved = true;
    sides[1 - at]->pause(false);
  }
  void ended(std::size_t from) {
    sides[1 - from]->end();
    if (!half_closed.exchange(true)) tick(0);
  }
  void tick(int stalled) {
    sides[0]->courier()->after(kHalfClosedTime, [weak = weak_from_this(), stalled] {
      const auto self = weak.lock();
      if (!self || self->gone > 0) return;
      if (self->moved.exchange(false)) return self->tick(0);
      const bool waiting = self->sides[0]->backlog() + self->sides[1]->backlog() > 0;
      if (waiting && stalled < kStalledTicksMax) return self->tick(stalled + 1);
      for (const auto& side : self->sides) side->close();
    });
  }
  void closed(std::size_t at) {
    if (gone++ == 1) {
      if (over) over();
      return;
    }
    // What the one that went had sent is still to reach the other; what that sends is read, so that closing does not
    // reset the connection under it.
    sides[1 - at]->pause(false);
    sides[1 - at]->end();
    finish_other(1 - at, 0);
  }
  void finish_other(std::size_t at, int ticks) {
    const int limit = sides[at]->backlog() == 0 ? kTicksInTime : kStalledTicksMax * kTicksInTime;
    if (ticks >= limit) return sides[at]->close();
    sides[at]->courier()->after(kHalfClosedTime / kTicksInTime, [weak = weak_from_this(), at, ticks] {
      const auto self = weak.lock();
      if (self && self->gone < 2) self->finish_other(at, ticks + 1);
    });
  }

  const std::array<std::shared_ptr<Duplex>, 2> sides;
  const std::function<void()> over;
  std::atomic<bool> moved{false}, half_closed{false};
  std::atomic<int> gone{0};
};

class Side final : public Duplex::Observer {
 public:
  Side(std::shared_ptr<Splice> splice, std::size_t at) : splice_(std::move(splice)), at_(at) {}
  void on_bytes(std::string_view bytes) override { splice_->bytes(at_, bytes); }
  void on_drain() override { splice_->drained(at_); }
  void on_end() override { splice_->ended(at_); }
  void on_over() override { splice_->closed(at_); }

 private:
  const std::shared_ptr<Splice> splice_;
  const std::size_t at_;
};

}  // namespace

void splice(const std::shared_ptr<Duplex>& a, const std::shared_ptr<Duplex>& b, std::function<void()> over) {
  const auto made = std::make_shared<Splice>(a, b, std::move(over));
  a->start(std::make_shared<Side>(made, 0));
  b->start(std::make_shared<Side>(made, 1));
}

}  // namespace sublet::net
