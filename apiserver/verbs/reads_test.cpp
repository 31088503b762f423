// Reads and encodings, through a server.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "apiserver/codec/negotiation.h"
#include "apiserver/server_testing.h"
#include "apiserver/verbs/read_steps.h"
#include "sublet/schema/engine.h"
#include "sublet/schema/registry.h"

namespace sublet::apiserver {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

TEST(Get, SplicesTypeAndRevision) {
  Rig rig;
  const auto made = rig.make_config_map("a");
  ASSERT_EQ(made.code, 201) << made.body;
  const auto got = rig.get(kConfigMaps + "/a");
  EXPECT_EQ(got.code, 200);
  EXPECT_EQ(got.body, made.body);
  EXPECT_THAT(got.body,
              StartsWith(R"({"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a","namespace":"test","uid":")"));
  EXPECT_EQ(got.body.back(), '\n');
  EXPECT_EQ(got.version(), std::to_string(rig.store().snapshot().revision()));
  EXPECT_EQ(got.headers.get("Cache-Control"), "no-cache, private");
  EXPECT_EQ(got.headers.get("Audit-Id").size(), 36u);
}

TEST(Get, MissingNamesTheResource) {
  Rig rig;
  const auto got = rig.get(kConfigMaps + "/none");
  EXPECT_EQ(got.code, 404);
  EXPECT_EQ(got.text("message"), "configmaps \"none\" not found");
  EXPECT_EQ(got.text("reason"), "NotFound");
  EXPECT_EQ(got.text("details.kind"), "configmaps");
  EXPECT_EQ(rig.get("/api/v1/namespaces/default/nosuch").text("message"),
            "the server could not find the requested resource");
  EXPECT_EQ(rig.get("/nosuch").code, 404);
}

TEST(Get, FutureRevisionTimesOutWithCause) {  // 21
  Rig rig;
  const auto got = rig.get(kConfigMaps + "?resourceVersion=999999999");
  EXPECT_EQ(got.code, 504);
  EXPECT_EQ(got.text("reason"), "Timeout");
  EXPECT_EQ(got["details"]["causes"].at(0)["reason"].text(), "ResourceVersionTooLarge");
  EXPECT_EQ(got["details"]["retryAfterSeconds"].integer(), 1);
  EXPECT_EQ(rig.get(kConfigMaps + "?resourceVersion=abc").code, 400);
}

TEST(List, ItemsCarryNoTypeAndComeInKeyOrder) {
  Rig rig;
  for (const auto* name : {"b", "a", "c"}) rig.make_config_map(name);
  const auto list = rig.get(kConfigMaps);
  EXPECT_THAT(list.body, StartsWith(R"({"kind":"ConfigMapList","apiVersion":"v1","metadata":{"resourceVersion":")"));
  ASSERT_EQ(list["items"].size(), 3u);
  EXPECT_EQ(list["items"].at(0)["metadata"]["name"].text(), "a");
  EXPECT_FALSE(list["items"].at(0).has("kind"));
  EXPECT_EQ(rig.get("/api/v1/namespaces/none/configmaps").body.find("null"), std::string::npos);
}

// The server looks at 512 objects at a time (256 of initial events): a name that only goes on where the last one of a
// step ends comes next all the same.
TEST(List, NothingIsSkippedBetweenTwoSteps) {
  Rig rig;
  std::vector<std::string> names;
  for (int i = 1000; i < 1530; ++i) names.push_back("c" + std::to_string(i));
  for (const int longer : {1255, 1510}) names.push_back("c" + std::to_string(longer) + "-a");
  for (const auto& name : names) rig.make_config_map(name);
  EXPECT_EQ(rig.get(kConfigMaps)["items"].size(), names.size());
  const auto watching = rig.watch(
      kConfigMaps + "?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true");
  EXPECT_EQ(watching->event(names.size())["type"].text(), "BOOKMARK") << "behind as many ADDED";
}

TEST(List, ANameThatGoesOnWhereAPageEndsBeginsTheNext) {
  Rig rig;
  for (const char* name : {"a", "a-b", "a0"}) rig.make_config_map(name);
  const auto page = rig.get(kConfigMaps + "?limit=1");
  const auto next = rig.get(kConfigMaps + "?limit=1&continue=" + page.text("metadata.continue"));
  EXPECT_EQ(next["items"].at(0)["metadata"]["name"].text(), "a-b");
}

TEST(List, PagesAreOneSnapshot) {  // 19
  Rig rig;
  for (int i = 0; i < 5; ++i) rig.make_config_map("c" + std::to_string(i));
  auto page = rig.get(kConfigMaps + "?limit=2");
  const std::string version = page.version();
  EXPECT_EQ(page["metadata"]["remainingItemCount"].integer(), 3);
  rig.make_config_map("c11");  // must not appear
  rig.remove(kConfigMaps + "/c4");
  std::vector<std::string> names;
  for (;;) {
    for (auto item : page["items"]) names.push_back(item["metadata"]["name"].string());
    EXPECT_EQ(page.version(), version);
    const auto token = page.text("metadata.continue");
    if (token.empty()) break;
    page = rig.get(kConfigMaps + "?limit=2&continue=" + token);
    ASSERT_EQ(page.code, 200) << page.body;
  }
  EXPECT_THAT(names, testing::ElementsAre("c0", "c1", "c2", "c3", "c4"));
}

TEST(List, ExpiredTokenGivesOneThatResumes) {  // 20
  Rig rig;
  for (int i = 0; i < 3; ++i) rig.make_config_map("c" + std::to_string(i));
  const auto page = rig.get(kConfigMaps + "?limit=1");
  rig.make_config_map("z");
  ASSERT_TRUE(rig.store().compact(rig.store().snapshot().revision()));
  const auto expired = rig.get(kConfigMaps + "?limit=1&continue=" + page.text("metadata.continue"));
  EXPECT_EQ(expired.code, 410);
  EXPECT_EQ(expired.text("reason"), "Expired");
  const auto resumed = rig.get(kConfigMaps + "?limit=10&continue=" + expired.text("metadata.continue"));
  EXPECT_EQ(resumed.code, 200);
  EXPECT_EQ(resumed["items"].size(), 3u);
  EXPECT_EQ(resumed["items"].at(0)["metadata"]["name"].text(), "c1");
}

struct MatchCase {
  const char* query;
  int code;
};
void PrintTo(const MatchCase& match, std::ostream* out) { *out << match.query; }
class VersionMatch : public testing::TestWithParam<MatchCase> {};
TEST_P(VersionMatch, IsChecked) {  // 22
  Rig rig;
  EXPECT_EQ(rig.get(kConfigMaps + GetParam().query).code, GetParam().code);
}
INSTANTIATE_TEST_SUITE_P(List, VersionMatch,
                         testing::Values(MatchCase{"?resourceVersionMatch=Exact", 422},
                                         MatchCase{"?resourceVersion=0&resourceVersionMatch=Exact", 422},
                                         MatchCase{"?resourceVersion=0&resourceVersionMatch=NotOlderThan", 200},
                                         MatchCase{"?resourceVersion=2&resourceVersionMatch=NotOlderThan", 200},
                                         MatchCase{"?resourceVersion=2&resourceVersionMatch=Exact", 200},
                                         MatchCase{"?resourceVersion=2&resourceVersionMatch=Other", 422},
                                         MatchCase{"?sendInitialEvents=true", 422}, MatchCase{"?continue=!!", 400},
                                         MatchCase{"?watch=1&sendInitialEvents=true", 422},
                                         MatchCase{"?watch=1&resourceVersion=2&resourceVersionMatch=NotOlderThan",
                                                   422}));

TEST(List, ExactRevisionIsThatState) {
  Rig rig;
  const auto first = rig.make_config_map("a");
  rig.make_config_map("b");
  const auto list = rig.get(kConfigMaps + "?resourceVersion=" + first.version() + "&resourceVersionMatch=Exact");
  EXPECT_EQ(list.version(), first.version());
  EXPECT_EQ(list["items"].size(), 1u);
}

TEST(List, SelectorsFilterAndHideTheCount) {  // 23, 24
  Rig rig;
  rig.make_config_map("a", "v", R"({"app":"x"})");
  rig.make_config_map("b", "v", R"({"app":"y"})");
  EXPECT_EQ(rig.get(kConfigMaps + "?labelSelector=app%3Dx")["items"].size(), 1u);
  EXPECT_EQ(rig.get(kConfigMaps + "?labelSelector=app+in+(x,y)")["items"].size(), 2u);
  EXPECT_EQ(rig.get(kConfigMaps + "?fieldSelector=metadata.name%3Db")["items"].at(0)["metadata"]["name"].text(), "b");
  EXPECT_EQ(rig.get("/api/v1/configmaps?fieldSelector=metadata.namespace%3Dtest,metadata.name%3Db")["items"].size(),
            1u);
  const auto refused = rig.get(kConfigMaps + "?fieldSelector=data.x%3D1");
  EXPECT_EQ(refused.code, 400);
  EXPECT_THAT(refused.text("message"),
              HasSubstr("\"data.x\" is not a known field selector: only \"metadata.name\", \"metadata.namespace\""));
  EXPECT_EQ(rig.get("/api/v1/namespaces/test/pods?fieldSelector=spec.x%3D1").text("message"),
            "field label not supported: spec.x");
  const auto match = rig.get(kConfigMaps + "?sendInitialEvents=true&resourceVersionMatch=NotOlderThan");
  EXPECT_EQ(match["details"]["causes"].at(0)["field"].text(), "resourceVersionMatch");
  EXPECT_EQ(match["details"]["causes"].at(1)["field"].text(), "sendInitialEvents");
  const auto page = rig.get(kConfigMaps + "?limit=1&labelSelector=app");
  EXPECT_FALSE(page.text("metadata.continue").empty());
  EXPECT_FALSE(page["metadata"].has("remainingItemCount"));
}

TEST(List, ReadsItsOwnWrites) {  // 31
  Rig rig;
  for (int i = 0; i < 300; ++i) {
    rig.make_config_map("c" + std::to_string(i));
    ASSERT_EQ(rig.get(kConfigMaps)["items"].size(), static_cast<std::size_t>(i + 1));
  }
}

TEST(Encoding, ProtobufObjectAndList) {  // 6
  Rig rig;
  rig.make_config_map("a");
  const auto object = rig.get(kConfigMaps + "/a", {{"Accept", "application/vnd.kubernetes.protobuf"}});
  EXPECT_EQ(object.headers.get("Content-Type"), "application/vnd.kubernetes.protobuf");
  const auto envelope = schema::open_protobuf(object.body);
  ASSERT_TRUE(envelope);
  EXPECT_EQ(envelope->kind, "ConfigMap");
  const auto list = rig.get(kConfigMaps, {{"Accept", "application/vnd.kubernetes.protobuf,application/json"}});
  const auto list_envelope = schema::open_protobuf(list.body);
  ASSERT_TRUE(list_envelope);
  EXPECT_EQ(list_envelope->kind, "ConfigMapList");
  auto decoded =
      schema::decode_protobuf(list_envelope->raw, schema::Registry::builtin()->find_kind("", "v1", "ConfigMapList"));
  ASSERT_TRUE(decoded) << decoded.error().message;
  EXPECT_EQ((*decoded)["items"].at(0)["data"]["k"].text(), "v");
}

TEST(Encoding, ProtobufBodiesAreTaken) {  // 5
  Rig rig;
  auto object = schema::Document::parse_json(R"({"metadata":{"name":"p"},"data":{"a":"b"}})");
  const auto type = schema::Registry::builtin()->find_kind("", "v1", "ConfigMap");
  const auto made = rig.call("POST", kConfigMaps,
                             schema::seal_protobuf("v1", "ConfigMap", schema::encode_protobuf(object->root(), type)),
                             {{"Content-Type", "application/vnd.kubernetes.protobuf"}});
  EXPECT_EQ(made.code, 201) << made.body;
  EXPECT_EQ(made.text("data.a"), "b");
}

TEST(Encoding, NothingAcceptableIs406) {
  Rig rig;
  const auto got = rig.get(kConfigMaps, {{"Accept", "application/cbor"}});
  EXPECT_EQ(got.code, 406);
  EXPECT_EQ(got.text("reason"), "NotAcceptable");
  EXPECT_EQ(rig.call("POST", kConfigMaps, "x", {{"Content-Type", "text/plain"}}).code, 415);
}

TEST(Encoding, MetadataForms) {
  Rig rig;
  rig.make_config_map("a", "secret-value");
  const auto list =
      rig.get(kConfigMaps, {{"Accept", "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"}});
  EXPECT_EQ(list.text("kind"), "PartialObjectMetadataList");
  EXPECT_EQ(list["items"].at(0)["metadata"]["name"].text(), "a");
  EXPECT_EQ(list.body.find("secret-value"), std::string::npos);
  const auto protobuf = rig.get(
      kConfigMaps, {{"Accept", "application/vnd.kubernetes.protobuf;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"}});
  EXPECT_EQ(schema::open_protobuf(protobuf.body)->kind, "PartialObjectMetadataList");
}

TEST(Encoding, TableHasColumnsAndRows) {
  Rig rig;
  rig.make_config_map("a");
  const auto table =
      rig.get(kConfigMaps, {{"Accept", "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"}});
  EXPECT_EQ(table.text("kind"), "Table");
  EXPECT_EQ(table["columnDefinitions"].at(0)["name"].text(), "Name");
  EXPECT_EQ(
      rig.get(kConfigMaps + "?includeObject=Some", {{"Accept", "application/json;as=Table;v=v1;g=meta.k8s.io"}}).code,
      400);
  EXPECT_EQ(table["rows"].at(0)["cells"].at(0).text(), "a");
  EXPECT_EQ(table["rows"].at(0)["cells"].size(), table["columnDefinitions"].size());
  EXPECT_EQ(table["rows"].at(0)["object"]["kind"].text(), "PartialObjectMetadata");
}

TEST(Encoding, PrettyAndYaml) {
  Rig rig;
  rig.make_config_map("a");
  EXPECT_THAT(rig.get(kConfigMaps + "/a?pretty=true").body, StartsWith("{\n  \"kind\": \"ConfigMap\",\n"));
  EXPECT_THAT(rig.get(kConfigMaps + "/a", {{"User-Agent", "curl/8"}}).body, StartsWith("{\n"));
  EXPECT_THAT(rig.get(kConfigMaps + "/a", {{"Accept", "application/yaml"}}).body, HasSubstr("\nkind: ConfigMap\n"));
}

TEST(Negotiation, TakesTheBestClause) {
  EXPECT_EQ(negotiate("application/json;q=0.5,application/yaml", {true})->media, Media::yaml);
  EXPECT_EQ(negotiate("application/xml, */*", {true})->media, Media::json);
  EXPECT_EQ(negotiate("application/json;as=Table;v=v1;g=meta.k8s.io", {true})->form, Form::table);
  EXPECT_FALSE(negotiate("application/json;as=Table;v=v1;g=meta.k8s.io", {false}));
  EXPECT_FALSE(negotiate("application/vnd.kubernetes.protobuf;as=Table;v=v1;g=meta.k8s.io", {true}));
  EXPECT_FALSE(negotiate("application/json;q=0", {true}));
}

TEST(Negotiation, PrettyIsReadAsGoDoes) {
  for (const char* value : {"1", "true", "True", "TRUE", "t", "T"}) EXPECT_TRUE(wants_pretty(value, "x")) << value;
  for (const char* value : {"0", "false", "False", "yes"}) EXPECT_FALSE(wants_pretty(value, "curl/8")) << value;
  EXPECT_TRUE(wants_pretty("", "curl/8"));
  EXPECT_FALSE(wants_pretty(std::nullopt, "kubectl"));
}

TEST(Paths, FollowTheUrlGrammar) {
  net::Request request;
  request.method = "GET";
  const auto info = [&](std::string target) {
    request.target = std::move(target);
    return parse_request_info(request, Query(request.query()));
  };
  EXPECT_EQ(info("/api/v1/namespaces/x/finalize").resource, "namespaces");
  EXPECT_EQ(info("/api/v1/namespaces/x/finalize").subresource, "finalize");
  EXPECT_EQ(info("/api/v1/namespaces/x/pods/p/log").subresource, "log");
  EXPECT_EQ(info("/api/v1/namespaces/x/pods").namespace_name, "x");
  EXPECT_EQ(info("/apis/apps/v1/watch/namespaces/x/deployments").verb, Verb::watch);
  EXPECT_EQ(info("/api/v1/pods?watch=true").verb, Verb::watch);
  for (const std::string value : {"0", "false", "False", "FALSE"})
    EXPECT_EQ(info("/api/v1/pods?watch=" + value).verb, Verb::list) << value;
  for (const std::string value : {"1", "true", "True", "", "no"})
    EXPECT_EQ(info("/api/v1/pods?watch=" + value).verb, Verb::watch) << value;
  EXPECT_FALSE(info("/api/v1").is_resource);
}

TEST(Endpoints, HealthVersionAndPaths) {
  Rig rig;
  EXPECT_EQ(rig.get("/readyz").body, "ok");
  EXPECT_THAT(rig.get("/readyz?verbose").body, HasSubstr("[+]ping ok\n"));
  EXPECT_EQ(rig.get("/livez/ping").body, "ok");
  EXPECT_EQ(rig.get("/livez/none").code, 404);
  for (const std::string endpoint : {"/healthz", "/livez", "/readyz"}) {
    EXPECT_EQ(rig.get(endpoint + "/etcd").body, "ok") << endpoint;
    EXPECT_THAT(rig.get(endpoint + "?verbose&exclude=etcd").body, HasSubstr("[+]etcd excluded: ok\n")) << endpoint;
  }
  EXPECT_EQ(rig.get("/version").text("minor"), "36");
  EXPECT_THAT(rig.get("/").body, HasSubstr("\"/apis/apps/v1\""));
  EXPECT_THAT(rig.get("/metrics").body, HasSubstr("apiserver_request_total"));
  rig.server().stop();
  EXPECT_EQ(rig.get("/readyz").code, 500);
  EXPECT_EQ(rig.get("/livez").code, 200);
}

TEST(Endpoints, DiscoveryAnswersWithEtag) {  // 1, 2, 3
  Rig rig;
  const net::Headers accept = {
      {"Accept", "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json"}};
  const auto first = rig.get("/apis", accept);
  EXPECT_EQ(first.headers.get("Content-Type"), "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList");
  auto conditional = accept;
  conditional.add("If-None-Match", std::string(first.headers.get("ETag")));
  const auto second = rig.get("/apis", conditional);
  EXPECT_EQ(second.code, 304);
  EXPECT_TRUE(second.body.empty());
  EXPECT_FALSE(second.headers.has("Content-Type"));
  EXPECT_EQ(rig.get("/apis").text("kind"), "APIGroupList");
  EXPECT_EQ(rig.get("/apis/nosuch").code, 404);
}

TEST(Endpoints, DiscoveryIsNegotiated) {
  Rig rig;
  for (const std::string path : {"/api", "/apis", "/apis/apps", "/api/v1", "/apis/apps/v1"}) {
    const auto yaml = rig.get(path, {{"Accept", "application/yaml"}});
    EXPECT_EQ(yaml.code, 200) << path;
    EXPECT_EQ(yaml.headers.get("Content-Type"), "application/yaml") << path;
    EXPECT_THAT(yaml.body, HasSubstr("kind: API")) << path;
    const auto protobuf = rig.get(path, {{"Accept", "application/vnd.kubernetes.protobuf"}});
    EXPECT_EQ(protobuf.headers.get("Content-Type"), "application/vnd.kubernetes.protobuf") << path;
    EXPECT_TRUE(schema::open_protobuf(protobuf.body)) << path;
    EXPECT_EQ(rig.get(path, {{"Accept", "text/plain"}}).code, 406) << path;
    EXPECT_EQ(rig.get(path, {{"Accept", "text/plain,*/*;q=0.1"}}).headers.get("Content-Type"), "application/json")
        << path;
  }
}

}  // namespace
}  // namespace sublet::apiserver
