#include "sublet/controllers/lister.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <set>
#include <thread>

#include "controllers/resources_testing.h"
#include "controllers/runtime/feed.h"
#include "sublet/store/memory_log.h"

namespace sublet::controllers {
namespace {

using Names = std::set<std::string>;
using Labels = std::vector<std::pair<std::string, std::string>>;

const kube::Resource kBudgets{"policy", "v1", "budgets"};

store::Index labelled(Labels labels) { return {"", std::move(labels), {}, {}}; }

class ListerTest : public testing::Test {
 protected:
  ~ListerTest() override {
    feeds_.stop();
    store_->close();
  }
  void put(const std::string& key, store::Index index, std::string bytes = "{}") {
    ASSERT_TRUE(
        store_->commit({.ops = {{key, store::Put{std::move(bytes), store::Object::kNoHole, std::move(index)}}}}));
  }
  void remove(const std::string& key) { ASSERT_TRUE(store_->commit({.ops = {{key, {}}}})); }
  Lister lister(const kube::Resource& resource, std::initializer_list<By> indexes) {
    auto& feed = feeds_.get(resource);
    for (auto by : indexes) feed.add_index(by);
    return {*store_, key_prefix(resource), &feed};
  }
  static Names names(const std::vector<store::ObjectPtr>& objects) {
    Names found;
    for (const auto& object : objects) found.insert(std::string(name_of(*object)));
    return found;
  }

  std::unique_ptr<store::Store> store_ = std::move(*store::Store::open(store::make_memory_log()));
  Feeds feeds_{*store_, [] {}};
};

TEST_F(ListerTest, ReadsTheStoresOwnObjects) {
  auto pods = lister(kPods, {});
  put("pods/a/x", {}, R"({"metadata":{"name":"x","annotations":{"deletionTimestamp":"no"}}})");
  put("pods/a/y", {}, R"({"metadata":{"name":"y","deletionTimestamp":"2026-01-01T00:00:00Z"}})");
  put("pods/b/x", {});
  put("podtemplates/a/z", {});
  auto object = pods.get("a", "x");
  ASSERT_TRUE(object);
  EXPECT_EQ(object, store_->snapshot().get("pods/a/x")) << "a handle, no copy";
  EXPECT_EQ(pods.get("a", "z"), nullptr);
  EXPECT_EQ(names(pods.list("a")), (Names{"x", "y"}));
  EXPECT_EQ(pods.count(), 3u);
  EXPECT_EQ(namespace_of(*object), "a");
  EXPECT_FALSE(is_ending(*object)) << "an annotation may have any name";
  EXPECT_TRUE(is_ending(*pods.get("a", "y")));
}

TEST_F(ListerTest, FindsByOwnerNodeAndUid) {
  put("pods/a/before", {"u0", {}, {}, {"set"}});
  auto pods = lister(kPods, {By::owner, By::node, By::uid});
  feeds_.start();
  put("pods/a/x", {"u1", {}, {{"spec.nodeName", "n"}}, {"set", "other"}});
  put("pods/b/y", {"u2", {}, {{"spec.nodeName", "n"}}, {}});
  EXPECT_EQ(names(pods.owned_by("set")), (Names{"before", "x"}));
  EXPECT_EQ(names(pods.on_node("n")), (Names{"x", "y"}));
  EXPECT_EQ(pods.by_uid("u2"), store_->snapshot().get("pods/b/y"));
  put("pods/a/x", {"u1", {}, {}, {"other"}});
  remove("pods/b/y");
  EXPECT_EQ(names(pods.owned_by("set")), (Names{"before"}));
  EXPECT_EQ(names(pods.owned_by("other")), (Names{"x"}));
  EXPECT_EQ(names(pods.on_node("n")), Names{});
  EXPECT_EQ(pods.by_uid("u2"), nullptr);
}

// A watch is told of revisions in which nothing of its kind happened, and is told by the commit thread.
TEST_F(ListerTest, AFeedsRevisionWaitsUntilItHasToldWhatIsThere) {
  put("pods/a/x", {});
  std::promise<void> early;
  std::atomic<bool> telling{false};
  std::thread writer;
  Feed feed("pods/", [&] {
    if (telling.exchange(false)) early.set_value();
  });
  feed.add_handler([&](const Change&) {
    telling = true;
    const auto before = store_->snapshot().revision();
    writer = std::thread([&] { put("services/a/web", {}); });
    while (store_->snapshot().revision() == before) std::this_thread::yield();
    EXPECT_EQ(early.get_future().wait_for(std::chrono::milliseconds(200)), std::future_status::timeout);
    telling = false;
  });
  const store::Snapshot there = feed.follow(*store_);
  there.scan("pods/", {}, [&](const store::ObjectPtr& object) {
    feed.present(object);
    return true;
  });
  feed.end_of_snapshot(there.revision());
  writer.join();
  feed.stop();
  EXPECT_EQ(feed.revision(), store_->snapshot().revision());
}

TEST_F(ListerTest, EachFeedIsToldWhatIsThereOfItsKindAndOneOfAllEverything) {
  const std::vector<std::string> keys = {"pods.metrics/a/x", "pods/a/x", "pods/a/y", "podtemplates/a/x",
                                         "services/a/x"};
  for (const std::string& key : keys) put(key, {});
  for (const bool with_all : {true, false}) {
    std::map<std::string, std::vector<std::string>> told;
    Feeds feeds(*store_, [] {});
    const auto hear = [&](Feed& feed, const std::string& name) {
      feed.add_handler([&told, name](const Change& change) {
        EXPECT_EQ(change.before, nullptr);
        told[name].push_back(change.after->key);
      });
    };
    hear(feeds.get(kPods), "pods");
    hear(feeds.get(kServices), "services");
    if (with_all) hear(feeds.of_all(), "all");
    feeds.start();
    feeds.stop();
    EXPECT_EQ(feeds.revision(), store_->snapshot().revision());
    EXPECT_EQ(told["pods"], (std::vector<std::string>{"pods/a/x", "pods/a/y"}));
    EXPECT_EQ(told["services"], (std::vector<std::string>{"services/a/x"}));
    EXPECT_EQ(told["all"], with_all ? keys : std::vector<std::string>());
  }
}

TEST_F(ListerTest, SelectsByLabels) {
  auto indexed = lister(kPods, {By::label});
  Lister scanning(*store_, "pods/", nullptr);
  feeds_.start();
  put("pods/a/x", labelled({{"app", "web"}, {"tier", "front"}}));
  put("pods/a/y", labelled({{"app", "web"}}));
  put("pods/b/z", labelled({{"app", "web"}}));
  for (const auto& [text, wanted] : std::vector<std::pair<std::string, Names>>{
           {"app=web", {"x", "y"}}, {"app=web,tier=front", {"x"}}, {"!tier", {"y"}}, {"app=db", {}}}) {
    auto selector = *kube::LabelSelector::parse(text);
    EXPECT_EQ(names(indexed.selected("a", selector)), wanted) << text;
    EXPECT_EQ(names(scanning.selected("a", selector)), wanted) << text;
  }
  EXPECT_EQ(names(indexed.selected("", *kube::LabelSelector::parse("app=web"))), (Names{"x", "y", "z"}));
}

TEST_F(ListerTest, FindsWhatSelects) {
  auto services = lister(kServices, {By::map_selector});
  auto budgets = lister(kBudgets, {By::label_selector});
  feeds_.start();
  put("services/a/web", {}, R"({"spec":{"selector":{"app":"web","tier":"front"}}})");
  put("services/a/by-hand", {}, R"({"spec":{}})");
  put("services/a/none", {}, R"({"spec":{"selector":{}}})");
  put("budgets.policy/a/all", {}, R"({"spec":{"selector":{}}})");
  put("budgets.policy/a/none", {}, R"({"spec":{}})");
  put("budgets.policy/a/in", {}, R"({"spec":{"selector":{"matchExpressions":[
    {"key":"app","operator":"In","values":["web","db"]}]}}})");
  put("budgets.policy/a/pair", {}, R"({"spec":{"selector":{"matchLabels":{"app":"web"},"matchExpressions":[
    {"key":"tier","operator":"DoesNotExist"}]}}})");
  const store::Index both = labelled({{"app", "web"}, {"tier", "front"}}), one = labelled({{"app", "web"}});
  EXPECT_EQ(names(services.selecting("a", both)), (Names{"web"}));
  EXPECT_EQ(names(services.selecting("a", one)), Names{});
  EXPECT_EQ(names(services.selecting("b", both)), Names{});
  EXPECT_EQ(names(budgets.selecting("a", both)), (Names{"all", "in"}));
  EXPECT_EQ(names(budgets.selecting("a", one)), (Names{"all", "in", "pair"}));
  EXPECT_EQ(names(budgets.selecting("a", {})), (Names{"all"}));
  put("services/a/web", {}, R"({"spec":{"selector":{"app":"db"}}})");
  EXPECT_EQ(names(services.selecting("a", both)), Names{});
}

TEST_F(ListerTest, ChangesAreToldInOrderWhatIsThereFirst) {
  put("pods/a/x", {}, "1");
  std::vector<std::string> told;
  feeds_.get(kPods).add_handler([&](const Change& change) {
    told.push_back((change.before ? change.before->bytes : "-") + ">" + (change.after ? change.after->bytes : "-"));
  });
  feeds_.start();
  put("pods/a/x", {}, "2");
  put("services/a/x", {}, "other");
  remove("pods/a/x");
  EXPECT_EQ(told, (std::vector<std::string>{"->1", "1>2", "2>-"}));
  EXPECT_EQ(feeds_.revision(), store_->snapshot().revision());
  feeds_.stop();
  put("pods/a/x", {}, "3");
  EXPECT_EQ(told.size(), 3u);
}

TEST_F(ListerTest, AnIndexHoldsNoOldVersions) {
  auto pods = lister(kPods, {By::owner, By::label});
  feeds_.start();
  put("pods/a/x", {"", {{"app", "web"}}, {}, {"set"}}, "1");
  std::weak_ptr<const store::Object> old = store_->snapshot().get("pods/a/x");
  put("pods/a/x", {"", {{"app", "web"}}, {}, {"set"}}, "2");
  ASSERT_TRUE(store_->compact(store_->snapshot().revision()));
  EXPECT_EQ(pods.owned_by("set").front()->bytes, "2");
  EXPECT_TRUE(old.expired());
}

}  // namespace
}  // namespace sublet::controllers
