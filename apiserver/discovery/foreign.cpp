#include "apiserver/discovery/foreign.h"

#include <algorithm>
#include <optional>

#include "sublet/schema/document.h"

namespace sublet::apiserver {
namespace {

using schema::Document;
using schema::Value;

std::vector<std::string_view> text_views(const Value& list) {
  std::vector<std::string_view> texts;
  for (const Value entry : list) texts.push_back(entry.text());
  return texts;
}

void write_kind(JsonWriter& json, const Value& resource) {
  json.key("responseKind").object([&] {
    json.member("group", resource["group"].text()).member("version", resource["version"].text());
    json.member("kind", resource["kind"].text());
  });
}

void write_subresources(JsonWriter& json, const Value& resources, const std::string& prefix) {
  const auto is_below = [&](const Value& resource) { return resource["name"].text().starts_with(prefix); };
  if (std::none_of(resources.begin(), resources.end(), is_below)) return;
  json.key("subresources").array([&] {
    for (const Value resource : resources) {
      if (!is_below(resource)) continue;
      json.object([&] {
        json.member("subresource", resource["name"].text().substr(prefix.size()));
        write_kind(json, resource);
        json.key("verbs").texts(text_views(resource["verbs"]));
      });
    }
  });
}

void write_foreign_resource(JsonWriter& json, const Value& resources, const Value& resource) {
  json.object([&] {
    json.member("resource", resource["name"].text());
    write_kind(json, resource);
    json.member("scope", resource["namespaced"].boolean() ? "Namespaced" : "Cluster");
    json.member("singularResource", resource["singularName"].text());
    json.key("verbs").texts(text_views(resource["verbs"]));
    for (const auto* member : {"shortNames", "categories"})
      if (!resource[member].empty()) json.key(member).texts(text_views(resource[member]));
    write_subresources(json, resources, resource["name"].string() + "/");
  });
}

// It may stand in JSON as it is (JsonWriter::key).
bool is_plain(std::string_view key) {
  return std::ranges::none_of(key, [](unsigned char c) { return c < 0x20 || c == '"' || c == '\\'; });
}

bool is_below(std::string_view path, const std::vector<std::string>& roots) {
  return std::ranges::any_of(roots, [&](std::string_view root) {
    return path == root || (path.starts_with(root) && path[root.size()] == '/');
  });
}

}  // namespace

bool ForeignOpenApi::add(std::string_view document, const std::vector<std::string>& api_paths) {
  const auto read = Document::parse_json(document);
  if (!read || (*read)["swagger"].text() != "2.0") return false;
  for (const Value path : (*read)["paths"])
    if (is_plain(path.key()) && is_below(path.key(), api_paths)) paths.emplace_back(path.key(), path.to_json());
  for (const Value definition : (*read)["definitions"])
    if (is_plain(definition.key())) definitions.emplace_back(definition.key(), definition.to_json());
  return true;
}

std::vector<std::string_view> foreign_versions(const ForeignApis& others, std::string_view group) {
  std::vector<std::string_view> versions;
  for (const auto& api : others)
    if (api.group == group) versions.push_back(api.version);
  return versions;
}

std::vector<std::string_view> foreign_groups(const ForeignApis& others) {
  std::vector<std::string_view> groups;
  for (const auto& api : others)
    if (std::ranges::find(groups, api.group) == groups.end()) groups.push_back(api.group);
  return groups;
}

void write_foreign_version(JsonWriter& json, const ForeignApi& api) {
  const auto list = Document::parse_json(api.resources);
  json.object([&] {
    json.member("version", api.version);
    if (list)
      json.key("resources").array([&] {
        const Value resources = (*list)["resources"];
        for (const Value resource : resources)
          if (resource["name"].text().find('/') == std::string_view::npos)
            write_foreign_resource(json, resources, resource);
      });
    json.member("freshness", api.available && list ? "Current" : "Stale");
  });
}

}  // namespace sublet::apiserver
