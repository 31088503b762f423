#include "sublet/syncer/custom_kinds.h"

#include <algorithm>

#include "syncer/border/synced_kinds.h"
#include "syncer/to_host/content_patch.h"

namespace sublet::syncer {
namespace {

using patches::CustomResource;
using schema::Value;

constexpr std::string_view kMappedSelector = "sublet.dev/from-host";

const kube::Resource kDefinitions{"apiextensions.k8s.io", "v1", "customresourcedefinitions"};

kube::Resource resource_of(const CustomResource& custom, const ServedKind* served) {
  return {custom.group, served ? served->version : std::string(), custom.plural};
}

SyncedKind definition_of(const CustomResource& custom) {
  return {
      .kind = custom.definition_key,
      .resource = kDefinitions,
      .direction = Direction::from_host,
      .crosses = "the definition of a custom resource that crosses, with the one version that does",
      .host_allocates = "all",
      .wins = "the host: a tenant's writes are refused; a definition that the tenant made itself is left alone",
      .status = "the tenant's API server says its own",
      .host_copy = HostCopy::cluster,
      .host_verbs = "get list watch",
      .watch_tenant = watch_tenant_by_name,
      .watch_host = watch_host_by_name,
      .reconcile = reconcile_definition,
      .resync = resync_host,
      .before_others = true,
      .next_step = "ask whoever runs the host cluster",
      .object_kind = "CustomResourceDefinition",
      .custom = &custom,
      .only = custom.name,
  };
}

SyncedKind to_host(const CustomResource& custom, const ServedKind* served) {
  return {
      .kind = custom.name,
      .resource = resource_of(custom, served),
      .direction = Direction::to_host,
      .crosses = "every object",
      .host_allocates = "what the host's controllers write where the tenant's object says nothing",
      .wins = "the tenant on what it sets",
      .status = "whole, in the tenant's names",
      .host_copy = HostCopy::ours,
      .host_verbs = kAllVerbs,
      .swept = true,
      .watch_tenant = watch_tenant_using,
      .watch_host = watch_host_by_identity,
      .reconcile = reconcile_copied,
      .resync = resync_tenant,
      .tenant_selector = custom.selector,
      .uses_others = true,
      .judged = true,
      .patch_content = patch_all_of_it,
      .object_kind = served ? std::string_view(served->kind) : std::string_view(),
      .custom = &custom,
  };
}

SyncedKind from_host(const CustomResource& custom, const ServedKind* served) {
  return {
      .kind = custom.name,
      .resource = resource_of(custom, served),
      .direction = Direction::from_host,
      .crosses = "every object, or those that the template selects",
      .host_allocates = "all",
      .wins = "the host: a tenant's writes are refused",
      .status = "the host's",
      .host_copy = HostCopy::cluster,
      .host_verbs = kReadVerbs,
      .watch_tenant = watch_tenant_by_name,
      .watch_host = watch_host_by_name,
      .reconcile = reconcile_mirror,
      .resync = resync_host,
      .next_step = "ask whoever runs the host cluster",
      .object_kind = served ? std::string_view(served->kind) : std::string_view(),
      .custom = &custom,
  };
}

// `custom`: null for ConfigMaps and Secrets.
SyncedKind mapped(const patches::HostMapping& mapping, const CustomResource* custom, const ServedKind* served) {
  const bool secret = mapping.kind == "Secret";
  return {
      .kind = mapping.key,
      .resource = custom ? resource_of(*custom, served) : kube::Resource{"", "v1", secret ? "secrets" : "configmaps"},
      .direction = Direction::from_host,
      .crosses = "those that the template maps",
      .host_allocates = "all",
      .wins = "the host: a tenant's writes are refused; what the tenant has under that name itself is left alone",
      .status = "it has none",
      .host_copy = HostCopy::other_namespace,
      .host_verbs = "get list watch",
      .watch_tenant = watch_mapped_copies,
      .watch_host = watch_mapped,
      .reconcile = reconcile_mapped,
      .resync = resync_mapped,
      .tenant_selector = kMappedSelector,
      .next_step = "ask whoever runs the host cluster",
      .object_kind = !custom  ? std::string_view(mapping.kind)
                     : served ? std::string_view(served->kind)
                              : "",
      .custom = custom,
      .only = mapping.host_name,
      .mapping = &mapping,
      .carried_as = custom   ? ""
                    : secret ? "HostSecret"
                             : "HostConfigMap",
  };
}

}  // namespace

std::vector<SyncedKind> custom_kinds(const TranslateContext& context) {
  std::vector<SyncedKind> kinds;
  for (const CustomResource& custom : config_of(context).custom_resources) {
    const auto found = context.served_kinds.find(custom.name);
    const ServedKind* const served = found == context.served_kinds.end() ? nullptr : &found->second;
    if (std::ranges::find(kinds, custom.definition_key, &SyncedKind::kind) == kinds.end())
      kinds.push_back(definition_of(custom));
    if (custom.to_host) kinds.push_back(to_host(custom, served));
    if (!custom.to_host && !custom.namespaced) kinds.push_back(from_host(custom, served));
    if (custom.to_host || !custom.namespaced) continue;
    for (const patches::HostMapping& mapping : config_of(context).mappings)
      if (mapping.kind == custom.name) kinds.push_back(mapped(mapping, &custom, served));
  }
  for (const patches::HostMapping& mapping : config_of(context).mappings)
    if (mapping.kind == "ConfigMap" || mapping.kind == "Secret") kinds.push_back(mapped(mapping, nullptr, nullptr));
  return kinds;
}

ServedKind served_by(const Value& definition, const CustomResource& resource) {
  ServedKind served;
  const Value spec = definition["spec"];
  if ((spec["scope"].text() == "Namespaced") != (resource.to_host || resource.namespaced)) return served;
  Value chosen;
  for (const Value version : spec["versions"]) {
    if (!version["served"].boolean()) continue;
    const bool meant =
        resource.version.empty() ? version["storage"].boolean() : version["name"].text() == resource.version;
    if (meant || (resource.version.empty() && !chosen)) chosen = version;
  }
  if (!chosen) return served;
  served.version = chosen["name"].string();
  served.kind = spec["names"]["kind"].string();
  served.has_status = chosen["subresources"].has("status");
  return served;
}

Result<bool> serves(const kube::Client& host, const kube::Resource& resource) {
  const auto answer = host.raw("GET", "/apis/" + resource.group + "/" + resource.version);
  if (!answer) return fail(answer.error());
  if (answer->code == 404) return false;
  const auto list = schema::Document::parse_json(answer->body);
  if (answer->code != 200 || !list)
    return fail(Reason::service_unavailable, "the host does not say what it serves of " + resource.group + "/" +
                                                 resource.version + ": " + std::to_string(answer->code));
  for (const Value one : list->root()["resources"])
    if (one["name"].text() == resource.resource) return true;
  return false;
}

Outcome learn_served_kinds(const kube::Client& host, TranslateContext& context) {
  context.unserved_kinds.clear();
  for (const SyncedKind& kind : synced_kinds()) {
    if (!kind.only_some_hosts || !is_wanted(kind, context)) continue;
    const auto served = serves(host, kind.resource);
    if (!served) return fail(served.error());
    if (!*served) context.unserved_kinds.emplace(kind.kind);
  }
  context.served_kinds.clear();
  for (const CustomResource& custom : config_of(context).custom_resources) {
    const auto definition = host.get(kDefinitions, "", custom.name);
    if (!definition && definition.error().is(Reason::not_found)) continue;
    if (!definition) return fail(definition.error());
    ServedKind served = served_by(definition->root(), custom);
    if (!served.version.empty()) context.served_kinds.emplace(custom.name, std::move(served));
  }
  return {};
}

std::vector<std::string> unserved_kinds(const TranslateContext& context) {
  std::vector<std::string> names;
  for (const CustomResource& custom : config_of(context).custom_resources)
    if (!context.served_kinds.contains(custom.name)) names.push_back(custom.name);
  return names;
}

}  // namespace sublet::syncer
