// Definitions of custom resources: what the host has, as far as its kind crosses, in the tenant (contract:
// reconcile_definition() in synced_kinds.h).
#include "sublet/base/log.h"
#include "sublet/net/digest.h"
#include "sublet/patches/patch.h"
#include "sublet/syncer/custom_kinds.h"
#include "sublet/syncer/mirrored_kinds.h"
#include "syncer/border/border.h"
#include "syncer/translate/custom.h"

namespace sublet::syncer {
namespace {

using schema::Document;
using schema::Value;

// Which version crosses was learnt at the start; everything stands on it. Whoever runs the syncer starts it anew.
void report_change(Border& border, const SyncedKind& kind, const Value& host_definition) {
  const ServedKind now = served_by(host_definition, *kind.custom);
  const auto known = border.context().served_kinds.find(kind.custom->name);
  const bool same = known == border.context().served_kinds.end()
                        ? now.version.empty()
                        : known->second.version == now.version && known->second.has_status == now.has_status;
  if (same || !border.options.kinds_changed) return;
  log::info("syncer.custom_kind_changed", {{"definition", kind.custom->name}, {"version", now.version}});
  border.options.kinds_changed();
}

Outcome write(Border& border, const SyncedKind& kind, const Value& tenant_object, const Document& wanted) {
  ++border.tenant.writes;
  if (!tenant_object) {
    const auto created = border.tenant.client.create(kind.resource, "", wanted.root());
    return created || created.error().is(Reason::already_exists) ? Outcome() : fail(created.error());
  }
  Document patch = Document::object();
  patch.root()
      .object("metadata")
      .object("annotations")
      .put(kAnnotationWritten, wanted["metadata"]["annotations"][kAnnotationWritten]);
  patch.root().put("spec", patches::make_merge_patch(tenant_object["spec"], wanted["spec"]).root());
  const auto patched =
      border.tenant.client.patch(kind.resource, "", kind.custom->name, kube::PatchType::merge, patch.to_json());
  return patched ? Outcome() : fail(patched.error());
}

}  // namespace

Result<Requeue> reconcile_definition(Border& border, const KindSides& sides, const std::string&,
                                     const std::string& name) {
  const SyncedKind& kind = sides.kind;
  const auto host_cached = sides.host->get("", name);
  if (!host_cached) return Requeue();
  const Document host_definition = host_cached->document();
  report_change(border, kind, host_definition.root());
  const auto served = border.context().served_kinds.find(kind.custom->name);
  if (served == border.context().served_kinds.end()) return Requeue();
  Document wanted = mirror_definition(host_definition.root(), served->second.version);
  if (wanted["spec"]["versions"].empty()) return Requeue();  // the version went; the syncer starts anew
  Value metadata = wanted.root().object("metadata");
  metadata.object("labels").put(kLabelFromHost, "true");
  // What was written is told by its hash: the tenant's API server fills in what the host's may say otherwise.
  const std::string hash = net::sha256_hex(wanted.to_json(), 32);
  metadata.object("annotations").put(kAnnotationWritten, "h:" + hash);
  const auto tenant_cached = sides.tenant->get("", name);
  if (!tenant_cached) {
    const auto written = write(border, kind, Value(), wanted);
    return written ? Result<Requeue>(Requeue()) : fail(written.error());
  }
  const Document tenant_object = tenant_cached->document();
  const Value theirs = tenant_object["metadata"];
  if (!theirs["labels"].has(kLabelFromHost)) {
    log::warning("syncer.definition_of_tenant", {{"definition", name}});
    return Requeue();
  }
  if (theirs["annotations"][kAnnotationWritten].text() == "h:" + hash || theirs.has("deletionTimestamp"))
    return Requeue();
  const auto written = write(border, kind, tenant_object.root(), wanted);
  return written ? Result<Requeue>(Requeue()) : fail(written.error());
}

}  // namespace sublet::syncer
