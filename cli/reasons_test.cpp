#include "cli/reasons.h"

#include <gtest/gtest.h>

#include "sublet/schema/engine.h"

namespace sublet::cli {
namespace {

using schema::Document;

std::vector<std::string> reasons(const std::string& pod, const std::string& events = "[]") {
  const auto object = schema::parse_yaml(pod);
  const auto list = schema::parse_yaml(events);
  EXPECT_TRUE(object && list);
  return reasons_of(object->root(), list->root()).sentences;
}

TEST(Reasons, WhatRunsIsSaidToRun) {
  const auto pod = schema::parse_yaml("status: {phase: Running, conditions: [{type: Ready, status: 'True'}]}");
  const Reasons said = reasons_of(pod->root(), {});
  EXPECT_TRUE(said.well);
  EXPECT_EQ(said.sentences, std::vector<std::string>{"it runs and is ready"});
}

TEST(Reasons, TheSchedulersWordsComeThrough) {
  EXPECT_EQ(
      reasons("status: {conditions: [{type: PodScheduled, status: 'False', reason: Unschedulable, "
              "message: '0/2 nodes are available: 2 Insufficient cpu.'}]}"),
      std::vector<std::string>{"no node is found for it: Unschedulable: 0/2 nodes are available: 2 Insufficient cpu."});
  EXPECT_EQ(
      reasons("{spec: {schedulingGates: [{name: quota}]}, status: {conditions: [{type: PodScheduled, "
              "status: 'False', reason: SchedulingGated}]}}"),
      std::vector<std::string>{"it is held back by the scheduling gate quota, which whoever set it has to remove"});
}

TEST(Reasons, WhomOfItsGangAPodWaitsFor) {
  const auto parsed = [](const std::string& yaml) { return schema::parse_yaml(yaml).value(); };
  const auto pod = parsed("{spec: {schedulingGroup: {podGroupName: train}}}");
  const auto group = parsed(
      "{spec: {schedulingPolicy: {gang: {minCount: 3}}}, status: {conditions: [{type: PodGroupScheduled, status: "
      "'False', "
      "reason: Unschedulable, message: no room}]}}");
  const std::string mine = "{spec: {schedulingGroup: {podGroupName: train}}, status: {phase: ";
  const std::string two = "[" + mine + "Pending}}, " + mine + "Pending}}, " + mine +
                          "Failed}}, {spec: {schedulingGroup: {podGroupName: other}}}, {spec: {}}";
  EXPECT_EQ(gang_of(pod.root(), {}, {}), "it waits for its PodGroup train, which is not there");
  EXPECT_EQ(gang_of(pod.root(), group.root(), parsed(two + "]").root()),
            "it waits for the others of its PodGroup train: of 3 pods there are 2");
  EXPECT_EQ(gang_of(pod.root(), group.root(), parsed(two + ", " + mine + "Pending}}]").root()),
            "its PodGroup train is not scheduled: Unschedulable: no room");
  EXPECT_EQ(gang_of(parsed("{spec: {nodeName: node-1, schedulingGroup: {podGroupName: train}}}").root(), {}, {}), "");
  EXPECT_EQ(gang_of(parsed("{spec: {}}").root(), {}, {}), "");
  EXPECT_EQ(reasons_of(pod.root(), {}, "it waits").sentences, std::vector<std::string>{"it waits"});
}

TEST(Reasons, AReadinessGateIsNamed) {
  EXPECT_EQ(reasons("status: {phase: Running, conditions: [{type: Ready, status: 'False', reason: "
                    "ReadinessGatesNotReady, message: the gate}]}"),
            std::vector<std::string>{"its containers are ready, it is not: the gate"});
}

TEST(Reasons, HowAContainerEnded) {
  EXPECT_EQ(reasons("status: {phase: Failed, reason: DeadlineExceeded, message: too long, initContainerStatuses: "
                    "[{name: i, state: {terminated: {exitCode: 0}}}], containerStatuses: "
                    "[{name: c, state: {terminated: {exitCode: 137, reason: OOMKilled}}}]}"),
            (std::vector<std::string>{"it has failed: DeadlineExceeded: too long",
                                      "container c: ended with code 137: OOMKilled"}));
  EXPECT_EQ(reasons("status: {phase: Pending, initContainerStatuses: [{name: i, restartCount: 2, state: {waiting: "
                    "{reason: CrashLoopBackOff}}, lastState: {terminated: {exitCode: 1, reason: Error}}}]}"),
            (std::vector<std::string>{"container i: waits: CrashLoopBackOff",
                                      "container i: was started again 2 times; it ended with code 1: Error"}));
}

TEST(Reasons, WhatTheHostOrAPatchRefusedIsAnEventOfThePod) {
  EXPECT_EQ(reasons("{}",
                    "[{type: Warning, reason: SyncFailed, message: 'the host refused the pod: exceeded quota'}, "
                    "{type: Warning, reason: SyncDenied, message: 'patch \"x\" of the template'}]"),
            (std::vector<std::string>{"event SyncFailed: the host refused the pod: exceeded quota",
                                      "event SyncDenied: patch \"x\" of the template"}));
}

TEST(Reasons, ContainersAndWarningsTheLatestFirst) {
  const std::string pod =
      "status: {phase: Pending, containerStatuses: [{name: a, state: {waiting: {reason: ImagePullBackOff, message: no "
      "such image}}}, {name: b, restartCount: 3, state: {running: {}}, ready: false, lastState: {terminated: "
      "{exitCode: "
      "2, reason: Error}}}]}";
  const std::string events =
      "[{type: Normal, reason: Pulled}, {type: Warning, reason: Old, message: o, lastTimestamp: "
      "'2026-01-01T00:00:00Z'}, "
      "{type: Warning, reason: New, message: new words, count: 4, lastTimestamp: '2026-01-02T00:00:00Z'}]";
  EXPECT_EQ(reasons(pod, events),
            (std::vector<std::string>{"container a: waits: ImagePullBackOff: no such image",
                                      "container b: was started again 3 times; it ended with code 2: Error",
                                      "container b: runs, but is not ready: its probes have not succeeded",
                                      "event New: new words (4 times)", "event Old: o"}));
}

TEST(Reasons, APodOfWhichNobodySpoke) {
  EXPECT_EQ(reasons("{}"),
            std::vector<std::string>{"no scheduler has looked at it yet, or it has not come to the host"});
  EXPECT_EQ(reasons("{spec: {nodeName: n1}}"), std::vector<std::string>{"its node n1 has not said anything of it yet"});
  EXPECT_EQ(reasons("{metadata: {deletionTimestamp: T, finalizers: [x/y]}}"),
            std::vector<std::string>{"it is being deleted since T; finalizers hold it: [\"x/y\"]"});
}

TEST(Reasons, WhatKeptAControllerFromMakingOne) {
  const auto events = schema::parse_yaml(
      "[{type: Warning, reason: FailedCreate, message: exceeded quota, involvedObject: {kind: ReplicaSet, name: "
      "web-1}}, "
      "{type: Warning, reason: Other, message: x}]");
  const std::vector<std::string> why{"ReplicaSet web-1: FailedCreate: exceeded quota"};
  for (const char* pod : {"web-1-abcde", "web-1", "web"}) EXPECT_EQ(failed_creations(events->root(), pod), why) << pod;
  for (const char* pod : {"nope", "web-12", "we", "api-web-1"})
    EXPECT_TRUE(failed_creations(events->root(), pod).empty()) << pod << " has nothing to do with it";
}

}  // namespace
}  // namespace sublet::cli
