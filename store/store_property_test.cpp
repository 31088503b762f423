// Random transactions, guards, watches, compactions and restarts against a simple model; and threads that do all of it
// at once. The names of the validators are the guarantees of store.h.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <thread>

#include "store/store_testing.h"
#include "sublet/store/memory_log.h"
#include "sublet/store/sqlite_log.h"

namespace sublet::store {
namespace {

using namespace testing_support;

// --- validators: empty when the guarantee was kept ---

using Events = std::vector<EventPtr>;

std::string ordered(const Events& events) {
  for (std::size_t i = 1; i < events.size(); ++i)
    if (events[i]->revision < events[i - 1]->revision) return "Ordered: " + std::to_string(events[i]->revision);
  return {};
}

std::string unique(const Events& events) {
  std::set<Revision> seen;
  for (const EventPtr& event : events)
    if (!seen.insert(event->revision).second) return "Unique: " + std::to_string(event->revision);
  return {};
}

/// What a watch of `prefix` from `from` must have seen by now, given all that was committed.
std::string resumable(const Events& seen, const Events& committed, Revision from, Revision to,
                      const std::string& prefix) {
  std::vector<Revision> expected, found;
  for (const EventPtr& event : committed)
    if (event->revision > from && event->revision <= to && event->object->key.starts_with(prefix))
      expected.push_back(event->revision);
  for (const EventPtr& event : seen)
    if (event->revision <= to) found.push_back(event->revision);
  return expected == found ? "" : "Resumable: from " + std::to_string(from) + " under " + prefix;
}

/// Each event goes on from the one before of the same key.
std::string continuous(const Events& all) {
  std::map<std::string, EventPtr> last;
  for (const EventPtr& event : all) {
    const EventPtr before = last[event->object->key];
    const bool existed = before && before->type != Event::Type::deleted;
    if (existed != (event->type != Event::Type::created)) return "Continuous: " + std::to_string(event->revision);
    if (existed && event->previous->revision != before->revision)
      return "Continuous: previous of " + event->object->key;
    const Revision created = existed ? before->object->create_revision : event->revision;
    if (event->object->create_revision != created) return "Continuous: creation of " + event->object->key;
    last[event->object->key] = event;
  }
  return {};
}

// --- the model ---

struct Version {
  std::string bytes;
  Revision revision, created;
};
using State = std::map<std::string, Version>;

struct Step {
  enum class Kind { txn, watch, end_watch, cursor, read_cursor, compact, restart, read_old } kind;
  std::vector<int> numbers;
};

rc::Gen<Step> any_step() {
  const auto numbers = rc::gen::container<std::vector<int>>(8, rc::gen::inRange(0, 1000));
  const auto kind = rc::gen::weightedElement<Step::Kind>({{30, Step::Kind::txn},
                                                          {3, Step::Kind::watch},
                                                          {1, Step::Kind::end_watch},
                                                          {3, Step::Kind::cursor},
                                                          {8, Step::Kind::read_cursor},
                                                          {2, Step::Kind::compact},
                                                          {2, Step::Kind::restart},
                                                          {6, Step::Kind::read_old}});
  return rc::gen::build<Step>(rc::gen::set(&Step::kind, kind), rc::gen::set(&Step::numbers, numbers));
}

/// The store beside its model; every step checks that they agree.
class Pair {
 public:
  Pair() {
    states_[kFirstRevision - 1] = {};
    open();
  }

  void take(const Step& step) {
    switch (step.kind) {
      case Step::Kind::txn:
        return txn(step.numbers);
      case Step::Kind::watch:
        return watch(step.numbers);
      case Step::Kind::end_watch:
        return end_watch(step.numbers);
      case Step::Kind::cursor:
        return cursor(step.numbers);
      case Step::Kind::read_cursor:
        return read_cursor(step.numbers);
      case Step::Kind::compact:
        return compact(step.numbers);
      case Step::Kind::restart:
        return restart();
      case Step::Kind::read_old:
        return read_old(step.numbers);
    }
  }

  void finish() {
    RC_ASSERT(ordered(committed_) == "");
    RC_ASSERT(unique(committed_) == "");
    RC_ASSERT(continuous(committed_) == "");
    while (!watches_.empty()) end_watch({0});
    while (!cursors_.empty()) read_to_the_end(cursors_.begin());
    compare(store_->snapshot(), states_.rbegin()->second);
  }

 private:
  /// A watch that reads when it likes, and goes on after restarts.
  struct Cursor {
    std::string prefix;
    Revision from, at;
    Events seen = {};
  };
  struct Watch {
    std::string prefix;
    Revision from;
    std::shared_ptr<Recorder> recorder;
    std::unique_ptr<Subscription> subscription;
  };

  static constexpr const char* kPrefixes[] = {"", "a/", "b/", "a/2", "nothing/"};
  static std::string key(int n) { return std::string(n % 2 == 0 ? "a/" : "b/") + std::to_string(n % 7); }

  void open() {
    StoreOptions options;
    options.compact_step_rows = 2;
    options.batch_ops_max = 3;
    store_ = std::move(*Store::open(std::move(*open_sqlite_log({folder_.file("state.db")})), options));
  }

  void txn(const std::vector<int>& n) {
    State next = states_.rbegin()->second;
    Txn txn;
    bool expected = true;
    // Guards: right, wrong by one, or absent.
    for (int i = 0; i < n[0] % 3; ++i) {
      const auto found = next.find(key(n[1 + i]));
      Revision guard = found == next.end() ? 0 : found->second.revision;
      if (n[3 + i] % 5 == 0) ++guard;
      expected = expected && guard == (found == next.end() ? 0 : found->second.revision);
      txn.guards.push_back({key(n[1 + i]), guard});
    }
    Revision revision = store_->snapshot().revision();
    for (int i = 0; i < 1 + n[0] % 4; ++i) {
      const std::string name = key(n[4 + i % 4] + i);
      ++revision;
      if (n[7 - i % 4] % 3 == 0) {
        expected = next.erase(name) == 1 && expected;
        txn.ops.push_back({name, {}, {}});
      } else {
        const bool there = next.contains(name);
        next[name] = {std::to_string(n[i]), revision, there ? next[name].created : revision};
        txn.ops.push_back({name, Put{std::to_string(n[i])}, {}});
      }
    }
    const auto result = store_->commit(txn);
    RC_ASSERT(result.has_value() == expected);
    if (!result) return compare(store_->snapshot(), states_.rbegin()->second);
    RC_ASSERT(result->revisions.back() == revision);
    committed_.insert(committed_.end(), result->events.begin(), result->events.end());
    states_[revision] = next;
    compare(store_->snapshot(), next);
    compare(store_->pending(), next);
  }

  void watch(const std::vector<int>& n) {
    const Revision now = store_->snapshot().revision();
    const Revision from = n[0] % (now + 2);
    auto recorder = std::make_shared<Recorder>();
    auto started = store_->watch(kPrefixes[n[1] % 5], from, recorder);
    if (from < floor_ || from > now) {
      RC_ASSERT(!started.has_value());
      RC_ASSERT(started.error().reason == (from > now ? Reason::timeout : Reason::expired));
      return;
    }
    RC_ASSERT(started.has_value());
    watches_.push_back({kPrefixes[n[1] % 5], from, recorder, std::move(*started)});
  }

  void end_watch(const std::vector<int>& n) {
    if (watches_.empty()) return;
    const auto at = watches_.begin() + n[0] % static_cast<int>(watches_.size());
    at->subscription.reset();
    const Events seen = at->recorder->events();
    RC_ASSERT(at->recorder->violation() == "");
    RC_ASSERT(resumable(seen, committed_, at->from, store_->snapshot().revision(), at->prefix) == "");
    RC_ASSERT(at->recorder->progress() == store_->snapshot().revision());
    watches_.erase(at);
  }

  void cursor(const std::vector<int>& n) {
    const Revision now = store_->snapshot().revision();
    const Revision from = floor_ + n[0] % (now - floor_ + 1);
    cursors_.push_back({kPrefixes[n[1] % 5], from, from});
  }

  /// One chunk; false when the cursor had fallen out of the history, and went.
  bool read(std::vector<Cursor>::iterator cursor, std::size_t max) {
    const Revision now = store_->snapshot().revision();
    const auto changes = store_->changes(cursor->prefix, cursor->at, max);
    RC_ASSERT(changes.has_value() == (cursor->at >= floor_));
    if (!changes) {
      RC_ASSERT(changes.error().reason == Reason::expired);
      cursors_.erase(cursor);
      return false;
    }
    RC_ASSERT(changes->events.size() <= max);
    RC_ASSERT((changes->up_to > cursor->at || cursor->at == now));
    RC_ASSERT(changes->at_end == (changes->up_to == now));
    cursor->at = changes->up_to;
    cursor->seen.insert(cursor->seen.end(), changes->events.begin(), changes->events.end());
    RC_ASSERT((cursor->seen.empty() || cursor->seen.back()->revision <= cursor->at));
    RC_ASSERT(resumable(cursor->seen, committed_, cursor->from, cursor->at, cursor->prefix) == "");
    return true;
  }

  void read_cursor(const std::vector<int>& n) {
    if (cursors_.empty()) return;
    read(cursors_.begin() + n[0] % static_cast<int>(cursors_.size()), static_cast<std::size_t>(1 + n[1] % 5));
  }

  void read_to_the_end(std::vector<Cursor>::iterator cursor) {
    while (cursor->at < store_->snapshot().revision())
      if (!read(cursor, 3)) return;
    cursors_.erase(cursor);
  }

  void compact(const std::vector<int>& n) {
    const Revision now = store_->snapshot().revision();
    const Revision to = n[0] % (now + 1);
    RC_ASSERT(store_->compact(to).has_value());
    floor_ = std::max(floor_, to);
    RC_ASSERT(store_->compacted() == floor_);
  }

  void restart() {
    while (!watches_.empty()) end_watch({0});
    const Revision before = store_->snapshot().revision();
    store_.reset();
    open();
    RC_ASSERT(store_->snapshot().revision() == before);
    RC_ASSERT(store_->compacted() == floor_);
    compare(store_->snapshot(), states_.rbegin()->second);
  }

  void read_old(const std::vector<int>& n) {
    const Revision now = store_->snapshot().revision();
    const Revision at = n[0] % (now + 2);
    const auto then = store_->snapshot_at(at);
    RC_ASSERT(then.has_value() == (at >= floor_ && at <= now));
    if (!then) return;
    RC_ASSERT(then->revision() == at);
    // Between two transactions the model has no state of its own: replay the first part of one.
    auto state = std::prev(states_.upper_bound(at));
    State expected = state->second;
    for (const EventPtr& event : committed_) {
      if (event->revision <= state->first || event->revision > at) continue;
      if (event->type == Event::Type::deleted)
        expected.erase(event->object->key);
      else
        expected[event->object->key] = {event->object->bytes, event->revision, event->object->create_revision};
    }
    compare(*then, expected);
  }

  static void compare(const Snapshot& found, const State& expected) {
    for (const std::string prefix : {"", "a/", "b/1"}) {
      std::size_t count = 0;
      for (const auto& [name, version] : expected) count += name.starts_with(prefix) ? 1 : 0;
      RC_ASSERT(found.count(prefix) == count);
    }
    auto wanted = expected.begin();
    found.scan("", "", [&](const ObjectPtr& object) {
      RC_ASSERT(wanted != expected.end());
      RC_ASSERT(object->key == wanted->first);
      RC_ASSERT(object->bytes == wanted->second.bytes);
      RC_ASSERT(object->revision == wanted->second.revision);
      RC_ASSERT(object->create_revision == wanted->second.created);
      ++wanted;
      return true;
    });
    RC_ASSERT(wanted == expected.end());
  }

  TempFolder folder_;
  std::unique_ptr<Store> store_;
  std::map<Revision, State> states_;  // after each transaction
  Events committed_;
  Revision floor_ = kFirstRevision - 1;
  std::vector<Watch> watches_;
  std::vector<Cursor> cursors_;
};

RC_GTEST_PROP(StoreProperty, AgreesWithItsModel, ()) {
  const auto steps = *rc::gen::container<std::vector<Step>>(any_step());
  Pair pair;
  for (const Step& step : steps) pair.take(step);
  pair.finish();
}

// --- threads ---

/// Writers that move units between accounts, two keys at once, so that any view that is not atomic shows a wrong sum.
class Bank {
 public:
  static constexpr int kAccounts = 8, kUnits = 100;

  explicit Bank(Store& store) : store_(store) {
    Txn txn;
    for (int i = 0; i < kAccounts; ++i) txn.ops.push_back({name(i), Put{std::to_string(kUnits)}, {}});
    EXPECT_TRUE(store_.commit(std::move(txn)));
  }

  void transfer_many(unsigned seed, int count) {
    std::mt19937 random(seed);
    for (int done = 0; done < count;) {
      const int from = static_cast<int>(random() % kAccounts),
                to = static_cast<int>((from + 1 + random() % 7) % kAccounts);
      const Snapshot now = store_.pending();
      const ObjectPtr a = now.get(name(from)), b = now.get(name(to));
      Txn txn{{{a->key, a->revision}, {b->key, b->revision}},
              {{a->key, Put{std::to_string(std::stoi(a->bytes) - 1)}, {}},
               {b->key, Put{std::to_string(std::stoi(b->bytes) + 1)}, {}}}};
      const auto result = store_.commit(std::move(txn));
      if (result)
        ++done;
      else
        ASSERT_EQ(result.error().reason, Reason::conflict);
    }
  }

  static int sum(const Snapshot& snapshot) {
    int total = 0;
    snapshot.scan("bank/", "", [&](const ObjectPtr& object) {
      total += std::stoi(object->bytes);
      return true;
    });
    return total;
  }

 private:
  static std::string name(int i) { return "bank/" + std::to_string(i); }
  Store& store_;
};

/// Watches, is cut off, and resumes from where it was, until it has seen `until`.
Events watch_with_interruptions(Store& store, const std::atomic<Revision>& until, unsigned seed) {
  std::mt19937 random(seed);
  Events all;
  Revision from = kFirstRevision - 1;
  while (until == 0 || from < until) {
    auto recorder = std::make_shared<Recorder>();
    auto watching = store.watch("bank/", from, recorder);
    EXPECT_TRUE(watching) << watching.error().message;
    const std::size_t some = random() % 40;
    EXPECT_TRUE(
        eventually([&] { return recorder->events().size() >= some || (until != 0 && recorder->progress() >= until); }));
    watching->reset();
    EXPECT_EQ(recorder->violation(), "");
    const Events part = recorder->events();
    all.insert(all.end(), part.begin(), part.end());
    from = std::max(from, recorder->progress());
  }
  return all;
}

TEST(StoreThreads, ViewsAreAtomicAndWatchesResumeUnderConcurrentWrites) {
  const TempFolder folder;
  auto store = std::move(*Store::open(std::move(*open_sqlite_log({folder.file("state.db")}))));
  Bank bank(*store);
  const Revision opened = store->snapshot().revision();
  std::atomic<Revision> until{0};
  std::atomic<bool> stop{false};
  std::vector<std::thread> writers, others;
  for (unsigned i = 0; i < 4; ++i) writers.emplace_back([&, i] { bank.transfer_many(i, 300); });
  others.emplace_back([&] {
    std::mt19937 random(99);
    while (!stop) {
      EXPECT_EQ(Bank::sum(store->snapshot()), Bank::kAccounts * Bank::kUnits);
      EXPECT_EQ(Bank::sum(store->pending()), Bank::kAccounts * Bank::kUnits);
      const Revision now = store->snapshot().revision();
      const auto then = store->snapshot_at(std::max(opened, now - static_cast<Revision>(random() % 50)));
      if (then) {
        EXPECT_LE(std::abs(Bank::sum(*then) - Bank::kAccounts * Bank::kUnits), 1);  // at most half a transfer
      }
      (void)store->stats();
    }
  });
  std::vector<Events> seen(3);
  for (unsigned i = 0; i < 3; ++i)
    others.emplace_back([&, i] { seen[i] = watch_with_interruptions(*store, until, i); });
  for (std::thread& writer : writers) writer.join();
  until = store->snapshot().revision();
  stop = true;
  for (std::thread& other : others) other.join();
  const Revision expected = kFirstRevision - 1 + Bank::kAccounts + 4 * 300 * 2;
  EXPECT_EQ(until.load(), expected);
  for (const Events& events : seen) {
    EXPECT_EQ(ordered(events), "");
    EXPECT_EQ(unique(events), "");
    EXPECT_EQ(continuous(events), "");
    EXPECT_EQ(events.size(), static_cast<std::size_t>(expected - kFirstRevision + 1));
  }
}

TEST(StoreThreads, WatchesComeAndGoWhileCompactionRuns) {
  auto store = std::move(*Store::open(make_memory_log()));
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  threads.emplace_back([&] {
    for (int i = 0; i < 3000; ++i) ASSERT_TRUE(put(*store, "k/" + std::to_string(i % 20), std::to_string(i)));
    stop = true;
  });
  threads.emplace_back([&] {
    while (!stop) EXPECT_TRUE(store->compact(store->snapshot().revision() - 20));
  });
  for (int i = 0; i < 3; ++i)
    threads.emplace_back([&] {
      while (!stop) {
        auto recorder = std::make_shared<Recorder>();
        const Revision from = store->compacted();
        auto watching = store->watch("", from, recorder);
        if (watching) {
          const Events events = recorder->events();
          if (!events.empty()) {
            EXPECT_EQ(events[0]->revision, from + 1);
          }
        } else {
          EXPECT_EQ(watching.error().reason, Reason::expired);
        }
      }
    });
  for (std::thread& thread : threads) thread.join();
}

TEST(Validators, NoticeWhatTheyAreFor) {
  const auto event = [](Revision revision, Event::Type type, Revision previous, Revision created) {
    auto made = std::make_shared<Event>();
    auto object = std::make_shared<Object>();
    object->key = "k";
    object->revision = revision;
    object->create_revision = created;
    made->type = type;
    made->revision = revision;
    made->object = object;
    if (previous != 0) {
      auto before = std::make_shared<Object>();
      before->revision = previous;
      made->previous = before;
    }
    return made;
  };
  const EventPtr one = event(2, Event::Type::created, 0, 2), two = event(3, Event::Type::updated, 2, 2);
  EXPECT_EQ(
      ordered({one, two}) + unique({one, two}) + continuous({one, two}) + resumable({one, two}, {one, two}, 1, 3, ""),
      "");
  EXPECT_NE(ordered({two, one}), "");
  EXPECT_NE(unique({one, one}), "");
  EXPECT_NE(continuous({two}), "");
  EXPECT_NE(continuous({one, event(3, Event::Type::created, 0, 3)}), "");
  EXPECT_NE(continuous({one, event(4, Event::Type::updated, 3, 2)}), "");
  EXPECT_NE(continuous({one, event(3, Event::Type::updated, 2, 3)}), "");
  EXPECT_NE(resumable({two}, {one, two}, 1, 3, ""), "");
  EXPECT_NE(resumable({one, two}, {one, two}, 2, 3, ""), "");
  Recorder recorder;
  recorder.on_progress(5);
  recorder.on_events({two});
  EXPECT_NE(recorder.violation(), "");
}

}  // namespace
}  // namespace sublet::store
