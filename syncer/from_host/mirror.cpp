// Mirrors: cluster-scoped objects of the host in the tenant (contract: reconcile_mirror() in synced_kinds.h).
#include <algorithm>

#include "sublet/patches/patch.h"
#include "sublet/syncer/mirrored_kinds.h"
#include "sublet/syncer/node_names.h"
#include "syncer/border/border.h"
#include "syncer/translate/custom.h"
#include "syncer/translate/field_table.h"
#include "syncer/translate/translation.h"

namespace sublet::syncer {
namespace {

using schema::Document;
using schema::Value;

constexpr const char* kNodeIndex = "node";

// By the rows: the status then goes through an endpoint of its own.
bool writes_status_apart(const SyncedKind& kind, const TranslateContext& context) {
  if (kind.custom) return has_status_endpoint(*kind.custom, context);
  std::size_t place = 0;
  return plan_of(kind.kind)->find("status", place) != nullptr;
}

// The tenant's form of a host object, by the rows of its kind.
Document mirrored(const SyncedKind& kind, const Value& host_object, const TranslateContext& context) {
  Document document = kind.custom ? mirror_custom(*kind.custom, host_object, context)
                                  : carry_back(kind.kind, host_object, Value(), context);
  Value root = document.root();
  root.put("apiVersion", kind.api_version());
  root.put("kind", kind.kubernetes_kind());
  root.object("metadata").object("labels").put(kLabelFromHost, "true");
  return document;
}

Outcome patch_tenant(Border& border, const SyncedKind& kind, std::string_view name, const Value& patch,
                     std::string_view subresource) {
  if (patch.empty()) return {};
  ++border.tenant.writes;
  const auto patched =
      border.tenant.client.patch(kind.resource, "", name, kube::PatchType::merge, patch.to_json(), subresource);
  if (!patched) return fail(patched.error());
  return {};
}

// The members of which the rows speak; of a custom resource those that stand on either side.
std::vector<std::string> content_members(const Border& border, const SyncedKind& kind, const Value& tenant_object,
                                         const Value& wanted) {
  std::vector<std::string> members;
  const auto add = [&](std::string_view name) {
    const bool by_status_endpoint = name == "status" && (!kind.custom || writes_status_apart(kind, border.context()));
    if (!by_status_endpoint && (name == "status" || !is_envelope_or_status(name)) &&
        std::ranges::find(members, name) == members.end())
      members.emplace_back(name);
  };
  if (!kind.custom)
    for (const FieldPlan& field : plan_of(kind.kind)->fields) add(field.name);
  else
    for (const Value& side : {tenant_object, wanted})
      for (const Value member : side) add(member.key());
  return members;
}

Document without_beats(const Value& status, std::string_view beat) {
  Document still = Document::copy_of(status);
  for (Value condition : still["conditions"]) condition.erase(beat);
  return still;
}

// A virtual cluster would write for each node every five minutes, though nothing has changed.
bool same_status(const SyncedKind& kind, const Value& now, const Value& want) {
  if (now.equals(want)) return true;
  return !kind.beat.empty() && without_beats(now, kind.beat).root().equals(without_beats(want, kind.beat).root());
}

Outcome bring_mirror_up_to_date(Border& border, const SyncedKind& kind, const Value& tenant_object,
                                const Value& wanted) {
  Document patch = Document::object();
  for (const std::string_view map : {"labels", "annotations"}) {
    if (!wanted["metadata"].has(map)) continue;  // the rows let none cross
    const Document keys = patches::make_merge_patch(tenant_object["metadata"][map], wanted["metadata"][map]);
    if (!keys.root().empty()) patch.root().object("metadata").put(map, keys.root());
  }
  for (const std::string& member : content_members(border, kind, tenant_object, wanted)) {
    const Value now = tenant_object[member], want = wanted[member];
    if (now.equals(want)) continue;
    if (now.is_object() && want.is_object())
      patch.root().put(member, patches::make_merge_patch(now, want).root());
    else
      patch.root().put(member, want);
  }
  const std::string_view name = wanted["metadata"]["name"].text();
  if (auto patched = patch_tenant(border, kind, name, patch.root(), ""); !patched) return patched;
  if (!writes_status_apart(kind, border.context()) || same_status(kind, tenant_object["status"], wanted["status"]))
    return {};
  Document status = Document::object();
  status.root().put("status", patches::make_merge_patch(tenant_object["status"], wanted["status"]).root());
  return patch_tenant(border, kind, name, status.root(), "status");
}

Result<Requeue> create_mirror(Border& border, const SyncedKind& kind, const Document& wanted) {
  ++border.tenant.writes;
  const auto created = border.tenant.client.create(kind.resource, "", wanted.root());
  if (!created && !created.error().is(Reason::already_exists)) return fail(created.error());
  if (created && writes_status_apart(kind, border.context()) && !created->root()["status"].equals(wanted["status"])) {
    // Servers that reset the status at create get it by the second call.
    Document status = Document::object();
    status.root().put("status", patches::make_merge_patch(created->root()["status"], wanted["status"]).root());
    if (auto patched = patch_tenant(border, kind, wanted["metadata"]["name"].text(), status.root(), "status"); !patched)
      return fail(patched.error());
  }
  return Requeue();
}

}  // namespace

void watch_host_nodes_drivers(Border& border, KindSides& sides) {
  watch_host_by_name(border, sides);
  border.sides("Node").host->add_handler(
      [&border, &sides](const kube::CachedPtr& before, const kube::CachedPtr& after) {
        if (!before || !after) border.enqueue(sides.kind.kind, after ? *after : *before);
      });
}

bool is_of_shown_node(const Border& border, std::string_view name) {
  return border.sides("Node").host->get("", name) != nullptr;
}

void watch_host_nodes_devices(Border& border, KindSides& sides) {
  sides.host->add_index(kNodeIndex, [](const kube::CachedObject& slice) {
    return std::vector<std::string>{slice.text({"spec", "nodeName"})};
  });
  watch_host_by_name(border, sides);
  border.sides("Node").host->add_handler(
      [&border, &sides](const kube::CachedPtr& before, const kube::CachedPtr& after) {
        if (before && after) return;
        for (const auto& slice : sides.host->by_index(kNodeIndex, (after ? *after : *before).name))
          border.enqueue(sides.kind.kind, *slice);
      });
}

bool is_of_shown_nodes_devices(const Border& border, std::string_view name) {
  const auto slice = border.sides("ResourceSlice").host->get("", name);
  return slice && is_of_shown_node(border, slice->text({"spec", "nodeName"}));
}

namespace {

// What the tenant has, or should have, under that name.
Result<Requeue> settle_mirror(Border& border, const KindSides& sides, const std::string& tenant_name) {
  const SyncedKind& kind = sides.kind;
  const auto tenant_cached = sides.tenant->get("", tenant_name);
  const auto host_cached = host_object_of(sides, tenant_name);
  const bool wanted =
      host_cached && is_wanted(kind, border.context()) && (!kind.comes || kind.comes(border, host_cached->name));
  if (!wanted) {
    if (!tenant_cached || !tenant_cached->document()["metadata"]["labels"].has(kLabelFromHost)) return Requeue();
    const auto removed = remove_from_tenant(border, kind.resource, *tenant_cached);
    return removed ? Result<Requeue>(Requeue()) : fail(removed.error());
  }
  const Document want = mirrored(kind, host_cached->document().root(), border.context());
  if (!tenant_cached) return create_mirror(border, kind, want);
  if (auto current = bring_mirror_up_to_date(border, kind, tenant_cached->document().root(), want.root()); !current) {
    if (!current.error().is(Reason::invalid)) return fail(current.error());
    // An immutable field (a RuntimeClass's handler) changed on the host: made anew.
    (void)remove_from_tenant(border, kind.resource, *tenant_cached);
    return std::chrono::milliseconds(50);
  }
  return Requeue();
}

}  // namespace

// The key is the name of whichever side has changed. Where the two differ, what bears the host's name in the tenant is
// from a time when they did not, or the other way round: then it goes.
Result<Requeue> reconcile_mirror(Border& border, const KindSides& sides, const std::string&, const std::string& name) {
  auto settled = settle_mirror(border, sides, name);
  if (!settled || !sides.kind.tenant_name) return settled;
  const std::string tenant_name = (border.nodes().*sides.kind.tenant_name)(name);
  if (tenant_name == name) return settled;
  auto other = settle_mirror(border, sides, tenant_name);
  return !other || *other ? other : settled;
}

}  // namespace sublet::syncer
