// Makes the status that a kubelet reports from a PodRun.
#include <algorithm>
#include <functional>

#include "simhost/image.h"
#include "simhost/pod_run.h"

namespace sublet::simhost {
namespace {

using State = ContainerRun::State;

std::string digest_of(const std::string& text) {
  std::uint64_t state = std::hash<std::string>()(text);
  std::string out;
  for (int i = 0; i < 64; ++i) {
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    out += "0123456789abcdef"[state >> 60];
  }
  return out;
}

/// "docker.io/library/nginx@sha256:...": the name without its tag, and a digest that is the same every time.
std::string image_id(const std::string& image) {
  const std::string full = full_image_name(image);
  const std::string name = full.substr(0, full.find_first_of(":@", full.rfind('/')));
  return name + "@sha256:" + digest_of(full);
}

bool is_ready(const PodRun& run, const ContainerRun& container) {
  if (run.stopping || run.finished()) return false;
  return (container.state == State::running && container.started_up && container.ready) ||
         (container.init && !container.sidecar && container.done_well());
}

void put_ended(schema::Value object, const ContainerRun::Ended& ended) {
  schema::Value terminated = object.object("terminated");
  terminated.put("exitCode", ended.exit_code);
  terminated.put("reason", ended.reason());
  terminated.put("startedAt", format_time(ended.started));
  terminated.put("finishedAt", format_time(ended.finished));
  if (!ended.id.empty()) terminated.put("containerID", ended.id);
}

void put_state(schema::Value status, const ContainerRun& container) {
  schema::Value state = status.object("state");
  if (container.state == State::running) {
    state.object("running").put("startedAt", format_time(container.started));
  } else if (container.state == State::terminated && container.ended) {
    put_ended(state, *container.ended);
  } else {
    schema::Value waiting = state.object("waiting");
    waiting.put("reason", container.reason);
    if (!container.message.empty()) waiting.put("message", container.message);
  }
  schema::Value last = status.object("lastState");
  if (container.last) put_ended(last, *container.last);
}

// A running container has the resources of its spec at once.
void put_container_resources(schema::Value status, const schema::Value& resources) {
  schema::Value actual = status.object("resources");
  for (const char* list : {"limits", "requests"})
    if (const schema::Value amounts = resources[list]) actual.put(list, amounts);
  if (const schema::Value requests = resources["requests"]) status.put("allocatedResources", requests);
}

void put_container(schema::Value list, const PodRun& run, const ContainerRun& container, const schema::Value& object) {
  schema::Value status = list.push_object();
  status.put("name", container.name);
  put_state(status, container);
  status.put("ready", is_ready(run, container));
  status.put("restartCount", container.restarts);
  const bool pulled = !container.id.empty();
  status.put("image", pulled ? full_image_name(container.image) : container.image);
  status.put("imageID", pulled ? image_id(container.image) : "");
  if (pulled) status.put("containerID", container.id);
  status.put("started", container.state == State::running && container.started_up);
  if (container.state == State::running && !container.ephemeral)
    put_container_resources(status, container_spec(object, container)["resources"]);
}

/// "[a b]": the containers that `is_bad` picks; empty when none.
template <class IsBad>
std::string names_of(const PodRun& run, IsBad is_bad) {
  std::string out;
  for (const ContainerRun& container : run.containers)
    if (is_bad(container)) out += (out.empty() ? "[" : " ") + container.name;
  return out.empty() ? out : out + "]";
}

struct Verdict {
  bool good = true;
  std::string reason{}, message{};
};

Verdict judge_initialized(const PodRun& run) {
  if (run.phase == "Succeeded") return {true, "PodCompleted"};
  const std::string open =
      names_of(run, [](const ContainerRun& c) { return c.init && !(c.sidecar ? c.ever_started : c.done_well()); });
  if (open.empty()) return {};
  return {false, "ContainersNotInitialized", "containers with incomplete status: " + open};
}

Verdict judge_containers(const PodRun& run) {
  if (run.phase == "Succeeded") return {false, "PodCompleted"};
  if (run.phase == "Failed") return {false, "PodFailed"};
  const std::string unready =
      names_of(run, [&](const ContainerRun& c) { return (!c.init || c.sidecar) && !c.ephemeral && !is_ready(run, c); });
  if (unready.empty()) return {};
  return {false, "ContainersNotReady", "containers with unready status: " + unready};
}

Verdict judge_gates(const schema::Value& object) {
  for (const schema::Value gate : object["spec"]["readinessGates"]) {
    const std::string_view type = gate["conditionType"].text();
    schema::Value found;
    for (const schema::Value condition : object["status"]["conditions"])
      if (condition["type"].text() == type) found = condition;
    if (found["status"].text() == "True") continue;
    return {false, "ReadinessGatesNotReady",
            "corresponding condition of pod readiness gate \"" + std::string(type) + "\" " +
                (found ? "is not \"True\"." : "does not exist.")};
  }
  return {};
}

void put_condition(schema::Value list, PodRun& run, const schema::Value& generation, const char* type,
                   const Verdict& verdict, WallTime now) {
  PodRun::Condition& known = run.conditions[type];
  const std::string status = verdict.good ? "True" : "False";
  if (known.status != status) known = {status, format_time(now)};
  schema::Value condition = list.push_object();
  condition.put("type", type);
  condition.put("status", status);
  condition.put("lastProbeTime", schema::Value());
  condition.put("lastTransitionTime", known.since);
  // A merge patch keeps what it does not name: null removes an old reason.
  verdict.reason.empty() ? condition.put("reason", schema::Value()) : condition.put("reason", verdict.reason);
  verdict.message.empty() ? condition.put("message", schema::Value()) : condition.put("message", verdict.message);
  if (generation) condition.put("observedGeneration", generation.integer());
}

void put_addresses(schema::Value status, const PodRun& run) {
  status.put("hostIP", run.host_ip);
  status.array("hostIPs").push_object().put("ip", run.host_ip);
  if (run.ip.empty()) return;
  status.put("podIP", run.ip);
  status.array("podIPs").push_object().put("ip", run.ip);
}

}  // namespace

std::string status_patch(PodRun& run, const schema::Value& object, WallTime now) {
  schema::Document patch = schema::Document::object();
  schema::Value root = patch.root();
  root.object("metadata").put("uid", run.uid);
  schema::Value status = root.object("status");
  const schema::Value generation = object["metadata"]["generation"];
  if (generation) status.put("observedGeneration", generation.integer());
  status.put("phase", run.phase);
  if (!run.reason.empty()) status.put("reason", run.reason);
  if (!run.message.empty()) status.put("message", run.message);

  const Verdict containers = judge_containers(run);
  const Verdict gates = judge_gates(object);
  schema::Value conditions = status.array("conditions");
  put_condition(conditions, run, generation, "PodReadyToStartContainers", {!run.ip.empty() && !run.finished()}, now);
  put_condition(conditions, run, generation, "Initialized", judge_initialized(run), now);
  put_condition(conditions, run, generation, "Ready", containers.good ? gates : containers, now);
  put_condition(conditions, run, generation, "ContainersReady", containers, now);

  put_addresses(status, run);
  status.put("startTime", format_time(run.started));
  for (const ContainerRun& container : run.containers) {
    const char* const list = container.init        ? "initContainerStatuses"
                             : container.ephemeral ? "ephemeralContainerStatuses"
                                                   : "containerStatuses";
    put_container(status.array(list), run, container, object);
  }
  return patch.to_json();
}

}  // namespace sublet::simhost
