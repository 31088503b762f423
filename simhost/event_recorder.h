// EventRecorder: writes core/v1 Events behind everything else, so that telling about pods never slows running them.
//
// Each call is one Event object, as Kubernetes' components write the first of a kind; a repetition (same object, reason
// and message) raises the count of the first instead. Threads: the loop's.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "sublet/base/clock.h"
#include "sublet/kube/client.h"
#include "sublet/kube/pipeline.h"

namespace sublet::simhost {

/// The object that an event is about.
struct ObjectReference {
  std::string kind = "Pod";
  std::string namespace_name, name, uid, resource_version;
  std::string field_path{};  // "spec.containers{web}" for events about one container
};

struct EventSource {
  std::string component;  // "kubelet", "default-scheduler"
  std::string host{};
};

class EventRecorder {
 public:
  EventRecorder(const kube::Client& client, kube::Pipeline& pipeline, Clock& clock)
      : client_(client), pipeline_(pipeline), clock_(clock) {}

  enum class Type { normal, warning };
  /// `moment` orders the event among others of the same second when it is told later than it happened; 0: now.
  void record(const ObjectReference& about, const EventSource& source, Type type, const std::string& reason,
              const std::string& message, std::uint64_t moment = 0);
  /// The time in nanoseconds, always rising.
  std::uint64_t next_moment();
  /// The object is gone: its repetitions need not be remembered.
  void forget(const std::string& uid) { remembered_.erase(uid); }

 private:
  struct Remembered {
    std::string key;  // what makes an event a repetition
    std::string event_name;
    int count = 1;
  };
  void repeat(const ObjectReference& about, Remembered& event);

  const kube::Client& client_;
  kube::Pipeline& pipeline_;
  Clock& clock_;
  std::uint64_t last_moment_ = 0;
  std::unordered_map<std::string, std::vector<Remembered>> remembered_;  // warnings only, by the object's uid
};

inline constexpr EventRecorder::Type kNormalEvent = EventRecorder::Type::normal;
inline constexpr EventRecorder::Type kWarningEvent = EventRecorder::Type::warning;

}  // namespace sublet::simhost
