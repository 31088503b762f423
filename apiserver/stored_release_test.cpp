// A store that another Kubernetes release has written.
#include "apiserver/stored_release.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sublet/schema/document.h"
#include "sublet/store/memory_log.h"

namespace sublet::apiserver {
namespace {

using testing::HasSubstr;

struct Written {
  std::unique_ptr<store::Store> store = std::move(*store::Store::open(store::make_memory_log()));

  void put(const std::string& key, const std::string& json) {
    store::Txn txn;
    txn.ops.push_back({key, store::Put{json}});
    ASSERT_TRUE(store->commit(std::move(txn)));
  }
  void record(const std::string& release, const std::string& resources) {
    put(std::string(kStoredReleaseKey), R"({"release":")" + release + R"(","resources":{)" + resources + "}}");
  }
  Outcome accept() const { return accept_stored_release(*store, *schema::Registry::builtin()); }
  std::string refusal() const {
    const auto outcome = accept();
    return outcome ? "accepted" : outcome.error().message;
  }
  schema::Document at(const std::string& key) const {
    const auto object = store->snapshot().get(key);
    return object ? *schema::Document::parse_json(object->json()) : schema::Document();
  }
};

TEST(StoredRelease, IsRecordedOnce) {
  Written written;
  ASSERT_TRUE(written.accept());
  const auto record = written.at(std::string(kStoredReleaseKey));
  EXPECT_EQ(record["release"].text(), schema::Registry::builtin()->release());
  EXPECT_EQ(record["resources"]["horizontalpodautoscalers.autoscaling"].text(), "v2");
  EXPECT_EQ(record["resources"]["pods"].text(), "v1");
  const auto revision = written.store->snapshot().revision();
  ASSERT_TRUE(written.accept());
  EXPECT_EQ(written.store->snapshot().revision(), revision);
}

TEST(StoredRelease, AnEarlierReleasesVersionsAreConverted) {
  Written written;
  const std::string key = "horizontalpodautoscalers.autoscaling/test/web";
  written.record("v1.22.0", R"("horizontalpodautoscalers.autoscaling":"v1","gone.example.com":"v1")");
  written.put(key, R"({"metadata":{"name":"web","namespace":"test","uid":"a"},"spec":{"maxReplicas":3,
    "scaleTargetRef":{"kind":"Deployment","name":"web"},"targetCPUUtilizationPercentage":42}})");
  ASSERT_TRUE(written.accept());
  const auto web = written.at(key);
  EXPECT_EQ(
      web.root().path("spec.metrics").to_json(),
      R"([{"type":"Resource","resource":{"name":"cpu","target":{"type":"Utilization","averageUtilization":42}}}])");
  EXPECT_FALSE(web["spec"].has("targetCPUUtilizationPercentage"));
  EXPECT_EQ(written.at(std::string(kStoredReleaseKey))["release"].text(), schema::Registry::builtin()->release());
}

TEST(StoredRelease, WhatALaterReleaseHasAndThisOneDoesNotIsRefusedByName) {
  Written written;
  written.record("v9.1.0", R"("gadgets.example.com":"v1","configmaps":"v1","pods":"v7")");
  EXPECT_EQ(written.refusal(), "accepted");  // of none of them is there an object

  written.record("v9.1.0", R"("gadgets.example.com":"v1","configmaps":"v1")");
  written.put("configmaps/test/a", R"({"metadata":{"name":"a","namespace":"test"},"data":{"k":"v"},"colour":"red"})");
  EXPECT_THAT(written.refusal(), HasSubstr("written by Kubernetes v9.1.0, and configmaps/test/a has colour, which "));
  written.put("configmaps/test/a", R"({"metadata":{"name":"a","namespace":"test"},"data":{"k":"v"}})");
  written.put("gadgets.example.com/test/b", R"({"metadata":{"name":"b","namespace":"test"}})");
  EXPECT_THAT(written.refusal(), HasSubstr("holds 1 objects of gadgets.example.com as example.com/v1, which "));
  EXPECT_THAT(written.refusal(), HasSubstr("start it again with the release that wrote it"));
  EXPECT_EQ(written.at(std::string(kStoredReleaseKey))["release"].text(), "v9.1.0");  // and stays as it is

  written.record("v9.1.0", R"("pods":"v7")");
  written.put("pods/test/c", R"({"metadata":{"name":"c","namespace":"test"}})");
  EXPECT_THAT(written.refusal(), HasSubstr("holds 1 objects of pods as v7"));
}

TEST(StoredRelease, AnEarlierReleasesObjectsAreNotLookedThrough) {
  Written written;
  written.record("v1.0.0", R"("configmaps":"v1")");
  written.put("configmaps/test/a", R"({"metadata":{"name":"a","namespace":"test"},"colour":"red"})");
  const auto before = written.store->snapshot().get("configmaps/test/a");
  ASSERT_TRUE(written.accept());
  EXPECT_EQ(written.store->snapshot().get("configmaps/test/a"), before);
}

}  // namespace
}  // namespace sublet::apiserver
