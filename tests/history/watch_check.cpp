#include "tests/history/watch_check.h"

#include <algorithm>
#include <set>

namespace sublet::history {
namespace {

using Kind = StreamItem::Kind;

constexpr std::size_t kMilestone = 512;  // events between two states that are kept

/// The log as a watch with this selection must tell it.
EventLog selected(const EventLog& log, const Selection& selection) {
  ObjectsByKey objects;
  EventLog out;
  for (const LoggedEvent& event : log) {
    const auto before = objects.find(event.key);
    const bool was = before != objects.end() && selection.matches(before->second);
    const bool is = event.change != Change::deleted && selection.matches(event);
    if (was || is) {
      LoggedEvent told = is || event.change == Change::deleted ? event : before->second;
      told.version = event.version;
      told.change = !is ? Change::deleted : was ? Change::modified : Change::added;
      out.push_back(told);
    }
    take_in(objects, event);
  }
  return out;
}

std::size_t index_after(const EventLog& log, Version version) {
  const auto after = std::upper_bound(log.begin(), log.end(), version,
                                      [](Version v, const LoggedEvent& event) { return v < event.version; });
  return static_cast<std::size_t>(after - log.begin());
}

class StreamCheck {
 public:
  /// `expected`: what its selection must be told.
  StreamCheck(const EventLog& log, const EventLog& expected, const Stream& stream)
      : log_(log), expected_(expected), stream_(stream) {}

  template <typename StateAt>
  std::vector<Violation> run(const StateAt& state_at) {
    std::size_t begin = 0;
    Version from = stream_.from;
    if (stream_.initial) {
      const auto& items = stream_.items;
      const auto end = std::find_if(items.begin(), items.end(),
                                    [](const StreamItem& item) { return item.kind == Kind::initial_end; });
      if (end == items.end()) {
        if (stream_.complete_to != 0) say("initial", "its end was never told");
        return std::move(out_);
      }
      begin = static_cast<std::size_t>(end - items.begin()) + 1;
      from = end->event.version;
      check_initial(begin - 1, from, state_at(from));
    }
    from_ = last_ = bookmark_ = from;
    next_ = index_after(expected_, from);
    for (std::size_t i = begin; i < stream_.items.size(); ++i) take(stream_.items[i]);
    if (next_ < expected_.size() && expected_[next_].version <= stream_.complete_to)
      say("reliable", "ends before " + describe(expected_[next_]));
    return std::move(out_);
  }

 private:
  void check_initial(std::size_t count, Version version, ObjectsByKey there) {
    ObjectsByKey told;
    std::erase_if(there, [this](const auto& entry) { return !stream_.selection.matches(entry.second); });
    for (std::size_t i = 0; i < count; ++i) {
      const StreamItem& item = stream_.items[i];
      if (item.kind != Kind::event) continue;  // a bookmark may come in between, and says nothing about the state
      if (item.event.change != Change::added) say("initial", describe(item.event) + " among the initial events");
      if (!told.emplace(item.event.key, item.event).second) say("initial", describe(item.event) + " is there twice");
    }
    for (const auto& [key, event] : there) {
      const auto found = told.find(key);
      if (found == told.end())
        say("initial", "lacks " + describe(event) + " at " + std::to_string(version));
      else if (found->second.version != event.version || found->second.a != event.a || found->second.b != event.b)
        say("initial", "has " + describe(found->second) + " instead of " + describe(event));
    }
    for (const auto& [key, event] : told)
      if (there.count(key) == 0) say("initial", "has " + describe(event) + ", which is not there");
  }

  void take(const StreamItem& item) {
    if (item.kind == Kind::event) return take_event(item.event);
    if (item.kind == Kind::initial_end) say("initial", "the end is told again, or was not asked for");
    take_bookmark(item.event.version);
  }

  void take_bookmark(Version version) {
    if (version < std::max(last_, bookmark_))
      say("bookmarkable",
          "bookmark " + std::to_string(version) + " behind " + std::to_string(std::max(last_, bookmark_)));
    if (next_ < expected_.size() && expected_[next_].version <= version)
      say("bookmarkable", "bookmark " + std::to_string(version) + " before " + describe(expected_[next_]));
    bookmark_ = std::max(bookmark_, version);
  }

  void take_event(const LoggedEvent& event) {
    if (!seen_.insert(event.version).second) return say("unique", describe(event) + " comes again");
    if (event.version <= from_) return say("resumable", describe(event) + " is not behind " + std::to_string(from_));
    if (event.version < last_) return say("ordered", describe(event) + " behind " + std::to_string(last_));
    if (event.version <= bookmark_)
      return say("bookmarkable", describe(event) + " behind bookmark " + std::to_string(bookmark_));
    const bool first = last_ == from_;
    last_ = event.version;
    if (next_ < expected_.size() && expected_[next_].version < event.version) {
      say(first ? "resumable" : "reliable", describe(expected_[next_]) + " is missing before " + describe(event));
      while (next_ < expected_.size() && expected_[next_].version < event.version) ++next_;
    }
    if (next_ == expected_.size() || expected_[next_].version != event.version)
      return say(logged(event.version) ? "filtered" : "content", describe(event) + " should not be here");
    compare(expected_[next_++], event);
  }

  bool logged(Version version) const {
    return std::any_of(log_.begin(), log_.end(),
                       [version](const LoggedEvent& event) { return event.version == version; });
  }

  void compare(const LoggedEvent& expected, const LoggedEvent& told) {
    if (expected == told) return;
    const bool deletion = expected.change == Change::deleted || told.change == Change::deleted;
    const char* property = expected.change != told.change ? (deletion ? "filtered" : "created")
                           : deletion                     ? "last state"
                                                          : "content";
    say(property, describe(told) + " instead of " + describe(expected));
  }

  void say(const char* property, std::string text) {
    out_.push_back({property, stream_.name + ": " + std::move(text)});
  }

  const EventLog& log_;
  const EventLog& expected_;
  const Stream& stream_;
  std::size_t next_ = 0;
  Version from_ = 0, last_ = 0, bookmark_ = 0;
  std::set<Version> seen_;
  std::vector<Violation> out_;
};

}  // namespace

WatchCheck::WatchCheck(const EventLog& log) : log_(log) {
  ObjectsByKey objects;
  for (std::size_t i = 0; i < log.size(); ++i) {
    if (i % kMilestone == 0) milestones_.emplace_back(i, objects);
    take_in(objects, log[i]);
  }
}

const EventLog& WatchCheck::told_to(const Selection& selection) {
  const auto [found, added] = told_.try_emplace(selection.query);
  if (added) found->second = selected(log_, selection);
  return found->second;
}

ObjectsByKey WatchCheck::state_at(Version version) const {
  const std::size_t end = index_after(log_, version);
  if (end == 0) return {};
  auto [at, objects] = milestones_[(end - 1) / kMilestone];
  for (; at < end; ++at) take_in(objects, log_[at]);
  return objects;
}

std::vector<Violation> WatchCheck::check(const Stream& stream) {
  return StreamCheck(log_, told_to(stream.selection), stream).run([this](Version version) {
    return state_at(version);
  });
}

Version WatchCheck::last_of(const Selection& selection) {
  const EventLog& told = told_to(selection);
  return told.empty() ? 0 : told.back().version;
}

}  // namespace sublet::history
