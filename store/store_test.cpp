#include "sublet/store/store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "store/store_testing.h"
#include "sublet/store/memory_log.h"
#include "sublet/store/sqlite_log.h"
#include "sublet/store/threadless_store.h"

namespace sublet::store {
namespace {

using testing::ElementsAre;
using namespace store::testing_support;

std::unique_ptr<Store> open_memory(StoreOptions options = {}) {
  auto store = Store::open(make_memory_log(), options);
  EXPECT_TRUE(store) << store.error().message;
  return std::move(*store);
}

TEST(Store, BeginsAtRevisionOneAndGivesTwoFirst) {
  auto store = open_memory();
  EXPECT_EQ(store->snapshot().revision(), 1);
  auto committed = store->commit(create("pods/a/x", "{}"));
  ASSERT_TRUE(committed);
  EXPECT_THAT(committed->revisions, ElementsAre(kFirstRevision));
  EXPECT_EQ(store->snapshot().revision(), kFirstRevision);
  EXPECT_EQ(store->snapshot().get("pods/a/x")->bytes, "{}");
}

TEST(Store, WithoutAThreadWhatIsSubmittedIsDurableAndToldBeforeSubmitReturns) {
  auto store = *open_threadless_store(make_memory_log());
  std::vector<Revision> told;
  const auto listening = store->listen([&] { told.push_back(store->snapshot().revision()); });
  int answers = 0;
  // A callback that writes: its write is durable too when the outer submit() returns.
  ASSERT_TRUE(store->submit(create("a", "1"), [&](Result<Committed> committed) {
    ASSERT_TRUE(committed);
    ++answers;
    EXPECT_TRUE(store->submit(create("b", "1"), [&](Result<Committed>) { ++answers; }));
  }));
  EXPECT_EQ(answers, 2);
  EXPECT_THAT(told, ElementsAre(kFirstRevision, kFirstRevision + 1));
  EXPECT_FALSE(store->submit(create("a", "again"), [](Result<Committed>) {}));
  ASSERT_TRUE(store->compact(kFirstRevision + 1));
  EXPECT_EQ(store->changes("", kFirstRevision).error().reason, Reason::expired);
  store->close();
  ASSERT_TRUE(store->submit(create("c", "1"), [&](Result<Committed> refused) { answers += refused ? 0 : 1; }));
  EXPECT_EQ(answers, 3);
}

TEST(Store, GuardsAreCheckedAgainstPendingState) {
  auto store = open_memory();
  const Revision first = *put(*store, "k", "1");
  EXPECT_FALSE(store->commit(create("k", "again")));
  ASSERT_TRUE(store->commit(update("k", first, "2")));
  auto stale = store->commit(update("k", first, "3"));
  ASSERT_FALSE(stale);
  EXPECT_EQ(stale.error().reason, Reason::conflict);
  EXPECT_EQ(store->snapshot().get("k")->bytes, "2");
  EXPECT_EQ(store->snapshot().get("k")->create_revision, first);
}

TEST(Store, ManyChangesOfOneObjectFitIntoOneBatch) {
  GatedLog* gate = nullptr;
  auto store = *Store::open(make_gated_log(make_memory_log(), gate));
  gate->hold();
  put_async(*store, "other", "x");  // occupies the commit thread
  gate->wait_until_held();
  Answers answers;
  for (int i = 0; i < 64; ++i) {
    const ObjectPtr now = store->pending().get("k");
    ASSERT_TRUE(
        store->submit(now ? update("k", now->revision, std::to_string(i)) : create("k", "0"), answers.callback()));
  }
  EXPECT_EQ(store->snapshot().get("k"), nullptr);
  gate->release();
  answers.wait(64);
  EXPECT_EQ(answers.failures(), 0u);
  EXPECT_EQ(store->snapshot().get("k")->bytes, "63");
  EXPECT_EQ(store->stats().commits, 2u);
}

TEST(Store, ATransactionIsAllOrNothing) {
  auto store = open_memory();
  ASSERT_TRUE(put(*store, "a", "1"));
  Txn txn = create("b", "1");
  txn.guards.push_back({"a", 99});
  txn.ops.push_back({"c", Put{"1"}, {}});
  EXPECT_FALSE(store->commit(txn));
  EXPECT_EQ(store->pending().get("b"), nullptr);
  txn.guards[1].revision = 0;
  EXPECT_FALSE(store->commit(txn));
  txn.guards.pop_back();
  auto committed = store->commit(txn);
  ASSERT_TRUE(committed);
  EXPECT_THAT(committed->revisions, ElementsAre(3, 4));
}

TEST(Store, DeletingNothingIsAFailedGuardAndChangesNothing) {
  auto store = open_memory();
  Txn txn = create("a", "1");
  txn.ops.push_back({"missing", {}, {}});
  EXPECT_FALSE(store->commit(txn));
  EXPECT_EQ(store->pending().count(""), 0u);
  EXPECT_EQ(store->pending().revision(), 1);
}

TEST(Store, EventsSayWhetherTheObjectIsNew) {
  auto store = open_memory();
  const auto type = [&](Result<Committed> committed) { return committed->events.at(0)->type; };
  EXPECT_EQ(type(store->commit(create("k", "1"))), Event::Type::created);
  EXPECT_EQ(type(store->commit(update("k", 2, "2"))), Event::Type::updated);
  EXPECT_EQ(type(store->commit(remove("k", 3))), Event::Type::deleted);
  EXPECT_EQ(type(store->commit(create("k", "1"))), Event::Type::created);
}

TEST(Store, ADeletesEventCarriesTheLastStateWithItsRevision) {
  auto store = open_memory();
  const Revision created = *put(*store, "k", R"({"metadata":{"resourceVersion":""}})", 32);
  auto deleted = store->commit(remove("k", created));
  ASSERT_TRUE(deleted);
  const Event& event = *deleted->events.at(0);
  EXPECT_EQ(event.type, Event::Type::deleted);
  EXPECT_EQ(event.object->json(), R"({"metadata":{"resourceVersion":"3"}})");
  EXPECT_EQ(event.previous->revision, created);

  ASSERT_TRUE(put(*store, "k", "old"));
  Txn txn{{}, {{"k", {}, Put{"final"}}}};
  EXPECT_EQ(store->commit(txn)->events.at(0)->object->bytes, "final");
}

TEST(Store, AnEmptyTransactionIsABarrier) {
  GatedLog* gate = nullptr;
  auto store = *Store::open(make_gated_log(make_memory_log(), gate));
  gate->hold();
  put_async(*store, "k", "1");
  gate->wait_until_held();
  Answers answers;
  const Revision pending = store->pending().get("k")->revision;
  ASSERT_TRUE(store->submit(Txn{{{"k", pending}}, {}}, answers.callback()));
  EXPECT_EQ(answers.count(), 0u);
  gate->release();
  answers.wait(1);
  EXPECT_EQ(store->snapshot().get("k")->revision, pending);
}

TEST(Store, OldStatesAreExact) {
  auto store = open_memory();
  std::vector<std::size_t> counts(2, 0);
  for (int i = 0; i < 700; ++i) {
    if (i % 3 == 2)
      ASSERT_TRUE(store->commit(Txn{{}, {{"k" + std::to_string(i - 1), {}, {}}}}));
    else
      ASSERT_TRUE(put(*store, "k" + std::to_string(i), std::to_string(i)));
    counts.push_back(store->snapshot().count(""));
  }
  for (Revision r = 1; r < static_cast<Revision>(counts.size()); ++r) {
    auto then = store->snapshot_at(r);
    ASSERT_TRUE(then);
    EXPECT_EQ(then->revision(), r);
    EXPECT_EQ(then->count(""), counts[static_cast<std::size_t>(r)]);
  }
  EXPECT_EQ(store->snapshot_at(static_cast<Revision>(counts.size())).error().reason, Reason::timeout);
}

TEST(Store, CompactionExpiresOldStatesAndWatches) {
  auto store = open_memory();
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(put(*store, "k", std::to_string(i)));
  ASSERT_TRUE(store->compact(7));
  EXPECT_EQ(store->compacted(), 7);
  EXPECT_EQ(store->snapshot_at(6).error().reason, Reason::expired);
  EXPECT_EQ(store->snapshot_at(7)->get("k")->bytes, "5");
  auto recorder = std::make_shared<Recorder>();
  EXPECT_EQ(store->watch("", 6, recorder).error().reason, Reason::expired);
  ASSERT_TRUE(store->watch("", 7, recorder));
  EXPECT_THAT(recorder->revisions(), ElementsAre(8, 9, 10, 11));
}

TEST(Store, HistoryBeyondItsBoundsIsDropped) {
  StoreOptions options;
  options.history_events_max = 200;
  auto store = open_memory(options);
  for (int i = 0; i < 2000; ++i) ASSERT_TRUE(put(*store, "k", std::to_string(i)));
  EXPECT_LE(store->stats().history_events, 200u + 200 / 16);
  options.history_events_max = 100'000;
  options.history_bytes_max = 100'000;
  store = open_memory(options);
  for (int i = 0; i < 2000; ++i) ASSERT_TRUE(put(*store, "k", std::string(1000, 'x')));
  EXPECT_LE(store->stats().history_events, 100u);
  EXPECT_GE(store->stats().history_events, 50u);
}

TEST(Store, HistoryOlderThanTheIntervalIsCompactedByItself) {
  StoreOptions options;
  options.compact_interval = std::chrono::seconds(1);
  auto store = open_memory(options);
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(put(*store, "k", std::to_string(i)));
  EXPECT_TRUE(eventually([&] { return store->compacted() == 11; }));
  EXPECT_EQ(store->stats().history_events, 0u);
  EXPECT_EQ(store->snapshot_at(11)->get("k")->bytes, "9");
}

TEST(Store, AgesAndProbesAreOfTheClockThatItIsGiven) {
  ManualClock clock;
  StoreOptions options;
  options.clock = &clock;
  GatedLog* gate = nullptr;
  auto store = *Store::open(make_gated_log(make_memory_log(), gate), options);
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(put(*store, "k", std::to_string(i)));
  clock.advance(options.compact_interval);
  ASSERT_TRUE(put(*store, "k", "young"));
  ASSERT_TRUE(store->commit({}));  // behind the step that followed the write
  EXPECT_EQ(store->compacted(), 1) << "history is kept at least that long";
  clock.advance(options.compact_interval / 4);
  ASSERT_TRUE(put(*store, "k", "younger"));
  EXPECT_TRUE(eventually([&] { return store->compacted() == 11; }));
  EXPECT_EQ(store->snapshot_at(12)->get("k")->bytes, "young");

  gate->fail_puts_with(Log::AppendError::full);
  ASSERT_FALSE(put(*store, "k", "no room"));
  gate->fail_puts_with(Log::AppendError::none);
  EXPECT_FALSE(put(*store, "k", "not tried again yet"));
  clock.advance(options.full_probe);
  EXPECT_TRUE(put(*store, "k", "room"));
}

StoreOptions with_quota(std::size_t objects, std::size_t bytes) {
  StoreOptions options;
  options.quota = {objects, bytes};
  return options;
}

TEST(StoreQuota, WhatAddsIsRefusedByNameAndTheRestPasses) {
  auto store = open_memory(with_quota(2, 0));
  const Revision a = *put(*store, "a", "1");
  const Revision b = *put(*store, "b", "1");
  const auto refused = store->commit(create("c", "1"));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().reason, Reason::forbidden);
  EXPECT_THAT(refused.error().message, testing::HasSubstr("exceeded quota"));
  EXPECT_THAT(refused.error().message, testing::HasSubstr("used: objects=2"));
  EXPECT_THAT(refused.error().message, testing::HasSubstr("limited: objects=2"));
  EXPECT_EQ(refused.error().causes.at(0).reason, "StorageQuotaExceeded");
  EXPECT_EQ(store->pending().get("c"), nullptr);
  EXPECT_FALSE(store->submit(create("b", "1"), [](const auto&) {})) << "a guard that fails is told as that";
  ASSERT_TRUE(store->commit(update("a", a, "much longer than it was")));
  Txn marked = update("b", b, "going");
  marked.ops[0].of_deletion = true;
  const auto going = store->commit(marked);
  ASSERT_TRUE(going);
  ASSERT_TRUE(store->commit(remove("b", going->revisions[0])));
  EXPECT_TRUE(store->commit(create("c", "1"))) << "there is room again";
}

TEST(StoreQuota, BytesAreThoseOfKeysAndObjectsAsTheyAre) {
  auto store = open_memory(with_quota(0, 100));
  const Revision a = *put(*store, "a", std::string(79, 'x'));
  EXPECT_EQ(store->usage().bytes, 80u);
  EXPECT_EQ(store->usage().percent(), 80);
  EXPECT_EQ(store->usage().words(), "80 of 100 bytes (80 %)");
  EXPECT_EQ(put(*store, "b", std::string(20, 'x')).error().reason, Reason::forbidden);
  EXPECT_EQ(store->commit(update("a", a, std::string(100, 'x'))).error().reason, Reason::forbidden);
  ASSERT_TRUE(put(*store, "b", std::string(19, 'x')));
  EXPECT_EQ(store->usage().percent(), 100);
  Txn going = update("a", a, std::string(110, 'x'));
  going.ops[0].of_deletion = true;
  const auto gone = store->commit(going);
  ASSERT_TRUE(gone) << "a deletion passes also beyond the quota";
  EXPECT_EQ(store->usage().percent(), 131);
  EXPECT_TRUE(store->commit(update("a", gone->revisions[0], std::string(90, 'x')))) << "what shrinks it passes";
  EXPECT_EQ(store->usage().bytes, 111u);
}

TEST(StoreQuota, IsCountedAgainAfterARestartAndAFailedWrite) {
  const TempFolder folder;
  {
    auto store = *Store::open(*open_sqlite_log({folder.file("state.db")}));
    ASSERT_TRUE(put(*store, "gone", "1"));
    ASSERT_TRUE(put(*store, "a", std::string(9, 'x')));
    ASSERT_TRUE(store->commit(Txn{{}, {{"gone", {}, {}}}}));
    ASSERT_TRUE(put(*store, "a", std::string(49, 'x')));
  }
  GatedLog* gate = nullptr;
  auto store = *Store::open(make_gated_log(*open_sqlite_log({folder.file("state.db")}), gate), with_quota(0, 100));
  EXPECT_EQ(store->usage().bytes, 50u);
  gate->fail_puts_with(Log::AppendError::full);
  ASSERT_FALSE(put(*store, "b", std::string(39, 'x')));
  EXPECT_EQ(store->usage().bytes, 50u);
  EXPECT_EQ(store->usage().objects, 1u);
}

TEST(Store, WatchGetsHistoryThenLiveWithoutGapOrRepetition) {
  auto store = open_memory();
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(put(*store, "pods/a/" + std::to_string(i), "x"));
  ASSERT_TRUE(put(*store, "secrets/a/s", "x"));
  auto recorder = std::make_shared<Recorder>();
  auto watching = store->watch("pods/", 3, recorder);
  ASSERT_TRUE(watching);
  EXPECT_THAT(recorder->revisions(), ElementsAre(4, 5, 6));
  EXPECT_EQ(recorder->progress(), 7);
  ASSERT_TRUE(put(*store, "pods/a/0", "y"));
  ASSERT_TRUE(put(*store, "secrets/a/s", "y"));
  EXPECT_TRUE(eventually([&] { return recorder->progress() == 9; }));
  EXPECT_THAT(recorder->revisions(), ElementsAre(4, 5, 6, 8));
  watching->reset();
  ASSERT_TRUE(put(*store, "pods/a/0", "z"));
  EXPECT_EQ(recorder->progress(), 9);
  EXPECT_EQ(store->watch("", 99, recorder).error().reason, Reason::timeout);
}

TEST(Store, AWatcherGetsAllChunksOfALongHistory) {
  constexpr std::size_t kEvents = 2'000;  // several times what is read at once
  auto store = open_memory();
  Txn txn;
  for (std::size_t i = 0; i < kEvents; ++i) txn.ops.push_back({"pods/" + std::to_string(i), Put{"x", 0, {}}, {}});
  ASSERT_TRUE(store->commit(std::move(txn)));
  auto recorder = std::make_shared<Recorder>();
  auto watching = store->watch("pods/", 1, recorder);
  ASSERT_TRUE(watching);
  EXPECT_EQ(recorder->events().size(), kEvents);
  EXPECT_EQ(recorder->violation(), "");
  EXPECT_EQ(recorder->progress(), store->snapshot().revision());
}

TEST(Store, AWatchOfASnapshotBeginsBehindIt) {
  auto store = open_memory();
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(put(*store, "pods/" + std::to_string(i), "x"));
  auto recorder = std::make_shared<Recorder>();
  const auto [snapshot, watching] = store->snapshot_and_watch("pods/", recorder);
  EXPECT_EQ(snapshot.revision(), 4);
  ASSERT_TRUE(put(*store, "pods/3", "x"));
  EXPECT_TRUE(eventually([&] { return recorder->progress() == 5; }));
  EXPECT_THAT(recorder->revisions(), ElementsAre(5));
}

TEST(Store, ChangesAreReadInChunksOfWhatWasLookedAt) {
  auto store = open_memory();
  for (int i = 0; i < 6; ++i) ASSERT_TRUE(put(*store, i % 3 == 0 ? "pods/a" : "secrets/s", "x"));  // revisions 2 to 7
  const auto revisions = [](const Changes& changes) {
    std::vector<Revision> out;
    for (const EventPtr& event : changes.events) out.push_back(event->revision);
    return out;
  };
  const Changes first = *store->changes("pods/", 1, 2);
  EXPECT_THAT(revisions(first), ElementsAre(2));
  EXPECT_EQ(first.up_to, 3);
  EXPECT_FALSE(first.at_end);
  const Changes second = *store->changes("pods/", first.up_to, 2);
  EXPECT_THAT(revisions(second), ElementsAre(5));
  const Changes rest = *store->changes("pods/", second.up_to, 2);
  EXPECT_THAT(revisions(rest), ElementsAre());
  EXPECT_EQ(rest.up_to, 7);
  EXPECT_TRUE(rest.at_end);
  EXPECT_TRUE(store->changes("pods/", 7, 2)->at_end);
}

TEST(Store, ListenersAreToldOncePerBatchBeforeItIsAnswered) {
  GatedLog* gate = nullptr;
  auto store = *Store::open(make_gated_log(make_memory_log(), gate));
  std::vector<Revision> told;
  Answers answers;
  const auto listening = store->listen([&] {
    EXPECT_EQ(answers.count(), told.empty() ? 0u : 1u);
    told.push_back(store->changes("", 1, 512)->up_to);
  });
  gate->hold();
  ASSERT_TRUE(store->submit(create("a", "1"), answers.callback()));
  gate->wait_until_held();
  for (const char* key : {"b", "c", "d"}) ASSERT_TRUE(store->submit(create(key, "1"), answers.callback()));
  gate->release();
  answers.wait(4);
  EXPECT_THAT(told, ElementsAre(2, 5));
}

TEST(Store, AListenerMayEndItselfWhileItIsCalled) {
  auto store = open_memory();
  std::unique_ptr<Subscription> own;
  std::atomic<int> calls{0};
  own = store->listen([&] {
    ++calls;
    own.reset();
  });
  ASSERT_TRUE(put(*store, "k", "1"));
  ASSERT_TRUE(put(*store, "k", "2"));
  EXPECT_EQ(calls, 1);
}

TEST(Store, ABatchBeyondTheBoundsIsKeptUntilTheNextOne) {
  StoreOptions options;
  options.history_events_max = 4;
  auto store = open_memory(options);
  Txn many;
  for (int i = 0; i < 20; ++i) many.ops.push_back({"k" + std::to_string(i), Put{"x"}, {}});
  std::size_t seen = 0;
  const auto listening =
      store->listen([&] { seen += store->changes("", 1 + static_cast<Revision>(seen), 512)->events.size(); });
  ASSERT_TRUE(store->commit(std::move(many)));
  EXPECT_EQ(seen, 20u);
  ASSERT_TRUE(put(*store, "k", "1"));
  EXPECT_EQ(seen, 21u);
  EXPECT_LE(store->stats().history_events, 5u);
}

TEST(Store, AnIoErrorPoisonsAndSaysThatTheOutcomeIsUnknown) {
  GatedLog* gate = nullptr;
  StoreOptions options;
  std::atomic<int> told{0};
  options.on_poisoned = [&](const std::string&) { ++told; };
  auto store = *Store::open(make_gated_log(make_memory_log(), gate), options);
  ASSERT_TRUE(put(*store, "a", "1"));
  gate->fail_with(Log::AppendError::io);
  auto failed = store->commit(create("b", "1"));
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().reason, Reason::internal_error);
  EXPECT_THAT(failed.error().message, testing::HasSubstr("unknown"));
  gate->fail_with(Log::AppendError::none);
  EXPECT_EQ(store->commit(create("c", "1")).error().reason, Reason::service_unavailable);
  EXPECT_EQ(store->compact(2).error().reason, Reason::service_unavailable);
  EXPECT_TRUE(store->stats().poisoned);
  EXPECT_EQ(told, 1);
  EXPECT_EQ(store->pending().get("b"), nullptr);
  EXPECT_NE(store->snapshot().get("a"), nullptr);
}

TEST(Store, AnIoErrorOfACompactionPoisonsAsOneOfAWriteDoes) {
  GatedLog* gate = nullptr;
  StoreOptions options;
  std::atomic<int> told{0};
  options.on_poisoned = [&](const std::string&) { ++told; };
  auto store = *Store::open(make_gated_log(make_memory_log(), gate), options);
  ASSERT_TRUE(put(*store, "a", "1"));
  ASSERT_TRUE(put(*store, "a", "2"));
  gate->fail_with(Log::AppendError::io);
  const Outcome compacted = store->compact(store->snapshot().revision());
  gate->fail_with(Log::AppendError::none);
  ASSERT_FALSE(compacted);
  EXPECT_EQ(told, 1);
  EXPECT_TRUE(store->stats().poisoned);
  EXPECT_EQ(store->commit(create("c", "1")).error().reason, Reason::service_unavailable);
  EXPECT_NE(store->snapshot().get("a"), nullptr);
}

TEST(Store, AFullDiskFailsWritesLetsDeletesPassAndRecovers) {
  GatedLog* gate = nullptr;
  auto store = *Store::open(make_gated_log(make_memory_log(), gate));
  const Revision a = *put(*store, "a", "1");
  const Revision b = *put(*store, "b", "1");
  gate->fail_puts_with(Log::AppendError::full);
  auto failed = store->commit(create("c", "1"));
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().reason, Reason::too_many_requests);
  EXPECT_EQ(failed.error().causes.at(0).reason, "StorageFull");
  EXPECT_TRUE(store->stats().read_only);
  EXPECT_EQ(store->pending().get("c"), nullptr);
  EXPECT_EQ(store->commit(update("a", a, "2")).error().reason, Reason::too_many_requests);
  auto deleted = store->commit(remove("b", b));
  ASSERT_TRUE(deleted);
  EXPECT_GT(deleted->revisions[0], 4) << "the failed write's revision must not be given again";
  EXPECT_TRUE(store->stats().read_only) << "a delete that fits does not show that writes fit";
  gate->fail_puts_with(Log::AppendError::none);
  EXPECT_TRUE(eventually([&] { return store->commit(update("a", a, "2")).has_value(); }));
  EXPECT_FALSE(store->stats().read_only);
}

TEST(Store, AFullDiskKeepsDeletesThatWereQueuedBesideTheFailedWrites) {
  GatedLog* gate = nullptr;
  auto store = *Store::open(make_gated_log(make_memory_log(), gate));
  const Revision a = *put(*store, "a", "1");
  const Revision b = *put(*store, "b", "1");
  gate->fail_puts_with(Log::AppendError::full);
  gate->hold();
  Answers write, queued_write, good_delete, undone_delete, barrier;
  ASSERT_TRUE(store->submit(update("a", a, "2"), write.callback()));
  gate->wait_until_held();
  ASSERT_TRUE(store->submit(remove("b", b), good_delete.callback()));
  ASSERT_TRUE(store->submit(create("d", "1"), queued_write.callback()));
  ASSERT_TRUE(store->submit(remove("a", store->pending().get("a")->revision), undone_delete.callback()));
  ASSERT_TRUE(store->submit({}, barrier.callback()));
  gate->release();
  for (Answers* answers : {&write, &queued_write, &good_delete, &undone_delete, &barrier}) answers->wait(1);
  EXPECT_EQ(write.reason(), Reason::too_many_requests);
  EXPECT_EQ(queued_write.reason(), Reason::too_many_requests);
  EXPECT_EQ(good_delete.failures(), 0u);
  EXPECT_EQ(undone_delete.reason(), Reason::conflict);
  EXPECT_EQ(barrier.reason(), Reason::conflict) << "what it saw is undone";
  EXPECT_EQ(store->snapshot().get("a")->bytes, "1");
  EXPECT_EQ(store->snapshot().get("b"), nullptr);
  EXPECT_EQ(store->pending().count(""), 1u);
}

TEST(Store, ADeletionsWritesPassOnAFullDisk) {
  GatedLog* gate = nullptr;
  auto store = *Store::open(make_gated_log(make_memory_log(), gate));
  const Revision a = *put(*store, "a", "1");
  gate->fail_puts_with(Log::AppendError::full);
  ASSERT_FALSE(store->commit(create("c", "1")));
  Txn marked = update("a", a, "going");
  marked.ops[0].of_deletion = true;
  const auto going = store->commit(marked);
  ASSERT_TRUE(going) << going.error().message;
  EXPECT_TRUE(store->stats().read_only) << "that it fits does not show that writes fit";
  Txn both = update("a", going->revisions[0], "going still");
  both.ops[0].of_deletion = true;
  both.ops.push_back({"new", Put{"x"}, {}});
  EXPECT_FALSE(store->commit(both)) << "nothing else comes in with it";
  EXPECT_TRUE(store->commit(remove("a", going->revisions[0])));
}

TEST(Store, ADeleteThatDoesNotFitEitherFails) {
  GatedLog* gate = nullptr;
  auto store = *Store::open(make_gated_log(make_memory_log(), gate));
  const Revision a = *put(*store, "a", "1");
  gate->fail_with(Log::AppendError::full);
  EXPECT_EQ(store->commit(remove("a", a)).error().reason, Reason::too_many_requests);
  EXPECT_NE(store->pending().get("a"), nullptr);
  gate->fail_with(Log::AppendError::none);
  EXPECT_TRUE(store->commit(remove("a", a)));
}

TEST(Store, CloseDrainsAndRefusesAfterwards) {
  auto store = open_memory();
  Answers answers;
  for (int i = 0; i < 100; ++i) store->submit(create("k" + std::to_string(i), "x"), answers.callback());
  store->close();
  EXPECT_EQ(answers.count(), 100u);
  EXPECT_EQ(answers.failures(), 0u);
  EXPECT_EQ(store->commit(create("late", "x")).error().reason, Reason::service_unavailable);
  EXPECT_EQ(store->compact(5).error().reason, Reason::service_unavailable);
  EXPECT_EQ(store->snapshot().count(""), 100u);
}

TEST(Store, ASubscriptionMayOutliveTheStore) {
  auto store = open_memory();
  auto subscription = store->listen([] {});
  store.reset();
  subscription.reset();
}

}  // namespace
}  // namespace sublet::store
