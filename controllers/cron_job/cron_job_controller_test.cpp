#include "controllers/controlled_server_testing.h"

namespace sublet::controllers {
namespace {

using schema::Document;
using namespace std::chrono_literals;
using Strings = std::vector<std::string>;

// The clock starts at 2023-11-14T22:13:20Z.
class CronJobControllerTest : public ControlledServer {
 protected:
  static constexpr std::int64_t kStart = 1'700'000'000;

  void make(std::string_view spec) {
    auto cron_job = parse(std::string(R"({"metadata":{"name":"tick"},"spec":)").append(spec) + "}");
    auto job = cron_job["spec"].object("jobTemplate");
    job.object("metadata").object("labels").put("app", "tick");
    auto pod = job.object("spec").object("template").object("spec");
    pod.put("restartPolicy", "Never");
    auto container = pod.array("containers").push_object();
    container.put("name", "c");
    container.put("image", "busybox");
    create(kCronJobs, "default", cron_job.to_json());
  }
  Document cron_job() { return get(kCronJobs, "tick"); }
  static std::string name_at(std::int64_t seconds_after) {
    return "tick-" + std::to_string((kStart + seconds_after) / 60);
  }
  /// As a job controller ends one: first it is known how, then it is so.
  void finish(const std::string& job, std::string_view type) {
    const auto now = format_time(clock_.now());
    const bool complete = type == "Complete";
    const auto condition = [&](std::string_view name) {
      return R"({"type":")" + std::string(name) + R"(","status":"True","lastTransitionTime":")" + now + R"("})";
    };
    merge(kJobs, job,
          R"({"status":{"active":0,"ready":0,"terminating":0,)" +
              (complete ? R"("completionTime":")" + now + R"(",)" : std::string()) + R"("conditions":[)" +
              condition(complete ? "SuccessCriteriaMet" : "FailureTarget") + "," + condition(type) + "]}}",
          "status");
  }
  bool said(const std::string& what) {
    const auto all = said_of("CronJob", "tick");
    return std::find(all.begin(), all.end(), what) != all.end();
  }
};

TEST_F(CronJobControllerTest, AJobIsMadeWhenItIsDue) {
  make(R"({"schedule":"* * * * *","timeZone":"Etc/UTC"})");
  advance(39s);
  EXPECT_TRUE(names(kJobs).empty());
  EXPECT_EQ(executor_.timers(), 1u) << "the next due time alone";
  advance(2s);
  ASSERT_EQ(names(kJobs), Strings{name_at(40)});
  const auto job = get(kJobs, name_at(40));
  EXPECT_EQ(job["metadata"]["ownerReferences"].at(0)["name"].text(), "tick");
  EXPECT_EQ(job["metadata"]["labels"]["app"].text(), "tick");
  EXPECT_EQ(job["metadata"]["annotations"]["batch.kubernetes.io/cronjob-scheduled-timestamp"].text(),
            "2023-11-14T22:14:00Z");
  EXPECT_EQ(cron_job()["status"]["lastScheduleTime"].text(), "2023-11-14T22:14:00Z");
  EXPECT_EQ(cron_job()["status"]["active"].at(0)["name"].text(), name_at(40));
  EXPECT_TRUE(said("SuccessfulCreate: Created job " + name_at(40)));
  advance(60s);
  EXPECT_EQ(names(kJobs), (Strings{name_at(40), name_at(100)}));
  finish(name_at(40), "Complete");
  EXPECT_EQ(cron_job()["status"]["active"].size(), 1u);
  EXPECT_EQ(cron_job()["status"]["lastSuccessfulTime"].text(), format_time(clock_.now()));
  EXPECT_TRUE(said("SawCompletedJob: Saw completed job: " + name_at(40) + ", condition: Complete"));
}

TEST_F(CronJobControllerTest, ForbidWaitsForTheOneThatRuns) {
  make(R"({"schedule":"* * * * *","concurrencyPolicy":"Forbid"})");
  advance(41s);
  advance(60s);
  EXPECT_EQ(names(kJobs), Strings{name_at(40)});
  EXPECT_TRUE(
      said("JobAlreadyActive: Not starting job because prior execution is running and concurrency policy is "
           "Forbid"));
  finish(name_at(40), "Failed");
  EXPECT_EQ(names(kJobs), (Strings{name_at(40), name_at(100)})) << "the last that was missed is made up for";
}

TEST_F(CronJobControllerTest, ReplaceEndsTheOneThatRuns) {
  make(R"({"schedule":"* * * * *","concurrencyPolicy":"Replace"})");
  advance(41s);
  advance(60s);
  EXPECT_EQ(names(kJobs), Strings{name_at(100)});
  EXPECT_TRUE(said("SuccessfulDelete: Deleted job " + name_at(40)));
  EXPECT_EQ(cron_job()["status"]["active"].size(), 1u);
}

TEST_F(CronJobControllerTest, TheOldestOfWhatIsOverGo) {
  make(R"({"schedule":"* * * * *","successfulJobsHistoryLimit":1,"failedJobsHistoryLimit":0})");
  advance(41s);
  finish(name_at(40), "Complete");
  advance(60s);
  finish(name_at(100), "Complete");
  advance(60s);
  finish(name_at(160), "Failed");
  EXPECT_EQ(names(kJobs), Strings{name_at(100)});
}

TEST_F(CronJobControllerTest, SuspendedOnesMakeNothingAndWaitForNothing) {
  make(R"({"schedule":"* * * * *","suspend":true})");
  advance(2h);
  EXPECT_TRUE(names(kJobs).empty());
  EXPECT_EQ(executor_.timers(), 0u);
  merge(kCronJobs, "tick", R"({"spec":{"suspend":false,"startingDeadlineSeconds":30}})");
  EXPECT_EQ(names(kJobs), Strings{name_at(7200)}) << "13 minutes and 20 seconds past: within the deadline";
}

TEST_F(CronJobControllerTest, AnotherScheduleBeginsWithItsNextTime) {
  make(R"({"schedule":"0 0 1 1 *"})");
  advance(1h);
  merge(kCronJobs, "tick", R"({"spec":{"schedule":"* * * * *"}})");
  EXPECT_TRUE(names(kJobs).empty()) << "what it would have named before is not made up for";
  advance(41s);
  EXPECT_EQ(names(kJobs), Strings{name_at(3600 + 40)});
}

TEST_F(CronJobControllerTest, AJobThatSomebodyDeletesIsForgotten) {
  make(R"({"schedule":"0 * * * *"})");
  advance(47min);
  const auto made = names(kJobs);
  ASSERT_EQ(made.size(), 1u);
  kube::DeleteOptions options;
  options.propagation_policy = "Background";
  remove(kJobs, made[0], options);
  EXPECT_FALSE(cron_job()["status"].has("active"));
  EXPECT_TRUE(said("MissingJob: Active job went missing: " + made[0]));
  EXPECT_TRUE(names(kJobs).empty()) << "its time has been met";
}

TEST_F(CronJobControllerTest, ARestartMakesNoJobTwice) {
  make(R"({"schedule":"* * * * *"})");
  advance(41s);
  // The job was made, but the process died before it could say so.
  merge(kCronJobs, "tick", R"({"status":{"active":null,"lastScheduleTime":null}})", "status");
  restart_controllers();
  EXPECT_EQ(names(kJobs), Strings{name_at(40)});
  EXPECT_EQ(cron_job()["status"]["active"].size(), 1u);
}

}  // namespace
}  // namespace sublet::controllers
