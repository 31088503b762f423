// Upstream's fixtures, and what upstream's own library says of each of them, to the letter: tests/podsecurity has them.
#include "sublet/podsecurity/check_pod.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iostream>
#include <map>

#include "tests/support/source_path.h"

namespace sublet::podsecurity {
namespace {

using schema::Document;
using schema::Value;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr std::int64_t kNewest = 37;  // one beyond the newest that upstream was asked for: latest
constexpr Level kLevels[] = {Level::baseline, Level::restricted};

Document parse(std::string_view json) { return Document::parse_json(json).value(); }

Violations check(const Value& pod, Level level, std::int64_t minor) {
  const LevelVersion wanted{level, minor == kNewest ? Version{} : Version{minor}};
  return check_pod(wanted, pod["metadata"], pod["spec"]);
}

Violations named(const Value& verdict, const Value& said) {
  Violations violations;
  for (std::size_t i = 1; i < verdict.size(); ++i) {
    const Value pair = said.at(static_cast<std::size_t>(verdict.at(i).integer()));
    violations.push_back({pair.at(0).string(), pair.at(1).string()});
  }
  return violations;
}

class Fixtures : public testing::Test {
 protected:
  void SetUp() override {
    std::ifstream file(source_path("tests/podsecurity/fixtures.jsonl"));
    std::string line;
    while (std::getline(file, line)) lines_.push_back(parse(line));
    ASSERT_GT(lines_.size(), 400u);
  }
  Value said() const { return lines_[0].root(); }
  template <class Visit>
  void each_pod(Visit visit) const {
    for (std::size_t i = 1; i < lines_.size(); ++i) visit(lines_[i].root());
  }

 private:
  std::vector<Document> lines_;
};

// The API gives a volume of nothing an emptyDir before anybody looks at it.
void default_volumes(const Value& pod) {
  for (Value volume : pod["spec"]["volumes"])
    if (volume.size() == 1) volume.object("emptyDir");
}

TEST_F(Fixtures, PassAndFailAsUpstreamFilesThem) {
  std::map<std::string, int> counts;
  each_pod([&](const Value& line) {
    default_volumes(line["pod"]);
    for (const Level level : kLevels)
      for (const bool passes : {true, false}) {
        const auto folder = std::string(level_name(level)) + (passes ? "/pass" : "/fail");
        for (const Value range : line["files"][folder])
          for (auto minor = range.at(0).integer(); minor <= range.at(1).integer(); ++minor) {
            ++counts[folder];
            EXPECT_EQ(check(line["pod"], level, minor).empty(), passes)
                << folder << " v1." << minor << " " << line["pod"].to_json();
          }
      }
  });
  for (const auto& [folder, count] : counts) std::cout << folder << ": " << count << "\n";
  EXPECT_EQ(counts["baseline/pass"] + counts["baseline/fail"] + counts["restricted/pass"] + counts["restricted/fail"],
            4241);
}

TEST_F(Fixtures, AreJudgedInUpstreamsWordsAtEveryLevelInEveryVersion) {
  int verdicts = 0, differing = 0;
  each_pod([&](const Value& line) {
    for (const Level level : kLevels) {
      const Value list = line["verdicts"][level_name(level)];
      for (std::size_t at = 0; at < list.size(); ++at) {
        const auto end = at + 1 < list.size() ? list.at(at + 1).at(0).integer() : kNewest + 1;
        const auto expected = named(list.at(at), said());
        for (auto minor = list.at(at).at(0).integer(); minor < end; ++minor, ++verdicts) {
          const auto found = check(line["pod"], level, minor);
          if (found == expected || ++differing > 20) continue;
          ADD_FAILURE() << level_name(level) << " v1." << minor << "\n  " << details_of(found) << "\nis not\n  "
                        << details_of(expected) << "\n"
                        << line["pod"].to_json();
        }
      }
    }
  });
  std::cout << verdicts << " verdicts, " << differing << " differ\n";
  EXPECT_EQ(differing, 0);
  EXPECT_GT(verdicts, 30'000);
}

TEST(CheckPod, SaysManyThingsAtOnce) {
  const auto pod = parse(R"({"spec":{"hostPID":true,"containers":[
      {"name":"a","securityContext":{"privileged":true},"ports":[{"hostPort":9090},{"hostPort":8080}]}]}})");
  const auto violations = check_pod({Level::baseline, {}}, pod["metadata"], pod["spec"]);
  EXPECT_EQ(reasons_of(violations), "host namespaces, hostPort, privileged");
  EXPECT_EQ(details_of(violations),
            "host namespaces (hostPID=true), hostPort (container \"a\" uses hostPorts 8080, 9090), "
            "privileged (container \"a\" must not set securityContext.privileged=true)");
  EXPECT_THAT(check_pod({Level::privileged, {}}, pod["metadata"], pod["spec"]), IsEmpty());
}

TEST(CheckPod, VersionsToComeAreLikeTheNewest) {
  const auto pod =
      parse(R"({"spec":{"hostUsers":false,"containers":[{"name":"a","securityContext":{"procMount":"Unmasked"}}]}})");
  EXPECT_THAT(check_pod({Level::baseline, {35}}, pod["metadata"], pod["spec"]), IsEmpty());
  EXPECT_THAT(check_pod({Level::baseline, {9000}}, pod["metadata"], pod["spec"]), IsEmpty());
  EXPECT_EQ(check_pod({Level::baseline, {34}}, pod["metadata"], pod["spec"]).size(), 1u);
}

// --- the labels ---

struct Read {
  Policy policy;
  std::vector<Cause> wrong;
};

Read read(std::string_view labels, const Policy& defaults = {}) {
  const auto document = parse(labels);
  Read result;
  result.policy = policy_of(document.root(), defaults, result.wrong);
  return result;
}

constexpr LevelVersion kPrivileged{}, kRestricted{Level::restricted, {}}, kBaseline25{Level::baseline, {25}};

TEST(PolicyOf, SaysNothingWithoutLabels) {
  EXPECT_EQ(read(R"({"team":"a","kubernetes.io/metadata.name":"x"})").policy, Policy());
  const Policy defaults{kBaseline25, kRestricted, kPrivileged};
  EXPECT_EQ(read("{}", defaults).policy, defaults);
}

TEST(PolicyOf, ReadsEachMode) {
  const auto all = read(R"({"pod-security.kubernetes.io/enforce":"baseline",
      "pod-security.kubernetes.io/enforce-version":"v1.25","pod-security.kubernetes.io/audit":"restricted",
      "pod-security.kubernetes.io/warn":"restricted","pod-security.kubernetes.io/warn-version":"latest"})");
  EXPECT_EQ(all.policy, (Policy{kBaseline25, kRestricted, kRestricted}));
  EXPECT_THAT(all.wrong, IsEmpty());
  EXPECT_EQ(all.policy.enforce.text(), "baseline:v1.25");
  EXPECT_EQ(all.policy.warn.text(), "restricted:latest");
}

TEST(PolicyOf, WarnsOfWhatIsEnforced) {
  constexpr auto kEnforced = R"({"pod-security.kubernetes.io/enforce":"baseline",
      "pod-security.kubernetes.io/enforce-version":"v1.25"})";
  EXPECT_EQ(read(kEnforced).policy, (Policy{kBaseline25, kPrivileged, kBaseline25}));
  EXPECT_EQ(read(kEnforced, {kPrivileged, kPrivileged, kRestricted}).policy.warn, kRestricted) << "which is stricter";
  EXPECT_EQ(
      read(R"({"pod-security.kubernetes.io/enforce":"restricted","pod-security.kubernetes.io/warn":"privileged"})")
          .policy.warn,
      kPrivileged);
  EXPECT_EQ(
      read(R"({"pod-security.kubernetes.io/enforce":"baseline","pod-security.kubernetes.io/warn-version":"v1.25"})")
          .policy.warn,
      kBaseline25);
}

TEST(PolicyOf, WrongLabelsAreNamedAndCountAsStrict) {
  const auto wrong = read(R"({"pod-security.kubernetes.io/enforce":"strict",
      "pod-security.kubernetes.io/enforce-version":"1.25","pod-security.kubernetes.io/audit":"",
      "pod-security.kubernetes.io/warn":"Baseline","pod-security.kubernetes.io/warn-version":"v1.025"})");
  EXPECT_EQ(wrong.policy, (Policy{kRestricted, kPrivileged, kPrivileged}));
  const std::string level = ": must be one of privileged, baseline, restricted",
                    version = R"(: must be "latest" or "v1.x")";
  const auto cause = [](std::string value, const std::string& why, std::string label) {
    return Cause{"FieldValueInvalid", "Invalid value: \"" + value + "\"" + why,
                 "metadata.labels[pod-security.kubernetes.io/" + label + "]"};
  };
  EXPECT_THAT(wrong.wrong, ElementsAre(cause("strict", level, "enforce"), cause("1.25", version, "enforce-version"),
                                       cause("", level, "audit"), cause("Baseline", level, "warn"),
                                       cause("v1.025", version, "warn-version")));
}

TEST(PolicyOf, VersionsAreV1AndANumber) {
  const auto is_good = [](const std::string& version) {
    return read(R"({"pod-security.kubernetes.io/enforce-version":")" + version + "\"}").wrong.empty();
  };
  for (const auto* good : {"latest", "v1.0", "v1.9", "v1.36", "v1.4711"}) EXPECT_TRUE(is_good(good)) << good;
  for (const auto* bad :
       {"", "v1", "v1.", "v2.0", "v1.-1", "v1.+1", "v1.00", "v1.1x", "v1.99999999999999999999", "Latest"})
    EXPECT_FALSE(is_good(bad)) << bad;
}

}  // namespace
}  // namespace sublet::podsecurity
