// The checks of watches, answers and lists find every way of being wrong that they name: a log and a stream that agree,
// then one thing changed at a time.
#include "tests/history/watch_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <random>

namespace sublet::history {
namespace {

using Kind = StreamItem::Kind;

EventLog make_log(unsigned seed, int events) {
  std::mt19937 random(seed);
  EventLog log;
  ObjectsByKey there;
  Version version = 10;
  for (int i = 1; i <= events; ++i) {
    version += 1 + random() % 3;
    const auto key = static_cast<std::uint16_t>(random() % 4);
    const auto number = static_cast<std::uint32_t>(i);
    LoggedEvent event{version, Change::added, key, number, number};
    if (const auto found = there.find(key); found != there.end()) {
      event.change = random() % 3 == 0 ? Change::deleted : Change::modified;
      if (event.change == Change::deleted) {
        event.a = found->second.a;
        event.b = found->second.b;
      } else if (random() % 2 == 0) {
        event.a = found->second.a;  // a patch
      }
    }
    log.push_back(event);
    take_in(there, event);
  }
  return log;
}

StreamItem item(const LoggedEvent& event) { return {Kind::event, event}; }
StreamItem bookmark(Version version) { return {Kind::bookmark, {.version = version}}; }

/// A whole watch of everything from the 20th event on, with a bookmark behind every tenth event.
struct Sample {
  EventLog log = make_log(3, 200);
  Stream stream{.name = "sample", .from = log[19].version, .complete_to = log.back().version};

  Sample() {
    for (std::size_t i = 20; i < log.size(); ++i) {
      stream.items.push_back(item(log[i]));
      if (i % 10 == 0) stream.items.push_back(bookmark(log[i].version));
    }
  }
  /// Behind `from`, the first event of the stream for which it holds.
  std::size_t find(std::size_t from, const std::function<bool(const LoggedEvent&)>& fits) const {
    for (std::size_t i = from; i < stream.items.size(); ++i)
      if (stream.items[i].kind == Kind::event && fits(stream.items[i].event)) return i;
    return 0;
  }
  std::size_t change(Change wanted) const {
    return find(50, [wanted](const LoggedEvent& event) { return event.change == wanted; });
  }
};

std::vector<std::string> properties(const std::vector<Violation>& violations) {
  std::vector<std::string> out;
  for (const Violation& violation : violations) out.push_back(violation.property);
  return out;
}

TEST(WatchCheck, AWatchThatIsRightPasses) {
  const Sample sample;
  EXPECT_THAT(properties(WatchCheck(sample.log).check(sample.stream)), testing::IsEmpty());
}

TEST(WatchCheck, AWatchThatWasCutOffPasses) {
  Sample sample;
  sample.stream.items.resize(70);
  sample.stream.complete_to = 0;
  EXPECT_THAT(properties(WatchCheck(sample.log).check(sample.stream)), testing::IsEmpty());
}

struct Mutant {
  const char* name;
  const char* property;
  std::function<void(Sample&)> change;
};

template <typename Items>
auto iterator(Items& items, std::size_t at) {
  return items.begin() + static_cast<std::ptrdiff_t>(at);
}

const Mutant kMutants[] = {
    {"an event dropped", "reliable", [](Sample& s) { s.stream.items.erase(iterator(s.stream.items, 50)); }},
    {"a deletion dropped", "reliable",
     [](Sample& s) { s.stream.items.erase(iterator(s.stream.items, s.change(Change::deleted))); }},
    {"the first event dropped", "resumable", [](Sample& s) { s.stream.items.erase(s.stream.items.begin()); }},
    {"the last event dropped", "reliable", [](Sample& s) { s.stream.items.pop_back(); }},
    {"a stretch dropped", "reliable",
     [](Sample& s) { s.stream.items.erase(iterator(s.stream.items, 40), iterator(s.stream.items, 90)); }},
    {"nothing came", "reliable", [](Sample& s) { s.stream.items.clear(); }},
    {"two events swapped", "ordered", [](Sample& s) { std::swap(s.stream.items[50], s.stream.items[51]); }},
    {"an event twice in a row", "unique",
     [](Sample& s) { s.stream.items.insert(iterator(s.stream.items, 50), s.stream.items[50]); }},
    {"an event again much later", "unique",
     [](Sample& s) { s.stream.items.insert(iterator(s.stream.items, 150), s.stream.items[30]); }},
    {"the event asked for is sent too", "resumable",
     [](Sample& s) { s.stream.items.insert(s.stream.items.begin(), item(s.log[19])); }},
    {"an old event at the beginning", "resumable",
     [](Sample& s) { s.stream.items.insert(s.stream.items.begin(), item(s.log[3])); }},
    {"a bookmark ahead by one event", "bookmarkable",
     [](Sample& s) {
       s.stream.items.insert(iterator(s.stream.items, 50), bookmark(s.stream.items[50].event.version));
     }},
    {"a bookmark ahead of all", "bookmarkable",
     [](Sample& s) { s.stream.items.insert(s.stream.items.begin(), bookmark(s.log.back().version)); }},
    {"a bookmark that goes back", "bookmarkable",
     [](Sample& s) { s.stream.items.push_back(bookmark(s.log[100].version)); }},
    {"a bookmark behind the start", "bookmarkable",
     [](Sample& s) { s.stream.items.insert(s.stream.items.begin(), bookmark(s.log[2].version)); }},
    {"ADDED for a modification", "created",
     [](Sample& s) { s.stream.items[s.change(Change::modified)].event.change = Change::added; }},
    {"MODIFIED for a creation", "created",
     [](Sample& s) { s.stream.items[s.change(Change::added)].event.change = Change::modified; }},
    {"MODIFIED for a deletion", "filtered",
     [](Sample& s) { s.stream.items[s.change(Change::deleted)].event.change = Change::modified; }},
    {"a deletion without its last state", "last state",
     [](Sample& s) { s.stream.items[s.change(Change::deleted)].event.b = 0; }},
    {"a deletion of another key", "last state",
     [](Sample& s) { s.stream.items[s.change(Change::deleted)].event.key ^= 1; }},
    {"another content", "content", [](Sample& s) { s.stream.items[s.change(Change::modified)].event.b += 1; }},
    {"another key", "content", [](Sample& s) { s.stream.items[s.change(Change::modified)].event.key ^= 1; }},
    {"an event nobody wrote", "content",
     [](Sample& s) {
       LoggedEvent event = s.log.back();
       event.version += 1;
       s.stream.items.push_back(item(event));
     }},
    {"a version made lower", "ordered",
     [](Sample& s) {
       // To one that nobody has.
       const std::size_t at = s.find(60, [&s](const LoggedEvent& event) {
         return std::none_of(s.log.begin(), s.log.end(),
                             [&](const LoggedEvent& e) { return e.version == event.version - 1; });
       });
       const std::size_t later = s.find(at + 5, [](const LoggedEvent&) { return true; });
       s.stream.items[later].event.version = s.stream.items[at].event.version - 1;
     }},
    {"the end of initial events without any", "initial",
     [](Sample& s) {
       s.stream.items.insert(s.stream.items.begin(), {Kind::initial_end, {.version = s.log[19].version}});
     }},
};

TEST(WatchCheck, FindsEveryWayOfBeingWrong) {
  for (const Mutant& mutant : kMutants) {
    Sample sample;
    mutant.change(sample);
    EXPECT_THAT(properties(WatchCheck(sample.log).check(sample.stream)), testing::Contains(mutant.property))
        << mutant.name;
  }
}

TEST(WatchCheck, ABookmarkBetweenItsEventsIsRight) {
  Sample sample;
  auto& items = sample.stream.items;
  items.insert(iterator(items, 51), bookmark(items[50].event.version));
  items.insert(iterator(items, 52), bookmark(items[50].event.version));
  EXPECT_THAT(properties(WatchCheck(sample.log).check(sample.stream)), testing::IsEmpty());
}

// --- selectors ---

const Selection kOdd{"odd", [](const LoggedEvent& object) { return object.a % 2 == 1; }};

/// As a server tells a selection: by hand, one object after the other.
Stream odd_stream(const EventLog& log) {
  Stream stream{.name = "odd", .selection = kOdd, .from = 0, .complete_to = log.back().version};
  ObjectsByKey there;
  for (const LoggedEvent& event : log) {
    const auto before = there.find(event.key);
    const bool was = before != there.end() && before->second.a % 2 == 1;
    const bool is = event.change != Change::deleted && event.a % 2 == 1;
    LoggedEvent told = event;
    if (was && !is) {
      told.a = before->second.a;
      told.b = before->second.b;
      told.change = Change::deleted;
    } else if (is) {
      told.change = was ? Change::modified : Change::added;
    }
    if (was || is) stream.items.push_back(item(told));
    take_in(there, event);
  }
  return stream;
}

TEST(WatchCheck, OfASelection) {
  const EventLog log = make_log(4, 300);
  const Stream right = odd_stream(log);
  EXPECT_THAT(properties(WatchCheck(log).check(right)), testing::IsEmpty());
  const auto left = std::find_if(right.items.begin(), right.items.end(), [&log](const StreamItem& told) {
    return told.event.change == Change::deleted &&
           std::any_of(log.begin(), log.end(), [&told](const LoggedEvent& event) {
             return event.version == told.event.version && event.change == Change::modified;
           });
  });
  ASSERT_NE(left, right.items.end()) << "nothing left the selection";
  const auto index = static_cast<std::size_t>(left - right.items.begin());
  Stream wrong = right;
  wrong.items.erase(iterator(wrong.items, index));
  EXPECT_THAT(properties(WatchCheck(log).check(wrong)), testing::Contains("reliable")) << "leaving is not told";
  wrong = right;
  wrong.items[index].event.change = Change::modified;
  EXPECT_THAT(properties(WatchCheck(log).check(wrong)), testing::Contains("filtered"));
  wrong = right;
  wrong.items[index].event.b = 999'999;
  EXPECT_THAT(properties(WatchCheck(log).check(wrong)), testing::Contains("last state"));
  Stream everything = right;
  everything.items.clear();
  for (const LoggedEvent& event : log) everything.items.push_back(item(event));
  EXPECT_THAT(properties(WatchCheck(log).check(everything)), testing::Contains("filtered"));
}

// --- initial events ---

Stream initial_stream(const EventLog& log, std::size_t at) {
  Stream stream{.name = "initial", .initial = true, .complete_to = log.back().version};
  ObjectsByKey there;
  for (std::size_t i = 0; i < at; ++i) take_in(there, log[i]);
  for (auto [key, event] : there) {
    event.change = Change::added;
    stream.items.push_back(item(event));
  }
  stream.items.push_back({Kind::initial_end, {.version = log[at - 1].version}});
  for (std::size_t i = at; i < log.size(); ++i) stream.items.push_back(item(log[i]));
  return stream;
}

TEST(WatchCheck, OfInitialEvents) {
  const EventLog log = make_log(5, 300);
  const Stream right = initial_stream(log, 150);
  EXPECT_THAT(properties(WatchCheck(log).check(right)), testing::IsEmpty());
  std::size_t end = 0;
  while (right.items[end].kind == Kind::event) ++end;
  ASSERT_GT(end, 1u);
  const std::vector<std::pair<const char*, std::function<void(std::vector<StreamItem>&)>>> changes = {
      {"an object lacks", [](auto& items) { items.erase(items.begin()); }},
      {"an object twice", [](auto& items) { items.insert(items.begin(), items[0]); }},
      {"an older state", [](auto& items) { items[0].event.version -= 1; }},
      {"not ADDED", [](auto& items) { items[0].event.change = Change::modified; }},
      {"one that is gone", [](auto& items) { items[0].event.key = 77; }},
      {"no end", [end](auto& items) { items.erase(iterator(items, end)); }},
      {"the end twice", [end](auto& items) { items.insert(iterator(items, end), items[end]); }},
  };
  for (const auto& [name, change] : changes) {
    Stream wrong = right;
    change(wrong.items);
    EXPECT_THAT(properties(WatchCheck(log).check(wrong)), testing::Contains("initial")) << name;
  }
  Stream wrong = right;
  wrong.items.erase(iterator(wrong.items, end + 1));
  EXPECT_THAT(properties(WatchCheck(log).check(wrong)), testing::Contains("resumable")) << "a gap behind the end";
}

// --- answers and lists ---

struct Answered {
  EventLog log = make_log(6, 100);
  std::vector<Timed<ObjectCall>> calls;
  std::vector<ObjectCall> refused;
  std::vector<Listed> lists;

  Answered() {
    ObjectsByKey there;
    for (const LoggedEvent& event : log) {
      ObjectCall call{.verb = Verb::remove, .answer = Answer::done, .key = event.key};
      if (event.change != Change::deleted) {
        call.verb = event.change == Change::added ? Verb::create : event.a == event.b ? Verb::update : Verb::patch;
        call.a = event.a;
        call.b = event.b;
        call.version = event.version;
      }
      calls.push_back({0, 0, call});
      take_in(there, event);
      lists.push_back({event.version, there});
    }
  }
  ObjectCall& write(Verb verb) {
    return std::find_if(calls.begin(), calls.end(), [verb](const auto& timed) { return timed.call.verb == verb; })
        ->call;
  }
  std::vector<std::string> wrong() const {
    auto out = properties(check_answers(log, calls, refused));
    for (const Violation& violation : check_lists(log, lists)) out.push_back(violation.property);
    return out;
  }
};

TEST(AnswerCheck, FindsEveryWayOfBeingWrong) {
  EXPECT_THAT(Answered().wrong(), testing::IsEmpty());
  const std::vector<std::tuple<const char*, const char*, std::function<void(Answered&)>>> changes = {
      {"a write that was answered is not there", "lost", [](Answered& s) { s.log.erase(iterator(s.log, 30)); }},
      {"a write that nobody made", "invented", [](Answered& s) { s.calls.erase(iterator(s.calls, 0)); }},
      {"another version was answered", "answers",
       [](Answered& s) { s.write(Verb::update).version = s.log.front().version; }},
      {"another content was answered", "answers", [](Answered& s) { s.write(Verb::update).a += 1; }},
      {"a refused write happened", "refused", [](Answered& s) { s.refused.push_back(s.write(Verb::create)); }},
      {"versions that go back", "versions", [](Answered& s) { std::swap(s.log[40], s.log[41]); }},
      {"a write that happened twice", "twice",
       [](Answered& s) {
         LoggedEvent again = s.log[0];
         again.version = s.log.back().version + 1;
         s.log.push_back(again);
       }},
      {"a deletion that nobody asked for", "deletions",
       [](Answered& s) {
         const auto gone = std::find_if(s.calls.begin(), s.calls.end(),
                                        [](const auto& timed) { return timed.call.verb == Verb::remove; });
         s.calls.erase(gone);
       }},
      {"a deletion that did not happen", "deletions",
       [](Answered& s) {
         s.calls.push_back({0, 0, s.write(Verb::remove)});
       }},
      {"a read of what never was", "invented",
       [](Answered& s) {
         s.calls.push_back({0, 0, {.verb = Verb::get, .answer = Answer::done, .version = 1}});
       }},
      {"a list without an object", "snapshot",
       [](Answered& s) { s.lists.back().objects.erase(s.lists.back().objects.begin()); }},
      {"a list with an older object", "snapshot",
       [](Answered& s) { s.lists.back().objects.begin()->second.version -= 1; }},
      {"a list with an object that is gone", "snapshot", [](Answered& s) { s.lists.back().objects[99] = s.log[0]; }},
      {"a list of one moment and another's version", "snapshot",
       [](Answered& s) { std::swap(s.lists[50].version, s.lists[51].version); }},
  };
  for (const auto& [name, property, change] : changes) {
    Answered sample;
    change(sample);
    EXPECT_THAT(sample.wrong(), testing::Contains(property)) << name;
  }
}

TEST(AnswerCheck, UnknownOutcomesMayBeThereOrNot) {
  Answered sample;
  sample.write(Verb::update).answer = Answer::unknown;
  sample.write(Verb::remove).answer = Answer::unknown;
  sample.calls.push_back({0, 0, {.verb = Verb::update, .answer = Answer::unknown, .a = 5000, .b = 5000}});
  sample.calls.push_back({0, 0, {.verb = Verb::remove, .answer = Answer::unknown}});
  EXPECT_THAT(sample.wrong(), testing::IsEmpty());
}

TEST(AnswerCheck, TheLogTellsWhatBecameOfWritesWithoutAnAnswer) {
  Answered sample;
  const std::size_t before = sample.calls.size();
  ObjectCall& happened = sample.write(Verb::patch);
  const ObjectCall told = happened;
  happened.answer = Answer::unknown;
  happened.version = 0;
  happened.a = 0;
  sample.calls.push_back({0, 0, {.verb = Verb::update, .answer = Answer::unknown, .a = 5000, .b = 5000}});
  sample.calls.push_back({0, 0, {.verb = Verb::remove, .answer = Answer::unknown, .key = told.key}});
  ObjectCall repeated = sample.write(Verb::update);
  repeated.answer = Answer::unknown;
  repeated.expected = repeated.version;
  sample.calls.push_back({0, 0, repeated});
  const auto resolved = resolve(sample.log, sample.calls);
  ASSERT_EQ(resolved.size(), before) << "what did not happen is left out";
  const auto& found = sample.write(Verb::patch);
  const auto same =
      std::find_if(resolved.begin(), resolved.end(), [&](const auto& timed) { return timed.call.b == told.b; });
  ASSERT_NE(same, resolved.end());
  EXPECT_EQ(found.b, told.b);
  EXPECT_EQ(same->call.answer, Answer::done);
  EXPECT_EQ(same->call.version, told.version);
  EXPECT_EQ(same->call.a, told.a);
}

TEST(AnswerCheck, ADeletionWithoutAnAnswerStaysUnknownWhenOneIsMissing) {
  Answered sample;
  sample.write(Verb::remove).answer = Answer::unknown;
  EXPECT_EQ(resolve(sample.log, sample.calls).size(), sample.calls.size());
}

}  // namespace
}  // namespace sublet::history
