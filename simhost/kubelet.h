// Kubelet: runs the pods of all simulated nodes: starts and ends their containers, writes their status, removes deleted
// pods, and serves logs, exec, attach, port-forward and metrics.
//
// Level-triggered: advance() does what can be done now for a PodRun; timers and changes of pods, ConfigMaps and Secrets
// call it again. Status is written asynchronously, with at most one write in flight per pod.
// Threads: the loop's. Lifecycle: destroy the pipeline first.
#pragma once

#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "simhost/container_log.h"
#include "simhost/event_recorder.h"
#include "simhost/pod_dependencies.h"
#include "simhost/pod_run.h"
#include "simhost/session/container_session.h"
#include "sublet/base/clock.h"
#include "sublet/base/random.h"
#include "sublet/kube/client.h"
#include "sublet/kube/informer.h"
#include "sublet/kube/pipeline.h"
#include "sublet/kube/pod_proxy.h"
#include "sublet/kube/resource_metrics.h"
#include "sublet/net/http.h"
#include "sublet/net/loop.h"
#include "sublet/simhost/simhost.h"

namespace sublet::simhost {

/// What the kubelet reads beside pods.
struct PodEnvironment {
  const kube::Informer* config_maps = nullptr;
  const kube::Informer* secrets = nullptr;
  const kube::Informer* volume_claims = nullptr;
};

class Kubelet : public std::enable_shared_from_this<Kubelet> {
 public:
  Kubelet(net::Loop& loop, const kube::Client& client, kube::Pipeline& pipeline, EventRecorder& events,
          PodEnvironment environment, const SimHostOptions& options, Clock& clock, Random& random);

  void node_changed(const schema::Value& node);
  void node_removed(const std::string& name);
  void pod_changed(const kube::CachedPtr& pod, const schema::Value& object);
  void pod_removed(const std::string& uid);
  /// A ConfigMap, Secret or volume claim was created or changed.
  void dependency_changed(Dependency::Kind kind, const kube::CachedObject& object);
  void answer_log(const std::string& namespace_name, const std::string& name, const std::string& query,
                  const std::shared_ptr<net::ResponseSink>& sink);
  /// exec, attach, port-forward: answers with an upgrade or an error.
  void connect(const kube::PodConnectRequest& request, const std::shared_ptr<net::ResponseSink>& sink);
  /// Answers as the pod's own server.
  void proxy(const kube::PodProxyRequest& request, const std::shared_ptr<net::ResponseSink>& sink);
  /// Answers with the usage of pods and nodes.
  void answer_metrics(const kube::MetricsQuestion& question, const std::shared_ptr<net::ResponseSink>& sink) const;

 private:
  void add_pods(kube::MetricsAnswer& answer, const std::string& now) const;
  void add_nodes(kube::MetricsAnswer& answer, const std::string& now) const;

  Result<session::Protocol> check_session(const kube::PodConnectRequest& request, PodRun*& run,
                                          ContainerRun*& container);
  std::shared_ptr<session::Session> begin_session(const kube::PodConnectRequest& request,
                                                  const session::Protocol& protocol, PodRun& run,
                                                  ContainerRun& container, std::shared_ptr<session::Out> out);
  session::MainProcessCalls main_process_calls(const PodRun& run, const ContainerRun& container, bool stdin_once);
  void end_sessions(const std::string& uid, std::string_view container, int exit_code);

  void adopt(PodRun& run, const schema::Value& object);
  void update(PodRun& run, const schema::Value& object);
  void restart_changed_images(PodRun& run, const schema::Value& object);

  void advance(PodRun& run, const schema::Value& object);
  bool volumes_present(PodRun& run, const schema::Value& object);
  bool environment_present(PodRun& run, ContainerRun& container, const schema::Value& object);
  bool present(const PodRun& run, const Dependency& dependency) const;
  kube::CachedPtr look_up(const PodRun& run, Dependency::Kind kind, std::string_view name) const;
  std::string mount_failure(const PodRun& run, const Dependency& dependency) const;
  void miss(PodRun& run, const Dependency& dependency);
  /// Returns true when the next container may start.
  bool advance_init(PodRun& run, ContainerRun& container, const schema::Value& object);
  void start(PodRun& run, ContainerRun& container, const schema::Value& object);
  void fail_pull(PodRun& run, ContainerRun& container, const std::string& why);
  /// Sets container.program: what its main process does from the moment it started.
  void run_main_program(PodRun& run, ContainerRun& container, const schema::Value& object);
  /// Writes an event if a program that the simulation does not know was given a short life.
  void report_unknown_program(const PodRun& run, const ContainerRun& container);
  /// What the container's processes see; made when it is first needed.
  shell::World& world_of(PodRun& run, ContainerRun& container, const schema::Value& object);
  /// The same for a new process, with the volumes as they are now.
  shell::World present_world(PodRun& run, ContainerRun& container, const schema::Value& object);
  template <class Use>
  void with_world_source(PodRun& run, const ContainerRun& container, const schema::Value& object, Use use);
  void plan_end(PodRun& run, ContainerRun& container);
  void ended(PodRun& run, ContainerRun& container, int exit_code);
  void plan_restart(PodRun& run, ContainerRun& container);
  void begin_probes(PodRun& run, ContainerRun& container, const schema::Value& object);
  void plan_probe(PodRun& run, const ContainerRun& container, Probe& probe, std::chrono::milliseconds delay);
  void probe(PodRun& run, ContainerRun& container, Probe& probe);
  void judge(PodRun& run, ContainerRun& container, Probe& probe, bool success);
  /// A probe or hook in the container: what it printed, and its exit code.
  struct ExecResult {
    std::chrono::milliseconds time{0};
    int exit_code = 0;
    std::string output{};
  };
  ExecResult exec(ContainerRun& container, const schema::Value& command);
  /// Returns false when the hook failed; the container is killed then.
  bool post_start(PodRun& run, ContainerRun& container, const schema::Value& object);
  /// Returns how long a container takes to stop, and sets its exit code.
  std::chrono::milliseconds stop_time(ContainerRun& container, const schema::Value& object,
                                      std::chrono::milliseconds grace);

  void plan_deadline(PodRun& run, const schema::Value& object);
  void fail_pod(PodRun& run, const std::string& reason, const std::string& message);
  void stop(PodRun& run, const schema::Value& object);
  void leave(PodRun& run);
  void remove(const std::string& uid);
  void write_status(PodRun& run, const schema::Value& object);
  void send_status(PodRun& run, std::string patch);
  void status_written(const std::string& uid, const Result<std::string>& answer);

  /// Runs `step` on the run later, unless the pod is gone by then.
  net::Loop::TimerId later(const PodRun& run, std::chrono::milliseconds delay, std::function<void(PodRun&)> step);
  void cancel_timers(PodRun& run);
  void cancel_timers(ContainerRun& container);
  void follow_next_line(PodRun& run);
  void event(const PodRun& run, const ContainerRun* container, EventRecorder::Type type, const std::string& reason,
             const std::string& message);
  std::string take_address();
  std::string make_container_id();

  net::Loop& loop_;
  const kube::Client& client_;
  kube::Pipeline& pipeline_;
  EventRecorder& events_;
  const PodEnvironment environment_;
  const SimHostOptions options_;
  Clock& clock_;
  Random& random_;
  struct SimulatedNode {
    std::string address;
    schema::Document labels = schema::Document::object(), allocatable = schema::Document::object();
  };
  std::unordered_map<std::string, SimulatedNode> nodes_;                          // by name
  std::unordered_map<std::string, std::unique_ptr<PodRun>> runs_;                 // by uid
  std::unordered_map<std::string, std::unordered_set<std::string>> waiting_for_;  // "configmap/ns/name" -> uids
  std::unordered_map<std::string, Trees> host_paths_;                             // by node
  std::unordered_set<std::string> addresses_;
  std::uint32_t last_address_ = 0;
  LogFollowers followers_;
  struct OpenSession {
    std::string uid, container;
    std::weak_ptr<session::ContainerSession> session;
  };
  std::vector<OpenSession> sessions_;
};

}  // namespace sublet::simhost
