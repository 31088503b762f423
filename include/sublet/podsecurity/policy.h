// Policy: which of the Pod Security Standards a namespace asks for, by its labels pod-security.kubernetes.io/*.
//
// A level and a version of it for each of three modes: enforce refuses pods, audit notes, warn tells the sender.
// Values; pure; any thread. Source: k8s.io/pod-security-admission/api of Kubernetes 1.36.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sublet/base/status.h"
#include "sublet/schema/document.h"

namespace sublet::podsecurity {

/// From lenient to strict: comparing levels compares that.
enum class Level : std::uint8_t { privileged, baseline, restricted };

/// The release whose rules count: v1.<minor>. Beyond the newest that has rules of its own all are like it.
struct Version {
  static constexpr std::int64_t kLatest = INT64_MAX;
  std::int64_t minor = kLatest;
  /// "latest" or "v1.25".
  std::string text() const;
  bool operator==(const Version&) const = default;
};

struct LevelVersion {
  Level level = Level::privileged;
  Version version;
  /// "restricted:v1.25".
  std::string text() const;
  bool operator==(const LevelVersion&) const = default;
};

struct Policy {
  LevelVersion enforce, audit, warn;
  /// Whatever is asked for, nothing is looked at.
  bool is_privileged() const;
  bool operator==(const Policy&) const = default;
};

inline constexpr std::string_view kLabelPrefix = "pod-security.kubernetes.io/";

/// What the labels say, and `defaults` where they say nothing. Always a policy: a label that is wrong (each has a
/// Cause) counts as restricted, or as latest; in audit and warn its level counts as privileged.
Policy policy_of(const schema::Value& labels, const Policy& defaults, std::vector<Cause>& wrong);

/// A name of a level ("baseline"); the other way round anything else is nothing.
std::string_view level_name(Level level);

}  // namespace sublet::podsecurity
