// Legacy and aggregated discovery, straight from the snapshot's facts.
#include "apiserver/discovery/discovery.h"

#include <algorithm>
#include <vector>

#include "apiserver/discovery/json_writer.h"
#include "sublet/schema/registry.h"

namespace sublet::apiserver {
namespace {

using schema::GroupFacts;
using schema::Registry;
using schema::ResourceFacts;
using schema::SubresourceFacts;

std::string group_version(std::string_view group, std::string_view version) {
  return group.empty() ? std::string(version) : std::string(group) + "/" + std::string(version);
}

std::vector<const ResourceFacts*> served_resources(const Registry& kinds, std::string_view group,
                                                   std::string_view version) {
  std::vector<const ResourceFacts*> found;
  for (const ResourceFacts& facts : kinds.resources())
    if (facts.served && facts.group == group && facts.version == version) found.push_back(&facts);
  return found;
}

// Legacy documents.

std::string api_versions(const Registry& kinds, std::string_view server_address) {
  JsonWriter json;
  json.object([&] {
    json.member("kind", "APIVersions").key("versions").texts(kinds.groups().front().served);
    json.key("serverAddressByClientCIDRs").array([&] {
      json.object([&] { json.member("clientCIDR", "0.0.0.0/0").member("serverAddress", server_address); });
    });
  });
  return json.take();
}

void write_version(JsonWriter& json, std::string_view group, std::string_view version) {
  json.object([&] { json.member("groupVersion", group_version(group, version)).member("version", version); });
}

bool listed(const GroupFacts& group) { return !group.name.empty() && !group.served.empty(); }

/// A group's name and versions, other servers' behind its own.
struct ListedGroup {
  std::string_view name;
  std::vector<std::string_view> versions;
};

ListedGroup listed_group(const GroupFacts& group, const ForeignApis& others) {
  ListedGroup made{group.name, {group.served.begin(), group.served.end()}};
  for (std::string_view version : foreign_versions(others, group.name)) made.versions.push_back(version);
  return made;
}

std::vector<std::string_view> groups_of_others(const Registry& kinds, const ForeignApis& others) {
  auto groups = foreign_groups(others);
  std::erase_if(groups, [&](std::string_view name) {
    return std::ranges::any_of(kinds.groups(), [&](const GroupFacts& own) { return own.name == name && listed(own); });
  });
  return groups;
}

std::vector<ListedGroup> listed_groups(const Registry& kinds, const ForeignApis& others) {
  std::vector<ListedGroup> groups;
  for (const GroupFacts& group : kinds.groups())
    if (listed(group)) groups.push_back(listed_group(group, others));
  for (std::string_view name : groups_of_others(kinds, others))
    groups.push_back({name, foreign_versions(others, name)});
  return groups;
}

void write_group_members(JsonWriter& json, const ListedGroup& group) {
  json.member("name", group.name).key("versions").array([&] {
    for (std::string_view version : group.versions) write_version(json, group.name, version);
  });
  json.key("preferredVersion");
  write_version(json, group.name, group.versions[0]);
}

std::string group_list(const Registry& kinds, const ForeignApis& others) {
  JsonWriter json;
  json.object([&] {
    json.member("kind", "APIGroupList").member("apiVersion", "v1").key("groups").array([&] {
      for (const ListedGroup& group : listed_groups(kinds, others))
        json.object([&] { write_group_members(json, group); });
    });
  });
  return json.take();
}

std::string group_document(const ListedGroup& group) {
  JsonWriter json;
  json.object([&] {
    json.member("kind", "APIGroup").member("apiVersion", "v1");
    write_group_members(json, group);
  });
  return json.take();
}

void write_resource(JsonWriter& json, const ResourceFacts& facts) {
  json.object([&] {
    json.member("name", facts.resource).member("singularName", facts.singular).member("namespaced", facts.namespaced);
    json.member("kind", facts.kind).key("verbs").texts(facts.verbs);
    if (!facts.short_names.empty()) json.key("shortNames").texts(facts.short_names);
    if (!facts.categories.empty()) json.key("categories").texts(facts.categories);
    if (!facts.storage_hash.empty()) json.member("storageVersionHash", facts.storage_hash);
  });
}

void write_subresource(JsonWriter& json, const ResourceFacts& parent, const SubresourceFacts& facts) {
  json.object([&] {
    json.member("name", std::string(parent.resource) + "/" + std::string(facts.name)).member("singularName", "");
    json.member("namespaced", parent.namespaced);
    // A body of the parent's own group version is not named, as upstream does it.
    if (facts.group != parent.group || facts.version != parent.version)
      json.member("group", facts.group).member("version", facts.version);
    json.member("kind", facts.kind).key("verbs").texts(facts.verbs);
  });
}

std::optional<std::string> resource_list(const Registry& kinds, std::string_view group, std::string_view version) {
  auto resources = served_resources(kinds, group, version);
  if (resources.empty()) return std::nullopt;
  JsonWriter json;
  json.object([&] {
    json.member("kind", "APIResourceList");
    if (!group.empty())
      json.member("apiVersion", "v1");  // upstream leaves it out for the core group, whose list is older
    json.member("groupVersion", group_version(group, version)).key("resources").array([&] {
      for (const ResourceFacts* facts : resources) {
        write_resource(json, *facts);
        for (const SubresourceFacts& subresource : facts->subresources) write_subresource(json, *facts, subresource);
      }
    });
  });
  return json.take();
}

// Aggregated documents.

void write_response_kind(JsonWriter& json, std::string_view group, std::string_view version, std::string_view kind) {
  json.key("responseKind").object([&] { json.member("group", group).member("version", version).member("kind", kind); });
}

void write_aggregated_subresource(JsonWriter& json, const ResourceFacts& parent, const SubresourceFacts& facts) {
  bool foreign = facts.group != parent.group || facts.version != parent.version;
  json.object([&] {
    json.member("subresource", facts.name);
    write_response_kind(json, foreign ? facts.group : "", foreign ? facts.version : "", facts.kind);
    json.key("verbs").texts(facts.verbs);
  });
}

void write_aggregated_resource(JsonWriter& json, const ResourceFacts& facts) {
  json.object([&] {
    json.member("resource", facts.resource);
    write_response_kind(json, "", "", facts.kind);
    json.member("scope", facts.namespaced ? "Namespaced" : "Cluster").member("singularResource", facts.singular);
    json.key("verbs").texts(facts.verbs);
    if (!facts.short_names.empty()) json.key("shortNames").texts(facts.short_names);
    if (!facts.categories.empty()) json.key("categories").texts(facts.categories);
    if (facts.subresources.empty()) return;
    json.key("subresources").array([&] {
      for (const SubresourceFacts& subresource : facts.subresources)
        write_aggregated_subresource(json, facts, subresource);
    });
  });
}

void write_aggregated_version(JsonWriter& json, const Registry& kinds, std::string_view group,
                              std::string_view version) {
  json.object([&] {
    json.member("version", version).key("resources").array([&] {
      for (const ResourceFacts* facts : served_resources(kinds, group, version))
        write_aggregated_resource(json, *facts);
    });
    json.member("freshness", "Current");
  });
}

void write_foreign_versions(JsonWriter& json, const ForeignApis& others, std::string_view group) {
  for (const ForeignApi& api : others)
    if (api.group == group) write_foreign_version(json, api);
}

void write_foreign_group(JsonWriter& json, const ForeignApis& others, std::string_view group) {
  json.object([&] {
    json.key("metadata").object([&] { json.member("name", group); });
    json.key("versions").array([&] { write_foreign_versions(json, others, group); });
  });
}

void write_aggregated_group(JsonWriter& json, const Registry& kinds, const GroupFacts& group,
                            const ForeignApis& others) {
  json.object([&] {
    json.key("metadata").object([&] {
      if (!group.name.empty()) json.member("name", group.name);
    });
    json.key("versions").array([&] {
      for (std::string_view version : group.served) write_aggregated_version(json, kinds, group.name, version);
      write_foreign_versions(json, others, group.name);
    });
  });
}

}  // namespace

std::optional<std::string> legacy_discovery(const Registry& kinds, std::string_view path,
                                            std::string_view server_address, const ForeignApis& others) {
  if (path.ends_with('/')) path.remove_suffix(1);
  if (path == "/api") return api_versions(kinds, server_address);
  if (path == "/apis") return group_list(kinds, others);
  if (path.starts_with("/api/")) return resource_list(kinds, "", path.substr(5));
  if (!path.starts_with("/apis/")) return std::nullopt;
  path.remove_prefix(6);
  std::size_t slash = path.find('/');
  if (slash == 0) return std::nullopt;  // not another way to say /api
  if (slash != std::string_view::npos) return resource_list(kinds, path.substr(0, slash), path.substr(slash + 1));
  for (const ListedGroup& group : listed_groups(kinds, others))
    if (group.name == path) return group_document(group);
  return std::nullopt;
}

std::string aggregated_discovery(const Registry& kinds, std::string_view path, std::string_view version,
                                 const ForeignApis& others) {
  JsonWriter json;
  json.object([&] {
    json.member("kind", "APIGroupDiscoveryList");
    json.member("apiVersion", "apidiscovery.k8s.io/" + std::string(version));
    json.key("metadata").object([] {}).key("items").array([&] {
      for (const GroupFacts& group : kinds.groups())
        if (path.starts_with("/apis") ? listed(group) : group.name.empty())
          write_aggregated_group(json, kinds, group, others);
      if (path.starts_with("/apis"))
        for (std::string_view group : groups_of_others(kinds, others)) write_foreign_group(json, others, group);
    });
  });
  return json.take();
}

}  // namespace sublet::apiserver
