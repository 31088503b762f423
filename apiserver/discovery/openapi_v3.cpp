// OpenAPI v3: an index, and one document per served group version.
#include <array>
#include <cstdint>
#include <map>
#include <vector>

#include "apiserver/discovery/custom_schema.h"
#include "apiserver/discovery/discovery.h"
#include "apiserver/discovery/json_writer.h"
#include "apiserver/discovery/openapi_paths.h"
#include "apiserver/discovery/openapi_schemas.h"
#include "sublet/net/digest.h"
#include "sublet/schema/registry.h"

namespace sublet::apiserver {
namespace {

using schema::GroupFacts;
using schema::Registry;
using schema::Type;

constexpr OpenApiDialect kV3Dialect = OpenApiDialect::v3;

void write_content(JsonWriter& json, std::span<const std::string_view> media_types, std::string_view definition) {
  json.key("content").object([&] {
    for (std::string_view media_type : media_types)
      json.key(media_type).object([&] { write_reference(json.key("schema"), definition, kV3Dialect); });
  });
}

void write_text_content(JsonWriter& json) {
  json.key("content").object(
      [&] { json.key("*/*").object([&] { json.key("schema").object([&] { json.member("type", "string"); }); }); });
}

void write_v3_parameter(JsonWriter& json, std::string_view place, const ApiParameter& parameter) {
  json.object([&] {
    json.member("name", parameter.name).member("in", place).member("description", parameter.description);
    if (place == "path") json.member("required", true);
    json.key("schema").object([&] { json.member("type", parameter.type).member("uniqueItems", true); });
  });
}

void write_v3_responses(JsonWriter& json, const ApiOperation& operation) {
  json.key("responses").object([&] {
    for (std::string_view code : operation.codes)
      json.key(code).object([&] {
        json.member("description", code_description(code));
        if (operation.answer)
          write_content(json, api_media_types(operation.custom), operation.answer.name());
        else
          write_text_content(json);
      });
    json.key("401").object([&] { json.member("description", "Unauthorized"); });
  });
}

void write_body(JsonWriter& json, const ApiOperation& operation) {
  bool patch = operation.action == "patch";
  if (!patch && !operation.body) return;
  json.key("requestBody").object([&] {
    if (patch)
      write_content(json, api_patch_types(operation.custom), kPatchDefinition);
    else
      write_content(json, api_media_types(operation.custom), operation.body.name());
    if (operation.method != "delete") json.member("required", true);
  });
}

void write_v3_operation(JsonWriter& json, const ApiOperation& operation, const std::string& tag) {
  json.key(operation.method).object([&] {
    json.key("tags").array([&] { json.value(tag); });
    json.member("operationId", operation.id);
    if (!operation.parameters.empty())
      json.key("parameters").array([&] {
        for (const ApiParameter& parameter : operation.parameters) write_v3_parameter(json, "query", parameter);
      });
    write_body(json, operation);
    write_v3_responses(json, operation);
    write_what_it_does(json, operation);
  });
}

void write_path(JsonWriter& json, const ApiPath& path, const std::string& tag) {
  json.key(path.path).object([&] {
    for (const ApiOperation& operation : path.operations) write_v3_operation(json, operation, tag);
    json.key("parameters").array([&] {
      for (std::string_view name : path.path_parameters)
        write_v3_parameter(json, "path", {name, "string", path_parameter_description(name)});
      write_v3_parameter(json, "query", {"pretty", "string", "true: indented output"});
    });
  });
}

std::vector<Type> types_of(const Registry& kinds, const std::vector<ApiPath>& paths, std::string_view group,
                           std::string_view version) {
  std::vector<Type> types;
  for (const ApiPath& path : paths)
    for (const ApiOperation& operation : path.operations) {
      types.push_back(operation.body);
      types.push_back(operation.answer);
    }
  types.push_back(kinds.find_kind(group, version, "APIResourceList"));
  types.push_back(kinds.find_kind(group, version, "WatchEvent"));
  return types;
}

std::string document(const Registry& kinds, std::string_view group, std::string_view version,
                     const HostTexts* host = nullptr) {
  std::vector<ApiPath> paths = api_paths(kinds, group, version);
  std::string tag = api_tag(group, version);
  JsonWriter json;
  json.object([&] {
    json.member("openapi", "3.0.0").key("info").object([&] {
      json.member("title", "Kubernetes").member("version", kinds.release());
    });
    json.key("paths").object([&] {
      for (const ApiPath& path : paths) write_path(json, path, tag);
    });
    json.key("components").object([&] {
      json.key("schemas").object([&] {
        for (std::string_view name : reachable_definitions(types_of(kinds, paths, group, version)))
          write_definition(json.key(name), kinds, name, kV3Dialect, host);
      });
    });
  });
  return json.take();
}

struct DocumentVersion {
  std::string_view group, version;
};

/// Clients only compare it, and keep the document for as long as it stays the same.
std::string hash_of(std::string_view text) { return net::sha256_hex(text, 32); }

/// Index key ("api/v1", "apis/apps/v1") -> group version, and the hash of its document; all that are served. A part of
/// the snapshot: documents are made for their hashes once, and only the hashes are kept.
struct DocumentIndex {
  struct Entry {
    DocumentVersion served;
    std::string hash;
  };
  std::map<std::string, Entry, std::less<>> entries;

  explicit DocumentIndex(const Registry& kinds) {
    const Registry* const builtin = Registry::builtin().get();
    for (const GroupFacts& group : kinds.groups())
      for (std::string_view version : group.served) {
        std::string key = api_root(group.name, version).substr(1);
        const auto custom = custom_fingerprint(kinds, group.name, version);
        const Entry* same = custom || &kinds == builtin ? nullptr : builtin->part<DocumentIndex>().find(key);
        std::string hash = custom ? hash_of(*custom)
                           : same ? same->hash
                                  : hash_of(document(kinds, group.name, version));
        entries.emplace(std::move(key), Entry{{group.name, version}, std::move(hash)});
      }
  }

  /// What a document of kinds made at run time alone depends on; nullopt: it must be made to know its hash.
  static std::optional<std::string> custom_fingerprint(const Registry& kinds, std::string_view group,
                                                       std::string_view version) {
    std::string print(kinds.release());
    bool any = false;
    for (const schema::ResourceFacts& facts : kinds.resources()) {
      if (facts.group != group || facts.version != version || !facts.served) continue;
      const auto* custom = kinds.entry<CustomSchema>(facts);
      if (!custom) return std::nullopt;
      print.append("\n").append(facts.resource).append(" ").append(custom->fingerprint());
      any = true;
    }
    if (!any) return std::nullopt;
    return print;
  }

  const Entry* find(std::string_view path) const {
    const auto found = entries.find(path);
    return found == entries.end() ? nullptr : &found->second;
  }
};

/// The host's own hash where its descriptions are to be read: of a built-in group version whose document is not ours,
/// as that of a host of our own making is.
std::string_view host_hash_of(const DocumentIndex::Entry& own, std::string_view path, const HostHashes& host) {
  const auto found = host.by_path.find(path);
  return found == host.by_path.end() || own.hash == found->second ? std::string_view()
                                                                  : std::string_view(found->second);
}

std::string hash_with(const DocumentIndex::Entry& own, std::string_view path, const HostHashes& host) {
  const std::string_view of_host = host_hash_of(own, path, host);
  return of_host.empty() ? own.hash : hash_of(own.hash + " " + std::string(of_host));
}

}  // namespace

std::string openapi_v3_index(const Registry& kinds, const ForeignApis& others, const HostHashes& host) {
  JsonWriter json;
  json.object([&] {
    json.key("paths").object([&] {
      for (const auto& entry : kinds.part<DocumentIndex>().entries)
        json.key(entry.first).object([&] {
          json.member("serverRelativeURL",
                      "/openapi/v3/" + entry.first + "?hash=" + hash_with(entry.second, entry.first, host));
        });
      for (const ForeignApi& api : others)
        if (!api.openapi_url.empty())
          json.key("apis/" + api.group + "/" + api.version).object([&] {
            json.member("serverRelativeURL", api.openapi_url);
          });
    });
  });
  return json.take();
}

std::optional<std::string> openapi_v3(const Registry& kinds, std::string_view group_version_path,
                                      const HostTexts* host) {
  const auto* entry = kinds.part<DocumentIndex>().find(group_version_path);
  if (!entry) return std::nullopt;
  return document(kinds, entry->served.group, entry->served.version, host);
}

std::string openapi_v3_hash(const Registry& kinds, std::string_view group_version_path, const HostHashes& host) {
  const auto* entry = kinds.part<DocumentIndex>().find(group_version_path);
  return entry ? hash_with(*entry, group_version_path, host) : std::string();
}

}  // namespace sublet::apiserver
