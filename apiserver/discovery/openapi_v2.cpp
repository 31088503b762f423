// OpenAPI v2: one document for everything, as JSON, and as gnostic's protobuf message for kubectl before 1.29. The
// protobuf form is made piece by piece from the JSON of each path and definition, so that the whole is never a tree.
#include <set>
#include <utility>
#include <vector>

#include "apiserver/discovery/discovery.h"
#include "apiserver/discovery/gnostic.h"
#include "apiserver/discovery/json_writer.h"
#include "apiserver/discovery/openapi_paths.h"
#include "apiserver/discovery/openapi_schemas.h"
#include "sublet/schema/registry.h"

namespace sublet::apiserver {
namespace {

using schema::GroupFacts;
using schema::Registry;
using schema::Type;

constexpr OpenApiDialect kV2Dialect = OpenApiDialect::v2;

void write_v2_parameter(JsonWriter& json, std::string_view place, const ApiParameter& parameter) {
  json.object([&] {
    json.member("name", parameter.name).member("in", place);
    if (place == "path") json.member("required", true);
    json.member("type", parameter.type).member("uniqueItems", true);
  });
}

void write_body_parameter(JsonWriter& json, std::string_view definition, bool required) {
  json.object([&] {
    json.member("name", "body").member("in", "body");
    if (required) json.member("required", true);
    write_reference(json.key("schema"), definition, kV2Dialect);
  });
}

void write_parameters(JsonWriter& json, const ApiOperation& operation) {
  bool patch = operation.action == "patch";
  if (operation.parameters.empty() && !operation.body && !patch) return;
  json.key("parameters").array([&] {
    if (patch) write_body_parameter(json, kPatchDefinition, true);
    if (operation.body) write_body_parameter(json, operation.body.name(), operation.method != "delete");
    for (const ApiParameter& parameter : operation.parameters) write_v2_parameter(json, "query", parameter);
  });
}

void write_v2_responses(JsonWriter& json, const ApiOperation& operation) {
  json.key("responses").object([&] {
    for (std::string_view code : operation.codes)
      json.key(code).object([&] {
        json.member("description", code_description(code)).key("schema");
        if (operation.answer)
          write_reference(json, operation.answer.name(), kV2Dialect);
        else
          json.object([&] { json.member("type", "string"); });
      });
    json.key("401").object([&] { json.member("description", "Unauthorized"); });
  });
}

void write_v2_operation(JsonWriter& json, const ApiOperation& operation, const std::string& tag) {
  json.key(operation.method).object([&] {
    json.key("tags").array([&] { json.value(tag); });
    json.member("operationId", operation.id);
    json.key("produces").texts(api_media_types(operation.custom)).key("consumes");
    json.texts(operation.action == "patch" ? api_patch_types(operation.custom) : api_media_types(operation.custom));
    write_parameters(json, operation);
    write_v2_responses(json, operation);
    write_what_it_does(json, operation);
  });
}

void write_path_item(JsonWriter& json, const ApiPath& path, const std::string& tag) {
  json.object([&] {
    for (const ApiOperation& operation : path.operations) write_v2_operation(json, operation, tag);
    json.key("parameters").array([&] {
      for (std::string_view name : path.path_parameters) write_v2_parameter(json, "path", {name, "string", ""});
      write_v2_parameter(json, "query", {"pretty", "string", ""});
    });
  });
}

/// Calls visit(path, tag) for all paths of all served group versions.
template <class Visit>
void for_each_path(const Registry& kinds, Visit visit) {
  for (const GroupFacts& group : kinds.groups())
    for (std::string_view version : group.served) {
      std::string tag = api_tag(group.name, version);
      for (const ApiPath& path : api_paths(kinds, group.name, version)) visit(path, tag);
    }
}

std::vector<std::string_view> definitions(const Registry& kinds) {
  std::vector<Type> roots;
  for_each_path(kinds, [&](const ApiPath& path, const std::string&) {
    for (const ApiOperation& operation : path.operations) {
      roots.push_back(operation.body);
      roots.push_back(operation.answer);
    }
  });
  for (std::string_view kind : {"APIGroup", "APIGroupList", "APIResourceList", "APIVersions", "WatchEvent"})
    roots.push_back(kinds.find_kind("", "v1", kind));
  return reachable_definitions(roots);
}

void write_info(JsonWriter& json, const Registry& kinds) {
  json.object([&] { json.member("title", "Kubernetes").member("version", kinds.release()); });
}

/// What other servers define and this one does not; of several the first counts.
std::vector<const std::pair<std::string, std::string>*> unknown_definitions(const std::vector<std::string_view>& own,
                                                                            const ForeignOpenApi& others) {
  std::set<std::string_view> known(own.begin(), own.end());
  std::vector<const std::pair<std::string, std::string>*> unknown;
  for (const auto& definition : others.definitions)
    if (known.insert(definition.first).second) unknown.push_back(&definition);
  return unknown;
}

}  // namespace

std::string openapi_v2_json(const Registry& kinds, const ForeignOpenApi& others) {
  JsonWriter json;
  json.object([&] {
    json.member("swagger", "2.0").key("info");
    write_info(json, kinds);
    json.key("paths").object([&] {
      for_each_path(
          kinds, [&](const ApiPath& path, const std::string& tag) { write_path_item(json.key(path.path), path, tag); });
      for (const auto& [path, item] : others.paths) json.key(path).raw(item);
    });
    json.key("definitions").object([&] {
      const auto own = definitions(kinds);
      for (std::string_view name : own) write_definition(json.key(name), kinds, name, kV2Dialect);
      for (const auto* other : unknown_definitions(own, others)) json.key(other->first).raw(other->second);
    });
  });
  return json.take();
}

std::string openapi_v2_protobuf(const Registry& kinds, const ForeignOpenApi& others) {
  gnostic::DocumentWriter document;
  JsonWriter info;
  write_info(info, kinds);
  document.begin("2.0", info.take());
  for_each_path(kinds, [&](const ApiPath& path, const std::string& tag) {
    JsonWriter json;
    write_path_item(json, path, tag);
    document.add_path(path.path, json.take());
  });
  for (const auto& [path, item] : others.paths) document.add_path(path, item);
  const auto own = definitions(kinds);
  for (std::string_view name : own) {
    JsonWriter json;
    write_definition(json, kinds, name, kV2Dialect);
    document.add_definition(name, json.take());
  }
  for (const auto* other : unknown_definitions(own, others)) document.add_definition(other->first, other->second);
  return document.take();
}

}  // namespace sublet::apiserver
