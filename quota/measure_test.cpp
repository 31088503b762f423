#include "sublet/quota/measure.h"

#include <gtest/gtest.h>

namespace sublet::quota {
namespace {

using schema::Document;
using schema::Value;

const Measure kPods("", "pods"), kServices("", "services"), kClaims("", "persistentvolumeclaims"),
    kResourceClaims("resource.k8s.io", "resourceclaims"), kSecrets("", "secrets"), kJobs("batch", "jobs"),
    kEvents("", "events");

Document parse(std::string_view json) { return Document::parse_json(json).value(); }

std::string usage(const Measure& measure, std::string_view json) {
  std::string text;
  for (const auto& [name, amount] : measure.usage(parse(json).root(), *parse_time("2026-11-22T10:00:00Z")))
    text.append(text.empty() ? "" : " ").append(name).append("=").append(amount.text);
  return text;
}

TEST(Measure, OfAPodIsWhatItNeedsAtOneTime) {
  EXPECT_EQ(usage(kPods, R"({"spec":{"containers":[{"resources":{"requests":{"cpu":"100m","memory":"64Mi"},
    "limits":{"cpu":"1","nvidia.com/gpu":"1"}}},{"resources":{"requests":{"cpu":"200m","nvidia.com/gpu":"1"}}}]}})"),
            "count/pods=1 cpu=300m limits.cpu=1 memory=64Mi pods=1 requests.cpu=300m requests.memory=64Mi "
            "requests.nvidia.com/gpu=1");
  EXPECT_EQ(usage(kPods, R"({"spec":{"containers":[{"resources":{"requests":{"cpu":"100m"}}}],"initContainers":[
    {"restartPolicy":"Always","resources":{"requests":{"cpu":"50m"}}},{"resources":{"requests":{"cpu":"300m"}}}],
    "overhead":{"cpu":"10m"}}})"),
            "count/pods=1 cpu=360m pods=1 requests.cpu=360m");
  EXPECT_EQ(usage(kPods, R"({"spec":{"containers":[{"resources":{"requests":{"cpu":"100m","hugepages-2Mi":"4Mi"}}}],
    "resources":{"requests":{"cpu":"2"},"limits":{"cpu":"3"}},"overhead":{"cpu":"10m","memory":"1Mi"}}})"),
            "count/pods=1 cpu=2010m hugepages-2Mi=4Mi limits.cpu=3010m memory=1Mi pods=1 requests.cpu=2010m "
            "requests.hugepages-2Mi=4Mi requests.memory=1Mi")
      << "what is said of the pod counts";
}

TEST(Measure, APodThatHasEndedIsOnlyCounted) {
  EXPECT_EQ(usage(kPods, R"({"status":{"phase":"Succeeded"}})"), "count/pods=1");
  EXPECT_EQ(
      usage(kPods, R"({"metadata":{"deletionTimestamp":"2026-11-22T09:00:00Z","deletionGracePeriodSeconds":30}})"),
      "count/pods=1");
  EXPECT_EQ(
      usage(kPods, R"({"metadata":{"deletionTimestamp":"2026-11-22T10:00:00Z","deletionGracePeriodSeconds":30}})"),
      "count/pods=1 pods=1");
}

TEST(Measure, OfServicesCountsWhatTheirTypeTakes) {
  const std::string none = "count/services=1 services=1 services.loadbalancers=0 services.nodeports=0";
  EXPECT_EQ(usage(kServices, R"({"spec":{"type":"ClusterIP","ports":[{"port":1}]}})"), none);
  EXPECT_EQ(usage(kServices, R"({"spec":{"type":"NodePort","ports":[{"port":1},{"port":2}]}})"),
            "count/services=1 services=1 services.loadbalancers=0 services.nodeports=2");
  EXPECT_EQ(usage(kServices, R"({"spec":{"type":"LoadBalancer","ports":[{"port":1},{"port":2}]}})"),
            "count/services=1 services=1 services.loadbalancers=1 services.nodeports=2");
  EXPECT_EQ(usage(kServices, R"({"spec":{"type":"LoadBalancer","allocateLoadBalancerNodePorts":false,
    "ports":[{"port":1},{"port":2,"nodePort":30000}]}})"),
            "count/services=1 services=1 services.loadbalancers=1 services.nodeports=1");
}

TEST(Measure, OfClaimsCountsBytesAlsoByClass) {
  EXPECT_EQ(usage(kClaims, R"({"spec":{"resources":{"requests":{"storage":"1Gi"}}}})"),
            "count/persistentvolumeclaims=1 persistentvolumeclaims=1 requests.storage=1Gi");
  EXPECT_EQ(usage(kClaims, R"({"spec":{"storageClassName":"gold","resources":{"requests":{"storage":"1500m"}}}})"),
            "count/persistentvolumeclaims=1 gold.storageclass.storage.k8s.io/persistentvolumeclaims=1 "
            "gold.storageclass.storage.k8s.io/requests.storage=2 persistentvolumeclaims=1 requests.storage=2");
  EXPECT_EQ(usage(kClaims, R"({"spec":{"resources":{"requests":{"storage":"1Gi"}}},
    "status":{"allocatedResources":{"storage":"3Gi"}}})"),
            "count/persistentvolumeclaims=1 persistentvolumeclaims=1 requests.storage=3Gi");
}

TEST(Measure, OfResourceClaimsCountsDevicesAtWorst) {
  EXPECT_EQ(usage(kResourceClaims, R"({"spec":{"devices":{"requests":[
    {"exactly":{"deviceClassName":"gpu","allocationMode":"ExactCount","count":2}},
    {"exactly":{"deviceClassName":"nic","allocationMode":"All"}},
    {"firstAvailable":[{"deviceClassName":"gpu","allocationMode":"ExactCount","count":1},
                       {"deviceClassName":"gpu","allocationMode":"ExactCount","count":4}]}]}}})"),
            "count/resourceclaims.resource.k8s.io=1 gpu.deviceclass.resource.k8s.io/devices=6 "
            "nic.deviceclass.resource.k8s.io/devices=32");
}

TEST(Measure, OfOthersIsTheirNumber) {
  EXPECT_EQ(usage(kSecrets, "{}"), "count/secrets=1 secrets=1");
  EXPECT_EQ(usage(kJobs, "{}"), "count/jobs.batch=1");
  EXPECT_FALSE(kEvents.is_charged());
}

TEST(Measure, CoversTheNamesOfItsLimits) {
  for (const auto* name : {"pods", "count/pods", "cpu", "requests.cpu", "limits.memory", "requests.ephemeral-storage",
                           "requests.nvidia.com/gpu", "requests.hugepages-2Mi", "hugepages-1Gi"})
    EXPECT_TRUE(kPods.covers(name)) << name;
  for (const auto* name : {"nvidia.com/gpu", "limits.nvidia.com/gpu", "requests.storage", "requests.kubernetes.io/x",
                           "secrets", "count/podss", "services"})
    EXPECT_FALSE(kPods.covers(name)) << name;
  EXPECT_TRUE(kServices.covers("services.nodeports"));
  EXPECT_FALSE(kServices.covers("services.clusterips"));
  EXPECT_TRUE(kClaims.covers("requests.storage"));
  EXPECT_TRUE(kClaims.covers("gold.storageclass.storage.k8s.io/requests.storage"));
  EXPECT_FALSE(kClaims.covers("gold.storageclass.storage.k8s.io/limits.storage"));
  EXPECT_TRUE(kResourceClaims.covers("gpu.deviceclass.resource.k8s.io/devices"));
  EXPECT_TRUE(kSecrets.covers("secrets"));
  EXPECT_TRUE(kSecrets.covers("count/secrets"));
  EXPECT_TRUE(kJobs.covers("count/jobs.batch"));
  EXPECT_FALSE(kJobs.covers("jobs"));
  EXPECT_FALSE(kEvents.covers("count/events"));
  EXPECT_EQ(counted_resource("count/deployments.apps"), "deployments.apps");
  EXPECT_EQ(counted_resource("secrets"), "secrets");
  EXPECT_EQ(counted_resource("pods"), "");
}

bool in_scopes(const Measure& measure, std::string_view quota, std::string_view object) {
  return measure.is_in_scopes(parse(quota).root(), parse(object).root());
}

TEST(Measure, ScopesPickPods) {
  const std::string_view limited = R"({"spec":{"containers":[{"resources":{"limits":{"cpu":"1"}}}]}})",
                         plain = R"({"spec":{"containers":[{}],"activeDeadlineSeconds":5,"priorityClassName":"high"}})",
                         reaching = R"({"spec":{"affinity":{"podAntiAffinity":{
    "preferredDuringSchedulingIgnoredDuringExecution":[{"podAffinityTerm":{"namespaceSelector":{}}}]}}}})";
  EXPECT_TRUE(in_scopes(kPods, "{}", plain));
  EXPECT_TRUE(in_scopes(kPods, R"({"scopes":["BestEffort","Terminating"]})", plain));
  EXPECT_FALSE(in_scopes(kPods, R"({"scopes":["BestEffort"]})", limited));
  EXPECT_TRUE(in_scopes(kPods, R"({"scopes":["NotBestEffort","NotTerminating"]})", limited));
  EXPECT_TRUE(in_scopes(kPods, R"({"scopes":["CrossNamespacePodAffinity"]})", reaching));
  EXPECT_FALSE(in_scopes(kPods, R"({"scopes":["CrossNamespacePodAffinity"]})", plain));
  EXPECT_FALSE(in_scopes(kPods, R"({"scopes":["BestEffort"]})",
                         R"({"spec":{"containers":[{}],"resources":{"requests":{"cpu":"1"}}}})"));
  EXPECT_FALSE(in_scopes(kSecrets, R"({"scopes":["NotTerminating"]})", "{}")) << "no scope is about them";
}

TEST(Measure, ScopesPickByClass) {
  const auto quota = [](std::string_view scope, std::string_view op) {
    return R"({"scopeSelector":{"matchExpressions":[{"scopeName":")" + std::string(scope) + R"(","operator":")" +
           std::string(op) + R"(","values":["high"]}]}})";
  };
  const std::string high = R"({"spec":{"priorityClassName":"high"}})", low = R"({"spec":{"priorityClassName":"low"}})",
                    none = R"({"spec":{}})";
  const auto picks = [&](std::string_view op) {
    std::string picked;
    for (const auto& pod : {high, low, none}) picked += in_scopes(kPods, quota("PriorityClass", op), pod) ? "y" : "n";
    return picked;
  };
  EXPECT_EQ(picks("In"), "ynn");
  EXPECT_EQ(picks("NotIn"), "nyy");
  EXPECT_EQ(picks("Exists"), "yyn");
  EXPECT_EQ(picks("DoesNotExist"), "nny");
  const std::string changing = R"({"spec":{"volumeAttributesClassName":"low"},
    "status":{"modifyVolumeStatus":{"targetVolumeAttributesClassName":"high"}}})";
  EXPECT_TRUE(in_scopes(kClaims, quota("VolumeAttributesClass", "In"), changing));
  EXPECT_FALSE(in_scopes(kClaims, quota("VolumeAttributesClass", "Exists"), none));
}

TEST(Measure, LimitedComputeMustBeSaid) {
  const auto pod = parse(R"({"spec":{"initContainers":[{"name":"b"}],"containers":[{"name":"c","resources":
    {"requests":{"cpu":"1"},"limits":{"memory":"1Gi"}}},{"name":"a","resources":{"requests":{"cpu":"1"}}}]}})");
  EXPECT_EQ(
      kPods.lacks({"limits.memory", "requests.cpu", "pods", "requests.nvidia.com/gpu", "limits.ephemeral-storage"},
                  pod.root()),
      "must specify limits.memory for: a,b; requests.cpu for: b");
  EXPECT_EQ(kPods.lacks({"pods"}, pod.root()), "");
  EXPECT_EQ(kPods.lacks({"cpu"}, parse(R"({"spec":{"containers":[{}],"resources":{"limits":{"cpu":"1"}}}})").root()),
            "");
}

TEST(Measure, SomeUpdatesChangeWhatIsUsed) {
  const auto plain = parse("{}"), ending = parse(R"({"spec":{"activeDeadlineSeconds":5}})");
  EXPECT_FALSE(kPods.is_changed_by_update("", plain.root(), plain.root()));
  EXPECT_TRUE(kPods.is_changed_by_update("", ending.root(), plain.root()));
  EXPECT_FALSE(kPods.is_changed_by_update("status", ending.root(), plain.root()));
  EXPECT_TRUE(kServices.is_changed_by_update("", plain.root(), plain.root()));
  EXPECT_FALSE(kServices.is_changed_by_update("status", plain.root(), plain.root()));
  EXPECT_FALSE(kSecrets.is_changed_by_update("", plain.root(), plain.root()));
}

TEST(Amounts, AreWrittenInTheFormOfTheFirst) {
  Amount sum;
  add(sum, amount_of(parse(R"("512Mi")").root()));
  add(sum, amount_of(parse(R"("512Mi")").root()));
  EXPECT_EQ(sum.text, "1Gi");
  add(sum, number(1));
  EXPECT_EQ(sum.text, "1073741825");
}

}  // namespace
}  // namespace sublet::quota
