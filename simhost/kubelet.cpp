#include "simhost/kubelet.h"

#include <algorithm>

#include "simhost/image.h"
#include "simhost/node_shape.h"
#include "sublet/base/log.h"
#include "sublet/base/status_json.h"

namespace sublet::simhost {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using State = ContainerRun::State;

const kube::Resource kPodsApi{"", "v1", "pods"};
constexpr milliseconds kWriteRetry{1000};
constexpr milliseconds kMissingGrace{500};  // before an event: the informers of two resources are not in step
constexpr seconds kRestartMin{10}, kRestartMax{300};

std::string waiting_key(Dependency::Kind kind, std::string_view namespace_name, std::string_view name) {
  return std::string(kind_name(kind)) + "/" + std::string(namespace_name) + "/" + std::string(name);
}

bool runs_again(const PodRun& run, const ContainerRun& container) {
  if (container.sidecar) return true;
  if (container.ephemeral) return false;
  const bool failed = !container.done_well();
  if (container.init || run.restart_policy == "OnFailure") return failed && run.restart_policy != "Never";
  return run.restart_policy == "Always";
}

}  // namespace

Kubelet::Kubelet(net::Loop& loop, const kube::Client& client, kube::Pipeline& pipeline, EventRecorder& events,
                 PodEnvironment environment, const SimHostOptions& options, Clock& clock, Random& random)
    : loop_(loop),
      client_(client),
      pipeline_(pipeline),
      events_(events),
      environment_(environment),
      options_(options),
      clock_(clock),
      random_(random) {}

void Kubelet::node_changed(const schema::Value& node) {
  const schema::Value metadata = node["metadata"];
  if (metadata["annotations"][kSimulatedAnnotation].text() != "true") return node_removed(metadata["name"].string());
  SimulatedNode& known = nodes_[metadata["name"].string()];
  for (const schema::Value entry : node["status"]["addresses"])
    if (entry["type"].text() == "InternalIP") known.address = entry["address"].string();
  known.labels = metadata.has("labels") ? schema::Document::copy_of(metadata["labels"]) : schema::Document::object();
  known.allocatable = schema::Document::copy_of(node["status"]["allocatable"]);
}

void Kubelet::node_removed(const std::string& name) { nodes_.erase(name); }

// --- changes of pods ---

void Kubelet::pod_changed(const kube::CachedPtr& pod, const schema::Value& object) {
  const auto known = runs_.find(pod->uid);
  if (known != runs_.end()) {
    known->second->pod = pod;
    return update(*known->second, object);
  }
  const auto node = nodes_.find(object["spec"]["nodeName"].string());
  if (node == nodes_.end()) return;
  PodRun& run = *(runs_[pod->uid] = std::make_unique<PodRun>(make_run(pod, object, node->second.address)));
  adopt(run, object);
}

/// A pod new to this kubelet: just scheduled, or running since before a restart.
void Kubelet::adopt(PodRun& run, const schema::Value& object) {
  if (!run.ip.empty()) addresses_.insert(run.ip);
  if (object["metadata"].has("deletionTimestamp")) return stop(run, object);
  if (run.finished()) return;
  if (run.started == WallTime()) run.started = clock_.now();
  plan_deadline(run, object);
  for (ContainerRun& container : run.containers) {
    if (container.ever_started) run_main_program(run, container, object);
    if (container.state == State::running) {
      plan_end(run, container);
      begin_probes(run, container, object);
    }
    if (container.state == State::terminated && runs_again(run, container)) plan_restart(run, container);
  }
  advance(run, object);
}

void Kubelet::update(PodRun& run, const schema::Value& object) {
  if (run.stopping) return;
  if (object["metadata"].has("deletionTimestamp")) return stop(run, object);
  if (run.finished()) return;
  restart_changed_images(run, object);
  if (take_up_ephemeral(run, object)) advance(run, object);
  plan_deadline(run, object);
  const bool seen = object["status"]["observedGeneration"].integer() == object["metadata"]["generation"].integer();
  if (!seen || !object["spec"]["readinessGates"].empty()) write_status(run, object);
}

/// The image is what may change in a running pod's container.
void Kubelet::restart_changed_images(PodRun& run, const schema::Value& object) {
  bool changed = false;
  for (ContainerRun& container : run.containers) {
    const std::string image = container_spec(object, container)["image"].string();
    if (image.empty() || image == container.image) continue;
    container.image = image;
    if (container.init && container.done_well()) continue;  // it has done its work
    changed = true;
    cancel_timers(container);
    if (container.state == State::running) {
      event(run, &container, kNormalEvent, "Killing",
            "Container " + container.name + " definition changed, will be restarted");
      container.last = ContainerRun::Ended{container.id, container.started, clock_.now(), 0};
      ++container.restarts;
    }
    container.state = State::waiting;
    container.reason = "ContainerCreating";
    container.message.clear();
  }
  if (changed) advance(run, object);
}

void Kubelet::pod_removed(const std::string& uid) {
  const auto found = runs_.find(uid);
  if (found == runs_.end()) return;
  PodRun& run = *found->second;
  cancel_timers(run);
  addresses_.erase(run.ip);
  followers_.end(uid);
  end_sessions(uid, "", kKilled);
  for (const std::string& key : run.missing)
    if (const auto waiting = waiting_for_.find(key); waiting != waiting_for_.end()) waiting->second.erase(uid);
  runs_.erase(found);
}

void Kubelet::dependency_changed(Dependency::Kind kind, const kube::CachedObject& object) {
  const auto found = waiting_for_.find(waiting_key(kind, object.namespace_name, object.name));
  if (found == waiting_for_.end()) return;
  const std::unordered_set<std::string> uids = std::move(found->second);
  waiting_for_.erase(found);
  for (const std::string& uid : uids) {
    const auto run = runs_.find(uid);
    if (run == runs_.end() || run->second->stopping) continue;
    run->second->missing.clear();
    const schema::Document pod = run->second->pod->document();
    advance(*run->second, pod.root());
  }
}

// --- forward ---

void Kubelet::advance(PodRun& run, const schema::Value& object) {
  if (run.stopping || run.finished()) return;
  if (volumes_present(run, object)) {
    if (run.ip.empty()) run.ip = object["spec"]["hostNetwork"].boolean() ? run.host_ip : take_address();
    bool open = true;  // everything before has come far enough
    for (ContainerRun& container : run.containers) {
      if (container.ephemeral) {
        if (container.state == State::waiting && container.timer == 0) start(run, container, object);
      } else if (container.init) {
        open = open && advance_init(run, container, object);
      } else if (open && container.state == State::waiting && container.timer == 0) {
        start(run, container, object);
      }
    }
  }
  settle_phase(run);
  write_status(run, object);
}

bool Kubelet::advance_init(PodRun& run, ContainerRun& container, const schema::Value& object) {
  if (container.state == State::waiting && container.timer == 0) start(run, container, object);
  return container.sidecar ? container.ever_started : container.done_well();
}

bool Kubelet::present(const PodRun& run, const Dependency& dependency) const {
  const kube::CachedPtr object = look_up(run, dependency.kind, dependency.name);
  if (!object) return false;
  const schema::Document document = object->document();
  if (dependency.kind == Dependency::Kind::volume_claim) return document["status"]["phase"].text() == "Bound";
  if (dependency.key.empty()) return true;
  return document["data"].has(dependency.key) || document["binaryData"].has(dependency.key);
}

kube::CachedPtr Kubelet::look_up(const PodRun& run, Dependency::Kind kind, std::string_view name) const {
  const kube::Informer* copies = kind == Dependency::Kind::config_map ? environment_.config_maps
                                 : kind == Dependency::Kind::secret   ? environment_.secrets
                                                                      : environment_.volume_claims;
  return copies->get(run.namespace_name, name);
}

/// The kubelet's message for a volume that cannot be mounted.
std::string Kubelet::mount_failure(const PodRun& run, const Dependency& dependency) const {
  if (dependency.kind != Dependency::Kind::volume_claim)
    return "MountVolume.SetUp failed for volume \"" + dependency.volume + "\" : " + dependency.not_found();
  const std::string what =
      look_up(run, dependency.kind, dependency.name)
          ? "PVC is not bound"
          : "failed to fetch PVC from API server: persistentvolumeclaims \"" + dependency.name + "\" not found";
  const std::string list = "[" + dependency.volume + "]";
  return "Unable to attach or mount volumes: unmounted volumes=" + list +
         ", unattached volumes=[], failed to process volumes=" + list + ": error processing PVC " + run.namespace_name +
         "/" + dependency.name + ": " + what;
}

void Kubelet::miss(PodRun& run, const Dependency& dependency) {
  const std::string key = waiting_key(dependency.kind, run.namespace_name, dependency.name);
  run.missing.insert(key);
  waiting_for_[key].insert(run.uid);
}

bool Kubelet::volumes_present(PodRun& run, const schema::Value& object) {
  if (!run.ip.empty()) return true;  // mounted before
  std::vector<Dependency> absent;
  for (const Dependency& dependency : volume_dependencies(object))
    if (!present(run, dependency)) absent.push_back(dependency);
  for (const Dependency& dependency : absent) miss(run, dependency);
  if (absent.empty() || std::exchange(run.complained, true)) return absent.empty();
  later(run, kMissingGrace, [this](PodRun& late) {
    const schema::Document pod = late.pod->document();
    for (const Dependency& dependency : volume_dependencies(pod.root()))
      if (late.ip.empty() && !present(late, dependency))
        event(late, nullptr, kWarningEvent, "FailedMount", mount_failure(late, dependency));
  });
  return false;
}

bool Kubelet::environment_present(PodRun& run, ContainerRun& container, const schema::Value& object) {
  const Dependency* absent = nullptr;
  const std::vector<Dependency> all = container_dependencies(container_spec(object, container));
  for (const Dependency& dependency : all) {
    if (present(run, dependency)) continue;
    miss(run, dependency);
    if (!absent) absent = &dependency;
  }
  if (!absent) return true;
  if (container.reason == "CreateContainerConfigError") return false;  // reported already
  const bool there = look_up(run, absent->kind, absent->name) != nullptr;
  const std::string message = there ? "couldn't find key " + absent->key + " in " +
                                          (absent->kind == Dependency::Kind::config_map ? "ConfigMap " : "Secret ") +
                                          run.namespace_name + "/" + absent->name
                                    : absent->not_found();
  later(run, kMissingGrace, [this, name = container.name, message](PodRun& late) {
    ContainerRun* waiting = late.find(name);
    if (late.missing.empty() || !waiting || waiting->state != State::waiting) return;
    waiting->reason = "CreateContainerConfigError";
    waiting->message = message;
    event(late, waiting, kWarningEvent, "Failed", "Error: " + message);
    write_status(late, late.pod->document().root());
  });
  return false;
}

void Kubelet::start(PodRun& run, ContainerRun& container, const schema::Value& object) {
  if (const std::string why = pull_failure(container.image); !why.empty()) {
    if (container.reason != "ErrImagePull" && container.reason != "ImagePullBackOff") fail_pull(run, container, why);
    return;
  }
  if (!environment_present(run, container, object)) return;
  container.state = State::running;
  container.reason.clear();
  container.message.clear();
  container.started = clock_.now();
  run_main_program(run, container, object);
  container.ended.reset();
  container.ever_started = true;
  container.id = make_container_id();
  event(run, &container, kNormalEvent, "Pulled",
        "Container image \"" + container.image + "\" already present on machine");
  event(run, &container, kNormalEvent, "Created", "Created container: " + container.name);
  event(run, &container, kNormalEvent, "Started", "Started container " + container.name);
  if (is_expected_to_end(run, container, object)) report_unknown_program(run, container);
  if (!post_start(run, container, object)) return;
  plan_end(run, container);
  begin_probes(run, container, object);
}

void Kubelet::fail_pull(PodRun& run, ContainerRun& container, const std::string& why) {
  container.reason = "ErrImagePull";
  container.message = why;
  event(run, &container, kNormalEvent, "Pulling", "Pulling image \"" + container.image + "\"");
  event(run, &container, kWarningEvent, "Failed", "Failed to pull image \"" + container.image + "\": " + why);
  event(run, &container, kWarningEvent, "Failed", "Error: ErrImagePull");
  container.timer = later(run, options_.image_backoff, [this, name = container.name](PodRun& late) {
    ContainerRun* waiting = late.find(name);
    if (!waiting || waiting->state != State::waiting) return;
    waiting->timer = 0;
    waiting->reason = "ImagePullBackOff";
    waiting->message = "Back-off pulling image \"" + waiting->image + "\": ErrImagePull: " + waiting->message;
    event(late, waiting, kNormalEvent, "BackOff", "Back-off pulling image \"" + waiting->image + "\"");
    event(late, waiting, kWarningEvent, "Failed", "Error: ImagePullBackOff");
    write_status(late, late.pod->document().root());
  });
}

void Kubelet::plan_end(PodRun& run, ContainerRun& container) {
  container.timer = 0;
  if (!container.program.end) return;
  const auto due = container.started + container.program.end->at - clock_.now();
  const auto delay = std::max(milliseconds(0), std::chrono::ceil<milliseconds>(due));
  container.timer = later(run, delay, [this, name = container.name](PodRun& late) {
    if (ContainerRun* running = late.find(name); running && running->state == State::running)
      ended(late, *running, running->program.end->exit_code);
  });
}

void Kubelet::ended(PodRun& run, ContainerRun& container, int exit_code) {
  cancel_timers(container);
  container.state = State::terminated;
  container.ended = ContainerRun::Ended{container.id, container.started, clock_.now(), exit_code};
  followers_.flush(run, clock_.now());
  end_sessions(run.uid, container.name, kKilled);
  if (runs_again(run, container)) plan_restart(run, container);
  const schema::Document pod = run.pod->document();
  advance(run, pod.root());
}

/// At once the first time (the caller advances), then after 10 s doubling to five minutes, waiting as CrashLoopBackOff.
void Kubelet::plan_restart(PodRun& run, ContainerRun& container) {
  container.last = container.ended;
  container.state = State::waiting;
  if (container.restarts == 0) {
    ++container.restarts;
    return;
  }
  const seconds delay = std::min(kRestartMax, kRestartMin * (1 << std::min(container.restarts - 1, 5)));
  const std::string who = run.name + "_" + run.namespace_name + "(" + run.uid + ")";
  container.reason = "CrashLoopBackOff";
  container.message =
      "back-off " + std::to_string(delay.count()) + "s restarting failed container=" + container.name + " pod=" + who;
  event(run, &container, kWarningEvent, "BackOff",
        "Back-off restarting failed container " + container.name + " in pod " + who);
  container.timer = later(run, delay, [this, name = container.name](PodRun& late) {
    ContainerRun* waiting = late.find(name);
    if (!waiting || waiting->state != State::waiting) return;
    waiting->timer = 0;
    ++waiting->restarts;
    const schema::Document pod = late.pod->document();
    advance(late, pod.root());
  });
}

// --- to the end ---

void Kubelet::plan_deadline(PodRun& run, const schema::Value& object) {
  const schema::Value limit = object["spec"]["activeDeadlineSeconds"];
  if (limit.integer() == run.deadline_seconds) return;
  run.deadline_seconds = limit.integer();
  loop_.cancel(std::exchange(run.deadline, 0));
  if (!limit) return;
  const auto due = run.started + seconds(limit.integer()) - clock_.now();
  run.deadline = later(run, std::max(milliseconds(0), std::chrono::ceil<milliseconds>(due)), [this](PodRun& late) {
    fail_pod(late, "DeadlineExceeded", "Pod was active on the node longer than the specified deadline");
  });
}

void Kubelet::fail_pod(PodRun& run, const std::string& reason, const std::string& message) {
  if (run.stopping || run.finished()) return;
  cancel_timers(run);
  for (ContainerRun& container : run.containers) {
    if (container.state != State::running) continue;
    container.state = State::terminated;
    container.ended = ContainerRun::Ended{container.id, container.started, clock_.now(), kKilled};
  }
  run.phase = "Failed";
  run.reason = reason;
  run.message = message;
  followers_.flush(run, clock_.now());
  event(run, nullptr, kNormalEvent, reason, message);
  write_status(run, run.pod->document().root());
}

/// After a deletion: kills the containers, reports how they ended, and removes the object, within the grace period.
void Kubelet::stop(PodRun& run, const schema::Value& object) {
  run.stopping = true;
  cancel_timers(run);
  for (const ContainerRun& container : run.containers) {
    if (container.state != State::running) continue;
    event(run, &container, kNormalEvent, "Killing", "Stopping container " + container.name);
  }
  const seconds grace(object["metadata"]["deletionGracePeriodSeconds"].integer());
  milliseconds delay{0};
  for (ContainerRun& container : run.containers)
    if (container.state == State::running) delay = std::max(delay, stop_time(container, object, grace));
  run.stop_timer = later(run, delay, [this](PodRun& late) { leave(late); });
}

/// The last status goes first: a controller that holds the pod by a finalizer (a Job's) waits for it.
void Kubelet::leave(PodRun& run) {
  bool killed = false;
  for (ContainerRun& container : run.containers) {
    if (container.state != State::running) continue;
    killed = true;
    container.state = State::terminated;
    container.ended =
        ContainerRun::Ended{container.id, container.started, clock_.now(), container.exit_code_when_stopped};
  }
  if (!killed || run.finished()) return remove(run.uid);
  settle_phase(run);
  if (!run.finished()) run.phase = "Failed";
  run.leaving = true;
  followers_.flush(run, clock_.now());
  write_status(run, run.pod->document().root());
}

void Kubelet::remove(const std::string& uid) {
  const PodRun& run = *runs_.at(uid);
  kube::DeleteOptions now{.grace_period_seconds = 0, .uid = uid};
  pipeline_.send(client_.remove_request(kPodsApi, run.namespace_name, run.name, now),
                 [self = shared_from_this(), uid](const Result<std::string>& answer) {
                   if (answer || answer.error().is(Reason::not_found) || answer.error().is(Reason::conflict)) return;
                   log::warning("simhost.removal_failed", {{"pod_uid", uid}, {"error", answer.error().message}});
                   const auto run_again = self->runs_.find(uid);
                   if (run_again == self->runs_.end()) return;
                   self->later(*run_again->second, kWriteRetry, [self](PodRun& late) { self->remove(late.uid); });
                 });
}

// --- status and events ---

void Kubelet::write_status(PodRun& run, const schema::Value& object) {
  std::string patch = status_patch(run, object, clock_.now());
  if (patch == run.written) return;
  if (run.writing) {
    run.write_again = true;
    return;
  }
  send_status(run, std::move(patch));
}

void Kubelet::send_status(PodRun& run, std::string patch) {
  run.writing = true;
  run.written = std::move(patch);
  pipeline_.send(client_.patch_request(kPodsApi, run.namespace_name, run.name, kube::PatchType::strategic_merge,
                                       run.written, "status"),
                 [self = shared_from_this(), uid = run.uid](const Result<std::string>& answer) {
                   self->status_written(uid, answer);
                 });
}

void Kubelet::status_written(const std::string& uid, const Result<std::string>& answer) {
  const auto found = runs_.find(uid);
  if (found == runs_.end()) return;
  PodRun& run = *found->second;
  run.writing = false;
  const bool failed = !answer && !answer.error().is(Reason::not_found) && !answer.error().is(Reason::conflict);
  if (failed) {
    log::warning("simhost.status_failed", {{"pod_uid", uid}, {"error", answer.error().message}});
    run.written.clear();
    later(run, kWriteRetry, [this](PodRun& late) { write_status(late, late.pod->document().root()); });
  } else if (std::exchange(run.write_again, false) && (!run.stopping || run.leaving)) {
    write_status(run, run.pod->document().root());
  } else if (run.leaving) {
    remove(uid);
  }
}

void Kubelet::event(const PodRun& run, const ContainerRun* container, EventRecorder::Type type,
                    const std::string& reason, const std::string& message) {
  ObjectReference about{.namespace_name = run.namespace_name,
                        .name = run.name,
                        .uid = run.uid,
                        .resource_version = run.pod->resource_version};
  if (container)
    about.field_path = (container->init        ? "spec.initContainers{"
                        : container->ephemeral ? "spec.ephemeralContainers{"
                                               : "spec.containers{") +
                       container->name + "}";
  events_.record(about, {"kubelet", run.node}, type, reason, message);
}

// --- logs ---

void Kubelet::answer_log(const std::string& namespace_name, const std::string& name, const std::string& query,
                         const std::shared_ptr<net::ResponseSink>& sink) {
  const auto refuse = [&](const Status& status) {
    sink->respond(status.http_code(), {{"Content-Type", "application/json"}}, status_json(status));
  };
  const auto wanted = read_log_query(query, clock_.now());
  if (!wanted) return refuse(wanted.error());
  const auto found = std::ranges::find_if(runs_, [&](const auto& entry) {
    return entry.second->name == name && entry.second->namespace_name == namespace_name;
  });
  if (found == runs_.end()) return refuse(not_found_status("", "pods", name));
  PodRun& run = *found->second;
  const auto container = log_container(run, *wanted);
  if (!container) return refuse(container.error());
  if (!wanted->follow)
    return sink->respond(200, {{"Content-Type", "text/plain"}}, log_text(**container, *wanted, clock_.now()));
  followers_.add(run.uid, **container, *wanted, sink, clock_.now());
  sink->on_close([weak = weak_from_this(), uid = run.uid] {
    if (const auto self = weak.lock())
      self->loop_.post([self, uid] {
        if (const auto left = self->runs_.find(uid); left != self->runs_.end())
          self->followers_.flush(*left->second, self->clock_.now());
      });
  });
  follow_next_line(run);
}

void Kubelet::follow_next_line(PodRun& run) {
  const auto next = followers_.next_line(run, clock_.now());
  if (!next) return;
  const auto delay = std::max(milliseconds(1), std::chrono::ceil<milliseconds>(*next - clock_.now()));
  later(run, delay, [this](PodRun& late) {
    followers_.flush(late, clock_.now());
    follow_next_line(late);
  });
}

// --- helpers ---

net::Loop::TimerId Kubelet::later(const PodRun& run, milliseconds delay, std::function<void(PodRun&)> step) {
  return loop_.after(delay, [weak = weak_from_this(), uid = run.uid, step = std::move(step)] {
    const auto self = weak.lock();
    if (!self) return;
    if (const auto found = self->runs_.find(uid); found != self->runs_.end()) step(*found->second);
  });
}

void Kubelet::cancel_timers(PodRun& run) {
  for (ContainerRun& container : run.containers) cancel_timers(container);
  loop_.cancel(std::exchange(run.deadline, 0));
  loop_.cancel(std::exchange(run.stop_timer, 0));
}

void Kubelet::cancel_timers(ContainerRun& container) {
  loop_.cancel(std::exchange(container.timer, 0));
  for (Probe& probe : container.probes) loop_.cancel(std::exchange(probe.timer, 0));
}

std::string Kubelet::take_address() {
  for (;;) {
    last_address_ = last_address_ % 0xfffe + 1;
    std::string out = "10.244." + std::to_string(last_address_ >> 8) + "." + std::to_string(last_address_ & 0xff);
    if (addresses_.insert(out).second || addresses_.size() >= 0xfffe) return out;
  }
}

std::string Kubelet::make_container_id() {
  std::string out = "containerd://";
  for (int i = 0; i < 4; ++i) {
    std::uint64_t bits = random_.next();
    for (int digit = 0; digit < 16; ++digit, bits >>= 4) out += "0123456789abcdef"[bits & 15];
  }
  return out;
}

}  // namespace sublet::simhost
