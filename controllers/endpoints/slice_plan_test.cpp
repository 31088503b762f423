#include "controllers/endpoints/slice_plan.h"

#include <gtest/gtest.h>

#include "controllers/endpoints/mirrored_slices.h"
#include "controllers/endpoints/subsets.h"
#include "tests/support/parse_json.h"

namespace sublet::controllers {
namespace {

using schema::Document;
using schema::Value;
using testing_support::parse_json;

Document service(std::string_view spec = R"({"ports":[{"name":"http","port":80,"targetPort":8080}]})",
                 std::string_view labels = R"({"app":"web"})") {
  auto made = parse_json(R"({"metadata":{"name":"web","namespace":"ns","uid":"s"}})");
  made["metadata"].put("labels", parse_json(labels).root());
  made.root().put("spec", parse_json(spec).root());
  made["spec"].put("clusterIP", "10.96.0.9");
  return made;
}

Document endpoint_pod(int number, std::string_view ready = "True", std::string_view extra = "{}") {
  const auto n = std::to_string(number);
  auto made =
      parse_json(R"({"metadata":{"name":"p)" + n + R"(","namespace":"ns","uid":"u)" + n + R"("},"spec":{"nodeName":
    "n1","containers":[{"ports":[{"name":"web","containerPort":9090}]}]},"status":{"phase":"Running","podIP":"10.0.0.)" +
                 n + R"(","podIPs":[{"ip":"10.0.0.)" + n + R"("}]}})");
  auto condition = made["status"].array("conditions").push_object();
  condition.put("type", "Ready");
  condition.put("status", ready);
  const auto more = parse_json(extra);
  for (Value member : more.root())
    for (Value field : member) made.root().object(member.key()).put(field.key(), field);
  return made;
}

std::vector<Document> pods(int first, int last) {
  std::vector<Document> made;
  for (int i = first; i <= last; ++i) made.push_back(endpoint_pod(i));
  return made;
}

std::string no_zone(std::string_view) { return ""; }

/// What the API server makes of a plan: the slices that are there afterwards.
std::vector<Document> apply(std::vector<Document> slices, SlicePlan plan) {
  static int made = 0;
  std::erase_if(slices, [&](const Document& slice) {
    return std::find(plan.removals.begin(), plan.removals.end(), slice["metadata"]["name"].text()) !=
           plan.removals.end();
  });
  for (auto& update : plan.updates)
    for (auto& slice : slices)
      if (slice["metadata"]["name"].text() == update["metadata"]["name"].text()) slice = update.clone();
  for (auto& fresh : plan.creates) {
    fresh["metadata"].put("name", fresh["metadata"]["generateName"].string() + std::to_string(++made));
    fresh["metadata"].erase("generateName");
    slices.push_back(std::move(fresh));
  }
  return slices;
}

std::vector<std::size_t> sizes(const std::vector<Document>& slices) {
  std::vector<std::size_t> all;
  for (const auto& slice : slices) all.push_back(slice["endpoints"].size());
  std::sort(all.begin(), all.end());
  return all;
}

bool is_empty(const SlicePlan& plan) { return plan.creates.empty() && plan.updates.empty() && plan.removals.empty(); }

TEST(SlicePlan, SaysWhatIsToBeSaidOfAPod) {
  auto plan = plan_slices(service().root(), pods(1, 1), [](std::string_view) { return std::string("z1"); }, {});
  ASSERT_EQ(plan.creates.size(), 1u);
  const auto& slice = plan.creates[0];
  EXPECT_TRUE(slice["metadata"].equals(
      parse_json(R"({"generateName":"web-","namespace":"ns","labels":{"app":"web","kubernetes.io/service-name":"web",
        "endpointslice.kubernetes.io/managed-by":"endpointslice-controller.k8s.io"},"ownerReferences":[{"apiVersion":
        "v1","kind":"Service","name":"web","uid":"s","controller":true,"blockOwnerDeletion":true}]})")
          .root()))
      << slice["metadata"].to_json();
  EXPECT_EQ(slice["addressType"].text(), "IPv4");
  EXPECT_EQ(slice["ports"].to_json(), R"([{"name":"http","port":8080,"protocol":"TCP"}])");
  EXPECT_TRUE(slice["endpoints"].equals(
      parse_json(
          R"([{"addresses":["10.0.0.1"],"conditions":{"ready":true,"serving":true,"terminating":false},"targetRef":
        {"kind":"Pod","namespace":"ns","name":"p1","uid":"u1"},"nodeName":"n1","zone":"z1"}])")
          .root()))
      << slice["endpoints"].to_json();
}

TEST(SlicePlan, TellsReadyServingAndTerminatingApart) {
  struct Case {
    std::string_view ready, extra;
    bool publish;
    std::string conditions;
  };
  const std::string_view ending = R"({"metadata":{"deletionTimestamp":"2026-11-22T10:00:00Z"}})";
  for (const auto& [ready, extra, publish, conditions] :
       std::initializer_list<Case>{{"True", "{}", false, R"({"ready":true,"serving":true,"terminating":false})"},
                                   {"False", "{}", false, R"({"ready":false,"serving":false,"terminating":false})"},
                                   {"True", ending, false, R"({"ready":false,"serving":true,"terminating":true})"},
                                   {"False", ending, true, R"({"ready":true,"serving":false,"terminating":true})"}}) {
    auto wanted = service();
    if (publish) wanted["spec"].put("publishNotReadyAddresses", true);
    std::vector<Document> one;
    one.push_back(endpoint_pod(1, ready, extra));
    auto plan = plan_slices(wanted.root(), one, no_zone, {});
    ASSERT_EQ(plan.creates.size(), 1u);
    EXPECT_EQ(plan.creates[0]["endpoints"].at(0)["conditions"].to_json(), conditions);
  }
}

TEST(SlicePlan, LeavesOutWhatHasEndedOrHasNoAddress) {
  std::vector<Document> three;
  three.push_back(endpoint_pod(1, "False", R"({"status":{"phase":"Succeeded"}})"));
  three.push_back(endpoint_pod(2, "False", R"({"status":{"phase":"Failed"}})"));
  three.push_back(endpoint_pod(3, "False", R"({"status":{"podIP":"","podIPs":[]}})"));
  auto plan = plan_slices(service().root(), three, no_zone, {});
  ASSERT_EQ(plan.creates.size(), 1u) << "the placeholder";
  EXPECT_TRUE(plan.creates[0]["endpoints"].empty() && plan.creates[0]["ports"].empty());
}

TEST(SlicePlan, IsEmptyWhenNothingHasChanged) {
  for (int last : {0, 1, 250}) {
    const auto slices = apply({}, plan_slices(service().root(), pods(1, last), no_zone, {}));
    EXPECT_TRUE(is_empty(plan_slices(service().root(), pods(1, last), no_zone, slices))) << last;
  }
}

TEST(SlicePlan, FillsSlicesUpAndKeepsTheRestAsItIs) {
  auto slices = apply({}, plan_slices(service().root(), pods(1, 25), no_zone, {}, 10));
  EXPECT_EQ(sizes(slices), (std::vector<std::size_t>{5, 10, 10}));
  auto plan = plan_slices(service().root(), pods(1, 27), no_zone, slices, 10);
  EXPECT_EQ(plan.creates.size() + plan.removals.size(), 0u);
  EXPECT_EQ(plan.updates.size(), 1u);
  slices = apply(std::move(slices), std::move(plan));
  EXPECT_EQ(sizes(slices), (std::vector<std::size_t>{7, 10, 10}));
  plan = plan_slices(service().root(), pods(3, 28), no_zone, slices, 10);
  EXPECT_EQ(plan.updates.size(), 1u) << "the place of those that went is taken";
  slices = apply(std::move(slices), std::move(plan));
  EXPECT_EQ(sizes(slices), (std::vector<std::size_t>{7, 9, 10}));
}

TEST(SlicePlan, APodOfTheSameNameAndAddressIsBroughtUpToDateWhereItStands) {
  const auto slices = apply({}, plan_slices(service().root(), pods(1, 3), no_zone, {}));
  auto changed = pods(1, 3);
  changed[1] = endpoint_pod(2, "False");
  auto plan = plan_slices(service().root(), changed, no_zone, slices);
  ASSERT_EQ(plan.updates.size(), 1u);
  EXPECT_FALSE(plan.updates[0]["endpoints"].at(1)["conditions"]["ready"].boolean(true));
  EXPECT_EQ(plan.updates[0]["endpoints"].at(1)["targetRef"]["name"].text(), "p2");
}

TEST(SlicePlan, GroupsPodsByTheNumbersBehindNamedPorts) {
  const auto named = service(R"({"ports":[{"name":"http","port":80,"targetPort":"web"}]})");
  auto two = pods(1, 1);
  two.push_back(
      endpoint_pod(2, "True", R"({"spec":{"containers":[{"ports":[{"name":"web","containerPort":7070}]}]}})"));
  auto plan = plan_slices(named.root(), two, no_zone, {});
  ASSERT_EQ(plan.creates.size(), 2u);
  const auto slices = apply({}, std::move(plan));
  plan = plan_slices(named.root(), pods(1, 1), no_zone, slices);
  EXPECT_EQ(plan.removals.size(), 1u) << "no pod has the other number any more";
}

TEST(SlicePlan, TheLastEndpointLeavesAPlaceholderInTheSameSlice) {
  const auto slices = apply({}, plan_slices(service().root(), pods(1, 2), no_zone, {}));
  auto plan = plan_slices(service().root(), {}, no_zone, slices);
  EXPECT_EQ(plan.creates.size() + plan.removals.size(), 0u);
  ASSERT_EQ(plan.updates.size(), 1u);
  EXPECT_TRUE(plan.updates[0]["endpoints"].empty() && plan.updates[0]["ports"].empty());
}

TEST(SlicePlan, SlicesCarryTheServicesLabels) {
  const auto slices = apply({}, plan_slices(service().root(), pods(1, 1), no_zone, {}));
  const auto relabelled = service(R"({"ports":[{"name":"http","port":80,"targetPort":8080}]})",
                                  R"({"tier":"x","kubernetes.io/service-name":"other"})");
  auto plan = plan_slices(relabelled.root(), pods(1, 1), no_zone, slices);
  ASSERT_EQ(plan.updates.size(), 1u);
  EXPECT_TRUE(plan.updates[0]["metadata"]["labels"].equals(parse_json(R"({"tier":"x","kubernetes.io/service-name":"web",
        "endpointslice.kubernetes.io/managed-by":"endpointslice-controller.k8s.io"})")
                                                               .root()));
}

TEST(SlicePlan, HeadlessServicesAndHostNames) {
  auto headless = service(R"({"ports":[]})");
  headless["spec"].put("clusterIP", "None");
  std::vector<Document> one;
  one.push_back(endpoint_pod(1, "True", R"({"spec":{"hostname":"first","subdomain":"web"}})"));
  auto plan = plan_slices(headless.root(), one, no_zone, {});
  ASSERT_EQ(plan.creates.size(), 1u);
  EXPECT_TRUE(plan.creates[0]["metadata"]["labels"].has("service.kubernetes.io/headless"));
  EXPECT_EQ(plan.creates[0]["endpoints"].at(0)["hostname"].text(), "first");
}

TEST(SlicePlan, HintsFollowTheWishedDistribution) {
  auto close = service();
  close["spec"].put("trafficDistribution", "PreferSameNode");
  auto plan = plan_slices(close.root(), pods(1, 1), [](std::string_view) { return std::string("z1"); }, {});
  EXPECT_EQ(plan.creates[0]["endpoints"].at(0)["hints"].to_json(),
            R"({"forZones":[{"name":"z1"}],"forNodes":[{"name":"n1"}]})");
}

TEST(SlicePlan, EachFamilyHasSlicesOfItsOwn) {
  auto dual = service();
  dual["spec"].put("ipFamilies", parse_json(R"(["IPv6","IPv4"])").root());
  std::vector<Document> one;
  one.push_back(endpoint_pod(1, "True", R"({"status":{"podIPs":[{"ip":"10.0.0.1"},{"ip":"fd00::1"}]}})"));
  auto slices = apply({}, plan_slices(dual.root(), one, no_zone, {}));
  ASSERT_EQ(slices.size(), 2u);
  EXPECT_EQ(slices[0]["addressType"].text(), "IPv6");
  EXPECT_EQ(slices[0]["endpoints"].at(0)["addresses"].to_json(), R"(["fd00::1"])");
  dual["spec"].put("ipFamilies", parse_json(R"(["IPv4"])").root());
  EXPECT_EQ(plan_slices(dual.root(), one, no_zone, slices).removals.size(), 1u);
}

std::string subsets_of(const Document& of, const std::vector<Document>& selected) {
  return make_subsets(of.root(), selected).to_json();
}

TEST(Subsets, HoldAddressesByTheirPorts) {
  auto two = pods(1, 1);
  two.push_back(endpoint_pod(2, "False"));
  EXPECT_EQ(subsets_of(service(), two),
            R"([{"addresses":[{"ip":"10.0.0.1","nodeName":"n1","targetRef":{"kind":"Pod","namespace":"ns","name":"p1",)"
            R"("uid":"u1"}}],"notReadyAddresses":[{"ip":"10.0.0.2","nodeName":"n1","targetRef":{"kind":"Pod",)"
            R"("namespace":"ns","name":"p2","uid":"u2"}}],"ports":[{"name":"http","port":8080,"protocol":"TCP"}]}])");
  EXPECT_EQ(subsets_of(service(), {}), "[]");
}

TEST(Subsets, PortsOfTheSameAddressesStandTogether) {
  const auto two_ports = service(R"({"ports":[{"name":"b","port":2,"targetPort":20},{"name":"a","port":1,
    "targetPort":"web"}]})");
  auto made = make_subsets(two_ports.root(), pods(1, 2));
  ASSERT_EQ(made.root().size(), 1u);
  EXPECT_EQ(made.root().at(0)["ports"].to_json(),
            R"([{"name":"a","port":9090,"protocol":"TCP"},{"name":"b","port":20,"protocol":"TCP"}])");
  EXPECT_EQ(made.root().at(0)["addresses"].size(), 2u);
}

TEST(Subsets, EndingPodsAreLeftOutUnlessAllArePublished) {
  std::vector<Document> one;
  one.push_back(endpoint_pod(1, "True", R"({"metadata":{"deletionTimestamp":"2026-11-22T10:00:00Z"}})"));
  EXPECT_EQ(subsets_of(service(), one), "[]");
  auto all = service();
  all["spec"].put("publishNotReadyAddresses", true);
  EXPECT_EQ(make_subsets(all.root(), one).root().at(0)["addresses"].size(), 1u);
}

TEST(Subsets, AreCutDownToTheCapacityReadyOnesFirst) {
  auto made = parse_json(
      R"([{"addresses":[1,2,3],"notReadyAddresses":[1,2,3,4]},{"addresses":[1],"notReadyAddresses":[1,2]}])");
  EXPECT_FALSE(truncate_subsets(made.root(), 10));
  EXPECT_TRUE(truncate_subsets(made.root(), 7));
  EXPECT_EQ(made.to_json(),
            R"([{"addresses":[1,2,3],"notReadyAddresses":[1,2]},{"addresses":[1],"notReadyAddresses":[1]}])");
  EXPECT_TRUE(truncate_subsets(made.root(), 3));
  EXPECT_EQ(made.to_json(), R"([{"addresses":[1,2,3]},{"addresses":[]}])");
}

Document endpoints() {
  return parse_json(R"({"metadata":{"name":"db","namespace":"ns","uid":"e","labels":{"a":"b"},"annotations":{"x":"y",
    "kubectl.kubernetes.io/last-applied-configuration":"{}"}},"subsets":[{"addresses":[{"ip":"1.2.3.4"},{"ip":"fd00::1"}],
    "notReadyAddresses":[{"ip":"1.2.3.5","hostname":"h"}],"ports":[{"name":"sql","port":5432,"protocol":"TCP"}]}]})");
}

TEST(MirroredSlices, SayWhatTheEndpointsSay) {
  auto plan = plan_mirror(endpoints().root(), {});
  ASSERT_EQ(plan.slices.creates.size(), 2u);
  const auto& slice = plan.slices.creates[0];
  EXPECT_EQ(slice["addressType"].text(), "IPv4");
  EXPECT_EQ(slice["endpoints"].to_json(), R"([{"addresses":["1.2.3.4"],"conditions":{"ready":true}},)"
                                          R"({"addresses":["1.2.3.5"],"conditions":{"ready":false},"hostname":"h"}])");
  EXPECT_EQ(slice["metadata"]["annotations"].to_json(), R"({"x":"y"})");
  EXPECT_EQ(slice["metadata"]["labels"]["endpointslice.kubernetes.io/managed-by"].text(), kMirroringController);
  const auto slices = apply({}, std::move(plan.slices));
  EXPECT_TRUE(is_empty(plan_mirror(endpoints().root(), slices).slices));
  auto changed = endpoints();
  changed["subsets"].at(0).erase("notReadyAddresses");
  plan = plan_mirror(changed.root(), slices);
  EXPECT_EQ(plan.slices.updates.size(), 1u);
  changed.root().erase("subsets");
  EXPECT_EQ(plan_mirror(changed.root(), slices).slices.removals.size(), 2u);
}

TEST(MirroredSlices, SomeEndpointsAreNotMirrored) {
  EXPECT_TRUE(may_be_mirrored(endpoints().root()));
  EXPECT_FALSE(may_be_mirrored(
      parse_json(R"({"metadata":{"labels":{"endpointslice.kubernetes.io/skip-mirror":"true"}}})").root()));
  EXPECT_FALSE(may_be_mirrored(
      parse_json(R"({"metadata":{"annotations":{"control-plane.alpha.kubernetes.io/leader":"{}"}}})").root()));
}

}  // namespace
}  // namespace sublet::controllers
