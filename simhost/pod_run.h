// PodRun: a pod on a simulated node as its kubelet knows it, and the status that follows from it. Plain data and pure
// functions; the kubelet changes it.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "simhost/container_world.h"
#include "simhost/probe.h"
#include "simhost/shell/shell.h"
#include "sublet/base/clock.h"
#include "sublet/kube/informer.h"
#include "sublet/net/loop.h"
#include "sublet/schema/document.h"

namespace sublet::simhost {

struct ContainerRun {
  enum class State { waiting, running, terminated };
  struct Ended {
    std::string id;
    WallTime started, finished;
    int exit_code = 0;
    std::string reason() const { return exit_code == 0 ? "Completed" : "Error"; }
  };

  std::string name, image;
  bool init = false, sidecar = false;
  bool ephemeral = false;               // a debugging container, added later; the pod does not depend on it
  shell::Trace program;                 // of the present run or the last one
  shell::Words command{};               // of a program that waits for input
  std::shared_ptr<shell::World> world;  // what its processes see; null until something looks at it

  State state = State::waiting;
  std::string reason, message;  // why it waits
  std::string id;
  WallTime started;
  std::optional<Ended> ended;  // terminated: this run's end
  std::optional<Ended> last;   // the run before this one
  int restarts = 0;
  bool ever_started = false;
  std::vector<Probe> probes;       // of the present run
  bool started_up = true;          // its startup probe has succeeded, or it has none
  bool ready = true;               // the result of its readiness probe
  int exit_code_when_stopped = 0;  // set when its pod is deleted
  net::Loop::TimerId timer = 0;    // its end, its restart, or the next step of a failing pull

  bool done_well() const { return state == State::terminated && ended && ended->exit_code == 0; }
};

struct PodRun {
  kube::CachedPtr pod;
  std::string namespace_name, name, uid, node;
  std::string restart_policy, host_ip, ip;
  WallTime started;
  std::vector<ContainerRun> containers;  // init containers first, in order
  std::string phase = "Pending", reason, message;
  std::set<std::string> missing;  // ConfigMaps and Secrets that it waits for
  bool complained = false;        // about what is missing
  bool stopping = false;          // deleted: nothing starts any more
  bool leaving = false;           // its last status is on its way; then the object goes
  net::Loop::TimerId deadline = 0, stop_timer = 0;
  std::int64_t deadline_seconds = 0;  // that `deadline` was set for
  Trees volumes;                      // what the containers wrote into the pod's own

  std::string written;  // the last status sent
  bool writing = false, write_again = false;
  struct Condition {
    std::string status, since;
  };
  std::map<std::string, Condition> conditions;  // as last computed, for their transition times

  bool finished() const { return phase == "Succeeded" || phase == "Failed"; }
  bool initialized() const;  // init containers done, sidecars running
  ContainerRun* find(std::string_view container);
};

inline constexpr int kKilled = 137;  // the exit code of a container that was killed
/// The container's entry in the pod's spec; null when the spec no longer has it.
schema::Value container_spec(const schema::Value& pod, const ContainerRun& container);

/// A run for a pod just seen: from its spec, and from its status when it has run before (a restart of simhost).
PodRun make_run(const kube::CachedPtr& pod, const schema::Value& object, const std::string& host_ip);
/// Adds new ephemeral containers to the run; true if there were any.
bool take_up_ephemeral(PodRun& run, const schema::Value& object);
/// Returns true if something waits for the container's end: an init container, or one of a pod that a Job or a hook
/// runs. Across the border of a virtual cluster a pod has no owner, but its labels.
bool is_expected_to_end(const PodRun& run, const ContainerRun& container, const schema::Value& pod);
/// Sets `phase` from the containers.
void settle_phase(PodRun& run);
/// A strategic merge patch for the status subresource: everything the kubelet owns. Updates run.conditions.
std::string status_patch(PodRun& run, const schema::Value& object, WallTime now);

}  // namespace sublet::simhost
