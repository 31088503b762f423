// A store that has reached its quota, or whose disk is full: what is told, and that what is there can go.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>

#include "apiserver/server_testing.h"

namespace sublet::apiserver {
namespace {

using testing::HasSubstr;

std::string warnings_of(const Reply& reply) {
  std::string all;
  for (const auto warning : reply.headers.all("Warning")) all += std::string(warning) + "\n";
  return all;
}

std::string bound_pod_json(const std::string& name) {
  return R"({"metadata":{"name":")" + name + R"("},"spec":{"nodeName":"n","containers":[{"name":"c","image":"i"}]}})";
}

/// Room for so many objects beside those that every server makes for itself.
store::StoreOptions room_for(std::size_t objects) {
  store::StoreOptions options;
  options.quota.objects = Rig().store().usage().objects + objects;
  return options;
}

TEST(Quota, IsWarnedOfAndRefusesByName) {
  const auto options = room_for(3);
  Rig rig(options);
  const auto last = [&] {
    Reply reply;
    for (const char* name : {"a", "b", "c"}) reply = rig.make_config_map(name);
    return reply;
  }();
  ASSERT_EQ(last.code, 201) << last.body;
  const std::string full = std::to_string(options.quota.objects);
  EXPECT_THAT(warnings_of(last), HasSubstr("nearly full: " + full + " of " + full + " objects (100 %)"));
  const auto refused = rig.make_config_map("d");
  EXPECT_EQ(refused.code, 403);
  EXPECT_EQ(refused.text("reason"), "Forbidden");
  EXPECT_THAT(refused.text("message"), HasSubstr("exceeded quota of this virtual cluster's store"));
  EXPECT_EQ(rig.make_config_map("c").code, 409) << "what exists already is told as that";
  const auto grown = rig.patch(kConfigMaps + "/a", "merge-patch", R"({"data":{"more":"of it"}})");
  EXPECT_EQ(grown.code, 200);
  EXPECT_THAT(warnings_of(grown), HasSubstr("nearly full"));
  const auto shrunk = rig.patch(kConfigMaps + "/a", "merge-patch", R"({"data":null})");
  EXPECT_EQ(shrunk.code, 200);
  EXPECT_EQ(warnings_of(shrunk), "") << "who makes room needs no warning";
  EXPECT_EQ(rig.remove(kConfigMaps + "/b").code, 200);
  EXPECT_EQ(rig.make_config_map("d").code, 201);
}

TEST(Quota, BelowFourFifthsNobodyIsWarned) {
  Rig rig(room_for(1000));
  EXPECT_EQ(warnings_of(rig.make_config_map("a")), "");
}

/// Takes only what deletes, as SqliteLog does on a full disk.
class FullLog final : public store::Log {
 public:
  std::atomic<bool> full{false};
  Outcome replay(const std::function<Outcome(store::Row&&)>& visit) override { return below_->replay(visit); }
  store::Revision compacted() const override { return below_->compacted(); }
  store::Revision last() const override { return below_->last(); }
  AppendError append(const std::vector<store::Row>& rows, std::string& error) override {
    const bool adds = std::ranges::any_of(rows, [](const auto& row) { return !row.deleted && !row.of_deletion; });
    return full && adds ? AppendError::full : below_->append(rows, error);
  }
  AppendError compact(const std::vector<store::Revision>& rows, store::Revision floor, std::string& error) override {
    return below_->compact(rows, floor, error);
  }

 private:
  const std::unique_ptr<Log> below_ = store::make_memory_log();
};

void expect_graceful_deletion(Rig& rig, int refused_code) {
  EXPECT_EQ(rig.make_config_map("new").code, refused_code);
  const auto going = rig.remove(kDefaultPods + "/p", R"({"gracePeriodSeconds":30})");
  EXPECT_EQ(going.code, 200) << going.body;
  EXPECT_EQ(going["metadata"]["deletionGracePeriodSeconds"].integer(), 30);
  EXPECT_EQ(warnings_of(going), "") << "who makes room needs no warning";
  const auto status =
      rig.patch(kDefaultPods + "/p/status", "merge-patch", R"({"status":{"phase":"Failed","reason":"ended"}})");
  EXPECT_EQ(status.code, 200) << status.body;
  const std::string large(8192, 'x');
  const auto stuffed =
      rig.patch(kDefaultPods + "/p", "merge-patch", R"({"metadata":{"annotations":{"a":")" + large + R"("}}})");
  EXPECT_EQ(stuffed.code, refused_code) << "what goes is no place to store things";
  EXPECT_EQ(rig.remove(kDefaultPods + "/p", R"({"gracePeriodSeconds":0})").code, 200);
  EXPECT_EQ(rig.get(kDefaultPods + "/p").code, 404);

  const std::string space = "/api/v1/namespaces/team";
  const auto terminating = rig.remove(space);
  EXPECT_EQ(terminating.code, 200) << terminating.body;
  EXPECT_EQ(terminating.text("status.phase"), "Terminating");
  const auto told = rig.patch(
      space + "/status", "merge-patch",
      R"({"status":{"conditions":[{"type":"NamespaceDeletionContentFailure","status":"False","reason":"ContentDeleted"}]}})");
  EXPECT_EQ(told.code, 200) << told.body;
  const auto finalized =
      rig.put(space + "/finalize", R"({"kind":"Namespace","apiVersion":"v1","metadata":{"name":"team"},"spec":{}})");
  EXPECT_EQ(finalized.code, 200) << finalized.body;
  EXPECT_EQ(rig.get(space).code, 404);
}

void make_pod_and_namespace(Rig& rig) {
  ASSERT_EQ(rig.post(kDefaultPods, bound_pod_json("p")).code, 201);
  ASSERT_EQ(rig.post("/api/v1/namespaces", R"({"metadata":{"name":"team"}})").code, 201);
}

TEST(FullDisk, PodsAndNamespacesStillEndAsTheyShould) {
  auto log = std::make_unique<FullLog>();
  FullLog& disk = *log;
  Rig rig({}, {}, std::move(log));
  make_pod_and_namespace(rig);
  disk.full = true;
  expect_graceful_deletion(rig, 429);
}

TEST(Quota, PodsAndNamespacesStillEndAsTheyShould) {
  store::StoreOptions options;
  {
    Rig probe;
    make_pod_and_namespace(probe);
    options.quota.bytes = probe.store().usage().bytes + 100;  // ids and times differ in nothing that has a length
  }
  Rig rig(options);
  make_pod_and_namespace(rig);
  expect_graceful_deletion(rig, 403);
}

}  // namespace
}  // namespace sublet::apiserver
