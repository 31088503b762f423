// Deployments, ReplicaSets, ReplicationControllers and the garbage collector over a real API server; time and kubelets
// are the test's.

#include <gmock/gmock.h>

#include <algorithm>
#include <functional>
#include <random>
#include <set>

#include "controllers/pods/status.h"
#include "controllers/workloads_testing.h"

namespace sublet::controllers {
namespace {

using schema::Document;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing::StartsWith;

std::string deployment(int replicas, const std::string& more = "", const std::string& image = "good") {
  return R"({"metadata":{"name":"web"},"spec":{"replicas":)" + std::to_string(replicas) +
         R"(,"selector":{"matchLabels":{"app":"web"}},"template":{"metadata":{"labels":{"app":"web"}},"spec":{"containers":[{"name":"c","image":")" +
         image + R"("}]}})" + more + "}}";
}
std::string replica_set(const std::string& name, int replicas) {
  return R"({"metadata":{"name":")" + name + R"("},"spec":{"replicas":)" + std::to_string(replicas) +
         R"(,"selector":{"matchLabels":{"app":"set"}},"template":{"metadata":{"labels":{"app":"set"}},"spec":{"containers":[{"name":"c","image":"good"}]}}}})";
}
std::string bare_pod(const std::string& name, const std::string& label) {
  return R"({"metadata":{"name":")" + name + R"(","labels":{"app":")" + label +
         R"("}},"spec":{"containers":[{"name":"c","image":"good"}]}})";
}

class WorkloadsTest : public testing::Test, public WorkloadsRig {
 protected:
  std::string condition(const Document& object, std::string_view type) {
    const auto found = find_condition(object["status"]["conditions"], type);
    return found["status"].string() + " " + found["reason"].string();
  }
  /// Pods with this image that are not on their way out.
  std::size_t pods_with(const std::string& image) {
    const auto pods = list(kPods);
    return static_cast<std::size_t>(std::count_if(pods.begin(), pods.end(), [&](const Document& pod) {
      return pod["spec"]["containers"].at(0)["image"].text() == image && !pod["metadata"].has("deletionTimestamp");
    }));
  }
  std::string owner_of(const std::string& pod) {
    return get(kPods, pod)["metadata"]["ownerReferences"].at(0)["name"].string();
  }
};

// --- Deployments ---

TEST_F(WorkloadsTest, ADeploymentMakesASetThatMakesPods) {
  create(kDeployments, deployment(3));
  settle();
  ASSERT_THAT(list(kPods), SizeIs(3));
  const auto sets = list(kSets);
  ASSERT_THAT(sets, SizeIs(1));
  const auto set = sets[0]["metadata"]["name"].string(),
             hash = sets[0]["metadata"]["labels"]["pod-template-hash"].string();
  EXPECT_EQ(set, "web-" + hash);
  EXPECT_EQ(sets[0]["metadata"]["annotations"]["deployment.kubernetes.io/revision"].text(), "1");
  EXPECT_EQ(sets[0]["metadata"]["annotations"]["deployment.kubernetes.io/desired-replicas"].text(), "3");
  EXPECT_EQ(sets[0]["metadata"]["annotations"]["deployment.kubernetes.io/max-replicas"].text(), "4");
  for (const auto& pod : list(kPods)) {
    EXPECT_THAT(pod["metadata"]["name"].string(), StartsWith(set + "-"));
    EXPECT_EQ(pod["metadata"]["labels"]["pod-template-hash"].text(), hash);
    EXPECT_EQ(pod["metadata"]["ownerReferences"].at(0)["name"].text(), set);
    EXPECT_TRUE(pod["metadata"]["ownerReferences"].at(0)["controller"].boolean());
  }
  EXPECT_EQ(condition(get(kDeployments, "web"), "Available"), "False MinimumReplicasUnavailable");
  converge();
  const auto done = get(kDeployments, "web");
  EXPECT_EQ(done["status"]["readyReplicas"].integer(), 3);
  EXPECT_EQ(done["status"]["updatedReplicas"].integer(), 3);
  EXPECT_EQ(done["status"]["availableReplicas"].integer(), 3);
  EXPECT_EQ(done["status"]["terminatingReplicas"].integer(-1), 0);
  EXPECT_FALSE(done["status"].has("unavailableReplicas"));
  EXPECT_EQ(done["metadata"]["annotations"]["deployment.kubernetes.io/revision"].text(), "1");
  EXPECT_EQ(condition(done, "Available"), "True MinimumReplicasAvailable");
  EXPECT_EQ(condition(done, "Progressing"), "True NewReplicaSetAvailable");
  EXPECT_THAT(events("web"), ElementsAre("ScalingReplicaSet: Scaled up replica set " + set + " from 0 to 3"));
  EXPECT_THAT(events(set), Contains(StartsWith("SuccessfulCreate: Created pod: " + set + "-")).Times(3));
}

TEST_F(WorkloadsTest, ARolloutKeepsToItsSurgeAndItsMinimum) {
  create(kDeployments,
         deployment(4, R"(,"strategy":{"type":"RollingUpdate","rollingUpdate":{"maxSurge":1,"maxUnavailable":1}})"));
  converge();
  patch(kDeployments, "web", image_patch("better"));
  for (int round = 0; round < 100 && (pods_with("good") > 0 || pods_with("better") < 4); ++round) {
    settle();
    std::size_t ready = 0, active = 0;
    for (const auto& pod : list(kPods)) {
      if (pod["metadata"].has("deletionTimestamp")) continue;
      ++active;
      ready += find_condition(pod["status"]["conditions"], "Ready")["status"].text() == "True" ? 1u : 0u;
    }
    EXPECT_LE(active, 5u);
    EXPECT_GE(ready, 3u);
    for (const auto& pod : list(kPods)) {  // one pod at a time
      if (pod["metadata"].has("deletionTimestamp")) {
        end_pod(pod["metadata"]["name"].string());
        break;
      }
      if (pod["status"]["phase"].text() == "Pending") {
        run_pod(pod["metadata"]["name"].string());
        break;
      }
    }
  }
  converge();
  EXPECT_EQ(pods_with("better"), 4u);
  EXPECT_EQ(pods_with("good"), 0u);
  EXPECT_THAT(list(kSets), SizeIs(2)) << "the old one is kept for a rollback";
  EXPECT_EQ(get(kDeployments, "web")["metadata"]["annotations"]["deployment.kubernetes.io/revision"].text(), "2");
}

TEST_F(WorkloadsTest, ABadRolloutMissesItsDeadlineAndIsUndone) {
  create(kDeployments, deployment(4, R"(,"progressDeadlineSeconds":30)"));
  converge();
  patch(kDeployments, "web", image_patch("bad"));
  converge();
  EXPECT_EQ(pods_with("bad"), 2u);
  EXPECT_EQ(pods_with("good"), 3u) << "as many as must be available";
  EXPECT_EQ(condition(get(kDeployments, "web"), "Progressing"), "True ReplicaSetUpdated");
  pass(std::chrono::seconds(32));
  EXPECT_EQ(condition(get(kDeployments, "web"), "Progressing"), "False ProgressDeadlineExceeded");
  EXPECT_EQ(executor_.timers() > 0, true) << "only the look at old events";
  // What kubectl rollout undo does.
  patch(kDeployments, "web", image_patch("good"));
  converge();
  EXPECT_EQ(pods_with("good"), 4u);
  EXPECT_EQ(pods_with("bad"), 0u);
  const auto undone = get(kDeployments, "web");
  EXPECT_EQ(condition(undone, "Progressing"), "True NewReplicaSetAvailable");
  EXPECT_EQ(undone["metadata"]["annotations"]["deployment.kubernetes.io/revision"].text(), "3");
  bool remembered = false;
  for (const auto& set : list(kSets))
    remembered |= set["metadata"]["annotations"]["deployment.kubernetes.io/revision-history"].text() == "1";
  EXPECT_TRUE(remembered);
}

TEST_F(WorkloadsTest, ScalingAmidARolloutIsShared) {
  create(kDeployments,
         deployment(5, R"(,"strategy":{"type":"RollingUpdate","rollingUpdate":{"maxSurge":3,"maxUnavailable":2}})"));
  converge();
  patch(kDeployments, "web", image_patch("bad"));
  converge();
  EXPECT_EQ(pods_with("bad"), 5u);
  EXPECT_EQ(pods_with("good"), 3u);
  patch(kDeployments, "web", R"({"spec":{"replicas":10}})");
  converge();
  EXPECT_EQ(pods_with("bad") + pods_with("good"), 13u);
  EXPECT_EQ(pods_with("good"), 5u) << "3 of 8 stay their part of 13";
}

TEST_F(WorkloadsTest, APausedDeploymentIsScaledButNotRolled) {
  create(kDeployments, deployment(2));
  converge();
  patch(kDeployments, "web", R"({"spec":{"paused":true}})");
  patch(kDeployments, "web", image_patch("better"));
  patch(kDeployments, "web", R"({"spec":{"replicas":3}})");
  converge();
  EXPECT_EQ(pods_with("good"), 3u);
  EXPECT_EQ(condition(get(kDeployments, "web"), "Progressing"), "Unknown DeploymentPaused");
  patch(kDeployments, "web", R"({"spec":{"paused":false}})");
  converge();
  EXPECT_EQ(pods_with("better"), 3u);
  EXPECT_EQ(condition(get(kDeployments, "web"), "Progressing"), "True NewReplicaSetAvailable");
}

TEST_F(WorkloadsTest, RecreateWaitsForTheLastOldPod) {
  create(kDeployments, deployment(2, R"(,"strategy":{"type":"Recreate"})"));
  converge();
  // Pods on nodes say goodbye before they go.
  for (const auto& name : names(kPods)) {
    auto binding = parse(R"({"metadata":{"name":")" + name + R"("},"target":{"kind":"Node","name":"n"}})");
    ASSERT_TRUE(client_.create(kPods, "default", binding.root(), name, "binding"));
  }
  patch(kDeployments, "web", image_patch("better"));
  settle();
  EXPECT_EQ(pods_with("good"), 0u);
  EXPECT_EQ(pods_with("better"), 0u);
  ASSERT_THAT(names(kPods), SizeIs(2));
  end_pod(names(kPods)[0]);
  settle();
  EXPECT_EQ(pods_with("better"), 0u) << "one is still there";
  end_pod(names(kPods)[0]);
  settle();
  EXPECT_EQ(pods_with("better"), 2u);
}

TEST_F(WorkloadsTest, OnlyTheLastRevisionsAreKept) {
  create(kDeployments, deployment(1, R"(,"revisionHistoryLimit":1)"));
  converge();
  for (const auto* image : {"a", "b", "c"}) {
    patch(kDeployments, "web", image_patch(image));
    converge();
  }
  EXPECT_THAT(list(kSets), SizeIs(2));
  EXPECT_EQ(pods_with("c"), 1u);
}

TEST_F(WorkloadsTest, MinReadySecondsDelayWhatCountsAsAvailable) {
  create(kDeployments, deployment(1, R"(,"minReadySeconds":10)"));
  converge();
  EXPECT_EQ(get(kDeployments, "web")["status"]["readyReplicas"].integer(), 1);
  EXPECT_EQ(get(kDeployments, "web")["status"]["availableReplicas"].integer(), 0);
  pass(std::chrono::seconds(10));
  EXPECT_EQ(get(kDeployments, "web")["status"]["availableReplicas"].integer(), 1);
}

TEST_F(WorkloadsTest, WhatKeepsASetFromItsPodsIsSaid) {
  create({"", "v1", "limitranges"},
         R"({"metadata":{"name":"max"},"spec":{"limits":[{"type":"Container","max":{"cpu":"1"}}]}})");
  create(kDeployments, deployment(3));
  patch(
      kDeployments, "web",
      R"({"spec":{"template":{"spec":{"containers":[{"name":"c","image":"i","resources":{"limits":{"cpu":"2"}}}]}}}})");
  settle();
  const auto done = get(kDeployments, "web");
  EXPECT_EQ(condition(done, "ReplicaFailure"), "True FailedCreate");
  ASSERT_THAT(names(kSets), SizeIs(1));
  // Once, and once more because its own status has changed; the other two pods are not tried.
  EXPECT_THAT(events(names(kSets)[0]), SizeIs(2));
  EXPECT_THAT(find_condition(done["status"]["conditions"], "ReplicaFailure")["message"].string(),
              HasSubstr("maximum cpu usage"));
  remove({"", "v1", "limitranges"}, "max");
  pass(std::chrono::seconds(70));
  converge();
  EXPECT_EQ(condition(get(kDeployments, "web"), "ReplicaFailure"), " ");
  EXPECT_EQ(pods_with("i"), 3u);
}

// --- ReplicaSets and ReplicationControllers ---

TEST_F(WorkloadsTest, ASetAdoptsOrphansAndReleasesWhatItsSelectorNoLongerSelects) {
  create(kPods, bare_pod("orphan", "set"));
  create(kPods, bare_pod("stranger", "other"));
  create(kSets, replica_set("set", 2));
  converge();
  EXPECT_EQ(owner_of("orphan"), "set");
  EXPECT_EQ(owner_of("stranger"), "");
  EXPECT_THAT(names(kPods, "app=set"), SizeIs(2));
  patch(kPods, "orphan", R"({"metadata":{"labels":{"app":"gone"}}})");
  converge();
  EXPECT_EQ(owner_of("orphan"), "");
  EXPECT_THAT(names(kPods, "app=set"), SizeIs(2));
  patch(kPods, "orphan", R"({"metadata":{"labels":{"app":"set"}}})");
  converge();
  EXPECT_THAT(names(kPods, "app=set"), SizeIs(2)) << "taken back, and one too many removed";
}

TEST_F(WorkloadsTest, ASetOnItsWayOutAdoptsNobody) {
  create(kSets, replica_set("set", 0));
  patch(kSets, "set", R"({"metadata":{"finalizers":["example.com/hold"]}})");
  remove(kSets, "set");
  create(kPods, bare_pod("orphan", "set"));
  settle();
  EXPECT_EQ(owner_of("orphan"), "");
}

TEST_F(WorkloadsTest, ASetReplacesWhatFailsAndScalesDownTheCheapest) {
  create(kSets, replica_set("set", 3));
  converge();
  const auto before = names(kPods);
  patch(kPods, before[0], R"({"status":{"phase":"Failed"}})", "status");
  converge();
  EXPECT_EQ(get(kSets, "set")["status"]["readyReplicas"].integer(), 3);
  ASSERT_THAT(names(kPods), SizeIs(4)) << "the failed one stays to be looked at";
  const auto cheap = before[1];
  patch(kPods, cheap, R"({"metadata":{"annotations":{"controller.kubernetes.io/pod-deletion-cost":"-5"}}})");
  patch(kSets, "set", R"({"spec":{"replicas":2}})", "scale");
  converge();
  EXPECT_FALSE(exists(kPods, cheap));
  EXPECT_EQ(get(kSets, "set")["status"]["replicas"].integer(), 2);
  EXPECT_THAT(events("set"), Contains("SuccessfulDelete: Deleted pod: " + cheap));
}

TEST_F(WorkloadsTest, AReplicationControllerDoesTheSame) {
  create(
      kControllers,
      R"({"metadata":{"name":"rc"},"spec":{"replicas":2,"selector":{"app":"rc"},"template":{"metadata":{"labels":{"app":"rc"}},"spec":{"containers":[{"name":"c","image":"good"}]}}}})");
  converge();
  EXPECT_EQ(get(kControllers, "rc")["status"]["availableReplicas"].integer(), 2);
  EXPECT_FALSE(get(kControllers, "rc")["status"].has("terminatingReplicas"));
  patch(kControllers, "rc", R"({"spec":{"replicas":0}})");
  converge();
  EXPECT_THAT(names(kPods), IsEmpty());
  EXPECT_EQ(get(kControllers, "rc")["status"]["replicas"].integer(-1), 0);
}

TEST_F(WorkloadsTest, TheSizeIsReachedWhateverComesBetween) {
  create(kSets, replica_set("set", 5));
  for (int i = 0; i < 20; ++i) {
    for (const auto& name : names(kPods))
      if (std::hash<std::string>()(name) % 3 == static_cast<std::size_t>(i) % 3) end_pod(name);
    patch(kSets, "set", R"({"spec":{"replicas":)" + std::to_string(1 + (i * 7) % 6) + "}}");
    if (i % 2 == 0) settle();
  }
  patch(kSets, "set", R"({"spec":{"replicas":4}})");
  converge();
  EXPECT_THAT(names(kPods), SizeIs(4));
  EXPECT_EQ(get(kSets, "set")["status"]["readyReplicas"].integer(), 4);
  EXPECT_EQ(get(kSets, "set")["status"]["observedGeneration"].integer(),
            get(kSets, "set")["metadata"]["generation"].integer());
}

TEST_F(WorkloadsTest, AtRestNothingIsDone) {
  create(kDeployments, deployment(3));
  converge();
  pass(std::chrono::seconds(5));
  const auto before = store_->stats();
  for (int i = 0; i < 10; ++i) {
    clock_.advance(std::chrono::minutes(5));
    settle();
  }
  EXPECT_EQ(executor_.tasks(), 0u);
  EXPECT_EQ(store_->stats().revision, before.revision);
}

// Whatever happens in between, and however far the controllers have come with it: in the end everything is as it was
// asked for last, and no number was given twice on the way.
class RandomStoryTest : public WorkloadsTest, public testing::WithParamInterface<unsigned> {};

TEST_P(RandomStoryTest, EndsAsItShould) {
  constexpr int kSteps = 150;
  std::mt19937 random(GetParam());
  const auto pick = [&](int below) { return static_cast<int>(random() % static_cast<unsigned>(below)); };
  const auto set_size = [&](const kube::Resource& resource, const char* name) {
    (void)client_.patch(resource, "default", name, kube::PatchType::merge,
                        R"({"spec":{"replicas":)" + std::to_string(pick(6)) + "}}");
  };
  const auto set_image = [&](const kube::Resource& resource, const char* name) {
    (void)client_.patch(resource, "default", name, kube::PatchType::merge,
                        image_patch(std::string(1, static_cast<char>('a' + pick(3)))));
  };
  const std::string stateful =
      R"({"metadata":{"name":"db"},"spec":{"replicas":2,"serviceName":"db","selector":{"matchLabels":{"app":"db"}},"template":{"metadata":{"labels":{"app":"db"}},"spec":{"containers":[{"name":"c","image":"good"}]}}}})";
  const auto ensure_all = [&] {
    (void)client_.create(kDeployments, "default", parse(deployment(3)).root());
    (void)client_.create(kStatefulSets, "default", parse(stateful).root());
    (void)client_.create(kSets, "default", parse(replica_set("set", 2)).root());
  };
  const auto remove_some = [&] {
    constexpr const char* kPolicies[] = {"Background", "Foreground", "Orphan"};
    kube::DeleteOptions options;
    options.propagation_policy = kPolicies[pick(3)];
    const bool which = pick(2) == 0;
    (void)client_.remove(which ? kDeployments : kSets, "default", which ? "web" : "set", options);
  };
  ensure_all();
  for (int step = 0; step < kSteps; ++step) {
    const auto pods = names(kPods);
    const auto pod =
        pods.empty() ? std::string("none") : pods[static_cast<std::size_t>(pick(static_cast<int>(pods.size())))];
    const std::function<void()> events[] = {[&] { set_size(kDeployments, "web"); },
                                            [&] { set_size(kStatefulSets, "db"); },
                                            [&] { set_size(kSets, "set"); },
                                            [&] { set_image(kDeployments, "web"); },
                                            [&] { set_image(kStatefulSets, "db"); },
                                            [&] { end_pod(pod); },
                                            [&] {
                                              (void)client_.patch(kPods, "default", pod, kube::PatchType::merge,
                                                                  R"({"status":{"phase":"Failed"}})", "status");
                                            },
                                            [&] {
                                              if (pick(8) == 0) remove_some();
                                            },
                                            ensure_all};
    if (const auto which = static_cast<std::size_t>(pick(14)); which < std::size(events))
      events[which]();
    else if (pod != "none" && get(kPods, pod)["status"]["phase"].text() == "Pending")
      run_pod(pod);
    executor_.run_some(pick(6));
    if (pick(20) == 0) pass(std::chrono::seconds(1));
    std::set<std::string> ordinals;
    for (const auto& item : list(kPods, "app=db"))
      EXPECT_TRUE(ordinals.insert(item["metadata"]["labels"]["apps.kubernetes.io/pod-index"].string()).second);
  }
  converge("none");
  ensure_all();
  patch(kDeployments, "web", image_patch("last"));
  for (const auto& name : names(kPods, "app=db")) end_pod(name);  // what hangs must be deleted by hand
  for (int i = 0; i < 3; ++i) {
    converge("none");
    pass(std::chrono::seconds(65));  // the longest back-off
  }
  const auto wanted = [&](const kube::Resource& resource, const char* name) {
    return static_cast<std::size_t>(get(resource, name)["spec"]["replicas"].integer());
  };
  const auto running = [&](const std::string& selector) {
    const auto pods = list(kPods, selector);
    return static_cast<std::size_t>(std::count_if(pods.begin(), pods.end(), [](const Document& pod) {
      return pod["status"]["phase"].text() == "Running" && !pod["metadata"].has("deletionTimestamp");
    }));
  };
  EXPECT_EQ(pods_with("last"), wanted(kDeployments, "web"));
  EXPECT_EQ(running("app=web"), wanted(kDeployments, "web")) << "none of an older template";
  EXPECT_EQ(running("app=set"), wanted(kSets, "set"));
  EXPECT_EQ(running("app=db"), wanted(kStatefulSets, "db"));
  EXPECT_EQ(get(kDeployments, "web")["status"]["availableReplicas"].integer(),
            get(kDeployments, "web")["spec"]["replicas"].integer());
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomStoryTest, testing::Range(1u, 4u));

// --- garbage collection ---

TEST_F(WorkloadsTest, WhatADeploymentOwnsGoesWithIt) {
  create(kDeployments, deployment(3));
  converge();
  remove(kDeployments, "web");
  EXPECT_FALSE(exists(kDeployments, "web")) << "at once";
  converge();
  EXPECT_THAT(names(kSets), IsEmpty());
  EXPECT_THAT(names(kPods), IsEmpty());
}

TEST_F(WorkloadsTest, InTheForegroundTheOwnerGoesLast) {
  create(kDeployments, deployment(2));
  converge();
  const auto pods = names(kPods);
  for (const auto& name : pods) patch(kPods, name, R"({"metadata":{"finalizers":["example.com/hold"]}})");
  remove(kDeployments, "web", "Foreground");
  settle();
  EXPECT_TRUE(get(kDeployments, "web")["metadata"].has("deletionTimestamp"));
  ASSERT_THAT(names(kSets), SizeIs(1));
  EXPECT_TRUE(list(kSets)[0]["metadata"].has("deletionTimestamp"));
  for (const auto& pod : list(kPods)) EXPECT_TRUE(pod["metadata"].has("deletionTimestamp"));
  patch(kPods, pods[0], R"({"metadata":{"finalizers":null}})");
  settle();
  EXPECT_TRUE(exists(kDeployments, "web"));
  patch(kPods, pods[1], R"({"metadata":{"finalizers":null}})");
  settle();
  EXPECT_THAT(names(kPods), IsEmpty());
  EXPECT_THAT(names(kSets), IsEmpty());
  EXPECT_FALSE(exists(kDeployments, "web"));
}

TEST_F(WorkloadsTest, OrphansAreLeftBehindAndMayBeAdopted) {
  create(kDeployments, deployment(2));
  converge();
  const auto pods = names(kPods);
  remove(kDeployments, "web", "Orphan");
  converge();
  EXPECT_FALSE(exists(kDeployments, "web"));
  ASSERT_THAT(list(kSets), SizeIs(1));
  EXPECT_FALSE(list(kSets)[0]["metadata"].has("ownerReferences"));
  EXPECT_EQ(names(kPods), pods);
  create(kDeployments, deployment(2));
  converge();
  EXPECT_EQ(list(kSets)[0]["metadata"]["ownerReferences"].at(0)["name"].text(), "web");
  EXPECT_EQ(names(kPods), pods) << "the same pods go on";
}

std::string owned(const std::string& name, const std::string& owner_name, const std::string& owner_uid,
                  const std::string& more = "") {
  return R"({"metadata":{"name":")" + name + R"(","ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap","name":")" +
         owner_name + R"(","uid":")" + owner_uid + "\"" + more + "}]}}";
}

TEST_F(WorkloadsTest, AnOwnerThatIsNotThereIsNone) {
  create(kConfigMaps, R"({"metadata":{"name":"owner"}})");
  const auto uid = get(kConfigMaps, "owner")["metadata"]["uid"].string();
  create(kConfigMaps, owned("kept", "owner", uid));
  create(kConfigMaps, owned("absent", "nobody", "11111111-1111-1111-1111-111111111111"));
  create(kConfigMaps, owned("another", "owner", "22222222-2222-2222-2222-222222222222"));
  settle();
  EXPECT_TRUE(exists(kConfigMaps, "kept"));
  EXPECT_FALSE(exists(kConfigMaps, "absent"));
  EXPECT_FALSE(exists(kConfigMaps, "another")) << "of the same name, but not that one";
}

TEST_F(WorkloadsTest, AnOwnerInAnotherNamespaceIsNoneAndItIsSaid) {
  create({"", "v1", "namespaces"}, R"({"metadata":{"name":"far"}})", "");
  create(kConfigMaps, R"({"metadata":{"name":"owner"}})", "far");
  const auto uid = (*client_.get(kConfigMaps, "far", "owner"))["metadata"]["uid"].string();
  create(kConfigMaps, owned("child", "owner", uid));
  create({"rbac.authorization.k8s.io", "v1", "clusterroles"}, owned("cluster", "owner", uid), "");
  settle();
  EXPECT_FALSE(exists(kConfigMaps, "child"));
  EXPECT_TRUE(client_.get({"rbac.authorization.k8s.io", "v1", "clusterroles"}, "", "cluster"))
      << "of cluster scope: nobody knows which namespace was meant";
  EXPECT_THAT(events("child"),
              ElementsAre("OwnerRefInvalidNamespace: ownerRef [v1/ConfigMap, namespace: default, name: "
                          "owner, uid: " +
                          uid + "] does not exist in namespace \"default\""));
}

TEST_F(WorkloadsTest, ASolidOwnerKeepsWhatAnotherLeaves) {
  create(kConfigMaps, R"({"metadata":{"name":"a"}})");
  create(kConfigMaps, R"({"metadata":{"name":"b"}})");
  const auto a = get(kConfigMaps, "a")["metadata"]["uid"].string(),
             b = get(kConfigMaps, "b")["metadata"]["uid"].string();
  create(kConfigMaps,
         R"({"metadata":{"name":"child","ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap","name":"a","uid":")" +
             a + R"("},{"apiVersion":"v1","kind":"ConfigMap","name":"b","uid":")" + b + "\"}]}}");
  remove(kConfigMaps, "a");
  settle();
  const auto child = get(kConfigMaps, "child");
  ASSERT_EQ(child["metadata"]["ownerReferences"].size(), 1u);
  EXPECT_EQ(child["metadata"]["ownerReferences"].at(0)["name"].text(), "b");
  remove(kConfigMaps, "b");
  settle();
  EXPECT_FALSE(exists(kConfigMaps, "child"));
}

TEST_F(WorkloadsTest, ACircleEnds) {
  create(kConfigMaps, R"({"metadata":{"name":"a"}})");
  const auto a = get(kConfigMaps, "a")["metadata"]["uid"].string();
  create(kConfigMaps, owned("b", "a", a, R"(,"blockOwnerDeletion":true)"));
  const auto b = get(kConfigMaps, "b")["metadata"]["uid"].string();
  create(kConfigMaps, owned("c", "b", b, R"(,"blockOwnerDeletion":true)"));
  const auto c = get(kConfigMaps, "c")["metadata"]["uid"].string();
  patch(kConfigMaps, "a", owned("a", "c", c, R"(,"blockOwnerDeletion":true)"));
  settle();
  remove(kConfigMaps, "a", "Foreground");
  settle();
  for (const auto* name : {"a", "b", "c"}) EXPECT_FALSE(exists(kConfigMaps, name)) << name;
}

TEST_F(WorkloadsTest, AnOwnerOfAKindThatIsNotServedLeavesThingsAsTheyAre) {
  create(
      kConfigMaps,
      R"({"metadata":{"name":"child","ownerReferences":[{"apiVersion":"example.com/v1","kind":"Widget","name":"w","uid":"33333333-3333-3333-3333-333333333333"}]}})");
  settle();
  EXPECT_TRUE(exists(kConfigMaps, "child"));
  EXPECT_EQ(executor_.tasks(), 0u) << "and nobody tries again and again";
}

}  // namespace
}  // namespace sublet::controllers
