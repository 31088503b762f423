#include <gtest/gtest.h>

#include "sublet/patches/patch.h"
#include "sublet/schema/registry.h"
#include "tests/support/parse_json.h"

namespace sublet::patches {
namespace {

using schema::Document;
using schema::Registry;
using testing_support::parse_json;

struct StrategicMergeVector {
  const char* what;
  const char* kind;  // "v1/Pod", "apps/v1/Deployment"
  const char* document;
  const char* patch;
  const char* result;  // null: refused, `message` says how
  const char* message = "";
};

constexpr StrategicMergeVector kStrategicMergeVectors[] = {
    {"scalars and maps merge, null deletes", "v1/Pod",
     R"({"metadata":{"name":"p","labels":{"a":"1","b":"2"}},"spec":{"nodeName":"n"}})",
     R"({"metadata":{"labels":{"a":null,"c":"3"}},"spec":{"nodeName":null,"hostname":"h"}})",
     R"({"metadata":{"name":"p","labels":{"b":"2","c":"3"}},"spec":{"hostname":"h"}})"},
    {"null for a missing member does nothing", "v1/Pod", R"({"spec":{}})",
     R"({"spec":{"nodeName":null,"tolerations":null}})", R"({"spec":{}})"},
    {"nulls inside a new value are dropped", "v1/Pod", R"({})", R"({"metadata":{"labels":{"a":null,"b":"1"}}})",
     R"({"metadata":{"labels":{"b":"1"}}})"},
    {"containers merge by name, patch items first", "v1/Pod",
     R"({"spec":{"containers":[{"name":"a","image":"1"},{"name":"b","image":"2"}]}})",
     R"({"spec":{"containers":[{"name":"b","image":"3"},{"name":"c","image":"4"}]}})",
     R"({"spec":{"containers":[{"name":"a","image":"1"},{"name":"b","image":"3"},{"name":"c","image":"4"}]}})"},
    {"an item is deleted by directive", "v1/Pod", R"({"spec":{"containers":[{"name":"a"},{"name":"b"}]}})",
     R"({"spec":{"containers":[{"$patch":"delete","name":"a"}]}})", R"({"spec":{"containers":[{"name":"b"}]}})"},
    {"deleting a missing item does nothing", "v1/Pod", R"({"spec":{"containers":[{"name":"a"}]}})",
     R"({"spec":{"containers":[{"$patch":"delete","name":"z"}]}})", R"({"spec":{"containers":[{"name":"a"}]}})"},
    {"a list is replaced by directive", "v1/Pod", R"({"spec":{"containers":[{"name":"a"},{"name":"b"}]}})",
     R"({"spec":{"containers":[{"name":"c"},{"$patch":"replace"}]}})", R"({"spec":{"containers":[{"name":"c"}]}})"},
    {"a map is replaced by directive", "v1/Pod", R"({"metadata":{"labels":{"a":"1","b":"2"}}})",
     R"({"metadata":{"labels":{"$patch":"replace","c":"3"}}})", R"({"metadata":{"labels":{"c":"3"}}})"},
    {"a map is emptied by directive", "v1/Pod", R"({"metadata":{"labels":{"a":"1"}}})",
     R"({"metadata":{"labels":{"$patch":"delete"}}})", R"({"metadata":{"labels":{}}})"},
    {"a directive for a missing map does nothing", "v1/Pod", R"({"metadata":{}})",
     R"({"metadata":{"labels":{"$patch":"delete"}}})", R"({"metadata":{}})"},
    {"merge directive in a map is unknown", "v1/Pod", R"({"metadata":{"labels":{}}})",
     R"({"metadata":{"labels":{"$patch":"merge"}}})", nullptr, "unknown patch type: merge in map: map[$patch:merge]"},
    {"merge directive in a list is refused", "v1/Pod", R"({"spec":{"containers":[{"name":"a"}]}})",
     R"({"spec":{"containers":[{"$patch":"merge"}]}})", nullptr, "merging lists cannot yet be specified in the patch"},
    {"unknown directive in a list", "v1/Pod", R"({"spec":{"containers":[{"name":"a"}]}})",
     R"({"spec":{"containers":[{"$patch":"x","name":"a"}]}})", nullptr,
     "unknown patch type: x in map: map[$patch:x name:a]"},
    {"an item without its merge key", "v1/Pod", R"({"spec":{"containers":[{"name":"a"}]}})",
     R"({"spec":{"containers":[{"image":"x"}]}})", nullptr,
     "map: map[image:x] does not contain declared merge key: name"},
    {"lists without strategy are replaced", "v1/Pod",
     R"({"spec":{"containers":[{"name":"a","args":["1","2"]}],"tolerations":[{"key":"x"}]}})",
     R"({"spec":{"containers":[{"name":"a","args":["3"]}],"tolerations":[{"key":"y"}]}})",
     R"({"spec":{"containers":[{"name":"a","args":["3"]}],"tolerations":[{"key":"y"}]}})"},
    {"scalars of a merged list are united", "v1/Pod", R"({"metadata":{"finalizers":["a","b"]}})",
     R"({"metadata":{"finalizers":["b","c"]}})", R"({"metadata":{"finalizers":["a","b","c"]}})"},
    {"scalars are deleted by the parallel list", "v1/Pod", R"({"metadata":{"finalizers":["a","b","c"]}})",
     R"({"metadata":{"$deleteFromPrimitiveList/finalizers":["b","z"]}})", R"({"metadata":{"finalizers":["a","c"]}})"},
    {"a parallel list without name", "v1/Pod", R"({"metadata":{"finalizers":["a"]}})",
     R"({"metadata":{"$deleteFromPrimitiveList":["a"]}})", nullptr, "invalid patch format of primitive list"},
    {"order of items is set", "v1/Pod", R"({"spec":{"containers":[{"name":"a"},{"name":"b"},{"name":"c"}]}})",
     R"({"spec":{"$setElementOrder/containers":[{"name":"c"},{"name":"a"},{"name":"b"}]}})",
     R"({"spec":{"containers":[{"name":"c"},{"name":"a"},{"name":"b"}]}})"},
    {"items that only the server knows keep their neighbours", "v1/Pod",
     R"({"spec":{"containers":[{"name":"injected"},{"name":"a"},{"name":"b"},{"name":"late"}]}})",
     R"({"spec":{"$setElementOrder/containers":[{"name":"b"},{"name":"a"}],"containers":[{"name":"a","image":"x"}]}})",
     R"({"spec":{"containers":[{"name":"injected"},{"name":"b"},{"name":"a","image":"x"},{"name":"late"}]}})"},
    {"order and deletion together, as kubectl apply sends them", "v1/Pod",
     R"({"spec":{"containers":[{"name":"a","image":"1"},{"name":"b","image":"1"}]}})",
     R"({"spec":{"$setElementOrder/containers":[{"name":"c"},{"name":"a"}],)"
     R"("containers":[{"name":"c","image":"2"},{"$patch":"delete","name":"b"}]}})",
     R"({"spec":{"containers":[{"name":"c","image":"2"},{"name":"a","image":"1"}]}})"},
    {"new items take the places of deleted ones, as kube-apiserver", "v1/Pod",
     R"({"spec":{"containers":[{"name":"d"},{"name":"b"}]}})",
     R"({"spec":{"$setElementOrder/containers":[{"name":"d"},{"name":"a"}],"containers":[{"name":"a"},{"$patch":"delete","name":"d"}]}})",
     R"({"spec":{"containers":[{"name":"b"},{"name":"a"}]}})"},
    {"the patch list must follow the order list", "v1/Pod", R"({"spec":{"containers":[{"name":"a"}]}})",
     R"({"spec":{"$setElementOrder/containers":[{"name":"a"}],"containers":[{"name":"b"}]}})", nullptr,
     "The order in patch list:\n[map[name:b]]\n doesn't match $setElementOrder list:\n[map[name:a]]\n"},
    {"order of scalars", "v1/Pod", R"({"metadata":{"finalizers":["a","b"]}})",
     R"({"metadata":{"$setElementOrder/finalizers":["c","b","a"],"finalizers":["c"]}})",
     R"({"metadata":{"finalizers":["c","b","a"]}})"},
    {"order of a list that nobody has", "v1/Pod", R"({"metadata":{}})",
     R"({"metadata":{"$setElementOrder/finalizers":["c"]}})", R"({"metadata":{}})"},
    {"order of a new list", "v1/Pod", R"({"metadata":{}})",
     R"({"metadata":{"$setElementOrder/finalizers":["c","a"],"finalizers":["c","a"]}})",
     R"({"metadata":{"finalizers":["c","a"]}})"},
    {"an order that is no list", "v1/Pod", R"({"metadata":{"finalizers":["a"]}})",
     R"({"metadata":{"$setElementOrder/finalizers":"a"}})", nullptr,
     "expected a []interface {}, but received a string"},
    {"retainKeys clears what is not named", "apps/v1/Deployment",
     R"({"spec":{"strategy":{"type":"RollingUpdate","rollingUpdate":{"maxSurge":1}}}})",
     R"({"spec":{"strategy":{"$retainKeys":["type"],"type":"Recreate"}}})",
     R"({"spec":{"strategy":{"type":"Recreate"}}})"},
    {"retainKeys must name what the patch sets", "apps/v1/Deployment", R"({"spec":{"strategy":{"type":"x"}}})",
     R"({"spec":{"strategy":{"$retainKeys":["type"],"type":"Recreate","rollingUpdate":{}}}})", nullptr,
     "invalid patch format of retainKeys"},
    {"retainKeys for a missing map leaves no trace", "apps/v1/Deployment", R"({"spec":{}})",
     R"({"spec":{"strategy":{"$retainKeys":["type"],"type":"Recreate"}}})",
     R"({"spec":{"strategy":{"type":"Recreate"}}})"},
    {"volumes merge by name and retain keys", "v1/Pod",
     R"({"spec":{"volumes":[{"name":"v","emptyDir":{}},{"name":"w","emptyDir":{}}]}})",
     R"({"spec":{"volumes":[{"$retainKeys":["name","hostPath"],"name":"v","hostPath":{"path":"/x"}}]}})",
     R"({"spec":{"volumes":[{"name":"v","hostPath":{"path":"/x"}},{"name":"w","emptyDir":{}}]}})"},
    {"keys that are numbers", "v1/Service", R"({"spec":{"ports":[{"port":80,"name":"a"},{"port":81}]}})",
     R"({"spec":{"ports":[{"port":80,"name":"z"},{"port":82}]}})",
     R"({"spec":{"ports":[{"port":80,"name":"z"},{"port":82},{"port":81}]}})"},
    {"env merges by name, valueFrom goes with null", "v1/Pod",
     R"({"spec":{"containers":[{"name":"a","env":[{"name":"X","valueFrom":{"fieldRef":{"fieldPath":"p"}}}]}]}})",
     R"({"spec":{"containers":[{"name":"a","env":[{"name":"X","value":"1","valueFrom":null}]}]}})",
     R"({"spec":{"containers":[{"name":"a","env":[{"name":"X","value":"1"}]}]}})"},
    {"another type replaces", "v1/Pod", R"({"spec":{"hostname":"h"}})", R"({"spec":"x"})", R"({"spec":"x"})"},
    {"lists of lists", "v1/Pod", R"({"metadata":{"finalizers":["a"]}})", R"({"metadata":{"finalizers":[["b"]]}})",
     nullptr, "lists of lists are not supported"},
    {"mixed lists", "v1/Pod", R"({"metadata":{"finalizers":["a"]}})", R"({"metadata":{"finalizers":[1]}})", nullptr,
     "list element types are not identical: [a][1]"},
    {"a null in a list", "v1/Pod", R"({"metadata":{"finalizers":["a"]}})", R"({"metadata":{"finalizers":[null]}})",
     nullptr, "list element types are not identical: [a][<nil>]"},
    {"a merge key that is no scalar", "v1/Pod", R"({"spec":{"containers":[{"name":"a"}]}})",
     R"({"spec":{"containers":[{"name":{"x":1}}]}})", nullptr, "merge key name is not a scalar in map[name:map[x:1]]"},
    {"the same item twice in the patch", "v1/Pod", R"({"spec":{"containers":[{"name":"a"}]}})",
     R"({"spec":{"containers":[{"name":"b","image":"1"},{"name":"b","tty":true}]}})",
     R"({"spec":{"containers":[{"name":"b","image":"1","tty":true},{"name":"a"}]}})"},
    {"unknown fields merge plainly", "v1/Pod", R"({"spec":{"foo":{"a":1}}})", R"({"spec":{"foo":{"b":2}}})",
     R"({"spec":{"foo":{"a":1,"b":2}}})"},
    {"conditions merge by type", "v1/Pod",
     R"({"status":{"conditions":[{"type":"Ready","status":"False"},{"type":"X","status":"True"}]}})",
     R"({"status":{"conditions":[{"type":"Ready","status":"True"}]}})",
     R"({"status":{"conditions":[{"type":"Ready","status":"True"},{"type":"X","status":"True"}]}})"},
    {"owner references merge by uid", "v1/Pod", R"({"metadata":{"ownerReferences":[{"uid":"1","name":"a"}]}})",
     R"({"metadata":{"ownerReferences":[{"uid":"2","name":"b"},{"$patch":"delete","uid":"1"}]}})",
     R"({"metadata":{"ownerReferences":[{"uid":"2","name":"b"}]}})"},
    {"the whole object replaced", "v1/ConfigMap", R"({"data":{"a":"1"}})", R"({"$patch":"replace","data":{"b":"2"}})",
     R"({"data":{"b":"2"}})"},
};

schema::Type type_named(std::string_view kind) {
  const auto last = kind.rfind('/');
  std::string_view group_version = kind.substr(0, last);
  const auto slash = group_version.find('/');
  const std::string_view group = slash == std::string_view::npos ? "" : group_version.substr(0, slash);
  const std::string_view version = slash == std::string_view::npos ? group_version : group_version.substr(slash + 1);
  return Registry::builtin()->find_kind(group, version, kind.substr(last + 1));
}

TEST(StrategicMerge, Vectors) {
  for (const StrategicMergeVector& vector : kStrategicMergeVectors) {
    ASSERT_TRUE(type_named(vector.kind)) << vector.kind;
    Document document = parse_json(vector.document);
    const Outcome done =
        apply_strategic_merge(document.root(), parse_json(vector.patch).root(), type_named(vector.kind));
    EXPECT_EQ(done.has_value(), vector.result != nullptr) << vector.what << (done ? "" : ": " + done.error().message);
    if (done && vector.result) {
      EXPECT_EQ(document.to_json(), vector.result) << vector.what;
    }
    if (!done) {
      EXPECT_EQ(done.error().message, vector.message) << vector.what;
    }
  }
}

TEST(StrategicMerge, Reasons) {
  Document document = parse_json(R"({"metadata":{"finalizers":["a"]}})");
  const auto type = type_named("v1/Pod");
  EXPECT_TRUE(
      apply_strategic_merge(document.root(), parse_json(R"([1])").root(), type).error().is(Reason::bad_request));
  EXPECT_TRUE(apply_strategic_merge(document.root(), parse_json(R"({"metadata":{"$retainKeys":1}})").root(), type)
                  .error()
                  .is(Reason::bad_request));
  EXPECT_TRUE(apply_strategic_merge(document.root(), parse_json(R"({"metadata":{"finalizers":[["b"]]}})").root(), type)
                  .error()
                  .is(Reason::invalid));
}

TEST(StrategicMerge, LargeListsAreMergedInLinearTime) {
  Document document = parse_json(R"({"spec":{"containers":[{"name":"a","env":[]}]}})");
  Document patch = parse_json(R"({"spec":{"containers":[{"name":"a","env":[]}]}})");
  constexpr int kItems = 50'000;  // squared, this would take minutes
  for (int i = 0; i < kItems; ++i) {
    document["spec"]["containers"].at(0)["env"].push_object().put("name", "OLD" + std::to_string(i));
    auto item = patch["spec"]["containers"].at(0)["env"].push_object();
    item.put("name", (i % 2 ? "OLD" : "NEW") + std::to_string(i));
    item.put("value", "x");
  }
  ASSERT_TRUE(apply_strategic_merge(document.root(), patch.root(), type_named("v1/Pod")).has_value());
  EXPECT_EQ(document["spec"]["containers"].at(0)["env"].size(), kItems + kItems / 2);
}

}  // namespace
}  // namespace sublet::patches
