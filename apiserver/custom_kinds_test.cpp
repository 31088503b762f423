// Kinds made at run time, as CRDs will be, through every verb and form of answer, without a line about them in a verb.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <thread>

#include "apiserver/custom_kinds_testing.h"
#include "apiserver/request/route.h"
#include "apiserver/server_testing.h"
#include "apiserver/watch/frame_cache.h"
#include "sublet/schema/engine.h"

namespace sublet::apiserver {
namespace {

using schema::Document;
using schema::Value;
using testing::ElementsAre;
using testing::HasSubstr;

const std::string kWidgets = "/apis/example.com/v1/namespaces/test/widgets";
const std::string kBetaWidgets = "/apis/example.com/v1beta1/namespaces/test/widgets";
const std::string kSites = "/apis/example.com/v1/sites";
constexpr std::string_view kTableType = "application/json;as=Table;v=v1;g=meta.k8s.io";
constexpr std::string_view kProtobufType = "application/vnd.kubernetes.protobuf";

ServerOptions with(std::shared_ptr<const schema::Registry> kinds) {
  ServerOptions options;
  options.kinds = std::move(kinds);
  return options;
}

struct CustomKindsRig : Rig {
  CustomKindsRig() : Rig({}, with(custom_kinds())) {}
  Reply make(const std::string& name, const std::string& title = "t", const std::string& labels = "{}") {
    return post(kWidgets, R"({"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":")" + name +
                              R"(","labels":)" + labels + R"(},"spec":{"title":")" + title + R"("}})");
  }
};

std::vector<std::string> names_of(const Reply& list) {
  std::vector<std::string> names;
  for (Value item : list.json["items"]) names.push_back(item["metadata"]["name"].string());
  return names;
}

TEST(CustomKinds, CreateDefaultsValidatesAndDropsStatus) {
  CustomKindsRig world;
  const auto made = world.post(
      kWidgets, R"({"metadata":{"name":"a"},"spec":{"title":"x","tags":[],"nope":1},"status":{"phase":"Ready"}})");
  EXPECT_EQ(made.code, 201) << made.body;
  EXPECT_EQ(made.text("apiVersion"), "example.com/v1");
  EXPECT_EQ(made.text("kind"), "Widget");
  EXPECT_EQ(made["metadata"]["generation"].integer(), 1);
  EXPECT_FALSE(made.text("metadata.uid").empty());
  EXPECT_EQ(made["spec"].to_json(), R"({"title":"x","size":3,"tags":[]})");
  EXPECT_FALSE(made.json.root().has("status"));
  EXPECT_THAT(made.headers.get("Warning"), HasSubstr("unknown field"));
  const auto refused = world.make("b", "forbidden");
  EXPECT_EQ(refused.code, 422);
  EXPECT_EQ(refused.text("message"),
            R"(Widget.example.com "b" is invalid: spec.title: Invalid value: must not be forbidden)");
  const auto wrong = world.post(kWidgets, R"({"metadata":{"name":"b"},"spec":{"mode":"odd"}})");
  EXPECT_EQ(wrong.code, 422);
  EXPECT_THAT(wrong.text("message"), HasSubstr(R"(supported values: "fast", "slow")"));
  EXPECT_EQ(world.post(kWidgets + "?fieldValidation=Strict", R"({"metadata":{"name":"b"},"spec":{"nope":1}})").code,
            400);
  EXPECT_EQ(world.post(kWidgets, R"({"metadata":{"name":"b"},"spec":{"size":"big"}})").code, 400);
  EXPECT_EQ(world.make("a").code, 409);
}

TEST(CustomKinds, EveryServedVersionReadsAndWritesTheSameObjects) {
  CustomKindsRig world;
  world.make("a", "one");
  const auto beta = world.get(kBetaWidgets + "/a");
  EXPECT_EQ(beta.code, 200);
  EXPECT_EQ(beta.text("apiVersion"), "example.com/v1beta1");
  EXPECT_EQ(beta.text("spec.title"), "one");
  EXPECT_EQ(world.post(kBetaWidgets, R"({"metadata":{"name":"b"},"spec":{"title":"two"}})").code, 201);
  const auto list = world.get(kWidgets);
  EXPECT_EQ(list.text("kind"), "WidgetList");
  EXPECT_EQ(list.text("apiVersion"), "example.com/v1");
  EXPECT_THAT(names_of(list), ElementsAre("a", "b"));
  EXPECT_EQ(world.get("/apis/example.com/v2/namespaces/test/widgets").code, 404);
}

TEST(CustomKinds, ListPagesAndSelects) {
  CustomKindsRig world;
  for (const char* name : {"a", "b", "c", "d", "e"}) world.make(name, "t", *name < 'c' ? R"({"half":"first"})" : "{}");
  auto page = world.get(kWidgets + "?limit=2");
  std::vector<std::string> names;
  for (;;) {
    for (auto& name : names_of(page)) names.push_back(std::move(name));
    const auto token = page.text("metadata.continue");
    if (token.empty()) break;
    page = world.get(kWidgets + "?limit=2&continue=" + token);
    ASSERT_EQ(page.code, 200) << page.body;
  }
  EXPECT_THAT(names, ElementsAre("a", "b", "c", "d", "e"));
  EXPECT_THAT(names_of(world.get("/apis/example.com/v1/widgets?labelSelector=half%3Dfirst")), ElementsAre("a", "b"));
  EXPECT_THAT(names_of(world.get(kWidgets + "?fieldSelector=metadata.name%3Dc")), ElementsAre("c"));
  EXPECT_EQ(world.get(kWidgets + "?fieldSelector=spec.title%3Dc").code, 400);
}

TEST(CustomKinds, UpdatesCountGenerationsAndStatusIsItsOwnEndpoint) {
  CustomKindsRig world;
  const auto made = world.make("a", "one");
  auto body = [&](const std::string& version, const std::string& rest) {
    return R"({"metadata":{"name":"a","resourceVersion":")" + version + R"("},)" + rest + "}";
  };
  const auto changed = world.put(kWidgets + "/a", body(made.version(), R"("spec":{"title":"two"},"status":{"x":1})"));
  EXPECT_EQ(changed.code, 200) << changed.body;
  EXPECT_EQ(changed["metadata"]["generation"].integer(), 2);
  EXPECT_FALSE(changed.json.root().has("status"));
  EXPECT_EQ(world.put(kWidgets + "/a", body(made.version(), R"("spec":{"title":"three"})")).code, 409);
  const auto status =
      world.put(kWidgets + "/a/status",
                body(changed.version(), R"("spec":{"title":"no"},"status":{"phase":"Ready","n":{"b":[]}})"));
  EXPECT_EQ(status.code, 200) << status.body;
  EXPECT_EQ(status.text("spec.title"), "two");
  EXPECT_EQ(status["status"].to_json(), R"({"phase":"Ready","n":{"b":[]}})");
  EXPECT_EQ(status["metadata"]["generation"].integer(), 2);
  EXPECT_EQ(world.get(kBetaWidgets + "/a/status").text("status.phase"), "Ready");
  EXPECT_EQ(world.get(kSites + "/x/status").code, 404);
}

TEST(CustomKinds, PatchesAreJsonOrMergeNeverStrategic) {
  CustomKindsRig world;
  world.make("a", "one");
  EXPECT_EQ(world.patch(kWidgets + "/a", "merge-patch", R"({"spec":{"title":"two","tags":["x"]}})").text("spec.title"),
            "two");
  EXPECT_EQ(
      world.patch(kWidgets + "/a", "json-patch", R"([{"op":"add","path":"/spec/tags/-","value":"y"}])")["spec"]["tags"]
          .to_json(),
      R"(["x","y"])");
  const auto status = world.patch(kWidgets + "/a/status", "merge-patch", R"({"status":{"phase":"Ready"}})");
  EXPECT_EQ(status.text("status.phase"), "Ready");
  const auto strategic = world.patch(kWidgets + "/a", "strategic-merge-patch", R"({"spec":{"title":"three"}})");
  EXPECT_EQ(strategic.code, 415);
  EXPECT_EQ(strategic.text("message"),
            "the body of the request was in an unknown format - accepted media types include: "
            "application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml");
  world.make_config_map("c");
  EXPECT_EQ(world.patch(kConfigMaps + "/c", "strategic-merge-patch", R"({"data":{"a":"b"}})").code, 200);
}

TEST(CustomKinds, DeleteAndDeleteCollection) {
  CustomKindsRig world;
  for (const char* name : {"a", "b", "c"}) world.make(name);
  const auto gone = world.remove(kWidgets + "/a");
  EXPECT_EQ(gone.code, 200);
  EXPECT_EQ(gone.text("kind"), "Status");
  EXPECT_EQ(gone.text("details.kind"), "widgets");
  EXPECT_EQ(world.get(kWidgets + "/a").code, 404);
  EXPECT_EQ(world.get(kWidgets + "/a").text("message"), R"(widgets.example.com "a" not found)");
  EXPECT_EQ(world.remove(kWidgets).code, 200);
  EXPECT_THAT(names_of(world.get(kWidgets)), ElementsAre());
}

TEST(CustomKinds, ClusterScopedKindsHaveNoNamespace) {
  CustomKindsRig world;
  const auto made = world.post(kSites, R"({"metadata":{"name":"x"},"spec":{"b":1,"a":[[1],[2]]}})");
  EXPECT_EQ(made.code, 201) << made.body;
  EXPECT_EQ(made["spec"].to_json(), R"({"b":1,"a":[[1],[2]]})");
  EXPECT_FALSE(made["metadata"].has("namespace"));
  EXPECT_EQ(world.get("/apis/example.com/v1/namespaces/test/sites").code, 404);
  EXPECT_EQ(world.remove(kSites + "/x").code, 200);
}

TEST(CustomKinds, WatchesTellEventsAndBookmarks) {
  CustomKindsRig world;
  world.make("a");
  auto watch = world.watch(
      kWidgets + "?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true");
  EXPECT_EQ(watch->event(0)["type"].text(), "ADDED");
  EXPECT_EQ(watch->event(0)["object"]["kind"].text(), "Widget");
  const auto bookmark = watch->event(1);
  EXPECT_EQ(bookmark["type"].text(), "BOOKMARK");
  EXPECT_EQ(bookmark["object"]["kind"].text(), "Widget");
  EXPECT_EQ(bookmark["object"]["apiVersion"].text(), "example.com/v1");
  EXPECT_EQ(bookmark["object"]["metadata"]["annotations"]["k8s.io/initial-events-end"].text(), "true");
  world.patch(kWidgets + "/a", "merge-patch", R"({"spec":{"title":"two"}})");
  EXPECT_EQ(watch->event(2)["type"].text(), "MODIFIED");
  EXPECT_EQ(watch->event(2)["object"]["spec"]["title"].text(), "two");
  world.remove(kWidgets + "/a");
  EXPECT_EQ(watch->event(3)["type"].text(), "DELETED");
}

TEST(CustomKinds, TablesShowTheirOwnColumnsOrNameAndAge) {
  CustomKindsRig world;
  world.make("a", "hello");
  world.post(kSites, R"({"metadata":{"name":"x"}})");
  const auto widgets = world.get(kWidgets, {{"Accept", std::string(kTableType)}});
  EXPECT_EQ(widgets.text("kind"), "Table");
  EXPECT_EQ(widgets["columnDefinitions"].at(1)["name"].text(), "Title");
  EXPECT_EQ(widgets["rows"].at(0)["cells"].to_json(), R"(["a","hello"])");
  EXPECT_EQ(widgets["rows"].at(0)["object"]["kind"].text(), "PartialObjectMetadata");
  const auto sites = world.get(kSites, {{"Accept", std::string(kTableType)}});
  EXPECT_EQ(sites["columnDefinitions"].at(1)["name"].text(), "Age");
  EXPECT_EQ(sites["rows"].at(0)["cells"].at(0).text(), "x");
}

TEST(CustomKinds, MetadataAloneIsServedInProtobufToo) {
  CustomKindsRig world;
  world.make("a");
  const auto json =
      world.get(kWidgets, {{"Accept", "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"}});
  EXPECT_EQ(json.text("kind"), "PartialObjectMetadataList");
  EXPECT_THAT(names_of(json), ElementsAre("a"));
  const auto protobuf = world.get(
      kWidgets, {{"Accept", std::string(kProtobufType) + ";as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"}});
  EXPECT_EQ(protobuf.code, 200);
  const auto envelope = schema::open_protobuf(protobuf.body);
  ASSERT_TRUE(envelope);
  EXPECT_EQ(envelope->kind, "PartialObjectMetadataList");
}

TEST(CustomKinds, TheObjectsHaveNoProtobuf) {
  CustomKindsRig world;
  world.make("a");
  EXPECT_EQ(world.get(kWidgets + "/a", {{"Accept", std::string(kProtobufType)}}).code, 406);
  EXPECT_EQ(world.get(kWidgets, {{"Accept", std::string(kProtobufType)}}).code, 406);
  EXPECT_EQ(world.get(kWidgets + "?watch=1", {{"Accept", std::string(kProtobufType)}}).code, 406);
  EXPECT_EQ(world.get(kWidgets + "/a", {{"Accept", std::string(kProtobufType) + ",application/json"}}).text("kind"),
            "Widget");
  const auto sent = world.call("POST", kWidgets, schema::seal_protobuf("example.com/v1", "Widget", ""),
                               {{"Content-Type", std::string(kProtobufType)}});
  EXPECT_EQ(sent.code, 415) << sent.body;
  const auto options = schema::seal_protobuf("v1", "DeleteOptions", "");
  EXPECT_EQ(world.call("DELETE", kWidgets + "/a", options, {{"Content-Type", std::string(kProtobufType)}}).code, 200);
}

Value entry_named(Value list, std::string_view key, std::string_view name) {
  for (Value item : list)
    if (item[key].text() == name) return item;
  return {};
}

TEST(CustomKinds, DiscoveryListsThem) {
  CustomKindsRig world;
  const auto groups = world.get("/apis");
  const auto group = entry_named(groups["groups"], "name", "example.com");
  ASSERT_TRUE(group);
  EXPECT_EQ(group["preferredVersion"]["version"].text(), "v1");
  EXPECT_EQ(group["versions"].size(), 2u);
  const auto resources = world.get("/apis/example.com/v1");
  EXPECT_EQ(entry_named(resources["resources"], "name", "widgets")["shortNames"].to_json(), R"(["wg"])");
  EXPECT_TRUE(entry_named(resources["resources"], "name", "widgets/status"));
  EXPECT_FALSE(entry_named(resources["resources"], "name", "sites")["namespaced"].boolean());
  const auto all =
      world.get("/apis", {{"Accept", "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"}});
  Value mine;
  for (Value item : all["items"])
    if (item["metadata"]["name"].text() == "example.com") mine = item;
  ASSERT_TRUE(mine);
  EXPECT_EQ(mine["versions"].at(0)["resources"].at(0)["resource"].text(), "widgets");
  EXPECT_EQ(mine["versions"].at(1)["version"].text(), "v1beta1");
}

TEST(CustomKinds, OpenApiDescribesThem) {
  CustomKindsRig world;
  const auto index = world.get("/openapi/v3");
  const auto url = index["paths"]["apis/example.com/v1"]["serverRelativeURL"].string();
  const auto v3 = world.get(url);
  EXPECT_EQ(v3.code, 200) << url;
  const Value spec = v3["components"]["schemas"]["com.example.v1.WidgetSpec"];
  EXPECT_EQ(spec["properties"]["mode"]["enum"].to_json(), R"(["fast","slow"])");
  EXPECT_TRUE(
      v3["components"]["schemas"]["com.example.v1.WidgetStatus"]["x-kubernetes-preserve-unknown-fields"].boolean());
  const Value kind = v3["components"]["schemas"]["com.example.v1.Widget"]["x-kubernetes-group-version-kind"].at(0);
  EXPECT_EQ(kind["group"].text(), "example.com");
  const Value patch = v3["paths"]["/apis/example.com/v1/namespaces/{namespace}/widgets/{name}"]["patch"];
  EXPECT_FALSE(patch["requestBody"]["content"].has("application/strategic-merge-patch+json"));
  EXPECT_TRUE(patch["requestBody"]["content"].has("application/merge-patch+json"));
  const auto v2 = world.get("/openapi/v2");
  EXPECT_TRUE(v2["definitions"].has("com.example.v1.SiteList"));
  EXPECT_TRUE(v2["paths"].has("/apis/example.com/v1/sites/{name}"));
}

TEST(CustomKinds, ComeAndGoWhileTheServerRuns) {
  Rig rig;
  EXPECT_EQ(rig.get(kWidgets).code, 404);
  const auto etag = [&] { return std::string(rig.get("/openapi/v2").headers.get("ETag")); };
  const std::string before = etag();
  rig.server().install_kinds(custom_kinds());
  EXPECT_EQ(rig.get(kWidgets).code, 200);
  EXPECT_NE(etag(), before);
  rig.server().install_kinds(schema::Registry::builtin());
  EXPECT_EQ(rig.get(kWidgets).code, 404);
  EXPECT_FALSE(entry_named(rig.get("/apis")["groups"], "name", "example.com"));
  EXPECT_EQ(etag(), before);
}

TEST(CustomKinds, AWatchGoesOnWithTheSnapshotItBeganWith) {
  Rig rig({}, with(custom_kinds("forbidden", "Old")));
  std::weak_ptr<const schema::Registry> old = rig.server().kinds();
  {
    auto watch = rig.watch(kWidgets + "?watch=1&resourceVersion=1", {{"Accept", std::string(kTableType)}});
    EXPECT_EQ(watch->code(), 200);
    rig.server().install_kinds(custom_kinds("forbidden", "New"));
    rig.post(kWidgets, R"({"metadata":{"name":"a"},"spec":{"title":"x"}})");
    EXPECT_EQ(watch->event(0)["object"]["columnDefinitions"].at(1)["name"].text(), "Old");
    EXPECT_FALSE(old.expired());
    EXPECT_EQ(rig.get(kWidgets, {{"Accept", std::string(kTableType)}})["columnDefinitions"].at(1)["name"].text(),
              "New");
    // Even when the kind is gone.
    auto current = rig.server().kinds();
    rig.server().install_kinds(schema::Registry::builtin());
    EXPECT_EQ(rig.get(kWidgets).code, 404);
    rig.server().install_kinds(std::move(current));
    rig.remove(kWidgets + "/a");
    EXPECT_EQ(watch->event(1)["type"].text(), "DELETED");
  }
  const auto patience = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (!old.expired() && std::chrono::steady_clock::now() < patience) std::this_thread::yield();
  EXPECT_TRUE(old.expired());
}

// Else a frame of another snapshot could be found under an address that was given again.
TEST(CustomKinds, TheFramesOfAWatchHoldTheSnapshotOfTheirRoute) {
  auto kinds = custom_kinds();
  const std::weak_ptr<const schema::Registry> held = kinds;
  const void* route = kinds->part<Routes>().find("example.com", "v1", "widgets");
  FrameCache frames;
  frames.keep({nullptr, route, 0}, nullptr, std::move(kinds), std::make_shared<const std::string>("{}"));
  EXPECT_FALSE(held.expired());
  frames.clear();
  EXPECT_TRUE(held.expired());
}

TEST(CustomKinds, ARequestGoesOnWithTheSnapshotItBeganWith) {
  Rig rig({}, with(custom_kinds("forbidden", "Old")));
  const auto kinds = rig.server().kinds();
  std::future<Reply> answer;
  // Whoever else held the snapshot for a moment made `idle` too large, and nothing was seen: once more.
  for (bool began = false; !began;) {
    const long idle = kinds.use_count();
    const std::int64_t present = std::stoll(rig.get(kWidgets).version());
    while (kinds.use_count() > idle) std::this_thread::yield();
    // Waits for a revision that is still to come, which the server allows for three seconds.
    answer = std::async(std::launch::async, [&rig, next = present + 1] {
      return rig.get(kWidgets + "?resourceVersion=" + std::to_string(next), {{"Accept", std::string(kTableType)}});
    });
    while (!began && answer.wait_for(std::chrono::seconds(0)) != std::future_status::ready)
      began = kinds.use_count() > idle;
  }
  rig.server().install_kinds(custom_kinds("forbidden", "New"));
  rig.make_config_map("c");
  const auto reply = answer.get();
  EXPECT_EQ(reply.code, 200) << reply.body;
  EXPECT_EQ(reply["columnDefinitions"].at(1)["name"].text(), "Old");
}

}  // namespace
}  // namespace sublet::apiserver
