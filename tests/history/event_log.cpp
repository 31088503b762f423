#include "tests/history/event_log.h"

#include <algorithm>
#include <set>

namespace sublet::history {
namespace {

constexpr const char* kChanges[] = {"ADDED", "MODIFIED", "DELETED"};

class AnswerCheck {
 public:
  explicit AnswerCheck(const EventLog& log) : log_(log) {
    for (const LoggedEvent& event : log) by_version_[event.version] = &event;
  }

  std::vector<Violation> run(const std::vector<Timed<ObjectCall>>& calls, const std::vector<ObjectCall>& refused) {
    check_order();
    for (const auto& timed : calls) take(timed.call);
    for (const LoggedEvent& event : log_) attribute(event);
    check_deletions();
    for (const ObjectCall& call : refused)
      if (call.verb != Verb::remove && numbers_.count(number_of(call)) != 0)
        say("refused", "was refused, and happened: " + describe(call));
    return std::move(out_);
  }

 private:
  /// The number that only this call writes.
  static std::uint32_t number_of(const ObjectCall& call) { return call.b; }

  void check_order() {
    for (std::size_t i = 1; i < log_.size(); ++i)
      if (log_[i].version <= log_[i - 1].version)
        say("versions", describe(log_[i]) + " stands behind " + describe(log_[i - 1]));
  }

  void take(const ObjectCall& call) {
    const bool write = call.verb == Verb::create || call.verb == Verb::update || call.verb == Verb::patch;
    if (call.verb == Verb::remove) {
      if (call.answer == Answer::done) ++deleted_[call.key].sure;
      if (call.answer == Answer::unknown) ++deleted_[call.key].unsure;
    }
    if (call.answer != Answer::done) {
      if (write && call.answer == Answer::unknown) writers_[number_of(call)] = &call;
      return;
    }
    if (call.verb == Verb::remove) return;
    if (write) writers_.emplace(number_of(call), &call);
    // Also what was read, and what a write without change was answered, is in the log.
    const auto found = by_version_.find(call.version);
    if (found == by_version_.end()) return say(write ? "lost" : "invented", "is not in the log: " + describe(call));
    const LoggedEvent& event = *found->second;
    const bool same = event.key == call.key && event.a == call.a && event.b == call.b;
    if (!same || event.change == Change::deleted)
      say("answers", describe(call) + " was answered, but the log has " + describe(event));
    if (call.verb == Verb::create && event.change != Change::added)
      say("answers", describe(call) + " was answered, but the log has " + describe(event));
  }

  void attribute(const LoggedEvent& event) {
    if (event.change == Change::deleted) {
      ++deleted_[event.key].logged;
      return;
    }
    if (!numbers_.insert(event.b).second) return say("twice", describe(event) + " is the second one of its write");
    const auto writer = writers_.find(event.b);
    if (writer == writers_.end()) return say("invented", "nobody wrote " + describe(event));
    const ObjectCall& call = *writer->second;
    if (call.key != event.key || (call.verb != Verb::patch && call.a != event.a))
      say("answers", describe(event) + " is not what was written: " + describe(call));
  }

  void check_deletions() {
    for (const auto& [key, count] : deleted_)
      if (count.logged < count.sure || count.logged > count.sure + count.unsure)
        say("deletions", "key " + std::to_string(key) + " was deleted " + std::to_string(count.logged) +
                             " times, but " + std::to_string(count.sure) + " were answered and " +
                             std::to_string(count.unsure) + " are unknown");
  }

  void say(const char* property, std::string text) { out_.push_back({property, std::move(text)}); }

  struct Deletions {
    int sure = 0, unsure = 0, logged = 0;
  };
  const EventLog& log_;
  std::map<Version, const LoggedEvent*> by_version_;
  std::map<std::uint32_t, const ObjectCall*> writers_;  // by number_of
  std::set<std::uint32_t> numbers_;                     // that the log has
  std::map<std::uint16_t, Deletions> deleted_;
  std::vector<Violation> out_;
};

std::string difference(const ObjectsByKey& logged, const ObjectsByKey& listed) {
  for (const auto& [key, event] : logged) {
    const auto found = listed.find(key);
    if (found == listed.end()) return "lacks " + describe(event);
    const LoggedEvent& object = found->second;
    if (object.version != event.version || object.a != event.a || object.b != event.b)
      return "has " + describe(object) + " where the log has " + describe(event);
  }
  for (const auto& [key, object] : listed)
    if (logged.count(key) == 0) return "has " + describe(object) + ", which is not there";
  return {};
}

}  // namespace

void take_in(ObjectsByKey& objects, const LoggedEvent& event) {
  if (event.change == Change::deleted)
    objects.erase(event.key);
  else
    objects[event.key] = event;
}

std::vector<Violation> check_answers(const EventLog& log, const std::vector<Timed<ObjectCall>>& calls,
                                     const std::vector<ObjectCall>& refused) {
  return AnswerCheck(log).run(calls, refused);
}

std::vector<Violation> check_lists(const EventLog& log, std::vector<Listed> lists) {
  std::sort(lists.begin(), lists.end(), [](const Listed& x, const Listed& y) { return x.version < y.version; });
  std::vector<Violation> out;
  ObjectsByKey objects;
  std::size_t at = 0;
  for (const Listed& list : lists) {
    for (; at < log.size() && log[at].version <= list.version; ++at) take_in(objects, log[at]);
    if (const std::string wrong = difference(objects, list.objects); !wrong.empty())
      out.push_back({"snapshot", "a list at version " + std::to_string(list.version) + " " + wrong});
  }
  return out;
}

std::vector<Timed<ObjectCall>> resolve(const EventLog& log, std::vector<Timed<ObjectCall>> calls) {
  std::map<std::uint32_t, const LoggedEvent*> written;
  std::map<std::uint16_t, long> open_deletions;  // logged ones that no answer accounts for
  for (const LoggedEvent& event : log)
    if (event.change == Change::deleted)
      ++open_deletions[event.key];
    else
      written.emplace(event.b, &event);
  for (const auto& timed : calls)
    if (timed.call.answer == Answer::done && timed.call.verb == Verb::remove) --open_deletions[timed.call.key];
  std::erase_if(calls, [&](Timed<ObjectCall>& timed) {
    ObjectCall& call = timed.call;
    if (call.answer != Answer::unknown) return false;
    if (call.verb == Verb::remove) return open_deletions[call.key] == 0;
    const auto found = written.find(call.b);
    // One that only repeats what it had read has the number of that write, and no effect.
    if (found == written.end() || found->second->version <= call.expected) return true;
    call.answer = Answer::done;
    call.version = found->second->version;
    call.a = found->second->a;
    return false;
  });
  return calls;
}

std::string describe(const LoggedEvent& event) {
  return std::string(kChanges[static_cast<int>(event.change)]) + " " + std::to_string(event.version) + " (key " +
         std::to_string(event.key) + ", a " + std::to_string(event.a) + ", b " + std::to_string(event.b) + ")";
}

}  // namespace sublet::history
