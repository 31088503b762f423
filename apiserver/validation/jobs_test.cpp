#include "apiserver/validation/jobs.h"

#include <gtest/gtest.h>

#include "apiserver/validation/causes_testing.h"
#include "tests/support/parse_json.h"

namespace sublet::apiserver {
namespace {

using testing_support::parse_json;

std::string job(std::string_view spec) {
  Causes causes;
  validate_job_spec(causes, "spec", parse_json(spec).root());
  return causes_lines(causes);
}

std::string schedule(std::string_view spec) {
  Causes causes;
  validate_schedule(causes, parse_json(spec).root());
  return causes_lines(causes);
}

TEST(JobSpec, IndexesNeedCompletions) {
  EXPECT_EQ(job(R"({"completionMode":"Indexed","completions":3,"parallelism":2,"backoffLimitPerIndex":1})"), "");
  EXPECT_EQ(job(R"({"completionMode":"Indexed"})"),
            "spec.completions: Required value: when completion mode is Indexed\n");
  EXPECT_EQ(job(R"({"completionMode":"Sorted"})"),
            "spec.completionMode: Unsupported value: \"Sorted\": supported values: \"NonIndexed\", \"Indexed\"\n");
  EXPECT_EQ(job(R"({"backoffLimitPerIndex":1})"),
            "spec.backoffLimitPerIndex: Invalid value: 1: requires indexed completion mode\n");
  EXPECT_EQ(job(R"({"completionMode":"Indexed","completions":1,"maxFailedIndexes":2,"backoffLimitPerIndex":0})"),
            "spec.maxFailedIndexes: Invalid value: 2: must be less than or equal to completions\n");
  EXPECT_EQ(job(R"({"completionMode":"Indexed","completions":200000,"parallelism":200000,"maxFailedIndexes":1,
    "backoffLimitPerIndex":0})"),
            "spec.parallelism: Invalid value: 200000: must be less than or equal to 100000 when completion mode is "
            "Indexed\nspec.parallelism: Invalid value: 200000: must be less than or equal to 10000 when completions "
            "are above 100000 and used with backoff limit per index\n");
}

TEST(JobSpec, PoliciesAreReadBeforeTheyAreNeeded) {
  const auto failure = [](std::string_view rule) {
    return job(std::string(R"({"template":{"spec":{"restartPolicy":"Never","containers":[{"name":"main"}]}},
      "podFailurePolicy":{"rules":[)")
                   .append(rule) +
               "]}}");
  };
  EXPECT_EQ(failure(R"({"action":"FailJob","onExitCodes":{"containerName":"main","operator":"In","values":[1,2]}})"),
            "");
  EXPECT_EQ(failure(R"({"action":"Shout","onPodConditions":[{"type":"Ready","status":"Maybe"}]})"),
            "spec.podFailurePolicy.rules[0].action: Unsupported value: \"Shout\": supported values: \"Count\", "
            "\"FailIndex\", \"FailJob\", \"Ignore\"\nspec.podFailurePolicy.rules[0].onPodConditions[0].status: "
            "Unsupported value: \"Maybe\": supported values: \"False\", \"True\", \"Unknown\"\n");
  EXPECT_EQ(
      failure(R"({"action":"FailIndex","onExitCodes":{"containerName":"x","operator":"In","values":[2,0,2]}})"),
      "spec.podFailurePolicy.rules[0].action: Invalid value: \"FailIndex\": requires the backoffLimitPerIndex to "
      "be set\nspec.podFailurePolicy.rules[0].onExitCodes.containerName: Invalid value: \"x\": must be one of "
      "the container or initContainer names in the pod template\n"
      "spec.podFailurePolicy.rules[0].onExitCodes.values[1]: Invalid value: 0: must not be 0 for the In operator\n"
      "spec.podFailurePolicy.rules[0].onExitCodes.values[2]: Duplicate value: 2\n"
      "spec.podFailurePolicy.rules[0].onExitCodes.values: Invalid value: [2,0,2]: must be ordered\n");
  EXPECT_EQ(failure(R"({"action":"Count"})"),
            "spec.podFailurePolicy.rules[0]: Invalid value: specifying one of OnExitCodes and OnPodConditions is "
            "required\n");
  EXPECT_EQ(job(R"({"podFailurePolicy":{"rules":[]},"podReplacementPolicy":"TerminatingOrFailed",
    "template":{"spec":{"restartPolicy":"OnFailure"}}})"),
            "spec.podReplacementPolicy: Unsupported value: \"TerminatingOrFailed\": supported values: \"Failed\"\n"
            "spec.template.spec.restartPolicy: Invalid value: \"OnFailure\": only \"Never\" is supported when "
            "podFailurePolicy is specified\n");
}

TEST(JobSpec, SuccessIsAskedOfIndexesThatThereAre) {
  const auto success = [](std::string_view rule) {
    return job(std::string(R"({"completionMode":"Indexed","completions":5,"successPolicy":{"rules":[)").append(rule) +
               "]}}");
  };
  EXPECT_EQ(success(R"({"succeededIndexes":"0-2,4","succeededCount":3})"), "");
  EXPECT_EQ(success(""),
            "spec.successPolicy.rules: Required value: at least one rules must be specified when the "
            "successPolicy is specified\n");
  EXPECT_EQ(success("{}"),
            "spec.successPolicy.rules[0]: Required value: at least one of succeededCount or "
            "succeededIndexes must be specified\n");
  EXPECT_EQ(success(R"({"succeededIndexes":"3-5"})"),
            "spec.successPolicy.rules[0].succeededIndexes: Invalid value: \"3-5\": error parsing succeededIndexes: too "
            "large index: \"5\"\n");
  EXPECT_EQ(success(R"({"succeededIndexes":"3,1"})"),
            "spec.successPolicy.rules[0].succeededIndexes: Invalid value: \"3,1\": error parsing succeededIndexes: "
            "non-increasing order, previous: 3, current: 1\n");
  EXPECT_EQ(success(R"({"succeededIndexes":"1,2","succeededCount":3})"),
            "spec.successPolicy.rules[0].succeededCount: Invalid value: 3: must be less than or equal to 2 (the number "
            "of indexes in the specified succeededIndexes field)\n");
  EXPECT_NE(job(R"({"successPolicy":{"rules":[]}})").find("requires indexed completion mode"), std::string::npos);
}

TEST(JobSpec, AnotherManagerIsNamedByADomain) {
  EXPECT_EQ(job(R"({"managedBy":"example.com/other"})"), "");
  EXPECT_EQ(job(R"({"managedBy":"other"})"),
            "spec.managedBy: Invalid value: \"other\": must be a domain-prefixed path (such as \"acme.io/foo\")\n");
}

TEST(CronJobSpec, ScheduleAndPlaceAreUnderstood) {
  EXPECT_EQ(schedule(R"({"schedule":"*/5 * * * *","timeZone":"UTC","concurrencyPolicy":"Forbid"})"), "");
  EXPECT_EQ(schedule("{}"), "spec.schedule: Required value\n");
  EXPECT_EQ(schedule(R"({"schedule":"61 * * * *"})"),
            "spec.schedule: Invalid value: \"61 * * * *\": end of range (61) above maximum (59): 61\n");
  EXPECT_NE(schedule(R"({"schedule":"TZ=UTC * * * * *"})")
                .find("cannot use TZ or CRON_TZ in schedule, use timeZone field instead"),
            std::string::npos);
  for (auto place : {"Europe/Atlantis", "../etc", "a//b", "x/-y"})
    EXPECT_EQ(schedule(std::string(R"({"schedule":"@daily","timeZone":")") + place + R"("})"),
              "spec.timeZone: Invalid value: \"" + std::string(place) + "\": unknown time zone " + place + "\n");
  EXPECT_EQ(schedule(R"({"schedule":"@daily","timeZone":""})"),
            "spec.timeZone: Invalid value: \"\": timeZone must be nil or non-empty string\n");
  EXPECT_EQ(schedule(R"({"schedule":"@daily","concurrencyPolicy":"Wait"})"),
            "spec.concurrencyPolicy: Unsupported value: \"Wait\": supported values: \"Allow\", \"Forbid\", "
            "\"Replace\"\n");
}

TEST(Completions, FollowTheParallelismOfIndexedJobs) {
  const auto change = [](std::string_view spec) {
    Causes causes;
    validate_completions_kept(causes, parse_json(spec).root(),
                              parse_json(R"({"completions":3,"parallelism":3})").root());
    return causes_lines(causes);
  };
  EXPECT_EQ(change(R"({"completions":3,"parallelism":9})"), "");
  EXPECT_NE(change(R"({"completions":4,"parallelism":4})").find("field is immutable"), std::string::npos);
  EXPECT_EQ(change(R"({"completionMode":"Indexed","completions":4,"parallelism":4})"), "");
  EXPECT_EQ(change(R"({"completionMode":"Indexed","completions":4,"parallelism":3})"),
            "spec.completions: Invalid value: 4: can only be modified in tandem with spec.parallelism\n");
}

}  // namespace
}  // namespace sublet::apiserver
