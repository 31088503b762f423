// Kinds of which every tenant object stands on the host, as Services do; the status that the host gives them comes
// back.
#include "sublet/base/text.h"
#include "sublet/patches/patch.h"
#include "sublet/syncer/node_names.h"
#include "syncer/border/border.h"
#include "syncer/border/written.h"
#include "syncer/from_host/custom_status.h"
#include "syncer/from_host/text_for_tenant.h"
#include "syncer/to_host/host_object.h"
#include "syncer/to_host/volume_choice.h"
#include "syncer/translate/custom.h"
#include "syncer/translate/field_table.h"
#include "syncer/translate/translation.h"

namespace sublet::syncer {
namespace {

using schema::Document;
using schema::Value;

// Until a refused change is tried again: the host's policy may have changed. A change on either side comes sooner.
constexpr std::chrono::minutes kRefusedWait{5};

bool is_missing_or_empty(const Value& value) {
  return value.missing() || ((value.is_object() || value.is_array()) && value.empty());
}

// Conditions' messages, of whichever kind.
void translate_messages(Border& border, const Value& value, std::string_view host_name, const TenantIdentity& about) {
  for (Value child : value) {
    if (child.is_string() && child.key() == "message")
      child.set(text_for_tenant(border, child.text(), host_name, about));
    if (child.is_object() || child.is_array()) translate_messages(border, child, host_name, about);
  }
}

// What the host says of the fields that cross by these rows, and the tenant does not know yet; the others are not ours.
Document status_difference_by_rows(Border& border, std::string_view rows, const Value& tenant_object,
                                   const Value& host_object) {
  const Document wanted = carry_back(rows, host_object["status"], tenant_object, border.context());
  const Value metadata = tenant_object["metadata"];
  translate_messages(border, wanted.root(), host_object["metadata"]["name"].text(),
                     {metadata["namespace"].string(), metadata["name"].string(), metadata["uid"].string()});
  Document difference = Document::object();
  for (const FieldPlan& field : plan_of(rows)->fields) {
    if (!lets_cross(field.row->action)) continue;
    const Value ours = tenant_object["status"][field.name], theirs = wanted[field.name];
    if (ours.equals(theirs) || (is_missing_or_empty(ours) && is_missing_or_empty(theirs))) continue;
    if (ours.is_object() && theirs.is_object())
      difference.root().put(field.name, patches::make_merge_patch(ours, theirs).root());
    else
      difference.root().put(field.name, theirs);
  }
  return difference;
}

// Where a custom resource has none of its own, the status is a part of the object as any other.
std::string_view status_endpoint(const Border& border, const SyncedKind& kind) {
  if (!kind.custom) return "status";
  return has_status_endpoint(*kind.custom, border.context()) ? "status" : "";
}

// Volumes may be the tenant's own, or named after their node, and a note says for which one they are. Classes keep the
// host's names.
std::string value_for_tenant(const Border& border, std::string_view place, std::string_view value) {
  if (place == "volume.kubernetes.io/selected-node") return border.nodes().to_tenant(value);
  if (place == "volumeName")
    if (std::string own = own_volume_of(border, value); !own.empty()) return own;
  return place == "storageClassName" ? std::string(value) : border.nodes().value_to_tenant(value);
}

// Writes into the tenant object the fields that only the host has filled in (SyncedKind::host_fills, host_notes).
Outcome bring_fillings_back(Border& border, const SyncedKind& kind, const Value& tenant_object,
                            const Value& host_object) {
  Document patch = Document::object();
  for (const std::string_view field : split_words(kind.host_fills)) {
    const std::string theirs = value_for_tenant(border, field, host_object["spec"][field].text());
    if (!theirs.empty() && tenant_object["spec"][field].text().empty()) patch.root().object("spec").put(field, theirs);
  }
  for (const std::string_view note : split_words(kind.host_notes)) {
    const Value host_note = host_object["metadata"]["annotations"][note];
    const std::string theirs = value_for_tenant(border, note, host_note.text());
    if (host_note && theirs != tenant_object["metadata"]["annotations"][note].text())
      patch.root().object("metadata").object("annotations").put(note, theirs);
  }
  if (patch.root().empty()) return {};
  const Value metadata = tenant_object["metadata"];
  patch.root().object("metadata").put("uid", metadata["uid"]);  // by now another may have its name
  ++border.tenant.writes;
  const auto patched = border.tenant.client.patch(kind.resource, metadata["namespace"].text(), metadata["name"].text(),
                                                  kube::PatchType::merge, patch.to_json());
  if (!patched && !patched.error().is(Reason::not_found)) return fail(patched.error());
  return {};
}

// Of a custom resource nothing is known but that its status is the host's word.
Document custom_status_difference(Border& border, const Value& tenant_object, const Value& host_object) {
  const Document wanted = custom_status(border, host_object, tenant_object);
  const Value ours = tenant_object["status"];
  if (ours.equals(wanted.root()) || (is_missing_or_empty(ours) && is_missing_or_empty(wanted.root())))
    return Document::object();
  return patches::make_merge_patch(ours, wanted.root());
}

Outcome bring_copied_status_back(Border& border, const SyncedKind& kind, const Value& tenant_object,
                                 const Value& host_object) {
  if (kind.status_rows.empty() && !kind.custom) return {};
  const Document difference = kind.custom
                                  ? custom_status_difference(border, tenant_object, host_object)
                                  : status_difference_by_rows(border, kind.status_rows, tenant_object, host_object);
  if (difference.root().empty()) return {};
  Document patch = Document::object();
  patch.root().put("status", difference.root());
  const Value metadata = tenant_object["metadata"];
  patch.root().object("metadata").put("uid", metadata["uid"]);
  ++border.tenant.writes;
  const auto patched =
      border.tenant.client.patch(kind.resource, metadata["namespace"].text(), metadata["name"].text(),
                                 kube::PatchType::merge, patch.to_json(), status_endpoint(border, kind));
  if (!patched && !patched.error().is(Reason::not_found)) return fail(patched.error());
  return {};
}

Outcome bring_back(Border& border, const SyncedKind& kind, const Value& tenant_object, const Value& host_object) {
  if (tenant_identity(host_object).uid != tenant_object["metadata"]["uid"].text()) return {};  // an earlier one's
  if (auto filled = bring_fillings_back(border, kind, tenant_object, host_object); !filled) return filled;
  return bring_copied_status_back(border, kind, tenant_object, host_object);
}

bool is_refused(const Status& error) {
  return error.is(Reason::invalid) || error.is(Reason::forbidden) || error.is(Reason::bad_request);
}

// The tenant can change what the host refuses; a retry cannot.
void report_copy_refusal(Border& border, const SyncedKind& kind, const Value& tenant_object, const Status& error) {
  if (!is_refused(error)) return;
  const Value metadata = tenant_object["metadata"];
  const TenantIdentity about{metadata["namespace"].string(), metadata["name"].string(), {}};
  const std::string message =
      text_for_tenant(border, error.message, border.host_name_of(about.namespace_name, about.name), about);
  record_tenant_event(border, tenant_object, "Warning", "SyncFailed",
                      "the host refused the " + std::string(kind.kubernetes_kind()) + ": " + message);
}

}  // namespace

Result<Requeue> reconcile_copied(Border& border, const KindSides& sides, const std::string& tenant_namespace,
                                 const std::string& name) {
  const SyncedKind& kind = sides.kind;
  if (kind.crosses_to_host && !kind.crosses_to_host(tenant_namespace, name)) return Requeue();
  const auto tenant_cached = Border::carried(sides, tenant_namespace, name);
  const auto host_cached = border.on_host(sides, tenant_namespace, name);
  if (!tenant_cached || (kind.crosses_now && !kind.crosses_now(border, *tenant_cached))) {
    if (!host_cached || !host_cached->text({"metadata", "deletionTimestamp"}).empty()) return Requeue();
    const auto removed = remove_from_host(border, kind.resource, *host_cached);
    return removed ? Result<Requeue>(Requeue()) : fail(removed.error());
  }
  const Document tenant_object = whole(*tenant_cached, kind);
  if (const std::string why = unshown_name(border, kind, tenant_object.root(), host_cached); !why.empty()) {
    record_tenant_event(border, tenant_object.root(), "Warning", "SyncDenied", why);
    return kUnshownWait;
  }
  const Operation operation = host_cached ? Operation::update : Operation::create;
  auto translated = translate_for_host(border, kind, tenant_object.root(), operation);
  if (!translated) return Requeue();
  const std::string hash = translated->desired_hash;
  auto applied = apply_to_host(border, kind, host_cached, std::move(translated->host_object), tenant_object.root());
  if (!applied) report_copy_refusal(border, kind, tenant_object.root(), applied.error());
  // A custom resource's status counts the changes that it tells of: it comes once the host has this one.
  const bool is_current = host_cached && (!kind.custom || Written::on(host_cached->document().root()).hash == hash);
  // The status comes back too while the host refuses a change, such as the growth of a claim whose class forbids it.
  const bool refused = !applied && host_cached && is_refused(applied.error());
  if ((applied || refused) && is_current)
    if (const auto back = bring_back(border, kind, tenant_object.root(), host_cached->document().root()); !back)
      return fail(back.error());
  if (refused) return Requeue(kRefusedWait);
  return applied;
}

}  // namespace sublet::syncer
