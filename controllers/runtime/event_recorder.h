// Events: records events about objects (kubectl describe shows them) as upstream's recorder does. Repeated events are
// counted, many that differ only in their text become one, and an object with too many events gets none for a while.
//
// Recording never blocks: an event is correlated at once and written by a task of the executor, many at a time, in
// order per event. Without events there is no task. Events that cannot be written are dropped; they are no state.
// Lifecycle: stop() waits for what is being written and drops the rest. Threads: any.
#pragma once

#include <deque>
#include <list>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "controllers/runtime/object_ref.h"
#include "sublet/base/clock.h"
#include "sublet/base/mutex.h"
#include "sublet/controllers/executor.h"

namespace sublet::controllers {

enum class EventType : std::uint8_t { normal, warning };

struct EventText {
  std::string_view component;  // the event's source: "deployment-controller"
  ObjectRef about;
  EventType type = EventType::normal;
  std::string reason, message;
};

/// Remembers recent events and decides how the next one is written. Not thread-safe: Events locks. Pure but for the
/// clock.
class EventCorrelator {
 public:
  explicit EventCorrelator(Clock& clock) : clock_(clock) {}

  struct Record {
    bool skip = false;  // the object has too many events
    std::string name;   // the Event's
    std::string message;
    WallTime first{}, last{};
    int count = 1;  // more than 1: the Event is there already
  };
  Record correlate(const EventText& text);

 private:
  struct Memory {
    // of events that are the same
    std::string name;
    WallTime first{};
    int count = 0;
    // of events that differ in their text
    std::unordered_set<std::size_t> messages;
    WallTime last_similar{};
    // of an object, from one source
    double tokens = -1;
    WallTime refilled{};
  };
  Memory& memory(std::size_t key);
  bool over_budget(const EventText& text);

  Clock& clock_;
  std::int64_t last_nanos_ = 0;                       // names carry the time: no two are made of the same
  std::list<std::pair<std::size_t, Memory>> latest_;  // first: used last
  std::unordered_map<std::size_t, std::list<std::pair<std::size_t, Memory>>::iterator> by_key_;
};

class Events : public std::enable_shared_from_this<Events> {
 public:
  Events(Executor& executor, Clock& clock) : executor_(executor), correlator_(clock) {}
  void record(const kube::Client& client, const EventText& text);
  void stop();
  bool idle() const;

 private:
  struct Write {
    const kube::Client* client;
    bool create;
    std::string namespace_name, name;
    schema::Document event;
  };
  void schedule();
  void flush();
  std::vector<Write> take_batch();
  static void send(std::vector<Write> batch);

  Executor& executor_;
  mutable Mutex mutex_;
  CondVar rested_;
  EventCorrelator correlator_ SUBLET_GUARDED_BY(mutex_);
  std::deque<Write> writes_ SUBLET_GUARDED_BY(mutex_);
  bool scheduled_ SUBLET_GUARDED_BY(mutex_) = false, writing_ SUBLET_GUARDED_BY(mutex_) = false,
                  stopped_ SUBLET_GUARDED_BY(mutex_) = false;
};

/// Records the events of one controller.
class EventRecorder {
 public:
  EventRecorder(Events& events, const kube::Client& client, std::string component)
      : events_(events), client_(client), component_(std::move(component)) {}
  void normal(const ObjectRef& about, std::string reason, std::string message) const {
    events_.record(client_, {component_, about, EventType::normal, std::move(reason), std::move(message)});
  }
  void warning(const ObjectRef& about, std::string reason, std::string message) const;
  /// Returns how many warnings the calling thread has recorded. A reconcile runs on one thread: a higher number after
  /// it means that it has warned.
  static std::uint64_t warnings_of_this_thread();

 private:
  Events& events_;
  const kube::Client& client_;
  const std::string component_;
};

}  // namespace sublet::controllers
