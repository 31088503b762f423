#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <set>

#include "apiserver/discovery/discovery.h"
#include "apiserver/discovery/gnostic.h"
#include "apiserver/discovery/openapi_paths.h"
#include "sublet/schema/document.h"
#include "sublet/schema/registry.h"
#include "tests/support/parse_json.h"

namespace sublet::apiserver {
namespace {

using schema::Document;
using schema::Value;
using testing::ElementsAre;
using testing_support::parse_json;

const Document& v3(std::string_view path) {
  static auto* cache = new std::map<std::string, Document, std::less<>>;
  auto found = cache->find(path);
  if (found == cache->end())
    found = cache->emplace(std::string(path), parse_json(openapi_v3(*schema::Registry::builtin(), path).value_or("{}")))
                .first;
  return found->second;
}

std::vector<std::string> names(const Value& list) {
  std::vector<std::string> found;
  for (Value item : list) found.push_back(item["name"].string());
  return found;
}

TEST(OpenApiV3, IndexNamesEveryDocumentWithItsHash) {
  Document index = parse_json(openapi_v3_index(*schema::Registry::builtin()));
  EXPECT_GE(index["paths"].size(), 20u);
  for (Value entry : index["paths"]) {
    std::string path(entry.key());
    EXPECT_EQ(entry["serverRelativeURL"].text(),
              "/openapi/v3/" + path + "?hash=" + openapi_v3_hash(*schema::Registry::builtin(), path));
    EXPECT_TRUE(openapi_v3(*schema::Registry::builtin(), path)) << path;
  }
  EXPECT_FALSE(openapi_v3(*schema::Registry::builtin(), "apis/nonsense/v1"));
  EXPECT_FALSE(openapi_v3(*schema::Registry::builtin(), "apis/scheduling.k8s.io/v1alpha2"));
  EXPECT_EQ(openapi_v3_hash(*schema::Registry::builtin(), "apis/nonsense/v1"), "");
  EXPECT_NE(openapi_v3_hash(*schema::Registry::builtin(), "api/v1"),
            openapi_v3_hash(*schema::Registry::builtin(), "apis/apps/v1"));
}

// A host's document: what both have, what only one has, and what is no document at all.
TEST(OpenApiV3, HasTheTextsOfAHostForWhatBothDefine) {
  const auto document = std::make_shared<const std::string>(
      R"({"openapi":"3.0.0","paths":{},"components":{"schemas":{"io.k8s.api.core.v1.Pod":{"description":"A \"pod\".",)"
      R"("properties":{"spec":{"allOf":[{"$ref":"#"}],"description":"What is\nwanted."},"metadata":{},)"
      R"("ours-has-not":{"description":"x"},"status":{"description":7}}},"io.k8s.api.core.v1.Secret":7,)"
      R"("corp.Secret":{"description":"hidden"},"io.k8s.apimachinery.pkg.api.resource.Quantity":)"
      R"({"description":"So much."},"io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta":)"
      R"({"properties":{"name":{"description":"The host's."}}}}}})");
  const HostTexts texts(document);
  const Document with = parse_json(openapi_v3(*schema::Registry::builtin(), "api/v1", &texts).value());
  const Value schemas = with["components"]["schemas"];
  const Value pod = schemas["io.k8s.api.core.v1.Pod"];
  EXPECT_EQ(pod["description"].text(), "A \"pod\".");
  EXPECT_EQ(pod["properties"]["spec"]["description"].text(), "What is\nwanted.");
  EXPECT_FALSE(pod["properties"]["status"].has("description"));
  EXPECT_FALSE(pod["properties"].has("ours-has-not"));
  EXPECT_FALSE(schemas.has("corp.Secret"));
  EXPECT_EQ(schemas["io.k8s.apimachinery.pkg.api.resource.Quantity"].to_json(),
            R"({"description":"So much.","oneOf":[{"type":"string"},{"type":"number"}]})");
  const Value metadata = schemas["io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"]["properties"];
  EXPECT_EQ(metadata["name"]["description"].text(), "The host's.");
  EXPECT_NE(metadata["uid"]["description"].text(), "") << "ours, where the host says nothing";
  // Beside the texts it is our document.
  const std::string own = openapi_v3(*schema::Registry::builtin(), "api/v1").value();
  for (const char* nothing : {"", "{}", "[]", "{\"components\":{\"schemas\":[1]}}", "{\"components\":\"", "null"}) {
    const HostTexts none(std::make_shared<const std::string>(nothing));
    EXPECT_TRUE(openapi_v3(*schema::Registry::builtin(), "api/v1", &none) == own) << nothing;
  }
}

TEST(OpenApiV3, AHostsHashIsInOursWhereItHasTexts) {
  const auto& kinds = *schema::Registry::builtin();
  const std::string own = openapi_v3_hash(kinds, "api/v1");
  const auto said = HostHashes::read(R"({"api/v1":"H","apis/apps/v1":")" + openapi_v3_hash(kinds, "apis/apps/v1") +
                                     R"(","apis/corp/v1":"x"})");
  EXPECT_EQ(said.by_path.size(), 3u);
  EXPECT_NE(openapi_v3_hash(kinds, "api/v1", said), own);
  EXPECT_NE(openapi_v3_hash(kinds, "api/v1", said),
            openapi_v3_hash(kinds, "api/v1", HostHashes::read(R"({"api/v1":"I"})")));
  EXPECT_EQ(openapi_v3_hash(kinds, "apis/apps/v1", said), openapi_v3_hash(kinds, "apis/apps/v1")) << "it has ours";
  EXPECT_EQ(openapi_v3_hash(kinds, "apis/batch/v1", said), openapi_v3_hash(kinds, "apis/batch/v1"));
  EXPECT_EQ(openapi_v3_hash(kinds, "apis/corp/v1", said), "");
  EXPECT_NE(openapi_v3_index(kinds, {}, said).find("/openapi/v3/api/v1?hash=" + openapi_v3_hash(kinds, "api/v1", said)),
            std::string::npos);
  for (const char* none : {"", "x", "[", "{", "{\"a\":1", "{\"a\":1}"})
    EXPECT_EQ(HostHashes::read(none).key, "") << none;
}

TEST(OpenApiV3, PatchHasWhatKubectlLooksFor) {
  Value patch = v3("api/v1")["paths"]["/api/v1/namespaces/{namespace}/pods/{name}"]["patch"];
  EXPECT_EQ(patch["x-kubernetes-group-version-kind"].to_json(), R"({"group":"","kind":"Pod","version":"v1"})");
  EXPECT_EQ(patch["x-kubernetes-action"].text(), "patch");
  EXPECT_THAT(names(patch["parameters"]), ElementsAre("dryRun", "fieldManager", "fieldValidation", "force"));
  EXPECT_TRUE(patch["requestBody"]["content"].has("application/strategic-merge-patch+json"));
}

TEST(OpenApiV3, EveryPatchableResourceHasItsPatch) {
  for (const schema::ResourceFacts& facts : schema::Registry::builtin()->resources()) {
    if (!facts.served || !facts.verbs.contains("patch")) continue;
    std::string root = api_root(facts.group, facts.version);
    std::string path = root + (facts.namespaced ? "/namespaces/{namespace}/" : "/") + std::string(facts.resource);
    Value patch = v3(std::string_view(root).substr(1))["paths"][path + "/{name}"]["patch"];
    EXPECT_EQ(patch["x-kubernetes-group-version-kind"]["kind"].text(), facts.kind) << path;
    EXPECT_EQ(patch["parameters"].size(), 4u) << path;
  }
}

TEST(OpenApiV3, ReferencesLeadSomewhere) {
  for (std::string_view path : {"api/v1", "apis/apps/v1", "apis/apiextensions.k8s.io/v1", "apis/events.k8s.io/v1"}) {
    std::string text = v3(path).to_json();
    Value schemas = v3(path)["components"]["schemas"];
    std::string_view mark = "#/components/schemas/";
    for (std::size_t at = text.find(mark); at != std::string::npos; at = text.find(mark, at + 1)) {
      std::size_t begin = at + mark.size();
      std::string name = text.substr(begin, text.find('"', begin) - begin);
      ASSERT_TRUE(schemas.has(name)) << path << " " << name;
    }
  }
}

TEST(OpenApiV3, SchemasSayTypesRequiredListsAndEnums) {
  Value schemas = v3("api/v1")["components"]["schemas"];
  Value spec = schemas["io.k8s.api.core.v1.PodSpec"];
  EXPECT_EQ(spec["required"].to_json(), R"(["containers"])");
  EXPECT_EQ(spec["properties"]["containers"].to_json(),
            R"({"type":"array","items":{"$ref":"#/components/schemas/io.k8s.api.core.v1.Container"},)"
            R"("x-kubernetes-list-map-keys":["name"],"x-kubernetes-list-type":"map",)"
            R"("x-kubernetes-patch-merge-key":"name","x-kubernetes-patch-strategy":"merge"})");
  EXPECT_EQ(spec["properties"]["restartPolicy"].to_json(),
            R"({"type":"string","enum":["Always","Never","OnFailure"]})");
  Value path = v3("apis/networking.k8s.io/v1")["components"]["schemas"]["io.k8s.api.networking.v1.HTTPIngressPath"];
  EXPECT_EQ(path["properties"]["pathType"].to_json(),
            R"({"type":"string","enum":["Exact","ImplementationSpecific","Prefix"]})");
  EXPECT_EQ(schemas["io.k8s.api.core.v1.ContainerPort"]["properties"]["protocol"]["default"].text(), "TCP");
  EXPECT_EQ(schemas["io.k8s.api.core.v1.Secret"]["properties"]["data"].to_json(),
            R"({"type":"object","additionalProperties":{"type":"string","format":"byte"}})");
  Value volume = schemas["io.k8s.api.core.v1.Volume"]["properties"];
  EXPECT_TRUE(volume.has("configMap"));  // inlined structs are flattened
  EXPECT_EQ(schemas["io.k8s.api.core.v1.Pod"]["x-kubernetes-group-version-kind"].to_json(),
            R"([{"group":"","kind":"Pod","version":"v1"}])");
  EXPECT_EQ(schemas["io.k8s.api.core.v1.ObjectFieldSelector"]["x-kubernetes-map-type"].text(), "atomic");
}

TEST(OpenApiV3, ForeignBodiesKeepTheirGroup) {
  Value paths = v3("api/v1")["paths"];
  Value evict = paths["/api/v1/namespaces/{namespace}/pods/{name}/eviction"]["post"];
  EXPECT_EQ(evict["x-kubernetes-group-version-kind"]["group"].text(), "policy");
  EXPECT_TRUE(v3("api/v1")["components"]["schemas"].has("io.k8s.api.policy.v1.Eviction"));
  Value exec = paths["/api/v1/namespaces/{namespace}/pods/{name}/exec"];
  EXPECT_EQ(exec["get"]["operationId"].text(), "connectCoreV1GetNamespacedPodExec");
  EXPECT_EQ(exec["post"]["x-kubernetes-action"].text(), "connect");
  EXPECT_TRUE(paths.has("/api/v1/nodes/{name}/proxy/{path}"));
}

TEST(OpenApiPaths, OperationsAreNamedAsUpstreamNamesThem) {
  std::set<std::string> ids;
  for (const ApiPath& path : api_paths(*schema::Registry::builtin(), "rbac.authorization.k8s.io", "v1"))
    for (const ApiOperation& operation : path.operations) ids.insert(operation.id);
  EXPECT_TRUE(ids.contains("listRbacAuthorizationV1RoleForAllNamespaces"));
  EXPECT_TRUE(ids.contains("deleteRbacAuthorizationV1CollectionNamespacedRole"));
  EXPECT_TRUE(ids.contains("readRbacAuthorizationV1ClusterRole"));
  EXPECT_EQ(api_tag("rbac.authorization.k8s.io", "v1"), "rbacAuthorization_v1");
  EXPECT_EQ(api_tag("", "v1"), "core_v1");
}

TEST(OpenApiV2, IsOneWholeDocument) {
  Document document = parse_json(openapi_v2_json(*schema::Registry::builtin()));
  EXPECT_EQ(document["swagger"].text(), "2.0");
  EXPECT_GT(document["paths"].size(), 200u);
  EXPECT_GT(document["definitions"].size(), 500u);
  Value patch = document["paths"]["/apis/apps/v1/namespaces/{namespace}/deployments/{name}"]["patch"];
  EXPECT_THAT(names(patch["parameters"]), ElementsAre("body", "dryRun", "fieldManager", "fieldValidation", "force"));
  EXPECT_EQ(document["definitions"]["io.k8s.api.apps.v1.DeploymentSpec"]["properties"]["strategy"].to_json(),
            R"({"$ref":"#/definitions/io.k8s.api.apps.v1.DeploymentStrategy",)"
            R"("x-kubernetes-patch-strategy":"retainKeys"})");
  EXPECT_EQ(
      document["paths"]["/api/v1/namespaces/{namespace}/pods/{name}"]["delete"]["responses"]["200"]["schema"]["$ref"]
          .text(),
      "#/definitions/io.k8s.api.core.v1.Pod");
}

// The protobuf form was compared with gnostic's own parse of the JSON form (equal, message by message); here a reader
// of the wire format keeps it so.
struct WireField {
  unsigned number;
  std::string_view bytes;
  std::uint64_t varint;
};

std::vector<WireField> wire(std::string_view bytes) {
  std::vector<WireField> fields;
  std::size_t at = 0;
  auto varint = [&] {
    std::uint64_t number = 0;
    for (int shift = 0; at < bytes.size(); shift += 7) {
      auto byte = static_cast<unsigned char>(bytes[at++]);
      number |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
      if (byte < 0x80) return number;
    }
    ADD_FAILURE() << "varint runs over the end";
    return number;
  };
  while (at < bytes.size()) {
    std::uint64_t tag = varint();
    WireField field{static_cast<unsigned>(tag >> 3), {}, 0};
    if ((tag & 7) == 0) {
      field.varint = varint();
    } else if ((tag & 7) == 1) {  // a double
      field.bytes = bytes.substr(at, 8);
      at += 8;
    } else {
      EXPECT_EQ(tag & 7, 2u);
      std::uint64_t size = varint();
      if (size > bytes.size() - at) {
        ADD_FAILURE() << "message runs over the end";
        break;
      }
      field.bytes = bytes.substr(at, size);
      at += size;
    }
    fields.push_back(field);
  }
  return fields;
}

std::string_view only(std::string_view bytes, unsigned number) {
  for (const WireField& field : wire(bytes))
    if (field.number == number) return field.bytes;
  return {};
}

TEST(Gnostic, WritesASchema) {
  gnostic::DocumentWriter writer;
  writer.begin("2.0", R"({"title":"Kubernetes","version":"v9"})");
  writer.add_definition("a.B", R"({"type":"object","required":["x"],"properties":{"x":{"type":"array",)"
                               R"("items":{"$ref":"#/definitions/a.C"}}},"x-kubernetes-thing":["y"]})");
  std::string document = writer.take();
  EXPECT_EQ(only(document, 1), "2.0");
  EXPECT_EQ(only(only(document, 2), 2), "v9");
  std::string_view named = only(only(document, 9), 1);
  EXPECT_EQ(only(named, 1), "a.B");
  std::string_view schema = only(named, 2);
  EXPECT_EQ(only(only(schema, 22), 1), "object");
  EXPECT_EQ(only(schema, 19), "x");
  std::string_view property = only(only(schema, 25), 1);
  EXPECT_EQ(only(property, 1), "x");
  EXPECT_EQ(only(only(only(only(property, 2), 23), 1), 1), "#/definitions/a.C");
  std::string_view extension = only(schema, 31);
  EXPECT_EQ(only(extension, 1), "x-kubernetes-thing");
  EXPECT_EQ(only(only(extension, 2), 2), R"(["y"])");
}

double real(std::string_view bytes) {
  double value = 0;
  EXPECT_EQ(bytes.size(), sizeof value);
  if (bytes.size() == sizeof value) std::memcpy(&value, bytes.data(), sizeof value);
  return value;
}

// Each member that a custom resource's schema can have; what v2 has no word for is left out.
TEST(Gnostic, WritesTheSchemasOfCustomResources) {
  gnostic::DocumentWriter writer;
  writer.begin("2.0", R"({"title":"Kubernetes","version":"v9"})");
  writer.add_definition("a.B", R"({"title":"t","multipleOf":0.5,"maximum":7,"exclusiveMaximum":true,"minimum":-1.5,
    "maxLength":300,"pattern":"^a$","maxItems":3,"maxProperties":4,"enum":["a",1],"additionalProperties":false,
    "externalDocs":{"url":"u"},"example":{"a":1},"oneOf":[{"type":"string"}],"nullable":true,"id":"i"})");
  const std::string document = writer.take();
  const std::string_view schema = only(only(only(document, 9), 1), 2);
  std::map<unsigned, std::uint64_t> numbers;
  for (const WireField& field : wire(schema))
    if (field.bytes.empty()) numbers[field.number] = field.varint;
  EXPECT_EQ(only(schema, 3), "t");
  EXPECT_EQ(real(only(schema, 6)), 0.5);
  EXPECT_EQ(real(only(schema, 7)), 7);
  EXPECT_EQ(real(only(schema, 9)), -1.5);
  EXPECT_EQ(numbers, (std::map<unsigned, std::uint64_t>{{8, 1}, {11, 300}, {14, 3}, {17, 4}}));
  EXPECT_EQ(only(schema, 13), "^a$");
  EXPECT_EQ(only(only(schema, 20), 2), "\"a\"");
  EXPECT_EQ(wire(only(schema, 21)).at(0).number, 2u);
  EXPECT_EQ(only(only(schema, 29), 2), "u");
  EXPECT_EQ(only(only(schema, 30), 2), R"({"a":1})");
}

TEST(Gnostic, HoldsAllThatTheJsonHolds) {
  Document json = parse_json(openapi_v2_json(*schema::Registry::builtin()));
  std::string document = openapi_v2_protobuf(*schema::Registry::builtin());
  std::size_t paths = 0, patches = 0;
  for (const WireField& path : wire(only(document, 8))) {
    ++paths;
    std::string_view patch = only(only(path.bytes, 2), 8);
    patches += patch.find("fieldValidation") != std::string_view::npos;
  }
  EXPECT_EQ(paths, json["paths"].size());
  std::size_t expected = 0;
  for (Value path : json["paths"])
    expected += path.has("patch") && path["patch"]["x-kubernetes-action"].text() == "patch";
  EXPECT_EQ(patches, expected);
  EXPECT_EQ(wire(only(document, 9)).size(), json["definitions"].size());
}

}  // namespace
}  // namespace sublet::apiserver
