// EventRecorder: writes core/v1 Events with low priority, so that events never slow down pods.
//
// Each call makes one Event object, as Kubernetes' components do. A repeated warning (same object, reason and message)
// raises the count of the first instead. Threads: the loop's.
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
  /// Writes an event. `moment` orders it among others of the same second if it is written late; 0: now.
  void record(const ObjectReference& about, const EventSource& source, Type type, const std::string& reason,
              const std::string& message, std::uint64_t moment = 0);
  /// Returns the time in nanoseconds, greater at each call.
  std::uint64_t next_moment();
  /// Forgets the warnings of an object that is gone.
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
