// Commands that the kubelet runs in containers: probes, hooks, and how long a container takes to stop.
#include <algorithm>

#include "simhost/kubelet.h"

namespace sublet::simhost {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using State = ContainerRun::State;

}  // namespace

Kubelet::ExecResult Kubelet::exec(ContainerRun& container, const schema::Value& command) {
  if (!container.world) return {};        // it has no exec hooks or probes
  shell::World world = *container.world;  // its files are shared, its variables are the process's own
  world.start = clock_.now();
  const shell::Trace trace = shell::run(words_of(command, world.variables), world, shell::Context::probe);
  ExecResult out;
  out.exit_code = trace.end ? trace.end->exit_code : 0;
  out.time = trace.end ? trace.end->at : milliseconds::max();
  for (const shell::Line& line : trace.lines) out.output += line.bytes();
  return out;
}

// --- probes ---

void Kubelet::begin_probes(PodRun& run, ContainerRun& container, const schema::Value& object) {
  container.probes = read_probes(container_spec(object, container));
  const auto has = [&](Probe::Kind kind) { return std::ranges::count(container.probes, kind, &Probe::kind) > 0; };
  container.started_up = !has(Probe::Kind::startup);
  container.ready = !has(Probe::Kind::readiness);
  const int restarts = container.restarts;
  for (Probe& each : container.probes) {
    if (each.initial_delay == seconds(0)) {
      probe(run, container, each);
    } else {
      plan_probe(run, container, each, each.initial_delay);
    }
    if (container.state != State::running || container.restarts != restarts) return;  // killed by it
  }
}

void Kubelet::plan_probe(PodRun& run, const ContainerRun& container, Probe& planned, milliseconds delay) {
  planned.timer = later(run, delay, [this, name = container.name, kind = planned.kind](PodRun& late) {
    ContainerRun* running = late.find(name);
    if (!running || running->state != State::running) return;
    const auto due = std::ranges::find(running->probes, kind, &Probe::kind);
    if (due == running->probes.end()) return;
    due->timer = 0;
    probe(late, *running, *due);
  });
}

void Kubelet::probe(PodRun& run, ContainerRun& container, Probe& asked) {
  const bool waits = !container.started_up && asked.kind != Probe::Kind::startup;
  bool success = true;
  if (!waits && asked.is_exec()) {
    const ExecResult result = exec(container, asked.command.root());
    success = result.exit_code == 0;
    if (!success)
      event(run, &container, kWarningEvent, "Unhealthy",
            std::string(asked.title()) + " probe failed: " + result.output);
  }
  const int restarts = container.restarts;
  const Probe::Kind kind = asked.kind;
  if (!waits) judge(run, container, asked, success);
  if (container.state != State::running || container.restarts != restarts) return;
  // A probe whose result cannot change ends here, so that an idle host has no timers.
  const bool settled = !waits && !asked.is_exec() && asked.successes >= asked.success_threshold;
  if (settled || (kind == Probe::Kind::startup && container.started_up)) return;
  plan_probe(run, container, asked, asked.period);
}

void Kubelet::judge(PodRun& run, ContainerRun& container, Probe& probe, bool success) {
  const Judgement judgement = count(probe, success);
  if (judgement == Judgement::unchanged) return;
  const bool healthy = judgement == Judgement::healthy;
  if (probe.kind == Probe::Kind::readiness) {
    if (std::exchange(container.ready, healthy) != healthy) write_status(run, run.pod->document().root());
    return;
  }
  if (healthy) {
    if (probe.kind != Probe::Kind::startup || std::exchange(container.started_up, true)) return;
    return write_status(run, run.pod->document().root());
  }
  std::string kind = probe.title();
  kind[0] = static_cast<char>(kind[0] | 0x20);
  event(run, &container, kNormalEvent, "Killing",
        "Container " + container.name + " failed " + kind + " probe, will be restarted");
  ended(run, container, kKilled);
}

// --- hooks ---

bool Kubelet::post_start(PodRun& run, ContainerRun& container, const schema::Value& object) {
  const schema::Value command = container_spec(object, container)["lifecycle"]["postStart"]["exec"]["command"];
  if (!command) return true;
  const ExecResult result = exec(container, command);
  if (result.exit_code == 0) return true;
  event(run, &container, kWarningEvent, "FailedPostStartHook", "PostStartHook failed");
  // Not from here: the caller walks the containers.
  container.timer = later(run, milliseconds(0), [this, name = container.name](PodRun& late) {
    if (ContainerRun* running = late.find(name); running && running->state == State::running)
      ended(late, *running, kKilled);
  });
  return false;
}

milliseconds Kubelet::stop_time(ContainerRun& container, const schema::Value& object, milliseconds grace) {
  const schema::Value hook = container_spec(object, container)["lifecycle"]["preStop"];
  milliseconds out = seconds(hook["sleep"]["seconds"].integer());
  if (hook["exec"]) out += std::min(grace, exec(container, hook["exec"]["command"]).time);
  container.exit_code_when_stopped = kKilled;
  std::optional<shell::Trace> handler;
  if (container.world) {
    shell::World world = *container.world;
    world.start = clock_.now() + out;
    handler = shell::run_handler(container.program, "TERM", world);
  }
  if (!handler) return std::min(grace, out + options_.stop_time);
  const auto since = std::chrono::duration_cast<milliseconds>(clock_.now() + out - container.started);
  for (shell::Line& line : handler->lines) {
    line.at += since;
    container.program.lines.push_back(std::move(line));
  }
  if (!handler->end || out + handler->end->at > grace) return grace;
  container.exit_code_when_stopped = handler->end->exit_code;
  return out + handler->end->at;
}

}  // namespace sublet::simhost
