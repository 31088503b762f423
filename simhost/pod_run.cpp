#include "simhost/pod_run.h"

#include <algorithm>

namespace sublet::simhost {

bool PodRun::initialized() const {
  return std::ranges::all_of(
      containers, [](const ContainerRun& c) { return !c.init || (c.sidecar ? c.ever_started : c.done_well()); });
}

ContainerRun* PodRun::find(std::string_view container) {
  const auto found = std::ranges::find(containers, container, &ContainerRun::name);
  return found == containers.end() ? nullptr : &*found;
}

namespace {

WallTime time_or(const schema::Value& text, WallTime fallback) { return parse_time(text.text()).value_or(fallback); }

std::optional<ContainerRun::Ended> read_ended(const schema::Value& terminated) {
  if (!terminated.is_object()) return std::nullopt;
  return ContainerRun::Ended{terminated["containerID"].string(), time_or(terminated["startedAt"], {}),
                             time_or(terminated["finishedAt"], {}), static_cast<int>(terminated["exitCode"].integer())};
}

/// Restores a container from its status. A container that waited starts from the beginning.
void take_over(ContainerRun& container, const schema::Value& status) {
  const schema::Value state = status["state"], running = state["running"];
  container.restarts = static_cast<int>(status["restartCount"].integer());
  container.last = read_ended(status["lastState"]["terminated"]);
  container.id = status["containerID"].string();
  container.ended = read_ended(state["terminated"]);
  container.ever_started = running || container.ended || container.last;
  if (running) {
    container.state = ContainerRun::State::running;
    container.started = time_or(running["startedAt"], {});
  } else if (container.ended) {
    container.state = ContainerRun::State::terminated;
    container.started = container.ended->started;
  }
}

enum class Role { init, regular, ephemeral };
struct RoleFacts {
  const char *spec_list, *status_list;
};
RoleFacts facts_of(Role role) {
  if (role == Role::init) return {"initContainers", "initContainerStatuses"};
  if (role == Role::ephemeral) return {"ephemeralContainers", "ephemeralContainerStatuses"};
  return {"containers", "containerStatuses"};
}

void add_container(PodRun& run, const schema::Value& object, const schema::Value& spec, Role role) {
  ContainerRun container;
  container.name = spec["name"].string();
  container.image = spec["image"].string();
  container.init = role == Role::init;
  container.ephemeral = role == Role::ephemeral;
  container.sidecar = container.init && spec["restartPolicy"].text() == "Always";
  const bool waits = role == Role::regular && !object["spec"]["initContainers"].empty();
  container.reason = waits ? "PodInitializing" : "ContainerCreating";
  for (const schema::Value status : object["status"][facts_of(role).status_list])
    if (status["name"].text() == container.name) take_over(container, status);
  run.containers.push_back(std::move(container));
}

void add_containers(PodRun& run, const schema::Value& object, Role role) {
  for (const schema::Value spec : object["spec"][facts_of(role).spec_list]) add_container(run, object, spec, role);
}

}  // namespace

schema::Value container_spec(const schema::Value& pod, const ContainerRun& container) {
  const Role role = container.init ? Role::init : container.ephemeral ? Role::ephemeral : Role::regular;
  for (const schema::Value spec : pod["spec"][facts_of(role).spec_list])
    if (spec["name"].text() == container.name) return spec;
  return {};
}

PodRun make_run(const kube::CachedPtr& pod, const schema::Value& object, const std::string& host_ip) {
  PodRun run;
  run.pod = pod;
  run.namespace_name = pod->namespace_name;
  run.name = pod->name;
  run.uid = pod->uid;
  const schema::Value spec = object["spec"], status = object["status"];
  run.node = spec["nodeName"].string();
  run.restart_policy = spec["restartPolicy"].string("Always");
  run.host_ip = host_ip;
  run.ip = status["podIP"].string();
  run.started = time_or(status["startTime"], {});
  run.phase = status["phase"].string("Pending");
  run.reason = status["reason"].string();
  run.message = status["message"].string();
  for (const schema::Value condition : status["conditions"])
    run.conditions[condition["type"].string()] = {condition["status"].string(),
                                                  condition["lastTransitionTime"].string()};
  for (const Role role : {Role::init, Role::regular, Role::ephemeral}) add_containers(run, object, role);
  return run;
}

bool take_up_ephemeral(PodRun& run, const schema::Value& object) {
  const std::size_t before = run.containers.size();
  for (const schema::Value spec : object["spec"]["ephemeralContainers"])
    if (run.find(spec["name"].text()) == nullptr) add_container(run, object, spec, Role::ephemeral);
  return run.containers.size() != before;
}

bool is_expected_to_end(const PodRun& run, const ContainerRun& container, const schema::Value& pod) {
  if (container.init) return !container.sidecar;
  if (container.ephemeral || run.restart_policy == "Always") return false;
  const schema::Value metadata = pod["metadata"];
  for (const schema::Value owner : metadata["ownerReferences"])
    if (owner["kind"].text() == "Job") return true;
  for (const schema::Value annotation : metadata["annotations"])
    if (annotation.key() == "helm.sh/hook" || annotation.key() == "argocd.argoproj.io/hook") return true;
  // A label KEY of a tenant's pod is t.sublet.dev/KEY on the host, or tp.sublet.dev/KEY with '_' for '/'.
  for (const schema::Value label : metadata["labels"])
    if (label.key().ends_with("job-name") ||
        (label.key().ends_with("app.kubernetes.io_managed-by") && label.text() == "Helm"))
      return true;
  return metadata["labels"]["app.kubernetes.io/managed-by"].text() == "Helm";
}

void settle_phase(PodRun& run) {
  if (run.finished()) return;
  using State = ContainerRun::State;
  bool any_started = false, all_ended = true, all_well = true;
  for (const ContainerRun& container : run.containers) {
    if (container.ephemeral) continue;
    const bool ended = container.state == State::terminated;
    if (container.init) {
      // Under the policy Never a failed init container ends the pod; otherwise it will be run again.
      if (!container.sidecar && ended && !container.done_well() && run.restart_policy == "Never") run.phase = "Failed";
      continue;
    }
    any_started = any_started || container.ever_started;
    all_ended = all_ended && ended;
    all_well = all_well && container.done_well();
  }
  if (run.finished()) return;
  // A container that is to be run again is `waiting` by now, so what is terminated stays so.
  if (all_ended) {
    run.phase = all_well ? "Succeeded" : "Failed";
  } else {
    run.phase = any_started ? "Running" : "Pending";
  }
}

}  // namespace sublet::simhost
