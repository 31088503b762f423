// The simulated host as a whole, on our own API server over a store in memory.
#include "sublet/simhost/simhost.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <functional>
#include <map>
#include <set>
#include <thread>
#include <vector>

#include "sublet/base/mutex.h"
#include "sublet/kube/informer.h"
#include "sublet/kube/pipeline.h"
#include "sublet/store/memory_log.h"
#include "tests/support/parse_json.h"

namespace sublet::simhost {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;
using testing_support::parse_json;

const kube::Resource kPods{"", "v1", "pods"};
const kube::Resource kEvents{"", "v1", "events"};
const kube::Resource kConfigMaps{"", "v1", "configmaps"};
const kube::Resource kClaims{"", "v1", "persistentvolumeclaims"};
constexpr const char* kNamespace = "default";
constexpr seconds kPatience{60};

class SimHostTest : public testing::Test {
 protected:
  SimHostTest() : server_loop_("server"), sim_loop_("sim") {
    store_ = store::Store::open(store::make_memory_log()).value();
    apiserver::ServerOptions options;
    options.border = SimHost::admission();
    options.pod_logs = [this](const apiserver::PodLogRequest& request, std::shared_ptr<net::ResponseSink> sink) {
      logs_(request, std::move(sink));
    };
    server_ = std::make_unique<apiserver::Server>(*store_, server_loop_.loop(), options);
    EXPECT_TRUE(server_->start());
    net::PeerIdentity identity;
    identity.kind = net::PeerIdentity::Kind::in_process;
    identity.common_name = "simhost";
    transport_ = net::make_in_process_transport(server_->handler(), identity);
    client_ = std::make_unique<kube::Client>(transport_);
    const auto account = parse_json(R"({"kind":"ServiceAccount","apiVersion":"v1","metadata":{"name":"default"}})");
    client_->create({"", "v1", "serviceaccounts"}, kNamespace, account.root());
    // The container of the cluster's own certificate, which pods with tokens mount.
    const auto ca = parse_json(R"({"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"kube-root-ca.crt"}})");
    client_->create(kConfigMaps, kNamespace, ca.root());
    pods_ = std::make_unique<kube::Informer>(sim_loop_.loop(), *client_, kube::InformerOptions{.resource = kPods});
    pods_->add_handler([this](const kube::CachedPtr&, const kube::CachedPtr& after) {
      const MutexLock lock(mutex_);
      if (after) history_[after->name].push_back(after);
      if (after && after->json.find(R"("phase":"Running")") != std::string::npos) running_.insert(after->name);
      changed_.notify_all();
    });
    pods_->start();
    EXPECT_TRUE(pods_->wait_synced(kPatience));
  }
  ~SimHostTest() override {
    pods_.reset();
    host_.reset();
    transport_.reset();
    client_.reset();
    server_->stop();
    store_->close();
  }

  void start(SimHostOptions options = {}) {
    options.stop_time = milliseconds(1);
    options.image_backoff = milliseconds(20);
    host_ = std::make_unique<SimHost>(sim_loop_.loop(), *client_, options);
    logs_ = host_->pod_logs();
    const auto started = host_->start();
    ASSERT_TRUE(started) << started.error().message;
  }

  Result<schema::Document> create(const std::string& name, const std::string& spec, const std::string& meta = "{}") {
    schema::Document pod =
        parse_json(R"({"kind":"Pod","apiVersion":"v1","metadata":)" + meta + R"(,"spec":)" + spec + "}");
    pod.root()["metadata"].put("name", name);
    return client_->create(kPods, kNamespace, pod.root());
  }
  static std::string one(const std::string& container, const std::string& more = "") {
    return R"({"automountServiceAccountToken":false,"containers":[{"name":"c","image":"busybox")" + container + "}]" +
           more + "}";
  }

  /// As an operator of KAI does.
  void create_queue(const std::string& name) {
    const auto queue = parse_json(R"({"apiVersion":"scheduling.run.ai/v2","kind":"Queue","metadata":{"name":")" + name +
                                  R"("},"spec":{}})");
    const auto made = client_->create({"scheduling.run.ai", "v2", "queues"}, "", queue.root());
    EXPECT_TRUE(made) << made.error().message;
  }
  /// The message of a pod that could not be scheduled.
  std::string scheduling_message(const std::string& name) {
    const schema::Document pod =
        wait_for(name, [](const schema::Value& p) { return p["status"]["conditions"].size() > 0; });
    EXPECT_EQ(condition(pod, "PodScheduled")["reason"].text(), "Unschedulable");
    return condition(pod, "PodScheduled")["message"].string();
  }
  bool has_event(const std::string& name, const std::string& event) {
    const auto all = events_of(name, event.substr(0, event.find(':')));
    return std::ranges::find(all, event) != all.end();
  }
  Result<schema::Document> create_claim(const std::string& name, const std::string& storage_class) {
    return client_->create(
        kClaims, kNamespace,
        parse_json(R"({"kind":"PersistentVolumeClaim","apiVersion":"v1","metadata":{"name":")" + name +
                   R"("},"spec":{"storageClassName":")" + storage_class +
                   R"(","accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}}}})")
            .root());
  }
  /// As the volume binder does, which is not part of this server.
  void set_claim_phase(const std::string& name, const std::string& phase) {
    ASSERT_TRUE(client_->patch(kClaims, kNamespace, name, kube::PatchType::merge,
                               R"({"status":{"phase":")" + phase + R"("}})", "status"));
  }
  static std::string on_claim(const std::string& claim, const std::string& more = "") {
    return one("", R"(,"volumes":[{"name":"v","persistentVolumeClaim":{"claimName":")" + claim + R"("}}])" + more);
  }

  /// Waits until the pod is there and satisfies the condition; gives it as it is then.
  schema::Document wait_for(const std::string& name, const std::function<bool(const schema::Value&)>& condition) {
    schema::Document pod;
    MutexLock lock(mutex_);
    const bool met = changed_.wait_for(lock, kPatience, [&]() SUBLET_REQUIRES(mutex_) {
      const auto cached = pods_->get(kNamespace, name);
      pod = cached ? cached->document() : schema::Document();
      return cached && condition(pod.root());
    });
    EXPECT_TRUE(met) << name << " is " << pod.to_json();
    return pod;
  }
  /// As wait_for, for states that pass: takes what the pod was before, too.
  schema::Document wait_until_seen(const std::string& name,
                                   const std::function<bool(const schema::Value&)>& condition) {
    schema::Document pod;
    std::size_t looked_at = 0;
    MutexLock lock(mutex_);
    const bool met = changed_.wait_for(lock, kPatience, [&]() SUBLET_REQUIRES(mutex_) {
      for (const auto& history = history_[name]; looked_at < history.size(); ++looked_at) {
        pod = history[looked_at]->document();
        if (condition(pod.root())) return true;
      }
      return false;
    });
    EXPECT_TRUE(met) << name << " is " << pod.to_json();
    return pod;
  }
  void wait_gone(const std::string& name) {
    MutexLock lock(mutex_);
    EXPECT_TRUE(changed_.wait_for(lock, kPatience, [&]() SUBLET_REQUIRES(mutex_) {
      return !pods_->get(kNamespace, name);
    })) << name;
  }
  schema::Document wait_phase(const std::string& name, std::string_view phase) {
    return wait_for(name, [&](const schema::Value& pod) { return pod["status"]["phase"].text() == phase; });
  }
  static schema::Value condition(const schema::Document& pod, std::string_view type) {
    for (const schema::Value item : pod["status"]["conditions"])
      if (item["type"].text() == type) return item;
    return {};
  }
  static std::string_view waiting_reason(const schema::Value& pod) {
    return pod["status"]["containerStatuses"].at(0)["state"]["waiting"]["reason"].text();
  }
  /// "Reason: message" of the pod's events, once `wanted` is among the reasons.
  std::vector<std::string> events_of(const std::string& name, std::string_view wanted) {
    for (const auto deadline = steady_clock::now() + kPatience; steady_clock::now() < deadline;
         std::this_thread::yield()) {
      const auto list = client_->list(kEvents, kNamespace, {.field_selector = "involvedObject.name=" + name});
      std::vector<std::string> out;
      bool found = false;
      if (!list) continue;
      for (const schema::Value event : (*list)["items"]) {
        out.push_back(event["reason"].string() + ": " + event["message"].string());
        found = found || event["reason"].text() == wanted;
      }
      if (found) return out;
    }
    ADD_FAILURE() << "no event " << wanted << " for " << name;
    return {};
  }
  std::string log_of(const std::string& name, const std::string& query = "") {
    const auto answer = client_->raw("GET", "/api/v1/namespaces/default/pods/" + name + "/log" + query);
    return answer ? answer->body : answer.error().message;
  }

  net::LoopThread server_loop_, sim_loop_;
  std::unique_ptr<store::Store> store_;
  std::unique_ptr<apiserver::Server> server_;
  std::shared_ptr<net::Transport> transport_;
  std::unique_ptr<kube::Client> client_;
  apiserver::PodLogs logs_;
  Mutex mutex_;
  CondVar changed_;
  std::map<std::string, std::vector<kube::CachedPtr>> history_ SUBLET_GUARDED_BY(mutex_);  // of each pod, by name
  std::set<std::string> running_ SUBLET_GUARDED_BY(mutex_);                                // now or before
  std::unique_ptr<kube::Informer> pods_;
  std::unique_ptr<SimHost> host_;
};

TEST_F(SimHostTest, RunsAPodWithARealLookingStatus) {
  start();
  ASSERT_TRUE(create("web", one("")));
  const schema::Document pod =
      wait_for("web", [](const schema::Value& p) { return p["status"]["phase"].text() == "Running"; });
  EXPECT_EQ(pod["spec"]["nodeName"].text(), "cpu-1") << "GPU nodes are kept for GPU pods";
  for (const char* type : {"PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled"})
    EXPECT_EQ(condition(pod, type)["status"].text(), "True") << type;
  EXPECT_TRUE(pod["status"]["podIP"].text().starts_with("10.244."));
  const schema::Value status = pod["status"]["containerStatuses"].at(0);
  EXPECT_TRUE(status["containerID"].text().starts_with("containerd://"));
  EXPECT_EQ(status["image"].text(), "docker.io/library/busybox:latest");
  EXPECT_TRUE(status["ready"].boolean());
  for (const char* reason : {"Scheduled", "Pulled", "Created"}) events_of("web", reason);
  std::vector<std::string> reasons;
  for (const std::string& event : events_of("web", "Started")) reasons.push_back(event.substr(0, event.find(':')));
  EXPECT_EQ(reasons, (std::vector<std::string>{"Scheduled", "Pulled", "Created", "Started"}))
      << "by name: in their order";
  EXPECT_NE(log_of("web").find("simhost: container c"), std::string::npos) << log_of("web");
}

std::string shell(const std::string& script, const std::string& more = "") {
  return R"(,"command":["sh","-c",")" + script + R"("])" + more;
}

TEST_F(SimHostTest, IsReadyWhenItsProbeSaysSo) {
  start();
  ASSERT_TRUE(
      create("probed", one(shell("sleep 1; touch /tmp/ok; sleep 1h",
                                 R"(,"readinessProbe":{"exec":{"command":["cat","/tmp/ok"]},"periodSeconds":1})"))));
  const schema::Document before =
      wait_until_seen("probed", [](const schema::Value& p) { return p["status"]["phase"].text() == "Running"; });
  EXPECT_EQ(condition(before, "Ready")["status"].text(), "False");
  EXPECT_TRUE(before["status"]["containerStatuses"].at(0)["started"].boolean());
  wait_for("probed", [](const schema::Value& p) { return p["status"]["containerStatuses"].at(0)["ready"].boolean(); });
  bool told = false;
  for (const std::string& event : events_of("probed", "Unhealthy"))
    told = told || event.starts_with("Unhealthy: Readiness probe failed: cat: can't open '/tmp/ok'");
  EXPECT_TRUE(told);
}

TEST_F(SimHostTest, KillsWhatIsNotAlive) {
  start();
  ASSERT_TRUE(create(
      "sick", one(shell("sleep 1h", R"(,"livenessProbe":{"exec":{"command":["false"]},"failureThreshold":1})"))));
  const schema::Document pod = wait_for("sick", [](const schema::Value& p) {
    return p["status"]["containerStatuses"].at(0)["lastState"]["terminated"]["exitCode"].integer() == 137;
  });
  EXPECT_GE(pod["status"]["containerStatuses"].at(0)["restartCount"].integer(), 1);
  bool told = false;
  for (const std::string& event : events_of("sick", "Killing"))
    told = told || event == "Killing: Container c failed liveness probe, will be restarted";
  EXPECT_TRUE(told);
}

TEST_F(SimHostTest, AStartupProbeHoldsTheOthersBack) {
  start();
  ASSERT_TRUE(create(
      "slow",
      one(shell("sleep 1; touch /tmp/up; sleep 1h",
                R"(,"startupProbe":{"exec":{"command":["cat","/tmp/up"]},"periodSeconds":1},)"
                R"("livenessProbe":{"exec":{"command":["cat","/tmp/up"]},"failureThreshold":1,"periodSeconds":1})"))));
  const schema::Document before =
      wait_until_seen("slow", [](const schema::Value& p) { return p["status"]["phase"].text() == "Running"; });
  EXPECT_FALSE(before["status"]["containerStatuses"].at(0)["started"].boolean());
  const schema::Document after = wait_for(
      "slow", [](const schema::Value& p) { return p["status"]["containerStatuses"].at(0)["started"].boolean(); });
  EXPECT_EQ(after["status"]["containerStatuses"].at(0)["restartCount"].integer(), 0);
}

TEST_F(SimHostTest, WhatAContainerWroteIntoItsVolumeOutlivesIt) {
  start();
  const std::string script = "if [ -r /data/f ]; then exit 0; else touch /data/f; exit 1; fi";
  ASSERT_TRUE(create("once", one(shell(script, R"(,"volumeMounts":[{"name":"d","mountPath":"/data"}])"),
                                 R"(,"restartPolicy":"OnFailure","volumes":[{"name":"d","emptyDir":{}}])")));
  const schema::Document pod = wait_phase("once", "Succeeded");
  EXPECT_EQ(pod["status"]["containerStatuses"].at(0)["restartCount"].integer(), 1);
}

TEST_F(SimHostTest, AHandlerOfTheSignalDecidesHowItEnds) {
  start();
  ASSERT_TRUE(create("polite", one(shell("trap 'exit 7' TERM; while true; do sleep 1; done"))));
  wait_phase("polite", "Running");
  ASSERT_TRUE(client_->remove(kPods, kNamespace, "polite"));
  wait_until_seen("polite", [](const schema::Value& p) {
    return p["status"]["containerStatuses"].at(0)["state"]["terminated"]["exitCode"].integer() == 7;
  });
  wait_gone("polite");
}

TEST_F(SimHostTest, ADeadlineMayComeLater) {
  start();
  ASSERT_TRUE(create("late", one("")));
  const schema::Document pod = wait_phase("late", "Running");
  ASSERT_TRUE(
      client_->patch(kPods, kNamespace, "late", kube::PatchType::merge, R"({"spec":{"activeDeadlineSeconds":1}})"));
  EXPECT_EQ(wait_phase("late", "Failed")["status"]["reason"].text(), "DeadlineExceeded");
}

TEST_F(SimHostTest, HalvesOfOneGpuShareAGroupAndTheThirdWaits) {
  start();
  create_queue("q");
  const std::string meta = R"({"labels":{"kai.scheduler/queue":"q"},"annotations":{"gpu-fraction":"0.5"}})";
  const std::string spec =
      one("", R"(,"schedulerName":"kai-scheduler","nodeSelector":{"nvidia.com/gpu.present":"true"})");
  ASSERT_TRUE(create("a", spec, meta));
  ASSERT_TRUE(create("b", spec, meta));
  const auto group = [&](const std::string& name) {
    return wait_phase(name, "Running")["metadata"]["labels"]["runai-gpu-group"].string();
  };
  const std::string first = group("a");
  EXPECT_FALSE(first.empty());
  EXPECT_EQ(group("b"), first);
  ASSERT_TRUE(create("c", spec, meta));
  const schema::Document waiting =
      wait_for("c", [](const schema::Value& p) { return p["status"]["conditions"].size() > 0; });
  EXPECT_EQ(condition(waiting, "PodScheduled")["status"].text(), "False");
  EXPECT_EQ(condition(waiting, "PodScheduled")["reason"].text(), "Unschedulable");
  EXPECT_EQ(condition(waiting, "PodScheduled")["message"].text(),
            "0/2 nodes are available: 1 node(s) didn't have enough resources: GPUs, 1 node(s) didn't match Pod's node "
            "affinity/selector. preemption: 0/2 nodes are available: 1 No preemption victims found for incoming pod, 1 "
            "Preemption is not helpful for scheduling.");
  ASSERT_TRUE(client_->remove(kPods, kNamespace, "a"));
  EXPECT_EQ(group("c"), first) << "the freed half is taken at once";
}

TEST_F(SimHostTest, WholeGpusRunOutAndAreGivenBack) {
  start({.gpus_per_node = 2});
  const std::string spec = one(R"(,"resources":{"limits":{"nvidia.com/gpu":"1"}})");
  for (const char* name : {"a", "b"}) ASSERT_TRUE(create(name, spec));
  for (const char* name : {"a", "b"}) EXPECT_EQ(wait_phase(name, "Running")["spec"]["nodeName"].text(), "gpu-1");
  ASSERT_TRUE(create("c", spec));
  const schema::Document waiting =
      wait_for("c", [](const schema::Value& p) { return p["status"]["conditions"].size() > 0; });
  EXPECT_TRUE(condition(waiting, "PodScheduled")["message"].text().starts_with(
      "0/2 nodes are available: 2 Insufficient nvidia.com/gpu."));
  events_of("c", "FailedScheduling");
  ASSERT_TRUE(client_->remove(kPods, kNamespace, "b"));
  wait_phase("c", "Running");
}

TEST_F(SimHostTest, KaiWantsAQueueAndRefusesSharesOfWholeGpus) {
  start();
  const std::string kai = R"(,"schedulerName":"kai-scheduler")";
  ASSERT_TRUE(create("no-queue", one("", kai)));
  const schema::Document waiting =
      wait_for("no-queue", [](const schema::Value& p) { return p["status"]["conditions"].size() > 0; });
  EXPECT_NE(condition(waiting, "PodScheduled")["message"].text().find("kai.scheduler/queue"), std::string_view::npos);
  const auto refused = create("both", one(R"(,"resources":{"limits":{"nvidia.com/gpu":"1"}})", kai),
                              R"({"annotations":{"gpu-fraction":"0.5"}})");
  ASSERT_FALSE(refused);
  EXPECT_TRUE(refused.error().is(Reason::forbidden)) << refused.error().message;
  EXPECT_NE(refused.error().message.find("whole GPU"), std::string::npos) << refused.error().message;
  ASSERT_TRUE(create("other", one("", R"(,"schedulerName":"somebody-else")")));
  ASSERT_TRUE(create("web", one("")));
  wait_phase("web", "Running");
  EXPECT_EQ(wait_phase("other", "Pending")["status"]["conditions"].size(), 0u);
}

TEST_F(SimHostTest, KaiPodsOfAQueueThatDoesNotExistStayPending) {
  start();
  const std::string kai = one("", R"(,"schedulerName":"kai-scheduler")");
  ASSERT_TRUE(create("waits", kai, R"({"labels":{"kai.scheduler/queue":"team"}})"));
  EXPECT_EQ(scheduling_message("waits"), "Queue 'team' does not exist");
  events_of("waits", "Unschedulable");
  create_queue("team");
  wait_phase("waits", "Running");
}

TEST_F(SimHostTest, PodsWaitForTheirVolumeClaims) {
  start({.nodes = 1, .gpu_nodes = 0});
  const std::string preemption = " preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling.";
  ASSERT_TRUE(create("pod", on_claim("data")));
  const std::string missing = "0/1 nodes are available: persistentvolumeclaim \"data\" not found." + preemption;
  EXPECT_EQ(scheduling_message("pod"), missing);
  EXPECT_TRUE(has_event("pod", "FailedScheduling: " + missing));
  ASSERT_TRUE(create_claim("data", "standard"));
  wait_for("pod", [](const schema::Value& p) {
    return p["status"]["conditions"].at(0)["message"].text().find("pod has unbound immediate PersistentVolumeClaims") !=
           std::string_view::npos;
  });
  set_claim_phase("data", "Lost");
  wait_for("pod", [](const schema::Value& p) {
    return p["status"]["conditions"].at(0)["message"].text().find(
               "persistentvolumeclaim \"data\" bound to non-existent persistentvolume \"\"") != std::string_view::npos;
  });
  set_claim_phase("data", "Bound");
  wait_phase("pod", "Running");
}

TEST_F(SimHostTest, AVolumeThatWaitsForItsFirstConsumerIsMadeForTheChosenNode) {
  start({.nodes = 1, .gpu_nodes = 0});
  ASSERT_TRUE(
      client_->create({"storage.k8s.io", "v1", "storageclasses"}, "",
                      parse_json(R"({"kind":"StorageClass","apiVersion":"storage.k8s.io/v1","metadata":{"name":"late"},
                                  "provisioner":"simulated-volume.sublet.dev","volumeBindingMode":"WaitForFirstConsumer"})")
                          .root()));
  ASSERT_TRUE(create_claim("data", "late"));
  ASSERT_TRUE(create("pod", on_claim("data")));
  const auto selected = [&] {
    const auto claim = client_->get(kClaims, kNamespace, "data");
    return claim ? (*claim)["metadata"]["annotations"]["volume.kubernetes.io/selected-node"].string() : std::string();
  };
  const auto until = steady_clock::now() + kPatience;
  while (selected().empty() && steady_clock::now() < until) std::this_thread::yield();
  EXPECT_EQ(selected(), "cpu-1");
  EXPECT_EQ(wait_phase("pod", "Pending")["spec"]["nodeName"].text(), "");
  set_claim_phase("data", "Bound");
  wait_phase("pod", "Running");
}

TEST_F(SimHostTest, AnEphemeralVolumeNeedsAClaimOfItsOwn) {
  start({.nodes = 1, .gpu_nodes = 0});
  ASSERT_TRUE(create_claim("pod-v", "standard"));
  set_claim_phase("pod-v", "Bound");
  ASSERT_TRUE(create("pod", one("", R"(,"volumes":[{"name":"v","ephemeral":{"volumeClaimTemplate":{"spec":{
      "accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}}}}}}])")));
  EXPECT_NE(scheduling_message("pod").find("PVC default/pod-v was not created for pod default/pod (pod is not owner)"),
            std::string::npos);
}

TEST_F(SimHostTest, PodsWaitForTheirDevices) {
  start({.nodes = 1, .gpu_nodes = 0});
  const kube::Resource claims{"resource.k8s.io", "v1", "resourceclaims"};
  ASSERT_TRUE(create("pod", one("", R"(,"resourceClaims":[{"name":"gpu","resourceClaimName":"gpu"}])")));
  EXPECT_NE(scheduling_message("pod").find("resourceclaim \"gpu\" not found"), std::string::npos);
  const auto made =
      client_->create(claims, kNamespace,
                      parse_json(R"({"kind":"ResourceClaim","apiVersion":"resource.k8s.io/v1","metadata":{"name":"gpu"},
          "spec":{"devices":{"requests":[{"name":"r","exactly":{"deviceClassName":"gpu"}}]}}})")
                          .root());
  ASSERT_TRUE(made) << made.error().message;
  wait_for("pod", [](const schema::Value& p) {
    return p["status"]["conditions"].at(0)["message"].text() ==
           "0/1 nodes are available: 1 cannot allocate all claims. still not schedulable, preemption: 0/1 nodes are "
           "available: 1 Preemption is not helpful for scheduling.";
  });
  const auto allocated = client_->patch(
      claims, kNamespace, "gpu", kube::PatchType::merge,
      R"({"status":{"allocation":{"devices":{"results":[{"request":"r","driver":"d.example.com","pool":"p","device":"x"}]}}}})",
      "status");
  ASSERT_TRUE(allocated) << allocated.error().message;
  wait_phase("pod", "Running");
}

TEST_F(SimHostTest, APodWithANodeWaitsForItsClaimOnTheNode) {
  start({.nodes = 1, .gpu_nodes = 0});
  ASSERT_TRUE(create("pod", on_claim("data", R"(,"nodeName":"cpu-1")")));
  events_of("pod", "FailedMount");
  EXPECT_TRUE(
      has_event("pod",
                "FailedMount: Unable to attach or mount volumes: unmounted volumes=[v], unattached volumes=[], "
                "failed to process volumes=[v]: error processing PVC default/data: failed to fetch PVC from API "
                "server: persistentvolumeclaims \"data\" not found"));
  ASSERT_TRUE(create_claim("data", "standard"));
  set_claim_phase("data", "Bound");
  wait_phase("pod", "Running");
}

TEST_F(SimHostTest, ArgumentsThatTheShellKnowsAreRun) {
  start();
  const std::string never = R"(,"restartPolicy":"Never")";
  ASSERT_TRUE(create("run", one(R"(,"args":["echo","hi"])", never)));
  wait_phase("run", "Succeeded");
  EXPECT_NE(log_of("run").find("\nhi\n"), std::string::npos) << log_of("run");
  ASSERT_TRUE(create("server", one(R"(,"args":["--port","80"])", never)));
  ASSERT_TRUE(create("shell", one(R"(,"stdin":true,"args":["sh"])", never)));
  ASSERT_TRUE(create("no-input", one(R"(,"args":["sh"])", never)));
  wait_phase("no-input", "Succeeded");
  wait_phase("server", "Running");
  wait_phase("shell", "Running");
}

TEST_F(SimHostTest, UnknownProgramsOfJobsAndInitContainersHaveAShortLife) {
  start({.program_life = milliseconds(20)});
  const std::string job = R"({"labels":{"batch.kubernetes.io/job-name":"hook"}})";
  const std::string never = R"(,"restartPolicy":"Never")";
  ASSERT_TRUE(create("hook", one(R"(,"args":["check","api"])", never), job));
  ASSERT_TRUE(create("script", one(R"(,"command":["sh","-c","helm upgrade && echo done"])", never), job));
  ASSERT_TRUE(create("init", R"({"automountServiceAccountToken":false,"initContainers":[{"name":"i","image":"migrate"}],
      "containers":[{"name":"c","image":"web"}]})"));
  wait_phase("hook", "Succeeded");
  EXPECT_TRUE(
      has_event("hook",
                "SimulatedProgram: The simulated host does not know the program of the image (busybox): it runs "
                "1 s and exits with 0"));
  wait_phase("script", "Succeeded");
  EXPECT_NE(log_of("script").find("\ndone\n"), std::string::npos) << log_of("script");
  EXPECT_TRUE(
      has_event("script",
                "SimulatedProgram: The simulated host does not know the program \"helm\" (busybox): it runs 1 s "
                "and exits with 0"));
  wait_phase("init", "Running");
}

TEST_F(SimHostTest, CommandsEndPods) {
  start();
  ASSERT_TRUE(create("good", one(R"(,"command":["sh","-c","echo done"])", R"(,"restartPolicy":"Never")")));
  ASSERT_TRUE(create("bad", one(R"(,"command":["sh","-c","sleep 0.02; exit 3"])", R"(,"restartPolicy":"OnFailure")")));
  ASSERT_TRUE(create("ugly", one(R"(,"command":["false"])", R"(,"restartPolicy":"Never")")));
  const schema::Document good = wait_phase("good", "Succeeded");
  EXPECT_EQ(condition(good, "Ready")["reason"].text(), "PodCompleted");
  EXPECT_EQ(good["status"]["containerStatuses"].at(0)["state"]["terminated"]["reason"].text(), "Completed");
  EXPECT_NE(log_of("good").find("\ndone\n"), std::string::npos) << log_of("good");
  const schema::Document bad =
      wait_until_seen("bad", [](const schema::Value& p) { return waiting_reason(p) == "CrashLoopBackOff"; });
  EXPECT_EQ(bad["status"]["phase"].text(), "Running");
  EXPECT_EQ(bad["status"]["containerStatuses"].at(0)["restartCount"].integer(), 1);
  EXPECT_EQ(bad["status"]["containerStatuses"].at(0)["lastState"]["terminated"]["exitCode"].integer(), 3);
  events_of("bad", "BackOff");
  EXPECT_NE(log_of("bad", "?previous=true").find("started"), std::string::npos);
  EXPECT_EQ(
      wait_phase("ugly", "Failed")["status"]["containerStatuses"].at(0)["state"]["terminated"]["exitCode"].integer(),
      1);
}

TEST_F(SimHostTest, InitContainersRunOneAfterTheOtherAndSidecarsStay) {
  start();
  ASSERT_TRUE(create("p", R"({"automountServiceAccountToken":false,"initContainers":[
      {"name":"i1","image":"b","command":["sleep","0.02"]},{"name":"side","image":"b","restartPolicy":"Always"},
      {"name":"i2","image":"b","command":["true"]}],"containers":[{"name":"c","image":"b"}]})"));
  wait_until_seen("p", [](const schema::Value& p) {
    return p["status"]["initContainerStatuses"].at(0)["state"].has("running") &&
           p["status"]["containerStatuses"].at(0)["state"]["waiting"]["reason"].text() == "PodInitializing";
  });
  const schema::Document pod = wait_phase("p", "Running");
  EXPECT_TRUE(pod["status"]["initContainerStatuses"].at(0)["state"].has("terminated"));
  EXPECT_TRUE(pod["status"]["initContainerStatuses"].at(1)["state"].has("running"));
  ASSERT_TRUE(create("q", R"({"automountServiceAccountToken":false,"restartPolicy":"Never","initContainers":[
      {"name":"i","image":"b","command":["false"]}],"containers":[{"name":"c","image":"b"}]})"));
  EXPECT_EQ(condition(wait_phase("q", "Failed"), "Initialized")["status"].text(), "False");
}

TEST_F(SimHostTest, WaitsForWhatIsMissing) {
  start();
  ASSERT_TRUE(create("volume", one("", R"(,"volumes":[{"name":"v","configMap":{"name":"settings"}}])")));
  ASSERT_TRUE(
      create("env", one(R"(,"env":[{"name":"X","valueFrom":{"configMapKeyRef":{"name":"settings","key":"k"}}}])")));
  wait_for("env", [](const schema::Value& p) { return waiting_reason(p) == "CreateContainerConfigError"; });
  wait_for("volume", [](const schema::Value& p) { return waiting_reason(p) == "ContainerCreating"; });
  const auto events = events_of("volume", "FailedMount");
  EXPECT_NE(std::ranges::find(
                events, "FailedMount: MountVolume.SetUp failed for volume \"v\" : configmap \"settings\" not found"),
            events.end());
  const auto settings =
      parse_json(R"({"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"settings"},"data":{"k":"v"}})");
  ASSERT_TRUE(client_->create(kConfigMaps, kNamespace, settings.root()));
  wait_phase("volume", "Running");
  wait_phase("env", "Running");
}

TEST_F(SimHostTest, CannotPullSomeImages) {
  start();
  ASSERT_TRUE(create(
      "p", R"({"automountServiceAccountToken":false,"containers":[{"name":"c","image":"nginx:does-not-exist"}]})"));
  const schema::Document pod =
      wait_for("p", [](const schema::Value& p) { return waiting_reason(p) == "ImagePullBackOff"; });
  EXPECT_EQ(pod["status"]["phase"].text(), "Pending");
  events_of("p", "BackOff");
  EXPECT_NE(log_of("p").find("waiting to start: ImagePullBackOff"), std::string::npos) << log_of("p");
  ASSERT_TRUE(client_->patch(kPods, kNamespace, "p", kube::PatchType::strategic_merge,
                             R"({"spec":{"containers":[{"name":"c","image":"nginx:1"}]}})"));
  wait_phase("p", "Running");
}

TEST_F(SimHostTest, DeletedPodsGo) {
  start();
  ASSERT_TRUE(create("p", one("")));
  wait_phase("p", "Running");
  const auto deleted = client_->remove(kPods, kNamespace, "p");
  ASSERT_TRUE(deleted);
  EXPECT_TRUE((*deleted)["metadata"].has("deletionTimestamp")) << "graceful first";
  wait_gone("p");
  events_of("p", "Killing");
}

TEST_F(SimHostTest, DeletedPodsSayHowTheyEndedFirst) {
  start();
  ASSERT_TRUE(create("p", one("")));
  wait_phase("p", "Running");
  ASSERT_TRUE(client_->patch(kPods, kNamespace, "p", kube::PatchType::merge,
                             R"({"metadata":{"finalizers":["example.com/hold"]}})"));
  ASSERT_TRUE(client_->remove(kPods, kNamespace, "p"));
  const schema::Document pod = wait_phase("p", "Failed");
  EXPECT_EQ(pod["status"]["containerStatuses"].at(0)["state"]["terminated"]["exitCode"].integer(), 137);
  ASSERT_TRUE(client_->patch(kPods, kNamespace, "p", kube::PatchType::merge, R"({"metadata":{"finalizers":null}})"));
  wait_gone("p");
}

TEST_F(SimHostTest, TakesOverAfterARestart) {
  start();
  ASSERT_TRUE(create("keeps", one("")));
  ASSERT_TRUE(create("ends", one(R"(,"command":["sleep","0.3"])", R"(,"restartPolicy":"Never")")));
  const std::string id = wait_phase("keeps", "Running")["status"]["containerStatuses"].at(0)["containerID"].string();
  wait_until_seen("ends", [](const schema::Value& p) { return p["status"]["phase"].text() == "Running"; });
  host_.reset();
  ASSERT_TRUE(create("meanwhile", one("")));
  start();
  wait_phase("meanwhile", "Running");
  wait_phase("ends", "Succeeded");
  EXPECT_EQ(wait_phase("keeps", "Running")["status"]["containerStatuses"].at(0)["containerID"].text(), id);
  EXPECT_NE(wait_phase("meanwhile", "Running")["status"]["podIP"].text(),
            wait_phase("keeps", "Running")["status"]["podIP"].text());
}

TEST_F(SimHostTest, FollowsALog) {
  start();
  ASSERT_TRUE(create("p", one(R"(,"command":["sh","-c","echo one; sleep 0.05; echo two; sleep 0.05; exit 0"])",
                              R"(,"restartPolicy":"Never")")));
  wait_for("p", [](const schema::Value& p) { return p["status"]["phase"].text() != "Pending"; });
  const std::string log = log_of("p", "?follow=true");
  EXPECT_NE(log.find("one\ntwo\n"), std::string::npos) << log;
  EXPECT_EQ(log_of("p", "?tailLines=1"), "two\n");
  EXPECT_NE(log_of("p", "?container=x").find("container x is not valid for pod p"), std::string::npos);
  EXPECT_NE(log_of("nobody").find("not found"), std::string::npos);
}

TEST_F(SimHostTest, HigherPriorityGoesFirst) {
  start({.nodes = 1, .gpu_nodes = 0, .pods_per_node = 1});
  ASSERT_TRUE(create("holder", one("")));
  wait_phase("holder", "Running");
  for (const auto& [name, value] : {std::pair("low", "1"), std::pair("high", "1000")}) {
    const auto priority =
        parse_json(R"({"kind":"PriorityClass","apiVersion":"scheduling.k8s.io/v1","metadata":{"name":")" +
                   std::string(name) + R"("},"preemptionPolicy":"Never","value":)" + value + "}");
    ASSERT_TRUE(client_->create({"scheduling.k8s.io", "v1", "priorityclasses"}, "", priority.root()));
    ASSERT_TRUE(create(name, one("", R"(,"priorityClassName":")" + std::string(name) + "\"")));
    EXPECT_TRUE(condition(wait_for(name, [](const schema::Value& p) { return p["status"]["conditions"].size() > 0; }),
                          "PodScheduled")["message"]
                    .text()
                    .starts_with("0/1 nodes are available: 1 Too many pods."));
  }
  ASSERT_TRUE(client_->remove(kPods, kNamespace, "holder"));
  wait_phase("high", "Running");
  EXPECT_EQ(wait_phase("low", "Pending")["spec"]["nodeName"].text(), "");
}

TEST_F(SimHostTest, TheImportantTakeThePlaceOfOthers) {
  start({.nodes = 1, .gpu_nodes = 0});
  for (const auto& [name, value] : {std::pair("low", "10"), std::pair("high", "1000")})
    ASSERT_TRUE(client_->create(
        {"scheduling.k8s.io", "v1", "priorityclasses"}, "",
        parse_json(R"({"kind":"PriorityClass","apiVersion":"scheduling.k8s.io/v1","metadata":{"name":")" +
                   std::string(name) + R"("},"value":)" + value + "}")
            .root()));
  const schema::Document node = client_->get({"", "v1", "nodes"}, "", "cpu-1").value();
  const std::string all = node["status"]["allocatable"]["cpu"].string();
  const auto half = [&](const std::string& priority_class) {
    return one(R"(,"resources":{"requests":{"cpu":")" + std::to_string(std::stoi(all) / 2) + R"("}})",
               R"(,"priorityClassName":")" + priority_class + "\"");
  };
  ASSERT_TRUE(create("first", half("low"), R"({"finalizers":["example.com/kept"]})"));
  ASSERT_TRUE(create("second", half("low")));
  wait_phase("first", "Running");
  wait_phase("second", "Running");
  ASSERT_TRUE(create("third", half("low")));
  wait_for("third", [&](const schema::Value& p) { return p["status"]["conditions"].size() > 0; });
  ASSERT_TRUE(create("urgent", half("high")));
  const schema::Document urgent = wait_phase("urgent", "Running");
  EXPECT_EQ(urgent["spec"]["nodeName"].text(), "cpu-1");
  const auto third = pods_->get(kNamespace, "third")->document();
  EXPECT_EQ(third["status"]["phase"].text(), "Pending") << "the room was kept for the one that made it";
  int evicted = 0;
  const MutexLock lock(mutex_);
  for (const char* name : {"first", "second"})
    for (const kube::CachedPtr& seen : history_[name]) {
      const schema::Document pod = seen->document();
      if (condition(pod, "DisruptionTarget")["reason"].text() != "PreemptionByScheduler") continue;
      ++evicted;
      break;
    }
  EXPECT_EQ(evicted, 1) << "no more than needed";
}

// What the volume binder of the host's API server leaves to whoever provisions.
TEST_F(SimHostTest, AClaimThatAsksForAVolumeGetsOneAndItGoesWithTheClaim) {
  start({.nodes = 1, .gpu_nodes = 0});
  const kube::Resource claims{"", "v1", "persistentvolumeclaims"}, volumes{"", "v1", "persistentvolumes"};
  const auto standard = client_->get({"storage.k8s.io", "v1", "storageclasses"}, "", "standard");
  ASSERT_TRUE(standard) << standard.error().message;
  const auto claim = parse_json(
      R"({"kind":"PersistentVolumeClaim","apiVersion":"v1","metadata":{"name":"data","annotations":)"
      R"({"volume.kubernetes.io/storage-provisioner":"simulated-volume.sublet.dev"}},"spec":{"storageClassName":"standard",)"
      R"("accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"3Gi"}}}})");
  const auto made = client_->create(claims, kNamespace, claim.root());
  ASSERT_TRUE(made) << made.error().message;
  const std::string name = "pvc-" + (*made)["metadata"]["uid"].string();
  const auto until = steady_clock::now() + kPatience;
  auto volume = client_->get(volumes, "", name);
  while (!volume && steady_clock::now() < until) volume = client_->get(volumes, "", name);
  ASSERT_TRUE(volume) << "no volume was made";
  EXPECT_EQ((*volume)["spec"]["capacity"]["storage"].text(), "3Gi");
  EXPECT_EQ((*volume)["spec"]["claimRef"]["name"].text(), "data");
  ASSERT_TRUE(
      client_->patch(volumes, "", name, kube::PatchType::merge, R"({"status":{"phase":"Released"}})", "status"));
  // What protects it from going while it is used is a controller's to take away, and there is none here.
  const auto stays = [&] {
    const auto left = client_->get(volumes, "", name);
    return left && !(*left)["metadata"].has("deletionTimestamp");
  };
  while (stays() && steady_clock::now() < until) std::this_thread::yield();
  EXPECT_FALSE(stays()) << "a volume that was released is still there";
}

TEST_F(SimHostTest, ABurstRunsFast) {
  constexpr std::size_t kCount = 1000;
  start({.nodes = 20});
  kube::Pipeline pipeline(sim_loop_.loop(), *client_, 64);
  const auto begun = steady_clock::now();
  for (std::size_t i = 0; i < kCount; ++i) {
    schema::Document pod = parse_json(R"({"kind":"Pod","apiVersion":"v1","metadata":{},"spec":)" +
                                      one(R"(,"resources":{"requests":{"cpu":"100m"}})") + "}");
    pod.root()["metadata"].put("name", "burst-" + std::to_string(i));
    pipeline.send(client_->create_request(kPods, kNamespace, pod.root()), {});
  }
  MutexLock lock(mutex_);
  const bool all =
      changed_.wait_for(lock, seconds(240), [&]() SUBLET_REQUIRES(mutex_) { return running_.size() == kCount; });
  const double took = std::chrono::duration<double>(steady_clock::now() - begun).count();
  EXPECT_TRUE(all);
  std::printf("[          ] %zu pods Running after %.2f s: %.0f pods/s\n", kCount, took,
              static_cast<double>(kCount) / took);
}

}  // namespace
}  // namespace sublet::simhost
