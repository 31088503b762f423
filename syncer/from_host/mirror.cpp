#include "syncer/from_host/mirror.h"

#include "sublet/patches/patch.h"
#include "syncer/translate/translation.h"

namespace sublet::syncer {
namespace {

using schema::Document;
using schema::Value;

// The tenant's form of a host object, by the rows of its kind.
Document mirrored(const MirrorSides& sides, const Value& host_object) {
  Document document = carry_back(sides.kind, host_object, Value());
  Value root = document.root();
  root.put("apiVersion", sides.api_version);
  root.put("kind", sides.kind);
  root.object("metadata").object("labels").put(kLabelFromHost, "true");
  return document;
}

Outcome patch_tenant(Border& border, const MirrorSides& sides, std::string_view name, const Value& patch,
                     std::string_view subresource) {
  if (patch.empty()) return {};
  ++border.tenant_writes;
  const auto patched =
      border.tenant.patch(sides.resource, "", name, kube::PatchType::merge, patch.to_json(), subresource);
  if (!patched) return fail(patched.error());
  return {};
}

Outcome bring_up_to_date(Border& border, const MirrorSides& sides, const Value& tenant_object, const Value& wanted) {
  Document patch = Document::object();
  const Document labels = patches::make_merge_patch(tenant_object["metadata"]["labels"], wanted["metadata"]["labels"]);
  if (!labels.root().empty()) patch.root().object("metadata").put("labels", labels.root());
  for (const std::string_view field : sides.fields) {
    const Value now = tenant_object[field], want = wanted[field];
    if (now.equals(want)) continue;
    if (now.is_object() && want.is_object())
      patch.root().put(field, patches::make_merge_patch(now, want).root());
    else
      patch.root().put(field, want);
  }
  const std::string_view name = wanted["metadata"]["name"].text();
  if (auto patched = patch_tenant(border, sides, name, patch.root(), ""); !patched) return patched;
  if (!sides.has_status || tenant_object["status"].equals(wanted["status"])) return {};
  Document status = Document::object();
  status.root().put("status", patches::make_merge_patch(tenant_object["status"], wanted["status"]).root());
  return patch_tenant(border, sides, name, status.root(), "status");
}

Result<Requeue> create_mirror(Border& border, const MirrorSides& sides, const Document& wanted) {
  ++border.tenant_writes;
  const auto created = border.tenant.create(sides.resource, "", wanted.root());
  if (!created && !created.error().is(Reason::already_exists)) return fail(created.error());
  if (created && sides.has_status && !created->root()["status"].equals(wanted["status"])) {
    // Servers that reset the status at create get it by the second call.
    Document status = Document::object();
    status.root().put("status", patches::make_merge_patch(created->root()["status"], wanted["status"]).root());
    if (auto patched = patch_tenant(border, sides, wanted["metadata"]["name"].text(), status.root(), "status");
        !patched)
      return fail(patched.error());
  }
  return Requeue();
}

}  // namespace

Result<Requeue> reconcile_mirror(Border& border, const MirrorSides& sides, const std::string& name, bool wanted) {
  const auto tenant_cached = sides.tenant_cache.get("", name);
  const auto host_cached = sides.host_cache.get("", name);
  if (host_cached && wanted) {
    const Document want = mirrored(sides, host_cached->document().root());
    if (!tenant_cached) return create_mirror(border, sides, want);
    if (auto current = bring_up_to_date(border, sides, tenant_cached->document().root(), want.root()); !current) {
      if (!current.error().is(Reason::invalid)) return fail(current.error());
      // An immutable field (a RuntimeClass's handler) changed on the host: made anew.
      kube::DeleteOptions options;
      options.uid = tenant_cached->uid;
      ++border.tenant_writes;
      (void)border.tenant.remove(sides.resource, "", name, options);
      return std::chrono::milliseconds(50);
    }
    return Requeue();
  }
  if (!tenant_cached || !tenant_cached->document()["metadata"]["labels"].has(kLabelFromHost)) return Requeue();
  kube::DeleteOptions options;
  options.uid = tenant_cached->uid;
  ++border.tenant_writes;
  const auto removed = border.tenant.remove(sides.resource, "", name, options);
  if (removed || removed.error().is(Reason::not_found)) return Requeue();
  return fail(removed.error());
}

}  // namespace sublet::syncer
