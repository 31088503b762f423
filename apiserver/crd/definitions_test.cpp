// CustomResourceDefinitions from their POST to the kind's end, over a server in process.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "apiserver/server_testing.h"

namespace sublet::apiserver {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const std::string kTabs = "/apis/stable.example.com/v1/namespaces/test/crontabs";
const std::string kCronTabSpec = R"({"type":"object","required":["cron"],"properties":{
  "cron":{"type":"string","pattern":"^[0-9* /]+$","maxLength":20},
  "image":{"type":"string","default":"busy"},
  "replicas":{"type":"integer","minimum":1,"maximum":10,"default":1},
  "mode":{"type":"string","enum":["fast","slow"]},
  "nothing":{"type":"string","nullable":true},
  "ports":{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["name"],
    "items":{"type":"object","required":["name"],"properties":{"name":{"type":"string"},"port":{"type":"integer"}}}},
  "tags":{"type":"array","x-kubernetes-list-type":"set","items":{"type":"string"}},
  "any":{"type":"object","x-kubernetes-preserve-unknown-fields":true},
  "size":{"x-kubernetes-int-or-string":true},
  "ip":{"type":"string","format":"ipv4"},
  "template":{"type":"object","x-kubernetes-embedded-resource":true,"x-kubernetes-preserve-unknown-fields":true},
  "one":{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string"}},
    "oneOf":[{"required":["a"]},{"required":["b"]}]}}})";

std::string version(const std::string& name, bool storage, const std::string& spec = kCronTabSpec) {
  return R"({"name":")" + name + R"(","served":true,"storage":)" + (storage ? "true" : "false") +
         R"(,"subresources":{"status":{},"scale":{"specReplicasPath":".spec.replicas","statusReplicasPath":".status.n",
            "labelSelectorPath":".status.selector"}},
         "additionalPrinterColumns":[{"name":"Cron","type":"string","jsonPath":".spec.cron"},
           {"name":"Ready","type":"string","jsonPath":".status.conditions[?(@.type==\"Ready\")].status"},
           {"name":"N","type":"integer","jsonPath":".spec.replicas"}],
         "selectableFields":[{"jsonPath":".spec.cron"}],
         "schema":{"openAPIV3Schema":{"type":"object","properties":{"spec":)" +
         spec + R"(,"status":{"type":"object","properties":{"n":{"type":"integer"},"selector":{"type":"string"},
           "conditions":{"type":"array","items":{"type":"object","properties":{"type":{"type":"string"},
             "status":{"type":"string"}}}}}}}}}})";
}

std::string definition(const std::string& versions, const std::string& short_name = "ct") {
  return R"({"metadata":{"name":"crontabs.stable.example.com"},"spec":{"group":"stable.example.com",
    "scope":"Namespaced","names":{"plural":"crontabs","kind":"CronTab","shortNames":[")" +
         short_name + R"("],"categories":["all"]},"versions":[)" + versions + "]}}";
}

std::string status_of(const schema::Value& object, std::string_view type) {
  for (const schema::Value condition : object["status"]["conditions"])
    if (condition["type"].text() == type) return condition["status"].string() + " " + condition["reason"].string();
  return {};
}

/// A watch on the definitions, to wait for what the keeper does.
struct DefinitionsRig : Rig {
  using Rig::Rig;
  /// The definition, once `holds` says so of it.
  template <class Holds>
  schema::Document await(Holds holds) {
    auto watch = this->watch(kDefinitions + "?watch=1");
    for (std::size_t n = 0;; ++n) {
      auto event = watch->event(n);
      if (event.root().is_null() || holds(event["type"].text(), event["object"])) return event;
    }
  }
  void define(const std::string& body = definition(version("v1", true))) {
    const auto made = post(kDefinitions, body);
    ASSERT_EQ(made.code, 201) << made.body;
    await([](std::string_view, const schema::Value& object) {
      return status_of(object, "Established").starts_with("True");
    });
  }
  Reply tab(const std::string& spec, const std::string& name = "a") {
    return post(kTabs, R"({"metadata":{"name":")" + name + R"("},"spec":)" + spec + "}");
  }
};

TEST(Definitions, EstablishedMeansServed) {
  DefinitionsRig world;
  const auto made = world.post(kDefinitions, definition(version("v1", true)));
  EXPECT_EQ(made.text("spec.names.singular"), "crontab");
  EXPECT_EQ(made.text("spec.names.listKind"), "CronTabList");
  EXPECT_EQ(made.text("spec.conversion.strategy"), "None");
  EXPECT_EQ(made["status"]["storedVersions"].to_json(), R"(["v1"])");
  EXPECT_FALSE(made.headers.get("Warning").size());
  const auto event = world.await(
      [](std::string_view, const schema::Value& object) { return !status_of(object, "Established").empty(); });
  EXPECT_EQ(status_of(event["object"], "NamesAccepted"), "True NoConflicts");
  EXPECT_EQ(status_of(event["object"], "Established"), "True InitialNamesAccepted");
  EXPECT_EQ(event["object"]["status"]["acceptedNames"]["plural"].text(), "crontabs");
  EXPECT_EQ(world.get(kTabs).code, 200);
  EXPECT_THAT(world.get("/apis").body, HasSubstr("stable.example.com"));
  EXPECT_THAT(world.get("/apis/stable.example.com/v1").body, HasSubstr("\"crontabs/scale\""));
  EXPECT_THAT(world.get("/openapi/v3/apis/stable.example.com/v1").body, HasSubstr("com.example.stable.v1.CronTab"));
  EXPECT_THAT(world.get("/openapi/v2").body, HasSubstr("com.example.stable.v1.CronTabList"));
}

TEST(Definitions, WhatIsUnknownIsPrunedAndWhatIsAbsentDefaulted) {
  DefinitionsRig world;
  world.define();
  const auto made = world.tab(R"({"cron":"*","nope":1,"any":{"x":[1]},"size":"3","nothing":null,"image":null,
    "mode":null,"template":{"apiVersion":"v1","kind":"Pod","metadata":{"name":"x","bad":1},"spec":{"free":1}}})");
  ASSERT_EQ(made.code, 201) << made.body;
  EXPECT_TRUE(made["spec"].equals(schema::Document::parse_json(R"({"cron":"*","any":{"x":[1]},"size":"3","image":"busy",
    "nothing":null,"replicas":1,"template":{"apiVersion":"v1","kind":"Pod","metadata":{"name":"x"},
    "spec":{"free":1}}})")
                                      ->root()))
      << made.body;
  std::vector<std::string> warnings;
  for (const auto text : made.headers.all("Warning")) warnings.emplace_back(text);
  EXPECT_THAT(warnings, ElementsAre(HasSubstr(R"(unknown field \"spec.nope\")"),
                                    HasSubstr(R"(unknown field \"spec.template.metadata.bad\")")));
  EXPECT_EQ(world.post(kTabs + "?fieldValidation=Strict", R"({"metadata":{"name":"b"},"spec":{"cron":"*","nope":1}})")
                .text("message"),
            "CronTab in version \"v1\" cannot be handled as a CronTab: strict decoding error: unknown field "
            "\"spec.nope\"");
}

TEST(Definitions, RefusalsAreInUpstreamsWords) {
  DefinitionsRig world;
  world.define();
  struct Case {
    const char *spec, *message;
  };
  const Case cases[] = {
      {R"({})", "spec.cron: Required value"},
      {R"({"cron":3})", R"(spec.cron: Invalid value: "integer": spec.cron in body must be of type string: "integer")"},
      {R"({"cron":"x"})", R"(spec.cron: Invalid value: "x": spec.cron in body should match '^[0-9* /]+$')"},
      {R"({"cron":"*********************"})", "spec.cron: Too long: may not be more than 20 bytes"},
      {R"({"cron":"*","replicas":11})",
       "spec.replicas: Invalid value: 11: spec.replicas in body should be less than or equal to 10"},
      {R"({"cron":"*","mode":"odd"})", R"(spec.mode: Unsupported value: "odd": supported values: "fast", "slow")"},
      {R"({"cron":"*","ports":[{"name":"a"},{"name":"a"}]})", R"(spec.ports[1]: Duplicate value: {"name":"a"})"},
      {R"({"cron":"*","tags":["a","a"]})", R"(spec.tags[1]: Duplicate value: "a")"},
      {R"({"cron":"*","ip":"1.2.3"})",
       R"(spec.ip: Invalid value: "1.2.3": spec.ip in body must be of type ipv4: "1.2.3")"},
      {R"({"cron":"*","size":true})",
       R"(spec.size: Invalid value: "boolean": spec.size in body must be of type integer,string: "boolean")"},
      {R"({"cron":"*","one":{}})",
       R"(<nil>: Invalid value: "": "spec.one" must validate one and only one schema (oneOf). Found none valid)"},
      {R"({"cron":"*","one":{}})", "(oneOf). Found none valid, spec.one.a: Required value]"},
      {R"({"cron":"*","template":{"kind":"Pod"}})", "spec.template.apiVersion: Required value"},
  };
  for (const Case& one : cases) {
    const auto refused = world.tab(one.spec);
    EXPECT_EQ(refused.code, 422) << one.spec << refused.body;
    EXPECT_THAT(refused.text("message"), HasSubstr(one.message)) << one.spec;
  }
}

// A limit is any number, also one that no integer is.
TEST(Definitions, ALimitBeyondIntegersIsSaidAsItIs) {
  DefinitionsRig world;
  std::string far = kCronTabSpec;
  far.replace(far.find(R"("type":"integer","minimum":1)"), 28, R"("type":"number","minimum":1e+300)");
  far.replace(far.find(R"("maximum":10)"), 12, R"("multipleOf":1)");
  far.replace(far.find(R"(,"default":1)"), 12, "");
  world.define(definition(version("v1", true, far)));
  const auto tab = [&](const std::string& replicas) {
    return world.post(kTabs, R"({"metadata":{"name":"a"},"spec":{"cron":"*","replicas":)" + replicas + "}}");
  };
  EXPECT_THAT(tab("5").text("message"), HasSubstr("should be greater than or equal to 1e+300"));
}

TEST(Definitions, StatusAndScaleAreEndpointsOfTheirOwn) {
  DefinitionsRig world;
  world.define();
  world.tab(R"({"cron":"*"})");
  auto scale = world.get(kTabs + "/a/scale");
  EXPECT_EQ(scale.text("kind"), "Scale");
  EXPECT_EQ(scale["spec"]["replicas"].integer(), 1);
  const auto scaled = world.patch(kTabs + "/a/scale", "merge-patch", R"({"spec":{"replicas":4}})");
  EXPECT_EQ(scaled.code, 200) << scaled.body;
  const auto status = world.patch(kTabs + "/a/status", "merge-patch",
                                  R"({"spec":{"image":"no"},"metadata":{"labels":{"a":"b"}},
                                      "status":{"n":3,"selector":"a=b","conditions":[{"type":"Other","status":"x"},
                                      {"type":"Ready","status":"True"}]}})");
  ASSERT_EQ(status.code, 200) << status.body;
  EXPECT_EQ(status.text("spec.image"), "busy");
  EXPECT_FALSE(status["metadata"].has("labels"));
  EXPECT_EQ(status["metadata"]["generation"].integer(), 2);
  scale = world.get(kTabs + "/a/scale");
  EXPECT_EQ(scale["status"].to_json(), R"({"replicas":3,"selector":"a=b"})");
  const auto table = world.get(kTabs, {{"Accept", "application/json;as=Table;v=v1;g=meta.k8s.io"}});
  EXPECT_EQ(table["rows"].at(0)["cells"].to_json(), R"(["a","*","True",4])");
  const auto bad = world.patch(kTabs + "/a/status", "merge-patch", R"({"status":{"n":"x"}})");
  EXPECT_THAT(bad.text("message"),
              HasSubstr(R"(status.n: Invalid value: "string": n in body must be of type integer)"));
  EXPECT_EQ(world.get(kTabs + "?fieldSelector=spec.cron%3D*")["items"].size(), 1u);
  EXPECT_EQ(world.get(kTabs + "?fieldSelector=spec.cron%3Dx")["items"].size(), 0u);
  EXPECT_EQ(world.get(kTabs + "?fieldSelector=spec.image%3Dx").code, 400);
}

TEST(Definitions, ApplyMergesByTheSchema) {
  DefinitionsRig world;
  world.define();
  const auto apply = [&](const std::string& manager, const std::string& spec) {
    return world.call(
        "PATCH", kTabs + "/a?fieldManager=" + manager,
        R"({"apiVersion":"stable.example.com/v1","kind":"CronTab","metadata":{"name":"a"},"spec":)" + spec + "}",
        {{"Content-Type", "application/apply-patch+yaml"}});
  };
  EXPECT_EQ(apply("one", R"({"cron":"*","ports":[{"name":"a","port":1}]})").code, 201);
  const auto two = apply("two", R"({"ports":[{"name":"b","port":2}],"tags":["x"]})");
  EXPECT_EQ(two.code, 200) << two.body;
  EXPECT_EQ(two["spec"]["ports"].to_json(), R"([{"name":"a","port":1},{"name":"b","port":2}])");
  EXPECT_EQ(apply("two", R"({"cron":"/"})").code, 409);
  EXPECT_EQ(apply("one", R"({"cron":"*"})")["spec"]["ports"].to_json(), R"([{"name":"b","port":2}])");
  EXPECT_THAT(apply("one", R"({"nope":1})").text("message"), HasSubstr(".spec.nope: field not declared in schema"));
}

TEST(Definitions, ATightenedSchemaLetsWhatIsStoredBeLabelled) {
  DefinitionsRig world;
  world.define();
  const auto made = world.tab(R"({"cron":"*","replicas":9})");
  auto current = world.get(kDefinitions + "/crontabs.stable.example.com");
  std::string tightened = current.body;
  tightened.replace(tightened.find(R"("maximum":10)"), 12, R"("maximum":5)");
  tightened.replace(tightened.find(R"("default":"busy")"), 16, R"("default":"new")");
  const auto changed = world.put(kDefinitions + "/crontabs.stable.example.com", tightened);
  ASSERT_EQ(changed.code, 200) << changed.body;
  EXPECT_EQ(changed["metadata"]["generation"].integer(), 2);
  // Served as soon as a write is judged by it.
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (world.post(kTabs + "?dryRun=All", R"({"metadata":{"name":"b"},"spec":{"cron":"*","replicas":9}})").code !=
             422 &&
         std::chrono::steady_clock::now() < deadline) {
  }
  EXPECT_EQ(world.patch(kTabs + "/a", "merge-patch", R"({"metadata":{"labels":{"a":"b"}}})").code, 200);
  EXPECT_EQ(world.patch(kTabs + "/a", "merge-patch", R"({"spec":{"mode":"fast"}})").code, 200);
  EXPECT_EQ(world.patch(kTabs + "/a", "merge-patch", R"({"spec":{"replicas":8}})").code, 422);
}

TEST(Definitions, DefaultsAreSetOnReadingToo) {
  DefinitionsRig world;
  std::string without = kCronTabSpec;
  without.replace(without.find(R"(,"default":"busy")"), 17, "");
  world.define(definition(version("v1", true, without)));
  const auto made = world.tab(R"({"cron":"*"})");
  EXPECT_FALSE(made["spec"].has("image"));
  auto current = world.get(kDefinitions + "/crontabs.stable.example.com");
  std::string changed = current.body;
  const std::string at = R"("image":{"type":"string")";
  changed.replace(changed.find(at), at.size(), R"("image":{"default":"late","type":"string")");
  ASSERT_EQ(world.put(kDefinitions + "/crontabs.stable.example.com", changed).code, 200);
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  auto read = world.get(kTabs + "/a");
  while (!read["spec"].has("image") && std::chrono::steady_clock::now() < deadline) read = world.get(kTabs + "/a");
  EXPECT_EQ(read.text("spec.image"), "late");
  EXPECT_EQ(read.version(), made.version());
}

TEST(Definitions, EveryVersionServesTheSameObjects) {
  DefinitionsRig world;
  const std::string beta = R"({"type":"object","properties":{"cron":{"type":"string"},"extra":{"type":"string"}}})";
  world.define(definition(version("v1beta1", false, beta) + "," + version("v1", true)));
  const std::string betas = "/apis/stable.example.com/v1beta1/namespaces/test/crontabs";
  const auto made = world.post(betas, R"({"metadata":{"name":"a"},"spec":{"cron":"*","extra":"e"}})");
  ASSERT_EQ(made.code, 201) << made.body;
  EXPECT_EQ(made.text("apiVersion"), "stable.example.com/v1beta1");
  EXPECT_FALSE(made["spec"].has("extra"));  // the stored version knows no such field
  const auto owned = made["metadata"]["managedFields"].at(0)["fieldsV1"]["f:spec"];
  EXPECT_FALSE(owned.has("f:image")) << "a default of the stored version is nobody's";
  const auto stable = world.get(kTabs + "/a");
  EXPECT_EQ(stable.text("spec.image"), "busy");
  EXPECT_FALSE(stable["spec"].has("extra"));
  EXPECT_THAT(world.get("/apis/stable.example.com").text("preferredVersion.version"), "v1");
}

TEST(Definitions, ReadingSetsTheDefaultsOfTheStoredVersion) {
  DefinitionsRig world;
  const std::string plain = R"({"type":"object","properties":{"cron":{"type":"string"},"peer":{"type":"object",
    "properties":{"name":{"type":"string"},"kind":{"type":"string"}}}}})";
  std::string other = plain;
  other.replace(other.find(R"("kind":{)"), 8, R"("kind":{"default":"Peer",)");
  world.define(definition(version("v1", true, plain) + "," + version("v2", false, other)));
  const std::string twos = "/apis/stable.example.com/v2/namespaces/test/crontabs";
  ASSERT_EQ(world.tab(R"({"cron":"*","peer":{"name":"p"}})").code, 201);
  EXPECT_EQ(world.get(twos + "/a")["spec"]["peer"].to_json(), R"({"name":"p"})");
  EXPECT_EQ(world.patch(twos + "/a", "merge-patch", R"({"spec":{"cron":"/"}})").text("spec.peer.kind"), "Peer");
  EXPECT_EQ(world.get(kTabs + "/a").text("spec.peer.kind"), "Peer");
}

TEST(Definitions, ADefaultThatAVersionDoesNotKnowIsNoChange) {
  DefinitionsRig world;
  const std::string plain = R"({"type":"object","properties":{"cron":{"type":"string"}}})";
  world.define(definition(version("v1", true) + "," + version("v2", false, plain)));
  const std::string twos = "/apis/stable.example.com/v2/namespaces/test/crontabs";
  ASSERT_EQ(world.post(twos, R"({"metadata":{"name":"a"},"spec":{"cron":"*"}})").code, 201);
  const auto labelled = world.patch(twos + "/a", "merge-patch", R"({"metadata":{"labels":{"a":"b"}}})");
  EXPECT_EQ(labelled["metadata"]["generation"].integer(), 1) << labelled.body;
}

TEST(Definitions, AnAppliedNullIsRefusedOneThatIsSentIsDropped) {
  DefinitionsRig world;
  world.define();
  const auto apply = [&](const std::string& spec) {
    return world.call(
        "PATCH", kTabs + "/a?fieldManager=me",
        R"({"apiVersion":"stable.example.com/v1","kind":"CronTab","metadata":{"name":"a"},"spec":)" + spec + "}",
        {{"Content-Type", "application/apply-patch+yaml"}});
  };
  EXPECT_THAT(apply("null").text("message"),
              HasSubstr(R"(spec: Invalid value: "null": spec in body must be of type object: "null")"));
  EXPECT_THAT(apply(R"({"cron":"*","mode":null})").text("message"), HasSubstr("spec.mode in body must be of type"));
  EXPECT_EQ(apply(R"({"cron":"*","image":null,"nothing":null})")["spec"].to_json(),
            R"({"cron":"*","image":"busy","nothing":null,"replicas":1})");
  const auto later = apply(R"({"cron":"*","ip":null})");
  EXPECT_EQ(later.code, 422) << later.body;
  EXPECT_EQ(world.tab(R"({"cron":"*","mode":null})", "b")["spec"].to_json(),
            R"({"cron":"*","image":"busy","replicas":1})");
  const auto patched = world.patch(kTabs + "/b", "json-patch", R"([{"op":"add","path":"/spec/mode","value":null}])");
  EXPECT_FALSE(patched["spec"].has("mode")) << patched.body;
}

TEST(Definitions, NamesThatAreTakenAreNotGiven) {
  DefinitionsRig world;
  world.define();
  std::string other = definition(version("v1", true));
  for (const auto& [from, to] : {std::pair<std::string, std::string>{"crontabs.stable", "others.stable"},
                                 {R"("plural":"crontabs","kind":"CronTab")", R"("plural":"others","kind":"Other")"}})
    other.replace(other.find(from), from.size(), to);
  ASSERT_EQ(world.post(kDefinitions, other).code, 201);
  const auto event = world.await([](std::string_view, const schema::Value& object) {
    return object["metadata"]["name"].text() == "others.stable.example.com" &&
           !status_of(object, "NamesAccepted").empty();
  });
  EXPECT_EQ(status_of(event["object"], "NamesAccepted"), "False ShortNamesConflict");
  EXPECT_EQ(status_of(event["object"], "Established"), "False NotAccepted");
  EXPECT_EQ(world.get("/apis/stable.example.com/v1/namespaces/test/others").code, 404);
  world.remove(kDefinitions + "/crontabs.stable.example.com");
  const auto freed = world.await([](std::string_view, const schema::Value& object) {
    return object["metadata"]["name"].text() == "others.stable.example.com" &&
           status_of(object, "Established").starts_with("True");
  });
  EXPECT_FALSE(freed.root().is_null());
}

TEST(Definitions, ObjectsGoBeforeTheirKind) {
  DefinitionsRig world;
  world.define();
  world.tab(R"({"cron":"*"})", "a");
  world.post(kTabs, R"({"metadata":{"name":"held","finalizers":["example.com/x"]},"spec":{"cron":"*"}})");
  const auto asked = world.remove(kDefinitions + "/crontabs.stable.example.com");
  EXPECT_EQ(asked.code, 200) << asked.body;
  EXPECT_EQ(asked["metadata"]["finalizers"].to_json(), R"(["customresourcecleanup.apiextensions.k8s.io"])");
  world.await([](std::string_view, const schema::Value& object) {
    return status_of(object, "Terminating") == "True InstanceDeletionInProgress";
  });
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (world.get(kTabs + "/a").code != 404 && std::chrono::steady_clock::now() < deadline) {
  }
  EXPECT_EQ(world.get(kTabs + "/held").code, 200);
  EXPECT_EQ(world.tab(R"({"cron":"*"})", "late").code, 405);
  EXPECT_EQ(world.patch(kTabs + "/held", "merge-patch", R"({"metadata":{"finalizers":null}})").code, 200);
  auto gone = world.await([](std::string_view type, const schema::Value&) { return type == "DELETED"; });
  (void)gone;
  while (world.get(kTabs).code != 404 && std::chrono::steady_clock::now() < deadline) {
  }
  EXPECT_EQ(world.get(kTabs).code, 404);
}

TEST(Definitions, ProtectedGroupsSayWhoApproved) {
  DefinitionsRig world;
  std::string body = definition(version("v1", true));
  for (auto at = body.find("stable.example.com"); at != std::string::npos; at = body.find("stable.example.com"))
    body.replace(at, 18, "stable.k8s.io");
  EXPECT_THAT(world.post(kDefinitions, body).text("message"),
              HasSubstr("metadata.annotations[api-approved.kubernetes.io]: Required value: protected groups must have "
                        "approval annotation"));
  const std::string meta = R"({"metadata":{)";
  body.replace(body.find(meta), meta.size(),
               meta + R"("annotations":{"api-approved.kubernetes.io":"https://example.com/1"},)");
  EXPECT_EQ(world.post(kDefinitions, body).code, 201);
  const auto is = [](const std::string& wanted) {
    return [wanted](std::string_view, const schema::Value& object) {
      return status_of(object, "KubernetesAPIApprovalPolicyConformant") == wanted;
    };
  };
  EXPECT_FALSE(world.await(is("True ApprovedAnnotation")).root().is_null());
  world.patch(kDefinitions + "/crontabs.stable.k8s.io", "merge-patch",
              R"({"metadata":{"annotations":{"api-approved.kubernetes.io":"unapproved, a test"}}})");
  EXPECT_FALSE(world.await(is("False UnapprovedAnnotation")).root().is_null());
}

TEST(Definitions, WatchesOfAKindEndWithIt) {
  DefinitionsRig world;
  world.define();
  world.tab(R"({"cron":"*"})");
  const auto watching = world.watch(kTabs + "?watch=1");
  const auto everywhere = world.watch("/apis/stable.example.com/v1/crontabs?watch=1&resourceVersion=0");
  const auto others = world.watch(kConfigMaps + "?watch=1");
  EXPECT_EQ(watching->event(0)["type"].text(), "ADDED");
  world.remove(kDefinitions + "/crontabs.stable.example.com");
  EXPECT_EQ(watching->event(1)["type"].text(), "DELETED");  // all of them are told before the end
  EXPECT_TRUE(watching->ended());
  EXPECT_EQ(watching->count(), 2u);
  EXPECT_TRUE(everywhere->ended());
  EXPECT_THAT(everywhere->raw(), HasSubstr("DELETED"));
  world.make_config_map("a");
  EXPECT_EQ(others->event(0)["type"].text(), "ADDED");
  EXPECT_EQ(world.watch(kTabs + "?watch=1")->code(), 404);
}

TEST(Definitions, WatchesEndWhenTheKindIsAnotherOne) {
  DefinitionsRig world;
  world.define(definition(version("v1", true) + "," + version("v1beta1", false)));
  const auto watching = world.watch(kTabs + "?watch=1");
  const auto old = world.watch("/apis/stable.example.com/v1beta1/namespaces/test/crontabs?watch=1");
  EXPECT_EQ(old->code(), 200);
  // What is said of a definition changes nothing for who watches its objects...
  world.patch(kDefinitions + "/crontabs.stable.example.com", "merge-patch", R"({"metadata":{"labels":{"a":"b"}}})");
  world.tab(R"({"cron":"*"})", "first");
  EXPECT_EQ(watching->event(0)["object"]["metadata"]["name"].text(), "first");
  // ... what it defines does.
  world.patch(kDefinitions + "/crontabs.stable.example.com", "json-patch",
              R"([{"op":"replace","path":"/spec/versions/1/served","value":false}])");
  EXPECT_TRUE(watching->ended());
  EXPECT_TRUE(old->ended());
  EXPECT_EQ(world.watch("/apis/stable.example.com/v1beta1/namespaces/test/crontabs?watch=1")->code(), 404);
  const auto again = world.watch(kTabs + "?watch=1");
  EXPECT_EQ(again->event(0)["object"]["metadata"]["name"].text(), "first");
}

const std::string kRuled = R"json({"type":"object","x-kubernetes-validations":[
    {"rule":"self.low <= self.high","message":"low must not be above high","fieldPath":".low"},
    {"rule":"self.high >= oldSelf.high","reason":"FieldValueForbidden","messageExpression":"oldSelf.high == 5 ? 'was 5' : 'was other'"},
    {"rule":"!has(self.kind) || oldSelf.hasValue() || self.kind != 'old'","optionalOldSelf":true,"message":"no new old ones"}],
  "properties":{"low":{"type":"integer"},"high":{"type":"integer"},"kind":{"type":"string","maxLength":20},
    "names":{"type":"array","maxItems":5,"items":{"type":"string","maxLength":5,
      "x-kubernetes-validations":[{"rule":"self != 'bad'"}]}}}})json";

TEST(Definitions, RulesAreEvaluated) {
  DefinitionsRig world;
  std::string body = version("v1", true, kRuled);
  const std::string selectable = R"("selectableFields":[{"jsonPath":".spec.cron"}],)";
  world.define(definition(body.replace(body.find(selectable), selectable.size(), "")));
  EXPECT_THAT(world.tab(R"({"low":3,"high":2})").text("message"),
              HasSubstr("spec.low: Invalid value: low must not be above high"));
  EXPECT_THAT(world.tab(R"({"low":1,"high":2,"names":["a","bad"]})").text("message"),
              HasSubstr("spec.names[1]: Invalid value: \"bad\": failed rule: self != 'bad'"));
  EXPECT_THAT(world.tab(R"({"low":1,"high":2,"kind":"old"})").text("message"), HasSubstr("no new old ones"));
  EXPECT_THAT(world.tab(R"({"low":"x","high":2})").text("message"),
              HasSubstr("some validation rules were not checked because the object was invalid"));
  ASSERT_EQ(world.tab(R"({"low":1,"high":5})").code, 201);
  EXPECT_THAT(world.patch(kTabs + "/a", "merge-patch", R"({"spec":{"high":4}})").text("message"),
              HasSubstr("spec: Forbidden: was 5"));
  EXPECT_EQ(world.patch(kTabs + "/a", "merge-patch", R"({"spec":{"high":6}})").code, 200);
  EXPECT_EQ(world.patch(kTabs + "/a", "merge-patch", R"({"spec":{"kind":"old"}})").code, 200);
}

TEST(Definitions, EveryVersionHasSelectableFieldsOfItsOwn) {
  DefinitionsRig world;
  std::string second = version("v2", false);
  const std::string selectable = R"("selectableFields":[{"jsonPath":".spec.cron"}])";
  second.replace(second.find(selectable), selectable.size(),
                 R"("selectableFields":[{"jsonPath":".spec.image"},{"jsonPath":".spec.replicas"}])");
  world.define(definition(version("v1", true) + "," + second));
  ASSERT_EQ(world.tab(R"({"cron":"*"})", "a").code, 201);
  ASSERT_EQ(world.tab(R"({"cron":"/","image":"x"})", "b").code, 201);
  const std::string v2 = "/apis/stable.example.com/v2/namespaces/test/crontabs?fieldSelector=";
  const auto names = [&world](const std::string& path) {
    std::string all;
    const auto list = world.get(path);
    for (const schema::Value item : list["items"]) all += item["metadata"]["name"].string();
    return all;
  };
  EXPECT_EQ(names(kTabs + "?fieldSelector=spec.cron%3D*"), "a");
  EXPECT_EQ(names(v2 + "spec.image%3Dx"), "b");
  EXPECT_EQ(names(v2 + "spec.replicas%3D1,spec.image!%3Dx"), "a");
  EXPECT_EQ(world.get(kTabs + "?fieldSelector=spec.image%3Dx").text("message"),
            "field label not supported: spec.image");
  EXPECT_EQ(world.get(v2 + "spec.cron%3D*").code, 400);

  // Of what was stored before it became selectable, too.
  world.patch(kDefinitions + "/crontabs.stable.example.com", "json-patch",
              R"([{"op":"add","path":"/spec/versions/0/selectableFields/-","value":{"jsonPath":".spec.mode"}},
                  {"op":"add","path":"/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/mode/default",
                   "value":"slow"}])");
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (world.get(kTabs + "?fieldSelector=spec.mode%3Dx").code != 200 && std::chrono::steady_clock::now() < end)
    continue;
  EXPECT_EQ(names(kTabs + "?fieldSelector=spec.mode%3Dslow"), "ab");
  EXPECT_EQ(names(kTabs + "?fieldSelector=spec.mode%3Dslow,spec.cron%3D*"), "a");
  EXPECT_EQ(names(kTabs + "?fieldSelector=spec.mode%3Dfast"), "");
  const auto watching = world.watch(kTabs + "?watch=1&fieldSelector=spec.mode%3Dfast");
  ASSERT_EQ(world.patch(kTabs + "/b", "merge-patch", R"({"spec":{"mode":"fast"}})").code, 200);
  EXPECT_EQ(watching->event(0)["type"].text(), "ADDED");
}

TEST(Definitions, RulesSeeTheTypeOfWhatWas) {
  DefinitionsRig world;
  std::string body = definition(version("v1", true));
  const std::string root = R"("openAPIV3Schema":{"type":"object",)";
  body.replace(body.find(root), root.size(), root + R"json("x-kubernetes-validations":[{"rule":
    "oldSelf.kind == 'CronTab' && oldSelf.apiVersion == self.apiVersion && oldSelf.metadata.name == 'a'"}],)json");
  world.define(body);
  ASSERT_EQ(world.tab(R"({"cron":"*"})").code, 201);
  const auto patched = world.patch(kTabs + "/a", "merge-patch", R"({"spec":{"image":"x"}})");
  EXPECT_EQ(patched.code, 200) << patched.body;
  const auto status = world.patch(kTabs + "/a/status", "merge-patch", R"({"status":{"n":3}})");
  EXPECT_EQ(status.code, 200) << status.body;
}

TEST(Definitions, AStatusByDefaultIsThereWheneverAnObjectIsRead) {
  DefinitionsRig world;
  std::string body = definition(version("v1", true));
  const std::string columns = R"({"name":"Cron","type":"string","jsonPath":".spec.cron"},)";
  body.replace(body.find(columns), body.find(R"("selectableFields")") - body.find(columns),
               R"({"name":"N","type":"integer","jsonPath":".status.n"}],)");
  const std::string status = R"("status":{"type":"object","properties":{"n")";
  ASSERT_NE(body.find(status), std::string::npos);
  body.replace(body.find(status), status.size(), R"("status":{"type":"object","default":{"n":7},"properties":{"n")");
  world.define(body);
  const auto made = world.post(kTabs, R"({"metadata":{"name":"a"},"spec":{"cron":"*"},"status":{"n":1}})");
  ASSERT_EQ(made.code, 201) << made.body;
  EXPECT_EQ(made["status"].to_json(), R"({"n":7})");
  EXPECT_EQ(world.get(kTabs + "/a")["status"].to_json(), R"({"n":7})");
  EXPECT_EQ(world.get(kTabs).json.root()["items"].at(0)["status"].to_json(), R"({"n":7})");
  const auto table = world.get(kTabs + "/a", {{"Accept", "application/json;as=Table;v=v1;g=meta.k8s.io"}});
  EXPECT_EQ(table["rows"].at(0)["cells"].to_json(), R"(["a",7])");
  const auto labelled = world.patch(kTabs + "/a", "merge-patch", R"({"metadata":{"labels":{"a":"b"}}})");
  EXPECT_EQ(labelled["status"].to_json(), R"({"n":7})");
  EXPECT_EQ(labelled["metadata"]["generation"].integer(), 1);
  const auto other = world.patch(kTabs + "/a/status", "merge-patch", R"({"status":{"n":8}})");
  EXPECT_EQ(other["status"].to_json(), R"({"n":8})") << other.body;
}

TEST(Definitions, ADeprecatedVersionNamesTheOneToUse) {
  DefinitionsRig world;
  std::string old = version("v1beta1", false);
  old.replace(old.find(R"("served")"), 0, R"("deprecated":true,)");
  world.define(definition(version("v2alpha1", false) + "," + version("v1", true) + "," + old));
  EXPECT_EQ(world.get("/apis/stable.example.com/v1beta1/crontabs").headers.get("Warning"),
            "299 - \"stable.example.com/v1beta1 CronTab is deprecated; use stable.example.com/v1 CronTab\"");
  EXPECT_FALSE(world.get("/apis/stable.example.com/v1/crontabs").headers.has("Warning"));
}

TEST(Definitions, ADefaultOfAnotherVersionIsNoChange) {
  DefinitionsRig world;
  const std::string plain = R"({"type":"object","properties":{"cron":{"type":"string"},"image":{"type":"string"}}})";
  const std::string other = R"({"type":"object","properties":{"cron":{"type":"string"},
    "image":{"type":"string","default":"late"}}})";
  world.define(definition(version("v1", false, plain) + "," + version("v2", true, other)));
  ASSERT_EQ(world.tab(R"({"cron":"*"})").code, 201);
  const auto labelled = world.patch(kTabs + "/a", "merge-patch", R"({"metadata":{"labels":{"a":"b"}}})");
  EXPECT_EQ(labelled["metadata"]["generation"].integer(), 1) << labelled.body;
  EXPECT_EQ(world.get("/apis/stable.example.com/v2/namespaces/test/crontabs/a").text("spec.image"), "late");
}

TEST(Definitions, AScaleWithoutReplicasIsNone) {
  DefinitionsRig world;
  const std::string spec = R"({"type":"object","properties":{"cron":{"type":"string"},"replicas":{"type":"integer"}}})";
  world.define(definition(version("v1", true, spec)));
  world.tab(R"({"cron":"*"})");
  const auto none = world.get(kTabs + "/a/scale");
  EXPECT_EQ(none.code, 500);
  EXPECT_EQ(none.text("message"), "Internal error occurred: the spec replicas field \".spec.replicas\" does not exist");
  EXPECT_EQ(world.patch(kTabs + "/a/scale", "merge-patch", R"({"metadata":{}})").text("message"),
            "the spec replicas field \".spec.replicas\" cannot be empty");
  EXPECT_EQ(world.patch(kTabs + "/a/scale", "merge-patch", R"({"spec":{"replicas":2}})").code, 200);
  EXPECT_EQ(world.get(kTabs + "/a/scale")["spec"]["replicas"].integer(), 2);
  EXPECT_THAT(world.post(kTabs, R"({"metadata":{"name":"odd"},"spec":"odd"})").text("message"),
              HasSubstr(".spec.replicas: Invalid value: 0: .spec.replicas accessor error: odd is of the type string, "
                        "expected map[string]interface{}"));
}

TEST(Definitions, WhatARuleSaysOfTheUnchangedIsWarnedOf) {
  DefinitionsRig world;
  const std::string spec = R"json({"type":"object","properties":{"cron":{"type":"string"},
    "name":{"type":"string","maxLength":20}}})json";
  world.define(definition(version("v1", true, spec)));
  ASSERT_EQ(world.tab(R"({"cron":"*","name":"bad"})").code, 201);
  // Now there is a rule that what exists breaks.
  const std::string name = R"("name":{"type":"string","maxLength":20)";
  std::string ruled = spec;
  ruled.replace(ruled.find(name), name.size(),
                name + R"json(,"x-kubernetes-validations":[{"rule":"self != 'bad'"}])json");
  const auto patched = world.patch(
      kDefinitions + "/crontabs.stable.example.com", "json-patch",
      R"([{"op":"replace","path":"/spec/versions/0/schema/openAPIV3Schema/properties/spec","value":)" + ruled +
          R"(},{"op":"add","path":"/spec/versions/0/schema/openAPIV3Schema/x-kubernetes-validations","value":[
            {"rule":"self.kind == oldSelf.kind && self.apiVersion == oldSelf.apiVersion"}]}])");
  ASSERT_EQ(patched.code, 200) << patched.body;
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (world.tab(R"({"cron":"*","name":"bad"})", "b").code == 201 && std::chrono::steady_clock::now() < deadline)
    world.remove(kTabs + "/b");
  const auto kept = world.patch(kTabs + "/a", "merge-patch", R"({"spec":{"cron":"x"}})");
  EXPECT_EQ(kept.code, 200) << kept.body;
  EXPECT_THAT(kept.headers.get("Warning"),
              HasSubstr(R"(spec.name: Invalid value: \"bad\": failed rule: self != 'bad')"));
  EXPECT_FALSE(world.patch(kTabs + "/a", "merge-patch", R"({"spec":{"name":"good"}})").headers.has("Warning"));
  EXPECT_EQ(world.patch(kTabs + "/a", "merge-patch", R"({"spec":{"name":"bad"}})").code, 422);
}

TEST(Definitions, RulesThatCannotWorkAreRefused) {
  DefinitionsRig world;
  const auto refuse = [&](const std::string& rule, const std::string& names, const std::string& message) {
    const std::string spec = R"({"type":"object","properties":{"cron":{"type":"string"},"names":)" + names +
                             R"(},"x-kubernetes-validations":[{"rule":")" + rule + R"("}]})";
    const auto refused = world.post(kDefinitions, definition(version("v1", true, spec)));
    EXPECT_EQ(refused.code, 422) << refused.body;
    EXPECT_THAT(refused.text("message"), HasSubstr(message));
  };
  const std::string list = R"({"type":"array","items":{"type":"string"}})";
  refuse("self.none == 1", list, "compilation failed: ERROR: <input>:1:5: undefined field 'none'");
  refuse("size(self.names)", list, "cel expression must evaluate to a bool");
  refuse("self.names.all(a, self.names.all(b, a.contains(b)))", list,
         "estimated rule cost exceeds budget by factor of more than 100x");
}

TEST(Definitions, WhatIsWrongWithADefinitionIsSaid) {
  DefinitionsRig world;
  struct Case {
    std::string from, to, message;
  };
  const Case cases[] = {
      {"crontabs.stable", "other.stable",
       "metadata.name: Invalid value: \"other.stable.example.com\": must be spec.names.plural+\".\"+spec.group"},
      {R"("storage":true)", R"("storage":false)", "must have exactly one version marked as storage version"},
      {R"("scope":"Namespaced")", R"("scope":"Odd")",
       R"(spec.scope: Unsupported value: "Odd": supported values: "Cluster", "Namespaced")"},
      {R"("mode":{"type":"string")", R"("mode":{"type":"")",
       "spec.validation.openAPIV3Schema.properties[spec].properties[mode].type: Required value: must not be empty for "
       "specified object fields"},
      {R"("default":1)", R"("default":"x")",
       R"(spec.validation.openAPIV3Schema.properties[spec].properties[replicas].default: Invalid value: "string": )"},
      {R"("type":"integer","jsonPath")", R"("type":"odd","jsonPath")",
       "spec.additionalPrinterColumns[2].type: Invalid value: \"odd\": must be one of "
       "boolean,date,integer,number,string"},
      {R"([{"jsonPath":".spec.cron"}])", R"([{"jsonPath":".spec.none"}])",
       "spec.selectableFields[0].jsonPath: Invalid value: \".spec.none\": is an invalid path"},
      {"^[0-9* /]+$", "^[0-9",
       "must be a valid regular expression, but isn't: error parsing regexp: missing closing ]: `[0-9`"},
      {R"("x-kubernetes-list-map-keys":["name"])", R"("x-kubernetes-list-map-keys":["none"])",
       "entries must all be names of item properties"},
  };
  for (const Case& one : cases) {
    std::string body = definition(version("v1", true));
    ASSERT_NE(body.find(one.from), std::string::npos) << one.from;
    body.replace(body.find(one.from), one.from.size(), one.to);
    const auto refused = world.post(kDefinitions, body);
    EXPECT_EQ(refused.code, 422) << one.to << refused.body;
    EXPECT_THAT(refused.text("message"), HasSubstr(one.message));
  }
}

TEST(Definitions, GroupVersionsThatWereAskedForStayWhenKindsComeAndGo) {
  ServerOptions options;
  options.kinds = schema::Registry::with({}, {"scheduling.k8s.io/v1alpha2"}).value();
  DefinitionsRig world({}, std::move(options));
  const std::string groups = "/apis/scheduling.k8s.io/v1alpha2/podgroups";
  EXPECT_EQ(world.get(groups).code, 200);
  world.define();
  EXPECT_EQ(world.get(kTabs).code, 200);
  EXPECT_EQ(world.get(groups).code, 200);
  EXPECT_THAT(world.get("/openapi/v3").body, HasSubstr("apis/scheduling.k8s.io/v1alpha2"));
  EXPECT_EQ(DefinitionsRig().get(groups).code, 404);
}

}  // namespace
}  // namespace sublet::apiserver
