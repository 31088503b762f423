#include <gmock/gmock.h>

#include "controllers/stateful_set/identity.h"
#include "controllers/workloads_testing.h"
#include "tests/support/parse_json.h"

namespace sublet::controllers {
namespace {

using schema::Document;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing_support::parse_json;

// --- identity ---

TEST(StatefulIdentity, IsReadFromTheName) {
  EXPECT_EQ(identity_of("web-0")->ordinal, 0);
  EXPECT_EQ(identity_of("my-web-12")->set, "my-web");
  EXPECT_EQ(identity_of("my-web-12")->ordinal, 12);
  for (const auto* name : {"web", "web-", "web-x", "web-1x", "-", "web-99999999999"})
    EXPECT_FALSE(identity_of(name)) << name;
}

TEST(StatefulIdentity, VolumesOfClaimsComeFirstAndReplaceThoseOfTheirName) {
  const auto set = parse_json(
      R"({"metadata":{"name":"db"},"spec":{"serviceName":"svc","selector":{"matchLabels":{"a":"b"}},
          "volumeClaimTemplates":[{"metadata":{"name":"data","labels":{"x":"y"}},"spec":{}}]}})");
  const auto pod_template = parse_json(
      R"({"metadata":{"labels":{"a":"b"}},"spec":{"volumes":[{"name":"data","emptyDir":{}},{"name":"tmp","emptyDir":{}}]}})");
  const ObjectRef owner{"apps/v1", "StatefulSet", "ns", "db", "uid", ""};
  const auto pod = new_stateful_pod(set.root(), pod_template.root(), owner, 3, "db-rev");
  EXPECT_EQ(pod["metadata"]["name"].text(), "db-3");
  EXPECT_EQ(pod["metadata"]["labels"][kPodNameLabel].text(), "db-3");
  EXPECT_EQ(pod["metadata"]["labels"][kPodIndexLabel].text(), "3");
  EXPECT_EQ(pod["metadata"]["labels"][kRevisionLabel].text(), "db-rev");
  EXPECT_EQ(pod["spec"]["hostname"].text(), "db-3");
  EXPECT_EQ(pod["spec"]["subdomain"].text(), "svc");
  EXPECT_EQ(pod["spec"]["volumes"].to_json(),
            R"([{"name":"data","persistentVolumeClaim":{"claimName":"data-db-3"}},{"name":"tmp","emptyDir":{}}])");
  EXPECT_TRUE(identity_matches(owner, pod.root()));
  EXPECT_TRUE(storage_matches(set.root(), owner, pod.root()));
  const auto claims = claims_of(set.root(), owner, 3);
  ASSERT_EQ(claims.size(), 1u);
  EXPECT_EQ(claims[0]["metadata"]["name"].text(), "data-db-3");
  EXPECT_EQ(claims[0]["metadata"]["labels"].to_json(), R"({"x":"y","a":"b"})");
}

TEST(ClaimOwners, FollowTheRetentionPolicy) {
  const ObjectRef set{"apps/v1", "StatefulSet", "ns", "db", "set-uid", ""},
      pod{"v1", "Pod", "ns", "db-1", "pod-uid", ""};
  struct Case {
    bool when_scaled, when_deleted, scaled_down, by_set, by_pod;
  };
  const Case cases[] = {{false, false, false, false, false}, {false, false, true, false, false},
                        {false, true, false, true, false},   {false, true, true, true, false},
                        {true, false, false, false, false},  {true, false, true, false, true},
                        {true, true, false, true, false},    {true, true, true, false, true}};
  for (const auto& c : cases) {
    const ClaimOwners wanted{set, pod, {c.when_scaled, c.when_deleted}, c.scaled_down};
    const auto owners = new_claim_owners({}, wanted);
    std::vector<std::string> uids;
    for (const auto& owner : owners) uids.push_back(owner.uid);
    std::vector<std::string> expected;
    if (c.by_set) expected.push_back("set-uid");
    if (c.by_pod) expected.push_back("pod-uid");
    EXPECT_EQ(uids, expected);
    EXPECT_TRUE(claim_owners_match(owners, wanted));
    const bool bare_is_right = expected.empty();
    EXPECT_EQ(claim_owners_match({}, wanted), bare_is_right);
  }
}

TEST(ClaimOwners, AreNotTakenFromOthers) {
  const ObjectRef set{"apps/v1", "StatefulSet", "ns", "db", "set-uid", ""},
      pod{"v1", "Pod", "ns", "db-1", "pod-uid", ""};
  const ClaimOwners wanted{set, pod, {true, true}, false};
  const OwnerRef other{"v1", "ConfigMap", "c", "c-uid", true, false}, stale{"v1", "Pod", "db-1", "old-uid", true, true};
  EXPECT_TRUE(has_unexpected_controller({other}, wanted));
  EXPECT_TRUE(claim_owners_match({other}, wanted));
  EXPECT_EQ(new_claim_owners({other}, wanted).size(), 1u);
  EXPECT_TRUE(has_stale_owner({stale}, pod));
  EXPECT_TRUE(claim_owners_match({stale}, wanted)) << "it goes with the pod that is gone";
}

// --- over an API server ---

std::string stateful_set(int replicas, const std::string& more = "", const std::string& image = "good") {
  return R"({"metadata":{"name":"db"},"spec":{"replicas":)" + std::to_string(replicas) +
         R"(,"serviceName":"db","selector":{"matchLabels":{"app":"db"}},"template":{"metadata":{"labels":{"app":"db"}},"spec":{"containers":[{"name":"c","image":")" +
         image + R"("}]}})" + more + "}}";
}
constexpr const char* kClaimTemplate =
    R"(,"volumeClaimTemplates":[{"metadata":{"name":"data"},"spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}}}}])";

class StatefulSetTest : public testing::Test, public WorkloadsRig {
 protected:
  std::string image_of(const std::string& pod) { return get(kPods, pod)["spec"]["containers"].at(0)["image"].string(); }
  std::string status(const std::string& field) { return get(kStatefulSets, "db")["status"][field].to_json(); }
};

TEST_F(StatefulSetTest, PodsComeOneAfterTheOther) {
  create(kStatefulSets, stateful_set(3));
  settle();
  EXPECT_THAT(names(kPods), ElementsAre("db-0"));
  run_pod("db-0", false);
  settle();
  EXPECT_THAT(names(kPods), ElementsAre("db-0")) << "it runs, but is not ready";
  run_pod("db-0");
  settle();
  EXPECT_THAT(names(kPods), ElementsAre("db-0", "db-1"));
  converge();
  EXPECT_THAT(names(kPods), ElementsAre("db-0", "db-1", "db-2"));
  const auto set = get(kStatefulSets, "db");
  EXPECT_EQ(set["status"]["readyReplicas"].integer(), 3);
  EXPECT_EQ(set["status"]["currentReplicas"].integer(), 3);
  EXPECT_EQ(set["status"]["collisionCount"].integer(-1), 0);
  EXPECT_EQ(set["status"]["currentRevision"].text(), set["status"]["updateRevision"].text());
  EXPECT_THAT(names(kRevisions), ElementsAre(set["status"]["currentRevision"].string()));
  EXPECT_THAT(events("db"), ElementsAre("SuccessfulCreate: Create Pod db-0 in StatefulSet db successful",
                                        "SuccessfulCreate: Create Pod db-1 in StatefulSet db successful",
                                        "SuccessfulCreate: Create Pod db-2 in StatefulSet db successful"));
}

TEST_F(StatefulSetTest, TheyGoFromTheEnd) {
  create(kStatefulSets, stateful_set(3));
  converge();
  patch(kPods, "db-1", R"({"metadata":{"finalizers":["example.com/hold"]}})");
  patch(kStatefulSets, "db", R"({"spec":{"replicas":0}})");
  converge();
  EXPECT_THAT(names(kPods), ElementsAre("db-0", "db-1")) << "db-0 waits for the one that hangs";
  patch(kPods, "db-1", R"({"metadata":{"finalizers":null}})");
  converge();
  EXPECT_THAT(names(kPods), IsEmpty());
}

TEST_F(StatefulSetTest, AllAtOnceWhenThatIsWanted) {
  create(kStatefulSets, stateful_set(5, R"(,"podManagementPolicy":"Parallel","ordinals":{"start":3})"));
  settle();
  EXPECT_THAT(names(kPods), ElementsAre("db-3", "db-4", "db-5", "db-6", "db-7"));
  patch(kStatefulSets, "db", R"({"spec":{"replicas":1}})");
  settle();
  converge();
  EXPECT_THAT(names(kPods), ElementsAre("db-3"));
}

TEST_F(StatefulSetTest, AnUpdateGoesFromTheEndDownToThePartition) {
  create(kStatefulSets,
         stateful_set(3, R"(,"updateStrategy":{"type":"RollingUpdate","rollingUpdate":{"partition":1}})"));
  converge();
  patch(kStatefulSets, "db", image_patch("better"));
  settle();
  EXPECT_FALSE(exists(kPods, "db-2") && image_of("db-2") == "good") << "the last one first";
  EXPECT_EQ(image_of("db-1"), "good");
  converge();
  EXPECT_EQ(image_of("db-2"), "better");
  EXPECT_EQ(image_of("db-1"), "better");
  EXPECT_EQ(image_of("db-0"), "good");
  EXPECT_NE(status("currentRevision"), status("updateRevision"));
  EXPECT_EQ(status("updatedReplicas"), "2");
  end_pod("db-0");
  converge();
  EXPECT_EQ(image_of("db-0"), "good") << "below the partition it comes back as it was";
  patch(kStatefulSets, "db", R"({"spec":{"updateStrategy":{"rollingUpdate":{"partition":0}}}})");
  converge();
  EXPECT_EQ(image_of("db-0"), "better");
  EXPECT_EQ(status("currentRevision"), status("updateRevision"));
}

TEST_F(StatefulSetTest, APodThatHangsHoldsUpTheUpdateAndIsUndoneByHand) {
  create(kStatefulSets, stateful_set(2));
  converge();
  patch(kStatefulSets, "db", image_patch("bad"));
  converge();
  EXPECT_EQ(image_of("db-1"), "bad");
  EXPECT_EQ(image_of("db-0"), "good");
  patch(kStatefulSets, "db", image_patch("good"));
  converge();
  EXPECT_EQ(image_of("db-1"), "bad") << "as upstream: a pod that never became ready must be deleted by hand";
  end_pod("db-1");
  converge();
  EXPECT_EQ(image_of("db-1"), "good");
  EXPECT_THAT(names(kRevisions), SizeIs(2));
}

TEST_F(StatefulSetTest, SeveralAtATimeWhenSoManyMayBeMissing) {
  create(
      kStatefulSets,
      stateful_set(
          4,
          R"(,"podManagementPolicy":"Parallel","updateStrategy":{"type":"RollingUpdate","rollingUpdate":{"maxUnavailable":2}})"));
  converge();
  patch(kStatefulSets, "db", image_patch("better"));
  settle();
  std::size_t old = 0;
  for (const auto& pod : list(kPods)) old += pod["spec"]["containers"].at(0)["image"].text() == "good" ? 1u : 0u;
  EXPECT_EQ(old, 2u);
  converge();
  for (const auto* name : {"db-0", "db-1", "db-2", "db-3"}) EXPECT_EQ(image_of(name), "better");
}

TEST_F(StatefulSetTest, OnDeleteWaitsForSomebodyToDelete) {
  create(kStatefulSets, stateful_set(2, R"(,"updateStrategy":{"type":"OnDelete"})"));
  converge();
  patch(kStatefulSets, "db", image_patch("better"));
  converge();
  EXPECT_EQ(image_of("db-1"), "good");
  end_pod("db-1");
  converge();
  EXPECT_EQ(image_of("db-1"), "better");
}

TEST_F(StatefulSetTest, WhatEndsRunsAgain) {
  create(kStatefulSets, stateful_set(1));
  converge();
  const auto uid = get(kPods, "db-0")["metadata"]["uid"].string();
  patch(kPods, "db-0", R"({"status":{"phase":"Failed"}})", "status");
  converge();
  EXPECT_NE(get(kPods, "db-0")["metadata"]["uid"].string(), uid);
  EXPECT_EQ(get(kPods, "db-0")["status"]["phase"].text(), "Running");
}

TEST_F(StatefulSetTest, ClaimsStayUnlessTheyAreToGo) {
  create(kStatefulSets, stateful_set(2, kClaimTemplate));
  converge();
  EXPECT_THAT(names(kClaims), ElementsAre("data-db-0", "data-db-1"));
  EXPECT_EQ(get(kPods, "db-1")["spec"]["volumes"].at(0)["persistentVolumeClaim"]["claimName"].text(), "data-db-1");
  patch(kStatefulSets, "db", R"({"spec":{"replicas":1}})");
  converge();
  EXPECT_THAT(names(kClaims), SizeIs(2));
  patch(
      kStatefulSets, "db",
      R"({"spec":{"replicas":2,"persistentVolumeClaimRetentionPolicy":{"whenScaled":"Delete","whenDeleted":"Delete"}}})");
  converge();
  EXPECT_EQ(get(kClaims, "data-db-0")["metadata"]["ownerReferences"].at(0)["kind"].text(), "StatefulSet");
  patch(kStatefulSets, "db", R"({"spec":{"replicas":1}})");
  converge();
  EXPECT_THAT(names(kClaims), ElementsAre("data-db-0")) << "went with its pod";
  remove(kStatefulSets, "db");
  converge();
  EXPECT_THAT(names(kClaims), IsEmpty());
  EXPECT_THAT(names(kPods), IsEmpty());
  EXPECT_THAT(names(kRevisions), IsEmpty());
}

TEST_F(StatefulSetTest, HistoryIsKeptToItsLimit) {
  create(kStatefulSets, stateful_set(1, R"(,"revisionHistoryLimit":1)"));
  converge();
  for (const auto* image : {"a", "b", "c"}) {
    patch(kStatefulSets, "db", image_patch(image));
    converge();
  }
  EXPECT_THAT(names(kRevisions), SizeIs(2));
  const auto revision = get(kRevisions, get(kStatefulSets, "db")["status"]["updateRevision"].string());
  EXPECT_EQ(revision["revision"].integer(), 4);
  EXPECT_EQ(revision["data"]["spec"]["template"]["$patch"].text(), "replace");
}

}  // namespace
}  // namespace sublet::controllers
