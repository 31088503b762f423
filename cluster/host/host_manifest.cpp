#include "cluster/host/host_manifest.h"

#include "sublet/syncer/translate.h"

namespace sublet::cluster {

using schema::Document;
using schema::Value;

void put_api_value(Value target, const patches::ApiValue& value) {
  if (value.empty()) return;
  const auto parsed = Document::parse_json(value);
  if (!parsed) return;  // load() has written it
  for (const Value member : parsed->root()) target.put(member.key(), member);
}

patches::ExtraMetadata with_global(const patches::SyncConfig& config, const patches::ExtraMetadata& extra) {
  if (config.control_plane.annotations.empty()) return extra;
  Document annotations = Document::object();
  put_api_value(annotations.root(), config.control_plane.annotations);
  put_api_value(annotations.root(), extra.annotations);
  return {extra.labels, annotations.to_json()};
}

Document host_manifest(const VirtualCluster& cluster, std::string_view api_version, std::string_view kind,
                       std::string_view name, const patches::ExtraMetadata& extra) {
  Document object = Document::object();
  object.root().put("apiVersion", api_version);
  object.root().put("kind", kind);
  Value metadata = object.root().object("metadata");
  metadata.put("name", name);
  Value labels = metadata.object("labels");
  put_api_value(labels, extra.labels);
  labels.put(syncer::kLabelManagedBy, cluster.name);
  labels.put(syncer::kLabelTenantUid, cluster.uid);
  if (!extra.annotations.empty()) put_api_value(metadata.object("annotations"), extra.annotations);
  return object;
}

Outcome check_ours(const VirtualCluster& cluster, const kube::Resource& resource, const Value& there) {
  const Value metadata = there["metadata"];
  if (metadata["labels"][syncer::kLabelTenantUid].text() == cluster.uid) return {};
  return fail(Reason::already_exists, resource.resource + " " + metadata["name"].string() + " exists in namespace " +
                                          metadata["namespace"].string() +
                                          " and does not belong to this virtual cluster; remove or rename it");
}

Result<Document> keep_manifest(const Host& host, const VirtualCluster& cluster, const kube::Resource& resource,
                               const Value& wanted) {
  const std::string name = wanted["metadata"]["name"].string();
  const std::string place = wanted["metadata"]["namespace"].string(cluster.host_namespace);
  const auto there = host.client.get(resource, place, name);
  if (!there && !there.error().is(Reason::not_found)) return fail(there.error());
  if (there)
    if (auto ours = check_ours(cluster, resource, there->root()); !ours) return fail(ours.error());
  return host.client.apply(resource, place, name, wanted, {.field_manager = "sublet", .force = true});
}

Document missing_metadata(const Value& there, const Value& wanted) {
  Document patch = Document::object();
  for (const char* map : {"labels", "annotations"})
    for (const Value entry : wanted["metadata"][map])
      if (there["metadata"][map][entry.key()].text() != entry.text())
        patch.root().object(map).put(entry.key(), entry.text());
  return patch;
}

}  // namespace sublet::cluster
