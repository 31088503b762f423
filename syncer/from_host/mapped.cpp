// ConfigMaps, Secrets and custom resources of the host that the template maps into the tenant, and the quota and limits
// that it keeps on the host namespace (contract: reconcile_mapped() in synced_kinds.h).
#include <algorithm>

#include "sublet/base/log.h"
#include "sublet/patches/patch.h"
#include "sublet/syncer/mirrored_kinds.h"
#include "syncer/border/border.h"
#include "syncer/translate/custom.h"
#include "syncer/translate/translation.h"

namespace sublet::syncer {
namespace {

using schema::Document;
using schema::Value;

// On what was brought: by which row of which template it came, so that each row looks after its own.
constexpr const char* kMappedBy = "sublet.dev/mapped-by";
constexpr const char* kHostName = "sublet.dev/host-name";
const kube::Resource kNamespaces{"", "v1", "namespaces"};
// The tenant's own objects are not watched.
constexpr std::chrono::seconds kNameTakenWait{300};

// The virtual cluster's own objects, which may stand in the same namespace, and what gives away an account of the host.
bool may_come(const SyncedKind& kind, const kube::CachedObject& host_object) {
  if (kind.host_copy == HostCopy::ours) return true;
  return host_object.text({"metadata", "labels", kLabelManagedBy}).empty() &&
         host_object.text({"type"}) != "kubernetes.io/service-account-token" &&
         host_object.text({"type"}) != "bootstrap.kubernetes.io/token";
}

Document wanted_copy(const Border& border, const SyncedKind& kind, const Value& host_object, const std::string& name) {
  Document document = kind.custom ? mirror_custom(*kind.custom, host_object, border.context())
                                  : carry_back(kind.carried_as, host_object, Value(), border.context());
  Value root = document.root();
  root.put("apiVersion", kind.api_version());
  root.put("kind", kind.kubernetes_kind());
  Value metadata = root.object("metadata");
  metadata.put("name", name);
  metadata.put("namespace", kind.mapping->tenant_namespace);
  metadata.object("labels").put(kLabelFromHost, "true");
  metadata.object("annotations").put(kMappedBy, kind.kind);
  const std::string host_name = host_object["metadata"]["name"].string();
  if (!kind.custom)
    metadata.object("annotations").put(kHostName, host_name);
  else if (kind.custom->tells_source)
    metadata.object("annotations").put(kHostName, host_object["metadata"]["namespace"].string() + "/" + host_name);
  return document;
}

Outcome make_namespace(Border& border, const std::string& name) {
  Document space = Document::object();
  space.root().object("metadata").put("name", name);
  ++border.tenant.writes;
  const auto made = border.tenant.client.create(kNamespaces, "", space.root());
  return made || made.error().is(Reason::already_exists) ? Outcome() : fail(made.error());
}

Result<Requeue> create(Border& border, const SyncedKind& kind, const Document& wanted) {
  const std::string& space = kind.mapping->tenant_namespace;
  ++border.tenant.writes;
  auto created = border.tenant.client.create(kind.resource, space, wanted.root());
  if (!created && created.error().is(Reason::not_found)) {
    if (auto made = make_namespace(border, space); !made) return fail(made.error());
    ++border.tenant.writes;
    created = border.tenant.client.create(kind.resource, space, wanted.root());
  }
  if (created) return Requeue();
  if (!created.error().is(Reason::already_exists)) return fail(created.error());
  log::warning("syncer.mapped_name_taken",
               {{"kind", kind.kubernetes_kind()}, {"object", space + "/" + wanted["metadata"]["name"].string()}});
  return kNameTakenWait;  // the tenant's own stays
}

// What is compared beside the metadata; the status of a custom resource may have an endpoint of its own.
std::vector<std::string> members_of(const SyncedKind& kind, const Value& now, const Value& wanted, bool has_status) {
  if (!kind.custom) return {"data", "binaryData", "type", "immutable", "spec"};
  std::vector<std::string> members;
  for (const Value& side : {now, wanted})
    for (const Value member : side)
      if (const std::string_view key = member.key(); key != "apiVersion" && key != "kind" && key != "metadata" &&
                                                     !(key == "status" && has_status) &&
                                                     std::ranges::find(members, key) == members.end())
        members.emplace_back(key);
  return members;
}

bool has_custom_status(const Border& border, const SyncedKind& kind) {
  return kind.custom && has_status_endpoint(*kind.custom, border.context());
}

Outcome bring_mapped_status_up_to_date(Border& border, const SyncedKind& kind, const Value& now,
                                       const Document& wanted) {
  if (!has_custom_status(border, kind) || now["status"].equals(wanted["status"])) return {};
  if (now["status"].missing() && wanted["status"].missing()) return {};
  Document patch = Document::object();
  patch.root().put("status", patches::make_merge_patch(now["status"], wanted["status"]).root());
  ++border.tenant.writes;
  const Value metadata = wanted["metadata"];
  const auto patched = border.tenant.client.patch(kind.resource, metadata["namespace"].text(), metadata["name"].text(),
                                                  kube::PatchType::merge, patch.to_json(), "status");
  return patched || patched.error().is(Reason::not_found) ? Outcome() : fail(patched.error());
}

Outcome bring_mapped_up_to_date(Border& border, const SyncedKind& kind, const kube::CachedObject& cached,
                                const Document& wanted) {
  const Document now = cached.document();
  Document patch = Document::object();
  for (const std::string& member : members_of(kind, now.root(), wanted.root(), has_custom_status(border, kind))) {
    const Value have = now[member], want = wanted[member];
    if (have.equals(want)) continue;
    patch.root().put(member,
                     have.is_object() && want.is_object() ? patches::make_merge_patch(have, want).root() : want);
  }
  const Value labels = now["metadata"]["labels"], wanted_labels = wanted["metadata"]["labels"];
  if (!labels.equals(wanted_labels))
    patch.root().object("metadata").put("labels", patches::make_merge_patch(labels, wanted_labels).root());
  if (patch.root().empty()) return bring_mapped_status_up_to_date(border, kind, now.root(), wanted);
  ++border.tenant.writes;
  const auto patched = border.tenant.client.patch(kind.resource, cached.namespace_name, cached.name,
                                                  kube::PatchType::merge, patch.to_json());
  if (patched || patched.error().is(Reason::not_found)) return {};
  // Its type changed, or it was immutable: only a new object can carry it; its end brings the key back.
  if (patched.error().is(Reason::invalid)) return remove_from_tenant(border, kind.resource, cached);
  return fail(patched.error());
}

}  // namespace

void watch_mapped_copies(Border& border, KindSides& sides) {
  sides.tenant->add_handler([&border, &sides](const kube::CachedPtr& before, const kube::CachedPtr& after) {
    const kube::CachedObject& object = after ? *after : *before;
    if (object.namespace_name != sides.kind.mapping->tenant_namespace) return;
    // By the host's name: the copy's own, but where the mapping gives it another. A tenant's own object that goes makes
    // room.
    const std::string host_name = sides.kind.mapping->host_name_of(object.name);
    if (!host_name.empty()) border.queue.add(queue_key(sides.kind.kind, "", host_name));
  });
}

void watch_mapped(Border& border, KindSides& sides) {
  sides.host->add_handler([&border, &sides](const kube::CachedPtr& before, const kube::CachedPtr& after) {
    border.queue.add(queue_key(sides.kind.kind, "", (after ? *after : *before).name));
  });
}

void resync_mapped(Border& border, const KindSides& sides) {
  for (const auto& object : sides.host->list()) border.queue.add(queue_key(sides.kind.kind, "", object->name));
}

Result<Requeue> reconcile_mapped(Border& border, const KindSides& sides, const std::string&, const std::string& name) {
  const SyncedKind& kind = sides.kind;
  const std::string tenant_name = kind.mapping->tenant_name_of(name);
  if (tenant_name.empty()) return Requeue();
  const auto host_cached = sides.host->get(border.host_place(kind), name);
  const auto tenant_cached = sides.tenant->get(kind.mapping->tenant_namespace, tenant_name);
  const bool brought = tenant_cached && tenant_cached->text({"metadata", "annotations", kMappedBy}) == kind.kind;
  if (host_cached && may_come(kind, *host_cached)) {
    const Document wanted = wanted_copy(border, kind, host_cached->document().root(), tenant_name);
    if (!tenant_cached) return create(border, kind, wanted);
    if (!brought) return Requeue();
    const auto current = bring_mapped_up_to_date(border, kind, *tenant_cached, wanted);
    return current ? Result<Requeue>(Requeue()) : fail(current.error());
  }
  if (!brought) return Requeue();
  const auto removed = remove_from_tenant(border, kind.resource, *tenant_cached);
  return removed ? Result<Requeue>(Requeue()) : fail(removed.error());
}

}  // namespace sublet::syncer
