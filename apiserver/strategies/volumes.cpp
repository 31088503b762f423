#include "apiserver/strategies/volumes.h"

#include <algorithm>
#include <filesystem>
#include <initializer_list>

#include "apiserver/request/members.h"
#include "apiserver/request/text_list.h"
#include "apiserver/strategies/kind_facts.h"
#include "apiserver/validation/names.h"
#include "apiserver/validation/pod_spec.h"
#include "apiserver/validation/resources.h"
#include "apiserver/validation/volume_sources.h"

namespace sublet::apiserver {
namespace {

using schema::Value;

constexpr std::string_view kVolumeReclaimPolicies[] = {"Delete", "Recycle", "Retain"}, kStorage[] = {"storage"};

// --- what holds the data ---

/// The sources in the order in which upstream looks at them, and the name under which it reports each.
struct PersistentSource {
  std::string_view member, reported;
};
constexpr PersistentSource kPersistentSources[] = {{"hostPath", "hostPath"},
                                                   {"gcePersistentDisk", "persistentDisk"},
                                                   {"awsElasticBlockStore", "awsElasticBlockStore"},
                                                   {"glusterfs", "glusterfs"},
                                                   {"flocker", "flocker"},
                                                   {"nfs", "nfs"},
                                                   {"rbd", "rbd"},
                                                   {"quobyte", "quobyte"},
                                                   {"cephfs", "cephfs"},
                                                   {"iscsi", "iscsi"},
                                                   {"cinder", "cinder"},
                                                   {"fc", "fc"},
                                                   {"flexVolume", "flexVolume"},
                                                   {"azureFile", "azureFile"},
                                                   {"vsphereVolume", "vsphereVolume"},
                                                   {"photonPersistentDisk", "photonPersistentDisk"},
                                                   {"portworxVolume", "portworxVolume"},
                                                   {"azureDisk", "azureDisk"},
                                                   {"scaleIO", "scaleIO"},
                                                   {"local", "local"},
                                                   {"storageos", "storageos"},
                                                   {"csi", "csi"}};

void validate_persistent_sources(Causes& causes, const std::string& path, const Value& spec,
                                 std::string_view volume_name) {
  int count = 0;
  for (const auto& facts : kPersistentSources) {
    const auto source = spec[facts.member];
    if (!source) continue;
    const std::string_view twice = facts.member == "cephfs" ? "cephFS" : facts.member;
    if (count++ > 0 && facts.member != "flexVolume") {
      forbidden(causes, child(path, twice), "may not specify more than 1 volume type");
      continue;
    }
    validate_volume_source(causes, child(path, facts.reported), source, facts.member,
                           {VolumeHolder::persistent_volume, volume_name});
    if (facts.member == "local" && !spec["nodeAffinity"])
      required(causes, child(path, "nodeAffinity"), "Local volume requires node affinity");
  }
  if (count == 0) required(causes, path, "must specify a volume type");
}

// --- PersistentVolume ---

void validate_volume_capacity(Causes& causes, const std::string& path, const Value& capacity) {
  if (capacity.empty()) required(causes, path);
  if (!capacity.has("storage") || capacity.size() > 1)
    not_supported(causes, path, capacity ? BadValue(capacity) : BadValue::raw("null"), kStorage);
  for (auto quantity : capacity) {
    const auto at = keyed(path, quantity.key());
    const auto nanos = quantity_nanos_of(quantity);
    if (nanos <= -1'000'000'000)
      invalid(causes, at, static_cast<std::int64_t>(nanos / 1'000'000'000), "must be a valid resource quantity");
    if (nanos <= 0) invalid(causes, at, quantity, "must be greater than zero");
  }
}

void validate_inline_only(Causes& causes, const std::string& path, const Value& spec) {
  for (auto field : {"claimRef", "capacity", "nodeAffinity", "storageClassName"}) {
    const auto value = spec[field];
    if (value && !(value.is_string() ? value.text().empty()
                                     : value.is_object() && value.empty() && std::string_view(field) == "capacity"))
      forbidden(causes, child(path, field), "may not be specified in the context of inline volumes");
  }
  if (!spec.has("csi")) required(causes, child(path, "csi"), "has to be specified in the context of inline volumes");
  if (const auto policy = spec["persistentVolumeReclaimPolicy"].text(); !policy.empty() && policy != "Retain")
    forbidden(causes, child(path, "persistentVolumeReclaimPolicy"),
              "may only be Retain in the context of inline volumes");
  if (const auto mode = spec["volumeMode"]; mode && mode.text() != "Filesystem")
    forbidden(causes, child(path, "volumeMode"),
              "may not specify volumeMode other than Filesystem in the context of inline volumes");
}

constexpr FieldRule kVolumeRules[] = {optional_name("storageClassName", dns1123_subdomain)};

/// Whether a path is "/" when its "." and ".." are gone.
bool is_root(std::string_view path) {
  return path.starts_with('/') && std::filesystem::path(path).lexically_normal() == "/";
}

void validate_own_volume(Causes& causes, const std::string& path, const Value& spec) {
  validate_volume_capacity(causes, child(path, "capacity"), spec["capacity"]);
  const auto policy = spec["persistentVolumeReclaimPolicy"].text();
  if (!policy.empty() && !contains_text(kVolumeReclaimPolicies, policy))
    not_supported(causes, child(path, "persistentVolumeReclaimPolicy"), policy, kVolumeReclaimPolicies);
  const auto affinity = spec["nodeAffinity"];
  const auto at = child(path, "nodeAffinity");
  if (affinity && !affinity.has("required"))
    required(causes, child(at, "required"), "must specify required node constraints");
  if (affinity.has("required")) validate_node_selector(causes, child(at, "required"), affinity["required"]);
  check_rules(causes, path, spec, kVolumeRules);
  if (const auto mode = spec["volumeMode"]; mode && !contains_text(kVolumeModes, mode.text()))
    not_supported(causes, child(path, "volumeMode"), mode.text(), kVolumeModes);
  if (spec.has("hostPath") && policy == "Recycle" && is_root(spec["hostPath"]["path"].text()))
    forbidden(causes, child(path, "persistentVolumeReclaimPolicy"), "may not be 'recycle' for a hostPath mount of '/'");
}

constexpr DefaultFact kPersistentVolume[] = {{"status.phase", "\"Pending\""},
                                             {"spec.persistentVolumeReclaimPolicy", "\"Retain\""},
                                             {"spec.volumeMode", "\"Filesystem\"", {}, {}, false, true},
                                             {"spec.hostPath?.type", "\"\""},
                                             {"spec.iscsi?.iscsiInterface", "\"default\""},
                                             {"spec.rbd?.pool", "\"rbd\""},
                                             {"spec.rbd?.user", "\"admin\""},
                                             {"spec.rbd?.keyring", "\"/etc/ceph/keyring\""},
                                             {"spec.scaleIO?.storageMode", "\"ThinProvisioned\""},
                                             {"spec.scaleIO?.fsType", "\"xfs\""},
                                             {"spec.azureDisk?.cachingMode", "\"ReadWrite\""},
                                             {"spec.azureDisk?.kind", "\"Shared\""},
                                             {"spec.azureDisk?.fsType", "\"ext4\""},
                                             {"spec.azureDisk?.readOnly", "false"}};

void validate_volume(const Value& object, Causes& causes) {
  validate_volume_spec(causes, "spec", object["spec"], object["metadata"]["name"].text(), false);
}

/// Labels that had other names once.
struct RenamedLabel {
  std::string_view before, now;
};
constexpr RenamedLabel kRenamed[] = {{"beta.kubernetes.io/arch", "kubernetes.io/arch"},
                                     {"beta.kubernetes.io/os", "kubernetes.io/os"},
                                     {"failure-domain.beta.kubernetes.io/region", "topology.kubernetes.io/region"},
                                     {"failure-domain.beta.kubernetes.io/zone", "topology.kubernetes.io/zone"},
                                     {"beta.kubernetes.io/instance-type", "node.kubernetes.io/instance-type"}};

/// Whether the affinities are the same but for labels that go by their new name now.
bool is_same_affinity(const Value& affinity, const Value& old) {
  if (semantically_equal(affinity, old)) return true;
  auto renamed = schema::Document::copy_of(old);
  const auto terms = affinity["required"]["nodeSelectorTerms"];
  std::size_t place = 0;
  for (auto term : renamed.root()["required"]["nodeSelectorTerms"]) {
    const auto now = place < terms.size() ? terms.at(place++) : Value();
    for (auto list : {"matchExpressions", "matchFields"}) {
      std::size_t index = 0;
      for (auto requirement : term[list]) {
        const auto other = index < now[list].size() ? now[list].at(index++)["key"].text() : std::string_view();
        const auto label = std::ranges::find(kRenamed, requirement["key"].text(), &RenamedLabel::before);
        // Upstream takes no name for the new one of a label that never had another.
        if (other == (label == std::end(kRenamed) ? std::string_view() : label->now)) requirement.put("key", other);
      }
    }
  }
  return semantically_equal(affinity, renamed.root());
}

void validate_volume_update(const Value& object, const Value& old, Causes& causes) {
  auto stored = schema::Document::copy_of(old);
  defaults_from<kPersistentVolume>(stored.root());  // it may be older than some of the defaults
  const auto spec = object["spec"], before = stored["spec"];
  bool same = true;
  for (const auto& facts : kPersistentSources) {
    auto now = schema::Document::copy_of(spec[facts.member]);
    if (facts.member == "csi" && before["csi"] && !before["csi"].has("controllerExpandSecretRef") && spec["csi"])
      now.root().erase("controllerExpandSecretRef");
    same = same && spec.has(facts.member) == before.has(facts.member) &&
           (!spec.has(facts.member) || semantically_equal(now.root(), before[facts.member]));
  }
  if (!same)
    forbidden(causes, "spec.persistentvolumesource", "spec.persistentvolumesource is immutable after creation");
  immutable(causes, "volumeMode", spec["volumeMode"], before["volumeMode"]);
  if (before.has("nodeAffinity") && !is_same_affinity(spec["nodeAffinity"], before["nodeAffinity"]))
    invalid(causes, "nodeAffinity", spec["nodeAffinity"] ? BadValue(spec["nodeAffinity"]) : BadValue::raw("null"),
            "field is immutable, except for updating from beta label to GA");
  if (before.has("volumeAttributesClassName") && !spec.has("volumeAttributesClassName"))
    forbidden(causes, "spec.volumeAttributesClassName", "update from non-nil value to nil is forbidden");
}

Outcome pending_phase(WriteContext& context, Value object) {
  auto status = object.object("status");
  status.clear();
  status.put("phase", "Pending");
  if (!context.resource.namespaced) status.put("lastPhaseTransitionTime", format_time(context.clock.now()));
  return {};
}

/// When the phase last changed, unless the writer says it.
Outcome prepare_volume_status(WriteContext& context, Value object, const Value& old) {
  if (auto kept = keep_other_members(context, object, old); !kept) return kept;
  auto status = object.object("status");
  const auto before = old["status"];
  const bool same_phase = status["phase"].text() == before["phase"].text();
  const auto said = status["lastPhaseTransitionTime"].text();
  if (same_phase && said.empty())
    copy_field(status, before, "lastPhaseTransitionTime");
  else if (!same_phase && (said.empty() || said == before["lastPhaseTransitionTime"].text()))
    status.put("lastPhaseTransitionTime", format_time(context.clock.now()));
  return {};
}

// --- PersistentVolumeClaim ---

/// Sources that upstream skips: of a kind that the old field never named, or of another namespace.
void drop_data_sources(Value spec, const Value& old) {
  if (!spec["dataSourceRef"]["namespace"].text().empty() && !old.has("dataSourceRef")) spec.erase("dataSourceRef");
  if (old.has("dataSource") || old.has("dataSourceRef") || !spec.has("dataSource")) return;
  const auto source = spec["dataSource"];
  const auto group = source["apiGroup"].text(), kind = source["kind"].text();
  const bool known = (group.empty() && kind == "PersistentVolumeClaim") ||
                     (group == "snapshot.storage.k8s.io" && kind == "VolumeSnapshot");
  if (!known) spec.erase("dataSource");
}

/// The old field and the new one for where the data comes from say the same.
void copy_data_source(Value spec) {
  const auto source = spec["dataSource"], reference = spec["dataSourceRef"];
  const bool old_way = source && !reference, new_way = reference && !source;
  if (!old_way && !(new_way && reference["namespace"].text().empty())) return;
  const auto from = old_way ? source : reference;
  auto to = spec.object(old_way ? "dataSourceRef" : "dataSource");
  for (auto field : {"apiGroup", "kind", "name"})
    if (from.has(field)) to.put(field, from[field]);
}

Outcome prepare_claim(WriteContext& context, Value object) {
  if (object.has("spec")) {
    drop_data_sources(object["spec"], Value());
    copy_data_source(object["spec"]);
  }
  return pending_phase(context, object);
}

Outcome prepare_claim_update(WriteContext& context, Value object, const Value& old) {
  if (object.has("spec")) {
    drop_data_sources(object["spec"], old["spec"]);
    copy_data_source(object["spec"]);
  }
  return keep_status(context, object, old);
}

constexpr DefaultFact kPersistentVolumeClaim[] = {{"status.phase", "\"Pending\""},
                                                  {"spec.volumeMode", "\"Filesystem\"", {}, {}, false, true}};

void validate_volume_claim(const Value& object, Causes& causes) {
  validate_claim_spec(causes, "spec", object["spec"], false);
}

/// The claim's spec with what may change put back.
schema::Document unchangeable_part(const Value& object, const Value& old) {
  auto spec = schema::Document::copy_of(object["spec"]);
  auto root = spec.root();
  const auto before = old["spec"];
  if (before["volumeName"].text().empty()) root.erase("volumeName");
  const auto known = old["metadata"]["annotations"]["volume.beta.kubernetes.io/storage-class"];
  if (!before.has("storageClassName") && root.has("storageClassName") &&
      (!known || known.text() == root["storageClassName"].text()))
    root.erase("storageClassName");
  if (object["status"]["phase"].text() != "Bound") return spec;
  if (root["resources"].has("requests"))
    copy_field(root["resources"]["requests"], before["resources"]["requests"], "storage");
  copy_field(root, before, "volumeAttributesClassName");
  return spec;
}

constexpr std::string_view kOldClass = "volume.beta.kubernetes.io/storage-class";

/// The annotation that named the class once: it stays, or gives way to the field.
void validate_old_class(const Value& object, const Value& old, Causes& causes) {
  const auto before = old["metadata"]["annotations"][kOldClass].text(),
             now = object["metadata"]["annotations"][kOldClass].text();
  const auto name = object["spec"]["storageClassName"];
  const bool moved = !before.empty() && !old["spec"].has("storageClassName") && name && name.text() == before;
  const bool kept_or_gone = now.empty() || now == before;
  if (moved && kept_or_gone) return;
  if (now != before) invalid(causes, child("metadata.annotations", kOldClass), now, kImmutable);
}

void validate_claim_update(const Value& object, const Value& old, Causes& causes) {
  validate_old_class(object, old, causes);
  auto stored = schema::Document::copy_of(old["spec"]);
  if (stored.root().is_object()) copy_data_source(stored.root());  // it may be older than the second of the fields
  const auto spec = object["spec"], before = stored.root();
  if (!semantically_equal(unchangeable_part(object, old).root(), before))
    forbidden(causes, "spec",
              "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound "
              "claims");
  const auto size = spec["resources"]["requests"]["storage"], was = before["resources"]["requests"]["storage"];
  if (compare_quantities(size, was) < 0 && compare_quantities(size, old["status"]["capacity"]["storage"]) <= 0)
    forbidden(causes, "spec.resources.requests.storage", "field can not be less than status.capacity");
  immutable(causes, "volumeMode", spec["volumeMode"], before["volumeMode"]);
  if (!old["status"].has("currentVolumeAttributesClassName")) return;
  const auto attributes = spec["volumeAttributesClassName"];
  const std::string_view what = !attributes ? "nil" : attributes.text().empty() ? "empty string" : "";
  if (!what.empty() && !semantically_equal(attributes, before["volumeAttributesClassName"]))
    forbidden(
        causes, "spec.volumeAttributesClassName",
        "update to " + std::string(what) + " is forbidden when status.currentVolumeAttributesClassName is not nil");
}

constexpr std::string_view kResizeStates[] = {"ControllerResizeInProgress", "ControllerResizeInfeasible",
                                              "NodeResizeInProgress", "NodeResizeInfeasible", "NodeResizePending"};

/// Only storage, or a resource of somebody's own domain.
bool is_claim_resource(Causes& causes, const std::string& path, std::string_view name) {
  const auto messages = qualified_name(name);
  invalid_each(causes, path, name, messages);
  if (!messages.empty()) return false;
  const bool native = name.find('/') == std::string_view::npos || name.find("kubernetes.io/") != std::string_view::npos;
  if (!native || name == "storage") return true;
  not_supported(causes, path, name, kStorage);
  return false;
}

void validate_amount(Causes& causes, const std::string& field, const Value& quantity) {
  const auto nanos = quantity_nanos_of(quantity);
  if (nanos <= -1'000'000'000)
    invalid(causes, field, static_cast<std::int64_t>(nanos / 1'000'000'000), "must be a valid resource quantity");
}

void validate_volume_claim_status(const Value& object, const Value&, Causes& causes) {
  const auto status = object["status"];
  for (auto quantity : status["capacity"]) validate_amount(causes, keyed("status.capacity", quantity.key()), quantity);
  for (auto state : status["allocatedResourceStatuses"]) {
    is_claim_resource(causes, "status.allocatedResourceStatuses", state.key());
    if (!contains_text(kResizeStates, state.text()))
      not_supported(causes, "status.allocatedResourceStatuses", state.key(), kResizeStates);
  }
  for (auto quantity : status["allocatedResources"])
    if (is_claim_resource(causes, "status.allocatedResources", quantity.key()))
      validate_amount(causes, keyed("status.allocatedResources", quantity.key()), quantity);
}

constexpr KindFacts kVolumeKinds[] = {
    {"", "persistentvolumes", defaults_from<kPersistentVolume>, kReturnsDeleted, NameRule::dns_subdomain,
     validate_volume, validate_volume_update},
    {"", "persistentvolumeclaims", defaults_from<kPersistentVolumeClaim>, kReturnsDeleted, NameRule::dns_subdomain,
     validate_volume_claim, validate_claim_update, validate_volume_claim_status}};

}  // namespace

void validate_volume_spec(Causes& causes, const std::string& path, const Value& spec, std::string_view name,
                          bool inline_volume) {
  if (inline_volume)
    validate_inline_only(causes, path, spec);
  else
    validate_own_volume(causes, path, spec);
  validate_access_modes(causes, child(path, "accessModes"), spec["accessModes"], {});
  validate_persistent_sources(causes, path, spec, name);
  const auto attributes = spec["volumeAttributesClassName"];
  if (!attributes || inline_volume) return;
  const auto at = child(path, "volumeAttributesClassName");
  if (attributes.text().empty())
    required(causes, at, "an empty string is disallowed");
  else
    invalid_each(causes, at, attributes.text(), dns1123_subdomain(attributes.text()));
  if (!spec.has("csi"))
    required(causes, child(path, "csi"), "has to be specified when using volumeAttributesClassName");
}

bool skips_volume_field(const Value&, std::string_view field) { return field.ends_with("azureFile.secretNamespace"); }

std::vector<Strategy> volume_strategies() {
  std::vector<Strategy> rows;
  for (const auto& facts : kVolumeKinds) rows.push_back(row_of(facts));
  rows[0].is_skipped = skips_volume_field;
  rows[0].prepare_create = pending_phase;
  rows[0].prepare_status_update = prepare_volume_status;
  rows[1].prepare_create = prepare_claim;
  rows[1].prepare_update = prepare_claim_update;
  return rows;
}

}  // namespace sublet::apiserver
