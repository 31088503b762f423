#include "sublet/kube/informer.h"

#include <gtest/gtest.h>

#include <future>
#include <thread>

#include "kube/scripted_transport_testing.h"
#include "sublet/base/mutex.h"
#include "sublet/net/loop.h"

namespace sublet::kube {
namespace {

using std::chrono::seconds;

std::string object(const std::string& name, const std::string& uid, int revision) {
  return R"({"metadata":{"name":")" + name + R"(","namespace":"ns","uid":")" + uid + R"(","resourceVersion":")" +
         std::to_string(revision) + R"("},"data":{"v":")" + std::to_string(revision) + "\"}}";
}
std::string list_of(int revision, std::initializer_list<std::string> items, const std::string& more = {}) {
  std::string out = R"({"kind":"ConfigMapList","apiVersion":"v1","metadata":{"resourceVersion":")" +
                    std::to_string(revision) + "\"" + (more.empty() ? "" : R"(,"continue":")" + more + "\"") +
                    R"(},"items":[)";
  for (const std::string& item : items) out += (out.back() == '[' ? "" : ",") + item;
  return out + "]}";
}
std::string frame(const std::string& type, const std::string& body) {
  return R"({"type":")" + type + R"(","object":)" + body + "}\n";
}
std::string expired() {
  return R"({"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"too old","reason":"Expired","code":410})";
}

class InformerTest : public testing::Test {
 protected:
  InformerTest() : loop_("informer-test"), transport_(std::make_shared<ScriptedTransport>()), client_(transport_) {
    informer_ =
        std::make_unique<Informer>(loop_.loop(), client_, InformerOptions{{"", "v1", "configmaps"}, "", "", ""});
    informer_->add_index("uid", [](const CachedObject& o) { return std::vector<std::string>{o.uid}; });
    informer_->add_handler([this](const CachedPtr& before, const CachedPtr& after) {
      const MutexLock lock(mutex_);
      seen_.push_back((before ? before->name + before->resource_version : "-") + ">" +
                      (after ? after->name + after->resource_version : "-"));
      changed_.notify_all();
    });
  }
  /// What the handler saw since the last call, once it is that much.
  std::vector<std::string> seen(std::size_t count) {
    MutexLock lock(mutex_);
    EXPECT_TRUE(changed_.wait_for(lock, seconds(60), [&]() SUBLET_REQUIRES(mutex_) { return seen_.size() >= count; }))
        << seen_.size();
    return std::exchange(seen_, {});
  }
  /// Lists `a` at revision 10 and gives the running watch.
  std::shared_ptr<ScriptedCall> started() {
    informer_->start();
    transport_->next()->answer(200, list_of(10, {object("a", "ua", 5)}));
    EXPECT_TRUE(informer_->wait_synced(seconds(60)));
    seen(1);
    auto watch = transport_->next();
    watch->head(200);
    return watch;
  }
  using Seen = std::vector<std::string>;

  net::LoopThread loop_;
  std::shared_ptr<ScriptedTransport> transport_;
  Client client_;
  Mutex mutex_;
  CondVar changed_;
  std::vector<std::string> seen_ SUBLET_GUARDED_BY(mutex_);
  std::unique_ptr<Informer> informer_;
};

TEST_F(InformerTest, ListsInPagesThenWatches) {
  informer_->start();
  auto first = transport_->next();
  EXPECT_EQ(first->request.target, "/api/v1/configmaps?limit=500");
  first->answer(200, list_of(10, {object("a", "ua", 5)}, "tok+en"));
  EXPECT_FALSE(informer_->synced());
  auto second = transport_->next();
  EXPECT_EQ(second->request.target, "/api/v1/configmaps?limit=500&continue=tok%2Ben");
  second->answer(200, list_of(10, {object("b", "ub", 6)}));
  EXPECT_TRUE(informer_->wait_synced(seconds(60)));
  EXPECT_EQ(seen(2), (Seen{"->a5", "->b6"}));
  auto watch = transport_->next();
  EXPECT_TRUE(watch->request.target.starts_with(
      "/api/v1/configmaps?watch=true&resourceVersion=10&allowWatchBookmarks=true&timeoutSeconds="))
      << watch->request.target;
  EXPECT_EQ(informer_->lists(), 1u);
  EXPECT_EQ(informer_->get("ns", "a")->document()["data"]["v"].text(), "5");
  EXPECT_EQ(informer_->by_index("uid", "ub").size(), 1u);
  EXPECT_EQ(informer_->list().size(), 2u);
}

TEST_F(InformerTest, APageThatGoesOnWithItselfIsAFailureAndTheListBeginsAnew) {
  informer_->start();
  transport_->next()->answer(200, list_of(10, {object("a", "ua", 5)}, "token"));
  transport_->next()->answer(200, list_of(10, {object("a", "ua", 5)}, "token"));
  const auto anew = transport_->next();
  EXPECT_EQ(anew->request.target, "/api/v1/configmaps?limit=500");
  anew->answer(200, list_of(10, {object("a", "ua", 5)}));
  EXPECT_EQ(seen(1), (Seen{"->a5"}));
}

TEST_F(InformerTest, AnObjectThatIsNoTextIsNotTaken) {
  auto watch = started();
  const std::string bytes = frame("ADDED", object("b\xff", "ub", 11)) + frame("ADDED", object("c", "uc", 12));
  watch->body(bytes);
  EXPECT_EQ(seen(1), (Seen{"->c12"}));
}

TEST_F(InformerTest, KeepsAllButWhoWroteWhichField) {
  auto watch = started();
  const std::string written = R"("managedFields":[{"manager":"\"managedFields\"]","fieldsV1":{"f:data":{}}},{}])";
  const std::string facts = R"("name":"b","namespace":"ns","uid":"u")", data = R"(,"data":{"managedFields":"mine"}})";
  int revision = 10;
  const auto kept = [&](const std::string& before, const std::string& between, const std::string& behind) {
    const std::string version = R"("resourceVersion":")" + std::to_string(++revision) + '"';
    const auto text = [&](const std::string& a, const std::string& b, const std::string& c) {
      return R"({"metadata":{)" + a + facts + b + "," + version + c + "}" + data;
    };
    watch->body(frame("MODIFIED", text(before, between, behind)));
    seen(1);
    EXPECT_EQ(informer_->get("ns", "b")->json, text("", "", ""));
  };
  kept("", "", "");
  kept(written + ",", "", "");
  kept("", "," + written, "");
  kept("", "", "," + written);
  kept("", "", R"(, "managedFields" : [ ])");
}

TEST_F(InformerTest, ReadsFramesInWhateverPiecesTheyCome) {
  auto watch = started();
  const std::string bytes = frame("ADDED", object("b", "ub", 11)) + frame("MODIFIED", object("a", "ua", 12)) +
                            frame("DELETED", object("b", "ub", 13));
  for (const char c : bytes) watch->body(std::string_view(&c, 1));
  EXPECT_EQ(seen(3), (Seen{"->b11", "a5>a12", "b13>-"}));
  EXPECT_EQ(informer_->by_index("uid", "ub").size(), 0u);
  EXPECT_EQ(informer_->events(), 3u);
}

TEST_F(InformerTest, ResumesAtOnceAfterTheEndWithoutGapOrRepetition) {
  auto watch = started();
  watch->body(frame("MODIFIED", object("a", "ua", 12)) + R"({"type":"MODIFIED","object":{"metada)");
  watch->end();
  auto resumed = transport_->next();
  EXPECT_NE(resumed->request.target.find("resourceVersion=12&"), std::string::npos) << resumed->request.target;
  resumed->head(200);
  resumed->body(frame("MODIFIED", object("a", "ua", 12)));  // a server that repeats is harmless
  resumed->body(frame("MODIFIED", object("a", "ua", 14)));
  EXPECT_EQ(seen(2), (Seen{"a5>a12", "a12>a14"}));
  EXPECT_EQ(informer_->lists(), 1u);
}

TEST_F(InformerTest, BookmarksMoveTheResumePoint) {
  auto watch = started();
  watch->body(frame("BOOKMARK", R"({"kind":"ConfigMap","apiVersion":"v1","metadata":{"resourceVersion":"99"}})"));
  watch->end();
  EXPECT_NE(transport_->next()->request.target.find("resourceVersion=99&"), std::string::npos);
}

TEST_F(InformerTest, ExpiredInStreamRelistsWithDifference) {
  auto watch = started();
  watch->body(frame("ADDED", object("b", "ub", 11)));
  seen(1);
  watch->body(frame("ERROR", expired()));
  auto list = transport_->next();
  EXPECT_EQ(list->request.target, "/api/v1/configmaps?limit=500");
  // a is gone, b was made anew under another uid, c is new.
  list->answer(200, list_of(50, {object("b", "ub2", 40), object("c", "uc", 41)}));
  EXPECT_EQ(seen(4), (Seen{"a5>-", "b11>-", "->b40", "->c41"}));
  EXPECT_NE(transport_->next()->request.target.find("resourceVersion=50&"), std::string::npos);
  EXPECT_EQ(informer_->lists(), 2u);
}

// What a list lacks may be an older list's word.
TEST_F(InformerTest, ADeletionThatTheServerToldIsToldApartFromOneThatAListLacks) {
  informer_->on_deleted([this](const CachedObject& last_state) {
    const MutexLock lock(mutex_);
    seen_.push_back("deleted " + last_state.uid);
    changed_.notify_all();
  });
  auto watch = started();
  watch->body(frame("ADDED", object("b", "ub", 11)) + frame("DELETED", object("b", "ub", 12)));
  EXPECT_EQ(seen(3), (Seen{"->b11", "deleted ub", "b12>-"}));
  watch->body(frame("ERROR", expired()));
  transport_->next()->answer(200, list_of(50, {}));
  EXPECT_EQ(seen(1), (Seen{"a5>-"}));
}

TEST_F(InformerTest, EachListButTheFirstIsToldWhenItsDifferencesAre) {
  informer_->on_relist([this] {
    const MutexLock lock(mutex_);
    seen_.emplace_back("relisted");
    changed_.notify_all();
  });
  auto watch = started();
  watch->body(frame("ERROR", expired()));
  transport_->next()->answer(200, list_of(50, {object("a", "ua", 5), object("b", "ub", 41)}));
  EXPECT_EQ(seen(2), (Seen{"->b41", "relisted"}));
}

TEST_F(InformerTest, ExpiredAsHttpCodeRelists) {
  auto watch = started();
  watch->body(frame("BOOKMARK", R"({"metadata":{"resourceVersion":"11"}})"));
  watch->end();
  transport_->next()->answer(410, expired());
  auto list = transport_->next();
  EXPECT_EQ(list->request.target, "/api/v1/configmaps?limit=500");
  list->answer(200, list_of(50, {object("a", "ua", 5)}));
  transport_->next();
  EXPECT_EQ(informer_->lists(), 2u);
  const MutexLock lock(mutex_);
  EXPECT_TRUE(seen_.empty()) << "an unchanged object is no event";
}

TEST_F(InformerTest, ExpiredContinueTokenStartsTheListAnew) {
  informer_->start();
  transport_->next()->answer(200, list_of(10, {object("a", "ua", 5)}, "t"));
  transport_->next()->answer(410, expired());
  auto again = transport_->next();
  EXPECT_EQ(again->request.target, "/api/v1/configmaps?limit=500");
  again->answer(200, list_of(20, {object("b", "ub", 15)}));
  EXPECT_EQ(seen(1), (Seen{"->b15"}));
}

TEST_F(InformerTest, ErrorsBackOffAndKeepTheCopy) {
  auto watch = started();
  watch->end(fail(Reason::service_unavailable, "connection reset"));
  for (int i = 0; i < 3; ++i) {
    auto retry = transport_->next();
    EXPECT_NE(retry->request.target.find("resourceVersion=10&"), std::string::npos);
    retry->end(fail(Reason::service_unavailable, "connection refused"));
  }
  EXPECT_TRUE(informer_->get("ns", "a"));
  auto back = transport_->next();
  back->head(200);
  back->body(frame("ADDED", object("b", "ub", 11)));
  EXPECT_EQ(seen(1), (Seen{"->b11"}));
  EXPECT_EQ(informer_->lists(), 1u);
}

TEST_F(InformerTest, HonoursRetryAfter) {
  informer_->start();
  const auto busy = transport_->next();
  const auto answered = std::chrono::steady_clock::now();
  busy->answer(429, "slow down", {{"Retry-After", "1"}});
  const auto again = transport_->next();
  EXPECT_GE(again->at - answered, seconds(1));
  again->answer(200, list_of(10, {}));
  EXPECT_TRUE(informer_->wait_synced(seconds(60)));
}

TEST_F(InformerTest, ARefusedRevisionEndsInARelist) {
  auto watch = started();
  watch->end(fail(Reason::service_unavailable, "gone"));
  for (int i = 0;; ++i) {
    ASSERT_LT(i, 10);
    auto call = transport_->next();
    if (call->request.target.find("watch=") == std::string::npos) break;
    call->answer(500, "what?");
  }
}

TEST_F(InformerTest, AWatchThatEndsAtOnceTimeAndAgainEndsInARelist) {
  auto watch = started();
  watch->body(frame("MODIFIED", object("a", "ua", 12)));
  watch->end();
  int ended = 0;
  auto call = transport_->next();
  for (; call->request.target.find("watch=") != std::string::npos; call = transport_->next()) {
    ASSERT_LT(++ended, 10);
    EXPECT_NE(call->request.target.find("resourceVersion=12&"), std::string::npos) << call->request.target;
    call->head(200);
    call->end();
  }
  EXPECT_GT(ended, 1) << "once may happen to anyone";
  call->answer(200, list_of(50, {object("a", "ua", 40)}));
  EXPECT_EQ(seen(2), (Seen{"a5>a12", "a12>a40"}));
  EXPECT_NE(transport_->next()->request.target.find("resourceVersion=50&"), std::string::npos);
}

// As behind a connection that is only half there: nobody says that it has ended.
TEST(SilentWatch, IsGivenUpAfterItsTimeAndGoesOnWhereItWas) {
  ManualClock clock;
  SteppedStrand strand(clock);
  const auto all = [&] {
    while (strand.step()) {
    }
  };
  const auto transport = std::make_shared<ScriptedTransport>();
  InformerOptions options{{"", "v1", "configmaps"}, "", "", ""};
  options.clock = &clock;
  Informer informer(strand, Client(transport), options);
  informer.start();
  all();
  transport->next()->answer(200, list_of(10, {object("a", "ua", 5)}));
  all();
  const auto watch = transport->next();
  watch->head(200);
  watch->body(frame("MODIFIED", object("a", "ua", 12)));
  all();
  const std::string target = watch->request.target;
  const seconds asked(std::stoi(target.substr(target.find("timeoutSeconds=") + 15)));
  clock.advance(asked);
  all();
  EXPECT_FALSE(watch->cancelled()) << "the server's end may be on its way";
  clock.advance(seconds(60));
  all();
  EXPECT_TRUE(watch->cancelled());
  clock.advance(seconds(60));  // a failure's pause
  all();
  EXPECT_NE(transport->next()->request.target.find("watch=true&resourceVersion=12&"), std::string::npos);
}

TEST_F(InformerTest, MalformedFramesEndTheWatchAndItResumes) {
  auto watch = started();
  watch->body(frame("ADDED", object("b", "ub", 11)) + "{\"type\":\"WHAT\",\"object\":{}}\n");
  EXPECT_NE(transport_->next()->request.target.find("resourceVersion=11&"), std::string::npos);
  seen(1);
}

TEST_F(InformerTest, WhatWasLetGoIsNotKeptAndNotToldAgain) {
  auto watch = started();
  watch->body(frame("ADDED", object("b", "ub", 11)) + frame("ADDED", object("c", "uc", 12)));
  seen(2);
  for (const char* name : {"b", "c"}) {
    const CachedPtr told = informer_->get("ns", name);
    informer_->let_go(told);
    EXPECT_FALSE(informer_->get("ns", name));
    EXPECT_TRUE(informer_->by_index("uid", told->uid).empty());
  }
  EXPECT_EQ(informer_->list().size(), 1u);
  // The same state again is no news, a further one is; one that was made anew, too; and an end is nobody's.
  watch->body(frame("MODIFIED", object("b", "ub", 11)) + frame("DELETED", object("c", "uc", 13)) +
              frame("MODIFIED", object("b", "ub", 14)) + frame("ADDED", object("c", "uc2", 15)));
  EXPECT_EQ(seen(2), (Seen{"->b14", "->c15"}));
  EXPECT_TRUE(informer_->get("ns", "b"));
}

TEST_F(InformerTest, AListTellsOfWhatWasLetGoOnlyWhatIsNew) {
  auto watch = started();
  watch->body(frame("ADDED", object("b", "ub", 11)) + frame("ADDED", object("c", "uc", 12)) +
              frame("ADDED", object("d", "ud", 13)));
  seen(3);
  for (const char* name : {"b", "c", "d"}) informer_->let_go(informer_->get("ns", name));
  watch->body(frame("ERROR", expired()));
  const std::string listed = list_of(50, {object("a", "ua", 5), object("b", "ub", 11), object("c", "uc", 40)});
  transport_->next()->answer(200, listed);
  EXPECT_EQ(seen(1), (Seen{"->c40"}));
  watch = transport_->next();
  watch->head(200);
  auto asked = std::async(std::launch::async, [&] { return informer_->up_to_date(); });
  transport_->next()->answer(200, listed);
  EXPECT_TRUE(asked.get().value()) << "d is forgotten";
  watch->body(frame("ADDED", object("d", "ud", 13)));  // after its end nothing is known of it
  EXPECT_EQ(seen(1), (Seen{"->d13"}));
}

TEST_F(InformerTest, LetsGoOnlyWhatIsStillPresent) {
  auto watch = started();
  const CachedPtr earlier = informer_->get("ns", "a");
  watch->body(frame("MODIFIED", object("a", "ua", 11)));
  seen(1);
  informer_->let_go(earlier);
  ASSERT_TRUE(informer_->get("ns", "a"));
  EXPECT_EQ(informer_->get("ns", "a")->resource_version, "11");
}

TEST_F(InformerTest, KeepsWhatIsNotTrimmed) {
  Informer informer(loop_.loop(), client_,
                    InformerOptions{.resource = {"", "v1", "configmaps"},
                                    .trim = [](std::string& json) { json.replace(json.rfind("\"5\""), 3, "null"); }});
  informer.start();
  transport_->next()->answer(200, list_of(10, {object("a", "ua", 5)}));
  ASSERT_TRUE(informer.wait_synced(seconds(60)));
  const CachedPtr kept = informer.get("ns", "a");
  EXPECT_TRUE(kept->json.ends_with(R"("data":{"v":null}})")) << kept->json;
  EXPECT_EQ(kept->resource_version, "5");
}

TEST_F(InformerTest, WhatStaysOfPassingObjectsHoldsNoMemoryOfOthers) {
  Informer informer(loop_.loop(), client_, InformerOptions{.resource = {"", "v1", "configmaps"}, .passing = true});
  informer.add_index("uid", [](const CachedObject& o) { return std::vector<std::string>{o.uid}; });
  informer.start();
  transport_->next()->answer(200, list_of(10, {object("a", "ua", 5), object("b", "ub", 6), object("c", "uc", 7)}));
  ASSERT_TRUE(informer.wait_synced(seconds(60)));
  const CachedPtr a = informer.get("ns", "a"), b = informer.get("ns", "b");
  EXPECT_EQ(a->keeper.use_count(), b->keeper.use_count());
  EXPECT_FALSE(a->keeper.owner_before(b->keeper) || b->keeper.owner_before(a->keeper)) << "one block";
  informer.keep(b);
  const CachedPtr kept = informer.get("ns", "b");
  EXPECT_TRUE(kept->keeper.owner_before(a->keeper) || a->keeper.owner_before(kept->keeper)) << "of its own";
  EXPECT_EQ(kept->json, b->json);
  EXPECT_EQ(kept->resource_version, "6");
  ASSERT_EQ(informer.by_index("uid", "ub").size(), 1u);
  EXPECT_EQ(informer.by_index("uid", "ub")[0], kept);
  informer.keep(b);  // it is no longer what stands there
  EXPECT_EQ(informer.get("ns", "b"), kept);
}

TEST_F(InformerTest, SaysWhetherItIsUpToDate) {
  auto watch = started();
  const auto ask = [&](int code, const std::string& answer) {
    auto asked = std::async(std::launch::async, [&] { return informer_->up_to_date(); });
    transport_->next()->answer(code, answer);
    return asked.get();
  };
  EXPECT_TRUE(ask(200, list_of(12, {object("a", "ua", 5)})).value());
  EXPECT_FALSE(ask(200, list_of(12, {object("a", "ua", 6)})).value()) << "changed";
  EXPECT_FALSE(ask(200, list_of(12, {object("b", "ub", 5)})).value()) << "another";
  EXPECT_FALSE(ask(200, list_of(12, {object("a", "ua", 5), object("b", "ub", 6)})).value()) << "one more";
  EXPECT_FALSE(ask(200, list_of(12, {})).value()) << "gone";
  informer_->let_go(informer_->get("ns", "a"));
  EXPECT_TRUE(ask(200, list_of(12, {object("a", "ua", 5)})).value());
  EXPECT_FALSE(ask(200, list_of(12, {object("a", "ua", 6)})).value()) << "changed since it was let go";
  EXPECT_FALSE(ask(200, list_of(12, {object("a", "ub", 5)})).value()) << "another";
  EXPECT_FALSE(ask(500, "no"));
}

TEST_F(InformerTest, NoHandlerRunsAfterDestruction) {
  auto watch = started();
  std::atomic<bool> stop{false};
  std::thread sender([&] {
    for (int revision = 11; !stop; ++revision) watch->body(frame("MODIFIED", object("a", "ua", revision)));
  });
  seen(10);
  informer_.reset();
  std::size_t count = 0;
  {
    const MutexLock lock(mutex_);
    count = seen_.size();
  }
  EXPECT_TRUE(watch->cancelled());
  std::promise<void> turned;  // everything posted before has had its turn by then
  loop_.loop().post([&] { turned.set_value(); });
  turned.get_future().wait();
  stop = true;
  sender.join();
  const MutexLock lock(mutex_);
  EXPECT_EQ(seen_.size(), count);
}

}  // namespace
}  // namespace sublet::kube
