// ScaleHistory: what was recommended for one target, and how it was scaled; from which follows how far it may move now.
//
// Not thread-safe; pure but for what it remembers. It is remembered by the process, as upstream does: a restart begins
// anew. Source: pkg/controller/podautoscaler/horizontal.go of Kubernetes (normalizeDesiredReplicas and below).
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "sublet/base/clock.h"
#include "sublet/schema/document.h"

namespace sublet::controllers {

struct ScaleBounds {
  std::int64_t current, desired, min, max;
};

/// A verdict in the form of the conditions AbleToScale and ScalingLimited.
struct Normalized {
  std::int64_t replicas = 0;
  std::string_view able_reason, able_message;
  bool limited = false;
  std::string_view limit_reason, limit_message;
};

class ScaleHistory {
 public:
  /// The first recommendation is what there is.
  void begin(std::int64_t current, WallTime now);
  /// `behavior` is spec.behavior; missing: upstream's rules for those that have none.
  Normalized normalize(const schema::Value& behavior, const ScaleBounds& bounds, WallTime now);
  /// The target was scaled; what is too old for the behaviour's policies is forgotten.
  void note(const schema::Value& behavior, std::int64_t before, std::int64_t after, WallTime now);

 private:
  struct Entry {
    std::int64_t amount;
    WallTime at;
  };
  using Entries = std::vector<Entry>;

  std::int64_t stabilize(std::int64_t desired, WallTime now);
  std::int64_t stabilize(const schema::Value& behavior, const ScaleBounds& bounds, WallTime now);
  Normalized limit_rate(const schema::Value& behavior, const ScaleBounds& bounds, WallTime now) const;
  std::int64_t limit_of(const schema::Value& rules, bool up, std::int64_t current, WallTime now) const;

  Entries recommended_, ups_, downs_;
};

}  // namespace sublet::controllers
