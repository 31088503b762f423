#include "controllers/job/job_facts.h"

#include <gtest/gtest.h>

#include "tests/support/parse_json.h"

namespace sublet::controllers {
namespace {

using schema::Document;
using std::chrono::seconds;
using testing_support::parse_json;

Pod job_pod(std::string_view json) {
  auto stored = std::make_shared<store::Object>();
  stored->key = "pods/ns/p";
  stored->bytes = json;
  stored->hole = store::Object::kNoHole;
  return Pod(std::move(stored));
}

WallTime moment(std::string_view text) { return *parse_time(text); }

TEST(IndexRanges, ReadAndWriteAsAJobsStatusDoes) {
  for (const auto& [text, completions, again] :
       std::initializer_list<std::tuple<std::string_view, int, std::string>>{{"", 10, ""},
                                                                             {"1", 10, "1"},
                                                                             {"1,2", 10, "1,2"},
                                                                             {"1-2", 10, "1,2"},
                                                                             {"0-3,5,7-9", 10, "0-3,5,7-9"},
                                                                             {"0-3,4,5-7", 10, "0-7"},
                                                                             {"0-3,5,7-9", 8, "0-3,5,7"},
                                                                             {"0-3,5,7-9", 5, "0-3"},
                                                                             {"x,1-,3-y,4", 10, "4"}})
    EXPECT_EQ(IndexRanges::parse(text, completions).text(), again) << text;
}

TEST(IndexRanges, GrowAndAnswer) {
  IndexRanges ranges;
  for (int index : {7, 1, 3, 2, 9, 8, 1}) ranges.add(index);
  EXPECT_EQ(ranges.text(), "1-3,7-9");
  EXPECT_EQ(ranges.count(), 6);
  EXPECT_TRUE(ranges.has(1) && ranges.has(3) && ranges.has(9));
  EXPECT_FALSE(ranges.has(0) || ranges.has(4) || ranges.has(10));
  EXPECT_EQ(ranges.first_missing(3, 12), (std::vector<std::int64_t>{0, 4, 5}));
  EXPECT_EQ(ranges.first_missing(9, 12), (std::vector<std::int64_t>{0, 4, 5, 6, 10, 11}));
  EXPECT_EQ(ranges.count_shared(IndexRanges::parse("0-1,3-8", 100)), 4);
  ranges.add(IndexRanges::parse("4-6", 100));
  EXPECT_EQ(ranges.text(), "1-9");
}

constexpr std::string_view kFailedWith42 = R"({"metadata":{"name":"p","namespace":"ns"},"status":{"phase":"Failed",
  "conditions":[{"type":"DisruptionTarget","status":"True"}],"containerStatuses":[{"name":"main","state":
  {"terminated":{"exitCode":42}}},{"name":"other","state":{"terminated":{"exitCode":0}}}]}})";

std::string judge(std::string_view rules) {
  const auto job = parse_json(std::string(R"({"spec":{"podFailurePolicy":{"rules":)").append(rules) + "}}}");
  const JobSpec spec(job.root());
  auto verdict = judge_failure(spec, job_pod(kFailedWith42));
  return std::string(verdict.action) + (verdict.counts ? "+" : "-") + verdict.fail_job;
}

TEST(PodFailurePolicy, TheFirstRuleThatMatchesDecides) {
  EXPECT_EQ(judge("[]"), "+");
  EXPECT_EQ(judge(R"([{"action":"FailJob","onExitCodes":{"operator":"In","values":[1,42]}}])"),
            "FailJob+Container main for pod ns/p failed with exit code 42 matching FailJob rule at index 0");
  EXPECT_EQ(judge(R"([{"action":"FailJob","onExitCodes":{"containerName":"other","operator":"NotIn","values":[1]}}])"),
            "+")
      << "0 is no failure";
  EXPECT_EQ(judge(R"([{"action":"FailJob","onExitCodes":{"operator":"NotIn","values":[42]}},
    {"action":"Ignore","onPodConditions":[{"type":"DisruptionTarget","status":"True"}]}])"),
            "Ignore-");
  EXPECT_EQ(judge(R"([{"action":"Count","onPodConditions":[{"type":"Ready","status":"True"}]},
    {"action":"FailIndex","onExitCodes":{"operator":"In","values":[42]}}])"),
            "FailIndex+");
  EXPECT_EQ(judge(R"([{"action":"FailJob","onPodConditions":[{"type":"DisruptionTarget","status":"True"}]}])"),
            "FailJob+Pod ns/p has condition DisruptionTarget matching FailJob rule at index 0");
}

TEST(SuccessPolicy, IsMetByIndexesOrTheirNumber) {
  const auto met = [](std::string_view rules, std::string_view succeeded) {
    const auto job = parse_json(
        std::string(R"({"spec":{"completionMode":"Indexed","completions":10,"successPolicy":{"rules":)").append(rules) +
        "}}}");
    return met_success_policy(JobSpec(job.root()), IndexRanges::parse(succeeded, 10)).value_or("no");
  };
  EXPECT_EQ(met(R"([{"succeededIndexes":"0-2"}])", "0,1"), "no");
  EXPECT_EQ(met(R"([{"succeededIndexes":"0-2"}])", "0-2,7"), "Matched rules at index 0");
  EXPECT_EQ(met(R"([{"succeededIndexes":"0-2","succeededCount":1}])", "2,7"), "Matched rules at index 0");
  EXPECT_EQ(met(R"([{"succeededIndexes":"9"},{"succeededCount":2}])", "2,7"), "Matched rules at index 1");
  EXPECT_EQ(met(R"([{"succeededCount":1}])", ""), "no");
}

TEST(JobBackoff, DoublesUpToTenMinutes) {
  const auto now = moment("2026-11-22T10:00:00Z");
  EXPECT_EQ(backoff_left(0, now, now), seconds(0));
  EXPECT_EQ(backoff_left(1, now, now), seconds(10));
  EXPECT_EQ(backoff_left(3, now - seconds(15), now), seconds(25));
  EXPECT_EQ(backoff_left(7, now, now), seconds(600));
  EXPECT_EQ(backoff_left(40, now, now), seconds(600));
  EXPECT_EQ(backoff_left(1, now - seconds(11), now), seconds(0));
}

std::string ended_at(std::string_view time) {
  return std::string(R"({"status":{"containerStatuses":[{"state":{"terminated":{"finishedAt":")").append(time) +
         R"("}}}]}})";
}

TEST(JobBackoff, CountsTheFailuresSinceTheLastSuccess) {
  const auto early = job_pod(ended_at("2026-11-22T10:00:00Z")), middle = job_pod(ended_at("2026-11-22T10:00:05Z")),
             late = job_pod(ended_at("2026-11-22T10:00:09Z"));
  BackoffRecord record;
  record = record.with({}, {late, early});
  EXPECT_EQ(record.failures, 2);
  EXPECT_EQ(record.last_failure, moment("2026-11-22T10:00:09Z"));
  record = record.with({}, {});
  EXPECT_EQ(record.failures, 2);
  record = record.with({middle}, {early, late});
  EXPECT_EQ(record.failures, 1);
  record = record.with({late}, {early});
  EXPECT_EQ(record.failures, 0);
}

TEST(JobPods, EndWhenTheLastContainerDoes) {
  EXPECT_EQ(
      finished_time(job_pod(R"({"spec":{"initContainers":[{"name":"side","restartPolicy":"Always"},{"name":"init"}]},
    "status":{"containerStatuses":[{"state":{"terminated":{"finishedAt":"2026-11-22T10:00:01Z"}}},
    {"state":{"terminated":{"finishedAt":"2026-11-22T10:00:03Z"}}}],"initContainerStatuses":[
    {"name":"init","state":{"running":{}}},
    {"name":"side","state":{"terminated":{"finishedAt":"2026-11-22T10:00:07Z"}}}]}})")),
      moment("2026-11-22T10:00:07Z"));
  EXPECT_EQ(finished_time(job_pod(R"({"status":{"conditions":[
    {"type":"Ready","status":"False","lastTransitionTime":"2026-11-22T10:00:02Z"}],
    "containerStatuses":[{"state":{"running":{}}}]}})")),
            moment("2026-11-22T10:00:02Z"));
  EXPECT_EQ(finished_time(job_pod(R"({"metadata":{"deletionTimestamp":"2026-11-22T10:00:30Z",
    "deletionGracePeriodSeconds":30}})")),
            moment("2026-11-22T10:00:00Z"));
  EXPECT_EQ(finished_time(job_pod(R"({"metadata":{"creationTimestamp":"2026-11-22T09:00:00Z"}})")),
            moment("2026-11-22T09:00:00Z"));
}

TEST(JobPods, FailWhenTheyAreDeletedUnlessFailedOnesAloneAreReplaced) {
  const auto ending =
      job_pod(R"({"metadata":{"deletionTimestamp":"2026-11-22T10:00:30Z"},"status":{"phase":"Running"}})");
  const auto plain = parse_json(R"({"spec":{}})"), strict = parse_json(R"({"spec":{"podReplacementPolicy":"Failed"}})");
  EXPECT_TRUE(has_failed(ending, JobSpec(plain.root())));
  EXPECT_FALSE(has_failed(ending, JobSpec(strict.root())));
  EXPECT_TRUE(has_failed(job_pod(kFailedWith42), JobSpec(strict.root())));
}

TEST(JobPods, HaveNamesThatFitInALabel) {
  EXPECT_EQ(pod_name_prefix("work", 3), "work-3-");
  EXPECT_EQ(pod_name_prefix(std::string(63, 'j'), 12), std::string(54, 'j') + "-12-");
}

}  // namespace
}  // namespace sublet::controllers
