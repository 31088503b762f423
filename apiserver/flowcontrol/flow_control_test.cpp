// Flow control without requests: whose a request is, who gets seats, who waits and who comes next.
#include "apiserver/flowcontrol/flow_control.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "apiserver/server_testing.h"
#include "sublet/apiserver/flow_objects.h"

namespace sublet::apiserver {
namespace {

using std::chrono::milliseconds;

class Waiter final : public ParkedRequest {
 public:
  explicit Waiter(std::vector<std::string>* told_, std::string name_) : told(told_), name(std::move(name_)) {}
  void resume() override { told->push_back(name); }
  void refuse(Refusal why) override { told->push_back(name + ":" + std::string(refusal_name(why))); }
  Seat own;
  std::vector<std::string>* told;
  std::string name;
};

std::string limited(const std::string& name, int shares, const std::string& more, const std::string& queuing) {
  return R"({"metadata":{"name":")" + name + R"("},"spec":{"type":"Limited","limited":{"nominalConcurrencyShares":)" +
         std::to_string(shares) + more + R"(,"limitResponse":)" + queuing + "}}}";
}
const std::string kQueue = R"({"type":"Queue","queuing":{"queues":8,"handSize":2,"queueLengthLimit":3}})";

std::string schema_for(const std::string& name, const std::string& level, int precedence, const std::string& user) {
  return R"({"metadata":{"name":")" + name + R"("},"spec":{"matchingPrecedence":)" + std::to_string(precedence) +
         R"(,"priorityLevelConfiguration":{"name":")" + level +
         R"("},"distinguisherMethod":{"type":"ByUser"},"rules":[{"subjects":[{"kind":"User","user":{"name":")" + user +
         R"("}}],"resourceRules":[{"verbs":["*"],"apiGroups":["*"],"resources":["*"],"namespaces":["*"],)"
         R"("clusterScope":true}]}]}})";
}

// 105 shares of 105 seats: `a` has 50, `b` 50 of which it lends half, catch-all 5.
class FlowControlTest : public testing::Test {
 protected:
  FlowControlTest() {
    put("prioritylevelconfigurations", limited("a", 50, "", kQueue));
    put("prioritylevelconfigurations", limited("b", 50, R"(,"lendablePercent":50)", kQueue));
    put("flowschemas", schema_for("of-a", "a", 100, "ann"));
    put("flowschemas", schema_for("of-b", "b", 100, "bob"));
    put("flowschemas", schema_for("lost", "nowhere", 50, "ann"));
    control = std::make_unique<FlowControl>(rig.store(), clock, 105, std::set<std::string, std::less<>>{"house"});
  }
  ~FlowControlTest() override { control->stop(); }

  void put(const std::string& resource, const std::string& body) {
    const auto made = rig.post("/apis/flowcontrol.apiserver.k8s.io/v1/" + resource, body);
    ASSERT_EQ(made.code, 201) << made.body;
  }
  std::shared_ptr<const Flow> flow(const std::string& name) {
    user = {name, "", {"system:authenticated"}, {}};
    return control->classify(attributes());
  }
  Attributes attributes() const {
    Attributes made;
    made.user = &user;
    made.verb = "list";
    made.resource = "pods";
    made.namespace_name = "test";
    return made;
  }
  /// Somebody who has got so many seats.
  std::unique_ptr<Seat> seated(const Flow& of, unsigned seats, std::uint64_t value = 7 + 8 * 6) {  // queues 7 and 6
    auto seat = std::make_unique<Seat>();
    return control->enter(of, seats, value, *seat) ? std::move(seat) : nullptr;
  }
  std::shared_ptr<Waiter> wait(const Flow& of, const std::string& name, unsigned seats = 1, std::uint64_t value = 7) {
    auto waiter = std::make_shared<Waiter>(&told, name);
    control->park(of, seats, value, waiter->own, waiter);
    return waiter;
  }

  Rig rig;
  ManualClock clock;
  User user;
  std::unique_ptr<FlowControl> control;
  std::vector<std::string> told;
};

TEST_F(FlowControlTest, SortsRequestsByTheFirstSchemaThatMatches) {
  EXPECT_EQ(flow("ann")->schema->name, "of-a") << "the one before it has no level";
  EXPECT_EQ(flow("bob")->schema->name, "of-b");
  EXPECT_EQ(flow("carl")->schema->name, "catch-all");
  EXPECT_EQ(flow("house")->schema->name, "exempt");
  user = {"root", "", {"system:masters"}, {}};
  EXPECT_EQ(control->classify(attributes())->schema->name, "exempt") << "though nobody has stored it";
  put("flowschemas", schema_for("earlier", "b", 99, "ann"));
  EXPECT_EQ(flow("ann")->schema->name, "earlier");
  ASSERT_EQ(rig.remove("/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas/earlier").code, 200);
  EXPECT_EQ(flow("ann")->schema->name, "of-a");
}

TEST_F(FlowControlTest, ALevelHasItsSeatsAndBorrowsWhatOthersLend) {
  const auto a = flow("ann");
  auto own = seated(*a, 50);
  ASSERT_TRUE(own);
  auto borrowed = seated(*a, 25);
  EXPECT_TRUE(borrowed) << "b lends half of its own";
  EXPECT_FALSE(seated(*a, 1)) << "the other half is b's, and catch-all lends nothing";
  const auto b = flow("bob");
  const auto kept = seated(*b, 25);
  EXPECT_TRUE(kept);
  EXPECT_FALSE(seated(*b, 1)) << "what is lent comes back when it is free";
  borrowed.reset();
  EXPECT_TRUE(seated(*b, 25));
}

TEST_F(FlowControlTest, WhoLendsComesBeforeWhoBorrows) {
  const auto a = flow("ann"), b = flow("bob");
  auto own = seated(*a, 50), borrowed = seated(*a, 25), kept = seated(*b, 25);
  wait(*a, "borrower");
  wait(*b, "owner");
  EXPECT_TRUE(told.empty());
  borrowed.reset();
  EXPECT_EQ(told, (std::vector<std::string>{"owner", "borrower"}));
}

TEST_F(FlowControlTest, AFlowWithManyRequestsLeavesRoomForOneWithFew) {
  const auto a = flow("ann"), b = flow("bob");
  const auto all_of_b = seated(*b, 50);
  auto all = seated(*a, 50);
  std::vector<std::shared_ptr<Waiter>> waiters;
  for (int i = 0; i < 6; ++i) waiters.push_back(wait(*a, "many", 25, 0));  // queues 0 and 1: full
  const auto refused = wait(*a, "many", 25, 0);
  EXPECT_EQ(told, (std::vector<std::string>{"many:queue-full"}));
  waiters.push_back(wait(*a, "few", 25, 3 + 8 * 4));  // queues 3 and 5
  told.clear();
  clock.advance(milliseconds(100));
  all.reset();
  for (auto& waiter : waiters) {
    clock.advance(milliseconds(100));
    waiter->own.give_back();
  }
  ASSERT_EQ(told.size(), 7u);
  const auto place = std::ranges::find(told, "few") - told.begin();
  EXPECT_LE(place, 2) << "it waits for one of each queue at most";
}

TEST_F(FlowControlTest, RequestsCountForTheTimeThatTheyTake) {
  const auto a = flow("ann");
  const auto all_of_b = seated(*flow("bob"), 50);
  auto all = seated(*a, 50);
  std::vector<std::shared_ptr<Waiter>> waiters;
  for (int i = 0; i < 3; ++i) {
    waiters.push_back(wait(*a, "slow", 50, 0));
    waiters.push_back(wait(*a, "fast", 50, 3 + 8 * 4));
  }
  std::size_t seen = 0;
  all.reset();
  while (seen < told.size()) {
    const std::string name = told[seen++];
    const auto at = std::ranges::find_if(
        waiters, [&](const auto& waiter) { return waiter->name == name && waiter->own.keeper != nullptr; });
    ASSERT_NE(at, waiters.end());
    clock.advance(name == "slow" ? milliseconds(100) : milliseconds(1));
    (*at)->own.give_back();
  }
  EXPECT_EQ(told.size(), 6u);
  // Both have two queues. After one request of each, those of the slow ones have had their share for a while.
  EXPECT_EQ(told.back(), "slow");
  EXPECT_EQ(std::ranges::count(told.begin(), told.begin() + 4, "slow"), 2);
}

TEST_F(FlowControlTest, WhoComesNowDoesNotWaitForAFloodThatIsNotCountedYet) {
  const auto a = flow("ann");
  const auto all_of_b = seated(*flow("bob"), 50);
  auto all = seated(*a, 50);
  std::vector<std::shared_ptr<Waiter>> waiters;
  for (int i = 0; i < 6; ++i) waiters.push_back(wait(*a, "flood", 25, 0));
  clock.advance(milliseconds(100));  // time goes on while nothing of the flood is done
  waiters.push_back(wait(*a, "renewal", 1, 3 + 8 * 4));
  all.reset();
  EXPECT_EQ(told, (std::vector<std::string>{"renewal", "flood"}));
}

// They come with an empty queue each time, and have what they were given before on their account all the same.
TEST_F(FlowControlTest, WhoComesAgainAndAgainLeavesOthersTheirShare) {
  const auto a = flow("ann");
  const auto all_of_b = seated(*flow("bob"), 50);
  auto all = seated(*a, 50);
  const std::map<std::string, std::uint64_t> values = {
      {"flood", 0}, {"again-1", 2 + 8 * 3}, {"again-2", 3 + 8 * 4}, {"again-3", 6 + 8 * 6}};  // two queues each
  std::vector<std::shared_ptr<Waiter>> waiters;
  for (int i = 0; i < 5; ++i) waiters.push_back(wait(*a, "flood", 25, 0));
  for (const auto& [name, value] : values) waiters.push_back(wait(*a, name, 25, value));
  all.reset();
  std::map<std::string, int> done;
  for (std::size_t turn = 0; turn < 60; ++turn) {
    ASSERT_LT(turn, told.size());
    const std::string name = told[turn];
    const auto at = std::ranges::find_if(
        waiters, [&](const auto& waiter) { return waiter->name == name && waiter->own.keeper != nullptr; });
    ASSERT_NE(at, waiters.end());
    clock.advance(milliseconds(100));
    ++done[name];
    (*at)->own.give_back();
    waiters.erase(at);
    waiters.push_back(wait(*a, name, 25, values.at(name)));
  }
  EXPECT_GE(done["flood"], 18) << "two of five queues that have something";
  for (const auto* name : {"again-1", "again-2", "again-3"}) EXPECT_GE(done[name], 9) << name;
}

// What it holds counts before it is given back, and though it never waited: else all that it has in line would go
// first.
TEST_F(FlowControlTest, WhoHoldsManySeatsForLongIsNotNextAgain) {
  const auto a = flow("ann");
  const auto all_of_b = seated(*flow("bob"), 50);
  std::vector<std::unique_ptr<Seat>> held;
  for (int i = 0; i < 5; ++i) held.push_back(seated(*a, 10, 0));  // queues 0 and 1
  std::vector<std::shared_ptr<Waiter>> waiters;
  for (int i = 0; i < 5; ++i) waiters.push_back(wait(*a, "again", 10, 0));
  clock.advance(milliseconds(1000));
  for (int i = 0; i < 2; ++i) waiters.push_back(wait(*a, "later", 1, 3 + 8 * 4));
  clock.advance(milliseconds(1500));
  held.pop_back();
  EXPECT_EQ(told, (std::vector<std::string>{"later", "later"}));
  // It has its turn as long as nobody else waits.
  held.clear();
  EXPECT_EQ(std::ranges::count(told, "again"), 4);
}

TEST_F(FlowControlTest, WhatMayNotWaitIsRefusedAndWhatWaitsTooLongToo) {
  const auto nobody = flow("carl");
  const auto all = seated(*nobody, 5);
  wait(*nobody, "carl");
  EXPECT_EQ(told, (std::vector<std::string>{"carl:concurrency-limit"}));
  const auto a = flow("ann");
  const auto own = seated(*a, 75);
  const auto waiter = wait(*a, "ann");
  control->give_up(waiter);
  control->give_up(waiter);
  EXPECT_EQ(told.back(), "ann:time-out");
  EXPECT_EQ(told.size(), 2u);
  const auto left = wait(*a, "left");
  control->stop();
  EXPECT_EQ(told.back(), "left:cancelled");
}

TEST_F(FlowControlTest, RetryAfterGrowsWithThoseWhoAreRefused) {
  const auto a = flow("ann");
  EXPECT_EQ(control->retry_after(*a), 1);
  for (int second = 0; second < 8; ++second) {
    for (int i = 0; i < 100; ++i) control->retry_after(*a);
    clock.advance(milliseconds(1'000));
  }
  EXPECT_GE(control->retry_after(*a), 8);
  clock.advance(std::chrono::minutes(10));
  for (int i = 0; i < 6; ++i) {
    control->retry_after(*a);
    clock.advance(std::chrono::minutes(10));
  }
  EXPECT_EQ(control->retry_after(*a), 1);
}

TEST_F(FlowControlTest, ALevelThatGoesLetsThoseInWhoWaitForIt) {
  const auto a = flow("ann");
  const auto all_of_b = seated(*flow("bob"), 50);
  auto own = seated(*a, 50);
  const auto waiter = wait(*a, "ann", 50);
  ASSERT_EQ(rig.remove("/apis/flowcontrol.apiserver.k8s.io/v1/prioritylevelconfigurations/a").code, 200);
  EXPECT_EQ(flow("ann")->schema->name, "catch-all");
  own.reset();
  EXPECT_EQ(told, (std::vector<std::string>{"ann"}));
}

TEST_F(FlowControlTest, SeatsOfALevelThatIsGoneAreNoneOfItsSuccessors) {
  auto of_gone = seated(*flow("bob"), 50);
  ASSERT_TRUE(of_gone);
  ASSERT_EQ(rig.remove("/apis/flowcontrol.apiserver.k8s.io/v1/prioritylevelconfigurations/b").code, 200);
  const auto a = flow("ann");
  ASSERT_EQ(a->level->limits().nominal, 96) << "of 105, where only catch-all's five shares are left beside it";
  const auto all = seated(*a, 96);
  ASSERT_TRUE(all);
  EXPECT_FALSE(seated(*a, 1));
  of_gone.reset();
  EXPECT_FALSE(seated(*a, 1)) << "they were out of the sum already";
}

TEST_F(FlowControlTest, WhatHasNotChangedIsKeptAndWhatHasIsNot) {
  const auto a = flow("ann"), b = flow("bob");
  put("flowschemas", schema_for("another", "a", 300, "carl"));
  put("prioritylevelconfigurations", limited("c", 50, "", kQueue));
  EXPECT_EQ(flow("ann"), a);
  EXPECT_EQ(flow("carl")->level, a->level);
  EXPECT_EQ(a->level->limits().nominal, 34) << "shares are of all levels that there are";
  const std::string path = "/apis/flowcontrol.apiserver.k8s.io/v1/prioritylevelconfigurations";
  ASSERT_EQ(rig.remove(path + "/a").code, 200);
  EXPECT_EQ(flow("ann")->schema->name, "catch-all");
  put("prioritylevelconfigurations", limited("a", 50, "", kQueue));
  EXPECT_EQ(flow("ann")->schema, a->schema);
  EXPECT_NE(flow("ann")->level, a->level);
  EXPECT_NE(flow("ann")->level_uid, a->level_uid);
  EXPECT_EQ(flow("bob"), b);
}

TEST(Dealing, GivesEveryFlowAHandOfDifferentQueues) {
  std::vector<int> hand;
  std::set<std::vector<int>> hands;
  std::uint64_t value = 88172645463325252ULL;
  for (int i = 0; i < 1'000; ++i) {
    value ^= value << 13;
    value ^= value >> 7;
    value ^= value << 17;
    deal(value, 128, 6, hand);
    ASSERT_EQ(std::set<int>(hand.begin(), hand.end()).size(), 6u);
    ASSERT_GE(*std::ranges::min_element(hand), 0);
    ASSERT_LT(*std::ranges::max_element(hand), 128);
    hands.insert(hand);
  }
  EXPECT_EQ(hands.size(), 1'000u);
  deal(12345, 3, 3, hand);
  EXPECT_EQ(std::set<int>(hand.begin(), hand.end()), (std::set<int>{0, 1, 2}));
}

TEST(FlowObjects, AreUpstreamsAndPutRightByItsRules) {
  const auto objects = flow_objects();
  EXPECT_EQ(objects.size(), 19u);
  for (const auto& wanted : objects) {
    auto stored = wanted.object.clone();
    EXPECT_FALSE(restore_flow_object(stored.root(), wanted)) << wanted.name;
    stored["metadata"].put("generation", 2);
    stored["metadata"].erase("annotations");
    stored.root().object("spec").put("bent", true);
    EXPECT_TRUE(restore_flow_object(stored.root(), wanted)) << wanted.name;
    EXPECT_EQ(stored["spec"]["bent"].boolean(), !wanted.mandatory) << wanted.name;
    EXPECT_EQ(stored["metadata"]["annotations"]["apf.kubernetes.io/autoupdate-spec"].text(),
              wanted.mandatory ? "true" : "false");
    stored["metadata"]["annotations"].put("apf.kubernetes.io/autoupdate-spec", "true");
    restore_flow_object(stored.root(), wanted);
    EXPECT_FALSE(stored["spec"]["bent"].boolean()) << wanted.name;
  }
}

}  // namespace
}  // namespace sublet::apiserver
