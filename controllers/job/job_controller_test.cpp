#include <random>
#include <set>

#include "controllers/controlled_server_testing.h"

namespace sublet::controllers {
namespace {

using schema::Document;
using namespace std::chrono_literals;
using Strings = std::vector<std::string>;

class JobControllerTest : public ControlledServer {
 protected:
  static constexpr auto kTogether = 50ms;  // changes of pods are looked at together

  void make_job(std::string_view spec, std::string_view name = "work") {
    auto job = parse(std::string(R"({"metadata":{"name":")").append(name).append(R"("},"spec":)").append(spec) + "}");
    auto pod = job["spec"].object("template").object("spec");
    if (pod["containers"].missing()) pod.put("containers", parse(R"([{"name":"c","image":"busybox"}])").root());
    if (pod["restartPolicy"].missing()) pod.put("restartPolicy", "Never");
    create(kJobs, "default", job.to_json());
  }
  Document job(std::string_view name = "work") { return get(kJobs, name); }
  /// Pods of the Job that have not ended, in the order of their indexes and names.
  Strings running() {
    Strings found;
    for (const auto& pod : list(kPods)) {
      const auto phase = pod["status"]["phase"].text();
      if (phase != "Failed" && phase != "Succeeded" && !pod["metadata"].has("deletionTimestamp"))
        found.push_back(pod["metadata"]["name"].string());
    }
    return found;
  }
  std::string running_with_index(std::string_view index) {
    for (const auto& name : running())
      if (get(kPods, name)["metadata"]["annotations"]["batch.kubernetes.io/job-completion-index"].text() == index)
        return name;
    return "";
  }
  void end(const std::string& pod, std::string_view phase, int exit_code = 0) {
    say_status(pod, std::string(R"({"phase":")").append(phase) +
                        R"(","containerStatuses":[{"name":"c","image":"busybox","imageID":"","ready":false,)" +
                        R"("restartCount":0,"state":{"terminated":{"exitCode":)" + std::to_string(exit_code) +
                        R"(,"finishedAt":")" + format_time(clock_.now()) + R"("}}}]})");
    advance(kTogether);
  }
  /// "SuccessCriteriaMet=True CompletionsReached, Complete=True CompletionsReached"
  std::string conditions(std::string_view name = "work") {
    const auto of = job(name);
    std::string text;
    for (schema::Value condition : of["status"]["conditions"])
      text.append(text.empty() ? "" : ", ")
          .append(condition["type"].text())
          .append("=")
          .append(condition["status"].text())
          .append(" ")
          .append(condition["reason"].text());
    return text;
  }
  int finalizers() {
    int count = 0;
    for (const auto& pod : list(kPods)) count += static_cast<int>(pod["metadata"]["finalizers"].size());
    return count;
  }
};

TEST_F(JobControllerTest, LabelsThatWereSentStayAsSent) {
  const auto make = [&](const std::string& name, const std::string& labels) {
    create(kJobs, "default",
           R"({"metadata":{"name":")" + name + "\"" + labels +
               R"(},"spec":{"suspend":true,"template":{"metadata":{"labels":{"a":"b"}},"spec":{"restartPolicy":"Never",
               "containers":[{"name":"c","image":"i"}]}}}})");
  };
  make("sent", R"(,"labels":{"a":"b"})");
  make("unsent", "");
  EXPECT_EQ(get(kJobs, "sent")["metadata"]["labels"].to_json(), R"({"a":"b"})");
  const auto unsent = get(kJobs, "unsent");
  EXPECT_EQ(unsent["metadata"]["labels"]["job-name"].text(), "unsent") << "they are the template's";
  EXPECT_EQ(unsent["metadata"]["labels"]["a"].text(), "b");
}

TEST_F(JobControllerTest, AJobRunsItsPodAndIsComplete) {
  make_job("{}");
  const auto pods = running();
  ASSERT_EQ(pods.size(), 1u);
  const auto pod = get(kPods, pods[0]);
  EXPECT_TRUE(pods[0].starts_with("work-"));
  EXPECT_EQ(pod["metadata"]["finalizers"].to_json(), R"(["batch.kubernetes.io/job-tracking"])");
  EXPECT_EQ(pod["metadata"]["ownerReferences"].at(0)["name"].text(), "work");
  EXPECT_EQ(pod["metadata"]["labels"]["batch.kubernetes.io/job-name"].text(), "work");
  EXPECT_EQ(job()["status"]["active"].integer(), 1);
  EXPECT_EQ(job()["status"]["startTime"].text(), format_time(clock_.now()));

  say_status(pods[0], R"({"phase":"Running","conditions":[{"type":"Ready","status":"True"}]})");
  advance(kTogether);
  EXPECT_EQ(job()["status"]["ready"].integer(), 1);
  clock_.advance(3s);
  end(pods[0], "Succeeded");
  EXPECT_EQ(conditions(), "SuccessCriteriaMet=True CompletionsReached, Complete=True CompletionsReached");
  const auto done = job();
  const auto status = done["status"];
  EXPECT_EQ(status["succeeded"].integer(), 1);
  EXPECT_FALSE(status.has("active"));
  EXPECT_EQ(status["ready"].integer(-1), 0);
  EXPECT_EQ(status["terminating"].integer(-1), 0);
  EXPECT_EQ(status["uncountedTerminatedPods"].to_json(), "{}");
  EXPECT_EQ(status["completionTime"].text(), format_time(clock_.now()));
  EXPECT_EQ(finalizers(), 0);
  EXPECT_EQ(said_of("Job", "work"), (Strings{"SuccessfulCreate: Created pod: " + pods[0], "Completed: Job completed"}));
}

TEST_F(JobControllerTest, PodsRunBesideEachOtherUntilEnoughHaveSucceeded) {
  make_job(R"({"completions":3,"parallelism":2})");
  EXPECT_EQ(running().size(), 2u);
  end(running()[0], "Succeeded");
  EXPECT_EQ(running().size(), 2u);
  end(running()[0], "Succeeded");
  EXPECT_EQ(running().size(), 1u) << "one is left to be done";
  EXPECT_EQ(job()["status"]["succeeded"].integer(), 2);
  end(running()[0], "Succeeded");
  EXPECT_EQ(job()["status"]["succeeded"].integer(), 3);
  EXPECT_NE(conditions().find("Complete=True"), std::string::npos);
  EXPECT_EQ(list(kPods).size(), 3u);
}

TEST_F(JobControllerTest, FailedPodsAreMadeAnewAfterTheBackOffUntilTheLimit) {
  make_job(R"({"backoffLimit":1})");
  end(running()[0], "Failed", 1);
  EXPECT_EQ(job()["status"]["failed"].integer(), 1);
  EXPECT_EQ(running().size(), 0u);
  advance(9s);
  EXPECT_EQ(running().size(), 0u) << "ten seconds after the first failure";
  advance(1s);
  ASSERT_EQ(running().size(), 1u);
  end(running()[0], "Failed", 1);
  EXPECT_EQ(conditions(), "FailureTarget=True BackoffLimitExceeded, Failed=True BackoffLimitExceeded");
  EXPECT_EQ(job()["status"]["failed"].integer(), 2);
  EXPECT_EQ(finalizers(), 0);
  EXPECT_EQ(said_of("Job", "work").back(), "BackoffLimitExceeded: Job has reached the specified backoff limit");
  advance(1h);
  EXPECT_EQ(list(kPods).size(), 2u);
}

TEST_F(JobControllerTest, TheDeadlineEndsWhatRuns) {
  make_job(R"({"activeDeadlineSeconds":60})");
  const auto pod = running().at(0);
  advance(59s);
  EXPECT_EQ(conditions(), "");
  advance(1s);
  // The pod was on no node, so that it is gone at once.
  EXPECT_EQ(conditions(), "FailureTarget=True DeadlineExceeded, Failed=True DeadlineExceeded");
  EXPECT_EQ(job()["status"]["failed"].integer(), 1);
  EXPECT_TRUE(list(kPods).empty());
}

TEST_F(JobControllerTest, AJobIsNotOverWhilePodsAreEnding) {
  create(kNodes, "", R"({"metadata":{"name":"n"}})");
  make_job(R"({"activeDeadlineSeconds":60,"template":{"spec":{"nodeName":"n"}}})");
  const auto pod = running().at(0);
  say_status(pod, R"({"phase":"Running"})");
  advance(60s);
  EXPECT_EQ(conditions(), "FailureTarget=True DeadlineExceeded");
  EXPECT_EQ(job()["status"]["terminating"].integer(), 1);
  kube::DeleteOptions now;
  now.grace_period_seconds = 0;
  remove(kPods, pod, now);
  advance(kTogether);
  EXPECT_EQ(conditions(), "FailureTarget=True DeadlineExceeded, Failed=True DeadlineExceeded");
}

TEST_F(JobControllerTest, SuspendedJobsHaveNoPods) {
  make_job(R"({"suspend":true,"activeDeadlineSeconds":5})");
  EXPECT_TRUE(running().empty());
  EXPECT_EQ(conditions(), "Suspended=True JobSuspended");
  EXPECT_FALSE(job()["status"].has("startTime"));
  advance(1h);
  merge(kJobs, "work", R"({"spec":{"suspend":false}})");
  EXPECT_EQ(conditions(), "Suspended=False JobResumed");
  EXPECT_EQ(job()["status"]["startTime"].text(), format_time(clock_.now()));
  ASSERT_EQ(running().size(), 1u);
  merge(kJobs, "work", R"({"spec":{"suspend":true}})");
  EXPECT_TRUE(running().empty());
  EXPECT_EQ(conditions(), "Suspended=True JobSuspended");
  EXPECT_FALSE(job()["status"].has("active"));
  const auto said = said_of("Job", "work");
  EXPECT_NE(std::find(said.begin(), said.end(), "Suspended: Job suspended"), said.end());
  EXPECT_NE(std::find(said.begin(), said.end(), "Resumed: Job resumed"), said.end());
}

TEST_F(JobControllerTest, IndexedJobsDoEachIndexOnce) {
  make_job(R"({"completionMode":"Indexed","completions":3,"parallelism":2})");
  const auto first = running_with_index("0");
  const auto pod = get(kPods, first);
  EXPECT_TRUE(first.starts_with("work-0-"));
  EXPECT_EQ(pod["spec"]["hostname"].text(), "work-0");
  EXPECT_EQ(pod["metadata"]["labels"]["batch.kubernetes.io/job-completion-index"].text(), "0");
  EXPECT_EQ(pod["spec"]["containers"].at(0)["env"].at(0)["name"].text(), "JOB_COMPLETION_INDEX");
  end(running_with_index("1"), "Succeeded");
  EXPECT_EQ(job()["status"]["completedIndexes"].text(), "1");
  EXPECT_EQ(running().size(), 2u);
  EXPECT_NE(running_with_index("2"), "");
  end(first, "Failed", 1);
  advance(10s);
  const auto again = running_with_index("0");
  ASSERT_NE(again, "");
  EXPECT_NE(again, first);
  end(again, "Succeeded");
  end(running_with_index("2"), "Succeeded");
  EXPECT_EQ(job()["status"]["completedIndexes"].text(), "0-2");
  EXPECT_EQ(job()["status"]["succeeded"].integer(), 3);
  EXPECT_EQ(job()["status"]["failed"].integer(), 1);
  EXPECT_NE(conditions().find("Complete=True"), std::string::npos);
}

TEST_F(JobControllerTest, EachIndexHasABackOffLimitOfItsOwn) {
  make_job(R"({"completionMode":"Indexed","completions":2,"parallelism":2,"backoffLimitPerIndex":1})");
  const auto failures = [&](std::string_view index) {
    return get(kPods,
               running_with_index(index))["metadata"]["annotations"]["batch.kubernetes.io/job-index-failure-count"]
        .string();
  };
  EXPECT_EQ(failures("0"), "0");
  end(running_with_index("0"), "Failed", 1);
  EXPECT_EQ(finalizers(), 2) << "the failed pod hands its count over first";
  advance(10s);
  EXPECT_EQ(failures("0"), "1");
  advance(kTogether);
  end(running_with_index("0"), "Failed", 1);
  EXPECT_EQ(job()["status"]["failedIndexes"].text(), "0");
  EXPECT_EQ(conditions(), "") << "the other index goes on";
  advance(1h);
  EXPECT_EQ(running_with_index("0"), "");
  end(running_with_index("1"), "Succeeded");
  EXPECT_EQ(conditions(), "FailureTarget=True FailedIndexes, Failed=True FailedIndexes");
  EXPECT_EQ(job()["status"]["completedIndexes"].text(), "1");
  EXPECT_EQ(job()["status"]["failed"].integer(), 2);
  EXPECT_EQ(finalizers(), 0);
}

TEST_F(JobControllerTest, TooManyFailedIndexesEndTheJob) {
  make_job(R"({"completionMode":"Indexed","completions":3,"parallelism":3,"backoffLimitPerIndex":0,
    "maxFailedIndexes":0})");
  end(running_with_index("1"), "Failed", 1);
  EXPECT_EQ(conditions(), "FailureTarget=True MaxFailedIndexesExceeded, Failed=True MaxFailedIndexesExceeded");
  EXPECT_TRUE(running().empty());
}

TEST_F(JobControllerTest, TheSuccessPolicyEndsWhatNeedNotBeDone) {
  make_job(R"({"completionMode":"Indexed","completions":3,"parallelism":3,
    "successPolicy":{"rules":[{"succeededIndexes":"0"}]}})");
  end(running_with_index("0"), "Succeeded");
  EXPECT_EQ(conditions(), "SuccessCriteriaMet=True SuccessPolicy, Complete=True SuccessPolicy");
  EXPECT_EQ(job()["status"]["succeeded"].integer(), 1);
  EXPECT_FALSE(job()["status"].has("failed")) << "pods that were not needed have not failed";
  EXPECT_TRUE(running().empty());
}

TEST_F(JobControllerTest, TheFailurePolicyFailsTheJobOrForgivesThePod) {
  make_job(R"({"backoffLimit":0,"podFailurePolicy":{"rules":[
    {"action":"Ignore","onExitCodes":{"operator":"In","values":[7]}},
    {"action":"FailJob","onExitCodes":{"operator":"In","values":[42]}}]}})");
  end(running()[0], "Failed", 7);
  EXPECT_EQ(conditions(), "");
  EXPECT_FALSE(job()["status"].has("failed"));
  advance(10s);
  ASSERT_EQ(running().size(), 1u);
  const auto name = running()[0];
  end(name, "Failed", 42);
  EXPECT_EQ(conditions(), "FailureTarget=True PodFailurePolicy, Failed=True PodFailurePolicy");
  EXPECT_EQ(job()["status"]["conditions"].at(1)["message"].text(),
            "Container c for pod default/" + name + " failed with exit code 42 matching FailJob rule at index 1");
}

TEST_F(JobControllerTest, LessParallelismRemovesWhatIsTooMuch) {
  make_job(R"({"completions":5,"parallelism":4})");
  say_status(running()[2], R"({"phase":"Running","conditions":[{"type":"Ready","status":"True"}]})");
  const auto ready = running()[2];
  merge(kJobs, "work", R"({"spec":{"parallelism":1}})");
  EXPECT_EQ(running(), Strings{ready});
  advance(kTogether);
  EXPECT_FALSE(job()["status"].has("failed")) << "who was sent away has not failed";
  EXPECT_EQ(job()["status"]["active"].integer(), 1);
}

TEST_F(JobControllerTest, ADeletedPodHasFailedAndIsMadeAnew) {
  make_job("{}");
  const auto first = running()[0];
  remove(kPods, first);
  advance(kTogether);
  EXPECT_EQ(job()["status"]["failed"].integer(), 1);
  advance(10s);
  ASSERT_EQ(running().size(), 1u);
  EXPECT_NE(running()[0], first);
}

TEST_F(JobControllerTest, PodsOfAJobThatIsGoneAreLetGo) {
  make_job("{}");
  ASSERT_EQ(finalizers(), 1);
  kube::DeleteOptions options;
  options.propagation_policy = "Background";
  remove(kJobs, "work", options);
  EXPECT_EQ(finalizers(), 0);
}

TEST_F(JobControllerTest, JobsOfOtherControllersAreLeftAlone) {
  make_job(R"({"managedBy":"example.com/other"})");
  advance(1min);
  EXPECT_TRUE(list(kPods).empty());
  EXPECT_FALSE(job()["status"].has("startTime"));
}

TEST_F(JobControllerTest, WhatIsOverGoesAfterItsTime) {
  make_job(R"({"ttlSecondsAfterFinished":30})");
  end(running()[0], "Succeeded");
  advance(29s);
  EXPECT_FALSE(job()["metadata"].has("deletionTimestamp"));
  advance(1s);
  EXPECT_TRUE(job()["metadata"].missing() || job()["metadata"].has("deletionTimestamp")) << "in the foreground";
}

TEST_F(JobControllerTest, NothingIsLostOrDoubledByARestartAtAnyMoment) {
  make_job(R"({"completionMode":"Indexed","completions":4,"parallelism":2})");
  for (int i = 0; i < 4; ++i) {
    restart_controllers();
    end(running()[0], "Succeeded");
    restart_controllers();
    advance(kTogether);
  }
  EXPECT_EQ(job()["status"]["completedIndexes"].text(), "0-3");
  EXPECT_EQ(list(kPods).size(), 4u);
  EXPECT_NE(conditions().find("Complete=True"), std::string::npos);
}

// The uid was written into the status and the process died before the finalizer went.
TEST_F(JobControllerTest, APodThatIsOnItsWayIntoTheCountersIsCountedOnce) {
  make_job(R"({"completions":2})");
  const auto pod = get(kPods, running()[0]);
  controllers_->stop();
  const auto uid = pod["metadata"]["uid"].string();
  say_status(running()[0], R"({"phase":"Succeeded"})");
  merge(kJobs, "work", R"({"status":{"uncountedTerminatedPods":{"succeeded":[")" + uid + R"("]}}})", "status");
  restart_controllers();
  EXPECT_EQ(job()["status"]["succeeded"].integer(), 1);
  EXPECT_EQ(job()["status"]["uncountedTerminatedPods"].to_json(), "{}");
  EXPECT_EQ(running().size(), 1u);
}

// Pods end, fail and are deleted in any order, and the controllers' process with them: what is counted is what
// happened.
TEST_F(JobControllerTest, WhateverHappensEveryIndexIsDoneOnceAndEveryPodCountedOnce) {
  for (unsigned seed = 1; seed <= 6; ++seed) {
    std::mt19937 random(seed);
    const auto one_of = [&](std::size_t count) { return random() % count; };
    const auto name = "work" + std::to_string(seed);
    make_job(R"({"completionMode":"Indexed","completions":5,"parallelism":3,"backoffLimit":1000})", name);
    std::set<std::string> failed, succeeded;
    for (int step = 0; step < 200 && job(name)["status"]["completionTime"].missing(); ++step) {
      std::set<std::string> indexes;
      for (const auto& pod : running())
        EXPECT_TRUE(
            indexes.insert(get(kPods, pod)["metadata"]["labels"]["batch.kubernetes.io/job-completion-index"].string())
                .second)
            << "two pods for one index, seed " << seed;
      const auto pods = running();
      const auto action = one_of(8);
      if (action == 0) {
        restart_controllers();
      } else if (action == 1 || pods.empty()) {
        advance(10min);
      } else if (action == 2) {
        const auto pod = pods[one_of(pods.size())];
        failed.insert(pod);
        end(pod, "Failed", 1);
      } else if (action == 3) {
        const auto pod = pods[one_of(pods.size())];
        failed.insert(pod);
        ASSERT_TRUE(client_.remove(kPods, "default", pod));
      } else {
        const auto pod = pods[one_of(pods.size())];
        succeeded.insert(pod);
        end(pod, "Succeeded");
      }
    }
    const auto done = job(name);
    EXPECT_EQ(done["status"]["completedIndexes"].text(), "0-4") << "seed " << seed;
    EXPECT_EQ(done["status"]["succeeded"].integer(), 5);
    EXPECT_EQ(succeeded.size(), 5u);
    EXPECT_EQ(static_cast<std::size_t>(done["status"]["failed"].integer()), failed.size()) << "seed " << seed;
    EXPECT_EQ(finalizers(), 0);
  }
}

TEST_F(JobControllerTest, AtRestThereIsNoTaskNoTimerAndNoWrite) {
  make_job("{}");
  make_job(R"({"suspend":true})", "later");
  end(running()[0], "Succeeded");
  advance(2h);  // events end
  const auto revision = store_->stats().revision;
  EXPECT_EQ(executor_.tasks() + executor_.timers(), 0u);
  advance(24h);
  EXPECT_EQ(store_->stats().revision, revision);
}

}  // namespace
}  // namespace sublet::controllers
