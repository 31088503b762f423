#include "syncer/to_host/content_patch.h"

#include <algorithm>

#include "sublet/kube/volume_match.h"
#include "sublet/patches/patch.h"
#include "sublet/schema/member_index.h"
#include "syncer/border/written.h"
#include "syncer/translate/translation.h"

namespace sublet::syncer {

using schema::Document;
using schema::Value;

void patch_claim(const Value& host_claim, const Value& desired, Value patch) {
  Document spec = Document::object(), resources = Document::object();
  const Value now = host_claim["spec"]["resources"]["requests"], want = desired["spec"]["resources"]["requests"];
  if (!now.equals(want)) resources.root().put("requests", patches::make_merge_patch(now, want).root());
  if (!resources.root().empty()) spec.root().put("resources", resources.root());
  if (const Value attributes = desired["spec"]["volumeAttributesClassName"];
      attributes && !attributes.equals(host_claim["spec"]["volumeAttributesClassName"]))
    spec.root().put("volumeAttributesClassName", attributes);
  // One that the tenant names; it can be set once.
  if (const Value volume = desired["spec"]["volumeName"]; volume && host_claim["spec"]["volumeName"].text().empty())
    spec.root().put("volumeName", volume);
  if (!spec.root().empty()) patch.put("spec", spec.root());
}

namespace {

bool is_unset(const Value& value) {
  return value.missing() || value.is_null() || ((value.is_object() || value.is_array()) && value.empty());
}

// Whether all of `want` is there; the host may have more, as defaults of a newer release are.
bool covers(const Value& now, const Value& want) {
  if (is_unset(want) && is_unset(now)) return true;
  if (want.is_object() && now.is_object()) {
    const schema::MemberIndex members(now);
    return std::all_of(want.begin(), want.end(),
                       [&](const Value& member) { return covers(members.find(member.key()), member); });
  }
  if (want.is_array() && now.is_array() && want.size() == now.size()) {
    auto there = now.begin();
    return std::all_of(want.begin(), want.end(), [&](const Value& item) { return covers(*there++, item); });
  }
  return now.equals(want);
}

// Since the syncer wrote the host's.
bool tenant_has_changed(const Value& host_object, const Value& desired) {
  return Written::on(host_object).hash != Written::of(desired).hash;
}

void strip_nulls(Value object) {
  if (!object.is_object()) return;
  object.retain([](const Value& member) { return !member.is_null(); });
  for (const Value member : object) strip_nulls(member);
}

void patch_content_but(const Value& host_object, const Value& desired, Value patch, std::string_view kept) {
  const bool changed = tenant_has_changed(host_object, desired);
  for (const Value want : desired) {
    const Value now = host_object[want.key()];
    if (is_envelope_or_status(want.key()) || (changed ? now.equals(want) : covers(now, want))) continue;
    if (!now.is_object() || !want.is_object()) {
      patch.put(want.key(), want);
      continue;
    }
    Value difference = patch.put(want.key(), patches::make_merge_patch(now, want).root());
    if (!changed) strip_nulls(difference);
    if (difference[kept].is_null()) difference.erase(kept);
    if (difference.empty()) patch.erase(want.key());
  }
  if (!changed) return;
  for (const Value now : host_object)
    if (!is_envelope_or_status(now.key()) && now.key() != kept && !desired.has(now.key()))
      patch.put(now.key(), Value());
}

}  // namespace

void patch_all_of_it(const Value& host_object, const Value& desired, Value patch) {
  patch_content_but(host_object, desired, patch, "");
}

void patch_ingress(const Value& host_ingress, const Value& desired, Value patch) {
  patch_content_but(host_ingress, desired, patch, "ingressClassName");
}

void patch_pod_group(const Value& host_group, const Value& desired, Value patch) {
  patch_all_of_it(host_group, desired, patch);
  Value spec = patch["spec"];
  if (host_group["spec"].has("disruptionMode") || spec["disruptionMode"].text() != "Pod") return;
  spec.erase("disruptionMode");
  if (spec.empty()) patch.erase("spec");
}

void patch_volume(const Value& host_volume, const Value& desired, Value patch) {
  const Value now = host_volume["spec"], want = desired["spec"];
  Document spec = Document::object();
  for (const std::string_view field : {"persistentVolumeReclaimPolicy", "storageClassName", "accessModes"})
    if (!(is_unset(now[field]) && is_unset(want[field])) && !now[field].equals(want[field]))
      spec.root().put(field, want[field] ? want[field] : Value());
  if (!now.has("nodeAffinity") && want.has("nodeAffinity")) spec.root().put("nodeAffinity", want["nodeAffinity"]);
  if (kube::has_more_storage(want["capacity"], now["capacity"]))
    spec.root().object("capacity").put("storage", want["capacity"]["storage"]);
  if (!spec.root().empty()) patch.put("spec", spec.root());
}

void patch_account(const Value& host_account, const Value& desired, Value patch) {
  patch_content_but(host_account, desired, patch, "secrets");
}

}  // namespace sublet::syncer
