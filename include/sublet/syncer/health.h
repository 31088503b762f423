// Health: what works in a syncer, and since when. The syncer's events about pods that wait for the host come from it.
// `sublet list` and `sublet why` do not read it yet.
//
// The syncer writes it to a file every kHealthInterval while it runs (SyncerOptions::health_path). A record older than
// kHealthStale therefore means that the syncer is stopped or hangs. JSON; readers ignore members that they do not know.
// Plain data and pure functions, but for read_health().
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sublet/base/clock.h"
#include "sublet/base/status.h"

namespace sublet::syncer {

inline constexpr std::chrono::milliseconds kHealthInterval{2500};
inline constexpr std::chrono::milliseconds kHealthStale{8000};

/// One API server, as the syncer's requests find it.
struct SideHealth {
  WallTime answered{};                      // last answer; epoch: none yet
  std::optional<WallTime> failing_since{};  // no answer, or 401, since then
  int code = 0;                             // of the last answer; 0: the last request had none
  std::string cause;                        // of the failure
  std::chrono::milliseconds latency{0};     // of the last answer's head
};

/// One informer.
struct KindHealth {
  std::string kind, side;        // "Pod"; "tenant" or "host"
  WallTime listed{}, watched{};  // last successful list, last event or bookmark; epoch: none yet
  std::string failure;           // of the last list or watch; empty after a success
};

enum class HealthState {
  ok,
  starting,       // an informer has not listed yet
  host_silent,    // the host does not answer
  host_refuses,   // the host does not accept the syncer's credentials
  tenant_silent,  // the tenant's API server does not answer
};
std::string_view to_text(HealthState state);

struct Health {
  HealthState state = HealthState::starting;
  WallTime at{}, since{};  // when it was written, and since when the state holds
  std::string message;     // cause; empty when ok
  int pid = 0;
  SideHealth tenant, host;
  std::vector<KindHealth> kinds;
  std::size_t backlog = 0;     // keys in the work queue
  std::size_t waiting = 0;     // keys that wait for a host that does not answer
  std::uint64_t denied = 0;    // objects that may not cross, since the start
  std::uint64_t failures = 0;  // reconciles that failed, since the start
  bool is_stale(WallTime now) const { return now - at > kHealthStale; }
};

/// Sets state and message from the other members.
void judge(Health& health);
std::string to_json(const Health& health);
Result<Health> parse_health(std::string_view json);
/// not_found if there is no file.
Result<Health> read_health(const std::string& path);

}  // namespace sublet::syncer
