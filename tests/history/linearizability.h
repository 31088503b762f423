// check_linearizable(): is there an order of a history's calls, in keeping with their times, in which each answer is
// right?
//
// Wing and Gong's search with Lowe's memory, as Porcupine does it: calls are tried one after the other, never one
// behind an answer that came before it was made; a set of calls with the state that it leaves is tried once. A Model
// says what one call may do:
//   using State;                                          // copied, compared with ==
//   using Call;
//   static std::vector<State> after(const State&, const Call&);   // empty: this answer cannot be right here
//   static void append_key(const State&, std::string& out);       // bytes that tell states apart
// A call of unknown outcome has two states after it, with and without its effect, and an answer that comes when it can
// no longer have one (kNever: at no time). Histories of several keys are checked key by key: they are linearizable when
// each key's is (locality), and cheap only so. Threads: none of its own; a history is checked by one.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

namespace sublet::history {

using Moment = std::int64_t;  // nanoseconds of a clock that never goes back
inline constexpr Moment kNever = std::numeric_limits<Moment>::max();

template <typename Call>
struct Timed {
  Moment called = 0, answered = kNever;
  Call call = {};
};

enum class Verdict { linearizable, violation, undecided };

struct Finding {
  Verdict verdict = Verdict::linearizable;
  std::size_t tried = 0;               // sets of calls
  std::vector<std::size_t> longest{};  // of a violation: the longest order found
  std::size_t stuck = 0;               // and the call that fits nowhere behind it
};

namespace detail {

/// Which calls stand in the order already. Calls are numbered by time, so all up to some point do, and few beyond: its
/// key is that point and what follows.
class CallSet {
 public:
  explicit CallSet(std::size_t size) : words_(size / 64 + 1) {}
  void add(std::size_t call) {
    words_[call / 64] |= bit(call);
    high_ = std::max(high_, call / 64);
    while (low_ < words_.size() && words_[low_] == ~std::uint64_t{0}) ++low_;
  }
  void remove(std::size_t call) {
    words_[call / 64] &= ~bit(call);
    low_ = std::min(low_, call / 64);
    while (high_ > 0 && words_[high_] == 0) --high_;
  }
  void append_key(std::string& out) const {
    append(out, low_);
    for (std::size_t i = low_; i <= high_; ++i) append(out, words_[i]);
  }

 private:
  static std::uint64_t bit(std::size_t call) { return std::uint64_t{1} << (call % 64); }
  static void append(std::string& out, std::uint64_t word) { out.append(reinterpret_cast<const char*>(&word), 8); }
  std::vector<std::uint64_t> words_;
  std::size_t low_ = 0, high_ = 0;
};

}  // namespace detail

template <typename Model>
class LinearizabilityCheck {
 public:
  using Call = Timed<typename Model::Call>;
  using State = typename Model::State;

  /// `calls` in any order; `tries_max` bounds the time: beyond it the verdict is undecided.
  LinearizabilityCheck(std::vector<Call> calls, std::size_t tries_max) : calls_(std::move(calls)), tries_(tries_max) {
    std::stable_sort(calls_.begin(), calls_.end(), [](const Call& a, const Call& b) { return a.called < b.called; });
  }

  /// The calls as `Finding` numbers them.
  const std::vector<Call>& calls() const { return calls_; }

  Finding run(State state) {
    link();
    Finding finding;
    detail::CallSet done(calls_.size());
    std::vector<Step> order;
    std::unordered_set<std::string> seen;
    std::size_t at = next_[kHead], choice = 0;
    while (next_[kHead] != kTail) {
      if (is_call(at)) {
        if (take(at, choice, state, done, order, seen)) {
          if (seen.size() > tries_) return {Verdict::undecided, seen.size(), {}, 0};
          at = next_[kHead];
        } else {
          at = next_[at];
        }
        choice = 0;
        continue;
      }
      // An answer whose call is not in the order: something before it was wrong.
      if (finding.longest.empty() || order.size() > finding.longest.size()) remember(order, number(at), finding);
      if (order.empty()) {
        finding.verdict = Verdict::violation;
        finding.tried = seen.size();
        return finding;
      }
      Step last = std::move(order.back());
      order.pop_back();
      done.remove(number(last.node));
      restore(last.node);
      state = std::move(last.before);
      at = last.node;
      choice = last.choice + 1;
    }
    return {Verdict::linearizable, seen.size(), {}, 0};
  }

 private:
  // Nodes of a doubly linked list in the order of time: 0 and 1 are its ends, then a call's node is even, its answer's
  // odd.
  static constexpr std::size_t kHead = 0, kTail = 1;
  struct Step {
    std::size_t node, choice;
    State before;
  };
  static std::size_t number(std::size_t node) { return node / 2 - 1; }
  static bool is_call(std::size_t node) { return node % 2 == 0; }

  void link() {
    struct Point {
      Moment at;
      std::size_t node;
    };
    std::vector<Point> points;
    for (std::size_t i = 0; i < calls_.size(); ++i) {
      points.push_back({calls_[i].called, 2 * i + 2});
      points.push_back({std::max(calls_[i].answered, calls_[i].called), 2 * i + 3});
    }
    // A call at the moment of another's answer overlaps it: the clock does not tell which was first.
    std::stable_sort(points.begin(), points.end(), [](const Point& a, const Point& b) {
      return a.at != b.at ? a.at < b.at : is_call(a.node) && !is_call(b.node);
    });
    next_.assign(2 * calls_.size() + 2, kTail);
    previous_.assign(2 * calls_.size() + 2, kHead);
    std::size_t last = kHead;
    for (const Point& point : points) {
      next_[last] = point.node;
      previous_[point.node] = last;
      last = point.node;
    }
    next_[last] = kTail;
    previous_[kTail] = last;
  }

  void unlink(std::size_t node) {
    next_[previous_[node]] = next_[node];
    previous_[next_[node]] = previous_[node];
  }
  void relink(std::size_t node) { next_[previous_[node]] = previous_[next_[node]] = node; }
  void restore(std::size_t call) {
    relink(call + 1);
    relink(call);
  }

  /// Puts the call into the order with the first outcome from `choice` on that was not tried from there.
  bool take(std::size_t node, std::size_t choice, State& state, detail::CallSet& done, std::vector<Step>& order,
            std::unordered_set<std::string>& seen) {
    std::vector<State> states = Model::after(state, calls_[number(node)].call);
    if (choice >= states.size()) return false;
    done.add(number(node));
    for (; choice < states.size(); ++choice) {
      std::string key;
      done.append_key(key);
      Model::append_key(states[choice], key);
      if (!seen.insert(std::move(key)).second) continue;
      order.push_back({node, choice, std::exchange(state, std::move(states[choice]))});
      unlink(node);
      unlink(node + 1);
      return true;
    }
    done.remove(number(node));
    return false;
  }

  static void remember(const std::vector<Step>& order, std::size_t stuck, Finding& finding) {
    finding.stuck = stuck;
    finding.longest.clear();
    for (const Step& step : order) finding.longest.push_back(number(step.node));
  }

  std::vector<Call> calls_;
  std::size_t tries_;
  std::vector<std::size_t> next_, previous_;
};

}  // namespace sublet::history
