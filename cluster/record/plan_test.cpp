#include "sublet/cluster/plan.h"

#include <gtest/gtest.h>

#include "cluster/folder_testing.h"

namespace sublet::cluster {
namespace {

using testing_support::TestFolder;
using testing_support::write_file;

std::string refusal(const PlanRequest& request) {
  const auto plan = make_plan(request);
  return plan ? "planned" : plan.error().message;
}

TEST(Plan, GivesWhatWasNotSaid) {
  const auto plan = make_plan({.name = "rag"});
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_EQ(plan->cluster.host_namespace, "sublet-rag");
  EXPECT_EQ(plan->cluster.host_service_account, "sublet-workload-rag");
  EXPECT_EQ(plan->cluster.uid.size(), 36u);
  EXPECT_NE(make_plan({.name = "rag"})->cluster.uid, plan->cluster.uid);
  EXPECT_FALSE(plan->cluster.created.empty());
  EXPECT_EQ(plan->cluster.template_text, "");
}

TEST(Plan, QuotasAreWholeBytesAndNotLessThanNothing) {
  EXPECT_EQ(bytes_of("2Gi").value(), std::int64_t{2} << 30);
  EXPECT_EQ(bytes_of("500M").value(), 500'000'000);
  EXPECT_EQ(bytes_of("0").value(), 0);
  for (const char* text : {"", "lots", "-1", "1m", "1.5", "2GB", "9e30"}) {
    const auto refused = bytes_of(text);
    ASSERT_FALSE(refused) << text;
    EXPECT_NE(refused.error().message.find("is no number of bytes"), std::string::npos) << text;
  }
  const auto plan = make_plan({.name = "rag", .quota = {.objects = 10, .bytes = {}}});
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->cluster.quota.objects, 10);
  EXPECT_FALSE(plan->cluster.quota.bytes);
  EXPECT_NE(refusal({.name = "rag", .quota = {.objects = -1, .bytes = {}}}).find("less than 0"), std::string::npos);
}

TEST(Plan, PodsReachAnAddressThatIsNotTheirOwn) {
  const auto plan = make_plan({.name = "rag", .pod_address = "10.0.0.5"});
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_EQ(plan->cluster.pod_access, (PodAccess{"10.0.0.5", "10.0.0.5", 0, ""}));
  EXPECT_EQ(make_plan({.name = "rag", .pod_address = "fd00::5", .pod_listen = "10.0.0.6"})->cluster.pod_access.listen,
            "10.0.0.6");
  EXPECT_FALSE(make_plan({.name = "rag"})->cluster.pod_access.given());
  for (const char* address : {"host.example", "10.0.0.0/8", "10.0.0", "[fd00::5]", "10.0.0.5:443"})
    EXPECT_NE(refusal({.name = "rag", .pod_address = address}).find("no address in numbers"), std::string::npos);
  for (const char* address : {"127.0.0.1", "127.9.9.9", "::1"})
    EXPECT_NE(refusal({.name = "rag", .pod_address = address}).find("loopback"), std::string::npos) << address;
  EXPECT_NE(refusal({.name = "rag", .pod_address = "10.0.0.5", .pod_listen = "0.0.0.0"}).find("name one address"),
            std::string::npos);
  EXPECT_NE(refusal({.name = "rag", .pod_listen = "10.0.0.5"}).find("give that one too"), std::string::npos);
}

TEST(Plan, RefusesNamesThatWouldMakeHostNamesAmbiguous) {
  for (const char* name : {"a-x-b", "x-a", "a-x", "x"})
    EXPECT_NE(refusal({.name = name}).find("host names"), std::string::npos) << name;
  EXPECT_NE(refusal({.name = "Rag"}).find("only lower-case"), std::string::npos);
  EXPECT_NE(refusal({.name = "-rag"}).find("may not start"), std::string::npos);
  EXPECT_NE(refusal({.name = std::string(41, 'a')}).find("at most 40"), std::string::npos);
  EXPECT_EQ(refusal({.name = std::string(40, 'a')}), "planned");
  EXPECT_EQ(refusal({.name = ""}), "name is empty");
  EXPECT_NE(refusal({.name = "rag", .host_namespace = "a_b"}).find("namespace a_b"), std::string::npos);
  for (const char* own : {"default", "kube-system", "kube-public", "kube-node-lease"})
    EXPECT_NE(refusal({.name = "rag", .host_namespace = own}).find("it is the host's own"), std::string::npos) << own;
  EXPECT_NE(refusal({.name = "rag", .host_namespace = std::string(64, 'a')}).find("at most 63"), std::string::npos);
}

TEST(Plan, PodsRunUnderTheAccountThatTheTemplateNamesButNeverUnderAnothers) {
  const TestFolder folder;
  const std::string file = folder.path + "/t.yaml";
  const auto planned = [&](const std::string& name) {
    write_file(file, "controlPlane: {advanced: {workloadServiceAccount: {name: '" + name + "'}}}\n");
    return make_plan({.name = "rag", .template_file = file});
  };
  EXPECT_EQ(planned("").value().cluster.host_service_account, "sublet-workload-rag");
  EXPECT_EQ(planned("rag-pods").value().cluster.host_service_account, "rag-pods");
  for (const char* others : {"default", "sublet-syncer-rag", "sublet-syncer-other"})
    EXPECT_NE(planned(others).error().message.find("is another's"), std::string::npos) << others;
}

TEST(Plan, KnowsWhetherPeopleAreLedInThroughTheHost) {
  const TestFolder folder;
  const std::string file = folder.path + "/t.yaml";
  const auto leads_in = [&](const std::string& text) {
    write_file(file, text);
    return make_plan({.name = "rag", .template_file = file}).value().needs_pod_access;
  };
  EXPECT_FALSE(leads_in("controlPlane: {ingress: {enabled: false, host: a.example}, service: {annotations: {}}}\n"));
  EXPECT_TRUE(leads_in("controlPlane: {ingress: {enabled: true, host: a.example}}\n"));
  EXPECT_TRUE(leads_in("controlPlane: {tlsRoute: {enabled: true, host: a.example}}\n"));
  EXPECT_TRUE(leads_in("controlPlane: {service: {spec: {type: LoadBalancer}}}\n"));
}

TEST(Plan, TellsTheTemplatesMistakesBeforeAnythingStarts) {
  const TestFolder folder;
  const std::string file = folder.path + "/t.yaml";
  EXPECT_TRUE(make_plan({.name = "rag", .template_file = file}).error().is(Reason::not_found));
  write_file(file, "parameters:\n  - name: q\npatchez: []\n");
  EXPECT_NE(refusal({.name = "rag", .template_file = file}).find("t.yaml:3"), std::string::npos);
  write_file(file, "parameters:\n  - name: q\n");
  EXPECT_NE(refusal({.name = "rag", .template_file = file, .parameters = {{"queue", "a"}}}).find("queue"),
            std::string::npos);
  const auto plan = make_plan({.name = "rag", .template_file = file, .parameters = {{"q", "a"}}});
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_EQ(plan->cluster.template_text, "parameters:\n  - name: q\n");
  EXPECT_EQ(plan->cluster.parameters.at("q"), "a");
}

}  // namespace
}  // namespace sublet::cluster
